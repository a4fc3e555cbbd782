/*
 * import.c - `hone import`: makes tasks from PyTorch modules, KernelBench problems and
 * FlashInfer-Bench definitions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/import_command.h"
#include "import/import_definition.h"
#include "sys/file.h"
#include "sys/interrupt.h"

/* ---- torch ----------------------------------------------------------------------------------- */

static int run_torch(int argc, const char **argv)
{
    const char *out = ".", *class = "torch", *recorded = NULL, *record = NULL;
    struct str_vec inputs = VEC_INIT, sizes = VEC_INIT;
    bool json = false;
    const struct option opts[] = {
        OPT_STR('o', "out", &out, "DIR",
                "make the task's folder in DIR (default: the current directory); replaces an\n"
                "earlier import of FILE.py, and no other task"),
        OPT_IMPORT_INPUT(&inputs),
        OPT_IMPORT_SIZE(&sizes),
        OPT_IMPORT_PRECISION(&class),
        OPT_STR(0, "save-trace", &record, "FILE", "write the traced graph and its facts to FILE"),
        OPT_IMPORT_TRACE(&recorded),
        OPT_FLAG(0, "json", &json, "print JSON"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone import torch [options] FILE.py[:NAME]",
        .about = "Makes a task from a PyTorch module or function. Runs FILE.py in HONE_PYTHON (or\n"
                 "python3), which must have PyTorch 2.6 or newer; the CPU will do. Without NAME,\n"
                 "Hone takes the class Model, else the only module, else the only function.",
        .example = "hone import torch model.py --out tasks/\n"
                   "hone import torch ops.py:swiglu --input x=float16[T,D] --size T=4096",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc != 1)
        return cmd_usage(&spec, "give one FILE.py");
    const char *name;
    char *file = cmd_split_python(argv[0], &name);
    struct trace_request rq = {.file = file,
                               .name = name,
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
    if (cmd_check_trace(&inputs, recorded, &err) < 0 ||
        cmd_read_precision(class, &precision, &err) < 0)
        return cmd_fail(&err);
    importer_open(&im, precision);
    cmd_say_importing(argv[0]);
    int rc = import_module(&im, &rq, out, &r, &err);
    if (rc == 0 && json)
        cmd_print_import_json(stdout, &r);
    else if (rc == 0)
        cmd_print_import(stdout, &r);
    import_report_release(&r);
    importer_close(&im);
    vec_release(&inputs);
    vec_release(&sizes);
    free(file);
    return rc < 0 ? cmd_fail(&err) : HONE_OK;
}

/* ---- kernelbench ----------------------------------------------------------------------------- */

/* "2_x.py" comes before "10_x.py". */
static int by_number(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    long i = strtol(x, NULL, 10), k = strtol(y, NULL, 10);
    return i != k ? (i > k) - (i < k) : strcmp(x, y);
}

static int list_files(const char *dir, const char *end, unsigned depth, struct name_vec *out,
                      struct err *err)
{
    struct name_vec names = VEC_INIT;
    if (dir_list(dir, &names, err) < 0)
        return -1;
    qsort(names.items, names.n, sizeof *names.items, by_number);
    int rc = 0;
    vec_each (char *, name, &names) {
        char *path = xasprintf("%s/%s", dir, *name);
        if (rc == 0 && file_is_dir(path) && depth < 4 && **name != '.')
            rc = list_files(path, end, depth + 1, out, err);
        if (str_ends(path, end))
            *vec_push(out) = path;
        else
            free(path);
    }
    name_vec_release(&names);
    return rc;
}

static void print_table_head(void)
{
    puts("# name\tseconds\tfree\tdifference\trounding\tmark\trefused");
}

/* Returns whether the import succeeded. */
static bool print_table_line(const struct import_report *r, const char *file, int rc,
                             const struct err *err)
{
    if (rc == 0)
        printf("%s\t%.1f\t%zu\t%.1e\t%.2f\t%s\t\n", r->name, r->seconds, r->axes, r->largest,
               r->rounding,
               r->accepts_wrong  ? "degenerate"
               : r->is_ill       ? "ill-conditioned"
               : r->needs_python ? "needs PyTorch"
               : r->few_runs     ? "few runs"
                                 : "");
    else
        printf("%s\t%.1f\t\t\t\t\t%s\n", r->name ? r->name : file, r->seconds, err->msg);
    fflush(stdout);
    return rc == 0;
}

static bool import_line(struct importer *im, const char *file, const char *out)
{
    struct trace_request rq = {.file = file, .name = "Model"};
    struct err err = ERR_INIT;
    struct import_report r = {0};
    cmd_say_importing(file);
    int rc = import_module(im, &rq, out, &r, &err);
    bool good = print_table_line(&r, file, rc, &err);
    import_report_release(&r);
    return good;
}

static int run_kernelbench(int argc, const char **argv)
{
    const char *out = ".", *class = "torch";
    const struct option opts[] = {
        OPT_STR(
            'o', "out", &out, "DIR",
            "make the tasks' folders in DIR (default: the current directory); replaces earlier\n"
            "imports of the same files, and no other task"),
        OPT_IMPORT_PRECISION(&class),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone import kernelbench [options] FILE.py | DIR",
        .about =
            "Makes tasks from problems of KernelBench: files with a class Model, get_inputs()\n"
            "and get_init_inputs(), or all .py files of a folder and of the folders in it.\n"
            "Prints a table: name, seconds, free sizes, the largest\n"
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
    if (cmd_read_precision(class, &precision, &err) < 0)
        return cmd_fail(&err);
    if (!file_is_dir(argv[0]))
        *vec_push(&files) = xstrdup(argv[0]);
    else if (list_files(argv[0], ".py", 0, &files, &err) < 0)
        return cmd_fail(&err);
    struct importer im;
    size_t good = 0;
    importer_open(&im, precision);
    print_table_head();
    vec_each (char *, file, &files)
        if (!interrupted())
            good += import_line(&im, *file, out);
    printf("# %zu of %zu imported\n", good, files.n);
    importer_close(&im);
    size_t n = files.n;
    name_vec_release(&files);
    return interrupted() ? HONE_INTERRUPTED : good == n ? HONE_OK : HONE_NEGATIVE;
}

/* ---- flashinfer-bench ------------------------------------------------------------------------ */

struct definition_wishes {
    const char *out, *class, *recorded, *record, *workloads;
    struct str_vec scalars, sizes;
    bool json;
};

static struct definition_request request_of(const struct definition_wishes *w, const char *path)
{
    return (struct definition_request){.path = path,
                                       .workloads = w->workloads,
                                       .scalars = w->scalars.items,
                                       .nscalars = w->scalars.n,
                                       .sizes = w->sizes.items,
                                       .nsizes = w->sizes.n,
                                       .recorded = w->recorded,
                                       .record = w->record};
}

static int import_set(struct importer *im, const char *root, const struct definition_wishes *w,
                      struct err *err)
{
    struct name_vec files = VEC_INIT;
    char *dir = xasprintf("%s/definitions", root);
    size_t good = 0;
    int rc = list_files(dir, ".json", 0, &files, err);
    free(dir);
    if (rc < 0)
        return cmd_fail(err);
    print_table_head();
    vec_each (char *, file, &files) {
        struct definition_request q = request_of(w, *file);
        q.in_set = true;
        struct import_report r;
        if (interrupted())
            break;
        err_clear(err);
        cmd_say_importing(*file);
        rc = import_definition(im, &q, w->out, &r, err);
        good += print_table_line(&r, *file, rc, err);
        import_report_release(&r);
    }
    printf("# %zu of %zu imported\n", good, files.n);
    size_t n = files.n;
    name_vec_release(&files);
    return interrupted() ? HONE_INTERRUPTED : good == n ? HONE_OK : HONE_NEGATIVE;
}

static int run_flashinfer(int argc, const char **argv)
{
    struct definition_wishes w = {.out = ".", .class = "torch"};
    const struct option opts[] = {
        OPT_STR(
            'o', "out", &w.out, "DIR",
            "make the tasks' folders in DIR (default: the current directory); replaces earlier\n"
            "imports of the same files, and no other task"),
        OPT_STR(0, "workloads", &w.workloads, "FILE",
                "DEFINITION.json: its workloads, as JSON Lines (default: those of its data set)"),
        OPT_STRS(
            0, "scalar", &w.scalars, "NAME=VALUE",
            "the value of a scalar: eps=1e-5 (default: that of the largest workload, else 1);\n"
            "once for each scalar. In a DIR it holds for every definition that has the scalar"),
        OPT_STRS(0, "size", &w.sizes, "NAME=N",
                 "the size of an axis at which to time (default 64); once for each axis. A\n"
                 "definition with workloads takes its sizes from them: for such a DEFINITION.json\n"
                 "Hone refuses --size; in a DIR, --size is for definitions without workloads"),
        OPT_IMPORT_PRECISION(&w.class),
        OPT_STR(0, "save-trace", &w.record, "FILE",
                "DEFINITION.json: write the traced graph and its facts to FILE"),
        OPT_STR(0, "trace", &w.recorded, "FILE",
                "DEFINITION.json: read the trace that --save-trace wrote; the reference does\n"
                "not run"),
        OPT_FLAG(0, "json", &w.json, "DEFINITION.json: print JSON"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone import flashinfer-bench [options] DEFINITION.json | DIR",
        .about = "Makes tasks from definitions of FlashInfer-Bench. DIR is a data set: a folder\n"
                 "with definitions/, workloads/ and blob/; Hone then prints a table. The\n"
                 "definition's reference runs in HONE_PYTHON (or python3), which must have\n"
                 "PyTorch 2.6 or newer; the CPU will do.",
        .example = "hone import flashinfer-bench set/definitions/rmsnorm/rmsnorm_h4096.json\n"
                   "hone import flashinfer-bench flashinfer-trace --out tasks/",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc != 1)
        return cmd_usage(&spec, "give one definition or data set");
    bool is_set = file_is_dir(argv[0]);
    if (is_set && (w.json || w.workloads || w.recorded || w.record))
        return cmd_usage(&spec,
                         "--%s is for one DEFINITION.json, and '%s' is a data set, whose import "
                         "prints a table",
                         w.json        ? "json"
                         : w.workloads ? "workloads"
                         : w.recorded  ? "trace"
                                       : "save-trace",
                         argv[0]);
    struct err err = ERR_INIT;
    struct importer im;
    struct import_report r = {.name = NULL};
    struct definition_request q = request_of(&w, argv[0]);
    enum import_precision precision = PRECISION_TORCH;
    if (cmd_read_precision(w.class, &precision, &err) < 0)
        return cmd_fail(&err);
    importer_open(&im, precision);
    int code;
    if (!is_set)
        cmd_say_importing(argv[0]);
    if (is_set) {
        code = import_set(&im, argv[0], &w, &err);
    } else if (import_definition(&im, &q, w.out, &r, &err) < 0) {
        code = cmd_fail(&err);
    } else {
        (w.json ? cmd_print_import_json : cmd_print_import)(stdout, &r);
        code = HONE_OK;
    }
    import_report_release(&r);
    importer_close(&im);
    vec_release(&w.scalars);
    vec_release(&w.sizes);
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static const struct command torch_cmd = {"torch", "a PyTorch module or function", run_torch};
static const struct command kernelbench_cmd = {"kernelbench", "problems of KernelBench",
                                               run_kernelbench};
static const struct command flashinfer_cmd = {"flashinfer-bench", "definitions of FlashInfer-Bench",
                                              run_flashinfer};
static const struct command *const table[] = {&torch_cmd, &kernelbench_cmd, &flashinfer_cmd};

static int run(int argc, const char **argv)
{
    const struct option opts[] = {OPT_END()};
    const struct options spec = {
        .usage = "hone import torch FILE.py[:NAME]\nhone import kernelbench FILE.py | DIR\n"
                 "hone import flashinfer-bench DEFINITION.json | DIR",
        .about = "Makes tasks from PyTorch code. docs/import.md explains how.",
        .example = "hone import torch model.py --out tasks/",
        .opts = opts,
        .stop_at_operand = true,
    };
    return cmd_forms("import", &spec, table, ARRAY_LEN(table), argc, argv);
}

const struct command cmd_import = {"import", "make tasks from PyTorch code", run};
