/* npy.c - reads the header of an .npy file, and converts its values. See npy.h. */
#include "gnn/read/npy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* The header is a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
 * NumPy writes only this form, so we read no other. */
struct text {
    const char *p;
};

static void skip_space(struct text *t)
{
    while (*t->p == ' ' || *t->p == '\n' || *t->p == '\t')
        t->p++;
}

static bool accept(struct text *t, const char *word)
{
    skip_space(t);
    if (!str_starts(t->p, word))
        return false;
    t->p += strlen(word);
    return true;
}

static int read_quoted(struct text *t, char *out, size_t size)
{
    skip_space(t);
    char quote = *t->p;
    if (quote != '\'' && quote != '"')
        return -1;
    const char *end = strchr(t->p + 1, quote);
    if (!end || (size_t)(end - t->p) > size)
        return -1;
    size_t n = (size_t)(end - t->p) - 1;
    memcpy(out, t->p + 1, n);
    out[n] = '\0';
    t->p = end + 1;
    return 0;
}

static enum dtype type_of(const char *descr)
{
    static const struct {
        const char *name;
        enum dtype type;
    } types[] = {{"<f8", DT_F64}, {"<f4", DT_F32}, {"<f2", DT_F16}, {"<i8", DT_I64},
                 {"<i4", DT_I32}, {"<i2", DT_I16}, {"|i1", DT_I8},  {"<u8", DT_U64},
                 {"<u4", DT_U32}, {"<u2", DT_U16}, {"|u1", DT_U8},  {"|b1", DT_BOOL}};
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_eq(descr, types[i].name))
            return types[i].type;
    return DT_NONE;
}

static int read_shape(struct npy *n, struct text *t)
{
    if (!accept(t, "("))
        return -1;
    n->dims = 0;
    n->count = 1;
    while (!accept(t, ")")) {
        char *end;
        skip_space(t);
        if (n->dims == NPY_MAX_DIMS || *t->p < '0' || *t->p > '9')
            return -1;
        long long v = strtoll(t->p, &end, 10);
        if (v < 0 || v > INT64_C(1) << 48 || (v && n->count > (INT64_C(1) << 48) / v))
            return -1;
        t->p = end;
        n->shape[n->dims++] = v;
        n->count *= v;
        if (!accept(t, ",") && *t->p != ')')
            return -1;
    }
    return 0;
}

static int read_dictionary(struct npy *n, const char *header, const char *name, struct err *err)
{
    struct text t = {header};
    char key[32], descr[64] = "";
    unsigned seen = 0;
    if (!accept(&t, "{"))
        goto bad;
    while (!accept(&t, "}")) {
        if (read_quoted(&t, key, sizeof key) < 0 || !accept(&t, ":"))
            goto bad;
        if (str_eq(key, "descr")) {
            if (read_quoted(&t, descr, sizeof descr) < 0)
                return err_set(err, ERR_UNSUPPORTED,
                               "%s: arrays of structures are not supported; give plain numbers",
                               name);
            seen |= 1;
        } else if (str_eq(key, "fortran_order")) {
            n->fortran = accept(&t, "True");
            if (!n->fortran && !accept(&t, "False"))
                goto bad;
            seen |= 2;
        } else if (str_eq(key, "shape")) {
            if (read_shape(n, &t) < 0)
                goto bad;
            seen |= 4;
        } else {
            goto bad;
        }
        accept(&t, ",");
    }
    if (seen != 7)
        goto bad;
    n->type = type_of(descr);
    if (n->type == DT_NONE)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: values of type '%.20s' are not supported: give little-endian integers "
                       "or floats",
                       name, descr);
    return 0;
bad:
    return err_set(err, ERR_INPUT, "%s: the header of the array is damaged", name);
}

int npy_header(struct npy *n, struct stream *s, const char *name, struct err *err)
{
    unsigned char magic[8], length[4] = {0};
    *n = (struct npy){.type = DT_NONE};
    if (stream_need(s, magic, sizeof magic, err) < 0)
        return -1;
    if (memcmp(magic, "\x93NUMPY", 6) != 0)
        return err_set(err, ERR_INPUT, "%s is not a NumPy array", name);
    if (magic[6] < 1 || magic[6] > 3)
        return err_set(err, ERR_UNSUPPORTED, "%s: version %d of NumPy's format is not known", name,
                       magic[6]);
    if (stream_need(s, length, magic[6] == 1 ? 2 : 4, err) < 0)
        return -1;
    uint32_t bytes = (uint32_t)length[0] | (uint32_t)length[1] << 8 | (uint32_t)length[2] << 16 |
                     (uint32_t)length[3] << 24;
    if (bytes > NPY_MAX_HEADER)
        return err_set(err, ERR_INPUT, "%s: the header of the array has %u bytes", name, bytes);
    char *header = xcalloc(1, bytes + 1);
    int rc = stream_need(s, header, bytes, err);
    if (rc == 0)
        rc = read_dictionary(n, header, name, err);
    free(header);
    return rc;
}

/* Calls `store` for each of the next `count` values. */
static int each_value(const struct npy *n, struct stream *s, int64_t count, void *to,
                      void (*store)(void *to, int64_t i, enum dtype t, const void *p),
                      struct err *err)
{
    unsigned char block[4096];
    int64_t size = (int64_t)dtype_bytes(n->type), fit = (int64_t)sizeof block / size;
    for (int64_t done = 0; done < count;) {
        int64_t k = MIN(fit, count - done);
        if (stream_need(s, block, k * size, err) < 0)
            return -1;
        for (int64_t i = 0; i < k; i++)
            store(to, done + i, n->type, block + i * size);
        done += k;
    }
    return 0;
}

static void store_double(void *to, int64_t i, enum dtype t, const void *p)
{
    ((double *)to)[i] = dtype_load(t, p);
}

/* Does not convert through double, because a double cannot hold every int64. */
static void store_int(void *to, int64_t i, enum dtype t, const void *p)
{
    int64_t v;
    uint64_t u;
    switch (t) {
    case DT_I64:
        memcpy(&v, p, sizeof v);
        break;
    case DT_U64:
        memcpy(&u, p, sizeof u);
        v = u > INT64_MAX ? INT64_MAX : (int64_t)u;
        break;
    default:
        v = (int64_t)dtype_load(t, p);
    }
    ((int64_t *)to)[i] = v;
}

int npy_doubles(const struct npy *n, struct stream *s, double *to, int64_t count, struct err *err)
{
    return each_value(n, s, count, to, store_double, err);
}

int npy_ints(const struct npy *n, struct stream *s, int64_t *to, int64_t count, struct err *err)
{
    if (n->type == DT_BOOL)
        return err_set(err, ERR_INPUT,
                       "the array is a mask (type bool), but ids must be integers: give the "
                       "numbers of the nodes, for example numpy.flatnonzero(mask)");
    if (dtype_is_float(n->type))
        return err_set(err, ERR_INPUT, "the array has type %s, but ids must be integers",
                       dtype_name(n->type));
    return each_value(n, s, count, to, store_int, err);
}
