/* beat.c - reads and writes the file workers/W. See beat.h. */
#include "spool/beat.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

static void copy_line(const char **at, char *out, size_t size)
{
    size_t n = strcspn(*at, "\n");
    snprintf(out, size, "%.*s", (int)MIN(n, size - 1), *at);
    *at += n + ((*at)[n] == '\n');
}

int spool_beat_read(struct spool_fs *fs, const char *worker, struct spool_beat *out)
{
    char path[SPOOL_NAME_MAX], text[1024], number[24];
    memset(out, 0, sizeof *out);
    snprintf(path, sizeof path, "workers/%s", worker);
    int n = fs->ops->read(fs, path, text, sizeof text - 1);
    if (n < 0)
        return -1;
    text[n] = '\0';
    const char *at = text;
    copy_line(&at, number, sizeof number);
    out->count = strtoull(number, NULL, 10);
    copy_line(&at, out->claim, sizeof out->claim);
    copy_line(&at, number, sizeof number);
    out->done = strtoull(number, NULL, 10);
    copy_line(&at, out->note, sizeof out->note);
    return 0;
}

int spool_beat_write(struct spool_fs *fs, const char *worker, const struct spool_beat *b,
                     bool first)
{
    char path[SPOOL_NAME_MAX], text[1024];
    int n = snprintf(text, sizeof text, "%" PRIu64 "\n%s\n%" PRIu64 "\n%s\n", b->count, b->claim,
                     b->done, b->note);
    snprintf(path, sizeof path, "workers/%s", worker);
    return first ? fs->ops->make(fs, path, text, (size_t)n)
                 : fs->ops->write(fs, path, text, (size_t)n);
}
