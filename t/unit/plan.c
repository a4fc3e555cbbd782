/*
 * Tests plans: every file in t/cases/badplans fails for its own reason and at its own place; good
 * plans resolve to the right numbers; every kernel in kernels/ resolves at every workload of its
 * task.
 *
 * A file in t/cases/badplans is a candidate with further lines after the plan:
 * - "// sig: KERNEL: TYPE, ..." gives the signature of a kernel, which is not compiled here.
 * - "// workload: I" names a workload of t/cases/plantask.json.
 * - "// want: TEXT" gives a text that the first problem must contain.
 */
#include "plan/plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "plan/model.h"
#include "sys/asset.h"
#include "sys/file.h"

static struct sig_param param_of(const char *s)
{
    static const struct {
        const char *name;
        enum dtype t;
    } types[] = {{"f64", DT_F64}, {"f32", DT_F32}, {"f16", DT_F16},  {"bf16", DT_BF16},
                 {"i64", DT_I64}, {"i32", DT_I32}, {"i16", DT_I16},  {"u8", DT_U8},
                 {"u32", DT_U32}, {"u64", DT_U64}, {"bool", DT_BOOL}};
    struct sig_param p = {.kind = SIG_STRUCT, .size = 8, .align = 8};
    if (str_starts(s, "const ")) {
        p.is_const = true;
        s += 6;
    }
    if (str_starts(s, "map"))
        p.size = 128, p.align = s[3] ? (uint32_t)atoi(s + 3) : 64;
    else if (str_starts(s, "struct"))
        p.size = (uint32_t)atoi(s + 6);
    else if (str_eq(s, "half"))
        p.size = p.align = 2;
    else if (str_eq(s, "void*"))
        p.kind = SIG_POINTER;
    else if (str_eq(s, "vec16*"))
        p.kind = SIG_POINTER, p.elem_size = 16;
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        size_t n = strlen(types[i].name);
        if (strncmp(s, types[i].name, n) != 0)
            continue;
        if (s[n] == '*') {
            p.kind = SIG_POINTER;
            p.elem = types[i].t;
            p.elem_size = (uint32_t)dtype_bytes(types[i].t);
        } else if (!s[n]) {
            p.kind = dtype_is_float(types[i].t) ? SIG_FLOAT
                     : types[i].t == DT_BOOL    ? SIG_BOOL
                                                : SIG_INT;
            p.size = p.align = (uint32_t)dtype_bytes(types[i].t);
            p.is_signed = types[i].t < DT_U64;
        }
    }
    return p;
}

static void add_sig(struct sig_vec *sigs, const char *line, struct arena *a)
{
    struct sig *s = vec_push(sigs);
    const char *colon = strchr(line, ':');
    s->kernel = arena_strndup(a, line, (size_t)(colon - line));
    s->params = arena_alloc(a, 64 * sizeof *s->params);
    for (const char *p = colon + 1; *p;) {
        p += strspn(p, " ,");
        size_t n = strcspn(p, ",");
        if (n)
            s->params[s->nparams++] = param_of(arena_strndup(a, p, n));
        p += n;
    }
}

struct plan_case_file {
    struct arena a;
    struct strbuf source;
    struct sig_vec sigs;
    size_t workload;
    const char *want;
};

static void read_case(struct plan_case_file *f, const char *path)
{
    struct err err = ERR_INIT;
    *f = (struct plan_case_file){.a = ARENA_INIT, .want = ""};
    strbuf_init(&f->source, 1 << 20);
    if (file_read(path, 1 << 20, &f->source, &err) < 0)
        fail_msg("%s", err.msg);
    char *copy = arena_strndup(&f->a, f->source.buf, f->source.len), *save = NULL;
    for (char *l = strtok_r(copy, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
        if (str_starts(l, "// sig: "))
            add_sig(&f->sigs, l + 8, &f->a);
        else if (str_starts(l, "// workload: "))
            f->workload = (size_t)atoi(l + 13);
        else if (str_starts(l, "// want: "))
            f->want = l + 9;
    }
}

static void release_case(struct plan_case_file *f)
{
    vec_release(&f->sigs);
    strbuf_release(&f->source);
    arena_release(&f->a);
}

static struct task *plan_task(void)
{
    struct problem_vec problems = VEC_INIT;
    struct strbuf sb = STRBUF_INIT(1 << 16);
    assert_int_equal(file_read("t/cases/plantask.json", 1 << 16, &sb, NULL), 0);
    struct task *t = task_parse(sb.buf, sb.len, "plantask.json", "", &problems);
    if (!t)
        fail_msg("%s", problems.items[0].text);
    strbuf_release(&sb);
    return t;
}

/* Parses, checks and resolves the plan of a case, until a step fails. Returns the text of the first
 * problem, or "" if there is none. The text is in the case's arena. */
static const char *run_case(struct plan_case_file *f, const struct task *t, struct job_case *c,
                            struct job_program *prog)
{
    struct problem_vec problems = VEC_INIT;
    struct err err = ERR_INIT;
    struct shape s;
    const char *said = "";
    struct plan *p = plan_parse(f->source.buf, f->source.len, t, &problems);
    if (p && plan_check_signature(p, &f->sigs, &problems) == 0) {
        if (shape_resolve(&s, t, &t->workloads.items[f->workload], 1, &f->a, &err) < 0 ||
            plan_resolve(p, &f->sigs, &s, c, prog, &f->a, &err) < 0)
            said = arena_strdup(&f->a, err.msg);
    }
    if (problems.n)
        said = arena_strdup(&f->a, problems.items[0].text);
    assert_true(p || problems.n);
    plan_free(p);
    problems_release(&problems);
    return said;
}

static void bad_plans_say_what_and_where(void **state)
{
    struct name_vec names = VEC_INIT;
    struct task *t = plan_task();
    size_t n = 0, wrong = 0;
    assert_int_equal(dir_list("t/cases/badplans", &names, NULL), 0);
    vec_each (char *, name, &names) {
        struct plan_case_file f;
        struct job_case c = {0};
        struct job_program prog = {0};
        char path[256];
        snprintf(path, sizeof path, "t/cases/badplans/%s", *name);
        read_case(&f, path);
        const char *said = run_case(&f, t, &c, &prog);
        n++;
        if (!*f.want || !strstr(said, f.want)) {
            print_message("# %s: want '%s'\n#   got '%s'\n", *name, f.want, said);
            wrong++;
        }
        release_case(&f);
    }
    assert_true(n >= 30);
    assert_int_equal(wrong, 0);
    name_vec_release(&names);
    task_free(t);
}

static void set_case(struct plan_case_file *f, const char *plan, const char *sig, size_t workload)
{
    *f = (struct plan_case_file){.a = ARENA_INIT, .want = "", .workload = workload};
    strbuf_init(&f->source, 1 << 20);
    strbuf_addf(&f->source, "/* hone-plan %s */", plan);
    add_sig(&f->sigs, sig, &f->a);
}

static void must_run(struct plan_case_file *f, const struct task *t, struct job_case *c,
                     struct job_program *prog)
{
    const char *said = run_case(f, t, c, prog);
    if (*said)
        fail_msg("%s", said);
}

static void a_plan_resolves_to_numbers(void **state)
{
    struct task *t = plan_task();
    struct plan_case_file f;
    struct job_case c = {0};
    struct job_program p = {0};
    set_case(
        &f,
        "{\"workspace\": {\"unused\": {\"bytes\": 8}, \"ws\": {\"bytes\": \"4*M*N\", \"init\": "
        "\"zero\"}},"
        " \"launches\": ["
        " {\"kernel\": \"k\", \"when\": \"M > 1000\", \"grid\": [1], \"block\": [1],"
        "  \"args\": [\"A\",\"C\",\"unused\",\"M\",\"g\",\"eps\",\"eps\",\"h\",\"N\",\"K*2\",5]},"
        " {\"kernel\": \"k\", \"when\": \"alignof(A) == 256\", \"cooperative\": true, \"pdl\": "
        "true,"
        "  \"grid\": [\"cdiv(N,100)\", 2], \"block\": [32, 4], \"cluster\": [1, 2], \"smem\": "
        "\"K*K\","
        "  \"args\": [\"A\",\"C\",\"ws\",\"M\",\"g\",\"eps\",\"eps\",\"h\",\"N\",\"K*2\",5]}]}",
        "k: const vec16*, void*, f32*, i32, i64, f32, f64, half, f32, u64, bool", 0);
    must_run(&f, t, &c, &p);
    assert_int_equal(p.nlaunches, 1);
    const struct job_launch *l = p.launches;
    assert_true(l->grid[0] == 3 && l->grid[1] == 2 && l->grid[2] == 1);
    assert_true(l->block[0] == 32 && l->block[1] == 4 && l->cluster[1] == 2);
    assert_true(l->smem_bytes == 4096 && l->cooperative && l->pdl && l->nargs == 11);
    /* The buffers are the four tensors, and then the only workspace that the plan uses. */
    assert_int_equal(c.nbuffers, 5);
    const struct job_buffer *ws = &c.buffers[4];
    assert_string_equal(ws->name, "ws");
    assert_true(ws->role == JOB_WORKSPACE && ws->zero_init && ws->bytes == 4 * 128 * 256);
    assert_true(l->args[0].kind == JOB_ARG_BUFFER && l->args[0].index == 0);
    assert_true(l->args[1].index == 3 && l->args[2].index == 4 && l->args[2].size == 8);
    int32_t i32;
    int64_t i64;
    uint64_t u64;
    float f32;
    double f64;
    uint16_t half;
    memcpy(&i32, l->args[3].bytes, 4);
    memcpy(&i64, l->args[4].bytes, 8);
    assert_true(i32 == 128 && l->args[3].size == 4 && i64 == 3 && l->args[4].size == 8);
    memcpy(&f32, l->args[5].bytes, 4);
    memcpy(&f64, l->args[6].bytes, 8);
    assert_true(f32 == 0.1f && f64 == (double)0.1f); /* a float32 scalar is 0.1f everywhere */
    memcpy(&half, l->args[7].bytes, 2);
    assert_true(half == 0x3800 && l->args[7].size == 2);
    memcpy(&f32, l->args[8].bytes, 4);
    memcpy(&u64, l->args[9].bytes, 8);
    assert_true(f32 == 256.0f && u64 == 128 && l->args[10].bytes[0] == 1 && l->args[10].size == 1);
    release_case(&f);
    task_free(t);
}

/* A null pointer is 8 bytes of zeros. A real number is computed in double and rounded once. */
static void arguments_can_be_null_or_computed(void **state)
{
    struct task *t = plan_task();
    struct plan_case_file f;
    struct job_case c = {0};
    struct job_program p = {0};
    set_case(&f,
             "{\"launches\": [{\"kernel\": \"k\", \"grid\": 1, \"block\": 32, \"args\": "
             "[\"C\", null, null, \"1/sqrt(K*2)\", \"1/sqrt(K*2)\", 0.1, \"eps*g/2\", "
             "\"kTile*0.5\", -2.5e-1]}]}",
             "k: f16*, const f32*, void*, f32, f64, f32, f32, f32, f64", 0);
    strbuf_adds(&f.source, "\nconstexpr int kTile = 3; // hone: 1 3\n");
    must_run(&f, t, &c, &p);
    const struct job_arg *a = p.launches[0].args;
    uint64_t zero = 0;
    assert_true(a[1].kind == JOB_ARG_BYTES && a[1].size == 8 && !memcmp(a[1].bytes, &zero, 8));
    assert_true(a[2].kind == JOB_ARG_BYTES && a[2].size == 8 && !memcmp(a[2].bytes, &zero, 8));
    float f32[9];
    double f64[9];
    for (int i = 3; i < 9; i++) {
        memcpy(&f32[i], a[i].bytes, 4);
        memcpy(&f64[i], a[i].bytes, 8);
    }
    assert_true(f32[3] == (float)(1 / sqrt(128)) && f64[4] == 1 / sqrt(128) && a[4].size == 8);
    assert_true(f32[5] == 0.1f && f32[6] == (float)((double)0.1f * 3 / 2) && a[6].size == 4);
    assert_true(f32[7] == 1.5f && f64[8] == -0.25);
    release_case(&f);
    task_free(t);
}

static void a_plan_can_set_and_copy_memory(void **state)
{
    struct task *t = plan_task();
    struct plan_case_file f;
    struct job_case c = {0};
    struct job_program p = {0};
    set_case(&f,
             "{\"workspace\": {\"ws\": {\"bytes\": \"4*M\"}}, \"launches\": ["
             " {\"memset\": \"ws\", \"value\": \"-1\", \"width\": 4, \"offset\": 8},"
             " {\"memset\": \"C\", \"bytes\": \"N-256\"}," /* sets 0 bytes, so it is left out */
             " {\"memset\": \"C\", \"when\": \"M > 1000\"},"
             " {\"copy\": \"A\", \"to\": \"C\", \"from_offset\": 16, \"to_offset\": \"2*K\"},"
             " {\"kernel\": \"k\", \"grid\": 1, \"block\": 32, \"args\": [\"ws\"]}]}",
             "k: const f32*", 0);
    must_run(&f, t, &c, &p);
    assert_int_equal(p.nlaunches, 3);
    const struct job_transfer *set = &p.launches[0].transfer, *copy = &p.launches[1].transfer;
    assert_true(p.launches[0].kind == JOB_MEMSET && p.launches[1].kind == JOB_COPY);
    assert_true(p.launches[2].kind == JOB_KERNEL);
    assert_true(set->to == 4 && set->to_offset == 8 && set->bytes == 504 && set->width == 4);
    assert_true(set->value == UINT32_MAX);
    assert_true(copy->from == 0 && copy->to == 3 && copy->from_offset == 16);
    assert_true(copy->to_offset == 128 && copy->bytes == 2 * 128 * 64 - 16);
    assert_true(job_fills(&p, 3) && job_fills(&p, 4) && !job_fills(&p, 0));
    release_case(&f);
    task_free(t);
}

static void a_case_holds_what_the_worker_needs(void **state)
{
    struct task *t = plan_task();
    struct arena a = ARENA_INIT;
    struct job_case c = {0};
    struct shape s;
    struct err err = ERR_INIT;
    assert_int_equal(shape_resolve(&s, t, &t->workloads.items[1], 1, &a, &err), 0);
    assert_int_equal(plan_fill_case(&c, &s, &a, &err), 0);
    assert_int_equal(c.nbuffers, 4);
    const struct job_buffer *idx = &c.buffers[2], *out = &c.buffers[3];
    assert_true(c.buffers[0].role == JOB_INPUT && out->role == JOB_OUTPUT);
    assert_true(c.buffers[0].align == 2 && idx->align == 4 && c.buffers[0].offset == 0);
    assert_true(idx->gen.dist == GEN_INT && idx->gen.b == 255 && idx->stream == 2);
    assert_true(out->elems == 128 * 256 && out->bytes == 2 * 128 * 256 && out->rank == 2);
    assert_true(out->dims[0] == 128 && out->dims[1] == 256 && out->rtol == 1e-5);
    assert_true(out->acc_eps == 0x1p-24);
    assert_true(c.nphases == 1 && c.phases[0].units == 128 * 256 && c.scratch_elems == 128);
    assert_true(c.naxes == 3 && c.axes[2] == 64 && c.nscalars == 3 && c.scalars[0] == 0.1f);
    assert_true(c.flops == 2.0 * 128 * 256 * 64);
    arena_release(&a);
    task_free(t);
}

static void tensor_maps_take_the_tensors_shape(void **state)
{
    struct task *t = plan_task();
    struct plan_case_file f;
    struct job_case c = {0};
    struct job_program p = {0};
    set_case(
        &f,
        "{\"workspace\": {\"ws\": {\"bytes\": \"4*M*N\"}}, \"tensormaps\": {"
        " \"unused\": {\"tensor\": \"A\", \"box\": [1, 1]},"
        " \"tm\": {\"tensor\": \"A\", \"box\": [64, \"M/2\"], \"swizzle\": \"128B\", \"fill\": "
        "\"nan\"},"
        " \"w\": {\"tensor\": \"ws\", \"dtype\": \"float32\", \"dims\": [\"N\", \"M\", 1],"
        "   \"strides\": [\"4*N\", \"4*M*N\"], \"box\": [32, 8, 1], \"elem_strides\": [1,2,1],"
        "   \"l2promo\": \"256B\"}},"
        " \"launches\": [{\"kernel\": \"k\", \"grid\": 7, \"block\": \"32\","
        "   \"args\": [\"w\", \"tm\", \"w\", \"C\"]}]}",
        "k: map, map, map, f16*", 0);
    must_run(&f, t, &c, &p);
    assert_int_equal(p.ntensormaps, 2);
    const struct job_tensormap *w = &p.tensormaps[0], *m = &p.tensormaps[1];
    assert_true(p.launches[0].args[0].index == 0 && p.launches[0].args[1].index == 1);
    assert_true(p.launches[0].args[2].index == 0 && p.launches[0].args[1].size == 128);
    assert_true(m->buffer == 0 && m->dtype == DT_F16 && m->rank == 2);
    assert_true(m->dims[0] == 64 && m->dims[1] == 128 && m->strides[1] == 128);
    assert_true(m->box[0] == 64 && m->box[1] == 64 && m->swizzle == 3 && m->fill_nan == 1);
    assert_true(m->elem_strides[1] == 1);
    assert_true(w->buffer == 4 && w->rank == 3 && w->dims[0] == 256 && w->strides[2] == 131072);
    assert_true(w->elem_strides[1] == 2 && w->l2promo == 3 && p.launches[0].grid[0] == 7);
    release_case(&f);
    task_free(t);
}

/* Makes a signature that fits the plan's arguments, because the kernels of the source tree are not
 * compiled here. */
static void sigs_from_plan(const struct plan *p, struct sig_vec *sigs, struct arena *a)
{
    vec_each (struct plan_launch, l, &p->launches) {
        struct sig *s = vec_push(sigs);
        s->kernel = l->kernel;
        s->params = arena_alloc(a, l->args.n * sizeof *s->params);
        vec_each (struct plan_arg, g, &l->args)
            switch (g->kind) {
            case PLAN_ARG_TENSOR:
                s->params[s->nparams++] =
                    param_of(p->task->tensors.items[g->index].is_output ? "void*" : "const void*");
                break;
            case PLAN_ARG_WORKSPACE:
                s->params[s->nparams++] = param_of("void*");
                break;
            case PLAN_ARG_MAP:
                s->params[s->nparams++] = param_of("map");
                break;
            case PLAN_ARG_SCALAR:
                s->params[s->nparams++] = param_of("f32");
                break;
            default:
                s->params[s->nparams++] = param_of("i32");
                break;
            }
    }
}

static void check_kernel(const struct asset *k, const struct task *t)
{
    struct problem_vec problems = VEC_INIT;
    struct sig_vec sigs = VEC_INIT;
    struct arena a = ARENA_INIT;
    struct plan *p = plan_parse(k->data, k->len, t, &problems);
    if (!p)
        fail_msg("%s: %s", k->path, problems.items[0].text);
    sigs_from_plan(p, &sigs, &a);
    if (plan_check_signature(p, &sigs, &problems) < 0)
        fail_msg("%s: %s", k->path, problems.items[0].text);
    vec_each (const struct task_workload, w, &t->workloads)
        for (uint64_t seed = 0; seed < (w->role == ROLE_HELDOUT ? 8 : 1); seed++) {
            struct job_case c = {0};
            struct job_program prog = {0};
            struct err err = ERR_INIT;
            struct shape s;
            if (shape_resolve(&s, t, w, seed, &a, &err) < 0 ||
                plan_resolve(p, &sigs, &s, &c, &prog, &a, &err) < 0)
                fail_msg("%s: %s: %s", k->path, workload_role_name(w->role), err.msg);
        }
    vec_release(&sigs);
    plan_free(p);
    arena_release(&a);
}

static void every_kernel_in_the_tree_resolves_everywhere(void **state)
{
    size_t n = 0;
    for (const struct asset *k = asset_first("kernels/"); k && str_starts(k->path, "kernels/");
         k++) {
        struct problem_vec problems = VEC_INIT;
        char name[128];
        const char *base = k->path + strlen("kernels/");
        if (!str_ends(base, ".cu") || strchr(base, '/'))
            continue;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(base, "."), base);
        struct task *t = task_find(name, &problems);
        if (!t)
            fail_msg("%s: %s", k->path, problems.items[0].text);
        check_kernel(k, t);
        task_free(t);
        n++;
        if (!k[1].path)
            break;
    }
    assert_true(n >= 24);
}

static void without_a_task_kernels_have_names(void **state)
{
    static const char src[] =
        "/* hone-plan {\"launches\": [{\"kernel\": \"k1\", \"grid\": [\"zz\"], "
        "\"block\": [1], \"args\": [\"q\"]}]} */";
    struct problem_vec problems = VEC_INIT;
    struct plan *p = plan_parse(src, strlen(src), NULL, &problems);
    assert_non_null(p);
    assert_int_equal(plan_launch_count(p), 1);
    assert_string_equal(plan_launch_kernel(p, 0), "k1");
    plan_free(p);
}

static void simplified_plans(void **state)
{
    (void)state;
    static const struct {
        const char *plan, *want;
    } cases[] = {
        {"{ \"launches\": [ { \"kernel\": \"a\", \"when\": \"N*1 > 2 && 1 == 1\", \"grid\": "
         "[\"cdiv(N, (64*2))\"] } ] }",
         "{ \"launches\": [ { \"kernel\": \"a\", \"when\": \"N > 2\", \"grid\": [\"cdiv(N, 128)\"] "
         "} ] }"},
        /* the first launch never runs, and the second one always does */
        {"{ \"launches\": [\n  { \"kernel\": \"a\", \"when\": \"0 == 1 && N > 2\", \"args\": "
         "[\"x\"] },\n  "
         "{ \"kernel\": \"b\", \"when\": \"2 > 1\", \"args\": [\"}\", \"y\"] } ], \"workspace\": "
         "{} }",
         "{ \"launches\": [\n  { \"kernel\": \"b\", \"args\": [\"}\", \"y\"] } ], \"workspace\": "
         "{} }"},
        {"{\"launches\":[{\"kernel\":\"a\"},{\"kernel\":\"b\",\"when\":\"0\"},{\"kernel\":\"c\"}]}",
         "{\"launches\":[{\"kernel\":\"a\"},\n    {\"kernel\":\"c\"}]}"},
        /* the only launch is kept, because a plan needs a launch */
        {"{\"launches\":[{\"kernel\":\"a\",\"when\":\"0 > 1\"}]}",
         "{\"launches\":[{\"kernel\":\"a\",\"when\":\"0\"}]}"},
        /* these texts are no plan, or break off */
        {"", ""},
        {"{\"grid\": \"1+11", "{\"grid\": \"1+11"},
        {"{\"launches\": [{\"when\": \"1+1", "{\"launches\": [{\"when\": \"1+1"},
        {"{\"grid\": [\"1+1\", \"a\\\"1\"", "{\"grid\": [\"2\", \"a\\\"1\""},
        /* N is an integer; eps and s may be real */
        {"{\"grid\": \"N\", \"args\": [\"min(N, 2)*3*3\", \"2*3\", \"eps*3*3\", \"1 && s\"]}",
         "{\"grid\": \"N\", \"args\": [\"min(N, 2)*9\", \"6\", \"eps*3*3\", \"1 && s\"]}"},
        /* texts that are no expressions stay as they are */
        {"{\"kernel\": \"my-kernel\", \"args\": [\"my-kernel\"], \"init\": \"--x\"}",
         "{\"kernel\": \"my-kernel\", \"args\": [\"my-kernel\"], \"init\": \"--x\"}"},
        {"{\"workspace\":{\"launches\":{}},\"dtype\":\"launches\",\"launches\":[{\"when\":\"0\"},{}"
         "]}",
         "{\"workspace\":{\"launches\":{}},\"dtype\":\"launches\",\"launches\":[{}]}"},
        {"{\"launches\":[\"{\",{\"when\":\"0\"},{}]}",
         "{\"launches\":[\"{\",{\"when\":\"0\"},{}]}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct strbuf out = STRBUF_INIT(4096);
        plan_simplify(cases[i].plan, strlen(cases[i].plan), &out);
        assert_string_equal(out.buf, cases[i].want);
        strbuf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_plans_say_what_and_where),
        cmocka_unit_test(simplified_plans),
        cmocka_unit_test(a_plan_resolves_to_numbers),
        cmocka_unit_test(arguments_can_be_null_or_computed),
        cmocka_unit_test(a_plan_can_set_and_copy_memory),
        cmocka_unit_test(a_case_holds_what_the_worker_needs),
        cmocka_unit_test(tensor_maps_take_the_tensors_shape),
        cmocka_unit_test(every_kernel_in_the_tree_resolves_everywhere),
        cmocka_unit_test(without_a_task_kernels_have_names),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
