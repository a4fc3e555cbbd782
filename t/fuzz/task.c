/* Any text as task.json: refused with a problem, or a task whose workloads all resolve. */
#include <stdlib.h>

#include "task/task.h"

static void use(const struct task *t)
{
    for (size_t i = 0; i < t->workloads.n; i++) {
        struct arena a = ARENA_INIT;
        struct err err = ERR_INIT;
        struct shape s;
        bool drawn = t->workloads.items[i].role == ROLE_HELDOUT;
        if (shape_resolve(&s, t, &t->workloads.items[i], 3, &a, &err) < 0) {
            if (!drawn)
                abort();
        } else {
            int64_t dims[TASK_MAX_RANK];
            for (size_t k = 0; k < t->tensors.n; k++) {
                struct gen_spec spec;
                uint32_t align = shape_align(&s, k);
                if (shape_dims(&s, k, dims, &err) < 0 || !align || (align & (align - 1)))
                    abort();
                if (t->tensors.items[k].is_input && shape_init(&s, k, &spec, &err) < 0 && !drawn)
                    abort();
            }
            shape_text(&s, &a);
        }
        arena_release(&a);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct problem_vec problems = VEC_INIT;
    struct task *t = task_parse((const char *)data, len, "fuzz.json", "", &problems);
    if (!t == !problems.n)
        abort();
    if (t)
        use(t);
    task_free(t);
    problems_release(&problems);
    return 0;
}
