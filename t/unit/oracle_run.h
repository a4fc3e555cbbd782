/*
 * oracle_run.h - for tests of oracles. The test chooses a task and a shape, sets inputs one element
 * at a time, and compares the oracle's answer with an expected value in long double.
 *
 *     struct run r;
 *     run_open(&r, "softmax", (int64_t[]){4, 100});
 *     put(&r, "x", i, v);                    sets x[i]; returns v rounded to the dtype of x
 *     run_oracle(&r);
 *     expect(&r, "y", i, want, 1e-12L);      y[i] is `want` to 1e-12 of the oracle's magnitude
 *     run_close(&r);
 */
#ifndef T_ORACLE_RUN_H
#define T_ORACLE_RUN_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "sys/file.h"
#include "task/oracle.h"

struct run {
    struct arena arena;
    struct temp_dir dir;
    struct task *task;
    struct shape shape;
    char *so;
    unsigned threads;
    void *in[64];
    double *value[64], *mag[64];
};

static inline void must(int rc, const struct err *err)
{
    if (rc < 0)
        fail_msg("%s", err->msg);
}

/* Returns a NaN that no oracle computes. It marks an output element that was never written. */
static inline double unwritten(void)
{
    uint64_t bits = 0x7ff8dead0000beefull;
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static inline int was_written(double d)
{
    double u = unwritten();
    return memcmp(&d, &u, sizeof d) != 0;
}

/* Allocates the tensors for r->shape, which is set already. */
static inline void run_alloc(struct run *r)
{
    for (size_t i = 0; i < r->task->tensors.n; i++) {
        const struct task_tensor *t = &r->task->tensors.items[i];
        size_t n = r->shape.elems[i];
        if (t->is_input)
            r->in[i] = xcalloc(n, dtype_bytes(t->dtype));
        if (!t->is_output)
            continue;
        r->value[i] = xcalloc(n, sizeof(double));
        r->mag[i] = xcalloc(n, sizeof(double));
        for (size_t k = 0; k < n; k++)
            r->value[i][k] = r->mag[i][k] = unwritten();
    }
}

static inline void run_free_tensors(struct run *r)
{
    for (size_t i = 0; i < ARRAY_LEN(r->in); i++) {
        free(r->in[i]);
        free(r->value[i]);
        free(r->mag[i]);
        r->in[i] = NULL;
        r->value[i] = r->mag[i] = NULL;
    }
}

static inline void run_open_task(struct run *r, const char *name)
{
    struct problem_vec problems = VEC_INIT;
    struct err err = ERR_INIT;
    *r = (struct run){.arena = ARENA_INIT, .dir = TEMP_DIR_INIT, .threads = 2};
    r->task = task_find(name, &problems);
    if (!r->task)
        fail_msg("%s", problems.items[0].text);
    must(temp_dir_make(&r->dir, &err), &err);
    r->so = xasprintf("%s/oracle.so", r->dir.path);
    must(oracle_build(r->task, r->so, &err), &err);
}

/* Opens a task at a shape. `axes` has the size of each axis, in the task's order. */
static inline void run_open(struct run *r, const char *name, const int64_t *axes)
{
    struct err err = ERR_INIT;
    run_open_task(r, name);
    struct task_workload *w = &r->task->workloads.items[0];
    for (size_t i = 0; i < r->task->axes.n; i++)
        w->axes[i].lo = w->axes[i].hi = axes[i];
    must(shape_resolve(&r->shape, r->task, w, 1, &r->arena, &err), &err);
    run_alloc(r);
}

static inline void run_oracle(struct run *r)
{
    struct err err = ERR_INIT;
    must(oracle_run(r->so, &r->shape, r->in, r->value, r->mag, r->threads, &err), &err);
}

static inline void run_close(struct run *r)
{
    run_free_tensors(r);
    free(r->so);
    temp_dir_release(&r->dir);
    arena_release(&r->arena);
    task_free(r->task);
}

static inline size_t tensor(const struct run *r, const char *name)
{
    int i = task_tensor_index(r->task, name);
    if (i < 0)
        fail_msg("no tensor '%s'", name);
    return (size_t)i;
}

static inline long double get(const struct run *r, const char *name, int64_t i)
{
    size_t t = tensor(r, name);
    enum dtype dt = r->task->tensors.items[t].dtype;
    return dtype_load(dt, (const char *)r->in[t] + (size_t)i * dtype_bytes(dt));
}

static inline long double put(struct run *r, const char *name, int64_t i, double v)
{
    size_t t = tensor(r, name);
    enum dtype dt = r->task->tensors.items[t].dtype;
    assert_true((uint64_t)i < r->shape.elems[t]);
    dtype_store(dt, (char *)r->in[t] + (size_t)i * dtype_bytes(dt), v);
    return get(r, name, i);
}

static inline int64_t count(const struct run *r, const char *name)
{
    return (int64_t)r->shape.elems[tensor(r, name)];
}

static inline double value(const struct run *r, const char *name, int64_t i)
{
    return r->value[tensor(r, name)][i];
}

static inline double magnitude(const struct run *r, const char *name, int64_t i)
{
    return r->mag[tensor(r, name)][i];
}

/* Returns pseudo-random number i: a multiple of 1/64 in [-4, 4). It is exact in every float type of
 * 16 bits or more. */
static inline double noise(uint64_t i)
{
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return ((double)((z ^ z >> 31) % 512) - 256) / 64;
}

static inline int small_int(uint64_t i, int limit)
{
    return (int)(noise(i) * 64) % (limit + 1);
}

static inline void fill_noise(struct run *r, const char *name, double scale)
{
    for (int64_t i = 0, n = count(r, name); i < n; i++)
        put(r, name, i, noise((uint64_t)i + tensor(r, name) * 100003) * scale);
}

static inline void fill_ints(struct run *r, const char *name, int limit)
{
    for (int64_t i = 0, n = count(r, name); i < n; i++)
        put(r, name, i, small_int((uint64_t)i + tensor(r, name) * 100003, limit));
}

static inline void expect(const struct run *r, const char *name, int64_t i, long double want,
                          long double tol)
{
    double got = value(r, name, i), mag = magnitude(r, name, i);
    if (isinf(want) ? got != want : !(fabsl(got - want) <= tol * (long double)mag))
        fail_msg("%s: %s[%lld] is %.17g, want %.17Lg (magnitude %.3g)", r->task->name, name,
                 (long long)i, got, want, mag);
}

/* Checks that the magnitude of element i is `want`, and that it is at least |value|. With a smaller
 * magnitude, a right answer could fail. */
static inline void expect_mag(const struct run *r, const char *name, int64_t i, long double want)
{
    double got = magnitude(r, name, i);
    if (!(fabsl(got - want) <= 1e-12L * want) || got < fabs(value(r, name, i)) * (1 - 1e-12))
        fail_msg("%s: magnitude of %s[%lld] is %.17g, want %.17Lg", r->task->name, name,
                 (long long)i, got, want);
}

#endif
