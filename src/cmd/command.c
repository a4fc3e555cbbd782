#include "cmd/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "base/util.h"
#include "sys/file.h"

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
    fputs("hone: ", stderr);
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

int cmd_read_source(const char *path, struct strbuf *out, struct err *err)
{
    int rc = file_read(path, CMD_MAX_SOURCE, out, err);
    if (rc < 0 && err->kind == ERR_LIMIT)
        err->kind = ERR_INPUT;
    return rc;
}

void cmd_print_foreign(const char *text, size_t len)
{
    char *clean = isatty(STDOUT_FILENO) ? xmalloc(len + 1) : NULL;
    if (clean) {
        memcpy(clean, text, len);
        utf8_plain(clean, len);
    }
    fwrite(clean ? clean : text, 1, len, stdout);
    free(clean);
}

int cmd_fail(const struct err *err)
{
    fprintf(stderr, "hone: %s\n", err->msg);
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
        fprintf(stderr, "usage: hone%s%s COMMAND ...   (hone%s%s --help lists the commands)\n",
                space, of, space, of);
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
    fprintf(stderr, "hone: no command '%s%s%s'", of, space, argv[0]);
    if (near)
        fprintf(stderr, "; did you mean 'hone%s%s %s'?", space, of, near);
    fprintf(stderr, "\n(hone%s%s --help lists the commands)\n", space, of);
    return HONE_USAGE;
}
