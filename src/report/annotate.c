/* annotate.c - prints counters of kernels and of source lines. See annotate.h. */
#include "report/annotate.h"

#include <math.h>
#include <string.h>

#include "base/util.h"
#include "verdict/counters.h"

/* Writes a number with a unit prefix: 1234567 becomes "1.23M". */
static void short_number(char out[16], double v)
{
    static const char units[] = " kMGTP";
    int u = 0;
    while (fabs(v) >= 999.5 && u < 5) {
        v /= 1000;
        u++;
    }
    if (u)
        snprintf(out, 16, "%.3g%c", v, units[u]);
    else
        snprintf(out, 16, "%.4g", v);
}

void counters_text(struct strbuf *sb, const struct verdict *v)
{
    const char *kernel = "", *workload = "";
    vec_each (struct verdict_counter, c, &v->counters) {
        if (c->line)
            continue;
        if (!str_eq(kernel, c->kernel) || !str_eq(workload, c->workload))
            strbuf_addf(sb, "\nkernel %s at %s\n", c->kernel, c->workload);
        kernel = c->kernel;
        workload = c->workload;
        char num[16];
        short_number(num, c->value);
        bool is_count = str_eq(c->unit, "1");
        strbuf_addf(sb, "  %-34s %10s %-2s %s\n", c->name, num, is_count ? "" : c->unit,
                    counter_meaning(c->name));
    }
}

static double at_line(const struct verdict *v, uint32_t line, const char *name)
{
    double sum = 0;
    vec_each (struct verdict_counter, c, &v->counters)
        if (c->line == line && str_eq(c->name, name))
            sum += c->value;
    return sum;
}

/* The counters shown in front of each line, in this order; a zero is left blank. */
static const struct {
    const char *counter, *title;
} columns[] = {
    {"warp_instructions", "warp ins"},
    {"global_sectors", "sectors"},
    {"bank_conflicts", "conflicts"},
};

void annotate_text(struct strbuf *sb, const struct verdict *v, const char *source)
{
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        strbuf_addf(sb, "%9s ", columns[i].title);
    strbuf_adds(sb, "|\n");
    uint32_t line = 0;
    for (const char *p = source; *p;) {
        size_t n = strcspn(p, "\n");
        line++;
        for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
            char num[16] = "";
            double x = at_line(v, line, columns[i].counter);
            if (x > 0)
                short_number(num, x);
            strbuf_addf(sb, "%9s ", num);
        }
        strbuf_addf(sb, "| %4u  %.*s\n", line, (int)MIN(n, (size_t)200), p);
        vec_each (struct verdict_finding, f, &v->findings)
            if (f->line == line)
                strbuf_addf(sb, "%30s|       ^ %s: %s (%llu times)\n", "",
                            finding_kind_name(f->kind), f->text, (unsigned long long)f->count);
        p += n + (p[n] == '\n');
    }
}
