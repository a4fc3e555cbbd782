/* lessons.c - writes, reads and removes lessons, the memory across runs (memory/memory.h). */
#include "base/util.h"
#include "store/sql.h"
#include "store/store.h"

int store_lesson_put(struct store *s, const struct lesson_rec *l, struct err *err)
{
    struct stmt q = sql_begin(
        s,
        "INSERT INTO lesson(run, imported, task, task_sha, class, ops, sizes, marks, gpu, "
        "measured, kind, playbook, text, gain, at_ms) "
        "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT(run, imported, kind, playbook, text) DO UPDATE SET gain = excluded.gain, "
        "at_ms = excluded.at_ms WHERE imported = 0",
        err);
    sql_text(&q, l->run);
    sql_int(&q, l->imported);
    sql_text(&q, l->task);
    sql_text(&q, l->task_sha);
    sql_text(&q, l->class);
    sql_text(&q, l->ops);
    sql_text(&q, l->sizes);
    sql_text(&q, l->marks);
    sql_text(&q, l->gpu);
    sql_int(&q, l->measured);
    sql_text(&q, l->kind);
    sql_text(&q, l->playbook);
    sql_text(&q, l->text);
    sql_real(&q, l->gain);
    sql_int(&q, l->at_ms > 0 ? l->at_ms : unix_time_ms());
    return sql_write(&q);
}

int store_lesson_list(struct store *s, const char *class, int64_t limit, struct lesson_rec_vec *out,
                      struct arena *a, struct err *err)
{
    struct stmt q = sql_begin(s,
                              "SELECT id, run, imported, task, task_sha, class, ops, sizes, marks, "
                              "gpu, measured, kind, playbook, text, gain, at_ms FROM lesson "
                              "WHERE ? = '' OR class = ? ORDER BY imported, id DESC LIMIT ?",
                              err);
    sql_text(&q, class);
    sql_text(&q, class);
    sql_int(&q, limit);
    while (sql_row(&q))
        *vec_push(out) = (struct lesson_rec){.id = sql_get_int(&q, 0),
                                             .run = sql_get_text(&q, 1, a),
                                             .imported = sql_get_int(&q, 2) != 0,
                                             .task = sql_get_text(&q, 3, a),
                                             .task_sha = sql_get_text(&q, 4, a),
                                             .class = sql_get_text(&q, 5, a),
                                             .ops = sql_get_text(&q, 6, a),
                                             .sizes = sql_get_text(&q, 7, a),
                                             .marks = sql_get_text(&q, 8, a),
                                             .gpu = sql_get_text(&q, 9, a),
                                             .measured = sql_get_int(&q, 10) == 1,
                                             .kind = sql_get_text(&q, 11, a),
                                             .playbook = sql_get_text(&q, 12, a),
                                             .text = sql_get_text(&q, 13, a),
                                             .gain = sql_get_real(&q, 14),
                                             .at_ms = sql_get_int(&q, 15)};
    return sql_end(&q);
}

int store_lesson_runs(struct store *s, struct lesson_run_vec *out, struct arena *a, struct err *err)
{
    struct stmt q = sql_begin(s,
                              "SELECT run, task, class, gpu, imported, measured, COUNT(*) "
                              "FROM lesson GROUP BY run, imported, task_sha "
                              "ORDER BY imported, MAX(id) DESC",
                              err);
    while (sql_row(&q))
        *vec_push(out) = (struct lesson_run_rec){.run = sql_get_text(&q, 0, a),
                                                 .task = sql_get_text(&q, 1, a),
                                                 .class = sql_get_text(&q, 2, a),
                                                 .gpu = sql_get_text(&q, 3, a),
                                                 .imported = sql_get_int(&q, 4) != 0,
                                                 .measured = sql_get_int(&q, 5) == 1,
                                                 .lessons = sql_get_int(&q, 6)};
    return sql_end(&q);
}

int store_lesson_forget(struct store *s, const char *task, const char *class, const char *run,
                        bool imported, int64_t *n, struct err *err)
{
    struct stmt q = sql_begin(s,
                              "DELETE FROM lesson WHERE (? = '' OR task = ?) AND "
                              "(? = '' OR class = ?) AND (? = '' OR run = ?) AND imported >= ?",
                              err);
    const char *const conditions[] = {task, class, run};
    for (size_t i = 0; i < ARRAY_LEN(conditions); i++) {
        sql_text(&q, conditions[i]);
        sql_text(&q, conditions[i]);
    }
    sql_int(&q, imported);
    int rc = sql_write(&q);
    *n = rc == 0 ? sqlite3_changes64(s->db) : 0;
    return rc;
}

int store_lesson_trim(struct store *s, int64_t keep, struct err *err)
{
    struct stmt q = sql_begin(s,
                              "DELETE FROM lesson WHERE id NOT IN (SELECT id FROM lesson "
                              "ORDER BY imported, id DESC LIMIT ?)",
                              err);
    sql_int(&q, keep);
    return sql_write(&q);
}
