/* view.c - reads and writes queries as text, and calls the functions that answer them. */
#include "view/view.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "view/queries.h"

/* The parameters of each kind of query, in order. */
static const struct {
    const char *name;
    const char *key; /* parameter that is a name; NULL = none */
    bool role;
    const char *number; /* parameter that is a number; NULL = none */
} kinds[] = {
    [VIEW_RUNS] = {"runs", NULL, false, "before"},
    [VIEW_RUN] = {"run", "run", false, NULL},
    [VIEW_POINTS] = {"points", "run", false, "from"},
    [VIEW_CANDIDATE] = {"candidate", "run", false, "n"},
    [VIEW_CALL] = {"call", "run", true, "n"},
    [VIEW_CAMPAIGNS] = {"campaigns", NULL, false, "before"},
    [VIEW_CAMPAIGN] = {"campaign", "name", false, NULL},
    [VIEW_TRAININGS] = {"trainings", NULL, false, "from"},
    [VIEW_TRAINING] = {"training", "name", false, NULL},
};

/* ---- queries -------------------------------------------------------------------------------- */

static bool skip(const char **p, const char *word)
{
    if (!str_starts(*p, word))
        return false;
    *p += strlen(word);
    return true;
}

/* Skips `key`, such as "&role=", and reads the name that follows. */
static bool read_name(const char **p, const char *key, char *out, size_t size)
{
    size_t n = 0;
    if (!skip(p, key))
        return false;
    while (isalnum((unsigned char)**p) || (**p && strchr("_-.", **p))) {
        if (n + 1 >= size)
            return false;
        out[n++] = *(*p)++;
    }
    out[n] = '\0';
    return n > 0;
}

/* Reads a number of at most 15 digits. The browser reads numbers as doubles, which hold every such
 * integer exactly. */
static bool read_number(const char **p, uint64_t *out)
{
    size_t digits = strspn(*p, "0123456789");
    if (digits < 1 || digits > 15)
        return false;
    *out = strtoull(*p, NULL, 10);
    *p += digits;
    return true;
}

static bool read_query(struct view_query *q, const char *p)
{
    size_t word = strcspn(p, "?"), k = 0;
    while (k < ARRAY_LEN(kinds) &&
           !(strlen(kinds[k].name) == word && memcmp(kinds[k].name, p, word) == 0))
        k++;
    if (k == ARRAY_LEN(kinds) || p[word] != '?')
        return false;
    q->kind = (enum view_kind)k;
    p += word;
    if (kinds[k].key &&
        !(skip(&p, "?") && skip(&p, kinds[k].key) && read_name(&p, "=", q->run, sizeof q->run)))
        return false;
    if (kinds[k].role && !read_name(&p, "&role=", q->role, sizeof q->role))
        return false;
    if (kinds[k].number && !(skip(&p, kinds[k].key ? "&" : "?") && skip(&p, kinds[k].number) &&
                             skip(&p, "=") && read_number(&p, &q->n)))
        return false;
    return *p == '\0';
}

int view_query_parse(struct view_query *q, const char *text)
{
    memset(q, 0, sizeof *q);
    return strlen(text) < VIEW_MAX_QUERY && read_query(q, text) ? 0 : -1;
}

void view_query_text(const struct view_query *q, struct strbuf *out)
{
    strbuf_addf(out, "%s?", kinds[q->kind].name);
    if (kinds[q->kind].key)
        strbuf_addf(out, "%s=%s", kinds[q->kind].key, q->run);
    if (kinds[q->kind].role)
        strbuf_addf(out, "&role=%s", q->role);
    if (kinds[q->kind].number)
        strbuf_addf(out, "%s%s=%llu", kinds[q->kind].key ? "&" : "", kinds[q->kind].number,
                    (unsigned long long)q->n);
}

/* ---- answers -------------------------------------------------------------------------------- */

int view_find_run(struct store *s, const char *name, struct run_rec *r, struct arena *a,
                  struct err *err)
{
    int found = store_run_named(s, name, r, a, err);
    if (found)
        return found < 0 ? -1 : 0;
    return err_set(err, ERR_INPUT, "the store has no run '%s'", name);
}

json_t *view_json(struct store *s, const struct view_query *q, struct err *err)
{
    switch (q->kind) {
    case VIEW_RUNS:
        return view_runs(s, (int64_t)q->n, err);
    case VIEW_RUN:
        return view_run(s, q->run, err);
    case VIEW_POINTS:
        return view_points(s, q->run, q->n, err);
    case VIEW_CANDIDATE:
        return view_candidate(s, q->run, q->n, err);
    case VIEW_CALL:
        return view_call(s, q->run, q->role, q->n, err);
    case VIEW_CAMPAIGNS:
        return view_campaigns(s, (int64_t)q->n, err);
    case VIEW_CAMPAIGN:
        return view_campaign(s, q->run, err);
    case VIEW_TRAININGS:
        return view_trainings(s, q->n);
    case VIEW_TRAINING:
        return view_training(s, q->run, err);
    }
    BUG("view kind %d", (int)q->kind);
}

int view_text(struct store *s, const struct view_query *q, struct strbuf *out, struct err *err)
{
    json_t *j = view_json(s, q, err);
    if (!j)
        return -1;
    size_t before = out->len;
    view_dump(j, out);
    json_decref(j);
    if (out->truncated || out->len - before > VIEW_MAX_BYTES)
        return err_set(err, ERR_LIMIT, "the answer is larger than %u bytes", VIEW_MAX_BYTES);
    return 0;
}
