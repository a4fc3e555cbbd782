/*
 * fidelity_case.c - reads NAME.case: kernels of NAME.ptx with their buffers and arguments.
 *
 *     kernel mma_m16n8k16_f32_f16_f16 grid 4 block 32 smem 0 cluster 2
 *       buffer a float16 512 uniform -1 1 special inf 67 nan 71
 *       buffer d float32 512 output
 *       tensormap t a float16 dims 64 32 strides 128 box 64 8 swizzle 3
 *       tensormap u a float16 dims 16 7 5 2 strides 32 224 1120 im2col 16 64 lower -1 upper -1
 *       args a d t #7
 *       compare d abs 1e-5
 *
 * Arguments are buffers, tensor maps and 32-bit integers. `compare d bits` allows no difference,
 * except between two NaNs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "fidelity.h"

int find_buffer(const struct test *t, const char *name)
{
    for (int i = 0; i < t->nb; i++)
        if (str_eq(t->b[i].name, name))
            return i;
    return -1;
}

/* "dims 64 32 strides 128 box 64 8 swizzle 3 nan 1 es 1 2": lists of numbers by name. */
static void parse_map(struct map *m, char **tok, int n)
{
    uint64_t *u64 = NULL;
    uint32_t *u32 = NULL;
    int *ints = NULL;
    for (int i = 0; i < 5; i++)
        m->t.elem_strides[i] = m->t.box[i] = 1;
    for (int i = 0, k = 0; i < n; i++) {
        const char *s = tok[i];
        if (s[0] == '-' || (s[0] >= '0' && s[0] <= '9')) {
            uint64_t v = strtoull(s, NULL, 0);
            if (k < 3 && ints)
                ints[k++] = atoi(s);
            if (k < 5 && u64)
                u64[k++] = v;
            else if (k < 5 && u32)
                u32[k++] = (uint32_t)v;
            continue;
        }
        u64 = NULL;
        u32 = NULL;
        ints = NULL;
        k = 0;
        if (str_eq(s, "dims"))
            u64 = m->t.dims;
        else if (str_eq(s, "strides"))
            u64 = m->t.strides + 1;
        else if (str_eq(s, "box"))
            u32 = m->t.box;
        else if (str_eq(s, "es"))
            u32 = m->t.elem_strides;
        else if (str_eq(s, "swizzle") && i + 1 < n)
            m->t.swizzle = (uint8_t)atoi(tok[i + 1]);
        else if (str_eq(s, "nan"))
            m->t.fill_nan = 1;
        else if (str_eq(s, "lower"))
            ints = m->lower;
        else if (str_eq(s, "upper"))
            ints = m->upper;
        else if (str_eq(s, "im2col") && i + 2 < n) {
            m->im2col = true;
            m->channels = (uint32_t)atoi(tok[i + 1]);
            m->pixels = (uint32_t)atoi(tok[i + 2]);
            m->t.box[0] = m->channels;
        }
    }
    while (m->t.rank < 5 && m->t.dims[m->t.rank])
        m->t.rank++;
}

static void parse_line(const char *file, int line, struct test *t, char **tok, int n, char *rest)
{
    if (str_eq(tok[0], "buffer") && n >= 5 && t->nb < MAX_BUFFERS) {
        struct buffer *b = &t->b[t->nb++];
        snprintf(b->name, sizeof b->name, "%s", tok[1]);
        b->t = dtype_from_name(tok[2]);
        b->elems = strtoull(tok[3], NULL, 0);
        b->output = str_eq(tok[4], "output");
        snprintf(b->init, sizeof b->init, "%s", rest);
        if (b->t == DT_NONE || !b->elems || b->elems > 1 << 26)
            bad(file, line, "bad type or size");
    } else if (str_eq(tok[0], "tensormap") && n >= 8 && t->nm < MAX_MAPS) {
        struct map *m = &t->m[t->nm++];
        snprintf(m->name, sizeof m->name, "%s", tok[1]);
        m->buffer = find_buffer(t, tok[2]);
        m->t.dtype = dtype_from_name(tok[3]);
        parse_map(m, tok + 4, n - 4);
        if (m->buffer < 0)
            bad(file, line, "no such buffer");
    } else if (str_eq(tok[0], "args") && n - 1 <= MAX_ARGS) {
        for (int i = 1; i < n; i++)
            snprintf(t->args[t->nargs++], 32, "%s", tok[i]);
    } else if (str_eq(tok[0], "compare") && n >= 3) {
        int i = find_buffer(t, tok[1]);
        if (i < 0)
            bad(file, line, "no such buffer");
        snprintf(t->b[i].rule, sizeof t->b[i].rule, "%s", tok[2]);
        t->b[i].tol = n > 3 ? strtod(tok[3], NULL) : 0;
    } else {
        bad(file, line, "not understood");
    }
}

struct test *add_test(struct suite *s)
{
    s->t = xrealloc(s->t, (size_t)(s->n + 1) * sizeof *s->t);
    struct test *t = &s->t[s->n++];
    memset(t, 0, sizeof *t);
    t->cluster = t->grid = 1;
    return t;
}

void read_cases(struct suite *s)
{
    const char *file = s->file;
    FILE *f = fopen(file, "r");
    if (!f)
        bad(file, 0, "cannot be read");
    char text[512];
    s->ptx = xasprintf("%.*s.ptx", (int)(strlen(file) - strlen(".case")), file);
    for (int line = 1; fgets(text, sizeof text, f); line++) {
        char copy[512], *tok[64], *save = NULL;
        char *hash = strstr(text, "  # ");
        if (hash)
            *hash = 0;
        text[strcspn(text, "\n")] = 0;
        snprintf(copy, sizeof copy, "%s", text);
        int n = 0;
        for (char *w = strtok_r(copy, " ", &save); w && n < 64; w = strtok_r(NULL, " ", &save))
            tok[n++] = w;
        if (!n || tok[0][0] == '#')
            continue;
        if (str_eq(tok[0], "kernel")) {
            struct test *t = add_test(s);
            t->line = line;
            snprintf(t->kernel, sizeof t->kernel, "%s", n > 1 ? tok[1] : "");
            snprintf(t->note, sizeof t->note, "%s", hash ? "edges" : "");
            for (int i = 2; i + 1 < n; i += 2) {
                uint32_t v = (uint32_t)strtoul(tok[i + 1], NULL, 0);
                *(str_eq(tok[i], "grid")    ? &t->grid
                  : str_eq(tok[i], "block") ? &t->block
                  : str_eq(tok[i], "smem")  ? &t->smem
                  : str_eq(tok[i], "fault") ? &t->fault
                                            : &t->cluster) = v;
            }
            continue;
        }
        if (!s->n)
            bad(file, line, "expected 'kernel'");
        const char *rest = n > 4 ? text + (tok[4] - copy) : "";
        parse_line(file, line, &s->t[s->n - 1], tok, n, (char *)rest);
    }
    fclose(f);
}
