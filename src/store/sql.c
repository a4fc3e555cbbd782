/*
 * sql.c - binds parameters, reads columns, and turns SQLite's errors into struct err.
 */
#include "store/sql.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/utf8.h"
#include "base/util.h"

static void fail(struct stmt *q, const char *doing)
{
    if (!q->failed)
        err_set(q->err, ERR_SYSTEM, "store '%s': %s: %s", q->s->path, doing,
                sqlite3_errmsg(q->s->db));
    q->failed = true;
}

struct stmt sql_begin(struct store *s, const char *sql, struct err *err)
{
    struct stmt q = {.s = s, .err = err};
    if (sqlite3_prepare_v2(s->db, sql, -1, &q.st, NULL) != SQLITE_OK)
        fail(&q, "preparing a statement");
    return q;
}

static void bound(struct stmt *q, int rc)
{
    if (rc != SQLITE_OK)
        fail(q, "binding a value");
}

void sql_int(struct stmt *q, int64_t v)
{
    if (!q->failed)
        bound(q, sqlite3_bind_int64(q->st, ++q->bound, v));
}

void sql_opt(struct stmt *q, int64_t v)
{
    if (!q->failed)
        bound(q, v < 0 ? sqlite3_bind_null(q->st, ++q->bound)
                       : sqlite3_bind_int64(q->st, ++q->bound, v));
}

void sql_real(struct stmt *q, double v)
{
    if (!q->failed)
        bound(q, sqlite3_bind_double(q->st, ++q->bound, isfinite(v) ? v : 0));
}

void sql_text(struct stmt *q, const char *v)
{
    if (!q->failed)
        bound(q, sqlite3_bind_text(q->st, ++q->bound, v ? v : "", -1, SQLITE_TRANSIENT));
}

void sql_text_opt(struct stmt *q, const char *v)
{
    if (!q->failed)
        bound(q, v && *v ? sqlite3_bind_text(q->st, ++q->bound, v, -1, SQLITE_TRANSIENT)
                         : sqlite3_bind_null(q->st, ++q->bound));
}

void sql_blob(struct stmt *q, const void *p, size_t n)
{
    if (!q->failed)
        bound(q, sqlite3_bind_blob64(q->st, ++q->bound, n ? p : "", n, SQLITE_TRANSIENT));
}

bool sql_row(struct stmt *q)
{
    if (q->failed)
        return false;
    int rc = sqlite3_step(q->st);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        fail(q, "reading");
    return rc == SQLITE_ROW;
}

int sql_end(struct stmt *q)
{
    sqlite3_finalize(q->st);
    q->st = NULL;
    return q->failed ? -1 : 0;
}

int sql_write(struct stmt *q)
{
    struct store *s = q->s;
    uint64_t n = s->writes++;
    if (s->hook)
        s->hook(s->hook_ctx, n, false);
    if (!q->failed && sqlite3_step(q->st) != SQLITE_DONE)
        fail(q, "writing");
    int rc = sql_end(q);
    if (s->hook)
        s->hook(s->hook_ctx, n, true);
    return rc;
}

int64_t sql_get_int(struct stmt *q, int col)
{
    return sqlite3_column_type(q->st, col) == SQLITE_NULL ? -1 : sqlite3_column_int64(q->st, col);
}

double sql_get_real(struct stmt *q, int col)
{
    double v = sqlite3_column_double(q->st, col);
    return isfinite(v) ? v : 0;
}

const char *sql_get_text(struct stmt *q, int col, struct arena *a)
{
    const char *t = (const char *)sqlite3_column_text(q->st, col);
    if (!t)
        return "";
    char *copy = arena_strndup(a, t, (size_t)sqlite3_column_bytes(q->st, col));
    utf8_clean(copy, strlen(copy));
    return copy;
}

int sql_exec(struct store *s, const char *sql, struct err *err)
{
    char *msg = NULL;
    if (sqlite3_exec(s->db, sql, NULL, NULL, &msg) == SQLITE_OK)
        return 0;
    err_set(err, ERR_SYSTEM, "store '%s': %s", s->path, msg ? msg : "failed");
    sqlite3_free(msg);
    return -1;
}

int64_t unix_time_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}
