/*
 * suite.h - makes the list of tasks of a campaign, from a suite's file or from operands of
 * `hone bench`.
 *
 * A suite is a text file with one task in each line. docs/bench.md describes it:
 *
 *     # comment
 *     softmax                                                          a built-in task
 *     tasks/my_op                                                      a task's folder
 *     ops.py:matmul A=float32[M,K] B=float32[K,N] M=4096 K=64 N=4096   a function of a PyTorch file
 *
 * Paths are relative to the file, and stay below its folder. Anyone may have written a suite, so
 * every line is checked.
 */
#ifndef CAMPAIGN_SUITE_H
#define CAMPAIGN_SUITE_H

#include <jansson.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "base/vec.h"

#define SUITE_MAX_TEXT (1u << 20) /* bytes */
#define SUITE_MAX_LINE 4096       /* bytes */
#define SUITE_MAX_ITEMS 5000
#define SUITE_MAX_WORDS 64

/* An operand that begins with this text is a file of a built-in suite. The file is embedded in the
 * program. */
#define SUITE_ASSET "asset:"

struct suite_item {
    const char *label;   /* the task's name in tables */
    const char *operand; /* a built-in task, a folder, FILE.py or FILE.py:NAME */
    /* The following members are only for FILE.py. A `precision` of "" means the precision that
     * PyTorch uses. */
    const char *precision;
    struct str_vec inputs, sizes; /* inputs such as "x=float16[B,128]", sizes such as "B=64" */
};
VEC_DECL(suite_item_vec, struct suite_item);

/* Reads a suite. Error messages begin with `name`. Paths in the suite are relative to `folder` (""
 * means the current folder). Texts live in the arena. After an error, `out` holds the items before
 * the wrong line. */
int suite_parse(const char *text, size_t len, const char *name, const char *folder,
                struct suite_item_vec *out, struct arena *a, struct err *err);
/* Adds the tasks that an operand of `hone bench` names: a built-in task, a built-in suite, a
 * suite's file, a task's folder, FILE.py[:NAME], or a folder with task folders or PyTorch files. */
int suite_add(const char *operand, struct suite_item_vec *out, struct arena *a, struct err *err);
void suite_release(struct suite_item_vec *v);
/* Is the operand FILE.py or FILE.py:NAME? */
bool suite_is_python(const char *operand);
/* Returns where the name of a problem begins in a path, and sets *len to the length of the name.
 * The name is the last part of the path, without ".py" or "/" at its end, such as "1_Square" in
 * "level1/1_Square.py". */
const char *suite_problem_name(const char *operand, size_t *len);
/* Appends a line for each built-in suite, such as "  cutegen19  the nineteen tasks ...". */
void suite_list(struct strbuf *out);

/* suite_options() returns, as JSON, the options with which to import an item. suite_read_options()
 * reads them back from the text of this JSON. */
json_t *suite_options(const struct suite_item *i);
int suite_read_options(const char *text, struct suite_item *out, struct arena *a, struct err *err);

#endif
