/* import_command.c - imports a PyTorch file, for `hone import` and for `hone optimize FILE.py`: the
 * options, the import and the report (import_command.h). */
#include "cmd/import_command.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "import/reuse.h"
#include "sys/json.h"

bool cmd_is_python(const char *operand)
{
    return str_ends(operand, ".py") || strstr(operand, ".py:");
}

char *cmd_split_python(const char *operand, const char **name)
{
    const char *colon = strrchr(operand, ':');
    bool given = colon && !strchr(colon, '/') && !str_ends(operand, ".py");
    *name = given ? colon + 1 : "";
    return given ? xstrndup(operand, (size_t)(colon - operand)) : xstrdup(operand);
}

int cmd_check_trace(const struct str_vec *inputs, const char *recorded, struct err *err)
{
    if (!inputs->n || !recorded)
        return 0;
    return err_set(
        err, ERR_USAGE,
        "--input %s: the file of --trace has the dtypes and shapes already; leave one of "
        "the two options out",
        inputs->items[0]);
}

int cmd_read_precision(const char *word, enum import_precision *out, struct err *err)
{
    static const char *const words[] = {"torch", "fp32", "tf32"};
    for (int i = 0; i < (int)ARRAY_LEN(words); i++)
        if (str_eq(word, words[i])) {
            *out = (enum import_precision)i;
            return 0;
        }
    return err_set(err, ERR_USAGE, "--precision %s: give torch, fp32 or tf32", word);
}

void cmd_say_importing(const char *operand)
{
    fprintf(stderr, "hone: importing %s ...\n", operand);
}

/* Prints notes on the task, which was imported just now or earlier. */
static void print_notes(FILE *f, const struct import_report *r)
{
    size_t i;
    json_t *note;
    if (r->accepts_wrong)
        fputs("  note: the outputs hardly depend on the inputs, so a constant kernel would pass\n",
              f);
    json_array_foreach(r->notes, i, note) if (json_is_string(note))
        fprintf(f, "  note: %s\n", json_string_value(note));
}

void cmd_print_import(FILE *f, const struct import_report *r)
{
    fprintf(f, "%s: %zu free size%s\n", r->dir, r->axes, r->axes == 1 ? "" : "s");
    if (r->needs_python) {
        print_notes(f, r);
        return;
    }
    if (r->compared)
        fprintf(f, "  agrees with PyTorch in double: largest difference %.2g\n", r->largest);
    else
        fputs("  not compared with PyTorch: the trace is a recorded one\n", f);
    fprintf(f, "  with random rounding, the largest error is %.2f of the tolerance\n", r->rounding);
    print_notes(f, r);
}

void cmd_print_import_json(FILE *f, const struct import_report *r)
{
    json_t *j =
        json_pack("{s:o, s:o, s:I, s:b, s:o, s:o, s:b, s:b, s:I, s:o}", "name", json_text(r->name),
                  "dir", json_text(r->dir), "free_sizes", (json_int_t)r->axes, "compared",
                  r->compared, "largest_difference", json_from_double(r->largest), "rounding",
                  json_from_double(r->rounding), "accepts_wrong", r->accepts_wrong,
                  "ill_conditioned", r->is_ill, "few_runs", (json_int_t)r->few_runs, "notes",
                  r->notes ? json_incref(r->notes) : json_array());
    json_print(f, j);
    json_decref(j);
}

/* Returns the folder `imported` beside the store: "hone-out/imported" for "hone-out/hone.db". */
static char *imported_beside(const char *store)
{
    const char *slash = strrchr(store, '/');
    return slash ? xasprintf("%.*s/imported", (int)(slash - store), store) : xstrdup("imported");
}

char *cmd_import_for_run(const char *operand, const struct import_wishes *w, const char *store,
                         bool quiet, struct err *err)
{
    enum import_precision precision = PRECISION_TORCH;
    struct importer im;
    struct import_report r;
    bool reused;
    struct trace_request rq = {.inputs = w->inputs.items,
                               .ninputs = w->inputs.n,
                               .sizes = w->sizes.items,
                               .nsizes = w->sizes.n,
                               .recorded = w->recorded};
    if (cmd_check_trace(&w->inputs, w->recorded, err) < 0 ||
        (w->precision && cmd_read_precision(w->precision, &precision, err) < 0))
        return NULL;
    char *file = cmd_split_python(operand, &rq.name), *root = imported_beside(store), *dir = NULL;
    rq.file = file;
    importer_open(&im, precision);
    if (!quiet)
        cmd_say_importing(operand);
    if (import_or_reuse(&im, &rq, root, &r, &reused, err) == 0)
        dir = xstrdup(r.dir);
    if (dir && !quiet && reused) {
        fprintf(stderr, "%s: imported before; nothing has changed since\n", dir);
        print_notes(stderr, &r);
    } else if (dir && !quiet) {
        cmd_print_import(stderr, &r);
    }
    import_report_release(&r);
    importer_close(&im);
    free(file);
    free(root);
    return dir;
}
