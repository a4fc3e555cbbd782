/* pack.c - writes the files of a bundle. See pack.h. */
#include "eval/pack.h"

#include <string.h>

#include "base/util.h"
#include "sys/file.h"

int pack_add(const char *dir, const char *name, const void *data, size_t len, struct err *err)
{
    char *path = xasprintf("%s/%s", dir, name);
    int rc = file_write(path, data, len, err);
    free(path);
    return rc;
}

static int write_kernel(const char *dir, struct job_module *m, uint32_t i,
                        const struct pack_module *p, struct arena *a, struct err *err)
{
    const char *stem = i ? arena_printf(a, "base.%u", i) : "cand";
    m->cubin = p->code->cubin_len ? arena_printf(a, "%s.cubin", stem) : "";
    m->ptx = arena_printf(a, "%s.ptx", stem);
    m->source = p->source ? arena_printf(a, "%s.cu", stem) : "";
    if (*m->cubin && pack_add(dir, m->cubin, p->code->cubin, p->code->cubin_len, err) < 0)
        return -1;
    if (pack_add(dir, m->ptx, p->code->ptx, p->code->ptx_len, err) < 0)
        return -1;
    return p->source ? pack_add(dir, m->source, p->source, strlen(p->source), err) : 0;
}

int pack_write(const char *dir, struct job *job, const struct pack_module *parts, struct arena *a,
               struct err *err)
{
    for (uint32_t i = 0; i < job->nmodules; i++) {
        struct job_module *m = &job->modules[i];
        m->cubin = m->ptx = m->source = m->spec = "";
        if (m->kind == JOB_MODULE_KERNEL && write_kernel(dir, m, i, &parts[i], a, err) < 0)
            return -1;
        if (m->kind != JOB_MODULE_KERNEL)
            m->spec = arena_strdup(a, parts[i].spec);
    }
    struct strbuf sb = STRBUF_INIT(JOB_MAX_BYTES);
    job_write(job, &sb);
    int rc = sb.truncated ? err_set(err, ERR_LIMIT, "job.bin would exceed %u bytes", JOB_MAX_BYTES)
                          : pack_add(dir, "job.bin", sb.buf, sb.len, err);
    strbuf_release(&sb);
    return rc;
}
