/*
 * compile.c - scans the source, looks in the cache, chooses a precompiled header (the usual one
 * with CuTe, or the family header of an earlier version of the kernel, see family.h), asks the
 * service and keeps the result.
 */
#include "compile/compile.h"

#include <errno.h>
#include <fts.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "compile/cache.h"
#include "compile/cache_entry.h"
#include "compile/client.h"
#include "compile/code.h"
#include "compile/diag.h"
#include "compile/family.h"
#include "compile/scan.h"
#include "compile/shim.h"
#include "compile/trailer.h"
#include "sys/asset.h"
#include "sys/file.h"
#include "sys/hash.h"
#include "sys/toolchain.h"

#define SEC 1000000000ull
/* The size of NVRTC's heap with a precompiled header, in bytes of address space. If a compile needs
 * more, it runs again without a precompiled header. */
#define HEADER_HEAP ((uint64_t)2 << 30)
#define FAMILY_HEAP ((uint64_t)4 << 30)
#define FAMILY_MIN_NS (4 * SEC)
/* Raise the number when the meaning of a cache entry changes. */
#define KEY_VERSION "hone-compile 6"

struct family {
    char parent[HASH_HEX];
    char pch[PCH_PATH_MAX];
    char *prelude;
    struct family_record record;
    struct arena arena;
    enum { FAMILY_BUILDING, FAMILY_READY, FAMILY_USELESS } state;
    struct client_job job;
};

struct compiler {
    struct toolchain tc;
    struct compiler_config cfg;
    bool nvcc; /* false = NVRTC */
    char version[64];
    char identity[HASH_HEX]; /* hash of the compiler and its headers */
    struct cache cache;
    bool have_cache;
    struct client client;
    VEC(struct family *) families;
    pthread_mutex_t lock; /* guards client and families */
};

struct compile_ticket {
    struct compiler *compiler;
    int fd;       /* if at_once, a descriptor that is always readable; else -1 */
    bool at_once; /* the result was cached, or the source was rejected */
    struct compiled done;
    struct client_job job;
    struct arena arena;
    char nonce[33], key[HASH_HEX];
    const char *name, *arch;
    const char **kernels;
    size_t nkernels;
    bool resent;
    struct family *family; /* the family whose header this compile uses, or NULL */
    /* For building a family header from this compile's source. Unused if record.source is NULL. */
    struct family_record record;
};

/* ---- opening ---------------------------------------------------------------------------------*/

/* Adds a file's path, size and time of change to the hash. Size and time stand for its bytes. */
static void hash_stat(struct hash *h, const char *dir, const char *name)
{
    char path[4096];
    struct stat st;
    snprintf(path, sizeof path, "%s%s%s", dir, *name ? "/" : "", name);
    hash_str(h, path);
    if (*dir && stat(path, &st) == 0) {
        hash_u64(h, (uint64_t)st.st_size);
        hash_u64(h, (uint64_t)st.st_mtim.tv_sec);
        hash_u64(h, (uint64_t)st.st_mtim.tv_nsec);
    }
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void hash_tree(struct hash *h, const char *dir)
{
    char *roots[] = {xstrdup(dir), NULL};
    FTS *tree = *dir ? fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name) : NULL;
    for (FTSENT *f; tree && (f = fts_read(tree));)
        if (f->fts_info == FTS_F)
            hash_stat(h, f->fts_path, "");
    if (tree)
        fts_close(tree);
    free(roots[0]);
}

static void find_identity(struct compiler *c)
{
    static const char *const cute_files[] = {"", "cute", "cute/atom", "cute/tensor.hpp",
                                             "cutlass/version.h"};
    struct hash *h = hash_new();
    struct strbuf trailer = STRBUF_INIT(64 << 10);
    hash_str(h, KEY_VERSION);
    trailer_add(&trailer, "", NULL, 0);
    hash_str(h, trailer.buf);
    strbuf_release(&trailer);
    for (size_t i = 0; i < nshims; i++)
        hash_str(h, shim_text(i));
    hash_str(h, c->version);
    hash_stat(h, c->nvcc ? c->tc.nvcc : c->tc.nvrtc_lib, "");
    hash_str(h, toolchain_cute_version(&c->tc));
    for (size_t i = 0; i < ARRAY_LEN(cute_files); i++)
        hash_stat(h, c->tc.cute_include, cute_files[i]);
    hash_stat(h, c->tc.cuda_include, "cuda_fp16.h");
    hash_stat(h, c->tc.cccl_include, "cuda/std");
    hash_tree(h, c->tc.own_include);
    hash_finish(h, c->identity);
}

static int choose(struct compiler *c, struct err *err)
{
    const char *kind = c->cfg.kind;
    bool rtc = *c->tc.nvrtc_lib != '\0', nvcc = *c->tc.nvcc != '\0';
    if (kind && !str_eq(kind, "nvrtc") && !str_eq(kind, "nvcc"))
        return err_set(err, ERR_USAGE, "the compiler must be nvrtc or nvcc, not '%s'", kind);
    if (kind && str_eq(kind, "nvrtc") && !rtc)
        return err_set(err, ERR_ENV, "libnvrtc was not found; set HONE_NVRTC or CUDA_HOME");
    if (kind && str_eq(kind, "nvcc") && !nvcc)
        return err_set(err, ERR_ENV, "nvcc was not found; set HONE_NVCC or PATH");
    if (!rtc && !nvcc)
        return err_set(err, ERR_ENV,
                       "no CUDA compiler: neither libnvrtc nor nvcc was found. `make setup` "
                       "fetches NVRTC; or set CUDA_HOME");
    c->nvcc = kind ? str_eq(kind, "nvcc") : !rtc;
    snprintf(c->version, sizeof c->version, "%s %s", c->nvcc ? "nvcc" : "nvrtc",
             toolchain_cuda_version(&c->tc));
    return 0;
}

int compiler_open(struct compiler **out, const struct compiler_config *cfg, struct err *err)
{
    struct compiler *c = xcalloc(1, sizeof *c);
    c->cfg = *cfg;
    pthread_mutex_init(&c->lock, NULL);
    toolchain_find(&c->tc);
    if (choose(c, err) < 0)
        goto fail;
    if (!c->cfg.child_ns)
        c->cfg.child_ns = 120 * SEC;
    if (!c->cfg.family_min_ns)
        c->cfg.family_min_ns = FAMILY_MIN_NS;
    if (!c->cfg.child_bytes)
        c->cfg.child_bytes = (uint64_t)6 << 30;
    if (!c->cfg.jobs)
        c->cfg.jobs = (unsigned)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1L);
    struct err cache_err = ERR_INIT;
    c->have_cache = cache_open(&c->cache, cfg->cache_dir, &cache_err) == 0;
    if (!c->have_cache)
        log_warn("compile", "no compile cache: %s", cache_err.msg);
    c->client = (struct client){.nvrtc = c->nvcc ? "" : c->tc.nvrtc_lib, .jobs = c->cfg.jobs};
    find_identity(c);
    *out = c;
    return 0;
fail:
    compiler_close(c);
    return -1;
}

void compiler_close(struct compiler *c)
{
    if (!c)
        return;
    vec_each (struct family *, f, &c->families) {
        client_job_release(&(*f)->job);
        arena_release(&(*f)->arena);
        free(*f);
    }
    vec_release(&c->families);
    client_stop(&c->client);
    if (c->have_cache)
        cache_release(&c->cache);
    toolchain_release(&c->tc);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

const char *compiler_version(const struct compiler *c)
{
    return c->version;
}

/* ---- options, headers and the precompiled header --------------------------------------------- */

static void find_key(const struct compiler *c, const struct compile_request *rq,
                     const struct compile_ticket *t, char key[HASH_HEX])
{
    struct hash *h = hash_new();
    hash_str(h, c->identity);
    hash_str(h, t->arch);
    hash_str(h, t->name);
    hash_u64(h, rq->trusted + 2 * rq->no_lines);
    hash_u64(h, t->nkernels);
    for (size_t i = 0; i < t->nkernels; i++)
        hash_str(h, t->kernels[i]);
    for (const char *const *o = rq->options; o && *o; o++)
        hash_str(h, *o);
    hash_bytes(h, rq->source, rq->len);
    hash_finish(h, key);
}

struct option_list {
    struct arena *a;
    VEC(const char *) v;
};

static void add_option(struct option_list *o, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void add_option(struct option_list *o, const char *fmt, ...)
{
    char buf[4096];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(buf, sizeof buf, fmt, ap);
    va_end(ap);
    *vec_push(&o->v) = arena_strdup(o->a, buf);
}

static void find_options(const struct compiler *c, const struct compile_request *rq,
                         const struct compile_ticket *t, struct option_list *o)
{
    add_option(o, "-arch=%s", t->arch);
    add_option(o, "--std=c++17");
    if (!rq->no_lines)
        add_option(o, "-lineinfo");
    add_option(o, "--ptxas-options=-v");
    add_option(o, "-w");
    if (c->nvcc) {
        add_option(o, "--expt-relaxed-constexpr");
    } else {
        add_option(o, "--device-int128"); /* nvcc needs no option for this */
        /* for CuTe, and for lambdas that become function pointers */
        add_option(o, "-default-device");
    }
    if (!c->nvcc && !rq->trusted)
        add_option(o, "--pre-include=" SHIM_BASE);
    const char *dirs[] = {c->tc.cute_include, c->tc.cuda_include, c->tc.cccl_include,
                          c->tc.own_include};
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
        if (*dirs[i])
            add_option(o, "-I%s", dirs[i]);
    for (const char *const *x = rq->options; x && *x; x++)
        add_option(o, "%s", *x);
}

/* Finds the headers that a source can include by name: for NVRTC the shims (shim.h), for trusted
 * code also Hone's embedded headers. */
static void find_headers(const struct compiler *c, const struct compile_request *rq,
                         struct compile_job_request *job, struct arena *a)
{
    size_t n = 0, max = nshims + nassets;
    job->header_names = arena_alloc(a, max * sizeof(char *));
    job->header_texts = arena_alloc(a, max * sizeof(char *));
    for (size_t i = 0; i < nshims && !c->nvcc; i++, n++) {
        job->header_names[n] = shims[i].name;
        job->header_texts[n] = shim_text(i);
    }
    for (size_t i = 0; i < nassets && rq->trusted; i++) {
        const char *path = assets[i].path;
        if (!str_starts(path, "src/") || str_starts(path, "src/compile/") || !str_ends(path, ".h"))
            continue;
        job->header_names[n] = strrchr(path, '/') + 1;
        job->header_texts[n++] = assets[i].data;
    }
    job->nheaders = n;
}

static const char *dirname_of(struct arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? arena_strndup(a, path, (size_t)(slash - path)) : "";
}

static void find_roots(const struct compiler *c, struct compile_job_request *job, struct arena *a)
{
    const char *lib = arena_strdup(a, c->tc.nvrtc_lib);
    char *real = realpath(lib, NULL);
    const char *all[] = {c->tc.cute_include,
                         c->tc.cuda_include,
                         c->tc.cccl_include,
                         c->tc.own_include,
                         real ? dirname_of(a, real) : "",
                         dirname_of(a, lib)};
    free(real);
    job->roots = arena_alloc(a, ARRAY_LEN(all) * sizeof(char *));
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (*all[i])
            job->roots[job->nroots++] = all[i];
    job->dir = *c->tc.cuda_include ? c->tc.cuda_include : "/proc/self/fdinfo";
}

/* Sets `out` to the path of the precompiled header for these options and this text, `prelude`. The
 * file's name begins with `kind`, which is "" or PCH_FAMILY. Leaves `out` as it is if no header can
 * be kept on disk. */
static void find_pch(struct compiler *c, const struct option_list *o, const char *kind,
                     const char *prelude, char out[PCH_PATH_MAX])
{
    char program[4096], key[HASH_HEX];
    client_program(program, sizeof program);
    if (!c->have_cache || !*program)
        return;
    struct hash *h = hash_new();
    hash_str(h, c->identity);
    hash_stat(h, program, ""); /* a header works only in the program that built it */
    for (size_t i = 0; i < o->v.n; i++)
        hash_str(h, o->v.items[i]);
    hash_str(h, prelude);
    hash_finish(h, key);
    int n = snprintf(out, PCH_PATH_MAX, "%s/pch/%s%.24s.pch", c->cache.dir, kind, key);
    if (n >= PCH_PATH_MAX)
        *out = '\0';
}

/* ---- families --------------------------------------------------------------------------------*/

enum { MAX_RECORD = SOURCE_MAX_BYTES + (1 << 20) }; /* a source and the names of its headers */

static void record_key(const char *key, char out[HASH_HEX])
{
    struct hash *h = hash_new();
    hash_str(h, "family");
    hash_str(h, key);
    hash_finish(h, out);
}

static void family_remember(struct compile_ticket *t, const struct compiled *out)
{
    struct compiler *c = t->compiler;
    if (!t->record.source || !out->ok || out->cpu_ns < c->cfg.family_min_ns || !c->have_cache)
        return;
    struct strbuf sb = STRBUF_INIT(MAX_RECORD);
    char key[HASH_HEX];
    t->record.cpu_ns = out->cpu_ns;
    if (t->family) /* the record holds the time without a family header */
        t->record.cpu_ns = MAX(t->record.cpu_ns, t->family->record.cpu_ns);
    record_key(t->key, key);
    family_record_write(&t->record, &sb);
    if (!sb.truncated)
        cache_put(&c->cache, key, sb.buf, sb.len, NULL);
    strbuf_release(&sb);
}

/* Makes the family of `parent`, and starts to build its header. If the header cannot be built, the
 * state is FAMILY_USELESS. */
static struct family *family_new(struct compiler *c, const char *parent,
                                 struct compile_job_request *job, const struct option_list *o)
{
    struct strbuf sb = STRBUF_INIT(MAX_RECORD), text = STRBUF_INIT(2 * SOURCE_MAX_BYTES);
    char key[HASH_HEX];
    struct family *f = xcalloc(1, sizeof *f);
    f->job = (struct client_job)CLIENT_JOB_INIT;
    snprintf(f->parent, sizeof f->parent, "%s", parent);
    f->state = FAMILY_USELESS;
    record_key(parent, key);
    if (c->cache.max_bytes < FAMILY_HEAP)
        goto out;
    if (!cache_get(&c->cache, key, &sb) ||
        family_record_read(sb.buf, sb.len, &f->record, &f->arena) < 0 ||
        family_prelude(&f->record, &text) < 0)
        goto out;
    f->prelude = arena_strdup(&f->arena, text.buf);
    find_pch(c, o, PCH_FAMILY, f->prelude, f->pch);
    if (!*f->pch)
        goto out;
    struct compile_job_request build = *job;
    struct compile_job_spec spec = {.magic = COMPILE_JOB_MAGIC,
                                    .kind = COMPILE_JOB_PCH,
                                    .heap_bytes = FAMILY_HEAP,
                                    .limit_ns = 2 * c->cfg.child_ns,
                                    .limit_bytes = c->cfg.child_bytes};
    memcpy(spec.pch, f->pch, sizeof spec.pch);
    build.source = "";
    build.len = 0;
    build.prelude = f->prelude;
    if (client_submit(&c->client, &spec, &build, &f->job, NULL) == 0)
        f->state = FAMILY_BUILDING;
out:
    strbuf_release(&sb);
    strbuf_release(&text);
    *vec_push(&c->families) = f;
    return f;
}

static void family_poll(struct compiler *c, struct family *f)
{
    struct pollfd p = {.fd = f->job.reply_fd, .events = POLLIN};
    struct compile_job_reply reply;
    if (f->state != FAMILY_BUILDING || poll(&p, 1, 0) <= 0)
        return;
    bool built = client_wait(&f->job, &reply, NULL) == 1 && reply.end == COMPILE_JOB_DONE;
    f->state = built ? FAMILY_READY : FAMILY_USELESS;
    if (built)
        cache_trim(&c->cache); /* the new header may fill a third of the cache */
    log_debug("compile", "family header of %.12s: %s", f->parent, built ? "ready" : "not built");
    client_job_release(&f->job);
}

/* Returns the family of `parent`. The first call for a parent starts to build its header. */
static struct family *family_of(struct compiler *c, const char *parent,
                                struct compile_job_request *job, const struct option_list *o)
{
    for (size_t i = 0; i < c->families.n; i++)
        if (str_eq(c->families.items[i]->parent, parent)) {
            family_poll(c, c->families.items[i]);
            return c->families.items[i];
        }
    return family_new(c, parent, job, o);
}

/* ---- starting --------------------------------------------------------------------------------*/

static int answer_at_once(struct compile_ticket *t, struct err *err)
{
    t->at_once = true;
    t->fd = eventfd(1, EFD_CLOEXEC);
    return t->fd < 0 ? err_errno(err, "eventfd") : 0;
}

static int answer_rejected(struct compile_ticket *t, const struct source_scan *scan,
                           struct err *err)
{
    struct compiled *d = &t->done;
    d->failure = arena_strdup(&d->arena, scan->failure);
    d->log = arena_printf(&d->arena, "%s(%u): error: %s\n", t->name, scan->line, scan->message);
    diag_add(&d->diags, &d->arena, t->name, scan->line, scan->column, scan->message, "");
    return answer_at_once(t, err);
}

static bool answer_cached(struct compile_ticket *t)
{
    struct compiler *c = t->compiler;
    struct strbuf sb = STRBUF_INIT((size_t)512 << 20);
    bool hit = c->have_cache && !c->cfg.no_cache && cache_get(&c->cache, t->key, &sb) &&
               cache_entry_read(sb.buf, sb.len, &t->done) == 0;
    strbuf_release(&sb);
    if (!hit) {
        compiled_release(&t->done);
        return false;
    }
    t->done.from_cache = true;
    return true;
}

static void keep_record(struct compile_ticket *t, const struct compile_request *rq,
                        const struct source_scan *scan)
{
    size_t n = scan->includes.n;
    t->record.source = arena_strndup(&t->arena, rq->source, rq->len);
    t->record.len = rq->len;
    t->record.includes = arena_alloc(&t->arena, (n + 1) * sizeof(char *));
    for (size_t i = 0; i < n; i++)
        t->record.includes[i] = arena_strdup(&t->arena, scan->includes.items[i]);
    t->record.nincludes = n;
}

static int submit(struct compile_ticket *t, const struct compile_request *rq,
                  const struct source_scan *scan, struct err *err)
{
    struct compiler *c = t->compiler;
    struct strbuf text = STRBUF_INIT((size_t)8 << 20);
    struct option_list o = {.a = &t->arena};
    struct compile_job_request job = {
        .name = t->name, .tool = c->tc.nvcc, .tmp = "", .prelude = ""};
    struct compile_job_spec spec = {.magic = COMPILE_JOB_MAGIC,
                                    .kind = c->nvcc ? COMPILE_JOB_NVCC : COMPILE_JOB_NVRTC,
                                    .limit_ns = c->cfg.child_ns,
                                    .limit_bytes = c->cfg.child_bytes};
    int rc = -1;
    if (trailer_nonce(t->nonce, err) < 0)
        goto out;
    strbuf_add(&text, scan->text.buf, scan->text.len);
    trailer_add(&text, t->nonce, t->kernels, t->nkernels);
    find_options(c, rq, t, &o);
    find_headers(c, rq, &job, &t->arena);
    find_roots(c, &job, &t->arena);
    if (c->have_cache)
        job.tmp = arena_printf(&t->arena, "%s/tmp", c->cache.dir);
    if (scan->pch_ok && !c->nvcc && !c->cfg.no_pch) {
        job.prelude = "#include <cute/tensor.hpp>\n";
        find_pch(c, &o, "", job.prelude, spec.pch);
        spec.heap_bytes = HEADER_HEAP;
        keep_record(t, rq, scan);
    }
    job.source = text.buf;
    job.len = text.len;
    job.options = o.v.items;
    job.noptions = o.v.n;
    pthread_mutex_lock(&c->lock);
    struct family *f = *spec.pch && rq->parent ? family_of(c, rq->parent, &job, &o) : NULL;
    if (f && f->state == FAMILY_READY &&
        family_covers(&f->record, scan->includes.items, scan->includes.n)) {
        t->family = f;
        memcpy(spec.pch, f->pch, sizeof spec.pch);
        spec.heap_bytes = FAMILY_HEAP;
        spec.pch_if_ready = true;
        job.prelude = f->prelude;
    } else if (f && f->record.source) {
        /* The parent compiles slowly, and its family header cannot be used. For the slowest
         * kernels, the usual header costs more than it saves (docs/compile.md). */
        spec.pch[0] = '\0';
    }
    rc = client_submit(&c->client, &spec, &job, &t->job, err);
    pthread_mutex_unlock(&c->lock);
out:
    vec_release(&o.v);
    strbuf_release(&text);
    return rc;
}

static void keep_names(struct compile_ticket *t, const struct compile_request *rq,
                       const struct source_scan *scan)
{
    const char *const *names = rq->nkernels ? rq->kernels : scan->kernels.items;
    size_t n = rq->nkernels ? rq->nkernels : scan->kernels.n;
    t->kernels = arena_alloc(&t->arena, (n + 1) * sizeof *t->kernels);
    for (size_t i = 0; i < n; i++) {
        bool twice = false; /* a plan may launch a kernel more than once */
        for (size_t k = 0; k < t->nkernels; k++)
            twice |= str_eq(t->kernels[k], names[i]);
        if (!twice)
            t->kernels[t->nkernels++] = arena_strdup(&t->arena, names[i]);
    }
}

static struct compile_ticket *ticket_new(struct compiler *c, const struct compile_request *rq)
{
    struct compile_ticket *t = xcalloc(1, sizeof *t);
    t->compiler = c;
    t->fd = -1;
    t->job = (struct client_job)CLIENT_JOB_INIT;
    t->name = arena_strdup(&t->arena, rq->name ? rq->name : "kernel.cu");
    t->arch = arena_strdup(&t->arena, rq->arch ? rq->arch : "sm_90a");
    return t;
}

void compile_key(struct compiler *c, const struct compile_request *rq, char key[65])
{
    struct compile_ticket *t = ticket_new(c, rq);
    struct source_scan scan;
    source_scan(rq->source, rq->len, rq->trusted, &scan);
    keep_names(t, rq, &scan);
    find_key(c, rq, t, key);
    source_scan_release(&scan);
    compile_cancel(t);
}

int compile_prepare(struct compiler *c, const char *parent, const char *arch)
{
    struct compile_request rq = {.arch = arch};
    struct compile_ticket *t = ticket_new(c, &rq);
    struct option_list o = {.a = &t->arena};
    struct compile_job_request job = {.name = t->name, .tool = "", .tmp = "", .prelude = ""};
    int state = -1;
    if (!c->nvcc && !c->cfg.no_pch && c->have_cache) {
        find_options(c, &rq, t, &o);
        find_headers(c, &rq, &job, &t->arena);
        find_roots(c, &job, &t->arena);
        job.options = o.v.items;
        job.noptions = o.v.n;
        pthread_mutex_lock(&c->lock);
        struct family *f = family_of(c, parent, &job, &o);
        state = f->state == FAMILY_READY ? 1 : f->state == FAMILY_BUILDING ? 0 : -1;
        pthread_mutex_unlock(&c->lock);
    }
    vec_release(&o.v);
    compile_cancel(t);
    return state;
}

int compile_check_arch(const char *arch, struct err *err)
{
    size_t digits = str_starts(arch, "sm_") ? strspn(arch + 3, "0123456789") : 0;
    const char *end = digits ? arch + 3 + digits : arch;
    unsigned long number = digits && digits <= 3 ? strtoul(arch + 3, NULL, 10) : 0;
    static const unsigned long known[] = {75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121};
    bool suffix = !*end || (number >= 90 && strchr("af", *end) && !end[1]);
    /* perhaps a GPU that only a later compiler knows */
    bool exists = number > known[ARRAY_LEN(known) - 1] && number <= 200;
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        exists |= number == known[i];
    if (exists && suffix)
        return 0;
    return err_set(err, ERR_USAGE,
                   "'%s' is not an architecture: write sm_75, sm_80, sm_86, sm_87, sm_88, sm_89, "
                   "sm_90a, sm_100a, sm_101a, sm_103a, sm_110a, sm_120a or sm_121a",
                   arch);
}

int compile_start(struct compiler *c, const struct compile_request *rq, struct compile_ticket **out,
                  struct err *err)
{
    if (rq->arch && compile_check_arch(rq->arch, err) < 0)
        return -1;
    struct compile_ticket *t = ticket_new(c, rq);
    struct source_scan scan;
    int rc = 0;
    source_scan(rq->source, rq->len, rq->trusted, &scan);
    keep_names(t, rq, &scan);
    find_key(c, rq, t, t->key);
    if (scan.failure)
        rc = answer_rejected(t, &scan, err);
    else if (answer_cached(t))
        rc = answer_at_once(t, err);
    else
        rc = submit(t, rq, &scan, err);
    source_scan_release(&scan);
    if (rc < 0) {
        compile_cancel(t);
        return -1;
    }
    *out = t;
    return 0;
}

int compile_ticket_fd(const struct compile_ticket *t)
{
    return t->at_once ? t->fd : t->job.reply_fd;
}

void compile_cancel(struct compile_ticket *t)
{
    if (!t)
        return;
    compiled_release(&t->done);
    if (t->fd >= 0)
        close(t->fd);
    client_job_release(&t->job);
    arena_release(&t->arena);
    free(t);
}

/* ---- finishing -------------------------------------------------------------------------------*/

/* Adds a diagnostic to a compile that failed without one. NVRTC gives no message if a kernel has
 * more static shared memory than a block can have, or if the constants are too large. But its log
 * says how much shared memory each kernel takes. */
static void explain_silence(struct compile_ticket *t, const char *log, struct compiled *out)
{
    static const char entry[] = "Compiling entry function '", used[] = " bytes smem";
    uint64_t most = 0;
    char kernel[200] = "", worst[200] = "";
    for (const char *l = log; l && *l; l = strchr(l, '\n') ? strchr(l, '\n') + 1 : NULL) {
        size_t n = strcspn(l, "\n");
        const char *name = memmem(l, n, entry, sizeof entry - 1), *end;
        if (name)
            snprintf(kernel, sizeof kernel, "%.*s", (int)strcspn(name + sizeof entry - 1, "'\n"),
                     name + sizeof entry - 1);
        if (!(end = memmem(l, n, used, sizeof used - 1)))
            continue;
        const char *digits = end;
        while (digits > l && digits[-1] >= '0' && digits[-1] <= '9')
            digits--;
        uint64_t bytes = strtoull(digits, NULL, 10);
        if (bytes > most) {
            most = bytes;
            snprintf(worst, sizeof worst, "%s", kernel);
        }
    }
    if (most > 48 << 10)
        code_fail(out, t->name, "",
                  arena_printf(&out->arena,
                               "the compiler failed without a message. Kernel '%s' declares %llu "
                               "bytes of static shared memory, probably more than a block can have",
                               worst, (unsigned long long)most));
    else
        code_fail(out, t->name, "",
                  "the compiler failed without a message. A possible reason: all __constant__ "
                  "variables together may take at most 65536 bytes");
}

/* Fills `out` from the reply and the result of the compile service. Returns whether `out` depends
 * only on the request, so that it may be cached. */
static bool take_reply(struct compile_ticket *t, const struct compile_job_reply *reply,
                       const struct compile_job_result *r, struct compiled *out)
{
    const struct compiler_config *cfg = &t->compiler->cfg;
    out->compile_ns = reply->wall_ns;
    out->cpu_ns = reply->cpu_ns;
    switch ((enum compile_job_end)reply->end) {
    case COMPILE_JOB_DONE:
        out->compile_ns = r->compile_ns;
        out->used_pch = r->used_pch;
        out->used_family_pch = r->used_pch && t->family;
        out->log = r->log;
        if (r->ok)
            code_from_result(r, &(struct code_origin){t->name, t->nonce, t->kernels, t->nkernels},
                             out);
        else
            diag_parse(r->log, t->name, &out->diags, &out->arena);
        if (!r->ok && out->diags.n == 0)
            explain_silence(t, r->log, out);
        return true;
    case COMPILE_JOB_TIMEOUT:
        code_fail(out, t->name, "time limit",
                  arena_printf(&out->arena,
                               "compiling must take at most %.0f s of processor time, and four "
                               "times that in elapsed time",
                               (double)cfg->child_ns / 1e9));
        return false;
    case COMPILE_JOB_MEMORY:
        code_fail(out, t->name, "memory",
                  arena_printf(&out->arena, "compiling must take at most %.1f GiB of memory",
                               (double)cfg->child_bytes / (1u << 30)));
        return false;
    default:
        code_fail(out, t->name, "compiler crash", "the compiler crashed on this source");
        return false;
    }
}

static int wait_reply(struct compile_ticket *t, struct compile_job_reply *reply, struct err *err)
{
    for (;;) {
        int rc = client_wait(&t->job, reply, err);
        if (rc != 0)
            return rc < 0 ? -1 : 0;
        if (t->resent)
            return err_set(err, ERR_SYSTEM, "the compile service died twice during one compile");
        t->resent = true;
        log_warn("compile", "the compile service died; starting another");
        struct compiler *c = t->compiler;
        pthread_mutex_lock(&c->lock);
        client_reap(&c->client, &t->job);
        rc = client_resubmit(&c->client, &t->job, err);
        pthread_mutex_unlock(&c->lock);
        if (rc < 0)
            return -1;
    }
}

static int finish_job(struct compile_ticket *t, struct compiled *out, struct err *err)
{
    struct compiler *c = t->compiler;
    struct compile_job_reply reply;
    struct compile_job_result r = {.log = ""};
    if (wait_reply(t, &reply, err) < 0)
        return -1;
    if (reply.end == COMPILE_JOB_LOST)
        return err_set(err, ERR_SYSTEM,
                       "the compile process did not start, or another program killed it twice; is "
                       "the machine out of memory?");
    if (reply.end == COMPILE_JOB_DONE && client_result(&t->job, &r, &out->arena, err) < 0)
        return -1;
    if (reply.end == COMPILE_JOB_DONE && r.code == COMPILE_JOB_TOOL_FAILED)
        return err_set(err, ERR_ENV, "%s, for %s: %.*s", c->version, t->arch,
                       (int)strcspn(r.log, "\n"), r.log);
    if (take_reply(t, &reply, &r, out) && c->have_cache && !c->cfg.no_cache) {
        struct strbuf sb = STRBUF_INIT((size_t)512 << 20);
        struct err e = ERR_INIT;
        cache_entry_write(out, &sb);
        if (cache_put(&c->cache, t->key, sb.buf, sb.len, &e) < 0)
            log_warn("compile", "cannot put the result into the compile cache: %s", e.msg);
        strbuf_release(&sb);
    }
    family_remember(t, out);
    if (out->used_family_pch && out->cpu_ns > t->family->record.cpu_ns) {
        log_info("compile", "family header of %.12s saves no time", t->family->parent);
        pthread_mutex_lock(&c->lock);
        t->family->state = FAMILY_USELESS;
        pthread_mutex_unlock(&c->lock);
    }
    return 0;
}

int compile_finish(struct compile_ticket *t, struct compiled *out, struct err *err)
{
    int rc = 0;
    if (t->at_once) {
        *out = t->done;
        memset(&t->done, 0, sizeof t->done);
    } else {
        memset(out, 0, sizeof *out);
    }
    if (!out->compiler)
        out->compiler = arena_strdup(&out->arena, t->compiler->version);
    if (!out->arch)
        out->arch = arena_strdup(&out->arena, t->arch);
    if (!out->failure)
        out->failure = "";
    if (!out->log)
        out->log = "";
    if (!out->ptx)
        out->ptx = "";
    memcpy(out->key, t->key, sizeof out->key);
    if (!t->at_once)
        rc = finish_job(t, out, err);
    if (rc < 0)
        compiled_release(out);
    compile_cancel(t);
    return rc;
}

int compile_run(struct compiler *c, const struct compile_request *rq, struct compiled *out,
                struct err *err)
{
    struct compile_ticket *t;
    memset(out, 0, sizeof *out);
    if (compile_start(c, rq, &t, err) < 0)
        return -1;
    return compile_finish(t, out, err);
}

void compiled_release(struct compiled *c)
{
    vec_each (struct diag, d, &c->diags)
        vec_release(&d->frames);
    vec_release(&c->diags);
    vec_release(&c->kernels);
    vec_release(&c->sigs);
    arena_release(&c->arena);
    memset(c, 0, sizeof *c);
}
