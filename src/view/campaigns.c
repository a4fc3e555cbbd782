/* campaigns.c - answers the queries for the list of campaigns (of `hone bench`) and for the table
 * of one campaign. */
#include "base/util.h"
#include "campaign/table.h"
#include "sys/json.h"
#include "view/queries.h"

/* The table of a campaign has at most this many rows, because we read a run and a verdict for each
 * row. */
enum { MAX_ROWS = 500 };

json_t *view_campaigns(struct store *s, int64_t before, struct err *err)
{
    struct campaign_rec_vec list = VEC_INIT;
    struct arena mem = ARENA_INIT;
    json_t *out = NULL;
    if (store_campaign_page(s, before, VIEW_RUNS_PAGE, &list, &mem, err) == 0) {
        json_t *rows = json_array();
        vec_each (struct campaign_rec, c, &list)
            json_array_append_new(
                rows, json_pack("{s:o, s:I, s:I, s:I}", "campaign", json_text(c->name), "tasks",
                                (json_int_t)c->entries, "done", (json_int_t)c->done, "created_ms",
                                (json_int_t)c->created_ms));
        out = json_pack("{s:o}", "campaigns", rows);
        if (list.n == VIEW_RUNS_PAGE)
            json_object_set_new(out, "next", json_integer(list.items[list.n - 1].id));
    }
    vec_release(&list);
    arena_release(&mem);
    return out;
}

/* Checks that there is a campaign with this whole name and that its table is not too long. */
static int find_campaign(struct store *s, const char *name, struct err *err)
{
    struct arena mem = ARENA_INIT;
    struct campaign_rec c;
    int rc = str_eq(name, "last") ? 0 : store_campaign_find(s, name, &c, &mem, err);
    if (rc == 0 || (rc == 1 && !str_eq(c.name, name)))
        rc = err_set(err, ERR_INPUT, "the store has no campaign '%s'", name);
    else if (rc == 1 && c.entries > MAX_ROWS)
        rc = err_set(err, ERR_INPUT,
                     "campaign %s has %llu tasks, and a page shows at most %d: `hone report %s` "
                     "prints the table",
                     name, (unsigned long long)c.entries, MAX_ROWS, name);
    arena_release(&mem);
    return rc < 0 ? -1 : 0;
}

json_t *view_campaign(struct store *s, const char *name, struct err *err)
{
    struct campaign_table t;
    size_t i;
    json_t *row;
    if (find_campaign(s, name, err) < 0 || campaign_table_load(&t, s, name, NULL, err) < 0)
        return NULL;
    json_t *out = campaign_json(&t);
    json_array_foreach(json_object_get(out, "rows"), i, row)
    {
        json_object_del(row, "operand"); /* the operand may be a path of this machine */
        json_object_set_new(row, "reason", view_short_text(t.rows.items[i].reason));
    }
    campaign_table_release(&t);
    return out;
}
