/*
 * suite.h - lists the tasks of a campaign, from a suite's file or from operands of `hone bench`.
 *
 * A suite is a text file with one task in each line (docs/bench.md):
 *
 *     # comment
 *     softmax                                                          a built-in task
 *     tasks/my_op                                                      a task's folder
 *     ops.py:matmul A=float32[M,K] B=float32[K,N] M=4096 K=64 N=4096   a function of a PyTorch file
 *
 * Paths are relative to the file, and stay below its folder.
 */
#ifndef CAMPAIGN_SUITE_H
#define CAMPAIGN_SUITE_H

#include <jansson.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "eval/torch_program.h"

#define SUITE_MAX_TEXT (1u << 20) /* bytes */
#define SUITE_MAX_LINE 4096       /* bytes */
#define SUITE_MAX_ITEMS 5000
#define SUITE_MAX_WORDS 64

/* An operand that begins with this text is an embedded file of a built-in suite. */
#define SUITE_ASSET "asset:"

struct suite_item {
    const char *label;              /* name in tables */
    const char *operand;            /* a built-in task, a folder, FILE.py or FILE.py:NAME */
    const char *precision;          /* only for FILE.py; "" means PyTorch's own precision */
    struct str_vec inputs, sizes;   /* only for FILE.py, such as "x=float16[B,128]" and "B=64" */
    const char *against;            /* file of a PyTorch program to use as a baseline, or "" */
    struct torch_programs programs; /* the text of `against`, if it was read */
};
VEC_DECL(suite_item_vec, struct suite_item);

/* `name` is for error messages. Paths are relative to `folder`; "" is the current folder. Texts
 * live in the arena. After an error, `out` holds the items before the wrong line. */
int suite_parse(const char *text, size_t len, const char *name, const char *folder,
                struct suite_item_vec *out, struct arena *a, struct err *err);
/* Appends the tasks that an operand names. The operand is a built-in task or suite, a suite's file,
 * FILE.py[:NAME] or a folder: the folder of a task, or one that contains task folders or PyTorch
 * files. */
int suite_add(const char *operand, struct suite_item_vec *out, struct arena *a, struct err *err);
void suite_release(struct suite_item_vec *v);
bool suite_is_python(const char *operand);
/* Finds the problem's name in a path, such as "1_Square" in "level1/1_Square.py". Returns where it
 * begins and sets *len. */
const char *suite_problem_name(const char *operand, size_t *len);

/* Reads the file `against` of an item into `programs`. */
int suite_read_program(struct suite_item *i, struct arena *a, struct err *err);
/* Returns the precision, inputs, sizes and programs of an item as JSON. */
json_t *suite_options(const struct suite_item *i);
int suite_read_options(const char *text, struct suite_item *out, struct arena *a, struct err *err);

#endif
