/*
 * noisy.c - an author without a language model, for studies of strategies. It is the built-in
 * author `playbook`, but errs as often as models did in recorded runs.
 *
 *  1. It forgets each candidate whose label is not in its prompt, as a model would. A label names
 *     a point (playbook/book/book.h).
 *  2. Some of its replies are bad, as often as prompts/noisy.json or its argument
 *     "compile=0.2,wrong=0.1,slower=0.3,idle=0.1" says. tools/noisy-rates takes these rates from
 *     recorded runs.
 *
 *        compile   the file does not compile
 *        wrong     the first grid has one block too few: elements stay unwritten
 *        slower    the move is a random one of the eight most promising moves
 *        idle      the reply is the file to improve, with one more comment
 *
 * "compile" and "wrong" spoil a candidate. Its label gets braces, so that the failure does not
 * count against the point. A repair writes the point again. Random numbers depend only on the run's
 * seed, the role and the number of the call.
 */
#include <stdlib.h>
#include <string.h>

#include "author/author.h"
#include "author/proposal/tried.h"
#include "base/rng.h"
#include "base/util.h"
#include "playbook/playbook.h"
#include "sys/asset.h"
#include "sys/json.h"

#define STREAM_NOISY 7301 /* base/rng.h */
#define RATES_FILE "prompts/noisy.json"
enum { SLOWER_OF = 8 }; /* moves from which "slower" draws */

enum noise { NOISE_COMPILE, NOISE_WRONG, NOISE_SLOWER, NOISE_IDLE, NOISES };
static const char *const noise_names[NOISES] = {"compile", "wrong", "slower", "idle"};

struct noisy {
    struct author inner;
    double rate[NOISES];
};

/* ---- rates ----------------------------------------------------------------------------------- */

static int read_rates(struct noisy *x, struct err *err)
{
    const struct asset *a = asset_find(RATES_FILE);
    json_t *j = a ? json_read_text(a->data, a->len, RATES_FILE, NULL, err) : NULL;
    const json_t *rates = json_object_get(j, "rates");
    for (int i = 0; i < NOISES; i++)
        x->rate[i] = json_number_value(json_object_get(rates, noise_names[i]));
    json_decref(j);
    return rates ? 0 : err_set(err, ERR_INTERNAL, "there is no '%s'", RATES_FILE);
}

static int read_arg(struct noisy *x, const char *arg, struct err *err)
{
    double sum = 0;
    for (const char *p = arg; *p;) {
        size_t n = strcspn(p, "=,");
        int which = NOISES;
        for (int i = 0; i < NOISES; i++)
            if (strlen(noise_names[i]) == n && memcmp(p, noise_names[i], n) == 0)
                which = i;
        char *end = NULL;
        double v = p[n] == '=' ? strtod(p + n + 1, &end) : -1;
        if (which == NOISES || !end || end == p + n + 1 || (*end && *end != ',') ||
            !(v >= 0 && v <= 1))
            return err_set(err, ERR_USAGE,
                           "'%s' is not a list of rates such as compile=0.2,wrong=0.1,slower=0.3,"
                           "idle=0.1",
                           arg);
        x->rate[which] = v;
        p = end + (*end == ',');
    }
    for (int i = 0; i < NOISES; i++)
        sum += x->rate[i];
    return sum <= 1 ? 0 : err_set(err, ERR_USAGE, "the rates add up to more than 1");
}

static int open_noisy(struct author *a, const char *arg, struct err *err)
{
    struct noisy *x = xcalloc(1, sizeof *x);
    x->inner = (struct author){.ops = &author_playbook, .spec = a->spec, .model = a->model};
    if (read_rates(x, err) < 0 || read_arg(x, arg, err) < 0 ||
        author_playbook.open(&x->inner, "", err) < 0) {
        free(x);
        return -1;
    }
    a->priv = x;
    return 0;
}

static void close_noisy(struct author *a)
{
    struct noisy *x = a->priv;
    author_playbook.close(&x->inner);
    free(x);
}

/* ---- what the prompt shows ------------------------------------------------------------------- */

/* Copies the last label of a move, such as "[softmax 1.0.2]", to `out`, and returns `out`. `open`
 * and `shut` are the brackets around the label. `out` becomes "" if the move has no such label. */
static const char *label_of(const char *move, char open, char shut, char out[160])
{
    const char *from = strrchr(move, open), *to = from ? strchr(from, shut) : NULL;
    size_t n = to ? (size_t)(to - from) + 1 : 0;
    snprintf(out, 160, "%.*s", (int)MIN(n, 159), from ? from : "");
    return out;
}

static bool is_shown(const struct author_call *c, const json_t *node)
{
    char label[160];
    const json_t *about = json_object_get(c->facts, "node");
    label_of(facts_text(node, "move"), '[', ']', label);
    return json_equal(json_object_get(about, "index"), json_object_get(node, "index")) ||
           (*label && (strstr(c->turn, label) || strstr(c->stable, label)));
}

static void forget_unseen(struct author_call *c)
{
    json_t *tried = json_object_get(c->facts, "tried");
    for (size_t i = json_array_size(tried); i-- > 0;)
        if (!is_shown(c, json_array_get(tried, i)))
            json_array_remove(tried, i);
    const json_t *best = json_object_get(c->facts, "best");
    if (best && !is_shown(c, best))
        json_object_del(c->facts, "best");
}

/* ---- spoiling -------------------------------------------------------------------------------- */

static void replace(struct strbuf *text, size_t at, size_t old, const char *new)
{
    struct strbuf out = STRBUF_INIT(AUTHOR_MAX_REPLY);
    strbuf_add(&out, text->buf, at);
    strbuf_adds(&out, new);
    strbuf_adds(&out, text->buf + at + old);
    strbuf_clear(text);
    strbuf_add(text, out.buf, out.len);
    strbuf_release(&out);
}

static void mark_spoilt(struct strbuf *text)
{
    char *move = strstr(text->buf, "MOVE: "), *end = move ? strchr(move, '\n') : NULL;
    for (char *p = move; p && p < end; p++)
        *p = *p == '[' ? '{' : *p == ']' ? '}' : *p;
}

static void spoil_compile(struct strbuf *text)
{
    char *end = strstr(text->buf, "\n```\n");
    if (end)
        replace(text, (size_t)(end - text->buf), 0, "\nint not_finished = ;");
    mark_spoilt(text);
}

/* Takes one block off the first grid of the plan: "grid": ["cdiv(N, 128)"] becomes
 * "grid": ["max(1, (cdiv(N, 128)) - 1)"]. */
static void spoil_grid(struct strbuf *text)
{
    const char *grid = strstr(text->buf, "\"grid\""), *p = grid ? strchr(grid, '[') : NULL;
    if (!p)
        return;
    p += 1 + strspn(p + 1, " \n\t");
    bool quoted = *p == '"';
    size_t n = quoted ? strcspn(p + 1, "\"") + 2 : strcspn(p, " ,]");
    char *spoilt = xasprintf("\"max(1, (%.*s) - 1)\"", (int)(quoted ? n - 2 : n), p + quoted);
    replace(text, (size_t)(p - text->buf), n, spoilt);
    free(spoilt);
    mark_spoilt(text);
}

static bool reply_idle(struct author_call *c)
{
    const json_t *node = json_object_get(c->facts, "node");
    const char *source = facts_text(node, "source");
    if (!node_passes_facts(node) || !*source)
        return false;
    strbuf_addf(&c->reply.text,
                "The code is easier to read now.\n\nMOVE: other: tidy up\n```cuda\n"
                "%s%s// tidied\n```\n",
                source, source[strlen(source) - 1] == '\n' ? "" : "\n");
    author_succeed(c, "stop");
    return true;
}

/* ---- replies --------------------------------------------------------------------------------- */

static enum noise draw(const struct noisy *x, struct rng *r)
{
    double u = rng_unit(r);
    int i = 0;
    while (i < NOISES && u >= x->rate[i])
        u -= x->rate[i++];
    return (enum noise)i;
}

static struct rng rng_of(const struct author_call *c)
{
    uint64_t seed = (uint64_t)json_integer_value(json_object_get(c->facts, "seed"));
    for (const char *p = c->role; *p; p++)
        seed = seed * 1099511628211u + (unsigned char)*p;
    return rng_seeded(seed * 1099511628211u + c->index, STREAM_NOISY);
}

static void ask_playbook(struct author_call *c)
{
    struct noisy *x = c->author->priv;
    struct author *self = c->author;
    c->author = &x->inner;
    author_playbook.step(c);
    c->author = self;
}

/* Makes the built-in author write the point of a spoilt candidate again. */
static void advise_repair(struct author_call *c)
{
    char label[160];
    const char *move = facts_text(json_object_get(c->facts, "node"), "move");
    label_of(move, '{', '}', label);
    if (!*label)
        return;
    label[0] = '[';
    label[strlen(label) - 1] = ']';
    json_object_set_new(c->facts, "advice", json_string(label));
}

static void step(struct author_call *c)
{
    struct rng r = rng_of(c);
    enum noise noise = draw(c->author->priv, &r);
    uint64_t other = rng_below(&r, SLOWER_OF);
    bool writes = str_eq(c->role, "code") || str_eq(c->role, "repair") || str_eq(c->role, "debug");
    bool alone = !json_object_get(c->facts, "node"), planned = *facts_text(c->facts, "advice");
    forget_unseen(c);
    if (!writes) {
        ask_playbook(c);
        return;
    }
    advise_repair(c);
    if (noise == NOISE_IDLE && !planned && reply_idle(c))
        return;
    /* At a high temperature, replies to the same prompt differ. */
    if (noise == NOISE_SLOWER || (alone && c->temperature >= 1))
        json_object_set_new(c->facts, "proposal", json_integer((json_int_t)other));
    ask_playbook(c);
    if (str_starts(c->reply.text.buf, "STOP") && json_object_get(c->facts, "proposal")) {
        strbuf_clear(&c->reply.text); /* there are fewer moves: take the best one */
        json_object_del(c->facts, "proposal");
        ask_playbook(c);
    }
    if (!c->reply.ok || str_starts(c->reply.text.buf, "STOP"))
        return;
    if (noise == NOISE_COMPILE)
        spoil_compile(&c->reply.text);
    else if (noise == NOISE_WRONG)
        spoil_grid(&c->reply.text);
}

static int start(struct author_call *c, struct err *err)
{
    return author_playbook.start(c, err);
}

static void wait_nothing(struct author *a, uint64_t timeout_ns)
{
}

static void end(struct author_call *c)
{
}

const struct author_ops author_noisy = {
    .scheme = "noisy",
    .usage = "noisy[:RATES]",
    .about = "for studies: the built-in author, erring as often as models do",
    .open = open_noisy,
    .close = close_noisy,
    .start = start,
    .step = step,
    .wait = wait_nothing,
    .end = end,
    .built_in = true,
};
