/*
 * nvrtc.c - runs NVRTC in a child process of the compile service. The service loads the library
 * once, before it forks.
 */
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/util.h"
#include "compile/compile_service.h"
#include "compile/ptxas.h"

enum { LOG_MAX = 1 << 20 };
/* Results of nvrtcCompileProgram() that a source can cause. On any other failure NVRTC itself does
 * not work. */
enum { ERROR_OUT_OF_MEMORY = 1, ERROR_COMPILATION = 6, ERROR_INTERNAL = 11 };

typedef struct nvrtc_program *program_t;

static struct {
    int (*create)(program_t *, const char *, const char *, int, const char *const *,
                  const char *const *);
    int (*compile)(program_t, int, const char *const *);
    int (*log_size)(program_t, size_t *);
    int (*log)(program_t, char *);
    int (*ptx_size)(program_t, size_t *);
    int (*ptx)(program_t, char *);
    int (*cubin_size)(program_t, size_t *);
    int (*cubin)(program_t, char *);
    const char *(*error_string)(int);
    int (*heap)(size_t); /* NULL before CUDA 12.8 */
    int (*pch_status)(program_t);
} api;

static const char prelude_name[] = "hone-prelude.hpp";

/* NVRTC looks for its builtins library by file name on the loader's path. The library that fits is
 * in NVRTC's own folder, so we load that library before NVRTC looks. */
static void load_builtins(const char *path)
{
    glob_t found;
    char pattern[4096];
    char *real = realpath(path, NULL);
    const char *slash = real ? strrchr(real, '/') : NULL;
    if (slash) {
        snprintf(pattern, sizeof pattern, "%.*s/libnvrtc-builtins.so*", (int)(slash - real), real);
        if (glob(pattern, 0, NULL, &found) == 0) {
            if (!dlopen(found.gl_pathv[found.gl_pathc - 1], RTLD_NOW | RTLD_GLOBAL))
                fprintf(stderr, "hone: %s\n", dlerror());
            globfree(&found);
        }
    }
    free(real);
}

int nvrtc_load(const char *path, struct err *err)
{
    static const struct {
        const char *name;
        void **slot;
        bool optional;
    } syms[] = {
        {"nvrtcCreateProgram", (void **)&api.create, false},
        {"nvrtcCompileProgram", (void **)&api.compile, false},
        {"nvrtcGetProgramLogSize", (void **)&api.log_size, false},
        {"nvrtcGetProgramLog", (void **)&api.log, false},
        {"nvrtcGetPTXSize", (void **)&api.ptx_size, false},
        {"nvrtcGetPTX", (void **)&api.ptx, false},
        {"nvrtcGetCUBINSize", (void **)&api.cubin_size, false},
        {"nvrtcGetCUBIN", (void **)&api.cubin, false},
        {"nvrtcGetErrorString", (void **)&api.error_string, false},
        {"nvrtcSetPCHHeapSize", (void **)&api.heap, true},
        {"nvrtcGetPCHCreateStatus", (void **)&api.pch_status, true},
    };
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return err_set(err, ERR_ENV, "cannot load NVRTC: %s", dlerror());
    for (size_t i = 0; i < ARRAY_LEN(syms); i++) {
        *syms[i].slot = dlsym(lib, syms[i].name);
        if (!*syms[i].slot && !syms[i].optional)
            return err_set(err, ERR_ENV, "%s has no %s: is it older than CUDA 11.1?", path,
                           syms[i].name);
    }
    load_builtins(path);
    return 0;
}

/* Returns the options of the request, then those for the precompiled header if there is one. *n
 * becomes their number. */
static const char **options_for(const struct compile_job_request *rq, const char *pch_option,
                                const char *pch, struct arena *a, int *n)
{
    const char **o = arena_alloc(a, (rq->noptions + 3) * sizeof *o);
    size_t k = 0;
    for (size_t i = 0; i < rq->noptions; i++)
        o[k++] = rq->options[i];
    if (*pch) {
        o[k++] = arena_printf(a, "--pre-include=%s", prelude_name);
        o[k++] = arena_printf(a, "%s=%s", pch_option, pch);
    }
    *n = (int)k;
    return o;
}

static program_t create(const struct compile_job_request *rq, const char *source, bool prelude,
                        struct arena *a)
{
    const char **names = arena_alloc(a, (rq->nheaders + 1) * sizeof *names);
    const char **texts = arena_alloc(a, (rq->nheaders + 1) * sizeof *texts);
    size_t n = 0;
    for (; n < rq->nheaders; n++) {
        names[n] = rq->header_names[n];
        texts[n] = rq->header_texts[n];
    }
    if (prelude) {
        names[n] = prelude_name;
        texts[n++] = rq->prelude;
    }
    program_t p = NULL;
    return api.create(&p, source, rq->name, (int)n, texts, names) == 0 ? p : NULL;
}

static const char *get_log(program_t p, struct arena *a)
{
    size_t n = 0;
    if (api.log_size(p, &n) != 0 || n < 2)
        return "";
    char *all = malloc(n);
    if (!all || api.log(p, all) != 0) {
        free(all);
        return "";
    }
    char *log = arena_strndup(a, all, LOG_MAX);
    free(all);
    return log;
}

/* Finds source lines for errors of ptxas. NVRTC keeps the PTX even if ptxas rejected it. */
static void place_ptxas_errors(program_t p, const char *name, struct compile_job_result *out,
                               struct arena *a)
{
    size_t n = 0;
    char *ptx = NULL;
    if (strstr(out->log, "ptxas ") && api.ptx_size(p, &n) == 0 && (ptx = calloc(1, n + 1)) &&
        api.ptx(p, ptx) == 0)
        out->log = ptxas_places(out->log, ptx, name, a);
    free(ptx);
}

void nvrtc_compile(const struct compile_job_request *rq, const struct compile_job_spec *spec,
                   struct compile_job_result *out, struct arena *a)
{
    int n;
    const char **options = options_for(rq, "--use-pch", spec->pch, a, &n);
    if (*spec->pch && api.heap)
        api.heap(spec->heap_bytes);
    uint64_t start = now_ns();
    program_t p = create(rq, rq->source, *spec->pch != '\0', a);
    if (!p) {
        out->code = COMPILE_JOB_TOOL_FAILED;
        out->log = "NVRTC could not create a program";
        return;
    }
    out->code = api.compile(p, n, options);
    out->ok = out->code == 0;
    out->compile_ns = now_ns() - start;
    if (!out->ok && out->code != ERROR_COMPILATION) {
        out->log = arena_printf(a, "%s: %s", api.error_string(out->code), get_log(p, a));
        out->code = out->code == ERROR_OUT_OF_MEMORY ? COMPILE_JOB_OUT_OF_MEMORY
                    : out->code == ERROR_INTERNAL    ? COMPILE_JOB_TOOL_CRASHED
                                                     : COMPILE_JOB_TOOL_FAILED;
        return;
    }
    out->log = get_log(p, a);
    out->used_pch = *spec->pch && strstr(out->log, ": using precompiled header file") != NULL;
    size_t size = 0;
    if (!out->ok) {
        place_ptxas_errors(p, rq->name, out, a);
        return;
    }
    char *ptx, *cubin;
    if (api.ptx_size(p, &size) != 0 || !(ptx = malloc(size + 1)) || api.ptx(p, ptx) != 0)
        goto bad;
    out->ptx = ptx;
    out->ptx_len = (uint32_t)strnlen(ptx, size);
    size_t ptx_size = size;
    if (api.cubin_size(p, &size) != 0)
        goto bad;
    if (MAX(ptx_size, size) > COMPILE_JOB_MAX_OUTPUT) {
        out->ok = false;
        out->code = ERROR_COMPILATION;
        out->ptx = NULL;
        out->ptx_len = 0;
        out->log = arena_printf(
            a,
            "ptxas error   : code and initialised variables must take at most %d MB, not %zu MB\n",
            COMPILE_JOB_MAX_OUTPUT >> 20, MAX(ptx_size, size) >> 20);
        return;
    }
    if (!(cubin = malloc(size + 1)) || api.cubin(p, cubin) != 0)
        goto bad;
    out->cubin = cubin;
    out->cubin_len = (uint32_t)size;
    return;
bad:
    out->ok = false;
    out->code = COMPILE_JOB_TOOL_FAILED;
    out->log = "NVRTC compiled the source but returned no code";
}

/*
 * Builds spec->pch, a precompiled header, unless another process built it first. We compile it with
 * an empty source, so that no candidate's macros can change it.
 */
int nvrtc_build_pch(const struct compile_job_request *rq, const struct compile_job_spec *spec)
{
    struct arena a = ARENA_INIT;
    /* Only the process with the lock writes this file. If it dies, the next one overwrites the
     * file. */
    char *tmp = arena_printf(&a, "%s.tmp", spec->pch);
    int rc = -1, lock = pch_lock(spec->pch);
    if (lock < 0)
        goto out;
    if (pch_valid(spec->pch)) {
        rc = 0;
        goto out;
    }
    int n;
    const char **options = options_for(rq, "--create-pch", tmp, &a, &n);
    if (api.heap)
        api.heap(spec->heap_bytes);
    program_t p = create(rq, "\n", true, &a);
    if (p && api.compile(p, n, options) == 0 && (!api.pch_status || api.pch_status(p) == 0))
        rc = pch_seal(tmp, spec->pch);
    unlink(tmp);
out:
    if (lock >= 0)
        close(lock);
    arena_release(&a);
    return rc;
}
