/* name.c - reads and writes the names of bundles in a spool. See name.h. */
#include "spool/name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Splits text[0..len) into the id and an ending such as ".g2f1", which gives `taken` and `failed`.
 * Without such an ending, both are 0. */
static bool split(struct spool_name *out, const char *text, size_t len)
{
    int used = 0;
    size_t dot = len;
    out->taken = out->failed = 0;
    while (dot > 0 && text[dot - 1] != '.')
        dot--;
    if (dot && text[dot] == 'g' &&
        sscanf(text + dot, "g%6uf%6u%n", &out->taken, &out->failed, &used) == 2 &&
        dot + (size_t)used == len)
        len = dot - 1;
    else
        out->taken = out->failed = 0;
    if (!len || len >= sizeof out->id)
        return false;
    memcpy(out->id, text, len);
    out->id[len] = '\0';
    return true;
}

bool spool_name_todo(struct spool_name *out, const char *text)
{
    out->worker[0] = '\0';
    return split(out, text, strlen(text));
}

bool spool_name_claimed(struct spool_name *out, const char *text)
{
    const char *dot = strrchr(text, '.');
    if (!dot || dot == text || !dot[1] || strlen(dot + 1) >= sizeof out->worker)
        return false;
    snprintf(out->worker, sizeof out->worker, "%s", dot + 1);
    return split(out, text, (size_t)(dot - text));
}

void spool_todo_path(const struct spool_name *n, char out[SPOOL_NAME_MAX])
{
    snprintf(out, SPOOL_NAME_MAX, "todo/%s.g%uf%u", n->id, n->taken, n->failed);
}

void spool_claimed_path(const struct spool_name *n, char out[SPOOL_NAME_MAX])
{
    snprintf(out, SPOOL_NAME_MAX, "claimed/%s.g%uf%u.%s", n->id, n->taken, n->failed, n->worker);
}

unsigned spool_name_seconds(const char *name)
{
    const char *last = strrchr(name, '-'), *p = last;
    while (p && p > name && p[-1] != '-')
        p--;
    /* strtoul() would accept a sign or spaces. */
    bool number = p && p < last && p > name && strspn(p, "0123456789") == (size_t)(last - p);
    return number && last - p <= 9 ? (unsigned)strtoul(p, NULL, 10) : 0;
}
