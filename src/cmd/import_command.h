/*
 * import_command.h - what `hone import` and `hone optimize FILE.py` share: options, the printed
 * report, and the import before a run.
 */
#ifndef CMD_IMPORT_COMMAND_H
#define CMD_IMPORT_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

#include "base/options.h"
#include "import/import.h"

struct import_wishes {
    const char *precision; /* NULL = torch */
    struct str_vec inputs, sizes;
    const char *recorded; /* a recorded trace; NULL = run the file */
};

#define OPT_IMPORT_INPUT(v)                                                                       \
    OPT_STRS(0, "input", v, "NAME=TYPE",                                                          \
             "dtype and shape of an argument: x=float16[B,2*D], or a value: n=3; once for each\n" \
             "argument up to the last one you want to set. w=float16[B,D]*0.02 has values with\n" \
             "the standard deviation 0.02 (default 1). get_inputs() is then not called; later\n"  \
             "arguments have their defaults. Excludes --trace")
#define OPT_IMPORT_SIZE(v)                                                                  \
    OPT_STRS(0, "size", v, "NAME=N",                                                        \
             "B=4096: time with this value of a size that an --input names (default 64);\n" \
             "once for each size")
#define OPT_IMPORT_PRECISION(v)                                                             \
    OPT_STR(0, "precision", v, "CLASS",                                                     \
            "how exactly kernels must compute with float32. torch (default), as PyTorch:\n" \
            "products in float32, convolutions in TF32; fp32: both float32; tf32: both TF32")
#define OPT_IMPORT_TRACE(v)                                                                       \
    OPT_STR(0, "trace", v, "FILE",                                                                \
            "read the trace that `hone import --save-trace` wrote; FILE.py then only gives the\n" \
            "task its name, and neither runs nor has to exist")

/* Returns true for FILE.py and FILE.py:NAME. */
bool cmd_is_python(const char *operand);
/* Returns the file without ":NAME"; the caller frees it. *name becomes NAME, or "". */
char *cmd_split_python(const char *operand, const char **name);
/* Refuses --input beside --trace, which has the inputs already. */
int cmd_check_trace(const struct str_vec *inputs, const char *recorded, struct err *err);
int cmd_read_precision(const char *word, enum import_precision *out, struct err *err);
/* Says on stderr that an import has begun: it may take minutes. */
void cmd_say_importing(const char *operand);
void cmd_print_import(FILE *f, const struct import_report *r);
void cmd_print_import_json(FILE *f, const struct import_report *r);

/* Imports FILE.py[:NAME] into the folder `imported` beside the store, unless it is there already.
 * If `quiet` is false, says on stderr where the task is. Returns the task's folder, which the
 * caller frees, or NULL. */
char *cmd_import_for_run(const char *operand, const struct import_wishes *w, const char *store,
                         bool quiet, struct err *err);

#endif
