/* author_view.c - hides held-out shapes from tasks and verdicts. See author_view.h. */
#include "mcp/author_view.h"

#include "base/util.h"
#include "prompt/say.h"

void task_hide_held_out(json_t *task)
{
    json_t *workloads = json_object_get(task, "workloads");
    for (size_t i = json_array_size(workloads); i-- > 0;) {
        const char *role = json_string_value(json_object_get(json_array_get(workloads, i), "role"));
        if (!role || verdict_hidden(role))
            json_array_remove(workloads, i);
    }
}

static json_t *place(const uint32_t p[3])
{
    return json_pack("[i, i, i]", (int)p[0], (int)p[1], (int)p[2]);
}

static json_t *finding_facts(const struct verdict_finding *f)
{
    json_t *j = json_pack("{s:s, s:o, s:i}", "kind", finding_kind_name(f->kind), "kernel",
                          json_text(f->kernel), "line", (int)f->line);
    if (verdict_hidden(f->role))
        return j;
    json_object_set_new(j, "workload", json_text(f->workload));
    json_object_set_new(j, "block", place(f->block));
    json_object_set_new(j, "thread", place(f->thread));
    json_object_set_new(j, "object", json_text(f->object));
    json_object_set_new(j, "index", json_integer(f->index));
    json_object_set_new(j, "text", json_text(f->text));
    return j;
}

static json_t *findings_facts(const struct verdict *v)
{
    json_t *list = json_array();
    vec_each (const struct verdict_finding, f, &v->findings)
        if (json_array_size(list) < 50)
            json_array_append_new(list, finding_facts(f));
    return list;
}

json_t *verdict_facts(const struct verdict *v)
{
    struct say_verdict o = {.profile = true};
    json_t *j = say_verdict_json(v, &o);
    if (!j)
        BUG("a verdict that JSON cannot hold");
    json_object_set(j, "report", json_object_get(j, "text"));
    json_object_del(j, "text");
    json_object_set_new(j, "passes", json_boolean(v->kind == V_PASS));
    json_object_set_new(j, "detector", json_text(v->detector));
    json_object_set_new(j, "speedup_over", json_text(v->speedup_over));
    json_object_set_new(j, "findings", findings_facts(v));
    json_object_set_new(j, "device", json_text(v->device));
    json_object_set_new(j, "gpu", json_text(v->gpu));
    json_object_set_new(j, "arch", json_text(v->arch));
    json_object_set_new(j, "compiler", json_text(v->compiler));
    json_object_set_new(j, "source_sha", json_text(v->source_sha));
    json_object_set_new(j, "untrusted", json_pack("[s, s]", "report", "findings"));
    return j;
}

void reply_verdict(struct reply *r, const struct verdict *v)
{
    struct strbuf text = STRBUF_INIT(256 << 10), brief = STRBUF_INIT(1024);
    struct say_verdict o = {.profile = true};
    if (v->kind == V_PASS) {
        say_verdict_short(v, &brief);
        reply_text(r, "Verdict: %s.", brief.buf);
    } else {
        reply_text(r, "Verdict: %s, at the stage %s.%s", verdict_kind_name(v->kind), v->stage,
                   v->kind == V_UNJUDGED ? " Hone or this machine failed; that says nothing about "
                                           "the kernel."
                                         : "");
    }
    say_verdict(v, &o, &text);
    reply_foreign(r, "the verdict in words", text.buf, text.len);
    r->is_error = v->kind == V_UNJUDGED;
    reply_structured(r, verdict_facts(v));
    strbuf_release(&text);
    strbuf_release(&brief);
}
