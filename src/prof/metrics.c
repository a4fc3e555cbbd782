/* metrics.c - the table of counters, and the units in which ncu prints them. See metrics.h. */
#include "prof/metrics.h"

#include <string.h>

#include "base/util.h"
#include "prof/prof.h"

#define PCT ".avg.pct_of_peak_sustained_elapsed"
#define F(f) (int)offsetof(struct prof_kernel, f)

const struct prof_metric prof_metrics[] = {
    {"gpu__time_duration.sum", F(time_ns)},
    {"dram__throughput" PCT, F(dram_pct)},
    {"dram__bytes.sum", F(dram_bytes)},
    {"dram__bytes_read.sum", -1},
    {"dram__bytes_write.sum", -1},
    /* lts__throughput fills no field, because it also counts traffic between L2 and DRAM */
    {"lts__throughput" PCT, -1},
    {"lts__t_sectors" PCT, F(l2_pct)},
    {"lts__lts2xbar_cycles_active" PCT, F(l2_pct)},
    {"l1tex__m_xbar2l1tex_read_sectors" PCT, F(l2_pct)},
    {"lts__t_sector_hit_rate.pct", F(l2_hit_pct)},
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared" PCT, F(shared_pct)},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", F(bank_conflicts)},
    {"sm__inst_issued" PCT, F(issue_pct)},
    {"sm__pipe_fma_cycles_active" PCT, F(fma_pct)},
    {"sm__pipe_alu_cycles_active" PCT, F(alu_pct)},
    {"sm__inst_executed_pipe_xu" PCT, F(sfu_pct)},
    {"sm__pipe_fp64_cycles_active" PCT, F(fp64_pct)},
    {"sm__pipe_tensor_cycles_active" PCT, F(tensor_pct)},
    {"sm__pipe_tensor_op_hmma_cycles_active" PCT, F(tensor_pct)},
    {"sm__pipe_tensor_op_imma_cycles_active" PCT, F(tensor_pct)},
    {"sm__inst_executed_pipe_tensor" PCT, F(tensor_pct)},
    {"sm__warps_active.avg.pct_of_peak_sustained_active", F(occupancy_pct)},
    {"sm__maximum_warps_per_active_cycle_pct", -1},
    {"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", F(stall_memory)},
    {"smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio", F(stall_shared)},
    {"smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio", F(stall_shared)},
    {"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", F(stall_barrier)},
    {"smsp__average_warps_issue_stalled_wait_per_issue_active.ratio", F(stall_math)},
    {"smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio", F(stall_math)},
    {"launch__registers_per_thread", F(registers)},
    {"launch__shared_mem_per_block", F(smem_bytes)},
    {"launch__grid_size", -1},
    {"launch__block_size", -1},
    {"launch__waves_per_multiprocessor", -1},
    {"launches", F(launches)}, /* Hone counts these itself, on a GPU and in the emulator */
    {"time", F(time_ns)},
    {"dram_pct", F(dram_pct)},
    {"dram_bytes", F(dram_bytes)},
    {"l2_pct", F(l2_pct)},
    {"shared_pct", F(shared_pct)},
    {"bank_conflicts", F(bank_conflicts)},
    {"issue_pct", F(issue_pct)},
    {"tensor_pct", F(tensor_pct)},
    {"latency_pct", F(latency_pct)},
    {"occupancy_pct", F(occupancy_pct)},
    {"registers", F(registers)},
    {"smem_bytes", F(smem_bytes)},
};
const size_t prof_nmetrics = ARRAY_LEN(prof_metrics);

bool prof_is_metric(const char *name)
{
    for (size_t i = 0; i < prof_nmetrics; i++)
        if (str_eq(prof_metrics[i].name, name))
            return strstr(name, "__") != NULL;
    return false;
}

double prof_unit_factor(const char *u)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {
        {"ns", 1},      {"nsecond", 1},   {"us", 1e3},       {"usecond", 1e3},
        {"ms", 1e6},    {"msecond", 1e6}, {"s", 1e9},        {"second", 1e9},
        {"B", 1},       {"byte", 1},      {"Kbyte", 1e3},    {"Mbyte", 1e6},
        {"Gbyte", 1e9}, {"Tbyte", 1e12},  {"byte/block", 1}, {"Kbyte/block", 1e3},
        {"%", 1},       {"", 1},          {"1", 1},          {"register/thread", 1},
        {"inst", 1},    {"warp", 1},      {"thread", 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (str_eq(units[i].name, u))
            return units[i].factor;
    return 0;
}
