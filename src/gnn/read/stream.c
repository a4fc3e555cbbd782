/* stream.c - reads files and memory, with zlib where they are compressed. See stream.h. */
#include "gnn/read/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "sys/dl.h"
#include "sys/interrupt.h"

enum { INPUT_BYTES = 1 << 18 };

/* ---- the part of zlib's stable ABI that this file uses --------------------------------------- */

struct z_stream {
    const unsigned char *next_in;
    unsigned avail_in;
    unsigned long total_in;
    unsigned char *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *msg;
    void *state;
    void *(*zalloc)(void *, unsigned, unsigned);
    void (*zfree)(void *, void *);
    void *opaque;
    int data_type;
    unsigned long adler, reserved;
};

enum { Z_OK = 0, Z_STREAM_END = 1, Z_BUF_ERROR = -5, Z_NO_FLUSH = 0 };
enum { RAW_DEFLATE = -15, GZIP = 15 + 16 }; /* values of zlib's windowBits */

static struct {
    int (*init)(struct z_stream *, int bits, const char *version, int size);
    int (*inflate)(struct z_stream *, int flush);
    int (*reset)(struct z_stream *);
    int (*end)(struct z_stream *);
    int rc;
    struct err err;
} zlib;
static pthread_once_t zlib_once = PTHREAD_ONCE_INIT;

static void load_zlib(void)
{
    static const char *const names[] = {"libz.so.1", "libz.so", NULL};
    const struct dl_symbol syms[] = {{"inflateInit2_", &zlib.init},
                                     {"inflate", &zlib.inflate},
                                     {"inflateReset", &zlib.reset},
                                     {"inflateEnd", &zlib.end},
                                     {NULL, NULL}};
    static void *handle;
    zlib.rc = dl_load(&handle, names, syms, "reading compressed files", "zlib1g", &zlib.err);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

int bytes_open(struct bytes *b, const char *path, struct err *err)
{
    struct stat st;
    *b = (struct bytes){.fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (b->fd < 0)
        return err_errno(err, "cannot open %s", path);
    if (fstat(b->fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(b->fd);
        return err_set(err, ERR_INPUT, "%s is not a regular file", path);
    }
    b->name = xstrdup(path);
    b->size = st.st_size;
    return 0;
}

void bytes_open_memory(struct bytes *b, const char *name, const void *p, size_t n)
{
    *b = (struct bytes){.name = xstrdup(name), .fd = -1, .memory = p, .size = (int64_t)n};
}

void bytes_close(struct bytes *b)
{
    if (b->name && b->fd >= 0)
        close(b->fd);
    free(b->name);
    *b = (struct bytes){.fd = -1};
}

int bytes_read(const struct bytes *b, void *to, int64_t n, int64_t at, struct err *err)
{
    if (at < 0 || n < 0 || at > b->size || n > b->size - at)
        return err_set(err, ERR_INPUT, "%s ends too early: it has %" PRId64 " bytes", b->name,
                       b->size);
    if (b->fd < 0) {
        if (n)
            memcpy(to, b->memory + at, (size_t)n);
        return 0;
    }
    for (char *p = to; n > 0;) {
        ssize_t got = pread(b->fd, p, (size_t)n, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_errno(err, "cannot read %s", b->name);
        if (got == 0)
            return err_set(err, ERR_INPUT, "%s became shorter while it was read", b->name);
        p += got, at += got, n -= got;
    }
    return 0;
}

/* ---- streams --------------------------------------------------------------------------------- */

struct stream {
    const struct bytes *bytes;
    int64_t at, end; /* offsets in the file: next byte to read, end */
    int window;      /* zlib's windowBits; 0 = the bytes are not compressed */
    bool ended;      /* the compressed data has ended */
    struct z_stream z;
    unsigned char *input;
};

static bool is_gzip(const struct bytes *b, int64_t at, int64_t size)
{
    unsigned char magic[2];
    return size >= 2 && bytes_read(b, magic, 2, at, NULL) == 0 && magic[0] == 0x1f &&
           magic[1] == 0x8b;
}

int stream_open(struct stream **out, const struct bytes *b, enum stream_kind kind, int64_t at,
                int64_t size, struct err *err)
{
    if (at < 0 || size < 0 || at > b->size || size > b->size - at)
        return err_set(err, ERR_INPUT, "%s ends too early: it has %" PRId64 " bytes", b->name,
                       b->size);
    struct stream *s = xcalloc(1, sizeof *s);
    *s = (struct stream){.bytes = b, .at = at, .end = at + size};
    if (kind == STREAM_DEFLATE)
        s->window = RAW_DEFLATE;
    else if (kind == STREAM_AUTO && is_gzip(b, at, size))
        s->window = GZIP;
    if (s->window) {
        pthread_once(&zlib_once, load_zlib);
        if (zlib.rc < 0) {
            if (err)
                *err = zlib.err;
            free(s);
            return -1;
        }
        if (zlib.init(&s->z, s->window, "1.2.11", (int)sizeof s->z) != Z_OK) {
            free(s);
            return err_set(err, ERR_SYSTEM, "zlib cannot start");
        }
        s->input = xmalloc(INPUT_BYTES);
    }
    *out = s;
    return 0;
}

void stream_close(struct stream *s)
{
    if (!s)
        return;
    if (s->window)
        zlib.end(&s->z);
    free(s->input);
    free(s);
}

/* Gives zlib more input, if it has none and the file has some. */
static int refill(struct stream *s, struct err *err)
{
    int64_t n = MIN((int64_t)INPUT_BYTES, s->end - s->at);
    if (s->z.avail_in || n == 0)
        return 0;
    if (interrupt_check(err) < 0 || bytes_read(s->bytes, s->input, n, s->at, err) < 0)
        return -1;
    s->at += n;
    s->z.next_in = s->input;
    s->z.avail_in = (unsigned)n;
    return 0;
}

static int64_t read_compressed(struct stream *s, void *to, int64_t n, struct err *err)
{
    s->z.next_out = to;
    s->z.avail_out = (unsigned)n;
    while (!s->ended && s->z.avail_out == (unsigned)n) {
        if (refill(s, err) < 0)
            return -1;
        int rc = zlib.inflate(&s->z, Z_NO_FLUSH);
        if (rc == Z_STREAM_END) {
            /* A gzip file may consist of several parts, each compressed on its own. */
            s->ended = s->window == RAW_DEFLATE || (!s->z.avail_in && s->at == s->end);
            if (!s->ended && zlib.reset(&s->z) != Z_OK)
                return err_set(err, ERR_SYSTEM, "zlib cannot start again");
        } else if (rc == Z_BUF_ERROR && s->at == s->end && !s->z.avail_in) {
            return err_set(err, ERR_INPUT, "%s is truncated: its compressed data has no end",
                           s->bytes->name);
        } else if (rc != Z_OK && rc != Z_BUF_ERROR) {
            return err_set(err, ERR_INPUT, "%s is damaged: %s", s->bytes->name,
                           s->z.msg ? s->z.msg : "zlib cannot decompress it");
        }
    }
    return n - (int64_t)s->z.avail_out;
}

int64_t stream_read(struct stream *s, void *to, int64_t n, struct err *err)
{
    n = MIN(n, INT64_C(1) << 30);
    if (s->window)
        return n ? read_compressed(s, to, n, err) : 0;
    n = MIN(n, s->end - s->at);
    if (interrupt_check(err) < 0 || bytes_read(s->bytes, to, n, s->at, err) < 0)
        return -1;
    s->at += n;
    return n;
}

int stream_need(struct stream *s, void *to, int64_t n, struct err *err)
{
    for (char *p = to; n > 0;) {
        int64_t got = stream_read(s, p, n, err);
        if (got < 0)
            return -1;
        if (got == 0)
            return err_set(err, ERR_INPUT, "%s ends too early", s->bytes->name);
        p += got, n -= got;
    }
    return 0;
}

int stream_skip(struct stream *s, int64_t n, struct err *err)
{
    char waste[1 << 16];
    if (!s->window) {
        if (n > s->end - s->at)
            return err_set(err, ERR_INPUT, "%s ends too early", s->bytes->name);
        s->at += n;
        return 0;
    }
    while (n > 0) {
        int64_t take = MIN(n, (int64_t)sizeof waste);
        if (stream_need(s, waste, take, err) < 0)
            return -1;
        n -= take;
    }
    return 0;
}
