/*
 * as_cubin.c - writes the machine code as it is, and beside it a JSON file with the plan and the
 * verdict.
 */
#include <string.h>

#include "base/util.h"
#include "export/about.h"
#include "export/export.h"
#include "sys/json.h"

/* Returns the plan as its author wrote it: the JSON in the first comment. */
static json_t *plan_json(const struct export_model *m)
{
    const char *begin = strchr(m->in.text, '{'), *end = strstr(m->in.text, "*/");
    struct err err = ERR_INIT;
    json_t *j = begin && end && begin < end
                    ? json_read_text(begin, (size_t)(end - begin), "plan", NULL, &err)
                    : NULL;
    return j ? j : json_null();
}

static json_t *kernels_json(const struct export_model *m)
{
    json_t *out = json_object();
    vec_each (const struct sig, s, &m->in.code->sigs) {
        json_t *params = json_array();
        for (uint32_t i = 0; i < s->nparams; i++) {
            static const char *const kinds[] = {"pointer", "int", "float", "bool", "struct"};
            json_array_append_new(params, json_pack("{s:s, s:i}", "kind", kinds[s->params[i].kind],
                                                    "bytes", (int)s->params[i].size));
        }
        json_object_set_new(out, s->kernel, params);
    }
    return out;
}

static int write(struct export_job *job, struct err *err)
{
    struct export_model *m = job->model;
    struct strbuf cubin = STRBUF_INIT(256u << 20), text = STRBUF_INIT(16u << 20);
    json_t *j = about_json(m);
    json_object_set_new(j, "kernels", kernels_json(m));
    json_object_set_new(j, "plan", plan_json(m));
    json_add_text(&text, j, true);
    json_decref(j);
    strbuf_add(&cubin, m->in.code->cubin, m->in.code->cubin_len);
    const char *path = arena_printf(&m->arena, "%s.json", job->out);
    int rc = export_write(job, job->out, &cubin, err) < 0 || export_write(job, path, &text, err) < 0
                 ? -1
                 : 0;
    strbuf_release(&cubin);
    strbuf_release(&text);
    return rc;
}

const struct export_format export_cubin = {
    "cubin", "the machine code, and FILE.json with the plan and the verdict", write};
