/* counters.c - the table of counters: names of the emulator and of ncu, with their meanings. */
#include "verdict/counters.h"

#include <string.h>

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
    {STALLED "long_scoreboard" PER_ISSUE, "warps wait for global memory for each warp that issues"},
    {STALLED "barrier" PER_ISSUE, "warps wait at a barrier for each warp that issues"},
    {"occupancy_pct", "of the warps that an SM can hold are resident"},
    {"sm__warps_active.avg.pct_of_peak_sustained_active",
     "of the warps that an SM can hold are resident"},
    {"registers", "registers per thread"},
    {"launch__registers_per_thread", "registers per thread"},
    {"spills", "of local memory per thread, because registers did not suffice"},
    {"blocks_per_sm", "blocks are resident on an SM at once"},
    {"global_efficiency",
     "of the bytes that global accesses move are bytes that threads asked for"},
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

/* Counters that prompts do not mention. A name that ends in '*' stands for all names that begin
 * with the part before the '*'. If several rows match a name, the first one counts. */
static const struct counter_info others[] = {
    {"time", "for all launches of the kernel, by the cost model"},
    {"gpu__time_duration.sum", "for all launches of the kernel"},
    {"launches", "launches of the kernel"},
    {"thread_instructions", "instructions, counted once per thread"},
    {"global_load_bytes", "that threads asked for in loads from global memory"},
    {"global_store_bytes", "that threads wrote in stores to global memory"},
    {"global_load_sectors", "sectors of 32 bytes that loads moved"},
    {"global_store_sectors", "sectors of 32 bytes that stores moved"},
    {"global_sectors", "sectors of 32 bytes that loads and stores moved"},
    {"global_fresh_sectors", "of the loaded sectors are new to their block"},
    {"global_waits", "times a warp waited for a load from global memory"},
    {"shared_waits", "times a warp waited for a load from shared memory"},
    {"local_sectors", "sectors of local memory: spills and arrays of a thread"},
    {"shared_bytes", "that threads read or wrote in shared memory"},
    {"atomics", "atomic operations on global memory"},
    {"atomic_pct", "of the time is atomics that wait for each other"},
    {"divergent_branches", "branches at which a warp's threads went two ways"},
    {"tensor_ops_*", "operations of the tensor cores in this type; a product and sum are two"},
    {"tensor_ops", "operations of the tensor cores; a product and sum are two"},
    {"smem_bytes", "of shared memory per block"},
    {"static_smem", "of shared memory per block that the code declares"},
    {"stack", "of local memory per thread for its stack"},
    {"inst_*", "instructions of this kind, counted once per thread"},
    {"sass_instructions", "machine instructions in the code"},
    {"sass_wide_loads", "of the global loads in the code move 16 bytes per thread"},
    {"sass_*", "machine instructions of this kind in the code"},
    {"dram__bytes_read.sum", "read from DRAM"},
    {"dram__bytes_write.sum", "written to DRAM"},
    {"launch__shared_mem_per_block", "of shared memory per block"},
    {"launch__grid_size", "blocks"},
    {"launch__block_size", "threads per block"},
    {"launch__waves_per_multiprocessor", "times the grid fills all SMs"},
    {"sm__maximum_warps_per_active_cycle_pct", "of the warps that an SM can hold fit at once"},
    {STALLED "*", "warps wait for this reason for each warp that issues"},
    {"sm__pipe_*", "of this pipe's peak"},
    {"sm__inst_executed_pipe_*", "of this pipe's peak"},
    {"lts__*", "of the L2's peak throughput"},
    {"l1tex__*", "of the peak rate at which L1 reads from the L2"},
};

static bool matches(const char *pattern, const char *name)
{
    size_t n = strlen(pattern);
    return pattern[n - 1] == '*' ? strncmp(pattern, name, n - 1) == 0 : str_eq(pattern, name);
}

const char *counter_meaning(const char *name)
{
    for (size_t i = 0; i < counter_ninfos; i++)
        if (str_eq(counter_infos[i].name, name))
            return counter_infos[i].meaning;
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (matches(others[i].name, name))
            return others[i].meaning;
    return "";
}
