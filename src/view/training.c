/*
 * training.c - answers the queries for training runs of hone-gnn.
 *
 * `hone-gnn train --record FILE` writes a run as JSON (src/gnn/cmd/train_record.h). We show the
 * files training/NAME.json beside the store. A name in a query never becomes a path: we list the
 * folder and compare names. The files are hostile, so we copy only known keys with the types that
 * the page expects.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/util.h"
#include "sys/file.h"
#include "sys/json.h"
#include "view/queries.h"
#include "view/view.h"

enum {
    MAX_FILE = 8 << 20,
    PAGE = 25,         /* runs in one answer, each read from a file */
    MAX_EPOCHS = 2000, /* rows in one answer: see epoch_rows() */
    MAX_SPANS = 2048,
    MAX_THREADS = 512,
    MAX_WORK = 64,
    MAX_KERNELS = 200,
    MAX_TEXT = 400,
};

static const char *const columns[] = {
    "epoch", "loss",   "accuracy", "eval_accuracy",         "batches",     "input_nodes",
    "edges", "wall_s", "train_s",  "exposed_preparation_s", "checkpoint_s"};

struct record {
    char *name, *path;
    int64_t changed_ms;
};
VEC_DECL(record_vec, struct record);

static char *folder_of(struct store *s)
{
    const char *path = store_path(s), *slash = strrchr(path, '/');
    return xasprintf("%.*straining", slash ? (int)(slash - path) + 1 : 0, path);
}

int64_t view_training_version(struct store *s)
{
    char *folder = folder_of(s);
    struct stat st;
    int64_t version =
        stat(folder, &st) == 0 ? (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec : 0;
    free(folder);
    return version;
}

/* ---- the files ------------------------------------------------------------------------------- */

static void records_release(struct record_vec *v)
{
    vec_each (struct record, r, v) {
        free(r->name);
        free(r->path);
    }
    vec_release(v);
}

/* Adds the file if it is a regular file NAME.json, and NAME can stand in a query. */
static void add_record(struct record_vec *v, const char *folder, const char *file)
{
    size_t n = strlen(file);
    struct stat st;
    if (n <= 5 || n > 127 || !str_ends(file, ".json") ||
        strspn(file, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") != n)
        return;
    char *path = xasprintf("%s/%s", folder, file);
    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
        *vec_push(v) = (struct record){.name = xstrndup(file, n - 5),
                                       .path = xstrdup(path),
                                       .changed_ms = (int64_t)st.st_mtim.tv_sec * 1000 +
                                                     st.st_mtim.tv_nsec / 1000000};
    free(path);
}

static int newest_first(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    return x->changed_ms != y->changed_ms
               ? (x->changed_ms < y->changed_ms) - (x->changed_ms > y->changed_ms)
               : strcmp(x->name, y->name);
}

static void list_records(struct store *s, struct record_vec *out)
{
    struct name_vec names = VEC_INIT;
    char *folder = folder_of(s);
    if (dir_list(folder, &names, NULL) == 0)
        vec_each (char *, name, &names)
            add_record(out, folder, *name);
    if (out->n)
        qsort(out->items, out->n, sizeof *out->items, newest_first);
    name_vec_release(&names);
    free(folder);
}

/* Returns the JSON in the file, or NULL if the file is not a record of a training run. */
static json_t *read_record(const struct record *r)
{
    const struct json_caps caps = {.max_bytes = MAX_FILE, .max_depth = 8};
    json_t *j = json_read_file(r->path, &caps, NULL);
    if (json_integer_value(json_object_get(j, "hone_training")) == 1)
        return j;
    json_decref(j);
    return NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Returns a copy of a number, or JSON null if the value is not a finite number. */
static json_t *number(const json_t *v)
{
    double x = json_is_number(v) ? json_number_value(v) : NAN;
    return json_is_integer(v) ? json_integer(json_integer_value(v))
           : isfinite(x)      ? json_real(x)
                              : json_null();
}

static json_t *text(const json_t *v)
{
    const char *s = json_is_string(v) ? json_string_value(v) : "";
    char *cut = xstrndup(s, strnlen(s, MAX_TEXT));
    json_t *out = view_short_text(cut);
    free(cut);
    return out;
}

static json_t *epoch_row(const json_t *epoch)
{
    json_t *row = json_array();
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        json_array_append_new(row, number(json_object_get(epoch, columns[i])));
    return row;
}

static json_t *column_names(void)
{
    json_t *names = json_array();
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        json_array_append_new(names, json_string(columns[i]));
    return names;
}

/* Returns a row for each epoch. If there are more than MAX_EPOCHS epochs, leaves out some: every
 * k-th and the last one get a row. */
static json_t *epoch_rows(const json_t *epochs)
{
    json_t *rows = json_array();
    size_t n = json_array_size(epochs), step = (n + MAX_EPOCHS - 1) / MAX_EPOCHS;
    for (size_t i = 0; i < n; i++)
        if ((n - 1 - i) % step == 0)
            json_array_append_new(rows, epoch_row(json_array_get(epochs, i)));
    return rows;
}

static json_t *summary(const struct record *r, const json_t *j)
{
    static const char *const texts[] = {"model",     "data",     "state", "reason",
                                        "precision", "products", "device"};
    static const char *const numbers[] = {"weights", "ranks", "begun_ms", "planned_epochs",
                                          "epochs_done"};
    json_t *out = json_object(), *epochs = json_object_get(j, "epochs");
    size_t n = json_array_size(epochs);
    json_object_set_new(out, "name", json_text(r->name));
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        json_object_set_new(out, texts[i], text(json_object_get(j, texts[i])));
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        json_object_set_new(out, numbers[i], number(json_object_get(j, numbers[i])));
    json_object_set_new(out, "changed_ms", json_integer(r->changed_ms));
    json_object_set_new(out, "last", n ? epoch_row(json_array_get(epochs, n - 1)) : json_null());
    return out;
}

static json_t *texts_of(const json_t *list, size_t max)
{
    json_t *out = json_array();
    for (size_t i = 0; i < json_array_size(list) && i < max; i++)
        json_array_append_new(out, text(json_array_get(list, i)));
    return out;
}

/* Returns whether the JSON is a valid span: six integers, none negative. The first two are indices
 * into the lists of threads and of work. */
static bool is_span(const json_t *span, size_t threads, size_t work)
{
    for (size_t k = 0; k < 6; k++) {
        json_int_t v = json_integer_value(json_array_get(span, k));
        if (!json_is_integer(json_array_get(span, k)) || v < 0 || v > INT64_C(1) << 52 ||
            (k < 2 && v >= (json_int_t)(k ? work : threads)))
            return false;
    }
    return json_array_size(span) == 6;
}

static json_t *timeline(const json_t *t)
{
    json_t *threads = texts_of(json_object_get(t, "threads"), MAX_THREADS);
    json_t *work = texts_of(json_object_get(t, "work"), MAX_WORK);
    json_t *from = json_object_get(t, "spans"), *spans = json_array();
    for (size_t i = 0; i < json_array_size(from) && i < MAX_SPANS; i++) {
        json_t *span = json_array_get(from, i);
        if (is_span(span, json_array_size(threads), json_array_size(work)))
            json_array_append(spans, span);
    }
    return json_pack("{s:o, s:o, s:o}", "threads", threads, "work", work, "spans", spans);
}

/* Returns a row for each kernel of --profile: name, calls, milliseconds. */
static json_t *kernels(json_t *j)
{
    json_t *rows = json_array(), *k;
    const char *name;
    json_object_foreach(j, name, k)
    {
        json_t *calls = json_object_get(k, "calls"), *ms = json_object_get(k, "ms");
        if (json_array_size(rows) < MAX_KERNELS && json_is_number(calls) && json_is_number(ms))
            json_array_append_new(
                rows, json_pack("[o, o, o]", view_short_text(name), number(calls), number(ms)));
    }
    return rows;
}

/* ---- answers --------------------------------------------------------------------------------- */

json_t *view_trainings(struct store *s, uint64_t from)
{
    struct record_vec list = VEC_INIT;
    json_t *rows = json_array();
    list_records(s, &list);
    size_t i = MIN(from, list.n), end = MIN(i + PAGE, list.n);
    for (; i < end; i++) {
        json_t *j = read_record(&list.items[i]);
        if (j)
            json_array_append_new(rows, summary(&list.items[i], j));
        json_decref(j);
    }
    json_t *out = json_pack("{s:o, s:o}", "columns", column_names(), "trainings", rows);
    if (end < list.n)
        json_object_set_new(out, "next", json_integer((json_int_t)end));
    records_release(&list);
    return out;
}

json_t *view_training(struct store *s, const char *name, struct err *err)
{
    struct record_vec list = VEC_INIT;
    json_t *j = NULL, *out = NULL;
    list_records(s, &list);
    vec_each (struct record, r, &list)
        if (str_eq(r->name, name) && (j = read_record(r))) {
            out = summary(r, j);
            json_object_set_new(out, "columns", column_names());
            json_object_set_new(out, "rows", epoch_rows(json_object_get(j, "epochs")));
            json_object_set_new(out, "timeline", timeline(json_object_get(j, "timeline")));
            json_object_set_new(out, "kernels", kernels(json_object_get(j, "kernels")));
        }
    if (!out)
        err_set(err, ERR_INPUT,
                "there is no training run '%s': `hone-gnn train --record` writes one", name);
    json_decref(j);
    records_release(&list);
    return out;
}
