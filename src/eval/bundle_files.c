/* bundle_files.c - chooses and compiles the baselines, the oracle and the service code. See
 * bundle_files.h. */
#include "eval/bundle_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "sys/asset.h"
#include "sys/file.h"
#include "task/oracle.h"
#include "torch/task.h"

enum { MAX_SOURCE = 4 << 20 };

static void note(struct bundle_files *p, const char *name, const char *why)
{
    const char *what = contender_is_beside(name) ? "variant" : "baseline";
    *vec_push(&p->notes) = xasprintf("%s '%s' left out: %s", what, name, why);
    log_info("eval", "%s '%s' left out: %s", what, name, why);
}

static struct baseline *add(struct bundle_files *p, const char *name, enum job_module_kind kind)
{
    p->items = xrealloc(p->items, (p->n + 1) * sizeof *p->items);
    struct baseline *x = &p->items[p->n++];
    *x = (struct baseline){.name = xstrdup(name), .kind = kind};
    return x;
}

static void part_release(struct baseline *x)
{
    free(x->name);
    free(x->source);
    free(x->spec);
    plan_free(x->plan);
    if (x->have_code)
        compiled_release(&x->code);
}

static void drop_last(struct bundle_files *p)
{
    part_release(&p->items[--p->n]);
}

const char **kernels_of_plan(const struct plan *p, size_t *n, struct arena *a)
{
    size_t launches = plan_launch_count(p);
    const char **out = arena_alloc(a, (launches + 1) * sizeof *out);
    *n = 0;
    for (size_t i = 0; i < launches; i++) {
        size_t k = 0;
        if (!plan_launch_kernel(p, i))
            continue; /* a memset or a copy */
        while (k < *n && !str_eq(out[k], plan_launch_kernel(p, i)))
            k++;
        if (k == *n)
            out[(*n)++] = plan_launch_kernel(p, i);
    }
    return out;
}

/* Compiles a kernel baseline. Returns NULL, or the reason why the baseline is left out. */
static const char *compile_part(struct baseline *x, const struct bundle_files_request *rq,
                                struct err *err)
{
    struct problem_vec problems = VEC_INIT;
    x->plan = plan_parse(x->source, strlen(x->source), rq->task, &problems);
    for (size_t i = 0; i < problems.n; i++)
        free(problems.items[i].text);
    vec_release(&problems);
    if (!x->plan)
        return "its plan does not fit the task";
    size_t n;
    struct arena mem = ARENA_INIT;
    const char **kernels = kernels_of_plan(x->plan, &n, &mem);
    struct compile_request c = {.source = x->source,
                                .len = strlen(x->source),
                                .name =
                                    /* A candidate's file has this name too, so that a candidate and
                                     * a baseline with the same text share a cache entry. */
                                "kernel.cu",
                                .arch = rq->arch,
                                .kernels = kernels,
                                .nkernels = n,
                                .options = plan_compile_options(x->plan)};
    int rc = compile_run(rq->compiler, &c, &x->code, err);
    arena_release(&mem);
    if (rc < 0)
        return err->msg;
    x->have_code = true;
    return x->code.ok ? NULL : "it does not compile";
}

static void reject(struct bundle_files *p, const char *name, bool failed, char *text)
{
    *vec_push(&p->rejected) =
        (struct rejected_baseline){.name = xstrdup(name), .text = text, .failed = failed};
    log_info("eval", "baseline '%s' left out: %s", name, text);
}

/* If a verdict says that this baseline is not right, adds it to p->rejected and returns false. */
static bool is_right(struct bundle_files *p, const struct bundle_files_request *rq,
                     const char *name, const char *source)
{
    for (size_t i = 0; i < rq->njudged; i++) {
        const struct judged_baseline *j = &rq->judged[i];
        if (!str_eq(j->name, name) || !str_eq(j->source, source) || j->verdict->kind == V_PASS)
            continue;
        reject(p, name, j->verdict->kind == V_UNJUDGED,
               xasprintf("%s: %s", verdict_kind_name(j->verdict->kind), j->verdict->summary));
        return false;
    }
    return true;
}

/* If the baseline failed in an earlier job of this evaluation, adds it to p->rejected and returns
 * true. */
static bool is_broken(struct bundle_files *p, const struct bundle_files_request *rq,
                      const char *name)
{
    for (size_t i = 0; rq->broken && i < rq->broken->n; i++)
        if (str_eq(rq->broken->items[i].name, name)) {
            reject(p, name, true, xstrdup(rq->broken->items[i].text));
            return true;
        }
    return false;
}

static void add_kernel(struct bundle_files *p, const struct bundle_files_request *rq,
                       const char *name, const char *source)
{
    struct err err = ERR_INIT;
    if (is_broken(p, rq, name) || !is_right(p, rq, name, source))
        return;
    struct baseline *x = add(p, name, JOB_MODULE_KERNEL);
    x->source = xstrdup(source);
    const char *why = compile_part(x, rq, &err);
    if (why) {
        drop_last(p);
        reject(p, name, true, xstrdup(why));
    }
}

static void add_naive(struct bundle_files *p, const struct bundle_files_request *rq)
{
    struct err err = ERR_INIT;
    struct strbuf simple = STRBUF_INIT(MAX_SOURCE);
    if (task_simple_kernel(rq->task, &simple, &err) < 0)
        note(p, "naive", err.msg);
    else if (!str_eq(simple.buf, rq->source))
        add_kernel(p, rq, "naive", simple.buf);
    strbuf_release(&simple);
}

static int add_files(struct bundle_files *p, const struct bundle_files_request *rq, struct err *err)
{
    for (const char *const *f = rq->cfg->against; f && *f; f++) {
        struct strbuf sb = STRBUF_INIT(MAX_SOURCE);
        int rc = file_read(*f, MAX_SOURCE, &sb, err);
        if (rc == 0)
            add_kernel(p, rq, *f, sb.buf);
        strbuf_release(&sb);
        if (rc < 0)
            return err_prefix(err, "--against");
    }
    return 0;
}

static bool has_layouts(const struct task *t)
{
    vec_each (const struct task_tensor, x, &t->tensors)
        if (x->is_input && dtype_is_float(x->dtype) && (x->rank == 4 || x->rank == 5))
            return true;
    return false;
}

static bool has_weights(const struct task *t)
{
    vec_each (const struct task_tensor, x, &t->tensors)
        if (x->is_weight)
            return true;
    return false;
}

static void add_torch(struct bundle_files *p, const struct bundle_files_request *rq,
                      const struct torch_variant *v)
{
    if (!rq->task->torch_src)
        note(p, v->name, "the task has no PyTorch form");
    else if (v->by_layout && !has_layouts(rq->task))
        note(p, v->name, "the task has no float input with 4 or 5 dimensions");
    else if (v->by_weights && !has_weights(rq->task))
        note(p, v->name, "the task has no inputs that are weights");
    else
        add(p, v->name, JOB_MODULE_TORCH)->spec = library_torch_spec(rq->task, v);
}

/* If cudnn.benchmark may change the time of the task's PyTorch baselines, adds each of them a
 * second time, with PyTorch's default settings. */
static void add_defaults(struct bundle_files *p, const struct bundle_files_request *rq)
{
    const struct task *t = rq->task;
    if (!t->torch_src || !torch_may_convolve(t))
        return;
    for (size_t i = 0; i < t->baselines.n; i++) {
        const struct torch_variant *v = torch_variant_default(t->baselines.items[i]);
        if (v && !is_broken(p, rq, v->name))
            add_torch(p, rq, v);
    }
}

/* Adds the PyTorch variants. They come after the task's own baselines, so the first baseline of an
 * evaluation is the same with and without them. */
static void add_variants(struct bundle_files *p, const struct bundle_files_request *rq)
{
    if (rq->emu || rq->cfg->baselines != BASELINES_ALL)
        return;
    add_defaults(p, rq);
    for (size_t i = 0; i < TORCH_VARIANTS; i++)
        if ((rq->cfg->torch_variants & 1u << i) && !is_broken(p, rq, torch_variants[i].name))
            add_torch(p, rq, &torch_variants[i]);
}

static void add_programs(struct bundle_files *p, const struct bundle_files_request *rq)
{
    for (size_t i = 0; !rq->emu && i < rq->cfg->programs.n; i++) {
        const struct torch_program *x = &rq->cfg->programs.items[i];
        if (is_broken(p, rq, x->name))
            continue;
        char *spec = library_program_spec(rq->task, x->source);
        if (strlen(spec) < JOB_MAX_SPEC) {
            add(p, x->name, JOB_MODULE_TORCH)->spec = spec;
        } else {
            reject(p, x->name, true,
                   xasprintf("with the names of the task's axes and scalars it has over %d bytes",
                             JOB_MAX_SPEC - 1));
            free(spec);
        }
    }
}

static void add_library(struct bundle_files *p, const struct bundle_files_request *rq,
                        const char *name)
{
    struct arena a = ARENA_INIT;
    struct library_gemm g;
    if (!str_eq(name, "cublaslt")) {
        note(p, name, "Hone calls it only through PyTorch");
    } else if (!library_gemm_of(rq->task, &g)) {
        note(p, name, "the task is not a plain matrix product");
    } else {
        struct baseline *x = add(p, name, JOB_MODULE_LIBRARY);
        x->gemm = g;
        x->spec = xstrdup(library_spec(rq->task, &g, &a));
    }
    arena_release(&a);
}

static bool wanted(const struct bundle_files_request *rq, const char *name)
{
    return rq->cfg->baselines == BASELINES_ALL ||
           (rq->cfg->baselines == BASELINES_HERE && !baseline_is_torch(name));
}

size_t bundle_files_kernels(const struct bundle_files_request *rq, struct kernel_baseline **out,
                            struct arena *a)
{
    size_t n = 0, files = 0;
    for (const char *const *f = rq->cfg->against; f && *f; f++)
        files++;
    *out = arena_alloc(a, (files + rq->task->baselines.n + 1) * sizeof **out);
    for (size_t i = 0; i < files; i++) {
        struct strbuf sb = STRBUF_INIT(MAX_SOURCE);
        if (file_read(rq->cfg->against[i], MAX_SOURCE, &sb, NULL) == 0)
            (*out)[n++] = (struct kernel_baseline){rq->cfg->against[i], arena_strdup(a, sb.buf)};
        strbuf_release(&sb);
    }
    for (size_t i = 0; i < rq->task->baselines.n; i++) {
        const char *naive = task_naive_source(rq->task);
        if (str_eq(rq->task->baselines.items[i], "naive") && wanted(rq, "naive") && naive &&
            !str_eq(naive, rq->source))
            (*out)[n++] = (struct kernel_baseline){"naive", naive};
    }
    return n;
}

int bundle_files_baselines(struct bundle_files *p, const struct bundle_files_request *rq,
                           struct err *err)
{
    if (add_files(p, rq, err) < 0)
        return -1;
    for (size_t i = 0; i < rq->task->baselines.n; i++) {
        const char *name = rq->task->baselines.items[i];
        if (!wanted(rq, name) || (!str_eq(name, "naive") && is_broken(p, rq, name)))
            continue;
        if (str_eq(name, "naive"))
            add_naive(p, rq);
        else if (!rq->emu && baseline_is_torch(name))
            add_torch(p, rq, torch_variant_find(name));
        else if (!rq->emu)
            add_library(p, rq, name);
    }
    add_variants(p, rq);
    add_programs(p, rq);
    return 0;
}

int bundle_files_compile(const struct bundle_files_request *rq, const char *file,
                         const char *source, struct compiled *out, struct err *err)
{
    struct arena mem = ARENA_INIT;
    struct compile_request c = {.source = source,
                                .len = strlen(source),
                                /* NAME.cu, because nvcc would treat NAME.cubin as a binary */
                                .name = arena_strndup(&mem, file, strcspn(file, ".") + 3),
                                .arch = rq->arch,
                                .trusted = true};
    int done = compile_run(rq->compiler, &c, out, err);
    arena_release(&mem);
    return done < 0 ? err_prefix(err, "%s", file) : 0;
}

static int add_cubin(const struct bundle_files_request *rq, const char *dir, const char *file,
                     const char *source, struct err *err)
{
    struct compiled out;
    if (bundle_files_compile(rq, file, source, &out, err) < 0)
        return -1;
    int rc = out.ok ? pack_add(dir, file, out.cubin, out.cubin_len, err)
                    : err_set(err, ERR_INTERNAL, "%s does not compile: %.1500s", file,
                              out.log ? out.log : "");
    compiled_release(&out);
    return rc;
}

static int add_oracle(struct bundle_files *p, const struct bundle_files_request *rq,
                      const char *dir, struct err *err)
{
    struct strbuf src = STRBUF_INIT(ORACLE_MAX_BYTES);
    char *path = xasprintf("%s/oracle.so", dir);
    int rc;
    if (task_needs_python(rq->task)) {
        char *spec = library_reference_spec(rq->task);
        p->oracle = "oracle.torch";
        rc = strlen(spec) >= JOB_MAX_SPEC /* a text of this length was cut off */
                 ? err_set(err, ERR_LIMIT, "the Python reference of task '%s' is over %d bytes",
                           rq->task->name, (int)JOB_MAX_SPEC)
                 : pack_add(dir, p->oracle, spec, strlen(spec), err);
        free(spec);
    } else if (rq->emu) {
        p->oracle = "oracle.so";
        rc = oracle_build(rq->task, path, err);
    } else {
        p->oracle = "oracle.cubin";
        rc = oracle_source(rq->task, &src, err);
        rc = rc < 0 ? rc : add_cubin(rq, dir, p->oracle, src.buf, err);
    }
    free(path);
    strbuf_release(&src);
    return rc;
}

/*
 * Appends an asset's text. Each `#include "..."` of another asset is replaced by that asset's text,
 * once. An include that names no asset stays, because it is inside an #ifdef for the host.
 */
static void add_expanded(struct strbuf *out, const struct asset *a, struct strbuf *seen)
{
    for (const char *p = a->data; *p;) {
        size_t n = strcspn(p, "\n");
        char path[256] = "";
        if (sscanf(p, "#include \"%200[^\"\n]\"", path + 4) == 1)
            memcpy(path, "src/", 4);
        const struct asset *inner = *path ? asset_find(path) : NULL;
        if (!inner) {
            strbuf_add(out, p, n + (p[n] == '\n'));
        } else if (!strstr(seen->buf, path)) {
            strbuf_addf(seen, "%s\n", path);
            add_expanded(out, inner, seen);
        }
        p += n + (p[n] == '\n');
    }
}

int bundle_files_service(const struct bundle_files_request *rq, const char *dir, struct err *err)
{
    const struct asset *a = asset_find("src/device/service.cu");
    if (!a)
        return err_set(err, ERR_INTERNAL, "the service code is not in this binary");
    struct strbuf source = STRBUF_INIT(MAX_SOURCE), seen = STRBUF_INIT(4096);
    add_expanded(&source, a, &seen);
    int rc = add_cubin(rq, dir, "service.cubin", source.buf, err);
    strbuf_release(&source);
    strbuf_release(&seen);
    return rc;
}

static int add_service(struct bundle_files *p, const struct bundle_files_request *rq,
                       const char *dir, struct err *err)
{
    p->service = rq->emu ? "" : "service.cubin";
    return rq->emu ? 0 : bundle_files_service(rq, dir, err);
}

int bundle_files_gather(struct bundle_files *p, const struct bundle_files_request *rq,
                        const char *bundle_dir, struct err *err)
{
    memset(p, 0, sizeof *p);
    p->oracle = p->service = "";
    if (add_oracle(p, rq, bundle_dir, err) < 0 || add_service(p, rq, bundle_dir, err) < 0)
        return -1;
    return rq->baselines ? bundle_files_baselines(p, rq, err) : 0;
}

void bundle_files_contender(const struct bundle_files *p, size_t i, struct contender *who,
                            struct pack_module *file)
{
    const struct baseline *x = &p->items[i];
    *who = (struct contender){x->name,  x->kind,
                              x->plan,  x->have_code ? &x->code.sigs : NULL,
                              &x->gemm, x->have_code ? &x->code : NULL};
    *file = (struct pack_module){x->have_code ? &x->code : NULL, x->source, x->spec};
}

void rejected_baselines_release(struct rejected_baseline_vec *v)
{
    for (size_t i = 0; i < v->n; i++) {
        free(v->items[i].name);
        free(v->items[i].text);
    }
    vec_release(v);
}

void bundle_files_release(struct bundle_files *p)
{
    rejected_baselines_release(&p->rejected);
    for (size_t i = 0; i < p->n; i++)
        part_release(&p->items[i]);
    free(p->items);
    for (size_t i = 0; i < p->notes.n; i++)
        free(p->notes.items[i]);
    vec_release(&p->notes);
    memset(p, 0, sizeof *p);
}
