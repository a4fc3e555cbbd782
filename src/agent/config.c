/* config.c - the defaults of a run, its ablations (--ablate switches off one idea of a strategy)
 * and its JSON. */
#include "agent/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "job/torch_variants.h"
#include "memory/memory.h"

static const char *const author_role_names[AUTHOR_ROLES] = {"code", "plan",    "debug",
                                                            "test", "profile", "port"};

const char *const profile_names[PROFILE_MODES] = {"never", "always", "delayed"};
const char *const context_names[CONTEXT_MODES] = {"flat", "dynamic"};
const char *const select_names[SELECT_MODES] = {"greedy", "eps"};
const char *const dialect_names[DIALECTS] = {"cute", "cuda"};

void run_config_init(struct run_config *c)
{
    *c = (struct run_config){
        .strategy = "refine",
        .task = "",
        .task_sha = "",
        .arch = "sm_90a",
        .gpu = "h200",
        .device = "",
        .on = "local",
        .compiler = "",
        .dialect = DIALECT_CUTE,
        .profile = PROFILE_DELAYED,
        .context = CONTEXT_DYNAMIC,
        .select = SELECT_EPS,
        .class_prompts = true,
        .anchors = true,
        .baselines = true,
        .restore = true,
        .use_memory = true,
        .memory = "",
        .repairs = -1,
        .profile_delay = -1,
        .regress_allow = 1.25,
        .regress_steps = 2,
        .stop_pct = 95,
        .eps = 0.35,
        .n_root = 5,
        .n_child = 3,
        .leaders = 5,
        .wave = 1,
        .from = "",
        .from_name = "",
        .out = "",
    };
}

/* ---- ablations ------------------------------------------------------------------------------ */

static const char *const off_on[] = {"off", "on"};
static const char *const dialect_rules[] = {"report", "strict"};

static int place_in(const char *const *names, size_t n, const char *value)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(names[i], value))
            return (int)i;
    return -1;
}

static int bad_ablation(const char *key, const char *const *names, size_t n, struct err *err)
{
    struct strbuf list = STRBUF_INIT(256);
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&list, "%s%s", i ? ", " : "", names[i]);
    err_set(err, ERR_USAGE, "--ablate %s= must be one of %s", key, list.buf);
    strbuf_release(&list);
    return -1;
}

static int ablate_delay(struct run_config *c, const char *value, struct err *err)
{
    char *end;
    long step = strtol(value, &end, 10);
    if (end == value || *end || step < 0 || step > 100000)
        return err_set(err, ERR_USAGE, "--ablate profile-delay= must be a step from 0 to 100000");
    c->profile_delay = (int32_t)step;
    return 0;
}

enum ablation {
    ABLATE_PROFILE,
    ABLATE_CONTEXT,
    ABLATE_SELECT,
    ABLATE_CLASS_PROMPTS,
    ABLATE_ANCHORS,
    ABLATE_EXAMPLE,
    ABLATE_MEMORY,
    ABLATE_RESTORE,
    ABLATE_DIALECT
};

static void apply_ablation(struct run_config *c, enum ablation what, int value)
{
    switch (what) {
    case ABLATE_PROFILE:
        c->profile = (enum profile_mode)value;
        break;
    case ABLATE_CONTEXT:
        c->context = (enum context_mode)value;
        break;
    case ABLATE_SELECT:
        c->select = (enum select_mode)value;
        break;
    case ABLATE_CLASS_PROMPTS:
        c->class_prompts = value;
        break;
    case ABLATE_ANCHORS:
        c->anchors = value;
        break;
    case ABLATE_EXAMPLE:
        c->zero_shot = !value;
        break;
    case ABLATE_MEMORY:
        c->use_memory = value;
        break;
    case ABLATE_RESTORE:
        c->restore = value;
        break;
    case ABLATE_DIALECT:
        c->strict_dialect = value;
        break;
    }
}

int run_config_ablate(struct run_config *c, const char *setting, struct err *err)
{
    static const struct {
        const char *key;
        const char *const *names;
        size_t n;
    } keys[] = {[ABLATE_PROFILE] = {"profile", profile_names, PROFILE_MODES},
                [ABLATE_CONTEXT] = {"context", context_names, CONTEXT_MODES},
                [ABLATE_SELECT] = {"select", select_names, SELECT_MODES},
                [ABLATE_CLASS_PROMPTS] = {"class-prompts", off_on, 2},
                [ABLATE_ANCHORS] = {"anchors", off_on, 2},
                [ABLATE_EXAMPLE] = {"example", off_on, 2},
                [ABLATE_MEMORY] = {"memory", off_on, 2},
                [ABLATE_RESTORE] = {"restore", off_on, 2},
                [ABLATE_DIALECT] = {"dialect", dialect_rules, 2}};
    size_t n = strcspn(setting, "=");
    const char *value = setting[n] ? setting + n + 1 : "";
    char key[32];
    snprintf(key, sizeof key, "%.*s", (int)MIN(n, sizeof key - 1), setting);
    if (str_eq(key, "profile-delay"))
        return ablate_delay(c, value, err);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (!str_eq(keys[i].key, key))
            continue;
        int v = place_in(keys[i].names, keys[i].n, value);
        if (v < 0)
            return bad_ablation(key, keys[i].names, keys[i].n, err);
        apply_ablation(c, (enum ablation)i, v);
        return 0;
    }
    return err_set(err, ERR_USAGE,
                   "--ablate '%s': the key must be profile, profile-delay, class-prompts, example, "
                   "dialect, memory, restore, anchors, context or select; `hone optimize --help` "
                   "lists their values",
                   setting);
}

/* ---- the dialect ---------------------------------------------------------------------------- */

int dialect_from_name(const char *name, enum dialect *out, struct err *err)
{
    int d = place_in(dialect_names, DIALECTS, name);
    if (d < 0)
        return err_set(err, ERR_USAGE, "--dialect must be cute or cuda, not '%s'", name);
    *out = (enum dialect)d;
    return 0;
}

struct dialect_rule run_config_dialect(const struct run_config *c, uint64_t calls)
{
    for (uint32_t i = 0; i < c->ndialects_before; i++)
        if (calls <= c->dialects_before[i].until)
            return c->dialects_before[i];
    return (struct dialect_rule){c->dialect, c->strict_dialect, UINT64_MAX};
}

int run_config_set_dialect(struct run_config *c, enum dialect dialect, bool strict, uint64_t calls,
                           struct err *err)
{
    if (dialect == c->dialect && strict == c->strict_dialect)
        return 0;
    if (c->ndialects_before == MAX_DIALECT_RULES)
        return err_set(err, ERR_LIMIT, "the dialect of this run was changed %d times already",
                       MAX_DIALECT_RULES);
    if (calls)
        c->dialects_before[c->ndialects_before++] =
            (struct dialect_rule){c->dialect, c->strict_dialect, calls};
    c->dialect = dialect;
    c->strict_dialect = strict;
    return 0;
}

void run_config_set_whole_files(struct run_config *c)
{
    for (int i = 0; i < AUTHOR_ROLES; i++)
        if (c->authors[i] &&
            (str_starts(c->authors[i], "mailbox:") || str_starts(c->authors[i], "exec:")))
            c->whole_files = true;
}

static json_t *variants_json(unsigned set)
{
    struct strbuf text = STRBUF_INIT(256);
    torch_variants_text(set, &text);
    json_t *j = json_string(text.buf);
    strbuf_release(&text);
    return j;
}

static json_t *dialects_json(const struct run_config *c)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < c->ndialects_before; i++) {
        const struct dialect_rule *r = &c->dialects_before[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:b, s:I}", "dialect", dialect_names[r->dialect],
                                        "strict", (int)r->strict, "until", (json_int_t)r->until));
    }
    return list;
}

/* Reads "dialect_strict" and "dialects_before". If both keys are missing, an older Hone wrote the
 * configuration; it was always strict about the dialect. */
static int read_dialects(struct run_config *c, const json_t *j)
{
    const json_t *strict = json_object_get(j, "dialect_strict");
    const json_t *list = json_object_get(j, "dialects_before");
    c->strict_dialect = !json_is_false(strict);
    if (json_array_size(list) > MAX_DIALECT_RULES)
        return -1;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *r = json_array_get(list, i), *until = json_object_get(r, "until");
        const char *name = json_string_value(json_object_get(r, "dialect"));
        int d = name ? place_in(dialect_names, DIALECTS, name) : -1;
        if (d < 0 || !json_is_integer(until) || json_integer_value(until) < 0)
            return -1;
        c->dialects_before[c->ndialects_before++] =
            (struct dialect_rule){(enum dialect)d, json_is_true(json_object_get(r, "strict")),
                                  (uint64_t)json_integer_value(until)};
    }
    return 0;
}

/* ---- defaults ------------------------------------------------------------------------------- */

/* Returns the first step whose prompt may show the profiler's counters. The numbers come from
 * CuTeGen, the published strategy on which refine.c is modelled. */
static uint32_t profile_delay_of(enum task_class c)
{
    switch (c) {
    case CLASS_GEMM:
    case CLASS_ATTENTION:
    case CLASS_CONV:
    case CLASS_CHAIN:
        return 6;
    case CLASS_REDUCTION:
    case CLASS_NORM:
    case CLASS_SOFTMAX:
        return 5;
    case CLASS_SCAN:
    case CLASS_TRANSPOSE:
    case CLASS_GATHER:
        return 3;
    default:
        return 2;
    }
}

void run_config_settle(struct run_config *c, const struct task *t)
{
    bool team = str_eq(c->strategy, "team"), search = str_eq(c->strategy, "search");
    if (!c->steps)
        c->steps = team ? 5 : search ? 30 : 10;
    if (c->repairs < 0)
        c->repairs = team ? 3 : 5;
    if (!c->tries)
        c->tries = 3;
    if (c->profile_delay < 0)
        c->profile_delay = (int32_t)profile_delay_of(t->class);
    if (!c->wave)
        c->wave = 1;
    if (!c->seed)
        c->seed = 1;
    if (!c->proposals)
        c->proposals = 1;
    if (!c->moves)
        c->moves = 1;
}

json_t *run_config_to_json(const struct run_config *c)
{
    json_t *authors = json_object();
    for (int i = 0; i < AUTHOR_ROLES; i++)
        if (c->authors[i])
            json_object_set_new(authors, author_role_names[i], json_string(c->authors[i]));
    const struct budget *b = &c->budget; /* a limit too large for JSON is written as INT64_MAX */
    json_t *budget =
        json_pack("{s:I, s:f, s:I, s:I}", "tokens", (json_int_t)MIN(b->tokens, INT64_MAX), "usd",
                  b->usd, "wall_ns", (json_int_t)MIN(b->wall_ns, INT64_MAX), "steps",
                  (json_int_t)MIN(b->steps, INT64_MAX));
    json_t *j = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:I}",
        "strategy", c->strategy, "task", c->task, "arch", c->arch, "gpu", c->gpu, "device",
        c->device, "on", c->on, "authors", authors, "dialect", dialect_names[c->dialect], "profile",
        profile_names[c->profile], "context", context_names[c->context], "select",
        select_names[c->select], "class_prompts", c->class_prompts, "anchors", c->anchors,
        "zero_shot", c->zero_shot, "rejudge", c->rejudge, "seed", (json_int_t)c->seed);
    if (!j)
        return NULL;
    json_t *more = json_pack(
        "{s:i, s:i, s:i, s:i, s:f, s:i, s:f, s:f, s:i, s:i, s:i, s:i, s:o, s:s, s:s}", "steps",
        (int)c->steps, "repairs", (int)c->repairs, "tries", (int)c->tries, "profile_delay",
        (int)c->profile_delay, "regress_allow", c->regress_allow, "regress_steps",
        (int)c->regress_steps, "stop_pct", c->stop_pct, "eps", c->eps, "n_root", (int)c->n_root,
        "n_child", (int)c->n_child, "leaders", (int)c->leaders, "wave", (int)c->wave, "budget",
        budget, "from", c->from, "from_name", c->from_name);
    if (!more) {
        json_decref(j);
        return NULL;
    }
    json_object_update(j, more);
    json_decref(more);
    json_object_set_new(j, "task_sha", json_string(c->task_sha));
    json_object_set_new(j, "compiler", json_string(c->compiler));
    json_object_set_new(j, "baselines", json_boolean(c->baselines));
    if (c->torch_variants)
        json_object_set_new(j, "torch_variants", variants_json(c->torch_variants));
    if (c->programs.n)
        json_object_set_new(j, "programs", torch_programs_to_json(c->programs));
    json_object_set_new(j, "proposals", json_integer(c->proposals));
    if (c->moves > 1)
        json_object_set_new(j, "moves", json_integer(c->moves));
    if (c->smoke)
        json_object_set_new(j, "smoke", json_true());
    if (c->whole_files)
        json_object_set_new(j, "whole_files", json_true());
    if (c->torch_at_end)
        json_object_set_new(j, "torch_at_end", json_true());
    json_object_set_new(j, "dialect_strict", json_boolean(c->strict_dialect));
    if (!c->restore)
        json_object_set_new(j, "restore", json_false());
    if (!c->use_memory)
        json_object_set_new(j, "use_memory", json_false());
    if (*c->memory)
        json_object_set_new(j, "memory", json_loads(c->memory, 0, NULL));
    if (c->ndialects_before)
        json_object_set_new(j, "dialects_before", dialects_json(c));
    if (*c->out)
        json_object_set_new(j, "out", json_string(c->out));
    return j;
}

char *run_config_text(const struct run_config *c, struct err *err)
{
    json_t *j = run_config_to_json(c);
    char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;
    json_decref(j);
    if (!text)
        err_set(err, ERR_INPUT, "the texts of a configuration must be UTF-8 (also --from's file)");
    return text;
}

/* ---- reading -------------------------------------------------------------------------------- */

struct reader {
    const json_t *j;
    struct arena *a;
    const char *bad; /* the first key that was wrong */
};

static const char *get_str(struct reader *r, const char *key)
{
    const char *s = json_string_value(json_object_get(r->j, key));
    if (!s && !r->bad)
        r->bad = key;
    return s ? arena_strdup(r->a, s) : "";
}

static int64_t get_int(struct reader *r, const char *key, int64_t lo, int64_t hi)
{
    const json_t *v = json_object_get(r->j, key);
    if (!json_is_integer(v) || json_integer_value(v) < lo || json_integer_value(v) > hi) {
        r->bad = r->bad ? r->bad : key;
        return lo;
    }
    return json_integer_value(v);
}

static double get_real(struct reader *r, const char *key)
{
    const json_t *v = json_object_get(r->j, key);
    if (!json_is_number(v) || !(json_number_value(v) >= 0)) {
        r->bad = r->bad ? r->bad : key;
        return 0;
    }
    return json_number_value(v);
}

static int get_name(struct reader *r, const char *key, const char *const *names, size_t n)
{
    const char *s = get_str(r, key);
    for (size_t i = 0; i < n; i++)
        if (str_eq(s, names[i]))
            return (int)i;
    r->bad = r->bad ? r->bad : key;
    return 0;
}

/* Returns the lessons that the run began with, as JSON text, or "" if there are none. Another
 * program may have written `j`, so memory_checked() checks its form. */
static const char *read_memory(const json_t *j, struct arena *a)
{
    json_t *good = memory_checked(j);
    char *text = good ? json_dumps(good, JSON_COMPACT) : NULL;
    const char *kept = arena_strdup(a, text ? text : "");
    free(text);
    json_decref(good);
    return kept;
}

int run_config_from_json(struct run_config *c, const json_t *j, struct arena *a, struct err *err)
{
    struct reader r = {.j = j, .a = a};
    run_config_init(c);
    c->strategy = get_str(&r, "strategy");
    c->task = get_str(&r, "task");
    c->arch = get_str(&r, "arch");
    c->gpu = get_str(&r, "gpu");
    c->device = get_str(&r, "device");
    c->on = get_str(&r, "on");
    if (json_object_get(j, "task_sha")) /* older runs do not have this key */
        c->task_sha = get_str(&r, "task_sha");
    if (json_object_get(j, "compiler"))
        c->compiler = get_str(&r, "compiler");
    c->dialect = (enum dialect)get_name(&r, "dialect", dialect_names, DIALECTS);
    if (read_dialects(c, j) < 0 && !r.bad)
        r.bad = "dialects_before";
    if (json_object_get(j, "out"))
        c->out = get_str(&r, "out");
    c->profile = (enum profile_mode)get_name(&r, "profile", profile_names, PROFILE_MODES);
    c->context = (enum context_mode)get_name(&r, "context", context_names, CONTEXT_MODES);
    c->select = (enum select_mode)get_name(&r, "select", select_names, SELECT_MODES);
    c->class_prompts = json_is_true(json_object_get(j, "class_prompts"));
    c->anchors = json_is_true(json_object_get(j, "anchors"));
    c->zero_shot = json_is_true(json_object_get(j, "zero_shot"));
    c->rejudge = json_is_true(json_object_get(j, "rejudge"));
    c->baselines = !json_is_false(json_object_get(j, "baselines"));
    if (json_object_get(j, "torch_variants") &&
        torch_variants_parse(get_str(&r, "torch_variants"), &c->torch_variants, NULL) < 0 && !r.bad)
        r.bad = "torch_variants";
    if (torch_programs_from_json(json_object_get(j, "programs"), &c->programs, a, NULL) < 0 &&
        !r.bad)
        r.bad = "programs";
    c->smoke = json_is_true(json_object_get(j, "smoke"));
    c->whole_files = json_is_true(json_object_get(j, "whole_files"));
    c->restore = !json_is_false(json_object_get(j, "restore"));
    c->use_memory = !json_is_false(json_object_get(j, "use_memory"));
    c->memory = read_memory(json_object_get(j, "memory"), a);
    c->torch_at_end = json_is_true(json_object_get(j, "torch_at_end"));
    c->proposals = (uint32_t)json_integer_value(json_object_get(j, "proposals"));
    c->proposals = MIN(MAX(c->proposals, 1), RUN_MAX_PROPOSALS);
    c->moves = (uint32_t)json_integer_value(json_object_get(j, "moves"));
    c->moves = MIN(MAX(c->moves, 1), RUN_MAX_MOVES);
    c->seed = (uint64_t)get_int(&r, "seed", INT64_MIN, INT64_MAX);
    c->steps = (uint32_t)get_int(&r, "steps", 0, 100000);
    c->repairs = (int32_t)get_int(&r, "repairs", 0, 1000);
    c->tries = (uint32_t)get_int(&r, "tries", 0, 1000);
    c->profile_delay = (int32_t)get_int(&r, "profile_delay", -1, 100000);
    c->regress_allow = get_real(&r, "regress_allow");
    c->regress_steps = (uint32_t)get_int(&r, "regress_steps", 0, 1000);
    c->stop_pct = get_real(&r, "stop_pct");
    c->eps = get_real(&r, "eps");
    c->n_root = (uint32_t)get_int(&r, "n_root", 0, 100000);
    c->n_child = (uint32_t)get_int(&r, "n_child", 0, 100000);
    c->leaders = (uint32_t)get_int(&r, "leaders", 0, 1000);
    c->wave = (uint32_t)get_int(&r, "wave", 1, RUN_MAX_WAVE);
    c->from = get_str(&r, "from");
    c->from_name = get_str(&r, "from_name");
    for (int i = 0; i < AUTHOR_ROLES; i++) {
        const char *s =
            json_string_value(json_object_get(json_object_get(j, "authors"), author_role_names[i]));
        c->authors[i] = s ? arena_strdup(a, s) : NULL;
    }
    struct reader b = {.j = json_object_get(j, "budget"), .a = a};
    c->budget.tokens = (uint64_t)get_int(&b, "tokens", 0, INT64_MAX);
    c->budget.usd = get_real(&b, "usd");
    c->budget.wall_ns = (uint64_t)get_int(&b, "wall_ns", 0, INT64_MAX);
    c->budget.steps = (uint64_t)get_int(&b, "steps", 0, INT64_MAX);
    r.bad = r.bad ? r.bad : b.bad;
    if (r.bad)
        return err_set(err, ERR_INPUT, "the run's configuration has a missing or wrong \"%s\"",
                       r.bad);
    return 0;
}
