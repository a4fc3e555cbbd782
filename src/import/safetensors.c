/* safetensors.c - maps a safetensors file and checks its header. See safetensors.h. */
#include "import/safetensors.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "sys/json.h"

#define MAX_HEADER (16u << 20)
#define MAX_ELEMS (INT64_C(1) << 40)

static enum dtype dtype_of(const char *name)
{
    static const struct {
        const char *name;
        enum dtype dtype;
    } table[] = {{"F64", DT_F64},   {"F32", DT_F32},        {"F16", DT_F16},
                 {"BF16", DT_BF16}, {"F8_E4M3", DT_F8E4M3}, {"F8_E5M2", DT_F8E5M2},
                 {"I64", DT_I64},   {"I32", DT_I32},        {"I16", DT_I16},
                 {"I8", DT_I8},     {"U64", DT_U64},        {"U32", DT_U32},
                 {"U16", DT_U16},   {"U8", DT_U8},          {"BOOL", DT_BOOL}};
    for (size_t i = 0; name && i < ARRAY_LEN(table); i++)
        if (str_eq(name, table[i].name))
            return table[i].dtype;
    return DT_NONE;
}

int safetensors_parse(struct safetensors *s, const void *file, size_t len, const char *path,
                      struct err *err)
{
    const unsigned char *p = file;
    struct json_caps caps = {.max_bytes = MAX_HEADER};
    uint64_t header = 0;
    *s = (struct safetensors){.path = xstrdup(path)};
    for (int i = 7; len >= 8 && i >= 0; i--)
        header = header << 8 | p[i];
    if (len < 8 || header > len - 8 || header > MAX_HEADER) {
        err_set(err, ERR_INPUT,
                "%s: not a safetensors file: it has %zu bytes, and its header would have %llu (at "
                "most %u)",
                path, len, (unsigned long long)header, (unsigned)MAX_HEADER);
    } else {
        s->header = json_read_text((const char *)p + 8, (size_t)header, path, &caps, err);
        s->data = p + 8 + header;
        s->bytes = len - 8 - (size_t)header;
        if (s->header && json_is_object(s->header))
            return 0;
        if (s->header)
            err_set(err, ERR_INPUT, "%s: the header is not a JSON object", path);
    }
    safetensors_close(s);
    return -1;
}

int safetensors_open(struct safetensors *s, const char *path, struct err *err)
{
    struct stat st;
    *s = (struct safetensors){.path = NULL};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_errno(err, "%s", path);
    int rc = fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 8
                 ? err_set(err, ERR_INPUT, "%s: not a safetensors file", path)
                 : 0;
    void *map = rc < 0 ? MAP_FAILED : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (rc == 0 && map == MAP_FAILED)
        rc = err_errno(err, "%s", path);
    close(fd);
    if (rc < 0)
        return -1;
    rc = safetensors_parse(s, map, (size_t)st.st_size, path, err);
    if (rc < 0) {
        munmap(map, (size_t)st.st_size);
        return -1;
    }
    s->map = map;
    s->map_bytes = (size_t)st.st_size;
    return 0;
}

void safetensors_close(struct safetensors *s)
{
    if (s->map)
        munmap(s->map, s->map_bytes);
    json_decref(s->header);
    free(s->path);
    *s = (struct safetensors){.path = NULL};
}

/* Reads the shape and counts the elements. Returns false if it is not a list of sizes, or is
 * larger than Hone allows. */
static bool read_shape(const json_t *shape, struct safetensor *out)
{
    size_t i;
    json_t *d;
    out->elems = 1;
    if (!json_is_array(shape) || json_array_size(shape) > SAFETENSORS_MAX_RANK)
        return false;
    json_array_foreach(shape, i, d)
    {
        json_int_t n = json_integer_value(d);
        if (!json_is_integer(d) || n < 0 || n > MAX_ELEMS ||
            (n > 0 && out->elems > (uint64_t)MAX_ELEMS / (uint64_t)n))
            return false;
        out->dims[i] = n;
        out->elems *= (uint64_t)n;
    }
    out->rank = (uint32_t)json_array_size(shape);
    return true;
}

int safetensors_find(const struct safetensors *s, const char *key, struct safetensor *out,
                     struct err *err)
{
    const json_t *j = json_object_get(s->header, key);
    const json_t *offsets = json_object_get(j, "data_offsets");
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    *out = (struct safetensor){.dtype = DT_NONE};
    if (!j || str_eq(key, "__metadata__"))
        return err_set(err, ERR_INPUT, "%s: there is no tensor '%s'", s->path, key);
    const char *dtype = json_string_value(json_object_get(j, "dtype"));
    out->dtype = dtype_of(dtype);
    if (out->dtype == DT_NONE)
        return err_set(err, ERR_UNSUPPORTED, "%s: '%s' has the unknown dtype \"%.40s\"", s->path,
                       key, dtype ? dtype : "");
    if (!read_shape(json_object_get(j, "shape"), out))
        return err_set(err, ERR_INPUT, "%s: the shape of '%s' is malformed or too large", s->path,
                       key);
    out->bytes = (size_t)out->elems * dtype_bytes(out->dtype);
    json_int_t from = json_integer_value(begin), to = json_integer_value(end);
    if (!json_is_integer(begin) || !json_is_integer(end) || json_array_size(offsets) != 2 ||
        from < 0 || to < from || (uint64_t)to > s->bytes || (uint64_t)(to - from) != out->bytes)
        return err_set(err, ERR_INPUT,
                       "%s: the data_offsets of '%s' are wrong: %lld to %lld; the tensor needs %zu "
                       "bytes, and the file has %zu bytes of data",
                       s->path, key, (long long)from, (long long)to, out->bytes, s->bytes);
    out->data = s->data + from;
    return 0;
}
