/* campaign.c - writes and reads the configuration of a campaign, and creates its entries. */
#include "campaign/campaign.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "campaign/known_times.h"
#include "job/torch_variants.h"
#include "sys/json.h"

char *campaign_config_text(const struct campaign_config *c)
{
    const struct budget *b = &c->budget;
    json_t *j = json_pack("{s:i, s:s, s:o, s:s, s:s, s:o, s:s, s:s, s:s, s:o, s:o}", "version", 1,
                          "strategy", c->strategy, "author", json_text(c->author), "dialect",
                          c->dialect, "device", c->device, "on", json_text(c->on), "gpu", c->gpu,
                          "arch", c->arch, "compiler", c->compiler, "gpu_model",
                          json_text(c->gpu_model), "out", json_text(c->out));
    json_t *more =
        json_pack("{s:I, s:I, s:I, s:I, s:b, s:b, s:I, s:f, s:I}", "steps",
                  (json_int_t)MIN(c->steps, INT32_MAX), "proposals",
                  (json_int_t)MIN(c->proposals, 64), "seed", (json_int_t)MIN(c->seed, INT64_MAX),
                  "jobs", (json_int_t)MIN(c->jobs, 1024), "smoke", c->smoke, "baselines",
                  c->baselines, "budget_tokens", (json_int_t)MIN(b->tokens, INT64_MAX),
                  "budget_usd", b->usd, "budget_steps", (json_int_t)MIN(b->steps, INT64_MAX));
    json_object_update(j, more);
    json_decref(more);
    struct strbuf variants = STRBUF_INIT(256);
    torch_variants_text(c->torch_variants, &variants);
    if (variants.len)
        json_object_set_new(j, "torch_variants", json_string(variants.buf));
    strbuf_release(&variants);
    char *text = json_dumps(j, JSON_COMPACT);
    json_decref(j);
    return text ? text : xstrdup("{}");
}

static const char *text_of(const json_t *j, const char *key, struct arena *a)
{
    const char *s = json_string_value(json_object_get(j, key));
    return arena_strdup(a, s ? s : "");
}

static uint64_t count_of(const json_t *j, const char *key)
{
    json_int_t v = json_integer_value(json_object_get(j, key));
    return v > 0 ? (uint64_t)v : 0;
}

int campaign_config_read(struct campaign_config *c, const char *text, struct arena *a,
                         struct err *err)
{
    json_t *j = json_read_text(text, strlen(text), "the campaign's configuration", NULL, err);
    if (!j)
        return -1;
    *c = (struct campaign_config){
        .strategy = text_of(j, "strategy", a),
        .author = text_of(j, "author", a),
        .dialect = text_of(j, "dialect", a),
        .device = text_of(j, "device", a),
        .on = text_of(j, "on", a),
        .gpu = text_of(j, "gpu", a),
        .arch = text_of(j, "arch", a),
        .compiler = text_of(j, "compiler", a),
        .gpu_model = text_of(j, "gpu_model", a),
        .out = text_of(j, "out", a),
        .steps = count_of(j, "steps"),
        .proposals = MIN(count_of(j, "proposals"), 64),
        .seed = count_of(j, "seed"),
        .jobs = MAX(count_of(j, "jobs"), 1),
        .smoke = json_is_true(json_object_get(j, "smoke")),
        .baselines = json_is_true(json_object_get(j, "baselines")),
        .budget = {.tokens = count_of(j, "budget_tokens"),
                   .usd = json_number_value(json_object_get(j, "budget_usd")),
                   .steps = count_of(j, "budget_steps")},
    };
    bool known = json_integer_value(json_object_get(j, "version")) == 1;
    const char *variants = json_string_value(json_object_get(j, "torch_variants"));
    if (variants && torch_variants_parse(variants, &c->torch_variants, NULL) < 0)
        known = false;
    json_decref(j);
    return known ? 0 : err_set(err, ERR_INPUT, "another version of Hone made this campaign");
}

int campaign_create(struct store *s, const char *word, const struct suite_item_vec *items,
                    const struct known_times *known, const struct campaign_config *c, int64_t *id,
                    struct err *err)
{
    struct arena a = ARENA_INIT;
    struct entry_rec_vec entries = VEC_INIT;
    char *config = campaign_config_text(c);
    vec_each (struct suite_item, i, items) {
        json_t *options = suite_options(i);
        char *text = json_dumps(options, JSON_COMPACT);
        size_t index = entries.n;
        *vec_push(&entries) =
            (struct entry_rec){.index = index,
                               .label = i->label,
                               .operand = i->operand,
                               .options = arena_strdup(&a, text ? text : "{}"),
                               .known_ns = known ? known_times_find(known, i->operand) : 0};
        free(text);
        json_decref(options);
    }
    int rc = store_campaign_create(s, word, config, entries.items, entries.n, id, err);
    free(config);
    vec_release(&entries);
    arena_release(&a);
    return rc;
}
