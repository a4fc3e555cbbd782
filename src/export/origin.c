/* origin.c - reads the key "origin" of an imported task, and writes the task's module as Python
 * text. See origin.h. */
#include "export/origin.h"

#include <ctype.h>
#include <string.h>

#include "base/util.h"
#include "sys/json.h"

static json_t *load_origin(const struct export_model *m)
{
    const struct task *t = m->in.task;
    json_t *doc = json_read_text(t->text, strlen(t->text), "task", NULL, NULL);
    json_t *origin = json_incref(json_object_get(doc, "origin"));
    json_decref(doc);
    return origin;
}

static int check_map(const struct task *t, const json_t *map, bool output, const char *what,
                     struct err *err)
{
    const char *path;
    json_t *value;
    json_object_foreach((json_t *)map, path, value)
    {
        int i = task_tensor_index(t, json_is_string(value) ? json_string_value(value) : "");
        if (i < 0 || (output ? !t->tensors.items[i].is_output : !t->tensors.items[i].is_input))
            return err_set(err, ERR_INPUT, "\"origin\": %s \"%.100s\" is not an %s of the task",
                           what, path, output ? "output" : "input");
    }
    return 0;
}

static unsigned count_uses(const json_t *origin, const char *name)
{
    unsigned n = 0;
    size_t i;
    const char *path;
    json_t *value;
    json_array_foreach(json_object_get(origin, "arguments"), i, value) n +=
        json_is_string(value) && str_eq(json_string_value(value), name);
    json_object_foreach(json_object_get(origin, "state"), path, value) n +=
        json_is_string(value) && str_eq(json_string_value(value), name);
    return n;
}

int origin_class(struct export_model *m, const char **name, struct err *err)
{
    const struct task *t = m->in.task;
    json_t *origin = load_origin(m);
    const char *class = json_string_value(json_object_get(origin, "class"));
    int rc = 0;
    *name = class && t->torch_src ? name_in(LANG_PYTHON, class, &m->arena) : NULL;
    if (*name) {
        rc = check_map(t, json_object_get(origin, "state"), false, "state", err) < 0 ||
                     check_map(t, json_object_get(origin, "updates"), true, "update", err) < 0
                 ? -1
                 : 0;
        vec_each (const struct task_tensor, x, &t->tensors)
            if (rc == 0 && x->is_input && !count_uses(origin, x->name))
                rc =
                    err_set(err, ERR_INPUT,
                            "\"origin\": the input '%s' is neither an argument nor state", x->name);
    }
    json_decref(origin);
    return rc;
}

/* Returns the path of a tensor in the module's state, or NULL. */
static const char *path_of(const json_t *map, const char *tensor)
{
    const char *path;
    json_t *value;
    json_object_foreach((json_t *)map, path,
                        value) if (str_eq(json_string_value(value), tensor)) return path;
    return NULL;
}

bool origin_is_updated(const struct export_model *m, const char *input)
{
    json_t *origin = load_origin(m);
    const char *path = path_of(json_object_get(origin, "state"), input);
    bool updated = path && json_object_get(json_object_get(origin, "updates"), path);
    json_decref(origin);
    return updated;
}

/* Returns a path of the state as a Python expression: "net.0.weight" becomes
 * self.net._modules["0"].weight. */
static const char *state_text(struct export_model *m, const char *path)
{
    struct strbuf sb = STRBUF_INIT(4096);
    strbuf_adds(&sb, "self");
    for (const char *p = path; *p;) {
        size_t n = strcspn(p, ".");
        bool name = isalpha((unsigned char)*p) || *p == '_';
        strbuf_addf(&sb, name ? ".%.*s" : "._modules[\"%.*s\"]", (int)n, p);
        p += n + (p[n] == '.');
    }
    const char *text = arena_strdup(&m->arena, sb.buf);
    strbuf_release(&sb);
    return text;
}

static void add_forward(struct export_model *m, const json_t *origin, const char *call,
                        struct strbuf *out)
{
    const struct task *t = m->in.task;
    const json_t *state = json_object_get(origin, "state"),
                 *updates = json_object_get(origin, "updates");
    size_t i, results = 0;
    json_t *value;
    strbuf_adds(out, "    def forward(self");
    json_array_foreach(json_object_get(origin, "arguments"), i, value)
        strbuf_addf(out, ", %s", name_in(LANG_PYTHON, json_string_value(value), &m->arena));
    strbuf_addf(
        out,
        "):\n        held = {**dict(self.named_parameters()), **dict(self.named_buffers())}\n"
        "        outputs = %s(",
        call);
    vec_each (const struct task_tensor, x, &t->tensors) {
        const char *path = path_of(state, x->name);
        if (x->is_input && path)
            strbuf_addf(out, "%s, ", state_text(m, path));
        else if (x->is_input)
            strbuf_addf(out, "%s, ", name_in(LANG_PYTHON, x->name, &m->arena));
    }
    strbuf_adds(out,
                ")\n        outputs = outputs if isinstance(outputs, tuple) else (outputs,)\n");
    struct strbuf list = STRBUF_INIT(64 << 10);
    i = 0;
    vec_each (const struct task_tensor, x, &t->tensors) {
        if (!x->is_output || x->is_input)
            continue;
        const char *path = path_of(updates, x->name);
        if (path)
            strbuf_addf(out,
                        "        with torch.no_grad():\n"
                        "            %s.copy_(outputs[%zu])\n",
                        state_text(m, path), i);
        else
            strbuf_addf(&list, "%soutputs[%zu]", results++ ? ", " : "", i);
        i++;
    }
    strbuf_addf(out, "        return %s\n\n\n", list.buf);
    strbuf_release(&list);
}

/* Appends the sizes with which the module was imported: those of the first timed workload. */
static void add_sizes(struct export_model *m, struct strbuf *out)
{
    const struct task *t = m->in.task;
    const struct task_workload *found = NULL;
    vec_each (const struct task_workload, w, &t->workloads)
        if (w->role == ROLE_TIME && !found)
            found = w;
    strbuf_addc(out, '{');
    for (size_t i = 0; i < t->axes.n; i++)
        strbuf_addf(out, "%s\"%s\": %lld", i ? ", " : "", t->axes.items[i].name,
                    (long long)(t->axes.items[i].is_const ? t->axes.items[i].value
                                : found                   ? found->axes[i].lo
                                                          : m->tested_hi[i]));
    strbuf_addc(out, '}');
}

void origin_module(struct export_model *m, const char *name, const char *call, struct strbuf *out)
{
    json_t *origin = load_origin(m);
    strbuf_addf(
        out,
        "class %s(torch.nn.Module):\n"
        "    \"\"\"The module that the task was imported from, with the kernel as its forward. "
        "Its state_dict is the original's.\"\"\"\n\n"
        "    def __init__(self, *args, **kwargs):\n        super().__init__()\n"
        "        sizes = ",
        name);
    add_sizes(m, out);
    strbuf_addf(
        out,
        "\n        original = _reference_space(sizes, \"cpu\")[\"%s\"](*args, **kwargs)\n"
        "        self.__dict__.update(original.__dict__)  # parameters, buffers and parts\n\n",
        json_string_value(json_object_get(origin, "class")));
    add_forward(m, origin, call, out);
    json_decref(origin);
}
