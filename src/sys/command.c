#include "sys/command.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "sys/interrupt.h"

/* program_main sets it once, before anything else runs. */
static const char *program_name = "hone";

void cmd_parse(const struct options *spec, int *argc, const char **argv)
{
    struct err err = ERR_INIT;
    switch (options_parse(spec, argc, argv, &err)) {
    case OPTIONS_OK:
        return;
    case OPTIONS_HELP:
        options_help(spec, stdout);
        exit(stdout_close() ? HONE_OK : HONE_ENV);
    case OPTIONS_BAD:
        exit(cmd_usage(spec, "%s", err.msg));
    }
}

int cmd_usage(const struct options *spec, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "%s: ", program_name);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\nusage: ");
    for (const char *u = spec->usage; *u; u++) {
        fputc(*u, stderr);
        if (*u == '\n')
            fputs("       ", stderr);
    }
    fputs("\n(--help says more)\n", stderr);
    return HONE_USAGE;
}

int cmd_fail(const struct err *err)
{
    fprintf(stderr, "%s: %s\n", program_name, err->msg);
    switch (err->kind) {
    case ERR_INPUT:
    case ERR_UNSUPPORTED:
    case ERR_NONE:
        return HONE_NEGATIVE;
    case ERR_USAGE:
        return HONE_USAGE;
    case ERR_ENV:
    case ERR_LIMIT:
    case ERR_SYSTEM:
    case ERR_INTERNAL:
        break;
    }
    return HONE_ENV;
}

int cmd_dispatch(const char *of, const struct command *const *table, size_t n, int argc,
                 const char **argv)
{
    const char *space = *of ? " " : "";
    if (argc < 1) {
        fprintf(stderr, "usage: %s%s%s COMMAND ...   (%s%s%s --help lists the commands)\n",
                program_name, space, of, program_name, space, of);
        return HONE_USAGE;
    }
    for (size_t i = 0; i < n; i++)
        if (str_eq(argv[0], table[i]->name))
            return table[i]->run(argc, argv);
    const char *names[64];
    size_t nn = 0;
    for (size_t i = 0; i < n && nn < ARRAY_LEN(names); i++)
        names[nn++] = table[i]->name;
    const char *near = suggest_word(argv[0], names, nn);
    fprintf(stderr, "%s: no command '%s%s%s'", program_name, of, space, argv[0]);
    if (near)
        fprintf(stderr, "; did you mean '%s%s%s %s'?", program_name, space, of, near);
    fprintf(stderr, "\n(%s%s%s --help lists the commands)\n", program_name, space, of);
    return HONE_USAGE;
}

static void help(const struct program *p)
{
    printf("usage: %s COMMAND [options]\n\n%s\n\n", p->name, p->about);
    for (size_t i = 0; i < p->n; i++)
        printf("  %-10s %s\n", p->table[i]->name, p->table[i]->summary);
    printf("\n%s COMMAND --help explains COMMAND with an example. --json prints JSON.\n"
           "Exit status: 0 good, 1 negative result, 2 usage, 3 environment, 130 interrupted.\n"
           "HONE_LOG=debug (or AREA:debug) says more on stderr.\n",
           p->name);
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
            fprintf(stderr, "%s: cannot write to standard output: %s\n", program_name,
                    errno ? strerror(errno) : "an error while printing");
        return HONE_ENV;
    }
    /* If the command finished before it noticed the signal, its result counts. */
    return interrupted() && status != HONE_OK ? HONE_INTERRUPTED : status;
}

int program_main(const struct program *p, int argc, char **argv)
{
    program_name = p->name;
    std_fds_fill();
    signal(SIGPIPE, SIG_IGN);
    interrupt_catch();
    if (argc < 2) {
        help(p);
        return finish(HONE_USAGE);
    }
    const char **args = (const char **)argv + 1;
    if (str_eq(args[0], "--help") || str_eq(args[0], "-h") || str_eq(args[0], "help")) {
        /* `hone help COMMAND` is `hone COMMAND --help`. */
        if (argc > 2 && str_eq(args[0], "help")) {
            const char *ask[] = {args[1], "--help", NULL};
            return finish(cmd_dispatch("", p->table, p->n, 2, ask));
        }
        help(p);
        return finish(HONE_OK);
    }
    if (str_eq(args[0], "--version")) {
        printf("%s %s\n", p->name, p->version);
        return finish(HONE_OK);
    }
    return finish(cmd_dispatch("", p->table, p->n, argc - 1, args));
}
