/* cache.c - the compile cache on disk: reads and writes entries, and removes old files. */
#include "compile/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/options.h"
#include "base/util.h"
#include "base/vec.h"
#include "compile/pch.h"
#include "sys/file.h"
#include "sys/hash.h"

/* ENTRY_MAX is in bytes. cache_put() trims the cache once per PUTS_PER_LOOK entries. */
enum { ENTRY_MAX = 512 << 20, PUTS_PER_LOOK = 32 };
/* In seconds. A temporary file older than STALE_S belongs to a process that was killed. A
 * precompiled header unused for HEADER_STALE_S probably belongs to another build of Hone. */
enum { STALE_S = 3600, HEADER_STALE_S = 3 * 24 * 3600 };

static const char magic[8] = "HONEOBJ1";

int cache_open(struct cache *c, const char *dir, struct err *err)
{
    struct strbuf sb = STRBUF_INIT(4096);
    int rc = -1;
    *c = (struct cache){.max_bytes = (uint64_t)8 << 30};
    const char *max = getenv("HONE_CACHE_MAX");
    if (max && parse_bytes(max, &c->max_bytes) < 0) {
        err_set(err, ERR_INPUT, "HONE_CACHE_MAX='%s' is not a size; write 8G or 500M", max);
        goto out;
    }
    if (dir)
        strbuf_adds(&sb, dir);
    else if (user_cache_dir(&sb, err) < 0)
        goto out;
    static const char *const parts[] = {"pch", "tmp"};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        char *path = xasprintf("%s/%s", sb.buf, parts[i]);
        int made = dir_make(path, err);
        free(path);
        if (made < 0)
            goto out;
    }
    char *real = realpath(sb.buf, NULL);
    if (!real) {
        err_errno(err, "%s", sb.buf);
        goto out;
    }
    c->dir = real;
    rc = 0;
out:
    strbuf_release(&sb);
    return rc;
}

void cache_release(struct cache *c)
{
    free(c->dir);
    c->dir = NULL;
}

static void entry_path(const struct cache *c, const char *key, struct strbuf *out)
{
    strbuf_addf(out, "%s/obj/%.2s/%s", c->dir, key, key + 2);
}

/* An entry is the magic, the bytes, and the SHA-256 of both as 64 hex digits. */
static bool entry_sound(const char *buf, size_t len)
{
    char sum[HASH_HEX];
    if (len < sizeof magic + 64 || memcmp(buf, magic, sizeof magic) != 0)
        return false;
    hash_hex(buf, len - 64, sum);
    return memcmp(buf + len - 64, sum, 64) == 0;
}

bool cache_get(struct cache *c, const char *key, struct strbuf *out)
{
    struct strbuf path = STRBUF_INIT(4096), file = STRBUF_INIT(ENTRY_MAX);
    bool found = false;
    entry_path(c, key, &path);
    if (file_read(path.buf, ENTRY_MAX, &file, NULL) == 0) {
        found = entry_sound(file.buf, file.len);
        if (found) {
            strbuf_add(out, file.buf + sizeof magic, file.len - sizeof magic - 64);
            utimensat(AT_FDCWD, path.buf, NULL, 0);
        } else {
            log_warn("compile", "cache entry %.12s is damaged; removed", key);
            unlink(path.buf);
        }
    }
    strbuf_release(&path);
    strbuf_release(&file);
    return found;
}

int cache_put(struct cache *c, const char *key, const void *data, size_t len, struct err *err)
{
    struct strbuf path = STRBUF_INIT(4096), file = STRBUF_INIT(ENTRY_MAX);
    char sum[HASH_HEX];
    strbuf_addf(&path, "%s/obj/%.2s", c->dir, key);
    int rc = dir_make(path.buf, err);
    strbuf_clear(&path);
    entry_path(c, key, &path);
    strbuf_add(&file, magic, sizeof magic);
    strbuf_add(&file, data, len);
    hash_hex(file.buf, file.len, sum);
    strbuf_add(&file, sum, 64);
    if (rc == 0 && !file.truncated)
        rc = file_write(path.buf, file.buf, file.len, err);
    strbuf_release(&path);
    strbuf_release(&file);
    if (rc == 0 && c->puts++ % PUTS_PER_LOOK == 0)
        cache_trim(c);
    return rc;
}

/* ---- all files of the cache ------------------------------------------------------------------ */

enum file_kind {
    FILE_ENTRY,
    FILE_HEADER,
    FILE_FAMILY,
    /* A process is writing this file, or was killed while it wrote. The file's age tells which. */
    FILE_TEMP,
    FILE_PART /* the checksum of a precompiled header, or the headers' lock file */
};

struct file_info {
    char *path;
    uint64_t bytes;
    struct timespec used;
    enum file_kind kind;
};
VEC_DECL(file_vec, struct file_info);

/* An entry's name has only hex digits. A temporary file's name has a dot. */
static enum file_kind entry_kind(const char *name, const char *path)
{
    return strchr(name, '.') ? FILE_TEMP : FILE_ENTRY;
}

static enum file_kind header_kind(const char *name, const char *path)
{
    if (str_eq(name, "lock"))
        return FILE_PART;
    if (str_ends(name, ".pch"))
        return str_starts(name, PCH_FAMILY) ? FILE_FAMILY : FILE_HEADER;
    if (str_ends(name, ".sum")) {
        char *header = xstrndup(path, strlen(path) - 4);
        bool present = file_exists(header);
        free(header);
        return present ? FILE_PART : FILE_TEMP;
    }
    return FILE_TEMP;
}

static enum file_kind temp_kind(const char *name, const char *path)
{
    return FILE_TEMP;
}

static void list_dir(const char *dir, enum file_kind (*kind)(const char *, const char *),
                     struct file_vec *out)
{
    struct name_vec names = VEC_INIT;
    if (dir_list(dir, &names, NULL) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        struct stat st;
        char *path = xasprintf("%s/%s", dir, names.items[i]);
        if (lstat(path, &st) == 0 && !S_ISDIR(st.st_mode))
            *vec_push(out) = (struct file_info){xstrdup(path), (uint64_t)st.st_size, st.st_mtim,
                                                kind(names.items[i], path)};
        free(path);
    }
    name_vec_release(&names);
}

static void list_files(const struct cache *c, struct file_vec *out)
{
    char *obj = xasprintf("%s/obj", c->dir), *pch = xasprintf("%s/pch", c->dir);
    char *tmp = xasprintf("%s/tmp", c->dir);
    struct name_vec names = VEC_INIT;
    if (dir_list(obj, &names, NULL) == 0)
        for (size_t i = 0; i < names.n; i++) {
            char *part = xasprintf("%s/%s", obj, names.items[i]);
            list_dir(part, entry_kind, out);
            free(part);
        }
    name_vec_release(&names);
    list_dir(pch, header_kind, out);
    list_dir(tmp, temp_kind, out);
    free(tmp);
    free(obj);
    free(pch);
}

static void file_vec_clear(struct file_vec *v)
{
    vec_each (struct file_info, f, v)
        free(f->path);
    vec_release(v);
}

static void count(const struct file_info *f, struct cache_stat *out)
{
    struct cache_part *parts[] = {[FILE_ENTRY] = &out->entries,
                                  [FILE_HEADER] = &out->headers,
                                  [FILE_FAMILY] = &out->families,
                                  [FILE_TEMP] = &out->temps};
    out->total_bytes += f->bytes;
    if (f->kind == FILE_PART)
        return;
    parts[f->kind]->n++;
    parts[f->kind]->bytes += f->bytes;
}

static bool is_header(const struct file_info *f)
{
    return f->kind == FILE_HEADER || f->kind == FILE_FAMILY;
}

static int discard(const struct file_info *f)
{
    return is_header(f) ? pch_discard(f->path) : unlink(f->path);
}

static bool sound(const struct file_info *f)
{
    if (is_header(f))
        return pch_valid(f->path);
    if (f->kind != FILE_ENTRY)
        return true;
    struct strbuf sb = STRBUF_INIT(ENTRY_MAX);
    bool good = file_read(f->path, ENTRY_MAX, &sb, NULL) == 0 && entry_sound(sb.buf, sb.len);
    strbuf_release(&sb);
    return good;
}

int cache_stat(struct cache *c, bool verify, struct cache_stat *out, struct err *err)
{
    struct file_vec files = VEC_INIT;
    int rc = 0;
    *out = (struct cache_stat){0};
    list_files(c, &files);
    vec_each (struct file_info, f, &files) {
        if (!verify || sound(f)) {
            count(f, out);
        } else if (discard(f) == 0 || errno == ENOENT) {
            out->bad++;
        } else {
            rc = err_errno(err, "cannot remove the damaged '%s'", f->path);
            break;
        }
    }
    file_vec_clear(&files);
    return rc;
}

static int by_age(const void *pa, const void *pb)
{
    const struct file_info *a = pa, *b = pb;
    if (a->used.tv_sec != b->used.tv_sec)
        return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    return (a->used.tv_nsec > b->used.tv_nsec) - (a->used.tv_nsec < b->used.tv_nsec);
}

static bool is_stale(const struct file_info *f, time_t now)
{
    return (f->kind == FILE_TEMP && f->used.tv_sec + STALE_S < now) ||
           (is_header(f) && f->used.tv_sec + HEADER_STALE_S < now);
}

int cache_prune(struct cache *c, uint64_t max_bytes, struct cache_stat *out, struct err *err)
{
    struct file_vec files = VEC_INIT;
    int rc = 0;
    *out = (struct cache_stat){0};
    list_files(c, &files);
    if (files.n)
        qsort(files.items, files.n, sizeof *files.items, by_age);
    uint64_t total = 0;
    time_t now = time(NULL);
    vec_each (struct file_info, f, &files)
        total += f->bytes;
    vec_each (struct file_info, f, &files) {
        bool can = is_header(f) || f->kind == FILE_ENTRY;
        if (!is_stale(f, now) && !(can && total > max_bytes)) {
            count(f, out);
        } else if (discard(f) == 0) {
            total -= f->bytes;
            out->removed++;
            out->removed_bytes += f->bytes;
        } else if (errno != ENOENT) { /* ENOENT: another process removed it first */
            rc = err_errno(err, "cannot remove '%s'", f->path);
            count(f, out);
        }
    }
    file_vec_clear(&files);
    return rc;
}

void cache_trim(struct cache *c)
{
    struct cache_stat st;
    struct err err = ERR_INIT;
    if (cache_prune(c, c->max_bytes, &st, &err) < 0)
        log_warn("compile", "cache: %s", err.msg);
}
