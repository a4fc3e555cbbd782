/* reuse.c - keeps imported tasks by a hash of the request. See reuse.h. */
#include "import/reuse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "sys/asset.h"
#include "sys/file.h"
#include "sys/hash.h"
#include "sys/json.h"
#include "sys/loop.h"
#include "sys/proc.h"

#define FORMAT 1 /* raise it if a new importer makes another task from the same file */
#define MAX_FILE (16u << 20)
#define MAX_FILES 1000
#define KEY_DIGITS 12

/* ---- the key of a request -------------------------------------------------------------------- */

/* Asks Python for its version and that of PyTorch without loading PyTorch, which would take
 * seconds. Leaves `out` empty if there is no PyTorch; the import itself then says so. */
static int torch_version(struct strbuf *out, struct err *err)
{
    const char *python = getenv("HONE_PYTHON");
    const char *argv[] = {python && *python ? python : "python3", "-c",
                          "import importlib.metadata as m, sys\n"
                          "print(sys.version_info[:2], m.version('torch'))",
                          NULL};
    struct child_process c = CHILD_INIT;
    c.argv = argv;
    c.limit_ns = 60 * SEC;
    int rc = child_run(&c, err);
    if (rc == 0 && c.end == CHILD_EXITED && c.code == 0)
        strbuf_adds(out, c.out.buf);
    child_release(&c);
    return rc;
}

static int add_file(struct hash *h, const char *path, struct err *err)
{
    struct strbuf text = STRBUF_INIT(MAX_FILE + 1);
    int rc = file_read(path, MAX_FILE, &text, err);
    if (rc == 0)
        hash_bytes(h, text.buf, text.len);
    strbuf_release(&text);
    return rc;
}

/* The key covers a recorded trace if there is one, otherwise the text of the user's file and the
 * versions of Python and PyTorch. */
static int add_source(struct hash *h, const struct trace_request *rq, struct err *err)
{
    struct strbuf version = STRBUF_INIT(256);
    if (rq->recorded) {
        hash_str(h, rq->file);
        return add_file(h, rq->recorded, err);
    }
    char *full = realpath(rq->file, NULL);
    int rc = full ? add_file(h, full, err) : err_errno(err, "%s", rq->file);
    if (rc < 0 && err)
        err->kind = ERR_INPUT;
    if (rc == 0)
        rc = torch_version(&version, err);
    hash_str(h, full);
    hash_str(h, version.buf);
    strbuf_release(&version);
    free(full);
    return rc;
}

static void add_list(struct hash *h, const char *const *texts, size_t n)
{
    hash_u64(h, n);
    for (size_t i = 0; i < n; i++)
        hash_str(h, texts[i]);
}

static int request_key(const struct importer *im, const struct trace_request *rq,
                       char key[HASH_HEX], struct err *err)
{
    const struct asset *program = asset_find("src/import/trace.py");
    struct hash *h = hash_new();
    hash_u64(h, FORMAT);
    hash_bytes(h, program ? program->data : "", program ? program->len : 0);
    hash_u64(h, im->precision);
    hash_str(h, rq->name);
    add_list(h, rq->inputs, rq->ninputs);
    add_list(h, rq->sizes, rq->nsizes);
    char *fixed = rq->fixed ? json_dumps(rq->fixed, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    hash_str(h, fixed);
    hash_u64(h, rq->only_declared);
    hash_str(h, rq->task);
    free(fixed);
    int rc = add_source(h, rq, err);
    hash_finish(h, key);
    key[KEY_DIGITS] = '\0';
    return rc;
}

/* ---- import.json ----------------------------------------------------------------------------- */

static bool file_hash(const char *path, char hex[HASH_HEX])
{
    struct strbuf text = STRBUF_INIT(MAX_FILE + 1);
    bool read = file_read(path, MAX_FILE, &text, NULL) == 0;
    if (read)
        hash_hex(text.buf, text.len, hex);
    strbuf_release(&text);
    return read;
}

static json_t *report_json(const struct import_report *r)
{
    json_t *files = json_object(), *path;
    size_t i;
    char hex[HASH_HEX];
    json_array_foreach(r->files, i, path)
    {
        const char *name = json_string_value(path);
        if (name && i < MAX_FILES && file_hash(name, hex))
            json_object_set_new(files, name, json_string(hex));
    }
    return json_pack("{s:s, s:b, s:f, s:f, s:I, s:b, s:b, s:I, s:O?, s:o}", "name", r->name,
                     "compared", r->compared, "largest", r->largest, "rounding", r->rounding,
                     "axes", (json_int_t)r->axes, "accepts_wrong", r->accepts_wrong, "is_ill",
                     r->is_ill, "few_runs", (json_int_t)r->few_runs, "notes", r->notes, "files",
                     files);
}

static bool files_unchanged(json_t *files)
{
    const char *path;
    json_t *want;
    char hex[HASH_HEX];
    json_object_foreach(files, path, want) if (!json_is_string(want) || !file_hash(path, hex) ||
                                               !str_eq(hex, json_string_value(want))) return false;
    return json_is_object(files);
}

/* Returns false if there is no earlier import, or if a Python file that it ran has changed
 * since. */
static bool read_report(const char *dir, struct import_report *r)
{
    char *path = xasprintf("%s/import.json", dir), *task = NULL;
    json_t *j = file_exists(path) ? json_read_file(path, NULL, NULL) : NULL;
    const char *name = json_string_value(json_object_get(j, "name"));
    bool good = name && !strchr(name, '/') && files_unchanged(json_object_get(j, "files"));
    if (good) {
        task = xasprintf("%s/%s/task.json", dir, name);
        good = file_exists(task);
    }
    if (good)
        *r = (struct import_report){
            .name = xstrdup(name),
            .dir = xasprintf("%s/%s", dir, name),
            .compared = json_is_true(json_object_get(j, "compared")),
            .largest = json_number_value(json_object_get(j, "largest")),
            .rounding = json_number_value(json_object_get(j, "rounding")),
            .axes = (size_t)json_integer_value(json_object_get(j, "axes")),
            .accepts_wrong = json_is_true(json_object_get(j, "accepts_wrong")),
            .is_ill = json_is_true(json_object_get(j, "is_ill")),
            .few_runs = (uint64_t)json_integer_value(json_object_get(j, "few_runs")),
            .notes = json_incref(json_object_get(j, "notes"))};
    json_decref(j);
    free(task);
    free(path);
    return good;
}

static int write_report(const char *dir, const struct import_report *r, struct err *err)
{
    struct strbuf text = STRBUF_INIT(JSON_READ_MAX_BYTES);
    char *path = xasprintf("%s/import.json", dir);
    json_t *j = report_json(r);
    json_add_text(&text, j, true);
    int rc = file_write(path, text.buf, text.len, err);
    json_decref(j);
    strbuf_release(&text);
    free(path);
    return rc;
}

/* ---- the import ------------------------------------------------------------------------------ */

/* Removes an old folder `to`, and renames the folder `from` to `to`. If another process puts its
 * folder there in between, that folder stays, because it holds the same task. In this case removes
 * `from`. */
static int move_in_place(const char *from, const char *to, struct err *err)
{
    dir_remove(to, NULL);
    if (rename(from, to) == 0)
        return 0;
    if (errno != ENOTEMPTY && errno != EEXIST)
        return err_errno(err, "cannot rename %s to %s", from, to);
    return dir_remove(from, err);
}

static int import_into(struct importer *im, const struct trace_request *rq, const char *dir,
                       struct import_report *r, struct err *err)
{
    char *part = xasprintf("%s.%ld", dir, (long)getpid());
    int rc = import_module(im, rq, part, r, err);
    rc = rc < 0 ? rc : write_report(part, r, err);
    rc = rc < 0 ? rc : move_in_place(part, dir, err);
    if (rc < 0)
        dir_remove(part, NULL);
    free(r->dir);
    r->dir = xasprintf("%s/%s", dir, r->name ? r->name : "");
    free(part);
    return rc;
}

int import_or_reuse(struct importer *im, const struct trace_request *rq, const char *root,
                    struct import_report *r, bool *reused, struct err *err)
{
    char key[HASH_HEX];
    *r = (struct import_report){.name = NULL};
    *reused = false;
    if (request_key(im, rq, key, err) < 0)
        return -1;
    char *dir = xasprintf("%s/%s", root, key);
    *reused = read_report(dir, r);
    int rc = *reused ? 0 : import_into(im, rq, dir, r, err);
    free(dir);
    return rc;
}
