/*
 * sql.h - the few SQLite calls that the store needs. Parameters are bound in order.
 *
 *     struct stmt q = sql_begin(s, "SELECT name FROM run WHERE id = ?", err);
 *     sql_int(&q, run);
 *     while (sql_row(&q))
 *         name = sql_get_text(&q, 0, arena);
 *     if (sql_end(&q) < 0) return -1;
 *
 * After the first error, all further calls do nothing and sql_end returns -1.
 */
#ifndef STORE_SQL_H
#define STORE_SQL_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct store {
    sqlite3 *db;
    char *path;
    int64_t schema;  /* the schema version of the file, as last read */
    int lock_fd;     /* the file with the lock of store_run_lock(); -1 = no lock */
    uint64_t writes; /* how many writes this handle has made */
    void (*hook)(void *ctx, uint64_t n, bool after); /* see store_set_hook() */
    void *hook_ctx;
};

struct stmt {
    struct store *s;
    sqlite3_stmt *st;
    int bound; /* parameters bound so far */
    bool failed;
    struct err *err;
};

struct stmt sql_begin(struct store *s, const char *sql, struct err *err);
void sql_int(struct stmt *q, int64_t v);
void sql_opt(struct stmt *q, int64_t v); /* negative numbers become NULL */
/* NaN and infinities become 0. SQLite would store NaN as NULL, which the columns forbid. */
void sql_real(struct stmt *q, double v);
void sql_text(struct stmt *q, const char *v);     /* NULL becomes "" */
void sql_text_opt(struct stmt *q, const char *v); /* NULL and "" become SQL NULL */
void sql_blob(struct stmt *q, const void *p, size_t n);
bool sql_row(struct stmt *q);
int sql_end(struct stmt *q);   /* call it after the last row */
int sql_write(struct stmt *q); /* runs and ends a statement without rows */

/* These functions return values that JSON can hold, whatever the file contains. Numbers that are
 * not finite become 0, and bytes that are not UTF-8 become '?'. */
int64_t sql_get_int(struct stmt *q, int col); /* -1 for an SQL NULL */
double sql_get_real(struct stmt *q, int col);
const char *sql_get_text(struct stmt *q, int col, struct arena *a); /* "" for an SQL NULL */

int sql_exec(struct store *s, const char *sql, struct err *err);
int64_t unix_time_ms(void);

#endif
