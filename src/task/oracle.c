/*
 * oracle.c - compiles a task's reference.c into a shared object, the oracle, and runs it.
 *
 * Each phase of reference.c is one function (ref_phase_fn in job/ref_ctx.h), which computes a range
 * of units. Several threads share the units of a phase (job/crew.h).
 */
#include "task/oracle.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "job/crew.h"
#include "job/ref_ctx.h"
#include "sys/asset.h"
#include "sys/file.h"
#include "sys/proc.h"

#define LONG_SOURCE_BYTES (400u << 10) /* a longer text gets fewer optimizations */
#define COMPILE_LIMIT_BYTES (2ull << 30)
#define SO_MAX_BYTES (64ull << 20)
#define MAX_THREADS 256
/* A step of a repeated phase with fewer operations runs in one thread. Several threads would wait
 * for each other about as long as they would compute. */
#define SMALL_STEP_OPS 1e5
#define HUGE_PAGE ((size_t)2 << 20)

/* ---- the text -------------------------------------------------------------------------------- */

static void add_enum(struct strbuf *out, const char *prefix, const char *name, size_t value)
{
    strbuf_addf(out, "enum { %s_%s = %zu };\n", prefix, name, value);
}

static void add_prelude(struct strbuf *out, const struct task *t)
{
    for (size_t i = 0; i < t->tensors.n; i++) {
        add_enum(out, "HT", t->tensors.items[i].name, i);
        add_enum(out, "HD", t->tensors.items[i].name, t->tensors.items[i].dtype);
    }
    for (size_t i = 0; i < t->axes.n; i++)
        add_enum(out, "HA", t->axes.items[i].name, i);
    for (size_t i = 0; i < t->scalars.n; i++)
        add_enum(out, "HS", t->scalars.items[i].name, i);
}

/* Returns 1 for `#include "hone_ref.h"`, -1 for any other include, 0 for other lines. */
static int include_kind(const char *line, const char *end)
{
    static const char own[] = "\"hone_ref.h\"";
    while (line < end && isblank((unsigned char)*line))
        line++;
    if (line == end || *line++ != '#')
        return 0;
    while (line < end && isblank((unsigned char)*line))
        line++;
    if (end - line < 7 || memcmp(line, "include", 7) != 0)
        return 0;
    line += 7;
    while (line < end && isblank((unsigned char)*line))
        line++;
    return (size_t)(end - line) >= sizeof own - 1 && memcmp(line, own, sizeof own - 1) == 0 ? 1
                                                                                            : -1;
}

/* Copies reference.c. Leaves out the include, because `out` already has hone_ref.h, but keeps the
 * line numbers. */
static int add_reference(struct strbuf *out, const struct task *t, struct err *err)
{
    unsigned lineno = 1;
    strbuf_adds(out, "#line 1 \"reference.c\"\n");
    for (const char *p = t->reference_c; *p; lineno++) {
        const char *end = strchrnul(p, '\n');
        int kind = include_kind(p, end);
        if (kind < 0)
            return err_set(err, ERR_INPUT,
                           "reference.c:%u: only \"hone_ref.h\" may be included: %.*s", lineno,
                           (int)MIN(end - p, 100), p);
        if (!kind)
            strbuf_add(out, p, (size_t)(end - p));
        strbuf_addc(out, '\n');
        p = *end ? end + 1 : end;
    }
    return 0;
}

static void add_header(struct strbuf *out, const char *name)
{
    char *path = xasprintf("src/task/%s", name);
    const struct asset *header = asset_find(path);
    if (!header)
        BUG("%s is not embedded", name);
    strbuf_addf(out, "#line 1 \"%s\"\n", name);
    strbuf_adds(out, header->data);
    free(path);
}

static int add_source(const struct task *t, bool checked, struct strbuf *out, struct err *err)
{
    if (!t->reference_c)
        return err_set(err, ERR_INPUT,
                       "task '%s' has no reference.c, so only PyTorch can compute its truth; add "
                       "a reference.c and the key \"oracle\" (docs/task.md)",
                       t->name);
    add_prelude(out, t);
    add_header(out, "hone_ref.h");
    if (checked)
        add_header(out, "hone_ref_checked.h");
    if (add_reference(out, t, err) < 0)
        return err_prefix(err, "task '%s'", t->name);
    if (out->truncated)
        return err_set(err, ERR_LIMIT, "task '%s': the oracle's source is too long", t->name);
    return 0;
}

int oracle_source(const struct task *t, struct strbuf *out, struct err *err)
{
    return add_source(t, false, out, err);
}

/* ---- the shared object ----------------------------------------------------------------------- */

static const char *compiler(const char *variable, const char *standard)
{
    const char *v = getenv(variable);
    return v && *v && !strchr(v, ' ') ? v : standard;
}

/* Runs a compiler on c_path, for the task `name`. Temporary files go into the directory of c_path,
 * which is removed even after an interrupt. */
static int run_compiler(const char *const *argv, const char *c_path, const char *name,
                        struct err *err)
{
    struct child_process c = CHILD_INIT;
    char *dir = xasprintf("TMPDIR=%.*s", (int)(strrchr(c_path, '/') - c_path), c_path);
    c.argv = argv;
    c.env = (const char *[]){dir, NULL};
    c.merge = true;
    c.limit_ns = ORACLE_COMPILE_NS;
    c.limit_cpu_ns = ORACLE_COMPILE_CPU_NS;
    c.limit_bytes = COMPILE_LIMIT_BYTES;
    c.limit_file_bytes = SO_MAX_BYTES;
    int rc = child_run(&c, err);
    if (rc < 0) {
        err_prefix(err,
                   "compiling the oracle of task '%s' with '%s' (set CC and CXX, or install a C "
                   "and a C++ compiler)",
                   name, argv[0]);
    } else if (c.end != CHILD_EXITED || c.code != 0) {
        struct strbuf how = STRBUF_INIT(256);
        child_describe(&c, &how);
        rc = err_set(err, ERR_INPUT, "task '%s': %s could not compile reference.c (%s):\n%.1500s",
                     name, argv[0], how.buf, c.out.buf);
        strbuf_release(&how);
    }
    child_release(&c);
    free(dir);
    return rc;
}

static int compile_plain(const char *c_path, const char *so_path, const char *name, bool is_long,
                         struct err *err)
{
    const char *argv[] = {
        compiler("CC", "cc"),
        "-std=gnu17",
        "-shared",
        "-fPIC",
        is_long ? "-O1" : "-O2",
        "-ftree-loop-vectorize", /* for the loops that graph/reference/sampled_body.h writes */
        "-ffp-contract=off",     /* so that the truth is the same on every CPU */
        "-o",
        so_path,
        c_path,
        "-lm",
        NULL};
    return run_compiler(argv, c_path, name, err);
}

/* Links without -fsanitize, because hone_ref_checked.h defines the functions of the sanitizer's
 * library. */
static int compile_checked(const char *c_path, const char *so_path, const char *name,
                           struct err *err)
{
    const char *cxx = compiler("CXX", "c++");
    char *object = xasprintf("%s.o", c_path);
    const char *compile[] = {
        cxx,
        "-std=gnu++14", /* not C++17, whose <math.h> takes much longer to compile */
        "-x",
        "c++",
        "-w",
        "-DHONE_REF_CHECKED",
        "-fPIC",
        "-O1",
        "-ffp-contract=off",
        "-fno-exceptions",
        "-fsanitize=bounds,shift,integer-divide-by-zero,null,return,unreachable,vla-bound",
        "-fsanitize=signed-integer-overflow,float-cast-overflow",
        "-fno-sanitize-recover=all",
        "-c",
        "-o",
        object,
        c_path,
        NULL};
    const char *link[] = {cxx, "-shared", "-o", so_path, object, "-lm", NULL};
    int rc = run_compiler(compile, c_path, name, err);
    rc = rc < 0 ? rc : run_compiler(link, c_path, name, err);
    free(object);
    return rc;
}

static int build(const struct task *t, bool checked, const char *so_path, struct err *err)
{
    struct strbuf text = STRBUF_INIT(ORACLE_MAX_BYTES);
    struct temp_dir dir = TEMP_DIR_INIT;
    char *c_path = NULL;
    int rc = add_source(t, checked, &text, err);
    if (rc == 0)
        rc = temp_dir_make(&dir, err);
    if (rc == 0) {
        c_path = xasprintf("%s/oracle.c", dir.path);
        rc = file_write(c_path, text.buf, text.len, err);
    }
    if (rc == 0)
        rc = checked ? compile_checked(c_path, so_path, t->name, err)
                     : compile_plain(c_path, so_path, t->name, text.len > LONG_SOURCE_BYTES, err);
    free(c_path);
    temp_dir_release(&dir);
    strbuf_release(&text);
    return rc;
}

int oracle_build_checked(const struct task *t, const char *so_path, struct err *err)
{
    return build(t, true, so_path, err);
}

int oracle_build(const struct task *t, const char *so_path, struct err *err)
{
    if (!*t->dir) {
        char *path = xasprintf("oracles/%s.so", t->name);
        const struct asset *so = asset_find(path);
        free(path);
        if (so)
            return file_write_mode(so_path, so->data, so->len, 0755, err);
    }
    return build(t, false, so_path, err);
}

/* ---- running --------------------------------------------------------------------------------- */

static void run_units(void *ctx, uint64_t step, uint64_t first, uint64_t count)
{
    const struct oracle_phase *p = ctx;
    p->fn(p->ctx, (int64_t)first, (int64_t)count, (int64_t)step);
}

void oracle_run_phase(struct oracle_phase *p, unsigned threads)
{
    struct crew_work w = {
        .run = run_units, .ctx = p, .units = (uint64_t)p->units, .repeat = (uint64_t)p->repeat};
    crew_run(&w, p->is_small ? 1 : threads);
}

double oracle_operations(const struct shape *s)
{
    const struct task *t = s->task;
    double most = t->flops ? (double)shape_eval(s, t->flops, NULL) : 0;
    most = MAX(most, t->scratch ? (double)shape_eval(s, t->scratch, NULL) : 0);
    for (size_t i = 0; i < t->tensors.n; i++)
        most = MAX(most, (double)s->elems[i]);
    for (size_t i = 0; i < t->phases.n; i++) {
        int64_t units, repeat;
        if (shape_phase(s, &t->phases.items[i], &units, &repeat, NULL) == 0)
            most = MAX(most, (double)units * (double)repeat);
    }
    return most;
}

unsigned oracle_threads(void)
{
    return (unsigned)MIN(MAX(sysconf(_SC_NPROCESSORS_ONLN), 1), MAX_THREADS);
}

int oracle_find_phase(void *so, const struct shape *s, size_t i, const struct ref_ctx *ctx,
                      struct oracle_phase *out, struct err *err)
{
    const struct task_phase *p = &s->task->phases.items[i];
    *out = (struct oracle_phase){.ctx = ctx};
    if (shape_phase(s, p, &out->units, &out->repeat, err) < 0)
        return -1;
    out->is_small = out->repeat > 1 && oracle_operations(s) / (double)out->repeat < SMALL_STEP_OPS;
    *(void **)&out->fn = dlsym(so, p->fn);
    return out->fn ? 0 : err_set(err, ERR_INPUT, "reference.c has no PHASE(%s)", p->fn);
}

static int run_phases(void *so, const struct shape *s, struct ref_ctx *ctx, unsigned threads,
                      struct err *err)
{
    for (size_t i = 0; i < s->task->phases.n; i++) {
        struct oracle_phase p;
        if (oracle_find_phase(so, s, i, ctx, &p, err) < 0)
            return -1;
        oracle_run_phase(&p, threads);
    }
    return 0;
}

/* ---- one run --------------------------------------------------------------------------------- */

/* Allocates the scratch; free() frees it. A large scratch gets huge pages, because an oracle may
 * read it with a large stride. With small pages most of these reads would miss the TLB. */
static void *scratch_alloc(size_t bytes)
{
    if (bytes < 4 * HUGE_PAGE)
        return malloc(bytes);
    size_t whole = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    void *p = aligned_alloc(HUGE_PAGE, whole);
    if (p)
        madvise(p, whole, MADV_HUGEPAGE); /* only a hint */
    return p;
}

int oracle_ctx_init(struct oracle_ctx *x, const struct shape *s, void *const *inputs,
                    double *const *out_value, double *const *out_mag, struct err *err)
{
    const struct task *t = s->task;
    *x = (struct oracle_ctx){.fault = REF_NO_FAULT};
    if (t->tensors.n > REF_MAX_TENSORS)
        return err_set(err, ERR_LIMIT, "more than %d tensors", REF_MAX_TENSORS);
    for (size_t i = 0; i < t->tensors.n; i++) {
        x->ref.in[i] = inputs[i];
        x->ref.in_elems[i] = inputs[i] ? (int64_t)s->elems[i] : 0;
        x->ref.out_value[i] = out_value[i];
        x->ref.out_mag[i] = out_mag[i];
        x->ref.out_elems[i] = out_value[i] ? (int64_t)s->elems[i] : 0;
        x->names[i] = t->tensors.items[i].name;
    }
    struct err e = ERR_INIT;
    int64_t scratch = t->scratch ? shape_eval(s, t->scratch, &e) : 0;
    if (e.kind != ERR_NONE || scratch < 0 || scratch >= INT64_MAX / 8)
        return err_set(err, ERR_INPUT, "\"scratch\": %s",
                       e.kind != ERR_NONE ? e.msg : "it must be below 2^60 doubles");
    if (!(x->ref.scratch = scratch_alloc(((size_t)scratch + 1) * sizeof *x->ref.scratch)))
        return err_set(err, ERR_LIMIT, "no memory for %lld doubles of scratch", (long long)scratch);
    x->ref.scratch_elems = scratch;
    x->scalars = xcalloc(t->scalars.n + 1, sizeof *x->scalars);
    for (size_t i = 0; i < t->scalars.n; i++)
        x->scalars[i] = t->scalars.items[i].value;
    x->ref.axis = s->axes;
    x->ref.scalar = x->scalars;
    x->ref.fault = &x->fault;
    return 0;
}

static void ctx_release(struct oracle_ctx *x)
{
    free(x->ref.scratch);
    free(x->scalars);
}

int oracle_run(const char *so_path, const struct shape *s, void *const *inputs,
               double *const *out_value, double *const *out_mag, unsigned threads, struct err *err)
{
    const struct task *t = s->task;
    struct oracle_ctx x;
    int rc = oracle_ctx_init(&x, s, inputs, out_value, out_mag, err);
    threads = threads ? MIN(threads, MAX_THREADS) : oracle_threads();
    void *so = rc == 0 ? dlopen(so_path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (rc == 0 && !so)
        rc = err_set(err, ERR_SYSTEM, "cannot load the shared object: %s", dlerror());
    if (rc == 0)
        rc = run_phases(so, s, &x.ref, threads, err);
    if (rc == 0)
        rc = ref_fault_check(&x.ref, x.fault, x.names, err);
    if (so)
        dlclose(so);
    ctx_release(&x);
    return rc == 0 ? 0 : err_prefix(err, "oracle of task '%s'", t->name);
}
