/*
 * options.h - a command's options, declared as a table.
 *
 *     bool json = false;
 *     const char *gpu = "h200";
 *     const struct option opts[] = {
 *         OPT_FLAG('j', "json", &json, "print JSON"),
 *         OPT_STR(0, "gpu", &gpu, "NAME", "the GPU to model (default h200)"),
 *         OPT_END(),
 *     };
 *     const struct options spec = {
 *         .usage = "hone emu [options] TASK kernel.cu",
 *         .about = "Runs a kernel on the emulator.",
 *         .example = "hone emu softmax kernels/softmax.cu",
 *         .opts = opts,
 *     };
 *     switch (options_parse(&spec, &argc, argv, err)) ...
 *
 * The parser understands --name VALUE, --name=VALUE, -nVALUE, bundled short flags, --no-FLAG,
 * --help and -h. "--" ends the options. Options may follow operands, except if stop_at_operand is
 * set. For an unknown option, the error suggests a similar name.
 */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/vec.h"

/* The C type of the variable, and the form of the value. */
enum option_type {
    OPTION_END,
    OPTION_GROUP, /* a title in --help */
    OPTION_FLAG,  /* bool; has no value */
    OPTION_COUNT, /* int; how often the option is given */
    OPTION_STR,   /* const char *; borrowed from argv */
    OPTION_STRS,  /* struct str_vec; an element each time */
    OPTION_INT,   /* int64_t; decimal, or hexadecimal such as 0x10; never octal */
    OPTION_UINT,  /* uint64_t; like OPTION_INT */
    OPTION_REAL,  /* double; finite */
    OPTION_BYTES, /* uint64_t; such as 512, 64K or 64KiB, 2M, 6G, 1T, in powers of 1024 */
    OPTION_TIME /* uint64_t, nanoseconds; such as 500ns, 20us, 10ms, 2s or 2, 5m or 5min, 1h, 1d */
};

VEC_DECL(str_vec, const char *);

struct option {
    enum option_type type;
    char letter;
    const char *name; /* without dashes; for a group, its title */
    void *value;      /* the variable that gets the value */
    const char *arg;  /* stands for the value in --help */
    const char *help;
    bool positive; /* the number must be above 0, because 0 means "not given" */
    uint64_t most; /* for OPTION_UINT; 0 means no limit */
};

#define OPT_FLAG(c, name, v, help)                              \
    {                                                           \
        OPTION_FLAG, c, name, (bool *){v}, NULL, help, false, 0 \
    }
#define OPT_COUNT(c, name, v, help)                             \
    {                                                           \
        OPTION_COUNT, c, name, (int *){v}, NULL, help, false, 0 \
    }
#define OPT_STR(c, name, v, arg, help)                               \
    {                                                                \
        OPTION_STR, c, name, (const char **){v}, arg, help, false, 0 \
    }
#define OPT_STRS(c, name, v, arg, help)                                  \
    {                                                                    \
        OPTION_STRS, c, name, (struct str_vec *){v}, arg, help, false, 0 \
    }
#define OPT_INT(c, name, v, arg, help)                           \
    {                                                            \
        OPTION_INT, c, name, (int64_t *){v}, arg, help, false, 0 \
    }
#define OPT_UINT(c, name, v, arg, help)                            \
    {                                                              \
        OPTION_UINT, c, name, (uint64_t *){v}, arg, help, false, 0 \
    }
#define OPT_REAL(c, name, v, arg, help)                          \
    {                                                            \
        OPTION_REAL, c, name, (double *){v}, arg, help, false, 0 \
    }
#define OPT_BYTES(c, name, v, arg, help)                            \
    {                                                               \
        OPTION_BYTES, c, name, (uint64_t *){v}, arg, help, false, 0 \
    }
#define OPT_TIME(c, name, v, arg, help)                            \
    {                                                              \
        OPTION_TIME, c, name, (uint64_t *){v}, arg, help, false, 0 \
    }
#define OPT_POS_UINT(c, name, v, arg, help)                       \
    {                                                             \
        OPTION_UINT, c, name, (uint64_t *){v}, arg, help, true, 0 \
    }
#define OPT_UINT_MOST(c, name, v, most, arg, help)                    \
    {                                                                 \
        OPTION_UINT, c, name, (uint64_t *){v}, arg, help, false, most \
    }
#define OPT_POS_UINT_MOST(c, name, v, most, arg, help)               \
    {                                                                \
        OPTION_UINT, c, name, (uint64_t *){v}, arg, help, true, most \
    }
#define OPT_POS_REAL(c, name, v, arg, help)                     \
    {                                                           \
        OPTION_REAL, c, name, (double *){v}, arg, help, true, 0 \
    }
#define OPT_POS_BYTES(c, name, v, arg, help)                       \
    {                                                              \
        OPTION_BYTES, c, name, (uint64_t *){v}, arg, help, true, 0 \
    }
#define OPT_POS_TIME(c, name, v, arg, help)                       \
    {                                                             \
        OPTION_TIME, c, name, (uint64_t *){v}, arg, help, true, 0 \
    }
#define OPT_GROUP(title)                                   \
    {                                                      \
        OPTION_GROUP, 0, title, NULL, NULL, NULL, false, 0 \
    }
#define OPT_END()                                       \
    {                                                   \
        OPTION_END, 0, NULL, NULL, NULL, NULL, false, 0 \
    }

struct options {
    const char *usage;   /* the forms of the command, one on each line */
    const char *about;   /* --help keeps its line breaks */
    const char *example; /* command lines, one on each line */
    const struct option *opts;
    bool stop_at_operand; /* the first operand ends the options: it is a subcommand */
};

enum options_status { OPTIONS_OK, OPTIONS_HELP, OPTIONS_BAD };

/*
 * Skips argv[0], the command's name. After OPTIONS_OK, argv and *argc hold only the operands, the
 * first in argv[0]. After OPTIONS_HELP, print options_help(). After OPTIONS_BAD, *err says what is
 * wrong.
 */
enum options_status options_parse(const struct options *spec, int *argc, const char **argv,
                                  struct err *err);
void options_help(const struct options *spec, FILE *out);

const char *suggest_word(const char *typed, const char *const *words, size_t n);

/* Parses a number as OPTION_BYTES does. Returns 0 or -1. */
int parse_bytes(const char *s, uint64_t *out);

#endif
