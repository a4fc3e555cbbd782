/* trace.c - runs trace.py in a child process and reads its answer. See trace.h. */
#include "import/trace.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "sys/asset.h"
#include "sys/file.h"
#include "sys/json.h"
#include "sys/loop.h"
#include "sys/proc.h"

#define LIMIT_CPU_NS (900 * SEC)    /* a trace usually takes 20 s */
#define LIMIT_NS (4 * LIMIT_CPU_NS) /* the machine may be busy */
#define LIMIT_BYTES (UINT64_C(16) << 30)
#define MAX_ANSWER (64u << 20)
#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

const char *trace_shown(const struct trace_request *rq)
{
    return rq->shown ? rq->shown : rq->file;
}

/* Returns a new object with the members NAME: TEXT, for n texts "NAME=TEXT". */
static json_t *pairs(const char *const *texts, size_t n, const char *option, struct err *err)
{
    json_t *out = json_object();
    for (size_t i = 0; i < n; i++) {
        const char *eq = strchr(texts[i], '=');
        if (!eq || eq == texts[i]) {
            err_set(err, ERR_USAGE, "%s %s: write NAME=VALUE", option, texts[i]);
            json_decref(out);
            return NULL;
        }
        char *name = xstrndup(texts[i], (size_t)(eq - texts[i]));
        json_object_set_new(out, name, json_text(eq + 1));
        free(name);
    }
    return out;
}

/* Returns whether a type such as "float16[B,2*D]" mentions the size `name`. */
static bool has_size(const char *type, const char *name, size_t len)
{
    for (const char *p = strchr(type, '['); p && *p;) {
        size_t n = strspn(p, NAME_CHARS);
        if (n == len && memcmp(p, name, n) == 0)
            return true;
        p += MAX(n, 1);
    }
    return false;
}

static void list_sizes(const struct trace_request *rq, struct strbuf *out)
{
    for (size_t i = 0; i < rq->ninputs; i++)
        for (const char *p = strchr(rq->inputs[i], '['), *end; p && *p; p = end) {
            end = p + MAX(strspn(p, NAME_CHARS), 1);
            if (isalpha((unsigned char)*p) || *p == '_')
                strbuf_addf(out, "%s%.*s", out->len ? ", " : "", (int)(end - p), p);
        }
}

static int check_size(const struct trace_request *rq, const char *size, struct err *err)
{
    const char *eq = strchr(size, '=');
    size_t len = eq ? (size_t)(eq - size) : 0;
    char *end = NULL;
    if (!len || strtoll(eq + 1, &end, 10) <= 0 || *end)
        return err_set(err, ERR_USAGE, "--size %s: write NAME=N with a whole number above 0", size);
    if (rq->only_declared)
        return 0;
    for (size_t i = 0; i < rq->ninputs; i++)
        if (has_size(rq->inputs[i], size, len))
            return 0;
    struct strbuf known = STRBUF_INIT(1024);
    list_sizes(rq, &known);
    if (rq->ninputs)
        err_set(err, ERR_USAGE, "--size %s: no --input has the size '%.*s'; they have: %s", size,
                (int)len, size, known.len ? known.buf : "no names, only numbers");
    else
        err_set(err, ERR_USAGE, "--size %s: --size works only with --input. Without --input, %s",
                size,
                rq->recorded ? "the sizes are those of the recorded trace"
                             : "get_inputs() in the file sets the sizes");
    strbuf_release(&known);
    return -1;
}

int trace_check_sizes(const struct trace_request *rq, struct err *err)
{
    for (size_t i = 0; i < rq->nsizes; i++)
        if (check_size(rq, rq->sizes[i], err) < 0)
            return -1;
    return 0;
}

static char *request_text(const struct trace_request *rq, struct err *err)
{
    json_t *inputs = pairs(rq->inputs, rq->ninputs, "--input", err);
    json_t *sizes = inputs ? pairs(rq->sizes, rq->nsizes, "--size", err) : NULL;
    char *text = NULL;
    if (sizes) {
        json_t *j = json_pack("{s:o, s:s, s:O, s:O, s:O?, s:b}", "file", json_text(rq->file),
                              "name", rq->name ? rq->name : "", "inputs", inputs, "sizes", sizes,
                              "fixed", rq->fixed, "only_declared", rq->only_declared);
        text = json_dumps(j, JSON_COMPACT);
        json_decref(j);
    }
    json_decref(inputs);
    json_decref(sizes);
    return text;
}

/* Returns the last line that the program wrote to its standard error. */
static const char *last_line(struct strbuf *sb)
{
    while (sb->len && sb->buf[sb->len - 1] == '\n')
        sb->buf[--sb->len] = '\0';
    const char *nl = sb->len ? strrchr(sb->buf, '\n') : NULL;
    return nl ? nl + 1 : sb->len ? sb->buf : "";
}

static int failed(struct child_process *c, const char *file, struct err *err)
{
    struct strbuf how = STRBUF_INIT(256);
    const char *said = last_line(&c->err);
    child_describe(c, &how);
    bool lacks = strstr(said, "No module named 'torch'") || strstr(said, "No module named 'sympy'");
    if (lacks)
        err_set(err, ERR_ENV,
                "%s has no PyTorch: set HONE_PYTHON to a python3 that has it (2.6 or newer)",
                c->argv[0]);
    else
        err_set(err, c->end == CHILD_EXITED ? ERR_ENV : ERR_LIMIT, "tracing %s: %s%s%.300s", file,
                how.buf, *said ? ": " : "", said);
    strbuf_release(&how);
    return -1;
}

/* If the answer refuses the module, sets err to the reason and returns -1. Otherwise returns 0. */
static int refusal(const json_t *answer, const char *file, struct err *err)
{
    const json_t *r = json_object_get(answer, "refused");
    const char *why = json_string_value(json_object_get(r, "why"));
    json_int_t line = json_integer_value(json_object_get(r, "line"));
    if (!r)
        return 0;
    if (line > 0)
        return err_set(err, ERR_INPUT, "%s:%lld: %s", file, (long long)line, why ? why : "refused");
    return err_set(err, ERR_INPUT, "%s: %s", file, why ? why : "refused");
}

static json_t *run_python(const struct trace_request *rq, struct err *err)
{
    const struct asset *program = asset_find("src/import/trace.py");
    const char *name = getenv("HONE_PYTHON");
    if (!program)
        BUG("trace.py is not embedded");
    char *request = request_text(rq, err);
    if (!request)
        return NULL;
    const char *argv[] = {name && *name ? name : "python3", "-", request, NULL};
    const char *env[] = {"OMP_NUM_THREADS=2", "TORCHDYNAMO_DISABLE=1", "PYTHONDONTWRITEBYTECODE=1",
                         NULL};
    struct child_process c = CHILD_INIT;
    json_t *answer = NULL;
    c.argv = argv;
    c.env = env;
    c.input = program->data;
    c.input_len = program->len;
    c.max_out = MAX_ANSWER;
    c.limit_ns = LIMIT_NS;
    c.limit_cpu_ns = LIMIT_CPU_NS;
    c.limit_bytes = LIMIT_BYTES;
    int rc = child_run(&c, err);
    if (rc == 0 && (c.end != CHILD_EXITED || c.code != 0))
        rc = failed(&c, trace_shown(rq), err);
    if (rc == 0) {
        struct json_caps caps = {.max_bytes = MAX_ANSWER};
        answer =
            json_read_text(c.out.buf ? c.out.buf : "", c.out.len, "trace.py's answer", &caps, err);
    }
    child_release(&c);
    free(request);
    return answer;
}

static int write_answer(const char *path, const json_t *answer, struct err *err)
{
    struct strbuf text = STRBUF_INIT(MAX_ANSWER);
    json_add_text(&text, answer, true);
    int rc = file_write(path, text.buf, text.len, err);
    strbuf_release(&text);
    return rc;
}

json_t *trace_run(const struct trace_request *rq, struct err *err)
{
    struct json_caps caps = {.max_bytes = MAX_ANSWER};
    json_t *answer = rq->recorded ? json_read_file(rq->recorded, &caps, err) : run_python(rq, err);
    if (answer && ((rq->record && write_answer(rq->record, answer, err) < 0) ||
                   refusal(answer, trace_shown(rq), err) < 0 ||
                   (rq->add_facts && rq->add_facts(answer, rq->ctx, err) < 0))) {
        json_decref(answer);
        answer = NULL;
    }
    return answer;
}
