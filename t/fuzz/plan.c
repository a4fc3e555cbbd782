/* Parses any text as a candidate. Hone refuses the text with a problem, or makes a plan. For each
 * shape, the plan resolves, or an error says why not. */
#include <stdlib.h>
#include <string.h>

#include "plan/model.h"
#include "plan/plan.h"

static const char task_json[] =
    "{\"name\": \"t\", \"reference\": \"\", \"axes\": {\"M\": {\"type\": \"var\"},"
    " \"N\": {\"type\": \"var\"}, \"K\": {\"type\": \"const\", \"value\": 64}},"
    " \"inputs\": {\"A\": {\"shape\": [\"M\", \"K\"], \"dtype\": \"float16\"},"
    " \"B\": {\"shape\": [\"N\", \"K\"], \"dtype\": \"float16\"},"
    " \"eps\": {\"shape\": null, \"dtype\": \"float32\"},"
    " \"g\": {\"shape\": null, \"dtype\": \"int32\"}},"
    " \"outputs\": {\"C\": {\"shape\": [\"M\", \"N\"], \"dtype\": \"float16\"}},"
    " \"workloads\": [{\"role\": \"check\", \"axes\": {\"M\": 128, \"N\": 256}},"
    " {\"role\": \"check\", \"axes\": {\"M\": 1, \"N\": 3}, \"offset_elems\": 1},"
    " {\"role\": \"heldout\", \"axes\": {\"M\": [1, 70000], \"N\": 8}}]}";

/* Makes a parameter for each argument. The argument's text chooses the kind, so that the fuzzer
 * reaches all conversions. */
static void make_sigs(const struct plan *p, struct sig_vec *sigs, struct arena *a)
{
    static const struct sig_param kinds[] = {
        {SIG_POINTER, 8, 8, false, true, DT_F16, 2},
        {SIG_POINTER, 8, 8, false, false, DT_NONE, 0},
        {SIG_INT, 4, 4, true, false, DT_NONE, 0},
        {SIG_INT, 8, 8, false, false, DT_NONE, 0},
        {SIG_FLOAT, 4, 4, false, false, DT_NONE, 0},
        {SIG_STRUCT, 128, 64, false, false, DT_NONE, 0},
        {SIG_BOOL, 1, 1, false, false, DT_NONE, 0},
        {SIG_INT, 1, 1, false, false, DT_NONE, 0},
    };
    vec_each (struct plan_launch, l, &p->launches) {
        struct sig *s = vec_push(sigs);
        s->kernel = l->kernel;
        s->nparams = (uint32_t)l->args.n;
        s->params = arena_alloc(a, l->args.n * sizeof *s->params);
        for (size_t i = 0; i < l->args.n; i++) {
            const struct plan_arg *g = &l->args.items[i];
            size_t pick = g->kind == PLAN_ARG_MAP         ? 5
                          : g->kind == PLAN_ARG_WORKSPACE ? 1
                          : g->kind == PLAN_ARG_TENSOR
                              ? (p->task->tensors.items[g->index].is_output ? 1 : 0)
                          : g->kind == PLAN_ARG_SCALAR ? 4
                                                       : 2 + (i + strlen(g->text)) % 6;
            s->params[i] = kinds[pick == 5 && g->kind != PLAN_ARG_MAP ? 2 : pick];
        }
    }
}

static void use(const struct plan *p, const struct task *t)
{
    struct sig_vec sigs = VEC_INIT;
    struct problem_vec problems = VEC_INIT;
    struct arena a = ARENA_INIT;
    make_sigs(p, &sigs, &a);
    if ((plan_check_signature(p, &sigs, &problems) == 0) != (problems.n == 0))
        abort();
    for (size_t i = 0; i < t->workloads.n; i++) {
        struct err err = ERR_INIT;
        struct job_case c = {0};
        struct job_program prog = {0};
        struct shape s;
        if (shape_resolve(&s, t, &t->workloads.items[i], 5, &a, &err) < 0)
            abort();
        if (plan_resolve(p, &sigs, &s, &c, &prog, &a, &err) < 0) {
            if (!*err.msg)
                abort();
        } else if (!prog.nlaunches || c.nbuffers > JOB_MAX_BUFFERS) {
            abort();
        }
    }
    vec_release(&sigs);
    problems_release(&problems);
    arena_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct strbuf simple = STRBUF_INIT(1 << 20);
    plan_simplify((const char *)data, len, &simple);
    strbuf_release(&simple);
    static struct task *t;
    struct problem_vec problems = VEC_INIT;
    if (!t && !(t = task_parse(task_json, strlen(task_json), "t.json", NULL, &problems)))
        abort();
    struct plan *p = plan_parse((const char *)data, len, t, &problems);
    if (!p == !problems.n)
        abort();
    if (p)
        use(p, t);
    plan_free(p);
    problems_release(&problems);
    struct plan *bare = plan_parse((const char *)data, len, NULL, &problems);
    for (size_t i = 0; bare && i < plan_launch_count(bare); i++) {
        const char *kernel = plan_launch_kernel(bare, i); /* NULL: a memset or a copy */
        if (kernel && !*kernel)
            abort();
    }
    plan_free(bare);
    problems_release(&problems);
    return 0;
}
