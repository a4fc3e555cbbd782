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
#include "sys/file.h"
#include "sys/hash.h"

enum { ENTRY_MAX = 512 << 20, PUTS_PER_LOOK = 32 };
/* A temporary file older than this belongs to nobody, a header unused for longer to another build
 * of Hone. */
enum { STALE_S = 3600, HEADER_STALE_S = 3 * 24 * 3600 };

static const char magic[8] = "HONEOBJ1";

int cache_open(struct cache *c, const char *dir, struct err *err)
{
    struct strbuf sb = STRBUF_INIT(4096);
    int rc = -1;
    *c = (struct cache){.max_bytes = (uint64_t)8 << 30};
    const char *max = getenv("HONE_CACHE_MAX");
    if (max && parse_bytes(max, &c->max_bytes) < 0) {
        err_set(err, ERR_INPUT, "HONE_CACHE_MAX='%s' is no size; write 8G or 500M", max);
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

/* magic, bytes, 64 hex digits */
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
    if (rc == 0 && c->puts++ % PUTS_PER_LOOK == 0) {
        struct cache_stat st;
        cache_prune(c, c->max_bytes, &st, NULL);
    }
    return rc;
}

/* ---- the whole of it -------------------------------------------------------------------------*/

struct file_info {
    char *path;
    uint64_t bytes;
    struct timespec used;
    bool header;
};
VEC_DECL(file_vec, struct file_info);

static void list_dir(const char *dir, bool header, struct file_vec *out)
{
    struct name_vec names = VEC_INIT;
    if (dir_list(dir, &names, NULL) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        struct stat st;
        char *path = xasprintf("%s/%s", dir, names.items[i]);
        if (lstat(path, &st) < 0) {
            free(path);
        } else if (S_ISDIR(st.st_mode) && !header) {
            list_dir(path, header, out);
            free(path);
        } else {
            *vec_push(out) = (struct file_info){path, (uint64_t)st.st_size, st.st_mtim, header};
        }
    }
    name_vec_release(&names);
}

static void list_files(const struct cache *c, struct file_vec *out)
{
    char *obj = xasprintf("%s/obj", c->dir), *pch = xasprintf("%s/pch", c->dir);
    char *tmp = xasprintf("%s/tmp", c->dir);
    if (file_is_dir(obj))
        list_dir(obj, false, out);
    list_dir(pch, true, out);
    list_dir(tmp, true, out);
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

/* Entries are named in hex; anything with a dot among them is being written. */
static bool is_temp(const struct file_info *f)
{
    const char *base = strrchr(f->path, '/');
    if (!f->header)
        return strchr(base, '.') != NULL;
    return strstr(base, ".tmp") || str_starts(base, "/edg"); /* the front end's own */
}

static void count(const struct file_info *f, struct cache_stat *out)
{
    if (is_temp(f))
        return;
    if (!f->header) {
        out->entries++;
        out->entry_bytes += f->bytes;
    } else if (str_ends(f->path, ".pch")) {
        out->headers++;
        out->header_bytes += f->bytes;
    }
}

int cache_stat(struct cache *c, bool verify, struct cache_stat *out, struct err *err)
{
    struct file_vec files = VEC_INIT;
    *out = (struct cache_stat){0};
    list_files(c, &files);
    vec_each (struct file_info, f, &files) {
        if (verify && !f->header && !is_temp(f)) {
            struct strbuf sb = STRBUF_INIT(ENTRY_MAX);
            bool bad = file_read(f->path, ENTRY_MAX, &sb, NULL) < 0 || !entry_sound(sb.buf, sb.len);
            strbuf_release(&sb);
            if (bad) {
                unlink(f->path);
                out->bad++;
                continue;
            }
        }
        count(f, out);
    }
    file_vec_clear(&files);
    return 0;
}

static int by_age(const void *pa, const void *pb)
{
    const struct file_info *a = pa, *b = pb;
    if (a->used.tv_sec != b->used.tv_sec)
        return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    return (a->used.tv_nsec > b->used.tv_nsec) - (a->used.tv_nsec < b->used.tv_nsec);
}

/* Lock files are left alone: removing one that is held would let two builders in. */
static bool prunable(const struct file_info *f, time_t now, bool *stale)
{
    bool temp = is_temp(f);
    bool header = f->header && str_ends(f->path, ".pch");
    *stale = (temp && f->used.tv_sec + STALE_S < now) ||
             (header && f->used.tv_sec + HEADER_STALE_S < now);
    return !temp && !str_ends(f->path, ".lock");
}

int cache_prune(struct cache *c, uint64_t max_bytes, struct cache_stat *out, struct err *err)
{
    struct file_vec files = VEC_INIT;
    *out = (struct cache_stat){0};
    list_files(c, &files);
    if (files.n)
        qsort(files.items, files.n, sizeof *files.items, by_age);
    uint64_t total = 0;
    time_t now = time(NULL);
    vec_each (struct file_info, f, &files)
        total += f->bytes;
    vec_each (struct file_info, f, &files) {
        bool stale;
        bool can = prunable(f, now, &stale);
        if ((stale || (can && total > max_bytes)) && unlink(f->path) == 0) {
            total -= f->bytes;
            out->removed++;
            out->removed_bytes += f->bytes;
        } else {
            count(f, out);
        }
    }
    file_vec_clear(&files);
    return 0;
}
