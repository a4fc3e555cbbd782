/*
 * command.h - a program with subcommands: the table, dispatch, --help, exit statuses.
 *
 * To add a subcommand, write NAME.c with
 *
 *     const struct command cmd_NAME = {"name", "one line for --help", run};
 *
 * and add it to the program's table. Its run() looks like this:
 *
 *     cmd_parse(&spec, &argc, argv);            exits for --help and bad usage
 *     if (argc != 1)
 *         return cmd_usage(&spec, "give one TASK");
 *     if (task_load(...) < 0)
 *         return cmd_fail(&err);
 *     return HONE_OK;
 *
 * `hone __complete WORD...` prints completions of the last WORD, `hone __man [COMMAND...]` prints
 * the manual page. Both call the command's run(), in which cmd_parse() prints and exits. Results go
 * to stdout, everything else to stderr.
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
    int (*run)(int argc, const char **argv);
};

struct program {
    const char *name; /* begins every message */
    const char *version;
    const char *about;
    const struct command *const *table; /* in the order of --help */
    size_t n;
    /* Prints the words for a placeholder such as "TASK", and returns whether it knows any. `option`
     * is the option that takes the placeholder, such as "strategy", or "". The function may be
     * NULL. */
    bool (*names)(const char *placeholder, const char *option, FILE *out);
};

/* Runs the subcommand that argv[1] names, and returns the program's exit status. Also checks that
 * stdout was written. */
int program_main(const struct program *p, int argc, char **argv);

/* Runs the subcommand that argv[0] names, and returns its exit status. `of` is the command that has
 * these subcommands, or "". */
int cmd_dispatch(const char *of, const struct command *const *table, size_t n, int argc,
                 const char **argv);

/* Like cmd_dispatch(), for a command `of` that does nothing without a subcommand. `frame` has the
 * usage and the help text of this command. */
int cmd_forms(const char *of, const struct options *frame, const struct command *const *table,
              size_t n, int argc, const char **argv);

/* True for __complete and __man. Then every command must call cmd_parse(). */
bool cmd_is_described(void);

/* Reads the options of `spec`, and leaves the operands in argv. Exits with 0 after --help, with 2
 * on bad usage. */
void cmd_parse(const struct options *spec, int *argc, const char **argv);
/* Prints the message and the usage to stderr. Returns HONE_USAGE. */
int cmd_usage(const struct options *spec, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints the error to stderr. Returns the exit status for the error's kind. */
int cmd_fail(const struct err *err);

#endif
