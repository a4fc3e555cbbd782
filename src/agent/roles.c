/* roles.c - fills the {{slots}} of templates, asks authors and reads their replies (roles.h). */
#include "agent/roles.h"

#include <stdlib.h>
#include <string.h>

#include "agent/excerpt.h"
#include "agent/extract.h"
#include "base/tokens.h"
#include "base/util.h"
#include "prompt/fold.h"
#include "prompt/say.h"
#include "source/dialect.h"

const char *const move_stage_names[4] = {"structure", "movement", "pipelining", "tuning"};

enum {
    MAX_SOURCE = 24000,
    MAX_FEEDBACK = 3000,
    MAX_LEDGER = 1500,
    MAX_CONTEXT = 8000,
    MAX_ADVICE = 2500,
    MAX_MEMORY = 800,
};

/* ---- texts ---------------------------------------------------------------------------------- */

void node_line(const struct agent *a, const struct node *n, struct strbuf *out)
{
    strbuf_addf(out, "- candidate %llu", (unsigned long long)n->index);
    if (n->parent >= 0)
        strbuf_addf(out, " (from %lld)", (long long)n->parent);
    if (n->move[0])
        strbuf_addf(out, ", %s: %s", n->kind, n->move);
    strbuf_adds(out, ". ");
    if (n->judged)
        say_verdict_short(&n->verdict, out);
    strbuf_addc(out, '\n');
}

static void say_idea(const struct agent *a, const struct idea *i, struct strbuf *out)
{
    const struct node *n = a->nodes.items[i->node];
    strbuf_addf(out, "- %s: %s => ", i->kind, i->text[0] ? i->text : "(not said)");
    if (i->node != (int64_t)i->of)
        strbuf_addf(out, "after a repair (%s): ", n->move[0] ? n->move : "not said");
    if (str_eq(i->outcome, "failed") || i->gain <= 0) {
        say_verdict_short(&n->verdict, out);
    } else {
        strbuf_add_time(out, n->verdict.time_ns);
        strbuf_adds(out, "; its parent took ");
        strbuf_add_time(out, i->gain * n->verdict.time_ns);
        if (i->gain < 0.99)
            strbuf_adds(out, " (slower: not kept)");
    }
    strbuf_addc(out, '\n');
}

/* Only sm_90 has WGMMA. */
static bool has_wgmma(const struct agent *a)
{
    return str_starts(a->cfg->arch, "sm_9");
}

static bool has_tma(const struct agent *a)
{
    return str_starts(a->cfg->arch, "sm_") && atoi(a->cfg->arch + 3) >= 90;
}

static bool has_products(const struct agent *a)
{
    switch (a->task->class) {
    case CLASS_GEMM:
    case CLASS_ATTENTION:
    case CLASS_CONV:
    case CLASS_CHAIN:
    case CLASS_NONE: /* unknown, so the task may have products */
        return true;
    default:
        return false;
    }
}

static bool has_tiles(const struct agent *a)
{
    return has_tma(a) && (has_products(a) || a->task->class == CLASS_TRANSPOSE);
}

static bool wants_cute(const struct agent *a)
{
    return run_config_dialect(a->cfg, a->spent.calls).dialect == DIALECT_CUTE;
}

static void say_dialect(const struct agent *a, const struct node *n, struct strbuf *out)
{
    struct strbuf why = STRBUF_INIT(600);
    if (n && n->source[0] && wants_cute(a) && !dialect_is_cute(n->source, strlen(n->source), &why))
        strbuf_addf(out,
                    "This run asks for kernels in CuTe, and this one is not: %s. It counts all "
                    "the same.\n",
                    why.buf);
    strbuf_release(&why);
}

/* ---- slots ---------------------------------------------------------------------------------- */

struct making {
    struct agent *a;
    const char *role;
    const struct situation *s;
    struct strbuf changes;
};

static int add_file(const char *name, struct strbuf *out, struct err *err)
{
    char *text = prompt_file(name, err);
    if (!text)
        return -1;
    strbuf_addf(out, "%s%s", out->len ? "\n" : "", text);
    free(text);
    return 0;
}

static int make_dialect(struct making *m, struct strbuf *out, struct err *err)
{
    const char *name = dialect_names[wants_cute(m->a) ? DIALECT_CUTE : DIALECT_CUDA];
    const struct {
        const char *suffix;
        bool wanted;
    } parts[] = {{"", true},
                 {"_mma", has_products(m->a)},
                 {"_tma", has_tiles(m->a)},
                 {"_wgmma", has_products(m->a) && has_wgmma(m->a)}};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        char file[64];
        snprintf(file, sizeof file, "dialect/%s%s", name, parts[i].suffix);
        if (parts[i].wanted && add_file(file, out, err) < 0)
            return -1;
    }
    return 0;
}

static int make_arch(struct making *m, struct strbuf *out, struct err *err)
{
    const char *machine = has_wgmma(m->a) ? "sm90" : has_tma(m->a) ? "sm100" : "sm80";
    char name[64], products[64];
    snprintf(name, sizeof name, "machine/%s", machine);
    snprintf(products, sizeof products, "machine/%s_mma", machine);
    if (add_file(name, out, err) < 0)
        return -1;
    return has_products(m->a) ? add_file(products, out, err) : 0;
}

static int make_class(struct making *m, struct strbuf *out, struct err *err)
{
    char name[64];
    if (m->a->task->class == CLASS_GEMM)
        snprintf(name, sizeof name, "class/gemm_%s", has_wgmma(m->a) ? "sm90" : "sm80");
    else
        snprintf(name, sizeof name, "class/%s", task_class_name(m->a->task->class));
    return m->a->cfg->class_prompts && prompt_exists(name) ? add_file(name, out, err) : 0;
}

static int make_example(struct making *m, struct strbuf *out, struct err *err)
{
    if (m->a->cfg->zero_shot)
        return 0;
    return add_file(wants_cute(m->a) ? "dialect/example_cute" : "dialect/example_cuda", out, err);
}

static int make_task(struct making *m, struct strbuf *out, struct err *err)
{
    say_task(m->a->task, false, out);
    return 0;
}

static int make_task_timed(struct making *m, struct strbuf *out, struct err *err)
{
    say_task(m->a->task, true, out);
    return 0;
}

static int make_kinds(struct making *m, struct strbuf *out, struct err *err)
{
    reply_kinds(has_products(m->a), has_tiles(m->a), out);
    return 0;
}

static const char *source_of(const struct making *m)
{
    return m->s->node ? m->s->node->source : "";
}

static int make_source(struct making *m, struct strbuf *out, struct err *err)
{
    strbuf_adds(out, source_of(m));
    return 0;
}

static int make_numbered(struct making *m, struct strbuf *out, struct err *err)
{
    number_lines(source_of(m), strlen(source_of(m)), out);
    return 0;
}

static int make_marked(struct making *m, struct strbuf *out, struct err *err)
{
    static const struct anchor_vec none = VEC_INIT;
    struct line_range_vec hidden = VEC_INIT;
    if (m->s->anchors)
        excerpt_find(source_of(m), m->s->anchors, &hidden);
    anchors_mark(source_of(m), m->s->anchors ? m->s->anchors : &none, &hidden, out);
    vec_release(&hidden);
    return 0;
}

/* Makes {{file}}, and fills m->changes for {{changes}}. So in slot_makers, "file" must come before
 * "changes". */
static int make_shown(struct making *m, struct strbuf *out, struct err *err)
{
    const char *text = m->a->cfg->whole_files
                           ? source_of(m)
                           : shown_file_next(&m->a->shown, m->role, source_of(m), &m->changes);
    size_t n = strlen(text);
    strbuf_add(out, text, n && text[n - 1] == '\n' ? n - 1 : n);
    return 0;
}

static int make_changes(struct making *m, struct strbuf *out, struct err *err)
{
    strbuf_adds(out, m->changes.buf);
    return 0;
}

/* Makes {{feedback}}, the verdict of the candidate in words. If the prompt has advice, leaves out
 * the profiler's counters, because whoever gave the advice has read them. */
static int make_feedback(struct making *m, struct strbuf *out, struct err *err)
{
    const struct agent *a = m->a;
    const struct situation *s = m->s;
    bool advised = s->advice && *s->advice;
    if (s->node && s->node->judged)
        say_verdict(&s->node->verdict,
                    &(struct say_verdict){
                        .profile = profile_allowed(a, s->step) && !advised,
                        .best = a->best ? &a->best->verdict : NULL,
                        .parent = s->parent && s->parent->judged ? &s->parent->verdict : NULL,
                        .with_torch = a->with_torch ? &a->with_torch->verdict : NULL,
                        .with_torch_index = a->with_torch ? a->with_torch->index : 0},
                    out);
    say_dialect(a, s->node, out);
    return 0;
}

static int make_ledger(struct making *m, struct strbuf *out, struct err *err)
{
    vec_each (struct idea, i, &m->a->ideas)
        say_idea(m->a, i, out);
    return 0;
}

static int make_memory(struct making *m, struct strbuf *out, struct err *err)
{
    const json_t *lines = json_object_get(m->a->memory, "lines");
    for (size_t i = 0; i < json_array_size(lines); i++)
        strbuf_addf(out, "- %s\n", json_string_value(json_array_get(lines, i)));
    return 0;
}

static int make_stage(struct making *m, struct strbuf *out, struct err *err)
{
    char file[64];
    snprintf(file, sizeof file, "stage/%s", m->s->stage ? m->s->stage : "structure");
    return add_file(file, out, err);
}

/* The planner's advice contains anchors, which name the lines to change. If the prompt marks these
 * lines in the file, we leave the anchors out of the advice. */
static int make_advice(struct making *m, struct strbuf *out, struct err *err)
{
    const char *text = m->s->advice ? m->s->advice : "";
    if (m->s->anchors)
        anchors_strip(text, out);
    else
        strbuf_adds(out, text);
    return 0;
}

static int make_context(struct making *m, struct strbuf *out, struct err *err)
{
    strbuf_adds(out, m->s->context ? m->s->context : "");
    return 0;
}

static int make_earlier(struct making *m, struct strbuf *out, struct err *err)
{
    strbuf_adds(out, m->s->earlier ? m->s->earlier : "");
    return 0;
}

static int make_given(struct making *m, struct strbuf *out, struct err *err)
{
    strbuf_adds(out, m->s->given ? m->s->given : "");
    return 0;
}

static int make_moves(struct making *m, struct strbuf *out, struct err *err)
{
    strbuf_addf(out, "%u", m->a->cfg->moves);
    return 0;
}

static const struct slot_maker {
    const char *name;
    int (*make)(struct making *m, struct strbuf *out, struct err *err);
    uint32_t max_tokens;
} slot_makers[] = {
    {"dialect", make_dialect, 0},
    {"arch", make_arch, 0},
    {"class", make_class, 0},
    {"example", make_example, 0},
    {"task", make_task, 0},
    {"task_timed", make_task_timed, 0},
    {"kinds", make_kinds, 0},
    {"source", make_source, MAX_SOURCE},
    {"numbered", make_numbered, MAX_SOURCE},
    {"marked", make_marked, MAX_SOURCE},
    {"file", make_shown, MAX_SOURCE},
    {"changes", make_changes, MAX_SOURCE},
    {"feedback", make_feedback, MAX_FEEDBACK},
    {"ledger", make_ledger, MAX_LEDGER},
    {"memory", make_memory, MAX_MEMORY},
    {"stage", make_stage, 0},
    {"advice", make_advice, MAX_ADVICE},
    {"context", make_context, MAX_CONTEXT},
    {"earlier", make_earlier, MAX_ADVICE},
    {"given", make_given, MAX_SOURCE},
    {"moves", make_moves, 0},
};

/* Makes only the slots that the template names: prompt_render() refuses others. */
static int make_prompt(struct agent *a, struct prompt *p, const char *role, const char *template,
                       const struct situation *s, struct err *err)
{
    struct prompt_slot slots[ARRAY_LEN(slot_makers)];
    struct strbuf text[ARRAY_LEN(slot_makers)];
    struct making m = {.a = a, .role = role, .s = s, .changes = STRBUF_INIT(4u << 20)};
    size_t n = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(slot_makers); i++) {
        const struct slot_maker *k = &slot_makers[i];
        bool named;
        rc = prompt_has_slot(template, k->name, &named, err);
        if (rc < 0 || !named)
            continue;
        strbuf_init(&text[n], 4u << 20);
        rc = k->make(&m, &text[n], err);
        slots[n] = (struct prompt_slot){k->name, text[n].buf, k->max_tokens};
        n++;
    }
    if (rc == 0)
        rc = prompt_render(p, template, slots, n, err);
    for (size_t i = 0; i < n; i++)
        strbuf_release(&text[i]);
    strbuf_release(&m.changes);
    return rc;
}

/* ---- facts ---------------------------------------------------------------------------------- */

static json_t *node_facts(struct agent *a, const struct node *n, uint32_t step, bool source)
{
    struct say_verdict o = {.profile = profile_allowed(a, step)};
    json_t *j = json_pack("{s:I, s:I, s:s, s:s, s:s, s:s}", "index", (json_int_t)n->index, "parent",
                          (json_int_t)n->parent, "role", n->role, "stage", n->stage, "kind",
                          n->kind, "move", n->move);
    if (j && source)
        json_object_set_new(j, "source", json_string(n->source));
    if (j && n->judged)
        json_object_set_new(j, "verdict", say_verdict_json(&n->verdict, &o));
    return j;
}

static json_t *make_facts(struct agent *a, const char *role, const struct situation *s)
{
    json_t *j = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:i, s:o}", "role", role, "arch", a->cfg->arch, "gpu",
        a->cfg->gpu, "dialect", dialect_names[run_config_dialect(a->cfg, a->spent.calls).dialect],
        "stage", s->stage ? s->stage : "", "step", (int)s->step, "task", say_task_json(a->task));
    if (!j)
        return NULL;
    json_object_set_new(j, "seed", json_integer((json_int_t)a->cfg->seed));
    if (s->blind)
        return j;
    if (json_object_get(a->memory, "points"))
        json_object_set(j, "memory", json_object_get(a->memory, "points"));
    if (s->node)
        json_object_set_new(j, "node", node_facts(a, s->node, s->step, true));
    if (a->best)
        json_object_set_new(j, "best", node_facts(a, a->best, s->step, true));
    if (s->advice)
        json_object_set_new(j, "advice", json_string(s->advice));
    json_t *tried = json_array();
    vec_each (struct node *, n, &a->nodes)
        json_array_append_new(tried, node_facts(a, *n, s->step, str_eq((*n)->role, "given")));
    json_object_set_new(j, "tried", tried);
    return j;
}

/* ---- asking --------------------------------------------------------------------------------- */

int role_ask(struct agent *a, struct ask *q, enum author_role author, const char *role,
             const char *template, const struct situation *s, double temperature, struct err *err)
{
    memset(q, 0, sizeof *q);
    q->author = author;
    q->role = role;
    q->temperature = temperature;
    int rc = make_prompt(a, &q->prompt, role, template, s, err);
    if (rc == 0)
        q->facts = make_facts(a, role, s);
    return rc;
}

int role_write(struct agent *a, struct writing *w, enum author_role author, const char *role,
               const char *template, const struct situation *s, struct node *parent,
               double temperature, struct err *err)
{
    memset(w, 0, sizeof *w);
    w->parent = parent;
    w->anchors = s->anchors;
    int rc = role_ask(a, &w->ask, author, role, template, s, temperature, err);
    w->ask.parent = parent ? parent->source : NULL;
    return rc;
}

void writing_release(struct writing *w)
{
    ask_release(&w->ask);
    free(w->source);
    w->source = NULL;
}

static void refuse(struct writing *w, enum verdict_kind kind, const char *detector,
                   const char *reason)
{
    w->refusal = kind;
    w->detector = detector;
    snprintf(w->reason, sizeof w->reason, "%s", reason);
}

static const struct node *judged_before(const struct agent *a, const char *source)
{
    vec_each (struct node *, n, &a->nodes)
        if ((*n)->judged && str_eq((*n)->source, source))
            return *n;
    return NULL;
}

static void refuse_repeated(struct writing *w, const struct node *twin)
{
    struct strbuf sb = STRBUF_INIT(600);
    strbuf_addf(&sb, "this is the file of candidate %llu again, unchanged, and it was judged: ",
                (unsigned long long)twin->index);
    say_verdict_short(&twin->verdict, &sb);
    refuse(w, V_NO_CODE, "repeated", sb.buf);
    strbuf_release(&sb);
}

static void read_move(struct agent *a, struct writing *w, const char *reply)
{
    struct extract x;
    const struct node *twin;
    struct dialect_rule rule = run_config_dialect(a->cfg, a->spent.calls);
    struct strbuf why = STRBUF_INIT(600);
    if (!w->kind[0])
        snprintf(w->kind, sizeof w->kind, "other");
    struct line_range_vec hidden = VEC_INIT;
    if (w->anchors && w->parent)
        excerpt_find(w->parent->source, w->anchors, &hidden);
    extract_partial(&x, reply, strlen(reply), w->parent ? w->parent->source : NULL, &hidden);
    vec_release(&hidden);
    if (x.move[0]) /* else w->move stays as the planner named it */
        memcpy(w->move, x.move, sizeof w->move);
    if (!str_eq(x.kind, "other"))
        memcpy(w->kind, x.kind, sizeof w->kind);
    if (!x.ok)
        refuse(w, V_NO_CODE, "extract", x.reason);
    else if (rule.strict && rule.dialect == DIALECT_CUTE && !w->any_dialect &&
             !dialect_is_cute(x.source.buf, x.source.len, &why))
        refuse(w, V_REJECTED, "dialect", why.buf);
    else if (w->anchors && w->parent &&
             !anchors_check(w->parent->source, x.source.buf, w->anchors, &why))
        refuse(w, V_REJECTED, "anchors", why.buf);
    else if (w->parent && (twin = judged_before(a, x.source.buf)))
        refuse_repeated(w, twin);
    else
        w->source = strbuf_detach(&x.source, NULL);
    strbuf_release(&why);
    extract_release(&x);
}

/* Returns move i of the reply. Returns NULL if the reply has fewer moves, or if the prompt asked
 * for fewer. */
static char *move_text(const struct writing *w, size_t i)
{
    return i < w->moves ? reply_move(w->ask.reply, i) : NULL;
}

/* Sets w->source to the candidate in the reply, or refuses the reply. If the prompt asked for
 * several moves, takes the first one that can be used. */
static void read_reply(struct agent *a, struct writing *w)
{
    char *text;
    if (!w->ask.ok)
        refuse(w, V_NO_CODE, "reply", w->ask.error);
    else if (w->moves < 2)
        read_move(a, w, w->ask.reply);
    for (size_t i = 0; w->ask.ok && w->moves > 1 && !w->source && (text = move_text(w, i)); i++) {
        read_move(a, w, text);
        free(text);
    }
}

static void watch_refusal(const struct agent *a, const struct writing *w, bool again)
{
    if (!w->source && a->in.watch.refused)
        a->in.watch.refused(a->in.watch.ctx, a, w->ask.role, w->ask.index, w->reason, again);
}

static void copy_prompt(const struct prompt *from, struct prompt *to)
{
    strbuf_init(&to->stable, PROMPT_MAX_BYTES);
    strbuf_init(&to->turn, PROMPT_MAX_BYTES);
    strbuf_adds(&to->stable, from->stable.buf);
    strbuf_adds(&to->turn, from->turn.buf);
}

/* Fills `again` with the same prompt, and appends the refused reply and the reason. */
static int ask_again(struct agent *a, struct writing *w, struct ask *again, struct err *err)
{
    struct prompt p;
    struct strbuf reply = STRBUF_INIT(256 << 10);
    const char *old = w->ask.reply ? w->ask.reply : "";
    fold_text(old, strlen(old), 6000, &reply);
    const struct prompt_slot slots[] = {{"reply", reply.buf, 0}, {"reason", w->reason, 0}};
    memset(again, 0, sizeof *again);
    if (prompt_render(&p, "reask", slots, 2, err) < 0) {
        strbuf_release(&reply);
        return -1;
    }
    *again = (struct ask){.author = w->ask.author,
                          .role = w->ask.role,
                          .temperature = w->ask.temperature,
                          .facts = json_incref(w->ask.facts)};
    copy_prompt(&w->ask.prompt, &again->prompt);
    strbuf_addf(&again->prompt.turn, "\n%s", p.turn.buf);
    prompt_release(&p);
    strbuf_release(&reply);
    return 0;
}

/* Asks for n replies. If a reply cannot be used, asks for it once more. */
static int writings_ask(struct agent *a, struct writing *w, size_t n, struct err *err)
{
    struct ask *asks = xcalloc(n, sizeof *asks);
    size_t *which = xcalloc(n, sizeof *which), again = 0;
    for (size_t i = 0; i < n; i++)
        asks[i] = w[i].ask;
    int rc = agent_ask(a, asks, n, err);
    for (size_t i = 0; i < n; i++) {
        w[i].ask = asks[i];
        if (rc == 0)
            read_reply(a, &w[i]);
    }
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (w[i].source)
            continue;
        if (str_starts(w[i].ask.reply,
                       /* only the built-in author writes this */
                       "STOP: ")) {
            const char *why = w[i].ask.reply + 6;
            rc = agent_stop(a, "the author has nothing left to try: %.*s",
                            (int)MIN(strcspn(why, "\n"), AGENT_STOP_MAX), why);
            break;
        }
        rc = agent_note(a, "refused", err, "%s %llu: %s", w[i].ask.role,
                        (unsigned long long)w[i].ask.index, w[i].reason);
        watch_refusal(a, &w[i], true);
        if (rc == 0 && (rc = ask_again(a, &w[i], &asks[again], err)) == 0)
            which[again++] = i;
    }
    if (rc == 0 && again)
        rc = agent_ask(a, asks, again, err);
    for (size_t k = 0; k < again; k++) {
        struct writing *x = &w[which[k]];
        ask_release(&x->ask);
        x->ask = asks[k];
        if (rc == 0)
            read_reply(a, x);
    }
    free(asks);
    free(which);
    return rc;
}

static int writing_choose(struct agent *a, struct writing *w, struct err *err)
{
    uint32_t n = a->cfg->proposals, good = 0, pick = 0;
    struct writing *all = xcalloc(n, sizeof *all);
    struct ask *asks = xcalloc(n, sizeof *asks);
    const char **sources = xcalloc(n, sizeof *sources);
    uint32_t *which = xcalloc(n, sizeof *which);
    double *ns = xcalloc(n, sizeof *ns);
    for (uint32_t i = 1; i < n; i++) {
        const struct ask *q = &w->ask;
        all[i] = *w;
        all[i].ask = (struct ask){.author = q->author, .role = q->role, .temperature = 1};
        copy_prompt(&q->prompt, &all[i].ask.prompt);
        all[i].ask.facts = json_deep_copy(q->facts);
        json_object_set_new(all[i].ask.facts, "proposal", json_integer(i));
        asks[i] = all[i].ask;
    }
    /* Asks for the first proposal alone. If the author replies STOP, it has nothing left to try. */
    int rc = writings_ask(a, w, 1, err);
    all[0] = *w;
    if (rc == 0 && n > 1)
        rc = agent_ask(a, asks + 1, n - 1, err);
    for (uint32_t i = 0; i < n; i++) {
        if (i) {
            all[i].ask = asks[i];
            if (rc == 0)
                read_reply(a, &all[i]);
        }
        if (rc == 0 && all[i].source) {
            which[good] = i;
            sources[good++] = all[i].source;
        }
    }
    if (rc == 0 && good > 1)
        rc = agent_estimate(a, sources, good, ns, err);
    for (uint32_t k = 0; k < good; k++)
        if (ns[k] > 0 && (ns[pick] <= 0 || ns[k] < ns[pick]))
            pick = k;
    pick = good ? which[pick] : 0;
    *w = all[pick];
    for (uint32_t i = 0; i < n; i++)
        if (i != pick)
            writing_release(&all[i]);
    free(all);
    free(asks);
    free(sources);
    free(which);
    free(ns);
    return rc;
}

static int writings_judge(struct agent *a, const struct writing *w, size_t n, const char *stage,
                          struct node **out, struct err *err)
{
    struct node **judged = xcalloc(n, sizeof *judged);
    size_t nj = 0;
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        out[i] = agent_grow(a, w[i].parent, w[i].source ? w[i].source : "", w[i].ask.role, stage,
                            w[i].kind, w[i].move);
        out[i]->author = xstrdup(w[i].ask.by ? w[i].ask.by : "");
        if (w[i].source)
            judged[nj++] = out[i];
        else
            rc = agent_refuse(a, out[i], w[i].refusal, w[i].detector, w[i].reason, err);
    }
    if (rc == 0 && nj)
        rc = agent_judge(a, judged, nj, err);
    free(judged);
    return rc;
}

int writings_try(struct agent *a, struct writing *w, size_t n, const char *stage, struct node **out,
                 struct err *err)
{
    int rc = n == 1 && w->propose && a->cfg->proposals > 1 ? writing_choose(a, w, err)
                                                           : writings_ask(a, w, n, err);
    return rc ? rc : writings_judge(a, w, n, stage, out, err);
}

static void refuse_twin(struct writing *w, const struct writing *others, size_t n)
{
    for (size_t i = 0; w->source && i < n; i++)
        if (str_eq(w->source, others[i].source)) {
            refuse(w, V_NO_CODE, "repeated", "two moves of the reply make the same file");
            free(w->source);
            w->source = NULL;
        }
}

int moves_try(struct agent *a, struct writing *w, const char *stage, struct node **out, size_t *n,
              struct err *err)
{
    struct writing all[RUN_MAX_MOVES];
    char *text;
    size_t used = 0;
    w->moves = a->cfg->moves;
    int rc = writings_ask(a, w, 1, err);
    for (size_t i = 0; rc == 0 && w->source && (text = move_text(w, i)); i++) {
        struct writing *x = &all[used];
        *x = (struct writing){.ask = {.role = w->ask.role, .index = w->ask.index},
                              .parent = w->parent,
                              .anchors = w->anchors,
                              .any_dialect = w->any_dialect};
        x->ask.by = w->ask.by ? xstrdup(w->ask.by) : NULL;
        read_move(a, x, text);
        refuse_twin(x, all, used);
        used += x->source != NULL;
        if (!x->source) {
            rc = agent_note(a, "refused", err, "%s %llu, move %zu: %s", x->ask.role,
                            (unsigned long long)x->ask.index, i + 1, x->reason);
            watch_refusal(a, x, false);
            writing_release(x);
        }
        free(text);
    }
    *n = MAX(used, 1);
    if (rc == 0)
        rc = writings_judge(a, used ? all : w, *n, stage, out, err);
    for (size_t i = 0; i < used; i++)
        writing_release(&all[i]);
    return rc;
}
