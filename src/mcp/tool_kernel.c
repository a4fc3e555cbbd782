/*
 * tool_kernel.c - the tools compile_kernel, emulate_kernel, evaluate_kernel and profile_kernel.
 */
#include "base/util.h"
#include "mcp/author_view.h"
#include "mcp/tools.h"
#include "report/annotate.h"

/* ---- compile_kernel -------------------------------------------------------------------------- */

static bool wants(const struct call *c, const char *what)
{
    const char *want = call_str(c, "want");
    return want && str_eq(want, what);
}

static enum call_step compile_start(struct call *c, struct err *err)
{
    const char *kernel;
    if (call_kernel(c, &kernel, err) < 0)
        return CALL_FAILED;
    call_word(c, "compile");
    call_word(c, wants(c, "ptx") ? "--ptx" : wants(c, "sass") ? "--sass" : "--json");
    call_option(c, "arch", call_str(c, "arch"));
    call_word(c, "--");
    call_word(c, kernel);
    return CALL_CHILD;
}

/* Appends the compiler's messages for people: "line 12: error: ..." */
static void say_diagnostics(const json_t *list, struct strbuf *out)
{
    size_t i;
    json_t *d;
    json_array_foreach(list, i, d)
    {
        const char *hint = json_string_value(json_object_get(d, "hint"));
        strbuf_addf(out, "line %d: %s: %s\n", (int)json_integer_value(json_object_get(d, "line")),
                    json_string_value(json_object_get(d, "severity")),
                    json_string_value(json_object_get(d, "message")));
        if (hint && *hint)
            strbuf_addf(out, "  hint: %s\n", hint);
    }
}

static enum call_step compile_facts(struct call *c, struct err *err)
{
    struct strbuf text = STRBUF_INIT(1 << 20);
    json_t *j = call_output(c, err);
    if (!j)
        return CALL_FAILED;
    const char *failure = json_string_value(json_object_get(j, "failure"));
    bool ok = json_is_true(json_object_get(j, "ok"));
    reply_text(&c->reply, ok ? "It compiles." : "It does not compile.");
    if (failure && *failure)
        strbuf_addf(&text, "%s\n", failure);
    say_diagnostics(json_object_get(j, "diagnostics"), &text);
    if (ok)
        json_add_text(&text, json_object_get(j, "kernels"), true);
    call_foreign(c, "what the compiler says", "compile.txt", "text/plain", text.buf, text.len);
    json_object_set_new(j, "untrusted", json_pack("[s, s]", "diagnostics", "kernels"));
    reply_structured(&c->reply, j);
    strbuf_release(&text);
    return CALL_DONE;
}

/* If the kernel does not compile, `hone compile` with --ptx or --sass prints the diagnostics on
 * stderr, and call_output() puts them into *err. */
static enum call_step compile_finish(struct call *c, struct err *err)
{
    const struct strbuf *out = &c->child.out;
    bool ptx = wants(c, "ptx");
    if (!ptx && !wants(c, "sass"))
        return compile_facts(c, err);
    if (c->child.end != CHILD_EXITED || c->child.code || !out->len) {
        json_decref(call_output(c, err));
        return CALL_FAILED;
    }
    reply_text(&c->reply, "It compiles. The resource below holds the %s.",
               ptx ? "PTX"
                   : "listing of the kernel's machine code, and counts of its instructions");
    call_shelve(c, ptx ? "kernel.ptx" : "kernel.sass", "text/plain", out->buf, out->len);
    reply_structured(&c->reply, json_pack("{s:b, s:[]}", "ok", 1, "diagnostics"));
    return CALL_DONE;
}

const struct tool tool_compile_kernel = {"compile_kernel", compile_start, compile_finish};

/* ---- the three ways to a verdict ------------------------------------------------------------- */

static enum call_step start_command(struct call *c, const char *command, struct err *err)
{
    const char *task, *kernel;
    if (call_task(c, &task, err) < 0 || call_kernel(c, &kernel, err) < 0)
        return CALL_FAILED;
    call_word(c, command);
    call_word(c, "--json");
    call_option(c, "device", call_str(c, "device"));
    call_option(c, "gpu", call_str(c, "gpu"));
    call_option(c, "workload", call_str(c, "workload"));
    if (str_eq(command, "emu") && call_bool(c, "annotate", false))
        call_word(c, "--annotate");
    if (str_eq(command, "eval")) {
        const char *depth = call_str(c, "depth");
        if (depth && str_eq(depth, "smoke"))
            call_word(c, "--smoke");
        if (depth && str_eq(depth, "check"))
            call_word(c, "--skip-time");
        if (!call_bool(c, "baselines", true))
            call_word(c, "--skip-baselines");
    }
    call_word(c, "--");
    call_word(c, task);
    call_word(c, kernel);
    return CALL_CHILD;
}

static void add_annotated(struct call *c, const struct verdict *v)
{
    struct strbuf text = STRBUF_INIT(4 << 20);
    annotate_text(&text, v, c->text);
    call_shelve(c, "annotated.cu", "text/plain", text.buf, text.len);
    strbuf_release(&text);
}

static enum call_step finish_verdict(struct call *c, struct err *err)
{
    struct verdict v;
    json_t *j = call_output(c, err);
    int rc = j ? verdict_from_json(&v, j, err) : -1;
    json_decref(j);
    if (rc < 0)
        return CALL_FAILED;
    reply_verdict(&c->reply, &v);
    if (call_bool(c, "annotate", false))
        add_annotated(c, &v);
    verdict_release(&v);
    return CALL_DONE;
}

static enum call_step emulate_start(struct call *c, struct err *err)
{
    return start_command(c, "emu", err);
}

static enum call_step evaluate_start(struct call *c, struct err *err)
{
    return start_command(c, "eval", err);
}

static enum call_step profile_start(struct call *c, struct err *err)
{
    return start_command(c, "profile", err);
}

const struct tool tool_emulate_kernel = {"emulate_kernel", emulate_start, finish_verdict};
const struct tool tool_evaluate_kernel = {"evaluate_kernel", evaluate_start, finish_verdict};
const struct tool tool_profile_kernel = {"profile_kernel", profile_start, finish_verdict};
