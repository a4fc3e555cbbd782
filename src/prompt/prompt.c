/* prompt.c - finds templates and fills their slots. See prompt.h. */
#include "prompt/prompt.h"

#include <stdlib.h>
#include <string.h>

#include "base/tokens.h"
#include "base/utf8.h"
#include "base/util.h"
#include "prompt/fold.h"
#include "sys/asset.h"
#include "sys/file.h"

#define MAX_DEPTH 4

static char *override_path(const char *name)
{
    const char *dir = getenv("HONE_PROMPTS");
    if (!dir || !*dir)
        return NULL;
    char *path = xasprintf("%s/%s.md", dir, name);
    if (file_exists(path))
        return path;
    free(path);
    return NULL;
}

static bool safe_name(const char *name)
{
    return *name && !strstr(name, "..") && name[0] != '/' && strlen(name) < 100;
}

bool prompt_exists(const char *name)
{
    char path[128];
    char *given = override_path(name);
    if (given) {
        free(given);
        return true;
    }
    snprintf(path, sizeof path, "prompts/%s.md", name);
    return asset_find(path) != NULL;
}

char *prompt_file(const char *name, struct err *err)
{
    char path[128];
    if (!safe_name(name)) {
        err_set(err, ERR_INPUT, "'%s' cannot be the name of a prompt", name);
        return NULL;
    }
    char *given = override_path(name);
    if (given) {
        struct strbuf sb = STRBUF_INIT(1u << 20);
        int rc = file_read(given, 1u << 20, &sb, err);
        free(given);
        if (rc == 0)
            return strbuf_detach(&sb, NULL);
        strbuf_release(&sb);
        return NULL;
    }
    snprintf(path, sizeof path, "prompts/%s.md", name);
    const struct asset *a = asset_find(path);
    if (!a) {
        err_set(err, ERR_INTERNAL, "there is no prompt '%s'", path);
        return NULL;
    }
    return xstrndup(a->data, a->len);
}

static int look_for_slot(const char *name, const char *slot, int depth, bool *found,
                         struct err *err)
{
    char tag[72], part[64];
    char *text = depth < MAX_DEPTH ? prompt_file(name, err) : NULL;
    int rc = 0;
    if (depth >= MAX_DEPTH)
        return err_set(err, ERR_INTERNAL, "prompt '%s' includes itself", name);
    if (!text)
        return -1;
    snprintf(tag, sizeof tag, "{{%.60s}}", slot);
    *found |= strstr(text, tag) != NULL;
    for (const char *p = text; rc == 0 && !*found && (p = strstr(p, "{{>")); p += 3)
        if (sscanf(p, "{{>%63[^}]}}", part) == 1)
            rc = look_for_slot(part, slot, depth + 1, found, err);
    free(text);
    return rc;
}

int prompt_has_slot(const char *name, const char *slot, bool *out, struct err *err)
{
    *out = false;
    return look_for_slot(name, slot, 0, out, err);
}

struct rendering {
    struct prompt *p;
    struct strbuf *out; /* p->stable, or p->turn after the turn marker */
    const struct prompt_slot *slots;
    size_t n;
    bool *used; /* for each slot: the template has it */
    const char *name;
    bool had_turn;
};

static struct prompt_section *section(struct prompt *p, const char *name)
{
    vec_each (struct prompt_section, s, &p->sections)
        if (str_eq(s->name, name))
            return s;
    struct prompt_section *s = vec_push(&p->sections);
    snprintf(s->name, sizeof s->name, "%s", name);
    return s;
}

static void emit(struct rendering *r, const char *what, const char *text, size_t len)
{
    strbuf_add(r->out, text, len);
    section(r->p, what)->tokens += estimate_tokens(text, len);
}

static const struct prompt_slot *find_slot(struct rendering *r, const char *name, struct err *err)
{
    for (size_t i = 0; i < r->n; i++)
        if (str_eq(r->slots[i].name, name)) {
            r->used[i] = true;
            if (!r->slots[i].text) {
                err_set(err, ERR_INTERNAL, "prompt '%s': slot '%s' has no value", r->name, name);
                return NULL;
            }
            return &r->slots[i];
        }
    err_set(err, ERR_INTERNAL, "prompt '%s': nobody fills the slot '{{%s}}'", r->name, name);
    return NULL;
}

static int fill_slot(struct rendering *r, const char *name, struct err *err)
{
    const struct prompt_slot *s = find_slot(r, name, err);
    if (!s)
        return -1;
    size_t from = r->out->len;
    bool folded = fold_text(s->text, strlen(s->text), s->max_tokens, r->out);
    struct prompt_section *sec = section(r->p, name);
    sec->tokens += estimate_tokens(r->out->buf + from, r->out->len - from);
    sec->folded |= folded;
    return 0;
}

static int render(struct rendering *r, const char *what, const char *text, size_t len, int depth,
                  struct err *err);

static int include(struct rendering *r, const char *name, int depth, struct err *err)
{
    if (depth >= MAX_DEPTH)
        return err_set(err, ERR_INTERNAL, "prompt '%s' includes itself", name);
    char *text = prompt_file(name, err);
    if (!text)
        return -1;
    size_t n = strlen(text);
    /* The line with {{>part}} ends with a newline already. */
    while (n && text[n - 1] == '\n')
        n--;
    int rc = render(r, name, text, n, depth + 1, err);
    free(text);
    return rc;
}

/* Handles the {{...}} at `p`. Sets *next to the text after it or, for a {{#slot}}, after its
 * {{/slot}}. */
static int directive(struct rendering *r, const char *p, const char *end, const char **next,
                     int depth, struct err *err)
{
    const char *close = memmem(p, (size_t)(end - p), "}}", 2);
    char name[64], closer[72];
    if (!close || close - p - 2 >= (long)sizeof name)
        return err_set(err, ERR_INTERNAL, "prompt '%s': '{{' without '}}'", r->name);
    snprintf(name, sizeof name, "%.*s", (int)(close - p - 2), p + 2);
    *next = close + 2;
    if (name[0] == '>')
        return include(r, name + 1, depth, err);
    if (name[0] != '#')
        return fill_slot(r, name, err);
    const struct prompt_slot *s = find_slot(r, name + 1, err);
    if (!s)
        return -1;
    snprintf(closer, sizeof closer, "{{/%s}}", name + 1);
    const char *stop = memmem(*next, (size_t)(end - *next), closer, strlen(closer));
    if (!stop)
        return err_set(err, ERR_INTERNAL, "prompt '%s': '{{%s}}' is never closed", r->name, name);
    const char *body = *next;
    *next = stop + strlen(closer);
    return s->text[0] ? render(r, r->name, body, (size_t)(stop - body), depth, err) : 0;
}

/* Is the line at p a one-line comment? Then sets *next to the next line, and *turn to whether the
 * comment is the turn marker. */
static bool is_comment(const char *p, const char *end, const char **next, bool *turn)
{
    const char *eol = memchr(p, '\n', (size_t)(end - p));
    size_t n = (size_t)((eol ? eol : end) - p);
    if (n < 7 || memcmp(p, "<!--", 4) != 0 || memcmp(p + n - 3, "-->", 3) != 0)
        return false;
    *turn = n == 13 && memcmp(p, "<!-- turn -->", 13) == 0;
    *next = eol ? eol + 1 : end;
    return true;
}

static int render(struct rendering *r, const char *what, const char *text, size_t len, int depth,
                  struct err *err)
{
    const char *p = text, *end = text + len, *from = text;
    while (p < end) {
        const char *next = p;
        bool turn = false;
        if ((p == text || p[-1] == '\n') && is_comment(p, end, &next, &turn)) {
            emit(r, what, from, (size_t)(p - from));
            if (turn) {
                r->out = &r->p->turn;
                r->had_turn = true;
            }
            p = from = next;
        } else if (end - p >= 2 && p[0] == '{' && p[1] == '{') {
            emit(r, what, from, (size_t)(p - from));
            if (directive(r, p, end, &next, depth, err) < 0)
                return -1;
            p = from = next;
        } else {
            p++;
        }
    }
    emit(r, what, from, (size_t)(p - from));
    return 0;
}

int prompt_render(struct prompt *p, const char *name, const struct prompt_slot *slots, size_t n,
                  struct err *err)
{
    memset(p, 0, sizeof *p);
    strbuf_init(&p->stable, PROMPT_MAX_BYTES);
    strbuf_init(&p->turn, PROMPT_MAX_BYTES);
    bool *used = xcalloc(n ? n : 1, sizeof *used);
    struct rendering r = {
        .p = p, .out = &p->stable, .slots = slots, .n = n, .used = used, .name = name};
    char *text = prompt_file(name, err);
    int rc = text ? render(&r, name, text, strlen(text), 0, err) : -1;
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (!used[i])
            rc =
                err_set(err, ERR_INTERNAL, "prompt '%s' has no slot '{{%s}}'", name, slots[i].name);
    if (rc == 0 && !r.had_turn)
        rc = err_set(err, ERR_INTERNAL, "prompt '%s' has no line '<!-- turn -->'", name);
    if (rc == 0 && (p->stable.truncated || p->turn.truncated))
        rc = err_set(err, ERR_LIMIT, "prompt '%s' is larger than %u bytes", name, PROMPT_MAX_BYTES);
    /* The texts of authors have limits of length, which may have cut a UTF-8 character in two. */
    utf8_clean(p->stable.buf, p->stable.len);
    utf8_clean(p->turn.buf, p->turn.len);
    vec_each (struct prompt_section, s, &p->sections)
        p->tokens += s->tokens;
    free(text);
    free(used);
    if (rc < 0)
        prompt_release(p);
    return rc;
}

void prompt_release(struct prompt *p)
{
    strbuf_release(&p->stable);
    strbuf_release(&p->turn);
    vec_release(&p->sections);
}
