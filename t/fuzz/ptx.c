/*
 * Reads any text as a PTX module. The emulator refuses the module, or runs its first kernel on a
 * small grid, for at most 20,000 warp instructions. Some texts run with the sanitizer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "emu/core/machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct device *open_device(struct job *job, uint8_t how)
{
    struct device *d;
    memset(job, 0, sizeof *job);
    job->sanitize = how & 1;
    job->nthreads = 1;
    job->seed = how >> 1;
    job->limits.device_bytes = 32u << 20;
    job->limits.printf_bytes = 4096;
    job->limits.emu_steps = 20000;
    job->limits.call_ns = 2000000000;
    job->gpu.name = "fuzz";
    return emu_open(&d, job, NULL) < 0 ? NULL : d;
}

/* Launches the kernel `f`. Parameters of 8 bytes get pointers to two buffers, others get 64. */
static void run(struct device *d, struct code *c, struct code_func *f, uint8_t how)
{
    static uint8_t bytes[4096];
    struct device_alloc spec = {.name = "buf", .bytes = 4096, .align = 256, .elem_bytes = 4};
    struct job_arg args[JOB_MAX_ARGS] = {0};
    void *values[JOB_MAX_ARGS];
    uint64_t addr[2], store[JOB_MAX_ARGS][1 + 4096 / 8] = {{0}};
    spec.role = JOB_INPUT;
    if (d->ops->alloc(d, &spec, &addr[0], NULL) < 0)
        return;
    spec.role = JOB_WORKSPACE;
    if (d->ops->alloc(d, &spec, &addr[1], NULL) < 0)
        return;
    d->ops->write(d, addr[0], bytes, sizeof bytes, NULL);
    d->ops->write(d, addr[1], bytes, sizeof bytes, NULL);
    if (f->src->nparam > JOB_MAX_ARGS)
        return;
    for (uint32_t i = 0; i < f->src->nparam; i++) {
        if (f->src->param[i]->bytes > 4096)
            return;
        args[i].size = (uint32_t)f->src->param[i]->bytes;
        store[i][0] = args[i].size == 8 ? addr[i & 1] : 64;
        values[i] = store[i];
    }
    struct job_launch l = {.kernel = f->src->name,
                           .grid = {2, 1, 1},
                           .block = {how & 2 ? 40u : 64u, 1, 1},
                           .cluster = {how & 4 ? 2u : 1u, 1, 1},
                           .smem_bytes = 2048,
                           .cooperative = how & 8,
                           .nargs = f->src->nparam,
                           .args = args};
    struct device_module *m = (struct device_module *)&c; /* its only member points to the code */
    if (d->ops->launch(d, m, &l, values, NULL) == RESULT_OK)
        d->ops->sync(d, 0, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct job job;
    struct code *c;
    uint8_t how = 0;
    for (size_t i = 0; i < len; i++)
        how = (uint8_t)(how * 31 + data[i]);
    struct device *d = open_device(&job, how);
    if (!d)
        abort();
    if (code_load(&c, (struct emu *)d, (const char *)data, len, NULL) == RESULT_OK) {
        for (uint32_t i = 0; i < c->nfuncs; i++)
            if (c->funcs[i].src->is_entry && c->funcs[i].src->defined) {
                run(d, c, &c->funcs[i], how);
                break;
            }
        code_free(c);
    }
    d->ops->close(d);
    return 0;
}

/* ---- mutation of valid text: removes and copies lines, changes numbers and registers -------- */

size_t LLVMFuzzerMutate(uint8_t *data, size_t len, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max, unsigned seed);

static uint32_t next_random(uint32_t *s)
{
    *s = *s * 1664525u + 1013904223u;
    return *s >> 8;
}

/* Chooses a line at random. [*at, *at + *n) becomes its place, with its newline. */
static void pick_line(const uint8_t *d, size_t len, uint32_t *rng, size_t *at, size_t *n)
{
    size_t p = next_random(rng) % len, e = p;
    while (p > 0 && d[p - 1] != '\n')
        p--;
    while (e < len && d[e] != '\n')
        e++;
    *at = p;
    *n = (e < len ? e + 1 : e) - p;
}

/* Replaces [at, at + old) by `by`; returns the new length, or the old one if it does not fit. */
static size_t splice(uint8_t *d, size_t len, size_t max, size_t at, size_t old, const void *by,
                     size_t n)
{
    if (len - old + n > max)
        return len;
    memmove(d + at + n, d + at + old, len - at - old);
    memcpy(d + at, by, n);
    return len - old + n;
}

static size_t change_word(uint8_t *d, size_t len, size_t max, uint32_t *rng)
{
    static const char *const numbers[] = {"0",  "1",  "-1",         "31",    "32",
                                          "64", "16", "2147483648", "65536", "0xffffffffffffffff"};
    size_t at, n, p, e;
    pick_line(d, len, rng, &at, &n);
    for (p = at + (n ? next_random(rng) % n : 0);
         p < at + n && d[p] != '%' && !(d[p] >= '0' && d[p] <= '9');)
        p++;
    if (p >= at + n)
        return len;
    for (e = p + 1; e < len && ((d[e] >= '0' && d[e] <= '9') || (d[e] >= 'a' && d[e] <= 'z'));)
        e++;
    char word[24];
    if (d[p] == '%') { /* another register of the same or another kind */
        static const char *const kinds[] = {"%r", "%rd", "%p", "%f", "%rs", "%fd"};
        snprintf(word, sizeof word, "%s%u", kinds[next_random(rng) % 6], next_random(rng) % 12);
        if (next_random(rng) % 3) /* keep the kind */
            return d[e - 1] >= '0' && d[e - 1] <= '9'
                       ? (d[e - 1] = (uint8_t)('0' + next_random(rng) % 10), len)
                       : len;
    } else {
        snprintf(word, sizeof word, "%s", numbers[next_random(rng) % ARRAY_LEN(numbers)]);
    }
    return splice(d, len, max, p, e - p, word, strlen(word));
}

size_t LLVMFuzzerCustomMutator(uint8_t *d, size_t len, size_t max, unsigned seed)
{
    uint32_t rng = seed;
    uint8_t line[512];
    size_t at, n, at2, n2;
    if (len == 0 || next_random(&rng) % 4 == 0)
        return LLVMFuzzerMutate(d, len, max);
    for (uint32_t k = 1 + next_random(&rng) % 4; k > 0 && len > 0; k--) {
        pick_line(d, len, &rng, &at, &n);
        switch (next_random(&rng) % 6) {
        case 0: /* remove a line */
            len = splice(d, len, max, at, n, "", 0);
            break;
        case 1: /* copy a line to another place */
            n = MIN(n, sizeof line);
            memcpy(line, d + at, n);
            pick_line(d, len, &rng, &at2, &n2);
            len = splice(d, len, max, at2, 0, line, n);
            break;
        default:
            len = change_word(d, len, max, &rng);
        }
    }
    return len;
}
