/*
 * command.h - defines a subcommand. To add one, write cmd/NAME.c that ends in
 *
 *     const struct command cmd_NAME = {"name", "one line for `hone --help`", run};
 *
 * declare it in commands.h and add it to the table of main.c. The function `run` looks like this:
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
 * Results go to stdout, everything else to stderr.
 */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include "base/err.h"
#include "base/options.h"
#include "base/strbuf.h"

/* This cap is larger than the compile service's cap, so that for a file between the two the user
 * sees the message of the service. */
enum { CMD_MAX_SOURCE = 128 << 20 };

enum hone_exit {
    HONE_OK = 0,
    HONE_NEGATIVE = 1, /* the answer is no: the kernel is wrong, the task is broken */
    HONE_USAGE = 2,
    HONE_ENV = 3, /* this machine lacks something, or it failed */
    HONE_INTERRUPTED = 130
};

struct command {
    const char *name;
    const char *summary;
    int (*run)(int argc, const char **argv); /* argv[0] is the command's name */
};

/* True only in the program `hone-test` (docs/testing.md), which can switch a detector off. */
extern const bool hone_testing;
extern const char hone_version[]; /* "0.3.0" */

/* Runs the command of a table that argv[0] names. `of` is the name of the command that has this
 * table; "" for `hone` itself. */
int cmd_dispatch(const char *of, const struct command *const *table, size_t n, int argc,
                 const char **argv);

/* Parses the options and leaves only the operands in argv. Exits 0 after --help, 2 on bad usage. */
void cmd_parse(const struct options *spec, int *argc, const char **argv);
/* Prints what is wrong with the command line, and returns HONE_USAGE. */
int cmd_usage(const struct options *spec, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Reads a kernel file. If the file is too large for any compiler, the error's kind is ERR_INPUT,
 * because the file is at fault and not the machine. */
int cmd_read_source(const char *path, struct strbuf *out, struct err *err);
/* Prints text from an author. If stdout is a terminal, replaces control characters by '?'. */
void cmd_print_foreign(const char *text, size_t len);
/* Prints the error; returns the exit code for its kind. */
int cmd_fail(const struct err *err);

#endif
