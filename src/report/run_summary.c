/* run_summary.c - loads and prints the numbers of a run. See run_summary.h. */
#include "report/run_summary.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "source/settings.h"
#include "sys/json.h"

static bool passed(const struct node_rec *n)
{
    return str_eq(n->kind, "pass");
}

static bool is_repair(const struct node_rec *n)
{
    return str_eq(n->role, "repair") || str_eq(n->role, "debug");
}

size_t run_summary_position(const struct run_summary *m, int64_t index)
{
    size_t lo = 0, hi = m->nodes.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if ((int64_t)m->nodes.items[mid].index < index)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < m->nodes.n && (int64_t)m->nodes.items[lo].index == index ? lo : m->nodes.n;
}

const struct node_rec *run_summary_candidate(const struct run_summary *m, const char *which,
                                             struct err *err)
{
    char *end = NULL;
    errno = 0;
    int64_t index = str_eq(which, "best") ? m->run.best : strtoll(which, &end, 10);
    bool number = !end || (isdigit((unsigned char)*which) && !*end && !errno);
    size_t at = number && index >= 0 ? run_summary_position(m, index) : m->nodes.n;
    if (at < m->nodes.n)
        return &m->nodes.items[at];
    if (end && (end == which || *end))
        err_set(err, ERR_USAGE, "a candidate must be a number, or best, and not '%s'", which);
    else
        err_set(err, ERR_INPUT, "run %s has no candidate '%s' (it has %u, of which %u pass)",
                m->run.name, which, m->judged, m->passes);
    return NULL;
}

int run_summary_verdict(const struct run_summary *m, struct store *s, const struct node_rec *n,
                        bool confirmation, struct verdict *out, struct err *err)
{
    struct strbuf text = STRBUF_INIT(16u << 20);
    struct arena mem = ARENA_INIT;
    struct verdict_rec v;
    json_t *j = NULL;
    int64_t index = confirmation ? (int64_t)(STORE_CONFIRM + n->index) : n->verdict;
    int rc = index < 0 ? 0 : store_verdict_get(s, m->run.id, (uint64_t)index, &v, &mem, err);
    if (rc == 1 && (store_blob_get(s, v.json_sha, &text, err) < 0 ||
                    !(j = json_read_text(text.buf, text.len, "verdict", NULL, err)) ||
                    verdict_from_json(out, j, err) < 0))
        rc = -1;
    if (rc < 0)
        err_prefix(err, "run %s, the verdict of candidate %llu", m->run.name,
                   (unsigned long long)n->index);
    json_decref(j);
    strbuf_release(&text);
    arena_release(&mem);
    return rc;
}

/* Is this the user's file, perhaps with other settings? */
static bool is_of_file(const struct node_rec *n)
{
    return str_eq(n->role, "given") || strstr(n->move, "[settings ");
}

/* Did the built-in author write the kernel from a template? */
static bool is_of_template(const struct node_rec *n)
{
    return str_starts(n->author, "playbook") && !is_of_file(n);
}

/* Marks each node that a repair, or several repairs in a row, turned into a node that passes. Goes
 * backwards, because children come after parents. If a kernel from a template follows the user's
 * file, it replaces the file and does not repair it. The caller frees the marks. */
static bool *mark_repaired(const struct run_summary *m)
{
    bool *repaired = xcalloc(m->nodes.n ? m->nodes.n : 1, sizeof *repaired);
    for (size_t i = m->nodes.n; i-- > 0;) {
        const struct node_rec *n = &m->nodes.items[i];
        size_t parent = n->parent >= 0 ? run_summary_position(m, n->parent) : m->nodes.n;
        bool replaces = parent < i && is_of_file(&m->nodes.items[parent]) && is_of_template(n);
        if (parent < i && is_repair(n) && !replaces && (passed(n) || repaired[i]))
            repaired[parent] = true;
    }
    return repaired;
}

static void count_nodes(struct run_summary *m)
{
    bool *repaired = mark_repaired(m);
    vec_each (struct node_rec, n, &m->nodes) {
        m->judged++;
        if (str_eq(n->kind, "no_code") || str_eq(n->kind, "rejected"))
            m->refused++;
        if (passed(n)) {
            m->passes++;
            if (!m->first_pass)
                m->first_pass = n;
            if ((int64_t)n->index == m->run.best)
                m->best = n;
            m->regressions += str_eq(n->fate, "regression") || str_eq(n->fate, "on trial");
            continue;
        }
        m->failures++;
        if (!is_repair(n)) {
            m->failures_entered++;
            m->failures_repaired += repaired[n - m->nodes.items];
        }
    }
    free(repaired);
}

/* Returns the time of the fastest passing kernel among the first i nodes; 0 if none passed. */
static double best_before(const struct run_summary *m, size_t i)
{
    double best = 0;
    for (size_t k = 0; k < i; k++) {
        const struct node_rec *n = &m->nodes.items[k];
        if (passed(n) && n->time_ns > 0 && (best == 0 || n->time_ns < best))
            best = n->time_ns;
    }
    return best;
}

/* Times closer than this factor count as equal, as in agent/run.c. */
static const double SAME_TIME = 1.01;

/* Did the idea make a kernel faster than all earlier ones? A strategy may build on a slower kernel
 * for a while. To beat only that kernel is no gain. */
static bool is_gain(const struct run_summary *m, const struct idea_rec *i)
{
    size_t at = i->node >= 0 ? run_summary_position(m, i->node) : m->nodes.n;
    double best = at < m->nodes.n ? best_before(m, at) : 0;
    return str_eq(i->outcome, "gain") &&
           (best == 0 || m->nodes.items[at].time_ns * SAME_TIME < best);
}

static void count_moves(struct run_summary *m)
{
    vec_each (struct idea_rec, i, &m->ideas) {
        struct move_gain *g = NULL;
        for (size_t k = 0; k < m->moves.n; k++)
            if (str_eq(m->moves.items[k].kind, i->kind))
                g = &m->moves.items[k];
        if (!g) {
            g = vec_push(&m->moves);
            snprintf(g->kind, sizeof g->kind, "%s", i->kind);
        }
        g->tried++;
        g->failed += str_eq(i->outcome, "failed");
        g->gained += is_gain(m, i);
        if (i->gain > 0)
            g->geomean += log(i->gain);
    }
    for (size_t k = 0; k < m->moves.n; k++) {
        struct move_gain *g = &m->moves.items[k];
        unsigned n = 0;
        vec_each (struct idea_rec, i, &m->ideas)
            n += i->gain > 0 && str_eq(i->kind, g->kind);
        g->geomean = n ? exp(g->geomean / n) : 0;
    }
}

bool author_price_is_unknown(const char *author)
{
    return strstr(author, "mailbox:") || strstr(author, "exec:");
}

bool run_summary_price_is_unknown(const struct call_rec *c)
{
    return c->ended && (c->usd < 0 || author_price_is_unknown(c->author));
}

static void count_calls(struct run_summary *m)
{
    vec_each (struct call_rec, c, &m->calls) {
        m->in_tokens += c->in_tokens;
        m->cached_tokens += c->cached_tokens;
        m->out_tokens += c->out_tokens;
        m->requests += c->requests;
        m->estimated |= c->estimated;
        m->drift += c->drift;
        if (run_summary_price_is_unknown(c))
            m->usd_unknown = true;
        else if (c->usd > 0)
            m->usd += c->usd;
    }
}

/* Replaces the label "[settings ...]" at the end of the move by the values of the settings. So
 * "kUnroll 2 -> 4 [settings 1.2]" becomes "kUnroll 2 -> 4 [kThreads=256 kUnroll=4]". */
static const char *move_with_values(struct run_summary *m, struct store *s,
                                    const struct node_rec *n)
{
    const char *label = strstr(n->move, "[settings "), *out = n->move;
    struct strbuf source = STRBUF_INIT(16u << 20), text = STRBUF_INIT(2048);
    struct source_setting set[SETTING_MAX];
    if (label && store_blob_get(s, n->source_sha, &source, NULL) == 0) {
        size_t k = source_settings(source.buf, source.len, set);
        strbuf_addf(&text, "%.*s[", (int)(label - n->move), n->move);
        for (size_t i = 0; i < k; i++)
            strbuf_addf(&text, "%s%s=%lld", i ? " " : "", set[i].name,
                        (long long)set[i].values[set[i].at]);
        strbuf_addc(&text, ']');
        out = k ? arena_strdup(&m->arena, text.buf) : out;
    }
    strbuf_release(&source);
    strbuf_release(&text);
    return out;
}

const char *run_summary_move(const struct run_summary *m, const struct node_rec *n)
{
    return m->moves_shown.items[n - m->nodes.items];
}

static int find_given(struct run_summary *m, struct store *s, const json_t *config, struct err *err)
{
    const char *name = json_string_value(json_object_get(config, "from_name"));
    vec_each (struct node_rec, n, &m->nodes)
        if (name && *name && str_eq(n->role, "given") && str_eq(n->stage, "first"))
            m->given = n;
    m->given_name = arena_strdup(&m->arena, m->given ? name : "");
    m->given_summary = "";
    struct verdict v;
    int rc = m->given ? run_summary_verdict(m, s, m->given, false, &v, err) : 0;
    if (rc == 1) {
        verdict_name_file(&v, name);
        m->given_summary = arena_strdup(&m->arena, v.summary);
        verdict_release(&v);
    }
    return MIN(rc, 0);
}

int run_summary_load(struct run_summary *m, struct store *s, const char *which, struct err *err)
{
    memset(m, 0, sizeof *m);
    if (store_run_find(s, which, &m->run, &m->arena, err) < 0 ||
        store_node_list(s, m->run.id, &m->nodes, &m->arena, err) < 0 ||
        store_idea_list(s, m->run.id, &m->ideas, &m->arena, err) < 0 ||
        store_call_list(s, m->run.id, &m->calls, &m->arena, err) < 0 ||
        store_event_list(s, m->run.id, &m->events, &m->arena, err) < 0) {
        run_summary_release(m);
        return -1;
    }
    m->run.state = store_run_state(s, &m->run);
    vec_each (struct node_rec, n, &m->nodes)
        *vec_push(&m->moves_shown) = move_with_values(m, s, n);
    count_nodes(m);
    count_moves(m);
    count_calls(m);
    json_t *config = json_read_text(m->run.config, strlen(m->run.config), "config", NULL, NULL);
    const char *sha = json_string_value(json_object_get(config, "task_sha"));
    m->task_sha = arena_strdup(&m->arena, sha ? sha : "");
    m->speedup_over = "";
    int rc = find_given(m, s, config, err);
    json_decref(config);
    if (rc < 0 || against_baselines_load(m, s, err) < 0) {
        run_summary_release(m);
        return -1;
    }
    return 0;
}

void run_summary_release(struct run_summary *m)
{
    vec_release(&m->nodes);
    vec_release(&m->moves_shown);
    vec_release(&m->ideas);
    vec_release(&m->calls);
    vec_release(&m->events);
    vec_release(&m->moves);
    vec_release(&m->no_ratio);
    vec_release(&m->warnings);
    vec_release(&m->unconfirmed);
    if (m->has_with_torch)
        verdict_release(&m->with_torch);
    arena_release(&m->arena);
}

void print_time(double ns, bool is_model, struct strbuf *out)
{
    if (ns <= 0)
        strbuf_addc(out, '-');
    else
        strbuf_add_time(out, ns);
    if (ns > 0 && is_model)
        strbuf_adds(out, " (model)");
}

void print_verdict_time(const struct verdict_time *t, struct strbuf *out)
{
    bool error = t->is_model && t->median_ns > 0 && t->hi_ns > t->lo_ns;
    print_time(t->median_ns, t->is_model && !error, out);
    if (error)
        strbuf_addf(out, " (model, x%.2f..x%.2f)", t->lo_ns / t->median_ns,
                    t->hi_ns / t->median_ns);
}

static const char *best_beside_given(const struct run_summary *m)
{
    if (!m->best)
        return "no kernel passed";
    if (m->best == m->given)
        return "it is the best kernel";
    if (is_of_template(m->best))
        return "the best kernel is from a template, not from this file";
    return is_of_file(m->best) ? "the best kernel is this file with other settings"
                               : "the best kernel was written later";
}

static void print_given(const struct run_summary *m, struct strbuf *out)
{
    const struct node_rec *g = m->given;
    strbuf_addf(out, "  your file %s (candidate %llu): %s", m->given_name,
                (unsigned long long)g->index, g->kind);
    if (passed(g) && g->time_ns > 0) {
        strbuf_adds(out, ", ");
        print_time(g->time_ns, g->is_model, out);
    } else if (!passed(g))
        strbuf_addf(out, ": %.*s", (int)MIN(strcspn(m->given_summary, ";\n"), (size_t)200),
                    m->given_summary);
    strbuf_addf(out, "; %s\n", best_beside_given(m));
}

static void print_warnings(const struct run_summary *m, struct strbuf *out)
{
    enum { SHOWN = 4, WIDTH = 300 };
    for (size_t i = 0; i < MIN(m->warnings.n, SHOWN); i++) {
        const char *w = m->warnings.items[i];
        size_t cut = MIN(strcspn(w, "\n"), WIDTH);
        while (cut && (w[cut] & 0xc0) == 0x80) /* inside a character */
            cut--;
        strbuf_addf(out, "  warning: %.*s%s\n", (int)cut, w, w[cut] ? " ..." : "");
    }
    if (m->warnings.n > SHOWN)
        strbuf_addf(out, "  and %zu more: hone show %s best --verdict\n", m->warnings.n - SHOWN,
                    m->run.name);
}

void run_summary_print(const struct run_summary *m, struct strbuf *out)
{
    strbuf_addf(out, "%s: %s on %s, %s%s%s\n", m->run.name, m->run.strategy, m->run.task,
                m->run.state, *m->run.reason ? ": " : "", m->run.reason);
    strbuf_addf(out, "  written by %s, %.0f s\n", m->run.written_by, (double)m->run.wall_ns / 1e9);
    strbuf_addf(
        out,
        "  %u candidate%s: %u pass, %u fail (%u rejected or without code); %u of %u failures "
        "repaired; %u no faster\n",
        m->judged, m->judged == 1 ? "" : "s", m->passes, m->failures, m->refused,
        m->failures_repaired, m->failures_entered, m->regressions);
    if (m->given)
        print_given(m, out);
    if (m->best) {
        strbuf_adds(out, "  best: ");
        if (m->best->time_ns > 0)
            print_time(m->best->time_ns, m->best->is_model, out);
        else
            strbuf_adds(out, "right, not timed");
        if (m->timed_shapes > 1)
            strbuf_addf(out, ", geometric mean of %u shapes", m->timed_shapes);
        if (m->best->speedup > 0)
            strbuf_addf(out, ", %.2fx %s", m->best->speedup,
                        *m->speedup_over ? m->speedup_over : "the first baseline");
        if (m->best->roofline_pct > 0)
            strbuf_addf(out, ", %.0f%% of the roofline", m->best->roofline_pct);
        strbuf_addf(out, " (candidate %llu)\n", (unsigned long long)m->best->index);
        if (m->first_pass && m->first_pass->time_ns > 0 && m->first_pass != m->best) {
            strbuf_adds(out, "  the first kernel that passed took ");
            print_time(m->first_pass->time_ns, m->first_pass->is_model, out);
            strbuf_addf(out, " (candidate %llu)\n", (unsigned long long)m->first_pass->index);
        }
        if (m->best->speedup > 0 && m->best->speedup < 0.995 && str_eq(m->speedup_over, "naive"))
            strbuf_adds(out, "  the best kernel is slower than the task's simple kernel (naive)\n");
        vec_each (struct verdict_baseline, b, &m->no_ratio)
            strbuf_addf(out, "  baseline %s is %s: %.300s; it gives no ratio\n", b->who, b->state,
                        b->text);
        print_warnings(m, out);
    }
    vec_each (struct unconfirmed, u, &m->unconfirmed)
        strbuf_addf(out,
                    "  NOT CONFIRMED: candidate %llu passed, but failed when it was evaluated "
                    "again: %s: %.200s\n",
                    (unsigned long long)u->node->index, u->kind, u->summary);
    for (size_t i = 0; i < m->moves.n; i++) {
        const struct move_gain *g = &m->moves.items[i];
        strbuf_addf(out, "  %-12s tried %u, gained %u, failed %u\n", g->kind, g->tried, g->gained,
                    g->failed);
    }
    strbuf_addf(out, "  %zu call%s, %llu tokens in (%llu cached), %llu out%s, ", m->calls.n,
                m->calls.n == 1 ? "" : "s", (unsigned long long)m->in_tokens,
                (unsigned long long)m->cached_tokens, (unsigned long long)m->out_tokens,
                m->estimated ? " (some estimated)" : "");
    if (m->usd_unknown && m->usd <= 0)
        strbuf_adds(out, "cost unknown\n");
    else if (m->usd_unknown)
        strbuf_addf(out, "$%.2f and calls without a known price\n", m->usd);
    else
        strbuf_addf(out, "$%.2f\n", m->usd);
    if (m->drift)
        strbuf_addf(out, "  %u prompts differ from the recording's (drift)\n", m->drift);
}

json_t *run_summary_json(const struct run_summary *m)
{
    json_t *moves = json_array(), *nodes = json_array();
    for (size_t i = 0; i < m->moves.n; i++) {
        const struct move_gain *g = &m->moves.items[i];
        json_array_append_new(moves,
                              json_pack("{s:o, s:i, s:i, s:i, s:f}", "kind", json_text(g->kind),
                                        "tried", (int)g->tried, "gained", (int)g->gained, "failed",
                                        (int)g->failed, "gain", g->geomean));
    }
    vec_each (struct node_rec, n, &m->nodes)
        json_array_append_new(
            nodes,
            json_pack("{s:I, s:I, s:s, s:o, s:s, s:o, s:s, s:o, s:f, s:f, s:f, s:b}", "index",
                      (json_int_t)n->index, "parent", (json_int_t)n->parent, "role", n->role,
                      "author", json_text(n->author), "stage", n->stage, "move", json_text(n->move),
                      "kind", n->kind, "fate", json_text(n->fate), "time_ns", n->time_ns, "speedup",
                      n->speedup, "roofline_pct", n->roofline_pct, "model", n->is_model));
    json_t *j = json_pack(
        "{s:s, s:o, s:s, s:s, s:o, s:o, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "run", m->run.name,
        "task", json_text(m->run.task), "strategy", m->run.strategy, "state", m->run.state,
        "reason", json_text(m->run.reason), "author", json_text(m->run.written_by), "candidates",
        (int)m->judged, "passes", (int)m->passes, "failures", (int)m->failures, "refused",
        (int)m->refused, "failures_entered", (int)m->failures_entered, "failures_repaired",
        (int)m->failures_repaired, "regressions", (int)m->regressions);
    json_t *more = json_pack(
        "{s:I, s:I, s:I, s:b, s:f, s:b, s:f, s:I, s:o, s:o, s:i}", "in_tokens",
        (json_int_t)m->in_tokens, "cached_tokens", (json_int_t)m->cached_tokens, "out_tokens",
        (json_int_t)m->out_tokens, "tokens_estimated", m->estimated, "usd", m->usd, "usd_unknown",
        m->usd_unknown, "wall_s", (double)m->run.wall_ns / 1e9, "best", (json_int_t)m->run.best,
        "moves", moves, "nodes", nodes, "drift", (int)m->drift);
    if (j && more)
        json_object_update(j, more);
    json_decref(more);
    json_object_set_new(j, "task_sha", json_string(m->task_sha));
    if (m->given)
        json_object_set_new(j, "given",
                            json_pack("{s:o, s:I, s:s, s:o, s:s}", "file", json_text(m->given_name),
                                      "candidate", (json_int_t)m->given->index, "kind",
                                      m->given->kind, "summary", json_text(m->given_summary),
                                      "best", best_beside_given(m)));
    json_object_set_new(j, "best_author", json_text(m->run.best_author));
    against_baselines_json(m, j);
    return j;
}

/* ---- the tree ------------------------------------------------------------------------------- */

/* Is the kernel about as fast as the best earlier kernel, or faster? */
static bool is_tie(const struct run_summary *m, const struct node_rec *n)
{
    double best = best_before(m, (size_t)(n - m->nodes.items));
    return n->time_ns > 0 && best > 0 && n->time_ns <= best * SAME_TIME;
}

static void node_text(const struct run_summary *m, const struct node_rec *n, struct strbuf *out)
{
    strbuf_addf(out, "%llu %s", (unsigned long long)n->index, n->kind);
    if (n->time_ns > 0) {
        strbuf_addc(out, ' ');
        print_time(n->time_ns, n->is_model, out);
    }
    if (n->speedup > 0)
        strbuf_addf(out, " %.2fx", n->speedup);
    strbuf_addf(out, " [%s/%s]", n->role, n->stage);
    const char *move = run_summary_move(m, n);
    if (*move)
        strbuf_addf(out, " %.*s", move == n->move ? 70 : 140, move);
    if (m->best == n)
        strbuf_adds(out, "  <== best");
    else if (str_eq(n->fate, "regression") && is_tie(m, n))
        strbuf_adds(out, "  (no gain)");
    else if (str_eq(n->fate, "regression") || str_eq(n->fate, "pruned") ||
             str_eq(n->fate, "on trial") || str_eq(n->fate, "unconfirmed"))
        strbuf_addf(out, "  (%s)", n->fate);
    strbuf_addc(out, '\n');
}

enum { DEEPEST = 60 }; /* deeper nodes are not indented further */

static void subtree(const struct run_summary *m, int64_t parent, char *indent, size_t depth,
                    struct strbuf *out)
{
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < m->nodes.n; i++)
        if (m->nodes.items[i].parent == parent)
            last = i;
    for (size_t i = 0; i < m->nodes.n; i++) {
        const struct node_rec *n = &m->nodes.items[i];
        if (n->parent != parent)
            continue;
        if (parent >= 0)
            strbuf_addf(out, "%.*s%s", (int)(depth * 3), indent, i == last ? "`- " : "|- ");
        node_text(m, n, out);
        bool deeper = parent >= 0 && depth < DEEPEST;
        if (deeper)
            memcpy(indent + depth * 3, i == last ? "   " : "|  ", 3);
        subtree(m, (int64_t)n->index, indent, depth + deeper, out);
    }
}

void lineage_print(const struct run_summary *m, struct strbuf *out)
{
    char indent[3 * DEEPEST];
    subtree(m, -1, indent, 0, out);
}
