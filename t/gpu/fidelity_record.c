/*
 * fidelity_record.c - keeps the outputs of a GPU in a file, so that a machine without a GPU can
 * compare the emulator with them. The file has a line for each compared buffer:
 *
 *     FILE INDEX INPUTS BUFFER = HASH                 -- compared bit by bit: all elements
 *     FILE INDEX INPUTS BUFFER every 17 HEX HEX ...   -- compared within a bound: each 17th element
 *
 * INPUTS is a hash of the case and its inputs. A line whose case has changed since is stale.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "fidelity.h"
#include "job/gen.h"

enum { SAMPLES = 64 };

struct entry {
    char file[32], buffer[32];
    int index;
    uint64_t inputs, hash;
    uint64_t every; /* 0 = the entry has a hash of all elements, and no bits */
    int n;
    uint64_t bits[SAMPLES];
};

struct record {
    struct entry *e;
    size_t n;
};

/* The bits of an element. Unless the rule is `exact`, all NaNs have the same bits. */
static uint64_t bits_at(const struct buffer *b, const uint8_t *data, uint64_t i)
{
    uint64_t bits = 0;
    size_t size = dtype_bytes(b->t);
    memcpy(&bits, data + i * size, size);
    bool nan = !str_eq(b->rule, "exact") && isnan(dtype_load(b->t, data + i * size));
    return nan ? UINT64_MAX : bits;
}

static uint64_t hash_buffer(const struct buffer *b, const uint8_t *data)
{
    uint64_t h = 0;
    for (uint64_t i = 0; i < b->elems; i++) {
        uint64_t bits = bits_at(b, data, i);
        h += gen_hash(&bits, sizeof bits, i * sizeof bits);
    }
    return h;
}

static bool within_bound(const struct buffer *b)
{
    return b->tol > 0 || b->rel > 0;
}

uint64_t hash_inputs(const struct test *t)
{
    uint64_t h = gen_hash(t->kernel, strlen(t->kernel), 0);
    h += gen_hash(t->note, strlen(t->note), 1 << 10);
    h += t->grid * 31ull + t->block * 37ull + t->smem;
    for (int i = 0; i < t->nb; i++) {
        const struct buffer *b = &t->b[i];
        h = h * 0x9e3779b97f4a7c15u + b->elems;
        if (!b->output)
            h += gen_hash(b->data, b->elems * dtype_bytes(b->t), 0);
    }
    return h;
}

void save_outputs(FILE *f, const char *file, int index, const struct test *t, uint64_t inputs)
{
    for (int i = 0; i < t->nb; i++) {
        const struct buffer *b = &t->b[i];
        const uint8_t *data = b->gpu ? b->gpu : b->data;
        if (!b->rule[0])
            continue;
        fprintf(f, "%s %d %016llx %s ", file, index, (unsigned long long)inputs, b->name);
        if (!within_bound(b)) {
            fprintf(f, "= %016llx\n", (unsigned long long)hash_buffer(b, data));
            continue;
        }
        /* An odd distance, so that the sample has elements of all lanes and columns. */
        uint64_t every = (b->elems + SAMPLES - 1) / SAMPLES | 1;
        fprintf(f, "every %llu", (unsigned long long)every);
        for (uint64_t k = 0; k < b->elems; k += every) {
            uint64_t bits = 0;
            memcpy(&bits, data + k * dtype_bytes(b->t), dtype_bytes(b->t));
            fprintf(f, " %llx", (unsigned long long)bits);
        }
        fputc('\n', f);
    }
    fflush(f);
}

static void read_entry(const char *path, int line, char *text, struct entry *e)
{
    char *save = NULL, *word[5] = {0};
    for (int i = 0; i < 5; i++)
        if (!(word[i] = strtok_r(i ? NULL : text, " \n", &save)))
            bad(path, line, "expected FILE INDEX INPUTS BUFFER and '=' or 'every'");
    snprintf(e->file, sizeof e->file, "%s", word[0]);
    snprintf(e->buffer, sizeof e->buffer, "%s", word[3]);
    e->index = atoi(word[1]);
    e->inputs = strtoull(word[2], NULL, 16);
    char *v = strtok_r(NULL, " \n", &save);
    if (!v)
        bad(path, line, "expected a number");
    if (str_eq(word[4], "=")) {
        e->hash = strtoull(v, NULL, 16);
        return;
    }
    e->every = strtoull(v, NULL, 10);
    while ((v = strtok_r(NULL, " \n", &save)) && e->n < SAMPLES)
        e->bits[e->n++] = strtoull(v, NULL, 16);
    if (!e->every || !e->n)
        bad(path, line, "a sample without values");
}

struct record *read_record(const char *path)
{
    struct record *r = xcalloc(1, sizeof *r);
    char text[4096];
    FILE *f = fopen(path, "r");
    if (!f)
        bad(path, 0, "cannot be read");
    for (int line = 1; fgets(text, sizeof text, f); line++) {
        if (text[0] == '#' || text[0] == '\n')
            continue;
        r->e = xrealloc(r->e, (r->n + 1) * sizeof *r->e);
        r->e[r->n] = (struct entry){0};
        read_entry(path, line, text, &r->e[r->n++]);
    }
    fclose(f);
    return r;
}

static const struct entry *find_entry(const struct record *r, const char *file, int index,
                                      const char *buffer)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->e[i].index == index && str_eq(r->e[i].file, file) && str_eq(r->e[i].buffer, buffer))
            return &r->e[i];
    return NULL;
}

enum known recall(const struct record *r, const char *file, int index, struct buffer *b,
                  uint64_t inputs, uint64_t *every)
{
    const struct entry *e = find_entry(r, file, index, b->name);
    if (!e)
        return NOT_KNOWN;
    if (e->inputs != inputs || !e->every != !within_bound(b))
        return STALE;
    *every = e->every;
    if (!e->every)
        return e->hash == hash_buffer(b, b->data) ? KNOWN_EQUAL : KNOWN_OTHER;
    size_t size = dtype_bytes(b->t);
    b->gpu = xcalloc(b->elems, size);
    for (int k = 0; k < e->n && (uint64_t)k * e->every < b->elems; k++)
        memcpy(b->gpu + (uint64_t)k * e->every * size, &e->bits[k], size);
    return KNOWN_SAMPLE;
}
