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
 * The parser understands --name VALUE, --name=VALUE, -nVALUE, bundled short flags, --no-FLAG, and
 * --help and -h, which no table lists. "--" ends the options. Options and operands may be mixed,
 * unless stop_at_operand is set. For an unknown option, the error suggests the nearest one, if one
 * is near.
 */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/vec.h"

enum option_type {
    OPTION_END,
    OPTION_GROUP,
    OPTION_FLAG,  /* bool */
    OPTION_COUNT, /* int, counts how often the option is given */
    OPTION_STR,   /* const char *, borrowed from argv */
    OPTION_STRS,  /* struct str_vec, one element for each time the option is given */
    OPTION_INT,   /* int64_t: decimal, or hexadecimal as 0x10; never octal */
    OPTION_UINT,  /* uint64_t, written in the same way */
    OPTION_REAL,  /* double, finite */
    OPTION_BYTES, /* uint64_t: 512, 64K, 2M, 6G, 1T (powers of 1024; 64KiB is 64K) */
    OPTION_TIME   /* uint64_t in ns: 500ns, 20us, 10ms, 2s (also bare 2), 5m (or 5min), 1h, 1d */
};

VEC_DECL(str_vec, const char *);

struct option {
    enum option_type type;
    char letter;      /* 0 = none */
    const char *name; /* long name, without dashes; for a group, its title */
    void *value;
    const char *arg; /* placeholder in --help */
    const char *help;
    bool positive; /* INT to TIME: the value must be above 0, because the program uses 0 for "not
                      given" */
    uint64_t most; /* UINT: the largest value; 0 = no limit */
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
/* Like OPT_UINT, but the value must be above 0. */
#define OPT_POS_UINT(c, name, v, arg, help)                       \
    {                                                             \
        OPTION_UINT, c, name, (uint64_t *){v}, arg, help, true, 0 \
    }
/* Like OPT_UINT and OPT_POS_UINT, but the value must be at most `most`. */
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
    const char *usage;   /* one form per line, each beginning with the program's name */
    const char *about;   /* a sentence or a short paragraph; --help keeps its line breaks */
    const char *example; /* one example per line */
    const struct option *opts;
    bool stop_at_operand; /* the first operand ends the options: for a command with subcommands */
};

enum options_status { OPTIONS_OK, OPTIONS_HELP, OPTIONS_BAD };

/*
 * Skips argv[0]. On OPTIONS_OK, argv[0..*argc) holds only the operands (argv[0] is the first
 * operand). On OPTIONS_HELP the caller prints options_help(). On OPTIONS_BAD err says what is
 * wrong.
 */
enum options_status options_parse(const struct options *spec, int *argc, const char **argv,
                                  struct err *err);
void options_help(const struct options *spec, FILE *out);

/* Returns the word nearest to a mistyped one, or NULL if none is near. */
const char *suggest_word(const char *typed, const char *const *words, size_t n);

/* Parses a number of bytes such as "64K", as options do. Returns 0 or -1. */
int parse_bytes(const char *s, uint64_t *out);

#endif
