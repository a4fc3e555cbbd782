/*
 * playbook_functions.h - PyTorch's elementwise functions, and how C writes them.
 *
 * $0, $1, ... are the arguments; absent ones take the defaults, in order. max_nan and min_nan
 * (playbooks/parts/values.cu) keep a NaN, as PyTorch does.
 */
#ifndef AUTHOR_PLAYBOOK_FUNCTIONS_H
#define AUTHOR_PLAYBOOK_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>

#define TORCH_MAX_ARGS 4
#define TORCH_INFINITE "__int_as_float(0x7f800000)"

struct torch_function {
    const char *name;
    unsigned least, most;
    const char *c;
    const char *defaults[TORCH_MAX_ARGS];
};

/* Of floats, which what is none becomes; those that stay integers where all arguments are; those
 * that say yes or no, of whatever type. */
enum function_table { OF_REALS, OF_WHOLES, TESTS };

/* NULL if the table has none of that name with so many arguments. */
const struct torch_function *torch_function(enum function_table in, const char *name, size_t len,
                                            unsigned args);
/* An operator by another name: "add" is "+". NULL if it is none. */
const char *torch_operator(const char *name, size_t len);
/* Is it in any of the tables? */
bool torch_knows(const char *name, size_t len);

#endif
