/* campaigns.c - writes and reads campaigns (many tasks, a run for each) and their entries; begins
 * and ends transactions. */
#include <string.h>
#include <sys/random.h>

#include "base/util.h"
#include "store/sql.h"
#include "store/store.h"

int store_begin(struct store *s, struct err *err)
{
    return sql_exec(s, "BEGIN IMMEDIATE", err);
}

int store_end(struct store *s, bool keep, struct err *err)
{
    if (keep && sql_exec(s, "COMMIT", err) == 0)
        return 0;
    sql_exec(s, "ROLLBACK", NULL);
    return -1;
}

/* ---- campaigns ------------------------------------------------------------------------------- */

static void campaign_name(char *out, size_t n, const char *word)
{
    uint16_t r = 0;
    if (getrandom(&r, sizeof r, 0) != sizeof r)
        r = (uint16_t)now_ns();
    size_t k = 0;
    for (const char *p = word; *p && k < 40; p++, k++)
        out[k] = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9')
                     ? *p
                     : '_';
    snprintf(out + k, n - k, "-%04x", r);
}

static int insert_campaign(struct store *s, const char *word, const char *config, int64_t *id,
                           struct err *err)
{
    for (int tries = 0; tries < 50; tries++) {
        char name[64];
        campaign_name(name, sizeof name, word);
        struct stmt q = sql_begin(s,
                                  "INSERT INTO campaign(name, config, created_ms) VALUES(?, ?, ?) "
                                  "ON CONFLICT DO NOTHING",
                                  err);
        sql_text(&q, name);
        sql_text(&q, config);
        sql_int(&q, unix_time_ms());
        if (sql_write(&q) < 0)
            return -1;
        if (sqlite3_changes(s->db) == 1) {
            *id = sqlite3_last_insert_rowid(s->db);
            return 0;
        }
    }
    return err_set(err, ERR_SYSTEM, "store '%s': no free name for a campaign '%s'", s->path, word);
}

static int insert_entry(struct store *s, int64_t campaign, const struct entry_rec *e,
                        struct err *err)
{
    struct stmt q = sql_begin(s,
                              "INSERT INTO entry(campaign, idx, label, operand, options, known_ns, "
                              "at_ms) VALUES(?, ?, ?, ?, ?, ?, ?)",
                              err);
    sql_int(&q, campaign);
    sql_int(&q, (int64_t)e->index);
    sql_text(&q, e->label);
    sql_text(&q, e->operand);
    sql_text(&q, e->options);
    sql_real(&q, e->known_ns);
    sql_int(&q, unix_time_ms());
    return sql_write(&q);
}

int store_campaign_create(struct store *s, const char *word, const char *config,
                          const struct entry_rec *entries, size_t n, int64_t *id, struct err *err)
{
    if (store_begin(s, err) < 0)
        return -1;
    int rc = insert_campaign(s, word, config, id, err);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = insert_entry(s, *id, &entries[i], err);
    return store_end(s, rc == 0, err);
}

int store_campaign_configure(struct store *s, int64_t campaign, const char *config, struct err *err)
{
    struct stmt q = sql_begin(s, "UPDATE campaign SET config = ? WHERE id = ?", err);
    sql_text(&q, config);
    sql_int(&q, campaign);
    return sql_write(&q);
}

#define CAMPAIGN_COLUMNS                                       \
    "SELECT c.id, c.name, c.config, c.created_ms,"             \
    " (SELECT count(*) FROM entry e WHERE e.campaign = c.id)," \
    " (SELECT count(*) FROM entry e WHERE e.campaign = c.id"   \
    "  AND e.state IN ('done', 'failed')) FROM campaign c "

static void read_campaign(struct stmt *q, struct campaign_rec *c, struct arena *a)
{
    c->id = sql_get_int(q, 0);
    c->name = sql_get_text(q, 1, a);
    c->config = sql_get_text(q, 2, a);
    c->created_ms = sql_get_int(q, 3);
    c->entries = (uint64_t)sql_get_int(q, 4);
    c->done = (uint64_t)sql_get_int(q, 5);
}

int store_campaign_find(struct store *s, const char *which, struct campaign_rec *out,
                        struct arena *a, struct err *err)
{
    bool last = str_eq(which, "last");
    size_t found = 0;
    if (!*which)
        return 0;
    struct stmt q = sql_begin(s,
                              last ? CAMPAIGN_COLUMNS "ORDER BY c.id DESC LIMIT 1"
                                   : CAMPAIGN_COLUMNS "WHERE substr(c.name, 1, length(?1)) = ?1 "
                                                      "ORDER BY c.name != ?1 LIMIT 2",
                              err);
    if (!last)
        sql_text(&q, which);
    while (sql_row(&q)) {
        struct campaign_rec c;
        read_campaign(&q, &c, a);
        if (found++ == 0)
            *out = c;
        if (str_eq(out->name, which))
            found = 1;
    }
    if (sql_end(&q) < 0)
        return -1;
    if (found > 1)
        return err_set(err, ERR_INPUT, "the names of several campaigns begin with '%s'", which);
    return (int)found;
}

int store_campaign_page(struct store *s, int64_t before, int64_t limit,
                        struct campaign_rec_vec *out, struct arena *a, struct err *err)
{
    struct stmt q = sql_begin(s, CAMPAIGN_COLUMNS "WHERE c.id < ? ORDER BY c.id DESC LIMIT ?", err);
    sql_int(&q, before > 0 ? before : INT64_MAX);
    sql_int(&q, limit);
    while (sql_row(&q))
        read_campaign(&q, vec_push(out), a);
    return sql_end(&q);
}

/* ---- entries --------------------------------------------------------------------------------- */

#define ENTRY_COLUMNS                                                                        \
    "SELECT idx, label, operand, options, task_sha, coalesce(run, -1), state, reason, hone," \
    " known_ns, at_ms FROM entry WHERE campaign = ? "

static void read_entry(struct stmt *q, struct entry_rec *e, struct arena *a)
{
    *e = (struct entry_rec){.index = (uint64_t)sql_get_int(q, 0),
                            .label = sql_get_text(q, 1, a),
                            .operand = sql_get_text(q, 2, a),
                            .options = sql_get_text(q, 3, a),
                            .task_sha = sql_get_text(q, 4, a),
                            .run = sql_get_int(q, 5),
                            .state = sql_get_text(q, 6, a),
                            .reason = sql_get_text(q, 7, a),
                            .hone = sql_get_text(q, 8, a),
                            .known_ns = sql_get_real(q, 9),
                            .at_ms = sql_get_int(q, 10)};
}

int store_entry_list(struct store *s, int64_t campaign, struct entry_rec_vec *out, struct arena *a,
                     struct err *err)
{
    struct stmt q = sql_begin(s, ENTRY_COLUMNS "ORDER BY idx", err);
    sql_int(&q, campaign);
    while (sql_row(&q))
        read_entry(&q, vec_push(out), a);
    return sql_end(&q);
}

int store_entry_get(struct store *s, int64_t campaign, uint64_t index, struct entry_rec *out,
                    struct arena *a, struct err *err)
{
    struct stmt q = sql_begin(s, ENTRY_COLUMNS "AND idx = ?", err);
    sql_int(&q, campaign);
    sql_int(&q, (int64_t)index);
    bool found = sql_row(&q);
    if (found)
        read_entry(&q, out, a);
    return sql_end(&q) < 0 ? -1 : found;
}

int store_entry_state(struct store *s, int64_t campaign, uint64_t index, const char *state,
                      const char *reason, struct err *err)
{
    struct stmt q = sql_begin(s,
                              "UPDATE entry SET state = ?, reason = ?, at_ms = ? "
                              "WHERE campaign = ? AND idx = ?",
                              err);
    sql_text(&q, state);
    sql_text(&q, reason);
    sql_int(&q, unix_time_ms());
    sql_int(&q, campaign);
    sql_int(&q, (int64_t)index);
    return sql_write(&q);
}

int store_entry_task(struct store *s, int64_t campaign, uint64_t index, const char *task_sha,
                     struct err *err)
{
    struct stmt q =
        sql_begin(s, "UPDATE entry SET task_sha = ? WHERE campaign = ? AND idx = ?", err);
    sql_text(&q, task_sha);
    sql_int(&q, campaign);
    sql_int(&q, (int64_t)index);
    return sql_write(&q);
}

int store_entry_run(struct store *s, int64_t campaign, uint64_t index, int64_t run,
                    const char *hone, struct err *err)
{
    struct stmt q =
        sql_begin(s, "UPDATE entry SET run = ?, hone = ? WHERE campaign = ? AND idx = ?", err);
    sql_opt(&q, run);
    sql_text(&q, hone);
    sql_int(&q, campaign);
    sql_int(&q, (int64_t)index);
    return sql_write(&q);
}
