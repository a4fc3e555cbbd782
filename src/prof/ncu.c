/*
 * ncu.c - reading Nsight Compute's CSV (--csv --page raw).
 *
 * Lines of ncu itself (==PROF== ...) and of the profiled program may stand before the header, which
 * is the first line with the column "Kernel Name". The line after it has the units; both are
 * needed: ncu chooses units by size (ns, us, ms; byte, Kbyte, ...).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "prof/prof.h"

enum { MAX_COLUMNS = 512, MAX_ROWS = 4096 };

const char prof_ncu_metrics[] =
    "gpu__time_duration.sum,"
    "dram__throughput.avg.pct_of_peak_sustained_elapsed,"
    "lts__throughput.avg.pct_of_peak_sustained_elapsed,"
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed,"
    "sm__inst_issued.avg.pct_of_peak_sustained_elapsed,"
    "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed,"
    "sm__warps_active.avg.pct_of_peak_sustained_active,"
    "launch__registers_per_thread,"
    "launch__shared_mem_per_block,"
    "dram__bytes.sum,"
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum";

static const struct {
    const char *metric;
    size_t offset;
} metrics[] = {
    {"gpu__time_duration.sum", offsetof(struct prof_kernel, time_ns)},
    {"dram__throughput.avg.pct_of_peak_sustained_elapsed", offsetof(struct prof_kernel, dram_pct)},
    {"lts__throughput.avg.pct_of_peak_sustained_elapsed", offsetof(struct prof_kernel, l2_pct)},
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed",
     offsetof(struct prof_kernel, shared_pct)},
    {"sm__inst_issued.avg.pct_of_peak_sustained_elapsed", offsetof(struct prof_kernel, issue_pct)},
    {"sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed",
     offsetof(struct prof_kernel, tensor_pct)},
    {"sm__warps_active.avg.pct_of_peak_sustained_active",
     offsetof(struct prof_kernel, occupancy_pct)},
    {"launch__registers_per_thread", offsetof(struct prof_kernel, registers)},
    {"launch__shared_mem_per_block", offsetof(struct prof_kernel, smem_bytes)},
    {"dram__bytes.sum", offsetof(struct prof_kernel, dram_bytes)},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
     offsetof(struct prof_kernel, bank_conflicts)},
};

/* To the base unit: ns, bytes, percent. 0 = a unit we do not know. */
static double unit_factor(const char *u)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {
        {"ns", 1},
        {"nsecond", 1},
        {"us", 1e3},
        {"usecond", 1e3},
        {"ms", 1e6},
        {"msecond", 1e6},
        {"s", 1e9},
        {"second", 1e9},
        {"byte", 1},
        {"Kbyte", 1e3},
        {"Mbyte", 1e6},
        {"Gbyte", 1e9},
        {"byte/block", 1},
        {"Kbyte/block", 1e3},
        {"%", 1},
        {"", 1},
        {"register/thread", 1},
        {"Tbyte", 1e12},
    };
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (str_eq(units[i].name, u))
            return units[i].factor;
    return 0;
}

struct row {
    char *cell[MAX_COLUMNS];
    int n;
};

/* Splits one CSV line in place of a copy; returns the start of the next line. */
static const char *read_row(const char *p, const char *end, struct row *r, struct arena *a)
{
    const char *eol = memchr(p, '\n', (size_t)(end - p));
    eol = eol ? eol : end;
    r->n = 0;
    while (p < eol && r->n < MAX_COLUMNS) {
        struct strbuf sb = STRBUF_INIT(1 << 16);
        bool quoted = *p == '"';
        for (p += quoted; p < eol; p++) {
            if (quoted && *p == '"' && p + 1 < eol && p[1] == '"')
                strbuf_addc(&sb, *p++);
            else if (quoted ? *p == '"' : *p == ',')
                break;
            else if (*p != '\r')
                strbuf_addc(&sb, *p);
        }
        r->cell[r->n++] = arena_strdup(a, sb.buf);
        strbuf_release(&sb);
        while (p < eol && *p != ',')
            p++;
        p += p < eol;
    }
    return eol < end ? eol + 1 : end;
}

static int column(const struct row *header, const char *name)
{
    for (int i = 0; i < header->n; i++)
        if (str_eq(header->cell[i], name))
            return i;
    return -1;
}

/* "1,234.5" and "1234.5" alike; NaN for "n/a" or nothing. */
static double number(const char *s)
{
    char plain[64];
    size_t n = 0;
    for (; *s && n < sizeof plain - 1; s++)
        if (*s != ',')
            plain[n++] = *s;
    plain[n] = '\0';
    char *rest;
    double v = strtod(plain, &rest);
    return n && !*rest && isfinite(v) ? v : NAN;
}

static double *field(struct prof_kernel *k, size_t i)
{
    return (double *)(void *)((char *)k + metrics[i].offset);
}

static struct prof_kernel read_launch(const struct row *header, const struct row *units,
                                      const struct row *r, const char *name)
{
    struct prof_kernel k = prof_kernel_unknown(name, "ncu");
    for (size_t i = 0; i < ARRAY_LEN(metrics); i++) {
        int c = column(header, metrics[i].metric);
        double f = c >= 0 && c < units->n ? unit_factor(units->cell[c]) : 0;
        *field(&k, i) = c >= 0 && c < r->n && f > 0 ? f * number(r->cell[c]) : NAN;
    }
    k.launches = 1;
    return k;
}

/* Shares are weighted by time; bytes and conflicts add up; time comes last: it is the weight. */
static void merge(struct prof_kernel *into, const struct prof_kernel *k)
{
    double t = into->time_ns + k->time_ns;
    double *shares[][2] = {
        {&into->dram_pct, (double *)&k->dram_pct},
        {&into->l2_pct, (double *)&k->l2_pct},
        {&into->shared_pct, (double *)&k->shared_pct},
        {&into->issue_pct, (double *)&k->issue_pct},
        {&into->tensor_pct, (double *)&k->tensor_pct},
        {&into->occupancy_pct, (double *)&k->occupancy_pct},
    };
    for (size_t i = 0; i < ARRAY_LEN(shares) && t > 0; i++)
        *shares[i][0] = (*shares[i][0] * into->time_ns + *shares[i][1] * k->time_ns) / t;
    into->dram_bytes += k->dram_bytes;
    into->bank_conflicts += k->bank_conflicts;
    into->time_ns = t;
    into->launches++;
}

int prof_from_ncu(const char *csv, size_t len, struct prof_kernel *out, size_t max, struct arena *a,
                  struct err *err)
{
    const char *p = csv, *end = csv + len;
    struct row header = {.n = 0}, units, r;
    int name = -1;
    while (p < end && name < 0) {
        p = read_row(p, end, &header, a);
        name = column(&header, "Kernel Name");
    }
    if (name < 0)
        return err_set(err, ERR_INPUT, "ncu printed no table (no column \"Kernel Name\")");
    p = read_row(p, end, &units, a);
    size_t n = 0;
    for (int rows = 0; p < end && rows < MAX_ROWS; rows++) {
        p = read_row(p, end, &r, a);
        if (r.n <= name || !*r.cell[name])
            continue;
        struct prof_kernel k = read_launch(&header, &units, &r, r.cell[name]);
        size_t i = 0;
        while (i < n && !str_eq(out[i].name, k.name))
            i++;
        if (i < n)
            merge(&out[i], &k);
        else if (n < max)
            out[n++] = k;
    }
    return (int)n;
}
