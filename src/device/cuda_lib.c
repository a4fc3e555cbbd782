/*
 * cuda_lib.c - runs cuBLASLt as a baseline: row-major matrix products at the task's own precision.
 *
 * A module's spec reads "gemm TA TB IN OUT COMPUTE EPILOGUE", for example "gemm n t float16 float32
 * f32 none". TA is n if A is stored as [M,K], and t if it is stored as [K,M]. TB is n if B is
 * stored as [K,N], and t if it is stored as [N,K]. IN is the dtype of A and B, OUT the dtype of D.
 * parse_spec() lists the rest.
 *
 * A program has one launch, with the arguments A, B, D, then M, N, K and batch as 8-byte integers,
 * then perhaps the bias [N]. The matrices of a batch lie one after another. The library is
 * column-major, so it gets the transposed problem: D^T[N,M] = B^T A^T.
 *
 * The first untimed call of a shape tries the library's proposals and keeps the fastest algorithm.
 * Timed calls before that call use the first proposal.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/util.h"
#include "base/vec.h"
#include "device/cuda.h"

enum { MAX_ALGOS = 8, TRIES = 3 }; /* algorithms to try; launches of each */
/* The library's numbers. Hone is built without the library's headers. */
enum { EPILOGUE_NONE = 1, EPILOGUE_BIAS = 4, EPILOGUE_RELU_BIAS = 6 };
enum { DESC_TRANSA = 3, DESC_TRANSB = 4, DESC_EPILOGUE = 7, DESC_BIAS = 8 };
static const uint64_t WORKSPACE = 64 << 20; /* bytes */

struct lt_algo {
    uint64_t data[8];
};
struct lt_heuristic {
    struct lt_algo algo;
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

struct cublaslt {
    void *lib, *handle;
    int (*create)(void **);
    int (*destroy)(void *);
    size_t (*version)(void);
    int (*desc_create)(void **, int, int);
    int (*desc_destroy)(void *);
    int (*desc_set)(void *, int, const void *, size_t);
    int (*layout_create)(void **, int, uint64_t, uint64_t, int64_t);
    int (*layout_destroy)(void *);
    int (*layout_set)(void *, int, const void *, size_t);
    int (*pref_create)(void **);
    int (*pref_destroy)(void *);
    int (*pref_set)(void *, int, const void *, size_t);
    int (*heuristic)(void *, void *, void *, void *, void *, void *, void *, int,
                     struct lt_heuristic *, int *);
    int (*matmul)(void *, void *, const void *, const void *, void *, const void *, void *,
                  const void *, const void *, void *, void *, void *, const struct lt_algo *,
                  void *, size_t, cu_stream);
    cu_ptr workspace;
    VEC(struct lt_plan) plans;
};

struct lt_plan {
    char *spec;
    uint64_t m, n, k, batch;
    void *desc, *a, *b, *d; /* descriptions of the product and its matrices */
    bool f64, i32, bias;    /* f64, i32: computes in float64 or int32, not in float32 */
    struct lt_algo algo;
    bool chosen;
};

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
    {"cublasLtCreate", offsetof(struct cublaslt, create)},
    {"cublasLtDestroy", offsetof(struct cublaslt, destroy)},
    {"cublasLtGetVersion", offsetof(struct cublaslt, version)},
    {"cublasLtMatmulDescCreate", offsetof(struct cublaslt, desc_create)},
    {"cublasLtMatmulDescDestroy", offsetof(struct cublaslt, desc_destroy)},
    {"cublasLtMatmulDescSetAttribute", offsetof(struct cublaslt, desc_set)},
    {"cublasLtMatrixLayoutCreate", offsetof(struct cublaslt, layout_create)},
    {"cublasLtMatrixLayoutDestroy", offsetof(struct cublaslt, layout_destroy)},
    {"cublasLtMatrixLayoutSetAttribute", offsetof(struct cublaslt, layout_set)},
    {"cublasLtMatmulPreferenceCreate", offsetof(struct cublaslt, pref_create)},
    {"cublasLtMatmulPreferenceDestroy", offsetof(struct cublaslt, pref_destroy)},
    {"cublasLtMatmulPreferenceSetAttribute", offsetof(struct cublaslt, pref_set)},
    {"cublasLtMatmulAlgoGetHeuristic", offsetof(struct cublaslt, heuristic)},
    {"cublasLtMatmul", offsetof(struct cublaslt, matmul)},
};

/* ---- the library ----------------------------------------------------------------------------- */

static struct cublaslt *lt_open(struct cuda *d, struct err *err)
{
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so",
                                        "/usr/local/cuda/lib64/libcublasLt.so"};
    void *lib = NULL;
    for (size_t i = 0; i < ARRAY_LEN(names) && !lib; i++)
        lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        err_set(err, ERR_ENV, "no cuBLASLt on this machine: %s", dlerror());
        return NULL;
    }
    struct cublaslt *lt = xcalloc(1, sizeof *lt);
    lt->lib = lib;
    for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
        void *sym = dlsym(lib, symbols[i].name);
        if (!sym) {
            err_set(err, ERR_ENV, "libcublasLt has no %s", symbols[i].name);
            dlclose(lib);
            free(lt);
            return NULL;
        }
        *(void **)((char *)lt + symbols[i].offset) = sym;
    }
    if (lt->create(&lt->handle) != 0 || cu_mem_alloc(d->cu, WORKSPACE, &lt->workspace, NULL) < 0) {
        err_set(err, ERR_ENV, "cuBLASLt could not be initialised");
        if (lt->handle)
            lt->destroy(lt->handle);
        dlclose(lib);
        free(lt);
        return NULL;
    }
    log_info("cuda", "cuBLASLt %zu", lt->version());
    return lt;
}

static void plan_release(struct cublaslt *lt, struct lt_plan *p)
{
    if (p->desc)
        lt->desc_destroy(p->desc);
    if (p->a)
        lt->layout_destroy(p->a);
    if (p->b)
        lt->layout_destroy(p->b);
    if (p->d)
        lt->layout_destroy(p->d);
    free(p->spec);
}

void cuda_lib_close(struct cuda *d)
{
    struct cublaslt *lt = d->lt;
    if (!lt)
        return;
    vec_each (struct lt_plan, p, &lt->plans)
        plan_release(lt, p);
    vec_release(&lt->plans);
    lt->destroy(lt->handle);
    cu_mem_free(d->cu, lt->workspace);
    free(lt);
    d->lt = NULL;
}

/* ---- the spec -------------------------------------------------------------------------------- */

struct spec {
    bool ta, tb;
    int in, out, compute, scale, epilogue; /* the library's numbers */
};

/* Returns the cudaDataType of the dtype `name`, or -1 if cuBLASLt is not used for it. */
static int data_type(const char *name)
{
    switch (dtype_from_name(name)) {
    case DT_F64:
        return 1;
    case DT_F32:
        return 0;
    case DT_F16:
        return 2;
    case DT_BF16:
        return 14;
    case DT_I8:
        return 3;
    case DT_I32:
        return 10;
    default:
        return -1;
    }
}

static int parse_spec(const char *text, struct spec *s, struct err *err)
{
    static const struct {
        const char *name;
        int compute, scale;
    } computes[] = {{"f32", 68, 0}, {"tf32", 77, 0}, {"f64", 70, 1}, {"i32", 72, 10}};
    char ta[4], tb[4], in[32], out[32], compute[8], epilogue[16];
    *s = (struct spec){.compute = -1};
    if (sscanf(text, "gemm %3s %3s %31s %31s %7s %15s", ta, tb, in, out, compute, epilogue) != 6)
        return err_set(err, ERR_INPUT, "not a library spec: '%.100s'", text);
    s->ta = str_eq(ta, "t");
    s->tb = str_eq(tb, "t");
    s->in = data_type(in);
    s->out = data_type(out);
    for (size_t i = 0; i < ARRAY_LEN(computes); i++)
        if (str_eq(compute, computes[i].name)) {
            s->compute = computes[i].compute;
            s->scale = computes[i].scale;
        }
    s->epilogue = str_eq(epilogue, "relu_bias") ? EPILOGUE_RELU_BIAS
                  : str_eq(epilogue, "bias")    ? EPILOGUE_BIAS
                                                : EPILOGUE_NONE;
    if (s->in < 0 || s->out < 0 || s->compute < 0)
        return err_set(err, ERR_INPUT, "cuBLASLt is not used for '%.100s'", text);
    return 0;
}

enum result_status cuda_lib_load(struct cuda *d, const char *spec, struct err *err)
{
    struct spec s;
    if (parse_spec(spec, &s, err) < 0)
        return RESULT_LOAD_FAILED;
    if (!d->lt)
        d->lt = lt_open(d, err);
    return d->lt ? RESULT_OK : RESULT_LOAD_FAILED;
}

/* ---- one shape ------------------------------------------------------------------------------- */

/* A row-major [rows, cols] tensor is a column-major [cols, rows] matrix. Attributes 5 and 6 are the
 * number of matrices and their distance. */
static void *layout(struct cublaslt *lt, int type, uint64_t rows, uint64_t cols, uint64_t batch)
{
    void *l = NULL;
    int32_t count = (int32_t)batch;
    int64_t stride = (int64_t)(rows * cols);
    if (lt->layout_create(&l, type, cols, rows, (int64_t)cols) != 0)
        return NULL;
    if (batch > 1 && (lt->layout_set(l, 5, &count, sizeof count) != 0 ||
                      lt->layout_set(l, 6, &stride, sizeof stride) != 0)) {
        lt->layout_destroy(l);
        return NULL;
    }
    return l;
}

static bool describe(struct cublaslt *lt, struct lt_plan *p, const struct spec *s)
{
    int32_t ta = s->ta, tb = s->tb, epilogue = s->epilogue;
    p->f64 = s->scale == 1;
    p->i32 = s->scale == 10;
    if (lt->desc_create(&p->desc, s->compute, s->scale) != 0)
        return false;
    /* the library's A is our B, and its B is our A */
    if (lt->desc_set(p->desc, DESC_TRANSA, &tb, sizeof tb) != 0 ||
        lt->desc_set(p->desc, DESC_TRANSB, &ta, sizeof ta) != 0 ||
        (epilogue != EPILOGUE_NONE &&
         lt->desc_set(p->desc, DESC_EPILOGUE, &epilogue, sizeof epilogue) != 0))
        return false;
    p->bias = epilogue != EPILOGUE_NONE;
    p->a =
        s->ta ? layout(lt, s->in, p->k, p->m, p->batch) : layout(lt, s->in, p->m, p->k, p->batch);
    p->b =
        s->tb ? layout(lt, s->in, p->n, p->k, p->batch) : layout(lt, s->in, p->k, p->n, p->batch);
    p->d = layout(lt, s->out, p->m, p->n, p->batch);
    return p->a && p->b && p->d;
}

static uint32_t alignment(uint64_t addr)
{
    uint64_t low = addr & -addr;
    return (uint32_t)MIN(low, UINT64_C(256));
}

/* Fills `h` with the library's proposals for this product, and returns their number. Attribute 1 is
 * the size of the workspace; attributes 5 to 8 are the alignments of the four matrices. */
static int propose_algorithms(struct cublaslt *lt, struct lt_plan *p, const uint64_t addr[3],
                              struct lt_heuristic *h)
{
    void *pref = NULL;
    int n = 0;
    uint64_t ws = WORKSPACE;
    uint32_t al[3] = {alignment(addr[1]), alignment(addr[0]), alignment(addr[2])};
    if (lt->pref_create(&pref) != 0)
        return 0;
    lt->pref_set(pref, 1, &ws, sizeof ws);
    lt->pref_set(pref, 5, &al[0], sizeof al[0]);
    lt->pref_set(pref, 6, &al[1], sizeof al[1]);
    lt->pref_set(pref, 7, &al[2], sizeof al[2]);
    lt->pref_set(pref, 8, &al[2], sizeof al[2]);
    if (lt->heuristic(lt->handle, p->desc, p->b, p->a, p->d, p->d, pref, MAX_ALGOS, h, &n) != 0)
        n = 0;
    lt->pref_destroy(pref);
    return n;
}

static int multiply(struct cuda *d, struct lt_plan *p, const uint64_t addr[3],
                    const struct lt_algo *algo)
{
    struct cublaslt *lt = d->lt;
    double one64 = 1, zero64 = 0;
    float one32 = 1, zero32 = 0;
    int32_t one_i = 1, zero_i = 0;
    const void *alpha = p->f64 ? (void *)&one64 : p->i32 ? (void *)&one_i : (void *)&one32;
    const void *beta = p->f64 ? (void *)&zero64 : p->i32 ? (void *)&zero_i : (void *)&zero32;
    void *out = (void *)(uintptr_t)addr[2];
    return lt->matmul(lt->handle, p->desc, alpha, (void *)(uintptr_t)addr[1], p->b,
                      (void *)(uintptr_t)addr[0], p->a, beta, out, p->d, out, p->d, algo,
                      (void *)(uintptr_t)lt->workspace, WORKSPACE, d->stream);
}

static double time_algo(struct cuda *d, struct lt_plan *p, const uint64_t addr[3],
                        const struct lt_algo *algo)
{
    double best = INFINITY;
    for (int i = 0; i < TRIES; i++) {
        float ms = 0;
        if (cu_event_record(d->cu, d->begin, d->stream, NULL) < 0 ||
            multiply(d, p, addr, algo) != 0 ||
            cu_event_record(d->cu, d->end, d->stream, NULL) < 0 ||
            cuda_wait(d, d->job->limits.call_ns) < 0 ||
            cu_event_elapsed_ms(d->cu, d->begin, d->end, &ms, NULL) < 0)
            return INFINITY;
        if (i) /* the first launch also loads the kernel */
            best = MIN(best, (double)ms);
    }
    return best;
}

static int choose_algorithm(struct cuda *d, struct lt_plan *p, const uint64_t addr[3],
                            struct err *err)
{
    struct lt_heuristic h[MAX_ALGOS];
    int n = propose_algorithms(d->lt, p, addr, h), pick = -1;
    double best = INFINITY;
    for (int i = 0; i < n; i++) {
        if (h[i].state != 0)
            continue;
        double t = d->timing ? (double)i : time_algo(d, p, addr, &h[i].algo);
        if (t < best) {
            best = t;
            pick = i;
        }
    }
    if (pick < 0)
        return err_set(err, ERR_ENV, "cuBLASLt has no algorithm for this shape");
    p->algo = h[pick].algo;
    p->chosen = !d->timing;
    return 0;
}

static struct lt_plan *plan_for(struct cuda *d, const char *spec, const uint64_t dims[4],
                                struct err *err)
{
    struct cublaslt *lt = d->lt;
    vec_each (struct lt_plan, p, &lt->plans)
        if (p->m == dims[0] && p->n == dims[1] && p->k == dims[2] && p->batch == dims[3] &&
            str_eq(p->spec, spec))
            return p;
    struct spec s;
    if (parse_spec(spec, &s, err) < 0)
        return NULL;
    struct lt_plan p = {
        .spec = xstrdup(spec), .m = dims[0], .n = dims[1], .k = dims[2], .batch = dims[3]};
    if (!describe(lt, &p, &s)) {
        err_set(err, ERR_ENV, "cuBLASLt does not take '%.100s' at this shape", spec);
        plan_release(lt, &p);
        return NULL;
    }
    struct lt_plan *out = vec_push(&lt->plans);
    *out = p;
    return out;
}

enum result_status cuda_lib_launch(struct cuda *d, const char *spec, const struct job_launch *l,
                                   void *const *args, struct err *err)
{
    uint64_t addr[3], dims[4], bias = 0;
    bool fits = l->nargs == 7 || l->nargs == 8;
    for (uint32_t i = 0; fits && i < l->nargs; i++) {
        fits = l->args[i].size == 8 && (l->args[i].kind == JOB_ARG_BUFFER) == (i < 3 || i == 7);
        if (fits)
            memcpy(i < 3 ? &addr[i] : i < 7 ? &dims[i - 3] : &bias, args[i], 8);
    }
    if (!fits) {
        err_set(err, ERR_INPUT, "a library call takes A, B, D, M, N, K, batch and perhaps a bias");
        return RESULT_LOAD_FAILED;
    }
    struct lt_plan *p = plan_for(d, spec, dims, err);
    if (p && p->bias && (!bias || d->lt->desc_set(p->desc, DESC_BIAS, &bias, sizeof bias) != 0)) {
        err_set(err, ERR_INPUT, "cuBLASLt does not take this bias");
        return RESULT_LOAD_FAILED;
    }
    if (!p || (!p->chosen && choose_algorithm(d, p, addr, err) < 0))
        return RESULT_LOAD_FAILED;
    int st = multiply(d, p, addr, &p->algo);
    if (st == 0)
        return RESULT_OK;
    err_set(err, ERR_ENV, "cublasLtMatmul failed with status %d", st);
    return RESULT_LOAD_FAILED;
}
