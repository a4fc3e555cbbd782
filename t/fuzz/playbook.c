/* playbook.c - binds tasks with any PyTorch expression to every playbook, and writes kernels. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "playbook/playbook.h"

/* A task with inputs of several ranks, so that many playbooks can find their inputs. */
static json_t *a_task(const char *torch)
{
    return json_pack("{s:s, s:s, s:s, s:["
                     " {s:s, s:s, s:[s, s, s], s:b, s:b}, {s:s, s:s, s:[s, s, s], s:b, s:b},"
                     " {s:s, s:s, s:[s], s:b, s:b}, {s:s, s:s, s:[s, s, s], s:b, s:b}],"
                     " s:{s:{}}}",
                     "name", "t", "op_type", "", "torch", torch, "tensors", "name", "x", "dtype",
                     "float16", "shape", "B", "M", "K", "input", 1, "output", 0, "name", "w",
                     "dtype", "float16", "shape", "M", "1", "4", "input", 1, "output", 0, "name",
                     "b", "dtype", "float32", "shape", "K", "input", 1, "output", 0, "name", "y",
                     "dtype", "float16", "shape", "B", "M", "K", "input", 0, "output", 1, "scalars",
                     "eps");
}

static void of_integers(json_t *task)
{
    static const char *const dtypes[] = {"uint8", "int8", "bool", "int32"};
    json_t *tensors = json_object_get(task, "tensors");
    for (size_t i = 0; i < ARRAY_LEN(dtypes); i++)
        json_object_set_new(json_array_get(tensors, i), "dtype", json_string(dtypes[i]));
}

/* Leaves one tensor, which the task updates in place. Its rows have length 2*D. */
static void in_place(json_t *task)
{
    json_t *tensors = json_object_get(task, "tensors"), *x = json_array_get(tensors, 0);
    for (size_t i = json_array_size(tensors); i > 1; i--)
        json_array_remove(tensors, i - 1);
    json_object_set_new(x, "output", json_true());
    json_object_set_new(x, "shape", json_pack("[s, s]", "R", "2*D"));
}

/* Leaves one input with rows of length 2*D, and adds an output with rows of length D. */
static void halved(json_t *task)
{
    in_place(task);
    json_t *tensors = json_object_get(task, "tensors"), *x = json_array_get(tensors, 0);
    json_t *y = json_deep_copy(x);
    json_object_set_new(x, "output", json_false());
    json_object_set_new(y, "input", json_false());
    json_object_set_new(y, "name", json_string("y"));
    json_object_set_new(y, "shape", json_pack("[s, s]", "R", "D"));
    json_array_append_new(tensors, y);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct playbook_shelf *shelf;
    char *text = xstrndup((const char *)data, size);
    if (!shelf && playbooks_open(&shelf, NULL, NULL) < 0)
        abort();
    for (size_t round = 0; round < 8; round++) { /* in rounds 3 to 5, tensors hold integers */
        json_t *task = a_task(text);
        if (task && round >= 3 && round < 6)
            of_integers(task);
        if (task && round >= 6)
            (round == 6 ? in_place : halved)(task);
        for (size_t i = 0; task && round < 6 && i < round % 3; i++)
            json_array_remove(json_object_get(task, "tensors"), 2 - i);
        if (round == 2) /* puts an input with fewer axes before all tensors */
            json_array_insert_new(json_object_get(task, "tensors"), 0,
                                  json_pack("{s:s, s:s, s:[s], s:b, s:b}", "name", "n", "dtype",
                                            "float16", "shape", "K", "input", 1, "output", 0));
        vec_each (struct playbook, pb, &shelf->books) {
            struct pb_binding b;
            struct strbuf why = STRBUF_INIT(4096), out = STRBUF_INIT(1 << 20);
            if (task && playbook_bind(pb, task, 90, &b, &why)) {
                struct pb_point p = playbook_start(pb, &b);
                if (playbook_expand(pb, &b, &p, &out, NULL) < 0)
                    abort();
                pb_binding_release(&b);
            } else if (task && !why.len) {
                abort();
            }
            strbuf_release(&why);
            strbuf_release(&out);
        }
        json_decref(task);
    }
    free(text);
    return 0;
}
