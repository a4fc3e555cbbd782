/* task.c - `hone task`: lists, shows and checks tasks, and makes the files of a new one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/eval_command.h"
#include "cmd/task_cuda.h"
#include "eval/torch_program.h"
#include "graph/cost.h"
#include "graph/json.h"
#include "graph/normal/collapse.h"
#include "graph/print.h"
#include "graph/reference/reference.h"
#include "sys/asset.h"
#include "sys/file.h"
#include "sys/interrupt.h"
#include "sys/json.h"
#include "sys/pool.h"
#include "task/check.h"
#include "task/snapshot.h"
#include "task/task.h"
#include "torch/check.h"
#include "torch/task.h"

static int print_problems(const struct problem_vec *v)
{
    vec_each (const struct problem, p, v)
        fprintf(stderr, "%s\n", p->text);
    return HONE_NEGATIVE;
}

static void print_json(json_t *j)
{
    json_print(stdout, j);
    json_decref(j);
}

/* ---- list ------------------------------------------------------------------------------------ */

static json_t *summary_json(const struct task *t)
{
    size_t count[ROLE_COUNT] = {0};
    json_t *roles = json_object();
    vec_each (const struct task_workload, w, &t->workloads)
        count[w->role]++;
    for (int i = 0; i < ROLE_COUNT; i++)
        json_object_set_new(roles, workload_role_name((enum workload_role)i),
                            json_integer((json_int_t)count[i]));
    return json_pack("{s:s, s:s, s:s, s:o}", "name", t->name, "class", task_class_name(t->class),
                     "description", t->description, "workloads", roles);
}

/* Prints the first sentence of the description, cut to one line. */
static void print_line(const struct task *t)
{
    const char *s = t->description, *dot = strstr(s, ". ");
    size_t n = dot ? (size_t)(dot - s) : strcspn(s, "\n") - (str_ends(s, ".") ? 1 : 0);
    bool cut = n > 60;
    for (n = MIN(n, 60); cut && n && s[n] != ' ';)
        n--;
    printf("%-26s %-12s %.*s%s\n", t->name, task_class_name(t->class), (int)n, s,
           cut ? " ..." : "");
}

static int run_list(int argc, const char **argv)
{
    bool json = false;
    const struct option opts[] = {OPT_FLAG(0, "json", &json, "print JSON"), OPT_END()};
    const struct options spec = {
        .usage = "hone task list [--json]",
        .about = "Lists the built-in tasks.",
        .example = "hone task list",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc)
        return cmd_usage(&spec, "unexpected '%s'", argv[0]);
    struct arena a = ARENA_INIT;
    const char **names;
    size_t n = task_builtin_names(&a, &names);
    json_t *all = json_array();
    int rc = HONE_OK;
    for (size_t i = 0; i < n; i++) {
        struct problem_vec problems = VEC_INIT;
        struct task *t = task_find(names[i], &problems);
        if (!t)
            rc = print_problems(&problems);
        else if (json)
            json_array_append_new(all, summary_json(t));
        else
            print_line(t);
        task_free(t);
        problems_release(&problems);
    }
    if (json)
        json_print(stdout, all);
    json_decref(all);
    arena_release(&a);
    return rc;
}

/* ---- show ------------------------------------------------------------------------------------ */

static void tensor_shape(const struct task_tensor *t, struct strbuf *out)
{
    strbuf_clear(out);
    strbuf_addc(out, '[');
    for (uint32_t d = 0; d < t->rank; d++)
        strbuf_addf(out, "%s%s", d ? ", " : "", expr_text(t->shape[d]));
    strbuf_addc(out, ']');
}

static void param_text(double value, const struct expr *e, const struct task_choice *pick,
                       struct strbuf *out)
{
    if (e)
        strbuf_adds(out, expr_text(e));
    else if (!pick->n)
        strbuf_addf(out, "%g", value);
    for (uint32_t i = 0; i < pick->n; i++)
        strbuf_addf(out, i ? " or %g" : "%g", pick->value[i]);
}

static void init_text(const struct task_tensor *t, struct strbuf *out)
{
    static const char *const dists[GEN_DIST_COUNT] = {
        [GEN_NORMAL] = "normal",   [GEN_UNIFORM] = "uniform", [GEN_INT] = "int",
        [GEN_CONST] = "const",     [GEN_ZERO] = "zeros",      [GEN_DENORMAL] = "denormal",
        [GEN_CSR] = "csr",         [GEN_PERM] = "perm",       [GEN_SORTED] = "sorted",
        [GEN_ONE_HOT] = "one_hot", [GEN_LENGTHS] = "lengths",
    };
    bool two = t->init.dist <= GEN_INT || t->init.dist == GEN_SORTED,
         first = two || t->init.dist == GEN_CONST;
    strbuf_clear(out);
    strbuf_adds(out, dists[t->init.dist]);
    if (!first && t->init.dist != GEN_CSR)
        return;
    strbuf_addc(out, '(');
    if (first)
        param_text(t->init.a, t->init_a, &t->pick_a, out);
    if (two)
        strbuf_adds(out, ", ");
    if (two || !first)
        param_text(t->init.b, t->init_b, &t->pick_b, out);
    strbuf_addc(out, ')');
}

static void workload_text(const struct task *t, const struct task_workload *w, struct strbuf *out)
{
    strbuf_clear(out);
    for (size_t i = 0; i < t->axes.n; i++) {
        const struct axis_range *x = &w->axes[i];
        if (t->axes.items[i].is_const)
            continue;
        strbuf_addf(out, "%s%s=%lld", out->len ? " " : "", t->axes.items[i].name, (long long)x->lo);
        if (x->lo != x->hi)
            strbuf_addf(out, "..%lld", (long long)x->hi);
        if (x->multiple > 1)
            strbuf_addf(out, " by %lld", (long long)x->multiple);
    }
    if (w->align_bytes)
        strbuf_addf(out, ", aligned to %u bytes", w->align_bytes);
    for (size_t i = 0; w->offsets && !w->regime && i < t->tensors.n; i++)
        if (w->offsets[i])
            strbuf_addf(out, ", %s %u element%s further on", t->tensors.items[i].name,
                        w->offsets[i], w->offsets[i] == 1 ? "" : "s");
    if (w->offset_elems)
        strbuf_addf(out, ", %u element%s further on", w->offset_elems,
                    w->offset_elems == 1 ? "" : "s");
}

static void show_tensors(const struct task *t)
{
    struct strbuf shape = STRBUF_INIT(2048), init = STRBUF_INIT(512);
    vec_each (const struct task_tensor, x, &t->tensors) {
        tensor_shape(x, &shape);
        init_text(x, &init);
        printf("  %-8s %-10s %-14s %s%s%s\n", x->name,
               x->is_input ? (x->is_output ? "in place" : "input") : "output", dtype_name(x->dtype),
               shape.buf, x->is_input ? "  " : "", x->is_input ? init.buf : "");
    }
    vec_each (const struct task_scalar, s, &t->scalars)
        printf("  %-8s %-10s %-14s %g%s\n", s->name, "scalar", dtype_name(s->dtype), s->value,
               s->has_value ? "" : " (assumed)");
    vec_each (const struct task_tensor, x, &t->tensors)
        if (x->is_output && x->sigmas > 0)
            printf("  %s may be off by %g sigma + half an ulp%s%s\n", x->name, x->sigmas,
                   x->why ? ": " : "", x->why ? x->why : "");
        else if (x->is_output)
            printf("  %s may be off by %g + %g * magnitude + half an ulp%s%s\n", x->name, x->atol,
                   x->rtol, x->why ? ": " : "", x->why ? x->why : "");
    strbuf_release(&shape);
    strbuf_release(&init);
}

static void show_text(const struct task *t)
{
    struct strbuf sb = STRBUF_INIT(4096);
    char hash[TASK_HASH];
    task_hash(t, hash);
    printf("%s (%s)\n%s\nhash %s\n\n", t->name, task_class_name(t->class), t->description, hash);
    show_tensors(t);
    vec_each (const struct task_axis, x, &t->axes)
        if (x->is_const)
            printf("  %s is %lld everywhere\n", x->name, (long long)x->value);
    for (size_t i = 0; i < t->constraints.n; i++)
        printf("  where %s\n", t->constraints.items[i]);
    if (t->flops && t->bytes)
        printf("  %s flops, at least %s bytes, computed in %s%s\n", expr_text(t->flops),
               expr_text(t->bytes), dtype_name(t->compute),
               t->allow_tf32         ? " (TF32 allowed)"
               : t->allow_tf32_convs ? " (TF32 allowed for convolutions)"
                                     : "");
    if (t->align)
        printf("  every address is a multiple of %u bytes\n", t->align);
    if (!t->reference_c)
        puts("  no C reference: its truth needs the PyTorch sidecar");
    puts("");
    vec_each (const struct task_workload, w, &t->workloads) {
        workload_text(t, w, &sb);
        printf("  %-8s %s\n", workload_role_name(w->role), sb.buf);
    }
    size_t index = 0;
    vec_each (const struct task_workload, w, &t->workloads)
        index += w->role == ROLE_SMOKE;
    if (t->regimes.n)
        puts("\n  added by rule, see docs/regimes.md:");
    vec_each (const struct task_workload, w, &t->regimes) {
        workload_text(t, w, &sb);
        printf("  smoke:%-3zu %-24s %s\n", index++, sb.buf, w->regime);
    }
    strbuf_release(&sb);
}

static json_t *tensor_json(const struct task_tensor *x)
{
    struct strbuf init = STRBUF_INIT(512);
    json_t *shape = json_array();
    for (uint32_t d = 0; d < x->rank; d++)
        json_array_append_new(shape, json_string(expr_text(x->shape[d])));
    json_t *j =
        json_pack("{s:s, s:s, s:o, s:b, s:b}", "name", x->name, "dtype", dtype_name(x->dtype),
                  "shape", shape, "input", x->is_input, "output", x->is_output);
    init_text(x, &init);
    if (x->is_input)
        json_object_set_new(j, "init", json_string(init.buf));
    if (x->is_output && x->sigmas > 0)
        json_object_set_new(
            j, "tolerance",
            json_pack("{s:f, s:s}", "sigmas", x->sigmas, "why", x->why ? x->why : ""));
    else if (x->is_output)
        json_object_set_new(j, "tolerance",
                            json_pack("{s:f, s:f, s:f, s:s}", "rtol", x->rtol, "atol", x->atol,
                                      "budget", x->budget, "why", x->why ? x->why : ""));
    strbuf_release(&init);
    return j;
}

static json_t *workload_json(const struct task *t, const struct task_workload *w)
{
    json_t *axes = json_object();
    for (size_t i = 0; i < t->axes.n; i++) {
        const struct axis_range *x = &w->axes[i];
        if (t->axes.items[i].is_const)
            continue;
        json_object_set_new(axes, t->axes.items[i].name,
                            x->lo == x->hi ? json_integer(x->lo)
                                           : json_pack("{s:I, s:I, s:I}", "min", (json_int_t)x->lo,
                                                       "max", (json_int_t)x->hi, "multiple",
                                                       (json_int_t)x->multiple));
    }
    json_t *offset = w->offsets ? json_object() : json_integer(w->offset_elems);
    for (size_t i = 0; w->offsets && i < t->tensors.n; i++)
        if (w->offsets[i])
            json_object_set_new(offset, t->tensors.items[i].name, json_integer(w->offsets[i]));
    json_t *j = json_pack("{s:s, s:o, s:i, s:o}", "role", workload_role_name(w->role), "axes", axes,
                          "align_bytes", (int)w->align_bytes, "offset_elems", offset);
    if (w->regime)
        json_object_set_new(j, "regime", json_string(w->regime));
    return j;
}

static void show_json(const struct task *t)
{
    json_t *j = summary_json(t), *axes = json_object(), *tensors = json_array(),
           *scalars = json_object(), *workloads = json_array(), *constraints = json_array(),
           *regimes = json_array();
    vec_each (const struct task_axis, x, &t->axes)
        json_object_set_new(axes, x->name, x->is_const ? json_integer(x->value) : json_null());
    vec_each (const struct task_tensor, x, &t->tensors)
        json_array_append_new(tensors, tensor_json(x));
    vec_each (const struct task_scalar, s, &t->scalars)
        json_object_set_new(
            scalars, s->name,
            json_pack("{s:s, s:f}", "dtype", dtype_name(s->dtype), "value", s->value));
    vec_each (const struct task_workload, w, &t->workloads)
        json_array_append_new(workloads, workload_json(t, w));
    vec_each (const struct task_workload, w, &t->regimes)
        json_array_append_new(regimes, workload_json(t, w));
    for (size_t i = 0; i < t->constraints.n; i++)
        json_array_append_new(constraints, json_string(t->constraints.items[i]));
    char hash[TASK_HASH];
    task_hash(t, hash);
    json_object_set_new(j, "hash", json_string(hash));
    json_object_set_new(j, "axes", axes);
    json_object_set_new(j, "tensors", tensors);
    json_object_set_new(j, "scalars", scalars);
    json_object_set_new(j, "constraints", constraints);
    json_object_set_new(j, "workloads", workloads);
    json_object_set_new(j, "regimes", regimes);
    json_object_set_new(j, "align", json_integer(t->align));
    json_object_set_new(j, "compute", json_string(dtype_name(t->compute)));
    json_object_set_new(j, "flops", json_string(t->flops ? expr_text(t->flops) : ""));
    json_object_set_new(j, "bytes", json_string(t->bytes ? expr_text(t->bytes) : ""));
    json_object_set_new(j, "c_oracle", json_boolean(t->reference_c && t->phases.n));
    print_json(j);
}

/* Prints the graph of a task: its "graph", or the graph of its PyTorch expression. */
static int show_graph(const struct task *t, bool json)
{
    struct graph g;
    struct err err = ERR_INIT;
    struct strbuf text = STRBUF_INIT(16 << 20);
    if (torch_read_task(&g, t, &err) < 0)
        return cmd_fail(&err);
    if (json) {
        print_json(graph_to_json(&g));
    } else {
        graph_print(&text, &g);
        printf("%sclass %s, flops %s, bytes %s\n", text.buf, task_class_name(graph_class(&g)),
               graph_least_flops(&g)->text, graph_bytes(&g)->text);
    }
    strbuf_release(&text);
    graph_release(&g);
    return HONE_OK;
}

/* Returns the entry "oracle" that a task.json needs for this reference. */
static json_t *oracle_json(const struct graph_reference *r)
{
    json_t *phases = json_array(), *oracle = json_pack("{s:O}", "phases", phases);
    vec_each (const struct graph_phase, p, &r->phases)
        json_array_append_new(phases,
                              json_pack("{s:s, s:s, s:s*}", "fn", p->fn, "units", p->units->text,
                                        "repeat", p->repeat ? p->repeat->text : NULL));
    if (r->scratch)
        json_object_set_new(oracle, "scratch", json_string(r->scratch->text));
    json_decref(phases);
    return oracle;
}

static int show_reference(const struct task *t, bool sigma, bool json)
{
    struct reference_mode mode = {.kind = sigma ? REFERENCE_SIGMA : REFERENCE_MAGNITUDE,
                                  .tf32_products = t->allow_tf32,
                                  .tf32_convs = t->allow_tf32 || t->allow_tf32_convs};
    struct graph g;
    struct graph_reference r;
    struct err err = ERR_INIT;
    if (torch_read_task(&g, t, &err) < 0)
        return cmd_fail(&err);
    int rc = graph_write_reference_as(&g, mode, &r, &err);
    if (rc == 0 && json)
        print_json(json_pack("{s:o, s:s}", "oracle", oracle_json(&r), "source", r.source.buf));
    else if (rc == 0)
        fputs(r.source.buf, stdout);
    if (rc == 0)
        graph_reference_release(&r);
    graph_release(&g);
    return rc < 0 ? cmd_fail(&err) : HONE_OK;
}

static int run_show(int argc, const char **argv)
{
    bool json = false, graph = false, reference = false, sigma = false;
    const struct option opts[] = {
        OPT_FLAG(0, "graph", &graph, "print its PyTorch expression as a graph (docs/graph.md)"),
        OPT_FLAG(0, "reference", &reference,
                 "print the reference.c that Hone writes from that graph; with --json\n"
                 "also the \"oracle\" that a task.json needs for it"),
        OPT_FLAG(0, "sigma", &sigma,
                 "--reference: it also computes sigma, the standard deviation of each element's\n"
                 "rounding error, which a tolerance in \"sigmas\" needs (docs/tolerance.md)"),
        OPT_FLAG(0, "json", &json, "print JSON"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone task show [--graph | --reference [--sigma]] [--json] TASK",
        .about = "Shows a task: its computation, tensors, tolerances and sizes, and the hash of\n"
                 "everything that defines it (task.json, reference.c, naive.cu).\n"
                 "TASK is a built-in name, a directory, or a task.json (or FlashInfer-Bench\n"
                 "definition). --graph and --reference also take a task.json that has no oracle,\n"
                 "init, tolerance or workloads yet.",
        .example = "hone task show softmax\nhone task show --graph softmax\n"
                   "hone task show --reference softmax >reference.c",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc != 1)
        return cmd_usage(&spec, "give one TASK");
    if (graph && reference)
        return cmd_usage(&spec, "give --graph or --reference, not both");
    if (sigma && !reference)
        return cmd_usage(&spec, "--sigma is for --reference");
    struct problem_vec problems = VEC_INIT;
    /* --graph and --reference accept a task.json without the oracle that --reference writes. */
    struct task *t =
        graph || reference ? task_find_draft(argv[0], &problems) : task_find(argv[0], &problems);
    int rc = HONE_OK;
    if (!t) {
        print_problems(&problems);
        rc = cmd_task_status(argv[0]) == HONE_USAGE ? HONE_USAGE : HONE_NEGATIVE;
    } else if (graph)
        rc = show_graph(t, json);
    else if (reference)
        rc = show_reference(t, sigma, json);
    else if (json)
        show_json(t);
    else
        show_text(t);
    task_free(t);
    problems_release(&problems);
    return rc;
}

/* ---- check ----------------------------------------------------------------------------------- */

static json_t *texts_json(const struct problem_vec *v)
{
    json_t *a = json_array();
    vec_each (const struct problem, p, v)
        json_array_append_new(a, json_text(p->text));
    return a;
}

struct check_job {
    const char **names;
    bool json;
    /* The process that checks task number I prints to the files I.err and I.out. At the end it
     * writes one of the files I.good, I.bad and I.machine (enum check_end). */
    struct temp_dir dir;
    bool *done;
    size_t n, shown; /* tasks, and how many were printed */
    size_t good;
    json_t *all;                         /* with --json: the results so far */
    const struct torch_program *program; /* the program of --against, or NULL */
    bool machine;                        /* this machine could not check some task */
    /* Why PyTorch could not be used: the text of I.good, I.bad or I.machine. NULL if it could. */
    char *why_not;
};

enum check_end { CHECK_GOOD, CHECK_BAD, CHECK_MACHINE }; /* MACHINE: this machine cannot check it */
static const char *const check_ends[] = {"good", "bad", "machine"};

static enum check_end check_one(const struct check_job *job, const char *what, struct evaluator **e,
                                struct torch_check *torch)
{
    struct task_check_result r = TASK_CHECK_RESULT_INIT;
    struct task *t = task_find(what, &r.problems);
    if (t)
        task_check(t, &r);
    if (t && !interrupted())
        torch_check_task(torch, t, &r);
    if (t && !r.problems.n && !interrupted())
        task_check_cuda(e, t, &r);
    if (t && !r.problems.n && !interrupted())
        task_check_naive(e, t, &r);
    bool agrees = t && !r.problems.n && job->program && !interrupted() &&
                  torch_check_program(torch, t, job->program->name, job->program->source, &r);
    bool ok = r.problems.n == 0;
    if (job->json) {
        json_t *uncovered = json_array();
        for (size_t i = 0; t && i < t->uncovered.n; i++)
            json_array_append_new(uncovered, json_text(t->uncovered.items[i]));
        print_json(json_pack("{s:o, s:b, s:o, s:o, s:o, s:s?}", "task",
                             json_text(t ? t->name : what), "ok", ok, "problems",
                             texts_json(&r.problems), "notes", texts_json(&r.notes),
                             "uncovered_regimes", uncovered, "pytorch", torch->version));
    } else {
        print_problems(&r.problems);
        vec_each (const struct problem, p, &r.notes)
            fprintf(stderr, "note: %s\n", p->text);
        if (ok && t)
            printf("%s: good, %zu workloads and %zu added by rule\n", t->name, t->workloads.n,
                   t->regimes.n);
        else if (r.machine)
            printf("%s: could not be checked on this machine\n", t ? t->name : what);
        else
            printf("%s: %zu problem%s\n", t ? t->name : what, r.problems.n,
                   r.problems.n == 1 ? "" : "s");
        if (agrees)
            printf("  %s agrees with reference.c\n", job->program->name);
        for (size_t i = 0; t && ok && i < t->uncovered.n; i++)
            printf("  regime not covered: %s\n", t->uncovered.items[i]);
    }
    enum check_end end = ok ? CHECK_GOOD : r.machine ? CHECK_MACHINE : CHECK_BAD;
    task_free(t);
    task_check_result_release(&r);
    return end;
}

/* From now on this process prints to I.err and I.out. */
static void print_to_files(const struct check_job *job, uint32_t i)
{
    char *err = xasprintf("%s/%u.err", job->dir.path, i),
         *out = xasprintf("%s/%u.out", job->dir.path, i);
    if (!freopen(err, "w", stderr) || !freopen(out, "w", stdout))
        _exit(HONE_ENV);
    free(err);
    free(out);
}

/* One process checks tasks until none is left. */
static int check_some(struct pool_turn *turn, void *ctx)
{
    const struct check_job *job = ctx;
    struct evaluator *e = NULL;
    struct torch_check torch = TORCH_CHECK_INIT;
    struct err err = ERR_INIT;
    int rc = 0, user = dup(STDERR_FILENO);
    for (uint32_t i; rc == 0 && pool_next(turn, &i);) {
        print_to_files(job, i);
        enum check_end end = check_one(job, job->names[i], &e, &torch);
        char *name = xasprintf("%s/%u.%s", job->dir.path, i, check_ends[end]);
        if (fflush(stderr) == EOF || fflush(stdout) == EOF)
            rc = err_errno(&err, "cannot write into '%s'", job->dir.path);
        else
            rc = file_write(name, torch.why_not, torch.why_not ? strlen(torch.why_not) : 0, &err);
        free(name);
        if (rc < 0)
            dprintf(user, "hone: the result for '%s' is lost: %s\n", job->names[i], err.msg);
        else if (!interrupted())
            pool_done(turn, i);
    }
    close(user);
    evaluator_close(e);
    torch_check_release(&torch);
    return rc < 0 ? HONE_ENV : 0;
}

static void show_result(struct check_job *job, size_t i)
{
    static const char *const ends[] = {"err", "out", "good", "bad", "machine"};
    for (size_t k = 0; k < ARRAY_LEN(ends); k++) {
        struct strbuf text = STRBUF_INIT(16u << 20);
        char *path = xasprintf("%s/%zu.%s", job->dir.path, i, ends[k]);
        bool found = file_exists(path) && file_read(path, 16u << 20, &text, NULL) == 0;
        if (k >= 2 && found && text.len && !job->why_not)
            job->why_not = xstrdup(text.buf);
        else if (k == 1 && job->json && found)
            json_array_append_new(job->all, json_loads(text.buf, 0, NULL));
        else if (k < 2 && found)
            fputs(text.buf, k == 0 ? stderr : stdout);
        job->good += k == 2 && found;
        job->machine = job->machine || (k == 4 && found);
        free(path);
        strbuf_release(&text);
    }
    fflush(stdout);
}

/* The tasks end in any order. Prints the results in the user's order. */
static void on_checked(uint32_t i, void *ctx)
{
    struct check_job *job = ctx;
    job->done[i] = true;
    for (; job->shown < job->n && job->done[job->shown]; job->shown++)
        show_result(job, job->shown);
}

static int run_check(int argc, const char **argv)
{
    bool json = false, every = false;
    const char *against = NULL;
    uint64_t jobs = 0;
    const struct option opts[] = {
        OPT_FLAG(0, "all", &every, "check every built-in task"),
        OPT_POS_UINT_MOST('j', "jobs", &jobs, POOL_MAX_JOBS, "N",
                          "check N tasks at a time (default: one for each processor)"),
        OPT_STR(0, "against", &against, "FILE.py",
                "also run this PyTorch program with a function run(), a baseline for `hone eval\n"
                "--against` or `hone bench --against`, on the CPU; for a single TASK"),
        OPT_FLAG(0, "json", &json, "print JSON"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone task check [-j N] [--json] TASK...\nhone task check [-j N] [--json] --all\n"
                 "hone task check [--json] --against FILE.py TASK",
        .about =
            "Checks a task without a GPU: its JSON; its expressions, roles and sizes for all\n"
            "workloads; that reference.c compiles as C17, C++17 and CUDA C++, stays within its\n"
            "tensors, gives the same truth in any order of units and writes every output element;\n"
            "that no obviously wrong output would pass; that \"torch\" computes the same, by\n"
            "Hone's own reading and by PyTorch on the CPU, if HONE_PYTHON or python3 has it;\n"
            "and that naive.cu passes on the emulator as a candidate must. It names the regimes\n"
            "of sizes and addresses that get no smoke workload (docs/regimes.md).",
        .example = "hone task check softmax\nhone task check my_task/\n"
                   "hone task check softmax --against triton_softmax.py",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (every == (argc > 0))
        return cmd_usage(&spec, every ? "--all takes no TASK" : "give a TASK, or --all");
    if (against && argc != 1)
        return cmd_usage(&spec, "--against is for a single TASK");
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct torch_program program;
    if (against && torch_program_read(against, &program, &a, &err) < 0) {
        arena_release(&a);
        return cmd_fail(&err);
    }
    struct check_job job = {
        .names = argv, .json = json, .dir = TEMP_DIR_INIT, .program = against ? &program : NULL};
    job.n = every ? task_builtin_names(&a, &job.names) : (size_t)argc;
    job.done = arena_alloc(&a, job.n * sizeof *job.done);
    memset(job.done, 0, job.n * sizeof *job.done);
    job.all = json ? json_array() : NULL;
    struct pool pool = {.jobs = (uint32_t)jobs,
                        .pieces = (uint32_t)job.n,
                        .work = check_some,
                        .on_done = on_checked,
                        .ctx = &job};
    int rc = temp_dir_make(&job.dir, &err);
    rc = rc < 0 ? rc : pool_run(&pool, &err);
    if (rc < 0 && !interrupted())
        rc = cmd_fail(&err);
    else if (interrupted() || job.good < job.n)
        rc = job.machine ? HONE_ENV : HONE_NEGATIVE;
    if (!interrupted() && json)
        json_print(stdout, job.all);
    else if (!interrupted() && job.why_not)
        printf("\"torch\" was read but not run (%s); HONE_PYTHON names a python3 with PyTorch\n",
               job.why_not);
    if (!interrupted() && !json && job.n > 1)
        printf("%zu of %zu tasks are good\n", job.good, job.n);
    temp_dir_release(&job.dir);
    json_decref(job.all);
    free(job.why_not);
    arena_release(&a);
    return rc;
}

/* ---- new ------------------------------------------------------------------------------------- */

static int write_skeleton(const char *dir, const char *file, const char *name, struct err *err)
{
    struct strbuf sb = STRBUF_INIT(64 << 10);
    char *from = xasprintf("schema/new-task/%s", file), *to = xasprintf("%s/%s", dir, file);
    const struct asset *a = asset_find(from);
    int rc;
    if (!a)
        BUG("%s is not embedded", from);
    for (const char *p = a->data; *p;) {
        const char *mark = strstr(p, "@NAME@");
        strbuf_add(&sb, p, mark ? (size_t)(mark - p) : strlen(p));
        if (mark)
            strbuf_adds(&sb, name);
        p = mark ? mark + 6 : p + strlen(p);
    }
    rc = file_exists(to) ? err_set(err, ERR_INPUT, "%s exists; not overwritten", to)
                         : file_write(to, sb.buf, sb.len, err);
    free(from);
    free(to);
    strbuf_release(&sb);
    return rc;
}

static bool good_name(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    return n && !s[n] && n <= 100 && s[0] != '-';
}

static int run_new(int argc, const char **argv)
{
    bool json = false;
    const char *where = ".";
    const struct option opts[] = {
        OPT_STR('d', "dir", &where, "DIR", "make it in DIR (default: the current directory)"),
        OPT_FLAG(0, "json", &json, "print JSON"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone task new [--dir DIR] [--json] NAME",
        .about = "Writes NAME/task.json and NAME/reference.c: a small task that passes check, to\n"
                 "be edited.",
        .example = "hone task new my_op && hone task check my_op/",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc != 1)
        return cmd_usage(&spec, "give one NAME");
    if (!good_name(argv[0]))
        return cmd_usage(&spec, "'%.100s' is not a name: use letters, digits, _ and -", argv[0]);
    struct err err = ERR_INIT;
    char *dir = xasprintf("%s/%s", where, argv[0]);
    int rc = HONE_OK;
    if (dir_make(dir, &err) < 0 || write_skeleton(dir, "task.json", argv[0], &err) < 0 ||
        write_skeleton(dir, "reference.c", argv[0], &err) < 0)
        rc = cmd_fail(&err);
    else if (json)
        print_json(json_pack("{s:s, s:o}", "name", argv[0], "dir", json_text(dir)));
    else
        printf("%s/task.json and reference.c written; edit them, then: hone task check %s/\n", dir,
               dir);
    free(dir);
    return rc;
}

/* ---- the command ----------------------------------------------------------------------------- */

static const struct command list_cmd = {"list", "the built-in tasks", run_list};
static const struct command show_cmd = {"show", "one task in full", run_show};
static const struct command check_cmd = {"check", "check everything that needs no GPU", run_check};
static const struct command new_cmd = {"new", "a skeleton that passes check", run_new};
static const struct command *const table[] = {&list_cmd, &show_cmd, &check_cmd, &new_cmd};

static int run(int argc, const char **argv)
{
    const struct option opts[] = {OPT_END()};
    const struct options spec = {
        .usage = "hone task list\nhone task show TASK\nhone task check TASK... | --all\n"
                 "hone task new NAME",
        .about = "A task defines what must be computed: tensors, shapes, dtypes, a reference,\n"
                 "tolerances and workloads. docs/task.md describes the format.",
        .example = "hone task list\nhone task show softmax\nhone task check --all",
        .opts = opts,
        .stop_at_operand = true,
    };
    return cmd_forms("task", &spec, table, ARRAY_LEN(table), argc, argv);
}

const struct command cmd_task = {"task", "list, show, check and make tasks", run};
