/*
 * record.c - writes and reads the inputs of the cost model as text, one line for each launch:
 *
 *     nblocks=4096 nwarps=8 smem=1024 spills=0 per_sm=8 warps.2=131072 ...
 *
 * warps.2 is warps[2] of struct work. Numbers that are 0 are left out. With HONE_MODEL_INPUTS=FILE
 * the emulator appends a line for each counted launch to FILE. There, the kernel's name, the
 * modelled time and the bound come first. From these lines and measured times, tools/model-table
 * makes t/cases/model/h200.tsv. With that file a test checks the model without emulating anything.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"
#include "emu/core/machine.h"

#define ONE(name)                             \
    {                                         \
#name, offsetof(struct work, name), 1 \
    }
#define MANY(name, n)                         \
    {                                         \
#name, offsetof(struct work, name), n \
    }
static const struct {
    const char *name;
    size_t off;
    uint32_t n;
} fields[] = {
    MANY(warps, CK_COUNT),
    ONE(all_warps),
    ONE(instructions),
    ONE(ld_sectors),
    ONE(st_sectors),
    ONE(st_bytes),
    ONE(ld_lines),
    ONE(st_lines),
    ONE(local_sectors),
    ONE(fresh_sectors),
    MANY(again, REUSE_BUCKETS),
    MANY(since, REUSE_BUCKETS),
    MANY(waits, 2),
    ONE(waits_first),
    ONE(waits_common),
    ONE(waits_again),
    ONE(footprint),
    ONE(common),
    ONE(common_sectors),
    ONE(common_again),
    ONE(wavefronts),
    ONE(merged),
    MANY(tensor, 4),
    ONE(mma),
    ONE(atomics),
    ONE(float_atomics),
    ONE(barriers),
    ONE(issued),
    ONE(clocks),
    ONE(same_word),
    ONE(same_piece),
    ONE(pieces),
};

static double *field_at(struct work *w, size_t i, uint32_t k)
{
    return (double *)(void *)((char *)w + fields[i].off) + k;
}

/* Writes the inputs of the model to f, without a newline. */
static void record_put(FILE *f, const struct launch *l, const struct work *work,
                       const struct occupancy *o)
{
    struct work w = *work;
    fprintf(f, "nblocks=%u nwarps=%u smem=%u spills=%u per_sm=%u", l->nblocks, l->nwarps,
            l->smem_bytes, l->spills, o->blocks);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        for (uint32_t k = 0; k < fields[i].n; k++) {
            double v = *field_at(&w, i, k);
            if (v <= 0)
                continue;
            if (fields[i].n > 1)
                fprintf(f, " %s.%u=%.5g", fields[i].name, k, v);
            else
                fprintf(f, " %s=%.5g", fields[i].name, v);
        }
    }
}

int record_get(const char *line, struct launch *l, struct work *w, struct occupancy *o)
{
    memset(w, 0, sizeof *w);
    for (const char *p = line; *p;) {
        char name[32];
        uint32_t k = 0, *number = NULL;
        double v;
        int used = 0;
        if (sscanf(p, " %31[a-z0-9_].%u=%lf%n", name, &k, &v, &used) != 3 || !used) {
            k = 0;
            if (sscanf(p, " %31[a-z0-9_]=%lf%n", name, &v, &used) != 2 || !used)
                return -1;
        }
        p += used;
        p += strspn(p, " \n");
        number = str_eq(name, "nblocks")  ? &l->nblocks
                 : str_eq(name, "nwarps") ? &l->nwarps
                 : str_eq(name, "smem")   ? &l->smem_bytes
                 : str_eq(name, "spills") ? &l->spills
                 : str_eq(name, "per_sm") ? &o->blocks
                                          : NULL;
        bool known = number != NULL;
        if (number)
            *number = (uint32_t)v;
        for (size_t i = 0; i < ARRAY_LEN(fields) && !known; i++) {
            known = str_eq(name, fields[i].name) && k < fields[i].n;
            if (known)
                *field_at(w, i, k) = v;
        }
        if (!known)
            return -1;
    }
    return 0;
}

void record_launch(const struct launch *l, const struct work *w, const struct occupancy *o,
                   const struct model *m)
{
    const char *path = getenv("HONE_MODEL_INPUTS");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (!f)
        return;
    fprintf(f, "%s\t%.6g\t%s\t", l->entry->src->name, m->time_ns, m->bound);
    record_put(f, l, w, o);
    fprintf(f, "\n");
    fclose(f);
}
