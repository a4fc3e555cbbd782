/* tar.c - reads and writes ustar files, and trusts nothing that it reads. See tar.h. */
#include "worker/tar.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"

enum { BLOCK = 512, NAME_MAX_LEN = 128 };

/* Offsets of the ustar header's fields. */
enum {
    AT_MODE = 100,
    AT_SIZE = 124,
    AT_MTIME = 136,
    AT_SUM = 148,
    AT_TYPE = 156,
    AT_MAGIC = 257,
    AT_PREFIX = 345
};

/* ---- reading --------------------------------------------------------------------------------- */

struct unpack {
    FILE *f;
    const char *path, *dir;
    uint64_t total;
    unsigned files;
};

static int bad(struct unpack *u, const char *what, const char *name, struct err *err)
{
    return err_set(err, ERR_INPUT, "%s: %s%s%s", u->path, what, name ? ": " : "", name ? name : "");
}

/* Returns the value of an octal field of up to 12 bytes, or -1 if the field is not octal. */
static int64_t octal(const unsigned char *p, size_t n)
{
    int64_t v = 0;
    size_t i = 0;
    while (i < n && p[i] == ' ')
        i++;
    if (i == n || p[i] < '0' || p[i] > '7')
        return -1;
    for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
        v = v * 8 + (p[i] - '0');
    return i == n || p[i] == ' ' || p[i] == 0 ? v : -1;
}

static bool checksum_fits(const unsigned char *h)
{
    int64_t sum = 0;
    for (int i = 0; i < BLOCK; i++)
        sum += i >= AT_SUM && i < AT_SUM + 8 ? ' ' : h[i];
    return octal(h + AT_SUM, 8) == sum;
}

static bool plain_word(const char *s, size_t n)
{
    if (!n || n > NAME_MAX_LEN || s[0] == '.')
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)s[i]) && !strchr("._-", s[i]))
            return false;
    return true;
}

/* Splits "todo/ID/FILE" into ID and FILE. FILE becomes "" for "todo/ID" and "todo/ID/", the names
 * of a directory. Returns false for any other name. */
static bool split_name(const char *name, char *id, char *file)
{
    if (str_starts(name, "./"))
        name += 2;
    if (!str_starts(name, "todo/"))
        return false;
    name += 5;
    size_t n = strcspn(name, "/");
    if (!plain_word(name, n))
        return false;
    memcpy(id, name, n);
    id[n] = '\0';
    name += n + (name[n] == '/');
    n = strlen(name);
    if (n && !plain_word(name, n))
        return false;
    memcpy(file, name, n + 1);
    return true;
}

static int skip(struct unpack *u, int64_t bytes, struct err *err)
{
    char junk[BLOCK];
    for (int64_t left = (bytes + BLOCK - 1) / BLOCK; left > 0; left--)
        if (fread(junk, BLOCK, 1, u->f) != 1)
            return bad(u, "ends in the middle of a file", NULL, err);
    return 0;
}

static int copy_out(struct unpack *u, const char *id, const char *file, int64_t size,
                    struct err *err)
{
    char block[BLOCK], *path = xasprintf("%s/todo/%s/%s", u->dir, id, file);
    int rc = 0;
    FILE *o = fopen(path, "wxe");
    if (!o)
        rc = err_errno(err, "cannot create %s", path);
    while (rc == 0 && size > 0) {
        size_t n = (size_t)MIN(size, (int64_t)BLOCK);
        if (fread(block, BLOCK, 1, u->f) != 1)
            rc = bad(u, "ends in the middle of a file", file, err);
        else if (fwrite(block, n, 1, o) != 1)
            rc = err_errno(err, "cannot write %s", path);
        size -= (int64_t)n;
    }
    if (o && fclose(o) != 0 && rc == 0)
        rc = err_errno(err, "cannot write %s", path);
    free(path);
    return rc;
}

static int entry(struct unpack *u, const unsigned char *h, struct err *err)
{
    char name[NAME_MAX_LEN * 3], id[NAME_MAX_LEN + 1], file[NAME_MAX_LEN + 1];
    if (h[AT_PREFIX] && memcmp(h + AT_MAGIC, "ustar", 6) == 0)
        snprintf(name, sizeof name, "%.155s/%.100s", (const char *)h + AT_PREFIX, (const char *)h);
    else
        snprintf(name, sizeof name, "%.100s", (const char *)h);
    int64_t size = octal(h + AT_SIZE, 12);
    if (size < 0 || (uint64_t)size > TAR_MAX_FILE)
        return bad(u, "a file is too large", name, err);
    u->total += (uint64_t)size;
    if (++u->files > TAR_MAX_FILES || u->total > TAR_MAX_TOTAL)
        return bad(u, "has too many files or bytes", NULL, err);
    char type = (char)h[AT_TYPE];
    if (type == 'x' || type == 'g')
        return skip(u, size, err);
    if (type == '5' && (str_eq(name, "todo/") || str_eq(name, "./") || str_eq(name, "./todo/")))
        return 0;
    if ((type != '0' && type != '\0' && type != '5') || !split_name(name, id, file) ||
        (type == '5') != (file[0] == '\0'))
        return bad(u, "not a file of a bundle (todo/ID/FILE)", name, err);
    char *dir = xasprintf("%s/todo/%s", u->dir, id);
    int rc = mkdir(dir, 0777) < 0 && errno != EEXIST ? err_errno(err, "cannot make %s", dir) : 0;
    free(dir);
    return rc < 0 || type == '5' ? rc : copy_out(u, id, file, size, err);
}

int tar_unpack(const char *path, const char *dir, struct err *err)
{
    struct unpack u = {.f = fopen(path, "re"), .path = path, .dir = dir};
    static const unsigned char zero[BLOCK];
    unsigned char h[BLOCK];
    int rc = 0;
    if (!u.f)
        return err_errno(err, "cannot open %s", path);
    for (;;) {
        if (fread(h, BLOCK, 1, u.f) != 1) {
            rc = bad(&u, "ends without an end mark", NULL, err);
            break;
        }
        if (memcmp(h, zero, BLOCK) == 0)
            break;
        if (memcmp(h + AT_MAGIC, "ustar", 5) != 0 || !checksum_fits(h)) {
            rc = bad(&u, "not a tar file, or damaged", NULL, err);
            break;
        }
        if ((rc = entry(&u, h, err)) < 0)
            break;
    }
    fclose(u.f);
    return rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct tar_writer {
    FILE *f;
    char *path, *tmp;
};

int tar_create(struct tar_writer **out, const char *path, struct err *err)
{
    struct tar_writer *w = xcalloc(1, sizeof *w);
    w->path = xstrdup(path);
    w->tmp = xasprintf("%s.%d.tmp", path, (int)getpid());
    w->f = fopen(w->tmp, "we");
    if (!w->f) {
        err_errno(err, "cannot create %s", w->tmp);
        free(w->path);
        free(w->tmp);
        free(w);
        return -1;
    }
    *out = w;
    return 0;
}

int tar_add(struct tar_writer *w, const char *name, const void *data, size_t len, struct err *err)
{
    unsigned char h[BLOCK] = {0};
    static const char zero[BLOCK];
    if (strlen(name) >= 100)
        return err_set(err, ERR_LIMIT, "the name '%s' is too long for a tar file", name);
    memcpy(h, name, strlen(name));
    memcpy(h + AT_MODE, "0000644\0000000000\0000000000", 24);
    snprintf((char *)h + AT_SIZE, 12, "%011llo", (unsigned long long)len);
    snprintf((char *)h + AT_MTIME, 12, "%011o", 0u);
    h[AT_TYPE] = '0';
    memcpy(h + AT_MAGIC, "ustar\00000", 8);
    memset(h + AT_SUM, ' ', 8);
    unsigned sum = 0;
    for (int i = 0; i < BLOCK; i++)
        sum += h[i];
    snprintf((char *)h + AT_SUM, 8, "%06o", sum);
    size_t pad = (BLOCK - len % BLOCK) % BLOCK;
    if (fwrite(h, BLOCK, 1, w->f) != 1 || (len && fwrite(data, len, 1, w->f) != 1) ||
        (pad && fwrite(zero, pad, 1, w->f) != 1))
        return err_errno(err, "cannot write %s", w->tmp);
    return 0;
}

int tar_finish(struct tar_writer *w, bool keep, struct err *err)
{
    static const char zero[2 * BLOCK];
    int rc = 0;
    if (keep && fwrite(zero, sizeof zero, 1, w->f) != 1)
        rc = err_errno(err, "cannot write %s", w->tmp);
    if (fclose(w->f) != 0 && rc == 0)
        rc = err_errno(err, "cannot write %s", w->tmp);
    if (keep && rc == 0 && rename(w->tmp, w->path) < 0)
        rc = err_errno(err, "cannot put %s in place", w->path);
    if (!keep || rc < 0)
        unlink(w->tmp);
    free(w->tmp);
    free(w->path);
    free(w);
    return rc;
}
