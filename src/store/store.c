/* store.c - opens, migrates and checks the store; keeps blobs and runs; locks runs. */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/util.h"
#include "store/schema.h"
#include "store/sql.h"
#include "sys/file.h"
#include "sys/hash.h"

enum { BUSY_MS = 30000 }; /* the longest wait for another process */

_Static_assert(ARRAY_LEN(schema_steps) == STORE_SCHEMA, "one step per schema version");

/* Sets s->schema to the schema version of the file. Fails if the file is neither empty nor a
 * store. */
static int read_schema(struct store *s, struct err *err)
{
    int64_t v = 0, entries = 0, runs = 0;
    struct stmt q = sql_begin(s, "PRAGMA user_version", err);
    if (sql_row(&q))
        v = sql_get_int(&q, 0);
    if (sql_end(&q) < 0)
        return -1;
    q = sql_begin(s,
                  "SELECT count(*), coalesce(sum(name = 'run' AND type = 'table'), 0) "
                  "FROM sqlite_master",
                  err);
    if (sql_row(&q)) {
        entries = sql_get_int(&q, 0);
        runs = sql_get_int(&q, 1);
    }
    if (sql_end(&q) < 0)
        return -1;
    if (v < 0 || (v == 0 ? entries : !runs))
        return err_set(err, ERR_INPUT,
                       "'%s' is a database of another program, not a store of Hone's", s->path);
    if (v > STORE_SCHEMA)
        return err_set(err, ERR_INPUT,
                       "store '%s' was written by a newer Hone: it has schema %lld, and this Hone "
                       "knows schemas up to %d",
                       s->path, (long long)v, STORE_SCHEMA);
    s->schema = v;
    return 0;
}

/* `begin` is "BEGIN", or "BEGIN IMMEDIATE" to keep other processes from migrating the store
 * meanwhile. */
static int in_transaction(struct store *s, const char *begin,
                          int (*what)(struct store *, struct err *), struct err *err)
{
    if (sql_exec(s, begin, err) < 0)
        return -1;
    if (what(s, err) == 0)
        return sql_exec(s, "COMMIT", err);
    sql_exec(s, "ROLLBACK", NULL);
    return -1;
}

static int migrate(struct store *s, struct err *err)
{
    if (read_schema(s, err) < 0)
        return -1;
    for (; s->schema < STORE_SCHEMA; s->schema++) {
        char pragma[64];
        snprintf(pragma, sizeof pragma, "PRAGMA user_version = %lld", (long long)s->schema + 1);
        if (sql_exec(s, schema_steps[s->schema], err) < 0 || sql_exec(s, pragma, err) < 0)
            return -1;
    }
    return 0;
}

/* Even to read, SQLite wants to create a log file. If it cannot (`may_log` is false), and there is
 * no log file, we assume that nobody writes, and tell SQLite that the store is immutable. */
static int open_to_read(struct store *s, bool may_log)
{
    struct strbuf uri = STRBUF_INIT(4 * strlen(s->path) + 64);
    char *wal = xasprintf("%s-wal", s->path);
    strbuf_adds(&uri, *s->path == '/' ? "file://" : "file:");
    for (const char *p = s->path; *p; p++)
        strbuf_addf(&uri, strchr("?#%", *p) ? "%%%02x" : "%c", *p);
    strbuf_addf(&uri, "?mode=ro%s", may_log || file_exists(wal) ? "" : "&immutable=1");
    int rc = sqlite3_open_v2(uri.buf, &s->db,
                             SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    strbuf_release(&uri);
    free(wal);
    return rc;
}

static int open_db(struct store *s, const char *dir, bool *writable)
{
    bool exists = true;
    *writable = access(dir, W_OK) == 0;
    if (access(s->path, W_OK) < 0) {
        /* Another process may be creating the file. A second look could give another answer than
         * access(), so we use its errno. */
        exists = errno != ENOENT;
        *writable &= !exists;
    }
    if (!*writable && exists)
        return open_to_read(s, false);
    return sqlite3_open_v2(s->path, &s->db,
                           SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
}

/* SQLite returns SQLITE_BUSY here without waiting if several processes create a store at once. */
static int use_wal(struct store *s, struct err *err)
{
    for (uint64_t begun = now_ns(); now_ns() - begun < 1000000ull * BUSY_MS; usleep(10000)) {
        int rc = sqlite3_exec(s->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
        if (rc == SQLITE_OK)
            return 0;
        if (rc != SQLITE_BUSY)
            break;
    }
    return err_set(err, ERR_SYSTEM, "store '%s': %s", s->path, sqlite3_errmsg(s->db));
}

/* Allocates a handle for the store at `path`, without opening it. *dir becomes the directory of the
 * store; the caller frees it. */
static struct store *new_store(const char *path, char **dir)
{
    struct store *s = xcalloc(1, sizeof *s);
    s->path = xstrdup(path);
    s->lock_fd = -1;
    const char *slash = strrchr(path, '/');
    *dir = slash ? xstrndup(path, MAX((size_t)(slash - path), 1)) : xstrdup(".");
    return s;
}

static int open_error(const struct store *s, struct err *err)
{
    return err_set(err, ERR_SYSTEM, "store '%s': %s", s->path,
                   s->db ? sqlite3_errmsg(s->db) : "out of memory");
}

int store_open(struct store **out, const char *path, struct err *err)
{
    char *dir;
    bool writable;
    struct store *s = new_store(path, &dir);
    if (dir_make(dir, err) < 0)
        goto fail;
    if (open_db(s, dir, &writable) != SQLITE_OK) {
        open_error(s, err);
        goto fail;
    }
    sqlite3_busy_timeout(s->db, BUSY_MS);
    /* Change nothing before we know that the file is a store. */
    if (sql_exec(s, "PRAGMA trusted_schema = OFF; PRAGMA foreign_keys = ON", err) < 0 ||
        in_transaction(s, "BEGIN", read_schema, err) < 0 || (writable && use_wal(s, err) < 0) ||
        sql_exec(s, "PRAGMA synchronous = FULL", err) < 0 ||
        (s->schema < STORE_SCHEMA && in_transaction(s, "BEGIN IMMEDIATE", migrate, err) < 0))
        goto fail;
    free(dir);
    *out = s;
    return 0;
fail:
    free(dir);
    store_close(s);
    return -1;
}

int store_open_read(struct store **out, const char *path, struct err *err)
{
    char *dir;
    struct store *s = new_store(path, &dir);
    int rc = 0;
    if (open_to_read(s, access(dir, W_OK) == 0) != SQLITE_OK)
        rc = open_error(s, err);
    free(dir);
    if (rc == 0) {
        sqlite3_busy_timeout(s->db, BUSY_MS);
        rc = sql_exec(s, "PRAGMA trusted_schema = OFF; PRAGMA query_only = ON", err);
    }
    if (rc == 0)
        rc = in_transaction(s, "BEGIN", read_schema, err);
    if (rc == 0 && s->schema < STORE_SCHEMA)
        rc = err_set(err, ERR_INPUT,
                     "an older Hone wrote store '%s'; `hone runs --store %s` brings it up to date",
                     path, path);
    if (rc < 0) {
        store_close(s);
        return -1;
    }
    *out = s;
    return 0;
}

int store_version(struct store *s, int64_t *version, struct err *err)
{
    struct stmt q = sql_begin(s, "PRAGMA data_version", err);
    if (sql_row(&q))
        *version = sql_get_int(&q, 0);
    return sql_end(&q);
}

const char *store_path(const struct store *s)
{
    return s->path;
}

void store_close(struct store *s)
{
    if (!s)
        return;
    store_run_unlock(s);
    sqlite3_close(s->db);
    free(s->path);
    free(s);
}

void store_set_hook(struct store *s, void (*hook)(void *ctx, uint64_t n, bool after), void *ctx)
{
    s->hook = hook;
    s->hook_ctx = ctx;
}

/* ---- blobs ---------------------------------------------------------------------------------- */

int store_blob_put(struct store *s, const void *data, size_t len, char sha[STORE_SHA],
                   struct err *err)
{
    hash_hex(data, len, sha);
    struct stmt q = sql_begin(s, "SELECT 1 FROM blob WHERE sha = ?", err);
    sql_text(&q, sha);
    bool there = sql_row(&q);
    if (sql_end(&q) < 0)
        return -1;
    if (there)
        return 0;
    q = sql_begin(s, "INSERT INTO blob(sha, data) VALUES(?, ?) ON CONFLICT DO NOTHING", err);
    sql_text(&q, sha);
    sql_blob(&q, data, len);
    return sql_write(&q);
}

int store_blob_get(struct store *s, const char *sha, struct strbuf *out, struct err *err)
{
    struct stmt q = sql_begin(s, "SELECT data FROM blob WHERE sha = ?", err);
    sql_text(&q, sha);
    bool found = sql_row(&q);
    if (found) {
        size_t n = (size_t)sqlite3_column_bytes(q.st, 0);
        strbuf_add(out, n ? sqlite3_column_blob(q.st, 0) : "", n);
    }
    if (sql_end(&q) < 0)
        return -1;
    if (!found)
        return err_set(err, ERR_INPUT, "store '%s' has no blob '%s'", s->path, sha);
    return 0;
}

static int check_pragma(struct store *s, const char *sql, const char *good, struct err *err)
{
    struct arena a = ARENA_INIT;
    struct strbuf bad = STRBUF_INIT(1024);
    struct stmt q = sql_begin(s, sql, err);
    while (sql_row(&q)) {
        const char *t = sql_get_text(&q, 0, &a);
        if (!good || !str_eq(t, good))
            strbuf_addf(&bad, " %s;", t);
    }
    int rc = sql_end(&q);
    if (rc == 0 && bad.len)
        rc = err_set(err, ERR_SYSTEM, "store '%s' is damaged:%s", s->path, bad.buf);
    strbuf_release(&bad);
    arena_release(&a);
    return rc;
}

int store_check(struct store *s, struct err *err)
{
    if (check_pragma(s, "PRAGMA integrity_check", "ok", err) < 0 ||
        check_pragma(s, "PRAGMA foreign_key_check", NULL, err) < 0)
        return -1;
    struct arena a = ARENA_INIT;
    struct stmt q = sql_begin(s, "SELECT sha, data FROM blob", err);
    int rc = 0;
    while (rc == 0 && sql_row(&q)) {
        char sha[HASH_HEX];
        hash_hex(sqlite3_column_blob(q.st, 1), (size_t)sqlite3_column_bytes(q.st, 1), sha);
        if (!str_eq(sha, sql_get_text(&q, 0, &a)))
            rc = err_set(err, ERR_SYSTEM, "store '%s': blob '%s' is damaged", s->path,
                         sql_get_text(&q, 0, &a));
    }
    if (sql_end(&q) < 0)
        rc = -1;
    arena_release(&a);
    return rc;
}

/* ---- runs ----------------------------------------------------------------------------------- */

/* Returns "softmax" for "softmax", "to/softmax/" and "to/softmax/task.json". */
static const char *task_word(const char *task, size_t *len)
{
    size_t end = strlen(task);
    const char *file = "/task.json";
    if (end > strlen(file) && str_eq(task + end - strlen(file), file))
        end -= strlen(file);
    while (end > 1 && task[end - 1] == '/')
        end--;
    size_t from = end;
    while (from > 0 && task[from - 1] != '/')
        from--;
    *len = end - from;
    return task + from;
}

static void run_name(char *out, size_t n, const char *task, const char *strategy)
{
    uint16_t r = 0;
    if (getrandom(&r, sizeof r, 0) != sizeof r)
        r = (uint16_t)now_ns();
    size_t k = 0, len;
    const char *word = task_word(task, &len);
    for (const char *p = word; p < word + len && k < 48; p++, k++)
        out[k] = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9')
                     ? *p
                     : '_';
    snprintf(out + k, n - k, "-%.16s-%04x", strategy, r);
}

int store_run_create(struct store *s, const char *task, const char *strategy, const char *config,
                     const char *source, int64_t *id, struct err *err)
{
    for (int tries = 0; tries < 50; tries++) {
        char name[96];
        run_name(name, sizeof name, task, strategy);
        struct stmt q = sql_begin(s,
                                  "INSERT INTO run(name, task, strategy, config, source, "
                                  "created_ms, updated_ms) VALUES(?, ?, ?, ?, ?, ?, ?) "
                                  "ON CONFLICT DO NOTHING",
                                  err);
        int64_t now = unix_time_ms();
        sql_text(&q, name);
        sql_text(&q, task);
        sql_text(&q, strategy);
        sql_text(&q, config);
        sql_text(&q, source);
        sql_int(&q, now);
        sql_int(&q, now);
        if (sql_write(&q) < 0)
            return -1;
        if (sqlite3_changes(s->db) == 1) {
            *id = sqlite3_last_insert_rowid(s->db);
            return 0;
        }
    }
    return err_set(err, ERR_SYSTEM, "store '%s': no free name for a run of '%s'", s->path, task);
}

#define RUN_ITSELF                                                                    \
    "SELECT r.id, r.name, r.task, r.strategy, r.state, r.reason, r.config, r.source," \
    " r.created_ms, r.updated_ms, r.wall_ns, r.best"
#define RUN_COLUMNS                                                                      \
    RUN_ITSELF ","                                                                       \
               " (SELECT count(*) FROM call c WHERE c.run = r.id AND c.ended),"          \
               " (SELECT count(*) FROM node n WHERE n.run = r.id),"                      \
               " (SELECT count(*) FROM node n WHERE n.run = r.id AND n.kind = 'pass'),"  \
               " (SELECT coalesce(sum(in_tokens), 0) FROM call c WHERE c.run = r.id),"   \
               " (SELECT coalesce(sum(out_tokens), 0) FROM call c WHERE c.run = r.id),"  \
               " (SELECT coalesce(sum(max(usd, 0)), 0) FROM call c WHERE c.run = r.id)," \
               " b.time_ns, b.speedup, b.is_model, b.author,"                            \
               " (SELECT group_concat(author, ', then ') FROM"                           \
               "  (SELECT n.author FROM node n WHERE n.run = r.id AND n.author != ''"    \
               "   GROUP BY n.author ORDER BY min(n.idx))),"                             \
               " (SELECT count(DISTINCT n.author) FROM node n"                           \
               "  WHERE n.run = r.id AND n.author != '')"                                \
               " FROM run r LEFT JOIN node b ON b.run = r.id AND b.idx = r.best "

static void read_run_itself(struct stmt *q, struct run_rec *r, struct arena *a)
{
    r->id = sql_get_int(q, 0);
    r->name = sql_get_text(q, 1, a);
    r->task = sql_get_text(q, 2, a);
    r->strategy = sql_get_text(q, 3, a);
    r->state = sql_get_text(q, 4, a);
    r->reason = sql_get_text(q, 5, a);
    r->config = sql_get_text(q, 6, a);
    r->source = sql_get_text(q, 7, a);
    r->created_ms = sql_get_int(q, 8);
    r->updated_ms = sql_get_int(q, 9);
    r->wall_ns = (uint64_t)sql_get_int(q, 10);
    r->best = sql_get_int(q, 11);
    r->written_by = r->source;
    r->best_author = "";
}

static void read_run(struct stmt *q, struct run_rec *r, struct arena *a)
{
    read_run_itself(q, r, a);
    r->calls = (uint64_t)sql_get_int(q, 12);
    r->nodes = (uint64_t)sql_get_int(q, 13);
    r->passes = (uint64_t)sql_get_int(q, 14);
    r->in_tokens = (uint64_t)sql_get_int(q, 15);
    r->out_tokens = (uint64_t)sql_get_int(q, 16);
    r->usd = sql_get_real(q, 17);
    r->best_time_ns = sql_get_real(q, 18);
    r->best_speedup = sql_get_real(q, 19);
    r->best_is_model = sql_get_int(q, 20) == 1;
    r->best_author = sql_get_text(q, 21, a);
    r->written_by = sql_get_int(q, 23) > 0 ? sql_get_text(q, 22, a) : r->source;
    if (sql_get_int(q, 23) > 1 && *r->best_author)
        r->written_by = arena_printf(a, "%s (best: %s)", r->written_by, r->best_author);
}

int store_run_find(struct store *s, const char *which, struct run_rec *out, struct arena *a,
                   struct err *err)
{
    enum { LISTED = 8 };
    bool last = str_eq(which, "last");
    size_t found = 0;
    char number[32];
    struct strbuf names = STRBUF_INIT(1500);
    if (!*which)
        return err_set(err, ERR_INPUT, "the name of the run is empty; `hone runs` lists the names");
    struct stmt q = sql_begin(s,
                              last ? RUN_COLUMNS "ORDER BY r.id DESC LIMIT 1"
                                   : RUN_COLUMNS "WHERE r.name = ?1 OR cast(r.id AS TEXT) = ?1 OR "
                                                 "substr(r.name, 1, length(?1)) = ?1 OR "
                                                 "substr(r.name, -length(?1) - 1) = '-' || ?1 "
                                                 "ORDER BY r.name != ?1, "
                                                 "cast(r.id AS TEXT) != ?1, r.id DESC LIMIT 9",
                              err);
    if (!last)
        sql_text(&q, which);
    while (sql_row(&q)) {
        struct run_rec r;
        read_run(&q, &r, a);
        if (found++ == 0)
            *out = r;
        if (found <= LISTED)
            strbuf_addf(&names, "%s%s", found > 1 ? ", " : "", r.name);
        snprintf(number, sizeof number, "%lld", (long long)out->id);
        if (str_eq(out->name, which) || str_eq(number, which))
            found = 1;
    }
    int rc = sql_end(&q);
    if (rc == 0 && !found)
        rc = err_set(err, ERR_INPUT, "store '%s' has no run '%s'; `hone runs` lists them", s->path,
                     which);
    else if (rc == 0 && found > 1)
        rc = err_set(err, ERR_INPUT,
                     "the names of several runs begin or end with '%s': %s%s. Give the end of one, "
                     "as in %s",
                     which, names.buf, found > LISTED ? ", ..." : "",
                     strrchr(out->name, '-') ? strrchr(out->name, '-') + 1 : out->name);
    strbuf_release(&names);
    return rc;
}

int store_run_named(struct store *s, const char *name, struct run_rec *out, struct arena *a,
                    struct err *err)
{
    struct stmt q = sql_begin(s, RUN_ITSELF " FROM run r WHERE r.name = ?", err);
    sql_text(&q, name);
    bool found = sql_row(&q);
    if (found) {
        *out = (struct run_rec){0};
        read_run_itself(&q, out, a);
    }
    return sql_end(&q) < 0 ? -1 : found;
}

int store_run_page(struct store *s, int64_t before, int64_t limit, struct run_rec_vec *out,
                   struct arena *a, struct err *err)
{
    struct stmt q = sql_begin(s, RUN_COLUMNS "WHERE r.id < ? ORDER BY r.id DESC LIMIT ?", err);
    sql_int(&q, before > 0 ? before : INT64_MAX);
    sql_int(&q, limit);
    while (sql_row(&q))
        read_run(&q, vec_push(out), a);
    return sql_end(&q);
}

int store_run_list(struct store *s, struct run_rec_vec *out, struct arena *a, struct err *err)
{
    struct stmt q = sql_begin(s, RUN_COLUMNS "ORDER BY r.id", err);
    while (sql_row(&q))
        read_run(&q, vec_push(out), a);
    return sql_end(&q);
}

int store_run_end(struct store *s, int64_t run, const char *state, const char *reason,
                  struct err *err)
{
    struct stmt q =
        sql_begin(s, "UPDATE run SET state = ?, reason = ?, updated_ms = ? WHERE id = ?", err);
    sql_text(&q, state);
    sql_text(&q, reason);
    sql_int(&q, unix_time_ms());
    sql_int(&q, run);
    return sql_write(&q);
}

int store_run_configure(struct store *s, int64_t run, const char *config, struct err *err)
{
    struct stmt q = sql_begin(s, "UPDATE run SET config = ?, updated_ms = ? WHERE id = ?", err);
    sql_text(&q, config);
    sql_int(&q, unix_time_ms());
    sql_int(&q, run);
    return sql_write(&q);
}

int store_run_progress(struct store *s, int64_t run, uint64_t wall_ns, int64_t best,
                       struct err *err)
{
    struct stmt q =
        sql_begin(s, "UPDATE run SET wall_ns = ?, best = ?, updated_ms = ? WHERE id = ?", err);
    sql_int(&q, (int64_t)wall_ns);
    sql_int(&q, best);
    sql_int(&q, unix_time_ms());
    sql_int(&q, run);
    return sql_write(&q);
}

/* All locks are bytes of one file: byte k locks run k, byte CAMPAIGN_LOCKS + k locks campaign k. */
#define CAMPAIGN_LOCKS (INT64_C(1) << 48)

static int lock_byte(struct store *s, int64_t at, const char *what, struct err *err)
{
    char *path = xasprintf("%s-runs.lock", s->path);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
    int rc = 0;
    if (fd < 0)
        rc = err_errno(err, "cannot open '%s'", path);
    else if (fcntl(fd, F_OFD_SETLK, &range) < 0)
        rc = errno == EAGAIN || errno == EACCES
                 ? err_set(err, ERR_INPUT, "another process is working on this %s", what)
                 : err_errno(err, "cannot lock '%s'", path);
    if (rc < 0 && fd >= 0)
        close(fd);
    if (rc == 0) {
        store_run_unlock(s);
        s->lock_fd = fd;
    }
    free(path);
    return rc;
}

int store_run_lock(struct store *s, int64_t run, struct err *err)
{
    return lock_byte(s, run, "run", err);
}

int store_campaign_lock(struct store *s, int64_t campaign, struct err *err)
{
    return lock_byte(s, CAMPAIGN_LOCKS + campaign, "campaign", err);
}

void store_run_unlock(struct store *s)
{
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    s->lock_fd = -1;
}

bool store_run_is_locked(struct store *s, int64_t run)
{
    char *path = xasprintf("%s-runs.lock", s->path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = run, .l_len = 1};
    bool locked = fd >= 0 && fcntl(fd, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
    if (fd >= 0)
        close(fd);
    free(path);
    return locked;
}

const char *store_run_state(struct store *s, const struct run_rec *r)
{
    return str_eq(r->state, "running") && !store_run_is_locked(s, r->id) ? "killed" : r->state;
}

/* ---- removing a run ------------------------------------------------------------------------- */

/* Returns whether anybody else holds a lock on a run or a campaign. Linux does not report locks of
 * the same open file, so our own lock does not count. */
static bool any_run_is_locked(struct store *s)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0};
    return fcntl(s->lock_fd, F_OFD_GETLK, &all) < 0 || all.l_type != F_UNLCK;
}

/* Deletes the run. Foreign keys are off, so we must also delete its rows in the other tables. */
static int remove_records(struct store *s, int64_t run, struct err *err)
{
    static const char *const deletes[] = {
        "DELETE FROM idea WHERE run = ?", "DELETE FROM event WHERE run = ?",
        "DELETE FROM node WHERE run = ?", "DELETE FROM verdict WHERE run = ?",
        "DELETE FROM call WHERE run = ?", "DELETE FROM run WHERE id = ?"};
    for (size_t i = 0; i < ARRAY_LEN(deletes); i++) {
        struct stmt q = sql_begin(s, deletes[i], err);
        sql_int(&q, run);
        if (sql_write(&q) < 0)
            return -1;
    }
    return 0;
}

static int remove_unused_blobs(struct store *s, struct err *err)
{
    struct stmt q = sql_begin(s,
                              "DELETE FROM blob WHERE sha NOT IN ("
                              "SELECT stable_sha FROM call UNION SELECT turn_sha FROM call UNION "
                              "SELECT reply_sha FROM call WHERE reply_sha IS NOT NULL UNION "
                              "SELECT source_sha FROM verdict UNION SELECT json_sha FROM verdict "
                              "UNION SELECT source_sha FROM node UNION "
                              "SELECT task_sha FROM entry WHERE task_sha IS NOT NULL UNION "
                              "SELECT json_extract(config, '$.task_sha') FROM run "
                              "WHERE json_extract(config, '$.task_sha') IS NOT NULL)",
                              err);
    return sql_write(&q);
}

static int check_no_campaign(struct store *s, int64_t run, struct err *err)
{
    struct arena mem = ARENA_INIT;
    const char *campaign = NULL;
    struct stmt q = sql_begin(
        s, "SELECT c.name FROM entry e JOIN campaign c ON c.id = e.campaign WHERE e.run = ?", err);
    sql_int(&q, run);
    if (sql_row(&q))
        campaign = sql_get_text(&q, 0, &mem);
    int rc = sql_end(&q);
    if (rc == 0 && campaign)
        rc = err_set(err, ERR_INPUT, "the run belongs to the campaign %s and cannot be removed",
                     campaign);
    arena_release(&mem);
    return rc;
}

int store_run_remove(struct store *s, int64_t run, struct err *err)
{
    if (check_no_campaign(s, run, err) < 0 || store_run_lock(s, run, err) < 0)
        return -1;
    bool alone = !any_run_is_locked(s);
    /* Foreign keys would make SQLite search all tables for each deleted blob. */
    int rc = sql_exec(s, "PRAGMA foreign_keys = OFF", err);
    if (rc == 0 && (rc = sql_exec(s, "BEGIN IMMEDIATE", err)) == 0) {
        rc = remove_records(s, run, err);
        if (rc == 0 && alone)
            rc = remove_unused_blobs(s, err);
        rc = rc == 0 ? sql_exec(s, "COMMIT", err) : (sql_exec(s, "ROLLBACK", NULL), -1);
    }
    sql_exec(s, "PRAGMA foreign_keys = ON", NULL);
    store_run_unlock(s);
    return rc;
}
