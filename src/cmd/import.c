/*
 * import.c - `hone import`: makes tasks from PyTorch modules and from problems of KernelBench.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "import/import.h"
#include "sys/file.h"
#include "sys/interrupt.h"
#include "sys/json.h"

static void print_report(const struct import_report *r)
{
    size_t i;
    json_t *note;
    printf("%s: %zu free size%s\n", r->dir, r->axes, r->axes == 1 ? "" : "s");
    if (r->compared)
        printf("  agrees with PyTorch in double: largest difference %.2g\n", r->largest);
    else
        puts("  not compared with PyTorch: the trace is a recorded one");
    printf("  random rounding reaches %.2f of the tolerance\n", r->rounding);
    if (r->accepts_wrong)
        puts("  note: the outputs hardly depend on the inputs, so a constant kernel would pass");
    json_array_foreach(r->notes, i, note) if (json_is_string(note))
        printf("  note: %s\n", json_string_value(note));
}

static void print_report_json(const struct import_report *r)
{
    json_t *j = json_pack("{s:o, s:o, s:I, s:b, s:o, s:o, s:b, s:b, s:o}", "name",
                          json_text(r->name), "dir", json_text(r->dir), "free_sizes",
                          (json_int_t)r->axes, "compared", r->compared, "largest_difference",
                          json_from_double(r->largest), "rounding", json_from_double(r->rounding),
                          "accepts_wrong", r->accepts_wrong, "ill_conditioned", r->is_ill, "notes",
                          r->notes ? json_incref(r->notes) : json_array());
    json_print(stdout, j);
    json_decref(j);
}

static int read_precision(const char *word, enum import_precision *out, struct err *err)
{
    static const char *const words[] = {"torch", "fp32", "tf32"};
    for (int i = 0; i < (int)ARRAY_LEN(words); i++)
        if (str_eq(word, words[i])) {
            *out = (enum import_precision)i;
            return 0;
        }
    return err_set(err, ERR_USAGE, "--precision %s: give torch, fp32 or tf32", word);
}

#define OPT_PRECISION(v)                                                                   \
    OPT_STR(0, "precision", v, "CLASS",                                                    \
            "torch: as PyTorch does it, float32 products exact and convolutions in TF32\n" \
            "(default); fp32 or tf32: all of them so")

/* ---- torch ----------------------------------------------------------------------------------- */

static int run_torch(int argc, const char **argv)
{
    const char *out = ".", *class = "torch", *recorded = NULL, *record = NULL;
    struct str_vec inputs = VEC_INIT, sizes = VEC_INIT;
    bool json = false;
    const struct option opts[] = {
        OPT_STR('o', "out", &out, "DIR", "make the task's folder in DIR (default: here)"),
        OPT_STRS(0, "input", &inputs, "NAME=TYPE",
                 "an argument, if the file has no get_inputs(): x=float16[B,128]"),
        OPT_STRS(0, "size", &sizes, "NAME=N", "a size of --input at which to time: B=4096"),
        OPT_PRECISION(&class),
        OPT_STR(0, "save-trace", &record, "FILE", "write the traced graph and its facts to FILE"),
        OPT_STR(0, "trace", &recorded, "FILE", "read them from FILE; FILE.py does not run"),
        OPT_FLAG(0, "json", &json, "print JSON"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone import torch [options] FILE.py[:NAME]",
        .about = "Makes a task from a PyTorch module or function. Runs FILE.py in HONE_PYTHON (or\n"
                 "python3), which must have PyTorch 2.6 or newer; the CPU will do.",
        .example = "hone import torch model.py --out tasks/\n"
                   "hone import torch ops.py:swiglu --input x=float16[T,D] --size T=4096",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc != 1)
        return cmd_usage(&spec, "give one FILE.py");
    const char *colon = strrchr(argv[0], ':');
    char *file = colon ? xstrndup(argv[0], (size_t)(colon - argv[0])) : xstrdup(argv[0]);
    struct trace_request rq = {.file = file,
                               .name = colon ? colon + 1 : "",
                               .inputs = inputs.items,
                               .ninputs = inputs.n,
                               .sizes = sizes.items,
                               .nsizes = sizes.n,
                               .recorded = recorded,
                               .record = record};
    struct err err = ERR_INIT;
    struct importer im;
    struct import_report r = {.name = NULL};
    enum import_precision precision = PRECISION_TORCH;
    if (read_precision(class, &precision, &err) < 0)
        return cmd_fail(&err);
    importer_open(&im, precision);
    int rc = import_module(&im, &rq, out, &r, &err);
    if (rc == 0 && json)
        print_report_json(&r);
    else if (rc == 0)
        print_report(&r);
    import_report_release(&r);
    importer_close(&im);
    vec_release(&inputs);
    vec_release(&sizes);
    free(file);
    return rc < 0 ? cmd_fail(&err) : HONE_OK;
}

/* ---- kernelbench ----------------------------------------------------------------------------- */

/* Files are numbered: "2_x.py" comes before "10_x.py". */
static int by_number(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    long i = strtol(x, NULL, 10), k = strtol(y, NULL, 10);
    return i != k ? (i > k) - (i < k) : strcmp(x, y);
}

/* Adds the Python files in a folder and in the folders inside it. */
static int list_files(const char *dir, unsigned depth, struct name_vec *out, struct err *err)
{
    struct name_vec names = VEC_INIT;
    if (dir_list(dir, &names, err) < 0)
        return -1;
    qsort(names.items, names.n, sizeof *names.items, by_number);
    int rc = 0;
    vec_each (char *, name, &names) {
        char *path = xasprintf("%s/%s", dir, *name);
        if (rc == 0 && file_is_dir(path) && depth < 4 && **name != '.')
            rc = list_files(path, depth + 1, out, err);
        if (str_ends(path, ".py"))
            *vec_push(out) = path;
        else
            free(path);
    }
    name_vec_release(&names);
    return rc;
}

/* One line of the table. */
static bool import_line(struct importer *im, const char *file, const char *out)
{
    struct trace_request rq = {.file = file, .name = "Model"};
    struct err err = ERR_INIT;
    struct import_report r;
    int rc = import_module(im, &rq, out, &r, &err);
    if (rc == 0)
        printf("%s\t%.1f\t%zu\t%.1e\t%.2f\t%s\t\n", r.name, r.seconds, r.axes, r.largest,
               r.rounding,
               r.accepts_wrong ? "degenerate"
               : r.is_ill      ? "ill-conditioned"
                               : "");
    else
        printf("%s\t%.1f\t\t\t\t\t%s\n", r.name, r.seconds, err.msg);
    fflush(stdout);
    import_report_release(&r);
    return rc == 0;
}

static int run_kernelbench(int argc, const char **argv)
{
    const char *out = ".", *class = "torch";
    const struct option opts[] = {
        OPT_STR('o', "out", &out, "DIR", "make the tasks' folders in DIR (default: here)"),
        OPT_PRECISION(&class),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone import kernelbench [--out DIR] FILE.py | DIR",
        .about =
            "Makes tasks from problems of KernelBench: files with a class Model, get_inputs()\n"
            "and get_init_inputs(). Prints a table: name, seconds, free sizes, the largest\n"
            "difference from PyTorch in double, how much of the tolerance random rounding\n"
            "reaches, marks, and why a problem was refused.",
        .example = "hone import kernelbench KernelBench/level1 --out tasks/",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc != 1)
        return cmd_usage(&spec, "give one file or folder");
    struct err err = ERR_INIT;
    struct name_vec files = VEC_INIT;
    enum import_precision precision = PRECISION_TORCH;
    if (read_precision(class, &precision, &err) < 0)
        return cmd_fail(&err);
    if (!file_is_dir(argv[0]))
        *vec_push(&files) = xstrdup(argv[0]);
    else if (list_files(argv[0], 0, &files, &err) < 0)
        return cmd_fail(&err);
    struct importer im;
    size_t good = 0;
    importer_open(&im, precision);
    puts("# name\tseconds\tfree\tdifference\trounding\tmark\trefused");
    vec_each (char *, file, &files)
        if (!interrupted())
            good += import_line(&im, *file, out);
    printf("# %zu of %zu imported\n", good, files.n);
    importer_close(&im);
    size_t n = files.n;
    name_vec_release(&files);
    return interrupted() ? HONE_INTERRUPTED : good == n ? HONE_OK : HONE_NEGATIVE;
}

/* ---- the command ----------------------------------------------------------------------------- */

static const struct command torch_cmd = {"torch", "a PyTorch module or function", run_torch};
static const struct command kernelbench_cmd = {"kernelbench", "problems of KernelBench",
                                               run_kernelbench};
static const struct command *const table[] = {&torch_cmd, &kernelbench_cmd};

static int run(int argc, const char **argv)
{
    const struct option opts[] = {OPT_END()};
    const struct options spec = {
        .usage = "hone import torch FILE.py[:NAME]\nhone import kernelbench FILE.py | DIR",
        .about = "Makes tasks from PyTorch modules. docs/import.md explains how.",
        .example = "hone import torch model.py --out tasks/",
        .opts = opts,
        .stop_at_operand = true,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc < 1)
        return cmd_usage(&spec, "give torch or kernelbench");
    return cmd_dispatch("import", table, ARRAY_LEN(table), argc, argv);
}

const struct command cmd_import = {"import", "make tasks from PyTorch modules", run};
