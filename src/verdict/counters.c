/* counters.c - the table of counters: names of the emulator and of ncu, with their meanings. */
#include "verdict/counters.h"

#include "base/util.h"

#define PCT ".avg.pct_of_peak_sustained_elapsed"
#define STALLED "smsp__average_warps_issue_stalled_"
#define PER_ISSUE "_per_issue_active.ratio"

const struct counter_info counter_infos[] = {
    {"dram_pct", "of the DRAM's peak throughput"},
    {"dram__throughput" PCT, "of the DRAM's peak throughput"},
    {"l2_pct", "of the L2's peak throughput"},
    {"lts__t_sectors" PCT, "of the L2's peak throughput"},
    {"issue_pct", "of the slots in which an SM can issue an instruction"},
    {"sm__inst_issued" PCT, "of the slots in which an SM can issue an instruction"},
    {"tensor_pct", "of the tensor cores' peak"},
    {"sm__pipe_tensor_cycles_active" PCT, "of the tensor cores' peak"},
    {"shared_pct", "of the shared memory's peak throughput"},
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared" PCT, "of the shared memory's peak throughput"},
    {"latency_pct", "of the time is waiting for results, with no unit busy"},
    {STALLED "long_scoreboard" PER_ISSUE, "warps wait for global memory, for each that issues"},
    {STALLED "barrier" PER_ISSUE, "warps wait at a barrier, for each that issues"},
    {"occupancy_pct", "of the warps that an SM can hold are resident"},
    {"sm__warps_active.avg.pct_of_peak_sustained_active",
     "of the warps that an SM can hold are resident"},
    {"registers", "registers per thread"},
    {"launch__registers_per_thread", "registers per thread"},
    {"spills", "of local memory per thread, because registers did not suffice"},
    {"blocks_per_sm", "blocks are resident on an SM at once"},
    {"global_efficiency", "of the bytes that global accesses move were asked for"},
    {"bank_conflicts", "extra passes over shared memory because of bank conflicts"},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
     "extra passes over shared memory because of bank conflicts"},
    {"dram_bytes", "move between DRAM and L2"},
    {"dram__bytes.sum", "move between DRAM and L2"},
    {"lts__t_sector_hit_rate.pct", "of the accesses to the L2 hit"},
    {"active_lanes", "of a warp's lanes are active, on average"},
    {"barriers", "block-wide barriers"},
    {"warp_instructions", "instructions, counted once per warp"},
};
const size_t counter_ninfos = ARRAY_LEN(counter_infos);
