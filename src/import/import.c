/* import.c - traces a module, writes its task, proves it, and tries again with other sizes. */
#include "import/import.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "graph/tolerance/prove.h"
#include "import/task_text.h"
#include "sys/file.h"
#include "sys/hash.h"
#include "sys/interrupt.h"
#include "sys/json.h"
#include "sys/loop.h"
#include "task/check.h"
#include "torch/task.h"

#define MAX_TRACES 4
#define MAX_SHAPES 3       /* in prove_tolerance() */
#define MAX_FLOPS 20000000 /* most flops of a shape after the first */
/* If the tolerance is too loose, Hone chooses sizes with more elements in each variance:
 * LEAST_STATISTICS times as many, but at most MOST_STATISTICS. */
enum { LEAST_STATISTICS = 16, MOST_STATISTICS = 64 };

/* Returns the name of the task: "12_Gemm" for the file "path/12_Gemm.py", "swiglu" for the member
 * "swiglu" of "ops.py". */
static char *name_of(const char *file, const char *member)
{
    const char *base = strrchr(file, '/');
    bool given = member && *member && !str_eq(member, "Model");
    char *name = xstrdup(given ? member : base ? base + 1 : file);
    char *dot = given ? NULL : strrchr(name, '.');
    if (dot)
        *dot = '\0';
    for (char *p = name; *p; p++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", *p))
            *p = '_';
    for (size_t n = strlen(name); n > 1 && name[n - 1] == '_'; n--)
        name[n - 1] = '\0';
    return name;
}

static int write_files(const char *dir, const struct import_files *f, struct err *err)
{
    char *task = xasprintf("%s/task.json", dir), *reference = xasprintf("%s/reference.c", dir);
    int rc = dir_make(dir, err);
    rc = rc < 0 ? rc : file_write(task, f->task.buf, f->task.len, err);
    rc = rc < 0 ? rc : file_write(reference, f->reference.buf, f->reference.len, err);
    free(task);
    free(reference);
    return rc;
}

/* Runs the graph with random rounding, at the first shape and at up to two cheap ones. */
static int prove_tolerance(const struct task *t, const char *oracle_so, struct import_report *r,
                           struct err *err)
{
    struct arena a = ARENA_INIT;
    struct graph g;
    struct tolerance_report *found = xcalloc(1, sizeof *found);
    struct shape shapes[MAX_SHAPES];
    size_t n = 0;
    struct reference_mode mode = {.tf32_products = t->allow_tf32,
                                  .tf32_convs = t->allow_tf32 || t->allow_tf32_convs};
    for (size_t i = 0; i < t->workloads.n && n < MAX_SHAPES; i++) {
        const struct task_workload *w = &t->workloads.items[i];
        if ((w->role == ROLE_SMOKE || w->role == ROLE_CHECK) &&
            shape_resolve(&shapes[n], t, w, 1, &a, NULL) == 0 &&
            (n == 0 || shape_eval(&shapes[n], t->flops, NULL) < MAX_FLOPS))
            n++;
    }
    int rc = torch_read_task(&g, t, err);
    r->rounding = 0;
    r->is_ill = r->is_loose = false;
    r->few_runs = 0;
    if (rc == 0) {
        rc = tolerance_prove(&g, mode, t, oracle_so, shapes, n, found, err);
        for (size_t i = 0; rc == 0 && i < found->n; i++) {
            r->rounding = MAX(r->rounding, found->outputs[i].worst);
            r->is_ill |= tolerance_is_ill(&found->outputs[i]);
        }
        r->is_loose = rc == 0 && tolerance_is_loose(found);
        r->few_runs = found->fewest < TOLERANCE_RUNS ? found->fewest : 0;
        rc = rc < 0 ? rc : tolerance_accept(found, err);
        tolerance_report_release(found);
        graph_release(&g);
    }
    free(found);
    arena_release(&a);
    return rc;
}

/* Checks the task as `hone task check` does, and its tolerance. Builds `so`, the oracle, if it is
 * missing. */
static int prove(struct importer *im, const char *dir, const char *so, bool with_torch,
                 struct import_report *r, struct err *err)
{
    struct task_check_result found = TASK_CHECK_RESULT_INIT;
    struct task *t = task_load(dir, &found.problems);
    int rc = 0;
    found.oracle_so = so;
    im->torch.largest = 0;
    im->torch.raised = false;
    if (t)
        task_check(t, &found);
    if (t && with_torch && !found.problems.n && !interrupted())
        torch_check_task(&im->torch, t, &found);
    r->largest = im->torch.largest;
    r->accepts_wrong = found.accepts_wrong;
    if (interrupted())
        rc = err_set(err, ERR_SYSTEM, "interrupted");
    else if (found.problems.n)
        rc = err_set(err, ERR_INPUT, "%s", found.problems.items[0].text);
    else if (im->torch.why_not)
        rc = err_set(err, ERR_ENV, "PyTorch could not run the module: %s", im->torch.why_not);
    else
        rc = prove_tolerance(t, so, r, err);
    task_free(t);
    task_check_result_release(&found);
    return rc;
}

void importer_open(struct importer *im, enum import_precision precision)
{
    im->precision = precision;
    im->torch = (struct torch_check)TORCH_CHECK_INIT;
}

void importer_close(struct importer *im)
{
    torch_check_release(&im->torch);
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool names(const char *message, const char *axis, bool divided)
{
    size_t len = axis ? strlen(axis) : 0;
    for (const char *at = message; len && (at = strstr(at, axis)); at += len)
        if ((at == message || !is_word(at[-1])) && !is_word(at[len]) &&
            (!divided || strchr("/%", at[len]) || (at > message && strchr("/%", at[-1]))))
            return true;
    return false;
}

/* Adds to `fixed` the axes that the message names beside a division sign, or else all axes in the
 * message. Usually Hone cannot follow a division. */
static bool fix_named(const json_t *found, const char *message, json_t *fixed)
{
    const json_t *axes = json_object_get(json_object_get(found, "graph"), "axes");
    size_t i, before = json_array_size(fixed);
    json_t *axis;
    for (int divided = 1; divided >= 0 && json_array_size(fixed) == before; divided--)
        json_array_foreach(axes, i, axis)
        {
            if (names(message, json_string_value(axis), divided))
                json_array_append(fixed, axis);
        }
    return json_array_size(fixed) > before;
}

/* Traces the module and writes its task. If Hone cannot follow a size, for example through a
 * reshape, makes the axes in the error message constant and traces again. Returns trace.py's
 * answer, or NULL after an error. */
static json_t *trace_and_write(const struct trace_request *rq, const char *name,
                               const struct import_choice *how, struct import_files *f,
                               struct err *err)
{
    json_t *fixed = json_array(), *found = NULL;
    struct trace_request again = *rq;
    again.fixed = fixed;
    for (int i = 0; i < MAX_TRACES; i++) {
        err_clear(err);
        json_decref(found);
        found = trace_run(&again, err);
        if (!found || import_write_task(found, name, trace_shown(rq), how, f, err) == 0)
            break;
        if (i + 1 == MAX_TRACES || !fix_named(found, err->msg, fixed)) {
            json_decref(found);
            found = NULL;
            break;
        }
    }
    json_decref(fixed);
    return found;
}

static bool change_choice(const struct importer *im, const struct import_files *f,
                          const struct import_report *r, struct import_choice *how)
{
    if (im->torch.raised && how->floor == 1)
        how->floor = 2;
    else if (r->is_loose && f->statistics < MOST_STATISTICS)
        how->statistics = MIN(f->statistics * LEAST_STATISTICS, MOST_STATISTICS);
    else if (r->accepts_wrong && !how->degenerate)
        how->degenerate = true;
    else
        return false;
    return true;
}

/* Returns the path of the compiled reference, which the caller frees. The path contains a hash of
 * the reference, so that a later try with the same reference finds the object there. */
static char *object_path(const char *dir, const struct strbuf *reference)
{
    char hash[HASH_HEX];
    hash_hex(reference->buf, reference->len, hash);
    return xasprintf("%s/oracle-%s.so", dir, hash);
}

/* Writes the task and proves it. After a failure, makes one of these changes and tries again:
 *  1. If PyTorch refuses a shape, Hone chooses no sizes of 1: PyTorch cannot compute the batch
 *     statistics of one value.
 *  2. If the tolerance is too loose, Hone chooses sizes with more elements in each variance.
 *  3. If a wrong answer would pass, Hone marks the task as "degenerate". */
static int write_and_prove(struct importer *im, const struct trace_request *rq, const json_t *found,
                           struct import_files *f, struct import_report *r, struct err *err)
{
    struct import_choice how = {.precision = im->precision, .floor = 1, .statistics = 1};
    struct temp_dir objects = TEMP_DIR_INIT;
    int rc = temp_dir_make(&objects, err);
    for (bool again = rc == 0; again;) {
        char *so = object_path(objects.path, &f->reference);
        rc = write_files(r->dir, f, err);
        rc = rc < 0 ? rc : prove(im, r->dir, so, !rq->recorded, r, err);
        free(so);
        again = rc < 0 && change_choice(im, f, r, &how);
        if (again) {
            err_clear(err);
            rc = import_write_task(found, r->name, trace_shown(rq), &how, f, err);
            again = rc == 0;
        }
    }
    temp_dir_release(&objects);
    return rc;
}

/* Adds the text to the notes and frees it. First copies the list of notes, because the trace's
 * answer may own the list. */
static void add_note(struct import_report *r, char *text)
{
    json_t *notes = r->notes ? json_copy(r->notes) : json_array();
    json_array_append_new(notes, json_text(text));
    free(text);
    json_decref(r->notes);
    r->notes = notes;
}

/* Fails if the folder holds a task that Hone must not replace. Hone may replace only a task that it
 * imported from the same file, which the task's description names. If the task was made from a
 * definition (definition.h), Hone knows it by its tolerance: a definition itself has none. */
static int check_folder(const char *dir, const struct trace_request *rq, bool *replaces,
                        struct err *err)
{
    char *task = xasprintf("%s/task.json", dir), *reference = xasprintf("%s/reference.c", dir);
    char *ours = xasprintf(IMPORT_DESCRIPTION, trace_shown(rq));
    json_t *j = file_exists(task) ? json_read_file(task, NULL, NULL) : NULL;
    const char *about = json_string_value(json_object_get(j, "description"));
    *replaces = (about && str_eq(about, ours)) ||
                (rq->only_declared && json_is_string(json_object_get(j, "reference")) &&
                 json_is_object(json_object_get(j, "tolerance")));
    bool is_free = !file_exists(task) && !file_exists(reference);
    json_decref(j);
    free(task);
    free(reference);
    free(ours);
    if (is_free || *replaces)
        return 0;
    return err_set(err, ERR_INPUT,
                   "'%s' holds a task that was not imported from %s: remove it, or give another "
                   "folder with --out",
                   dir, trace_shown(rq));
}

int import_module(struct importer *im, const struct trace_request *rq, const char *out,
                  struct import_report *r, struct err *err)
{
    uint64_t start = now_ns();
    struct import_files f = IMPORT_FILES_INIT;
    *r = (struct import_report){.name = rq->task ? xstrdup(rq->task) : name_of(rq->file, rq->name)};
    r->dir = xasprintf("%s/%s", out, r->name);
    bool existed = file_exists(r->dir), replaces = false;
    struct import_choice how = {.precision = im->precision, .floor = 1, .statistics = 1};
    json_t *found = NULL;
    if (check_folder(r->dir, rq, &replaces, err) == 0 && trace_check_sizes(rq, err) == 0)
        found = trace_and_write(rq, r->name, &how, &f, err);
    int rc = found ? 0 : -1;
    if (rc == 0) {
        r->compared = !rq->recorded;
        r->axes = json_array_size(json_object_get(json_object_get(found, "graph"), "axes"));
        r->notes = json_incref(json_object_get(found, "notes"));
        r->files = json_incref(json_object_get(found, "files"));
        rc = write_and_prove(im, rq, found, &f, r, err);
        if (rc < 0 && !existed)
            dir_remove(r->dir, NULL);
        if (rc == 0 && r->few_runs)
            add_note(r, xasprintf("a run of the reference takes long, so random rounding was tried "
                                  "in %llu runs, not in %d",
                                  (unsigned long long)r->few_runs, TOLERANCE_RUNS));
        if (rc == 0 && replaces)
            add_note(r, xstrdup("it replaces the task of an earlier import"));
    }
    r->seconds = (double)(now_ns() - start) / 1e9;
    json_decref(found);
    import_files_release(&f);
    return rc;
}

void import_report_release(struct import_report *r)
{
    free(r->name);
    free(r->dir);
    json_decref(r->notes);
    json_decref(r->files);
}
