/* file.c - writes lessons (memory.h) to a file, and reads them from a file. */
#include <string.h>

#include "base/util.h"
#include "memory/lesson.h"
#include "memory/memory.h"
#include "sys/json.h"

#define FILE_VERSION 1

json_t *lesson_to_json(const struct lesson_rec *l)
{
    return json_pack("{s:o, s:o, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:s, s:s, s:f}", "run",
                     json_text(l->run), "task", json_text(l->task), "task_sha", l->task_sha,
                     "class", l->class, "ops", l->ops, "sizes", l->sizes, "marks", l->marks, "gpu",
                     l->gpu, "measured", (int)l->measured, "kind", l->kind, "playbook", l->playbook,
                     "text", l->text, "gain", l->gain);
}

int memory_export(struct store *s, FILE *out, struct err *err)
{
    struct arena mem = ARENA_INIT;
    struct lesson_rec_vec all = VEC_INIT;
    int rc = store_lesson_list(s, NULL, MEMORY_MAX, &all, &mem, err);
    json_t *list = json_array();
    for (size_t i = all.n; i-- > 0;) /* the oldest first, so that an import keeps the order */
        json_array_append_new(list, lesson_to_json(&all.items[i]));
    json_t *j = json_pack("{s:i, s:o}", "hone-memory", FILE_VERSION, "lessons", list);
    if (rc == 0)
        json_print(out, j);
    json_decref(j);
    vec_release(&all);
    arena_release(&mem);
    return rc;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

int lesson_from_json(struct lesson_rec *l, const json_t *j, struct err *err)
{
    const struct {
        const char *key, **to;
    } texts[] = {{"run", &l->run},           {"task", &l->task}, {"task_sha", &l->task_sha},
                 {"class", &l->class},       {"ops", &l->ops},   {"sizes", &l->sizes},
                 {"marks", &l->marks},       {"gpu", &l->gpu},   {"kind", &l->kind},
                 {"playbook", &l->playbook}, {"text", &l->text}};
    *l = (struct lesson_rec){.imported = true};
    if (!json_is_object(j))
        return err_set(err, ERR_INPUT, "it is not an object");
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        const char *s = json_string_value(json_object_get(j, texts[i].key));
        if (!s || strlen(s) != json_string_length(json_object_get(j, texts[i].key)))
            return err_set(err, ERR_INPUT, "\"%s\" must be a text", texts[i].key);
        *texts[i].to = s;
    }
    l->measured = json_is_true(json_object_get(j, "measured"));
    bool number = json_get_double(json_object_get(j, "gain"), &l->gain) == 0;
    const char *bad = number ? lesson_bad_field(l) : "gain";
    if (bad)
        return err_set(err, ERR_INPUT, "\"%s\" does not have the form that docs/memory.md gives",
                       bad);
    return 0;
}

int memory_import(struct store *s, const char *text, size_t len, const char *name, size_t *n,
                  struct err *err)
{
    const struct json_caps caps = {.max_bytes = MEMORY_FILE, .max_depth = 8};
    json_t *j = json_read_text(text, len, name, &caps, err);
    const json_t *list = json_object_get(j, "lessons");
    *n = json_array_size(list);
    int rc = j ? 0 : -1;
    if (rc == 0 && json_integer_value(json_object_get(j, "hone-memory")) != FILE_VERSION)
        rc = err_set(err, ERR_INPUT,
                     "%s: this is not a file that this version of `hone memory export` writes: "
                     "\"hone-memory\" must be %d",
                     name, FILE_VERSION);
    else if (rc == 0 && (!json_is_array(list) || *n > MEMORY_MAX))
        rc = err_set(err, ERR_INPUT, "%s: \"lessons\" must be a list of at most %d lessons", name,
                     MEMORY_MAX);
    if (rc == 0)
        rc = store_begin(s, err);
    bool begun = rc == 0;
    for (size_t i = 0; i < *n && rc == 0; i++) {
        struct lesson_rec l;
        if (lesson_from_json(&l, json_array_get(list, i), err) < 0)
            rc = err_prefix(err, "%s: lesson %zu", name, i + 1);
        else
            rc = store_lesson_put(s, &l, err);
    }
    if (rc == 0)
        rc = store_lesson_trim(s, MEMORY_MAX, err);
    if (begun)
        rc = store_end(s, rc == 0, err);
    json_decref(j);
    return rc;
}
