/* cases.c - makes the cases of a job from the workloads of a task. See cases.h. */
#include "eval/cases.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "eval/library.h"
#include "eval/precision.h"

/* The emulator does this work in about a second. */
static const double emu_max_flops = 4e7, emu_max_bytes = 8e6;
/* The emulator leaves out timed cases with more bytes. */
static const double emu_max_time_bytes = 6e9;

static uint64_t mix(uint64_t seed, uint64_t a, uint64_t b)
{
    uint64_t z = seed + a * 0x9e3779b97f4a7c15u + b * 0xd1b54a32d192ed03u + 0x2545f4914f6cdd1du;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static const char *describe(const struct shape *s, struct arena *a)
{
    const char *text = shape_text(s, a);
    if (s->workload->regime)
        return arena_printf(a, "%s: %s", text, s->workload->regime);
    if (s->workload->offset_elems)
        text = arena_printf(a, "%s offset %u", text, s->workload->offset_elems);
    for (size_t i = 0; s->workload->offsets && i < s->task->tensors.n; i++)
        if (s->workload->offsets[i])
            text = arena_printf(a, "%s %s offset %u", text, s->task->tensors.items[i].name,
                                s->workload->offsets[i]);
    if (s->workload->align_bytes)
        text = arena_printf(a, "%s align %u", text, s->workload->align_bytes);
    return text;
}

static bool is_moved(const struct shape *s)
{
    bool moved = s->workload->offset_elems || s->workload->align_bytes;
    for (size_t i = 0; s->workload->offsets && i < s->task->tensors.n; i++)
        moved = moved || s->workload->offsets[i];
    return moved;
}

static double total_bytes(const struct shape *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->task->tensors.n; i++)
        sum += (double)s->elems[i] * (double)dtype_bytes(s->task->tensors.items[i].dtype);
    return sum;
}

static void add_call(struct job_case *c, uint32_t program, uint32_t flags, uint64_t seed,
                     uint64_t poison)
{
    c->calls[c->ncalls++] = (struct job_call){
        .program = program, .flags = flags, .seed = seed, .poison = poison, .perturb_buffer = -1};
}

/* Chooses a float input for call 4 (cases.h). Returns its number, or -1 if there is none. */
static int pick_input(const struct job_case *c, uint64_t seed)
{
    int picked = -1;
    for (uint32_t i = 0, seen = 0; i < c->nbuffers; i++) {
        const struct job_buffer *b = &c->buffers[i];
        bool input = b->role == JOB_INPUT || b->role == JOB_INOUT;
        if (input && b->elems && dtype_is_float(b->dtype) && mix(seed, 77, i) % ++seen == 0)
            picked = (int)i;
    }
    return picked;
}

static void add_check_calls(struct job_case *c, bool count, uint64_t seed)
{
    uint64_t s0 = mix(seed, 1, 0), s1 = mix(seed, 2, 0);
    add_call(c, 0, JOB_CALL_VERIFY | (count ? JOB_CALL_COUNT : 0), s0, mix(seed, 3, 0));
    add_call(c, 0, JOB_CALL_VERIFY | JOB_CALL_KEEP_STATE, s1, mix(seed, 3, 1));
    add_call(c, 0, JOB_CALL_VERIFY | JOB_CALL_REPEAT, s1, mix(seed, 3, 2));
    int b = pick_input(c, seed);
    if (b >= 0) {
        add_call(c, 0, JOB_CALL_VERIFY | JOB_CALL_KEEP_STATE, s0, mix(seed, 3, 3));
        c->calls[c->ncalls - 1].perturb_buffer = b;
        c->calls[c->ncalls - 1].perturb_elem = mix(seed, 4, 0) % c->buffers[b].elems;
    }
}

/* Adds the only call of a workload that Hone added. The call does not load the module again, which
 * saves most of the time. */
static void add_regime_call(struct job_case *c, uint64_t seed)
{
    add_call(c, 0, JOB_CALL_VERIFY | JOB_CALL_KEEP_STATE | JOB_CALL_EDGES, mix(seed, 1, 0),
             mix(seed, 3, 0));
}

static void add_precision_call(struct job_case *c, bool sample, uint64_t seed)
{
    add_call(c, 0, JOB_CALL_VERIFY | (sample ? JOB_CALL_BLOCK_SAMPLE : 0), mix(seed, 14, 0),
             mix(seed, 15, 0));
}

static bool is_judged(const struct contender *who)
{
    const struct torch_variant *v = torch_variant_find(who->name);
    return !v || !v->unjudged;
}

static void add_time_calls(struct job_case *c, const struct contender *who,
                           const struct case_options *o, uint64_t seed)
{
    if (o->profile && !o->emu) {
        add_call(c, 0, JOB_CALL_PROFILE, mix(seed, 5, 0), mix(seed, 6, 0));
        return;
    }
    /* The emulator's cost model is deterministic, so one call of each program is enough. Times may
     * depend on the data, so all programs get the same data. */
    if (o->emu) {
        const uint32_t modelled = JOB_CALL_TIMED | JOB_CALL_BLOCK_SAMPLE | JOB_CALL_COUNT;
        for (uint32_t p = 0; p < c->nprograms; p++)
            add_call(c, p, modelled | (p ? 0 : JOB_CALL_VERIFY), mix(seed, 5, 0), mix(seed, 6, p));
        return;
    }
    uint64_t out = 0;
    for (uint32_t i = 0; i < c->nbuffers; i++)
        if (c->buffers[i].role == JOB_OUTPUT || c->buffers[i].role == JOB_INOUT)
            out += c->buffers[i].bytes;
    c->timing = (struct job_timing){.min_calls = 11,
                                    .max_calls = 400,
                                    /* large outputs take much memory */
                                    .verify = out > 64 << 20 ? 1 : 2,
                                    .target_rel = 0.01,
                                    .seed = mix(seed, 7, 0),
                                    .warm_l2 = o->warm_l2};
    /* With the same data for all baselines, the worker computes the right outputs once. */
    for (uint32_t p = 1; p < c->nprograms; p++)
        if (is_judged(&who[p]))
            add_call(c, p, JOB_CALL_VERIFY, mix(seed, 12, 0), mix(seed, 13, p));
}

/* Adds the sequence of calls that a timing on a GPU has. */
static void add_rehearsal(struct job_case *c, uint64_t seed)
{
    const uint32_t timed = JOB_CALL_TIMED | JOB_CALL_KEEP_STATE;
    for (uint32_t k = 0; k < 4; k++) {
        bool verify = k == 1 + seed % 3;
        add_call(c, 0, timed | (verify ? JOB_CALL_VERIFY : 0), mix(seed, 8, k), mix(seed, 9, k));
        if (verify)
            add_call(c, 0, JOB_CALL_VERIFY | JOB_CALL_REPEAT, mix(seed, 8, k), mix(seed, 9, 9));
    }
}

static bool lists(const char *list, const char *name)
{
    for (const char *p = list; *p; p += p[strcspn(p, ",")] ? strcspn(p, ",") + 1 : strlen(p))
        if (strcspn(p, ",") == strlen(name) && strncmp(p, name, strlen(name)) == 0)
            return true;
    return false;
}

static bool wanted(const struct case_options *o, enum workload_role r, unsigned index,
                   size_t number)
{
    if (o->only) {
        char name[32], plain[32];
        snprintf(name, sizeof name, "%s:%u", workload_role_name(r), index);
        snprintf(plain, sizeof plain, "%zu", number);
        return lists(o->only, name) || lists(o->only, plain) ||
               lists(o->only, workload_role_name(r));
    }
    return r == ROLE_SMOKE     ? o->smoke
           : r == ROLE_CHECK   ? o->check
           : r == ROLE_HELDOUT ? o->heldout
                               : o->time;
}

/* On the emulator, draws a held-out shape up to 24 times, until one runs in about a second. If none
 * does, takes the cheapest. */
static int draw(struct shape *s, const struct task *t, const struct task_workload *w,
                const struct case_options *o, uint64_t seed, struct arena *a, struct err *err)
{
    unsigned tries = w->role == ROLE_HELDOUT && o->emu ? 24 : 1;
    struct shape best = {0};
    double best_cost = 0;
    for (unsigned i = 0; i < tries; i++) {
        if (shape_resolve(s, t, w, mix(seed, 10, i), a, err) < 0)
            return -1;
        int64_t flops = t->flops ? shape_eval(s, t->flops, err) : 0;
        if (flops < 0)
            return -1;
        double cost = MAX((double)flops / emu_max_flops, total_bytes(s) / emu_max_bytes);
        if (!best.task || cost < best_cost) {
            best = *s;
            best_cost = cost;
        }
        if (cost <= 1)
            break;
    }
    *s = best;
    return 0;
}

static void note_registers(struct job_program *p, const struct compiled *code)
{
    for (uint32_t l = 0; code && l < p->nlaunches; l++)
        for (size_t k = 0; k < code->kernels.n; k++)
            if (str_eq(code->kernels.items[k].name, p->launches[l].kernel)) {
                const struct kernel_info *c = &code->kernels.items[k];
                p->launches[l].regs = c->registers;
                p->launches[l].spill_bytes = c->spill_store_bytes + c->spill_load_bytes;
            }
}

/* Adds the case of workload w. If `data` is set, the inputs are precision data, and the case is not
 * timed. Returns 1 and -1 as cases_build() does. */
static int add_case(struct case_set *out, const struct task *t, const struct task_workload *w,
                    unsigned index, const struct precision_data *data, const struct contender *who,
                    size_t n, const struct case_options *o, struct arena *a, struct err *err)
{
    bool timed = w->role == ROLE_TIME;
    if (data) {
        struct task_workload *changed = arena_alloc(a, sizeof *changed);
        *changed = *w;
        changed->role = timed ? ROLE_CHECK : w->role;
        changed->regime = precision_data_text(data);
        w = changed;
    }
    uint64_t seed = mix(o->seed, (uint64_t)w->role + 100, index);
    struct shape *s = arena_alloc(a, sizeof *s);
    if (draw(s, t, w, o, seed, a, err) < 0)
        return -1;
    /* An input's "init" may list several values. The workloads use them in turn. The seed decides
     * which value comes first, so that no kernel can know which value it gets. */
    s->turn += mix(o->seed, 11, 0) >> 32;
    const char *name = arena_printf(a, "%s:%u", workload_role_name(w->role), index);
    if (o->emu && timed && total_bytes(s) > emu_max_time_bytes) {
        *vec_push(&out->notes) = arena_printf(a, "%s left out: %.1f GB is too much to emulate",
                                              name, total_bytes(s) / 1e9);
        return 0;
    }
    struct job_case c = {.name = name};
    if (plan_fill_case(&c, s, a, err) < 0)
        return -1;
    size_t programs = w->role == ROLE_TIME ? n : 1;
    c.programs = arena_alloc(a, sizeof *c.programs * programs);
    for (size_t i = 0; i < programs; i++) {
        struct job_program *p = &c.programs[c.nprograms];
        if (who[i].kind == JOB_MODULE_KERNEL &&
            plan_resolve(who[i].plan, who[i].sigs, s, &c, p, a, err) < 0) {
            err_prefix(err, "%s (%s)", name,
                       w->role == ROLE_HELDOUT ? "a held-out shape" : describe(s, a));
            return i == 0 ? 1 : -1;
        }
        note_registers(p, who[i].code);
        if (who[i].kind == JOB_MODULE_LIBRARY)
            library_program(who[i].gemm, s, p, a);
        p->module = (uint32_t)i;
        c.nprograms++;
    }
    c.calls = arena_alloc(a, sizeof *c.calls * 64);
    if (data) {
        precision_data_apply(data, &c);
        add_precision_call(&c, o->emu && timed, seed);
    } else if (w->role == ROLE_TIME)
        add_time_calls(&c, who, o, seed);
    else if (w->regime)
        add_regime_call(&c, seed);
    else
        add_check_calls(&c, w->role != ROLE_HELDOUT, seed);
    if (o->emu && w->role == ROLE_SMOKE && index == 0)
        add_rehearsal(&c, seed);
    /* For a large product, the truth takes longer than the candidate. So the worker computes only a
     * sample of it (job/unit_sample.h). */
    c.max_units = c.flops > 2e10 ? 1u << 16 : 0;
    *vec_push(&out->cases) = c;
    *vec_push(&out->shapes) = describe(s, a);
    *vec_push(&out->info) =
        (struct check_case){.role = w->role, .shape = describe(s, a), .misaligned = is_moved(s)};
    return 0;
}

static unsigned count_role(const struct task *t, enum workload_role role)
{
    unsigned n = role == ROLE_SMOKE ? (unsigned)t->regimes.n : 0;
    vec_each (const struct task_workload, w, &t->workloads)
        n += w->role == role;
    return n;
}

/* Returns how many workloads with precision data Hone may add to the role. */
static unsigned most_added(const struct task *t, enum workload_role role)
{
    return role == ROLE_SMOKE ? 2 : role == ROLE_CHECK ? count_role(t, ROLE_TIME) : 0;
}

static int check_name(const struct task *t, const char *name, struct err *err)
{
    struct strbuf known = STRBUF_INIT(256);
    char *end;
    unsigned long number = strtoul(name, &end, 10);
    bool found = *name >= '0' && *name <= '9' && !*end && number < t->workloads.n + t->regimes.n;
    for (int role = 0; role < ROLE_COUNT; role++) {
        const char *word = workload_role_name((enum workload_role)role);
        unsigned n = count_role(t, (enum workload_role)role);
        size_t len = strlen(word);
        if (n)
            strbuf_addf(&known, n > 1 ? "%s%s:0 to %u" : "%s%s:%u", known.len ? ", " : "", word,
                        n - 1);
        found = found || (n && str_eq(name, word));
        if (strncmp(name, word, len) != 0 || name[len] != ':' || !(name[len + 1] >= '0') ||
            name[len + 1] > '9')
            continue;
        number = strtoul(name + len + 1, &end, 10);
        found = found || (!*end && number < n + most_added(t, (enum workload_role)role));
    }
    int rc = found ? 0
                   : err_set(err, ERR_USAGE, "task '%s' has no workload '%s'; it has %s", t->name,
                             name, known.buf);
    strbuf_release(&known);
    return rc;
}

int cases_check_workload(const struct task *t, const char *names, struct err *err)
{
    char *copy = xstrdup(names), *rest = copy, *name;
    int rc = *names ? 0 : check_name(t, names, err);
    while (rc == 0 && (name = strsep(&rest, ",")))
        rc = check_name(t, name, err);
    free(copy);
    return rc;
}

bool cases_time_any(const struct task *t, const struct case_options *o)
{
    unsigned index = 0;
    for (size_t i = 0; i < t->workloads.n; i++)
        if (t->workloads.items[i].role == ROLE_TIME && wanted(o, ROLE_TIME, index++, i))
            return true;
    return false;
}

/* Adds cases with precision data (precision.h). ROLE_SMOKE gets two at its first shape: one with
 * few terms in each sum, one with inputs so small that an epsilon of the task matters. ROLE_CHECK
 * gets a case with few terms for each timed shape; on the emulator, only for the first timed shape.
 * `index` is the number of the first added case. */
static int add_precision_cases(struct case_set *out, const struct task *t, enum workload_role role,
                               unsigned index, const struct contender *who,
                               const struct case_options *o, struct arena *a, struct err *err)
{
    enum workload_role of = role == ROLE_CHECK ? ROLE_TIME : ROLE_SMOKE;
    if (role != ROLE_SMOKE && !(role == ROLE_CHECK && o->time))
        return 0;
    const struct precision_data *few = precision_data_find(t, who[0].code, a);
    for (size_t i = 0; i < t->workloads.n; i++) {
        const struct task_workload *w = &t->workloads.items[i];
        if (w->role != of)
            continue;
        const struct precision_data *data[] = {
            few, role == ROLE_SMOKE ? precision_data_near_epsilon(t, w, a) : NULL};
        for (size_t k = 0; k < ARRAY_LEN(data); k++) {
            int rc = data[k] && wanted(o, role, index, SIZE_MAX)
                         ? add_case(out, t, w, index, data[k], who, 1, o, a, err)
                         : 0;
            index += data[k] != NULL;
            if (rc)
                return rc;
        }
        if (role == ROLE_SMOKE || o->emu)
            break;
    }
    return 0;
}

int cases_build(struct case_set *out, const struct task *t, const struct contender *who, size_t n,
                const struct case_options *o, struct arena *a, struct err *err)
{
    memset(out, 0, sizeof *out);
    static const enum workload_role order[] = {ROLE_SMOKE, ROLE_CHECK, ROLE_HELDOUT, ROLE_TIME};
    for (size_t r = 0; r < ARRAY_LEN(order); r++) {
        unsigned index = 0;
        for (size_t i = 0; i < t->workloads.n; i++) {
            const struct task_workload *w = &t->workloads.items[i];
            if (w->role != order[r])
                continue;
            bool take = wanted(o, w->role, index, i);
            int rc = take ? add_case(out, t, w, index, NULL, who, n, o, a, err) : 0;
            index++;
            if (rc)
                return rc;
        }
        for (size_t i = 0; order[r] == ROLE_SMOKE && i < t->regimes.n; i++, index++) {
            const struct task_workload *w = &t->regimes.items[i];
            bool take = wanted(o, w->role, index, t->workloads.n + i);
            int rc = take ? add_case(out, t, w, index, NULL, who, n, o, a, err) : 0;
            if (rc)
                return rc;
        }
        int rc = add_precision_cases(out, t, order[r], index, who, o, a, err);
        if (rc)
            return rc;
    }
    if (o->only && !out->cases.n)
        return err_set(err, ERR_INPUT,
                       "task '%s' has no workload '%s' that this evaluation can run (hone task "
                       "show %s)",
                       t->name, o->only, t->name);
    return 0;
}

void cases_release(struct case_set *s)
{
    vec_release(&s->cases);
    vec_release(&s->info);
    vec_release(&s->shapes);
    vec_release(&s->notes);
}

void cases_allow_for_work(const struct case_set *s, bool calls, struct job_limits *limits)
{
    /* These are CPU times of the emulator. AlexNet with one image took 18 ns for each flop, because
     * the tiles of its products are then mostly padding. No call adds more than an hour. */
    const double ns_per_flop = 20, ns_per_byte = 200, longest = 3600e9;
    double most = 0, all = 0;
    vec_each (const struct job_case, c, &s->cases) {
        if (job_is_sampled(c))
            continue;
        double work = MIN(ns_per_flop * c->flops + ns_per_byte * c->min_bytes, longest);
        most = MAX(most, work);
        all += work * c->ncalls;
    }
    if (calls)
        limits->call_ns += (uint64_t)most;
    limits->wall_ns += (uint64_t)all * JOB_EMU_PATIENCE;
}
