/* command.c - the helpers that subcommands share (command.h). */
#include "cmd/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "base/util.h"
#include "sys/file.h"

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
