/* budget.c - loads prices, and compares what a run has spent with its budget (budget.h). */
#include "author/budget.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "sys/asset.h"
#include "sys/file.h"
#include "sys/json.h"

struct prices {
    json_t *user, *builtin; /* arrays of {"match", "in", "out", ...}; user may be NULL */
};

static int check(json_t *root, const char *name, json_t **models, struct err *err)
{
    size_t i;
    json_t *m;
    *models = json_object_get(root, "models");
    if (!json_is_array(*models))
        return err_set(err, ERR_INPUT, "%s: \"models\" must be a list", name);
    json_array_foreach(*models, i, m)
    {
        const char *const numbers[] = {"in", "out"};
        if (!json_is_string(json_object_get(m, "match")))
            return err_set(err, ERR_INPUT, "%s: model %zu needs a \"match\"", name, i);
        for (size_t k = 0; k < ARRAY_LEN(numbers); k++)
            if (!(json_number_value(json_object_get(m, numbers[k])) >= 0) ||
                !json_is_number(json_object_get(m, numbers[k])))
                return err_set(err, ERR_INPUT, "%s: model '%s' needs a price \"%s\" >= 0", name,
                               json_string_value(json_object_get(m, "match")), numbers[k]);
    }
    json_incref(*models);
    return 0;
}

static int load_user(struct prices *p, struct err *err)
{
    char path[1024];
    const char *given = getenv("HONE_PRICES"), *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    if (given && *given)
        snprintf(path, sizeof path, "%s", given);
    else if (config && *config)
        snprintf(path, sizeof path, "%s/hone/prices.json", config);
    else
        snprintf(path, sizeof path, "%s/.config/hone/prices.json", home ? home : "");
    if (!(given && *given) && !file_exists(path))
        return 0;
    json_t *root = json_read_file(path, NULL, err);
    int rc = root ? check(root, path, &p->user, err) : -1;
    json_decref(root);
    return rc;
}

int prices_load(struct prices **out, struct err *err)
{
    struct prices *p = xcalloc(1, sizeof *p);
    const struct asset *a = asset_find("prompts/prices.json");
    if (a) {
        json_t *root = json_read_text(a->data, a->len, a->path, NULL, err);
        int rc = root ? check(root, a->path, &p->builtin, err) : -1;
        json_decref(root);
        if (rc < 0)
            goto fail;
    }
    if (load_user(p, err) < 0)
        goto fail;
    *out = p;
    return 0;
fail:
    prices_free(p);
    return -1;
}

void prices_free(struct prices *p)
{
    if (!p)
        return;
    json_decref(p->user);
    json_decref(p->builtin);
    free(p);
}

static bool find_in(const json_t *models, const char *model, struct price *out)
{
    size_t i;
    json_t *m;
    json_array_foreach(models, i, m)
    {
        if (fnmatch(json_string_value(json_object_get(m, "match")), model, 0) != 0)
            continue;
        const json_t *cached = json_object_get(m, "cached"), *w = json_object_get(m, "cache_write");
        out->in = json_number_value(json_object_get(m, "in"));
        out->out = json_number_value(json_object_get(m, "out"));
        out->cached = json_is_number(cached) ? json_number_value(cached) : out->in;
        out->cache_write = json_is_number(w) ? json_number_value(w) : out->in;
        return true;
    }
    return false;
}

bool prices_find(const struct prices *p, const char *scheme, const char *model, struct price *out)
{
    memset(out, 0, sizeof *out);
    if (!str_eq(scheme, "openai") && !str_eq(scheme, "anthropic"))
        return true;
    return find_in(p->user, model, out) || find_in(p->builtin, model, out);
}

double price_of(const struct price *p, uint64_t in, uint64_t cached, uint64_t cache_write,
                uint64_t out)
{
    uint64_t known = MIN(cached + cache_write, in);
    return ((double)(in - known) * p->in + (double)cached * p->cached +
            (double)cache_write * p->cache_write + (double)out * p->out) /
           1e6;
}

bool budget_over(const struct budget *b, const struct spent *s, struct strbuf *why)
{
    struct strbuf unused = STRBUF_INIT(256);
    struct strbuf *w = why ? why : &unused;
    bool over = true;
    if (b->steps && s->steps >= b->steps)
        strbuf_addf(w, "the budget of %llu judged candidates is used up",
                    (unsigned long long)b->steps);
    else if (b->tokens && s->in_tokens + s->out_tokens >= b->tokens)
        strbuf_addf(w, "the budget of %llu tokens is used up", (unsigned long long)b->tokens);
    else if (b->usd > 0 && s->usd >= b->usd)
        strbuf_addf(w, "the budget of $%.2f is used up", b->usd);
    else if (b->wall_ns && s->wall_ns >= b->wall_ns)
        strbuf_addf(w, "the budget of %g s is used up", (double)b->wall_ns / 1e9);
    else
        over = false;
    strbuf_release(&unused);
    return over;
}

bool budget_ended(const char *reason)
{
    return reason && strstr(reason, "is used up");
}

void budget_describe(const struct budget *b, const struct spent *s, struct strbuf *out)
{
    const char *sep = "";
    if (b->steps) {
        strbuf_addf(out, "%s%llu/%llu steps", sep, (unsigned long long)s->steps,
                    (unsigned long long)b->steps);
        sep = ", ";
    }
    if (b->tokens) {
        strbuf_addf(out, "%s%.0fk/%.0fk tokens", sep, (double)(s->in_tokens + s->out_tokens) / 1e3,
                    (double)b->tokens / 1e3);
        sep = ", ";
    }
    if (b->usd > 0) {
        strbuf_addf(out, "%s$%.2f/$%.2f", sep, s->usd, b->usd);
        sep = ", ";
    }
    if (b->wall_ns)
        strbuf_addf(out, "%s%.0f/%.0f s", sep, (double)s->wall_ns / 1e9, (double)b->wall_ns / 1e9);
}
