/*
 * main.c - the program `hone`. It has a table of commands and runs the command that argv names.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "sys/interrupt.h"

#ifndef HONE_VERSION
#define HONE_VERSION "0.2.0"
#endif

const char hone_version[] = HONE_VERSION;

#ifdef HONE_TESTING
const bool hone_testing = true;
#else
const bool hone_testing = false;
#endif

/* In the order of --help. */
static const struct command *const table[] = {
    &cmd_optimize, &cmd_eval,    &cmd_emu,    &cmd_profile, &cmd_resume, &cmd_runs,   &cmd_show,
    &cmd_log,      &cmd_diff,    &cmd_report, &cmd_serve,   &cmd_export, &cmd_import, &cmd_task,
    &cmd_playbook, &cmd_compile, &cmd_cache,  &cmd_worker,  &cmd_doctor, &cmd_mcp,
};

static void help(void)
{
    puts("usage: hone COMMAND [options]\n\n"
         "Writes fast GPU kernels for a task and verifies them.\n");
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        printf("  %-10s %s\n", table[i]->name, table[i]->summary);
    puts("\nhone COMMAND --help explains COMMAND with an example. --json prints JSON.\n"
         "Exit status: 0 good, 1 negative result, 2 usage, 3 environment, 130 interrupted.\n"
         "HONE_LOG=debug (or AREA:debug) says more on stderr.");
}

/* Fails if stdout could not be written, because a full disk or a closed pipe must not look like
 * success. If the reader of a pipe closed it, no message is needed. */
static int finish(int status)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    bool reader_left = poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
    errno = 0;
    if (!stdout_close() && status == HONE_OK) {
        if (!reader_left)
            fprintf(stderr, "hone: cannot write to standard output: %s\n",
                    errno ? strerror(errno) : "an error while printing");
        return HONE_ENV;
    }
    /* If the command finished before it noticed the signal, its result counts. */
    return interrupted() && status != HONE_OK ? HONE_INTERRUPTED : status;
}

int main(int argc, char **argv)
{
    std_fds_fill();
    signal(SIGPIPE, SIG_IGN);
    interrupt_catch();
    if (argc < 2) {
        help();
        return finish(HONE_USAGE);
    }
    const char **args = (const char **)argv + 1;
    if (str_eq(args[0], "--help") || str_eq(args[0], "-h") || str_eq(args[0], "help")) {
        /* `hone help COMMAND` is `hone COMMAND --help`. */
        if (argc > 2 && str_eq(args[0], "help")) {
            const char *ask[] = {args[1], "--help", NULL};
            return finish(cmd_dispatch("", table, ARRAY_LEN(table), 2, ask));
        }
        help();
        return finish(HONE_OK);
    }
    if (str_eq(args[0], "--version")) {
        puts("hone " HONE_VERSION);
        return finish(HONE_OK);
    }
    return finish(cmd_dispatch("", table, ARRAY_LEN(table), argc - 1, args));
}
