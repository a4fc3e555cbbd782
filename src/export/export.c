/* export.c - the table of export formats, and functions that their writers share. */
#include "export/export.h"

#include <string.h>

#include "base/util.h"
#include "sys/file.h"

const struct export_format *const export_formats[] = {
    &export_torch, &export_c, &export_kernelbench, &export_flashinfer, &export_cubin,
};
const size_t nexport_formats = ARRAY_LEN(export_formats);

const struct export_format *export_format_find(const char *name, struct err *err)
{
    struct strbuf all = STRBUF_INIT(512);
    for (size_t i = 0; i < nexport_formats; i++) {
        if (str_eq(export_formats[i]->name, name)) {
            strbuf_release(&all);
            return export_formats[i];
        }
        strbuf_addf(&all, "%s%s", i ? ", " : "", export_formats[i]->name);
    }
    err_set(err, ERR_USAGE, "there is no format '%s'; the formats are %s", name, all.buf);
    strbuf_release(&all);
    return NULL;
}

void export_job_release(struct export_job *job)
{
    vec_release(&job->written);
}

/* Makes the directory of a file. */
static int make_parent(const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return 0;
    char *dir = xstrndup(path, (size_t)(slash - path));
    int rc = dir_make(dir, err);
    free(dir);
    return rc;
}

int export_write(struct export_job *job, const char *path, const struct strbuf *text,
                 struct err *err)
{
    if (text->truncated)
        return err_set(err, ERR_LIMIT, "%s would be too large", path);
    if (file_is_dir(path))
        return err_set(err, ERR_INPUT, "%s is a directory; give --out a file", path);
    if (make_parent(path, err) < 0 || file_write(path, text->buf, text->len, err) < 0)
        return -1;
    *vec_push(&job->written) = arena_strdup(&job->model->arena, path);
    return 0;
}

void export_base64(struct strbuf *out, const void *data, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = data;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) |
                     (i + 2 < n ? p[i + 2] : 0u);
        char four[4] = {digits[v >> 18], digits[v >> 12 & 63],
                        i + 1 < n ? digits[v >> 6 & 63] : '=', i + 2 < n ? digits[v & 63] : '='};
        strbuf_add(out, four, 4);
        if (i % 84 == 81)
            strbuf_addc(out, '\n');
    }
    strbuf_addc(out, '\n');
}
