/* manifest.c - manifest.json of a dataset: parses, checks, writes. See manifest.h. */
#include "gnn/data/manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "gnn/graph.h"
#include "sys/json.h"

static const char *const file_names[DATA_FILES] = {
    [DATA_OFFSETS] = "offsets", [DATA_NEIGHBOURS] = "neighbours", [DATA_FEATURES] = "features",
    [DATA_LABELS] = "labels",   [DATA_TRAIN] = "train",           [DATA_VALID] = "valid",
    [DATA_TEST] = "test",
};

const char *data_file_name(enum data_file f)
{
    return file_names[f];
}

const char *gnn_type_name(enum gnn_type t)
{
    return t == GNN_F16 ? "float16" : "float32";
}

int gnn_type_parse(const char *s, enum gnn_type *out, struct err *err)
{
    if (str_eq(s, "float16") || str_eq(s, "fp16"))
        *out = GNN_F16;
    else if (str_eq(s, "float32") || str_eq(s, "fp32"))
        *out = GNN_F32;
    else
        return err_set(err, ERR_INPUT, "features are float16 or float32, not '%.40s'", s);
    return 0;
}

static int get_int(const json_t *o, const char *where, const char *key, int64_t lo, int64_t hi,
                   int64_t *out, struct err *err)
{
    const json_t *j = json_object_get(o, key);
    if (!json_is_integer(j))
        return err_set(err, ERR_INPUT, "%s: \"%s\" must be an integer", where, key);
    *out = json_integer_value(j);
    if (*out < lo || *out > hi)
        return err_set(err, ERR_INPUT,
                       "%s: \"%s\" is %" PRId64 ", but must be from %" PRId64 " to %" PRId64, where,
                       key, *out, lo, hi);
    return 0;
}

static int get_text(const json_t *o, const char *where, const char *key, char *out, size_t size,
                    struct err *err)
{
    const char *s = json_string_value(json_object_get(o, key));
    if (!s || strlen(s) >= size)
        return err_set(err, ERR_INPUT, "%s: \"%s\" must be a string of at most %zu bytes", where,
                       key, size - 1);
    memcpy(out, s, strlen(s) + 1);
    return 0;
}

static int get_sum(const json_t *o, const char *where, const char *name, uint64_t *out,
                   struct err *err)
{
    const char *s = json_string_value(json_object_get(o, "xxh64"));
    if (!s || strlen(s) != 16 || strspn(s, "0123456789abcdef") != 16)
        return err_set(err, ERR_INPUT, "%s: \"xxh64\" of %s must be 16 hexadecimal digits", where,
                       name);
    *out = strtoull(s, NULL, 16);
    return 0;
}

/* Returns the bytes that a file must have, or -1 for a split (train, valid or test), whose size is
 * not fixed. */
static int64_t wanted_bytes(const struct manifest *m, enum data_file f)
{
    switch (f) {
    case DATA_OFFSETS:
        return (m->nodes + 1) * 8;
    case DATA_NEIGHBOURS:
        return m->edges * 4;
    case DATA_FEATURES:
        return m->nodes * m->feature_dim * (int64_t)gnn_type_bytes(m->feature_type);
    case DATA_LABELS:
        return m->nodes * 4;
    default:
        return -1;
    }
}

static int check_bytes(const struct manifest *m, enum data_file f, const char *where,
                       struct err *err)
{
    int64_t have = m->file[f].bytes, want = wanted_bytes(m, f);
    if (want < 0 && have % 4 == 0 && have <= m->nodes * 4)
        return 0;
    if (want < 0)
        return err_set(err, ERR_INPUT,
                       "%s: %s has %" PRId64 " bytes: not a list of at most %" PRId64 " int32 ids",
                       where, file_names[f], have, m->nodes);
    if (have != want)
        return err_set(err, ERR_INPUT,
                       "%s: %s has %" PRId64 " bytes, but %" PRId64 " nodes, %" PRId64
                       " edges and %" PRId64 " features need %" PRId64,
                       where, file_names[f], have, m->nodes, m->edges, m->feature_dim, want);
    return 0;
}

static int get_files(struct manifest *m, const json_t *files, const char *where, struct err *err)
{
    if (!json_is_object(files))
        return err_set(err, ERR_INPUT, "%s: \"files\" must be an object", where);
    size_t known = 0;
    for (int f = 0; f < DATA_FILES; f++) {
        const json_t *j = json_object_get(files, file_names[f]);
        m->file[f].present = j != NULL;
        if (!j)
            continue;
        known++;
        if (get_int(j, where, "bytes", 0, INT64_MAX, &m->file[f].bytes, err) < 0 ||
            get_sum(j, where, file_names[f], &m->file[f].sum, err) < 0 ||
            check_bytes(m, (enum data_file)f, where, err) < 0)
            return -1;
    }
    if (known != json_object_size(files))
        return err_set(err, ERR_INPUT, "%s: \"files\" names a file that version %d does not have",
                       where, MANIFEST_VERSION);
    if (!m->file[DATA_OFFSETS].present || !m->file[DATA_NEIGHBOURS].present)
        return err_set(err, ERR_INPUT, "%s: the files offsets and neighbours are required", where);
    if (m->file[DATA_FEATURES].present != (m->feature_dim > 0))
        return err_set(err, ERR_INPUT, "%s: \"features\" and the file features must come together",
                       where);
    if (m->file[DATA_LABELS].present != (m->classes > 0))
        return err_set(err, ERR_INPUT,
                       "%s: \"classes\" above 0 and the file labels must come "
                       "together",
                       where);
    return 0;
}

static int get_features(struct manifest *m, const json_t *features, const char *where,
                        struct err *err)
{
    char type[16];
    if (!features)
        return 0;
    if (!json_is_object(features))
        return err_set(err, ERR_INPUT, "%s: \"features\" must be an object", where);
    if (get_int(features, where, "dim", 1, GNN_MAX_DIM, &m->feature_dim, err) < 0 ||
        get_text(features, where, "type", type, sizeof type, err) < 0)
        return -1;
    if (gnn_type_parse(type, &m->feature_type, err) < 0)
        return err_prefix(err, "%s", where);
    return 0;
}

static int get_all(struct manifest *m, const json_t *root, const char *where, struct err *err)
{
    int64_t version;
    const char *format = json_string_value(json_object_get(root, "format"));
    if (!format || !str_eq(format, "hone-gnn"))
        return err_set(err, ERR_INPUT, "%s: \"format\" must be \"hone-gnn\"", where);
    if (get_int(root, where, "version", MANIFEST_VERSION, MANIFEST_VERSION, &version, err) < 0 ||
        get_text(root, where, "name", m->name, sizeof m->name, err) < 0 ||
        get_text(root, where, "made_by", m->made_by, sizeof m->made_by, err) < 0 ||
        get_int(root, where, "nodes", 0, GNN_MAX_NODES, &m->nodes, err) < 0 ||
        get_int(root, where, "edges", 0, GNN_MAX_EDGES, &m->edges, err) < 0 ||
        get_int(root, where, "classes", 0, INT32_MAX, &m->classes, err) < 0)
        return -1;
    const json_t *symmetric = json_object_get(root, "symmetric");
    if (!json_is_boolean(symmetric))
        return err_set(err, ERR_INPUT, "%s: \"symmetric\" must be true or false", where);
    m->symmetric = json_is_true(symmetric);
    if (get_features(m, json_object_get(root, "features"), where, err) < 0)
        return -1;
    return get_files(m, json_object_get(root, "files"), where, err);
}

int manifest_parse(struct manifest *m, const char *text, size_t len, const char *where,
                   struct err *err)
{
    *m = (struct manifest){.nodes = 0};
    const struct json_caps caps = {.max_bytes = MANIFEST_MAX_BYTES, .max_depth = 8};
    json_t *root = json_read_text(text, len, where, &caps, err);
    if (!root)
        return -1;
    int rc = get_all(m, root, where, err);
    json_decref(root);
    return rc;
}

void manifest_write(const struct manifest *m, struct strbuf *out)
{
    json_t *files = json_object();
    for (int f = 0; f < DATA_FILES; f++) {
        if (!m->file[f].present)
            continue;
        char sum[17];
        snprintf(sum, sizeof sum, "%016" PRIx64, m->file[f].sum);
        json_object_set_new(
            files, file_names[f],
            json_pack("{s:I,s:s}", "bytes", (json_int_t)m->file[f].bytes, "xxh64", sum));
    }
    json_t *root =
        json_pack("{s:s,s:i,s:o,s:o,s:I,s:I,s:b,s:I}", "format", "hone-gnn", "version",
                  MANIFEST_VERSION, "name", json_text(m->name), "made_by", json_text(m->made_by),
                  "nodes", (json_int_t)m->nodes, "edges", (json_int_t)m->edges, "symmetric",
                  m->symmetric, "classes", (json_int_t)m->classes);
    if (m->feature_dim)
        json_object_set_new(root, "features",
                            json_pack("{s:I,s:s}", "dim", (json_int_t)m->feature_dim, "type",
                                      gnn_type_name(m->feature_type)));
    json_object_set_new(root, "files", files);
    json_add_text(out, root, true);
    json_decref(root);
}
