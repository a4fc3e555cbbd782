/* html.c - puts the JSON answers about a run or a campaign into a copy of the server's page. See
 * html.h. */
#include "view/html.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/util.h"
#include "export/export.h"
#include "sys/asset.h"
#include "sys/hash.h"
#include "view/pack.h"
#include "view/queries.h"
#include "view/view.h"

static const char *name_of(const struct html_options *o)
{
    return o->campaign ? o->campaign : o->run;
}

/* ---- the answers ---------------------------------------------------------------------------- */

/* The answers (view.h) for the file. */
struct collection {
    struct store *s;
    const struct html_options *o;
    struct pack *pack;
    json_t *answers, *runs; /* the answers by query; the rows of the list of runs */
    size_t max;             /* the most candidates of one run; see choose() */
};

/* Answers the query, and adds the answer to the collection. Returns the answer, which the caller
 * owns, or NULL on an error. */
static json_t *add_answer(struct collection *c, const struct view_query *q, struct err *err)
{
    struct strbuf key = STRBUF_INIT(VIEW_MAX_QUERY);
    json_t *j = view_json(c->s, q, err);
    if (j) {
        json_t *clean = view_without_paths(j);
        view_query_text(q, &key);
        json_object_set_new(c->answers, key.buf, pack_json(c->pack, clean));
        json_decref(clean);
    }
    strbuf_release(&key);
    return j;
}

static struct view_query query(const char *name, enum view_kind kind, uint64_t n)
{
    struct view_query q = {.kind = kind, .n = n};
    snprintf(q.run, sizeof q.run, "%s", name);
    return q;
}

/* Adds the summary of a run, and a row in the list of runs. */
static int add_summary(struct collection *c, const struct run_rec *r, struct err *err)
{
    struct view_query q = query(r->name, VIEW_RUN, 0);
    json_t *run = add_answer(c, &q, err);
    if (run)
        json_array_append_new(c->runs, view_run_row(c->s, r));
    json_decref(run);
    return run ? 0 : -1;
}

static int add_points(struct collection *c, const char *run, struct err *err)
{
    uint64_t from = 0;
    for (bool more = true; more;) {
        struct view_query q = query(run, VIEW_POINTS, from);
        json_t *page = add_answer(c, &q, err);
        if (!page)
            return -1;
        json_t *next = json_object_get(page, "next");
        more = next != NULL;
        from = (uint64_t)json_integer_value(next);
        json_decref(page);
    }
    return 0;
}

static int add_candidate(struct collection *c, const char *run, uint64_t index, struct err *err)
{
    struct view_query q = query(run, VIEW_CANDIDATE, index);
    json_t *j = add_answer(c, &q, err), *reply = NULL;
    const json_t *call = json_object_get(j, "call");
    if (json_is_object(call) && !c->o->without_prompts) {
        q = query(run, VIEW_CALL, (uint64_t)json_integer_value(json_object_get(call, "index")));
        snprintf(q.role, sizeof q.role, "%s", json_string_value(json_object_get(call, "role")));
        reply = add_answer(c, &q, NULL);
    }
    json_decref(reply);
    json_decref(j);
    return j ? 0 : -1;
}

/* Marks the best candidate and at most max / 2 of its ancestors. Then marks the newest candidates,
 * up to `max` in all. */
static void choose(const struct node_rec_vec *nodes, int64_t best, size_t max, bool *chosen)
{
    size_t n = 0;
    for (size_t i = nodes->n; i-- > 0 && n <= max / 2;)
        if ((int64_t)nodes->items[i].index == best) {
            chosen[i] = true;
            best = nodes->items[i].parent;
            n++;
        }
    for (size_t i = nodes->n; i-- > 0 && n < max;) {
        n += !chosen[i];
        chosen[i] = true;
    }
}

static int add_candidates(struct collection *c, const struct run_rec *r, struct err *err)
{
    struct node_rec_vec nodes = VEC_INIT;
    struct arena mem = ARENA_INIT;
    int rc = store_node_list(c->s, r->id, &nodes, &mem, err);
    bool *chosen = xcalloc(nodes.n + 1, sizeof *chosen);
    choose(&nodes, r->best, c->max, chosen);
    for (size_t i = 0; rc == 0 && i < nodes.n; i++)
        if (chosen[i])
            rc = add_candidate(c, r->name, nodes.items[i].index, err);
    free(chosen);
    vec_release(&nodes);
    arena_release(&mem);
    return rc;
}

static int add_run(struct collection *c, const char *name, struct err *err)
{
    struct arena mem = ARENA_INIT;
    struct run_rec r;
    int rc = store_run_find(c->s, name, &r, &mem, err);
    if (rc == 0)
        rc = add_summary(c, &r, err);
    if (rc == 0)
        rc = add_points(c, r.name, err);
    if (rc == 0)
        rc = add_candidates(c, &r, err);
    arena_release(&mem);
    return rc;
}

static int add_campaign(struct collection *c, struct err *err)
{
    struct view_query q = query(c->o->campaign, VIEW_CAMPAIGN, 0);
    json_t *table = add_answer(c, &q, err), *rows = json_object_get(table, "rows"), *row;
    size_t i, n = 0;
    int rc = table ? 0 : -1;
    json_array_foreach(rows, i, row) n += *json_string_value(json_object_get(row, "run")) != '\0';
    c->max = HTML_MAX_CANDIDATES / (n + 1) + 1;
    json_array_foreach(rows, i, row)
    {
        const char *run = json_string_value(json_object_get(row, "run"));
        if (rc == 0 && *run) /* a task that failed early has no run */
            rc = add_run(c, run, err);
    }
    json_decref(table);
    return rc;
}

/* Appends the answers and the table of lines: JSON, compressed, in base64. */
static int add_data(struct collection *c, struct strbuf *out, struct err *err)
{
    struct strbuf text = STRBUF_INIT(512u << 20);
    json_t *root = json_pack("{s:O, s:o}", "answers", c->answers, "lines", pack_lines(c->pack));
    view_dump(root, &text);
    json_decref(root);
    uLongf n = compressBound(text.len);
    Bytef *small = xmalloc(n);
    int rc = 0;
    if (text.truncated || compress2(small, &n, (const Bytef *)text.buf, text.len, 9) != Z_OK)
        rc = err_set(err, ERR_LIMIT, "%s is too large for one file", name_of(c->o));
    else
        export_base64(out, small, n);
    free(small);
    strbuf_release(&text);
    return rc;
}

static int collect(struct store *s, const struct html_options *o, struct strbuf *out,
                   struct err *err)
{
    struct collection c = {.s = s,
                           .o = o,
                           .pack = pack_new(),
                           .answers = json_object(),
                           .runs = json_array(),
                           .max = HTML_MAX_CANDIDATES};
    int rc = o->campaign ? add_campaign(&c, err) : add_run(&c, o->run, err);
    json_object_set_new(c.answers, "runs?before=0", json_pack("{s:o}", "runs", c.runs));
    if (rc == 0)
        rc = add_data(&c, out, err);
    json_decref(c.answers);
    pack_free(c.pack);
    return rc;
}

/* ---- the page ------------------------------------------------------------------------------- */

/* Returns the file of web/ that the line names. Returns NULL if the line does not begin with
 * `begin`, or names no such file. */
static const struct asset *named_asset(const char *line, const char *begin)
{
    char path[64] = "web/";
    const char *at = str_starts(line, begin) ? strstr(line, "\"/web/") : NULL;
    size_t n = at ? strcspn(at + 6, "\"") : 0;
    if (!n || n > sizeof path - 5)
        return NULL;
    memcpy(path + 4, at + 6, n);
    path[4 + n] = '\0';
    return asset_find(path);
}

/* Appends the hash of the text in the form of a Content-Security-Policy: 'sha256-...'. */
static void add_hash(struct strbuf *out, const struct strbuf *text)
{
    char hex[HASH_HEX];
    unsigned char raw[32];
    struct strbuf b64 = STRBUF_INIT(128);
    hash_hex(text->buf, text->len, hex);
    for (size_t i = 0; i < sizeof raw; i++) {
        char two[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        raw[i] = (unsigned char)strtoul(two, NULL, 16);
    }
    export_base64(&b64, raw, sizeof raw);
    strbuf_addf(out, "'sha256-%.44s'", b64.buf);
    strbuf_release(&b64);
}

struct parts {
    struct strbuf style, script;
};

/* Gathers the style and the scripts that the page names, in its order. */
static void gather(const struct asset *page, struct parts *p)
{
    strbuf_init(&p->style, 1u << 20);
    strbuf_init(&p->script, 4u << 20);
    for (const char *line = page->data; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const struct asset *a = named_asset(line, "<link rel=\"stylesheet\"");
        if (a)
            strbuf_add(&p->style, a->data, a->len);
        if ((a = named_asset(line, "<script")))
            strbuf_add(&p->script, a->data, a->len);
    }
    if (strstr(p->script.buf, "</script") || strstr(p->style.buf, "</style"))
        BUG("web/ holds a text that would end its own element");
}

static void add_policy(struct strbuf *out, const struct parts *p)
{
    strbuf_adds(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "base-uri 'none'; form-action 'none'; script-src ");
    add_hash(out, &p->script);
    strbuf_adds(out, "; style-src ");
    add_hash(out, &p->style);
    strbuf_adds(out, "\">\n");
}

/* Appends the page and the data. In place of the lines that load the style and the scripts, the
 * page gets their text. */
static void add_page(struct strbuf *out, const struct asset *page, const struct parts *p,
                     const struct html_options *o, const struct strbuf *data)
{
    for (const char *line = page->data; *line;) {
        size_t n = strcspn(line, "\n");
        if (str_starts(line, "<link rel=\"stylesheet\""))
            strbuf_addf(out, "<style>%s</style>\n", p->style.buf);
        else if (str_starts(line, "<body>"))
            strbuf_addf(out, "<body data-home=\"%s/%s\">\n", o->campaign ? "campaign" : "run",
                        name_of(o));
        else if (str_starts(line, "</body>"))
            strbuf_addf(out,
                        "<script type=\"text/plain\" id=\"answers\">\n%s</script>\n"
                        "<script>%s</script>\n</body>\n",
                        data->buf, p->script.buf);
        else if (!str_starts(line, "<script") && !str_starts(line, "<link"))
            strbuf_add(out, line, n + (line[n] == '\n'));
        if (str_starts(line, "<meta charset"))
            add_policy(out, p);
        line += n + (line[n] == '\n');
    }
}

int html_report(struct store *s, const struct html_options *o, struct strbuf *out, struct err *err)
{
    const struct asset *page = asset_find("web/index.html");
    struct strbuf data = STRBUF_INIT(512u << 20);
    struct view_query q;
    struct parts p;
    char *check = xasprintf("run?run=%s", name_of(o));
    int rc = view_query_parse(&q, check);
    if (rc < 0)
        err_set(err, ERR_INPUT,
                "the name '%s' must have at most 127 characters: letters, digits, '_', '-', '.'",
                name_of(o));
    free(check);
    if (rc == 0)
        rc = collect(s, o, &data, err);
    if (rc == 0) {
        gather(page, &p);
        add_page(out, page, &p, o, &data);
        strbuf_release(&p.style);
        strbuf_release(&p.script);
        if (out->truncated)
            rc = err_set(err, ERR_LIMIT, "%s is too large for one file", name_of(o));
    }
    strbuf_release(&data);
    return rc;
}
