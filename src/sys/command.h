/*
 * command.h - a program with subcommands: the table, dispatch, --help, exit statuses.
 *
 * To add a subcommand, write NAME.c that ends in
 *
 *     const struct command cmd_NAME = {"name", "one line for --help", run};
 *
 * and add it to the program's table. The function `run` looks like this:
 *
 *     static int run(int argc, const char **argv)
 *     {
 *         ...
 *         cmd_parse(&spec, &argc, argv);            exits for --help and bad usage
 *         if (argc != 1)
 *             return cmd_usage(&spec, "give one TASK");
 *         if (task_load(...) < 0)
 *             return cmd_fail(&err);
 *         return HONE_OK;
 *     }
 *
 * Two hidden commands are for shells and for `make install`:
 *
 *     hone __complete WORD...    prints the completions of the last WORD, which may be empty
 *     hone __man [COMMAND...]    prints the manual page
 *
 * Both call run() of the named command, and cmd_parse prints the completions or the page and exits.
 * Results go to stdout, everything else to stderr.
 */
#ifndef SYS_COMMAND_H
#define SYS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "base/options.h"

enum hone_exit {
    HONE_OK = 0,
    /* the answer is no: for example, the kernel is wrong */
    HONE_NEGATIVE = 1,
    HONE_USAGE = 2,
    HONE_ENV = 3, /* something on this machine is missing or failed */
    HONE_INTERRUPTED = 130
};

struct command {
    const char *name;
    const char *summary;
    int (*run)(int argc, const char **argv); /* argv[0] is the command's name */
};

struct program {
    const char *name;                   /* "hone": begins every message */
    const char *version;                /* "0.3.0" */
    const char *about;                  /* one sentence for --help */
    const struct command *const *table; /* in the order of --help */
    size_t n;
    /* Prints, one per line, the words for a placeholder of the usage, such as "TASK". If the
     * placeholder is the value of an option, `option` is its name, such as "strategy", else "".
     * Returns false if it knows no words. May be NULL. */
    bool (*names)(const char *placeholder, const char *option, FILE *out);
};

/* Catches signals, runs the command, checks that stdout was written. */
int program_main(const struct program *p, int argc, char **argv);

/* Runs the command whose name is argv[0]. `of` is the command that has these subcommands, or "" for
 * the program. */
int cmd_dispatch(const char *of, const struct command *const *table, size_t n, int argc,
                 const char **argv);

/* For run() of a command that only has subcommands: runs one of them, or prints the command's help.
 * `frame` has the command's own usage and help text. */
int cmd_forms(const char *of, const struct options *frame, const struct command *const *table,
              size_t n, int argc, const char **argv);

/* True for __complete and __man. Then every command must call cmd_parse, which prints and exits. */
bool cmd_is_described(void);

/* Leaves only the operands in argv. Exits 0 after --help, 2 on bad usage. */
void cmd_parse(const struct options *spec, int *argc, const char **argv);
/* Prints the problem, and returns HONE_USAGE. */
int cmd_usage(const struct options *spec, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints the error, and returns the exit status for its kind. */
int cmd_fail(const struct err *err);

#endif
