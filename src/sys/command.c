/*
 * command.c - the main function of a program with subcommands, and what all subcommands need.
 */
#include "sys/command.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "sys/interrupt.h"

/* program_main() sets these first. */
static const char *program_name = "hone";
static const struct program *program;
static enum { MODE_RUN, MODE_COMPLETE, MODE_MAN } mode;
/* The summary of the command that runs, for its manual page. cmd_dispatch() sets it. */
static const char *summary = "";
static char command_path[128]; /* "hone-task-list" */

/* ---- completion ------------------------------------------------------------------------------ */

static bool print_names(const char *placeholder, const char *option)
{
    return program->names && program->names(placeholder, option, stdout);
}

/* If `word` is an option that needs a value, such as "--seed" or "-o", returns the option.
 * Otherwise returns NULL. */
static const struct option *option_before(const struct options *spec, const char *word)
{
    for (const struct option *o = spec->opts; o && o->type != OPTION_END; o++) {
        bool named = o->type != OPTION_GROUP && o->arg &&
                     ((str_starts(word, "--") && str_eq(word + 2, o->name)) ||
                      (word[0] == '-' && word[1] && word[1] == o->letter && !word[2]));
        if (named)
            return o;
    }
    return NULL;
}

static void print_options(const struct options *spec)
{
    for (const struct option *o = spec->opts; o && o->type != OPTION_END; o++)
        if (o->type != OPTION_GROUP)
            printf("--%s\t%.*s\n", o->name, (int)strcspn(o->help, "\n"), o->help);
    printf("--help\tshow this help\n");
}

/* Prints names that fit the operands in `usage`, such as TASK. Prints ":files" if an operand can be
 * a file; then the shell offers file names. */
static void print_operands(const char *usage)
{
    static const char *const known[] = {"TASK", "RUN"};
    static const char *const files[] = {"FILE", "DIR", "KERNEL", ".cu", ".py", ".json", "TASK"};
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strstr(usage, known[i]))
            print_names(known[i], "");
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        if (strstr(usage, files[i])) {
            puts(":files");
            return;
        }
}

static void complete(const struct options *spec, int argc, const char **argv)
{
    const char *last = argc > 1 ? argv[argc - 1] : "";
    const struct option *o = argc > 2 ? option_before(spec, argv[argc - 2]) : NULL;
    if (o) {
        if (!print_names(o->arg, o->name))
            puts(":files");
    } else if (*last == '-') {
        print_options(spec);
    } else {
        print_operands(spec->usage);
    }
}

static void print_commands(const struct command *const *table, size_t n)
{
    for (size_t i = 0; i < n; i++)
        printf("%s\t%s\n", table[i]->name, table[i]->summary);
}

/* ---- manual pages ---------------------------------------------------------------------------- */

/* Prints text for a manual page. Escapes '.' and '\'' at the beginning of a line, and '\\' and '-'
 * everywhere. */
static void man_text(const char *s)
{
    bool start = true;
    for (; *s; s++) {
        if (start && (*s == '.' || *s == '\''))
            fputs("\\&", stdout);
        fputs(*s == '\\' ? "\\e" : *s == '-' ? "\\-" : "", stdout);
        if (*s != '\\' && *s != '-')
            putchar(*s);
        start = *s == '\n';
    }
}

static void man_lines(const char *title, const char *text)
{
    if (!text)
        return;
    printf(".SH %s\n.nf\n", title);
    man_text(text);
    puts("\n.fi");
}

static void man_option(const struct option *o)
{
    if (o->type == OPTION_GROUP) {
        printf(".SS %s\n", o->name);
        return;
    }
    fputs(".TP\n", stdout);
    if (o->letter)
        printf("\\fB\\-%c\\fR, ", o->letter);
    fputs("\\fB\\-\\-", stdout);
    man_text(o->name);
    fputs("\\fR", stdout);
    if (o->arg)
        printf(" \\fI%s\\fR", o->arg);
    fputs("\n", stdout);
    man_text(o->help);
    fputs("\n", stdout);
}

static void man_page(const struct options *spec)
{
    const char *name = command_path;
    printf(".TH \"%s\" 1 \"\" \"%s %s\" \"Hone\"\n.SH NAME\n", name, program->name,
           program->version);
    man_text(name);
    fputs(" \\- ", stdout);
    man_text(summary);
    fputs("\n", stdout);
    man_lines("SYNOPSIS", spec->usage);
    man_lines("DESCRIPTION", spec->about);
    puts(".SH OPTIONS");
    for (const struct option *o = spec->opts; o && o->type != OPTION_END; o++)
        man_option(o);
    puts(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nshow this help");
    man_lines("EXAMPLE", spec->example);
}

static void man_program(const struct program *p)
{
    printf(".TH \"%s\" 1 \"\" \"%s %s\" \"Hone\"\n.SH NAME\n", p->name, p->name, p->version);
    man_text(p->name);
    fputs(" \\- ", stdout);
    man_text(p->about);
    printf("\n.SH SYNOPSIS\n\\fB%s\\fR \\fICOMMAND\\fR [options]\n.SH COMMANDS\n", p->name);
    for (size_t i = 0; i < p->n; i++) {
        fputs(".TP\n\\fB", stdout);
        man_text(p->name);
        printf("\\-%s\\fR(1)\n", p->table[i]->name);
        man_text(p->table[i]->summary);
        fputs("\n", stdout);
    }
    puts(".SH EXIT STATUS\n0 good, 1 negative result, 2 usage, 3 environment, 130 interrupted.");
}

/* ---- parsing --------------------------------------------------------------------------------- */

bool cmd_is_described(void)
{
    return mode != MODE_RUN;
}

void cmd_parse(const struct options *spec, int *argc, const char **argv)
{
    struct err err = ERR_INIT;
    if (mode == MODE_COMPLETE)
        complete(spec, *argc, argv);
    else if (mode == MODE_MAN)
        man_page(spec);
    if (mode != MODE_RUN)
        exit(stdout_close() ? HONE_OK : HONE_ENV);
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
        if (str_eq(argv[0], table[i]->name)) {
            size_t used = strlen(command_path);
            snprintf(command_path + used, sizeof command_path - used, "-%s", table[i]->name);
            summary = table[i]->summary;
            return table[i]->run(argc, argv);
        }
    if (mode == MODE_COMPLETE)
        return HONE_OK;
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

int cmd_forms(const char *of, const struct options *frame, const struct command *const *table,
              size_t n, int argc, const char **argv)
{
    if (mode == MODE_COMPLETE && argc <= 2) {
        print_commands(table, n);
        return HONE_OK;
    }
    if (mode == MODE_RUN || argc < 2) {
        struct strbuf about = STRBUF_INIT(8192);
        struct options full = *frame;
        strbuf_addf(&about, "%s\n\n", frame->about);
        for (size_t i = 0; i < n; i++)
            strbuf_addf(&about, "  %-16s  %s\n", table[i]->name, table[i]->summary);
        strbuf_addf(&about, "\n%s %s %s --help has the options of %s.", program_name, of,
                    table[0]->name, table[0]->name);
        full.about = about.buf;
        cmd_parse(&full, &argc, argv);
        strbuf_release(&about);
    } else {
        argc--;
        argv++;
    }
    if (argc >= 1)
        return cmd_dispatch(of, table, n, argc, argv);
    struct strbuf list = STRBUF_INIT(1024);
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&list, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", table[i]->name);
    int rc = cmd_usage(frame, "give %s", list.buf);
    strbuf_release(&list);
    return rc;
}

static void help(const struct program *p)
{
    printf("usage: %s COMMAND [options]\n\n%s\n\n", p->name, p->about);
    for (size_t i = 0; i < p->n; i++)
        printf("  %-10s %s\n", p->table[i]->name, p->table[i]->summary);
    printf("\n%s COMMAND --help explains COMMAND with an example. --json prints JSON.\n"
           "TIME is in seconds, or 500ns, 20us, 10ms, 2s, 5m, 1h, 1d. SIZE is in bytes, or\n"
           "64K (also 64KiB), 2M, 6G, 1T. --no-FLAG switches --FLAG off.\n"
           "Exit status: 0 good, 1 negative result, 2 usage, 3 environment, 130 interrupted.\n"
           "HONE_LOG=debug says more on stderr, HONE_LOG=AREA:debug only about one AREA:\n"
           "author, compile, cuda, eval, gnn or worker.\n",
           p->name);
}

/* A full disk or a closed pipe must not look like success: if stdout could not be written, HONE_OK
 * becomes HONE_ENV. If the pipe's reader left, no message is needed. */
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

/* `hone help task check` is `hone task check --help`. */
static int help_about(const struct program *p, int argc, const char **argv)
{
    const char **ask = xcalloc((size_t)argc + 2, sizeof *ask);
    memcpy(ask, argv, (size_t)argc * sizeof *ask);
    ask[argc] = "--help";
    int rc = cmd_dispatch("", p->table, p->n, argc + 1, ask);
    free(ask);
    return rc;
}

int program_main(const struct program *p, int argc, char **argv)
{
    program_name = p->name;
    std_fds_fill();
    signal(SIGPIPE, SIG_IGN);
    interrupt_catch();
    /* A result of up to 1 MiB goes out in one write, so a kill cannot leave half of it in a
     * file. */
    static char out[1 << 20];
    if (!isatty(STDOUT_FILENO))
        setvbuf(stdout, out, _IOFBF, sizeof out);
    if (argc < 2) {
        help(p);
        return finish(HONE_USAGE);
    }
    const char **args = (const char **)argv + 1;
    program = p;
    snprintf(command_path, sizeof command_path, "%s", p->name);
    if (str_eq(args[0], "__complete")) {
        mode = MODE_COMPLETE;
        if (argc > 3)
            return finish(cmd_dispatch("", p->table, p->n, argc - 2, args + 1));
        print_commands(p->table, p->n);
        return finish(HONE_OK);
    }
    if (str_eq(args[0], "__man")) {
        mode = MODE_MAN;
        if (argc > 2)
            return finish(cmd_dispatch("", p->table, p->n, argc - 2, args + 1));
        man_program(p);
        return finish(HONE_OK);
    }
    if (str_eq(args[0], "--help") || str_eq(args[0], "-h") || str_eq(args[0], "help")) {
        if (argc > 2 && str_eq(args[0], "help"))
            return finish(help_about(p, argc - 2, args + 1));
        help(p);
        return finish(HONE_OK);
    }
    if (str_eq(args[0], "--version")) {
        printf("%s %s\n", p->name, p->version);
        return finish(HONE_OK);
    }
    return finish(cmd_dispatch("", p->table, p->n, argc - 1, args));
}
