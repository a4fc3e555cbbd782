/*
 * Tests the kernels that come with Hone: each task has at least one simple kernel, and every plan
 * parses with its task. t/kernels.sh checks that the kernels compute the right thing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "plan/plan.h"
#include "sys/asset.h"
#include "task/task.h"

static void every_task_has_a_kernel(void **state)
{
    struct arena a = ARENA_INIT;
    const char **names;
    size_t n = task_builtin_names(&a, &names);
    assert_true(n >= 24);
    for (size_t i = 0; i < n; i++) {
        char *path = xasprintf("kernels/%s.cu", names[i]);
        if (!asset_find(path))
            fail_msg("there is no %s", path);
        free(path);
    }
    arena_release(&a);
}

/* kernels/TASK.cu or kernels/TASK.VARIANT.cu */
static struct task *task_of(const struct asset *kernel)
{
    const char *name = kernel->path + strlen("kernels/");
    char *task = xstrndup(name, strcspn(name, "."));
    struct problem_vec problems = VEC_INIT;
    struct task *t = task_find(task, &problems);
    if (!t)
        fail_msg("%s: %s", kernel->path, problems.items[0].text);
    free(task);
    return t;
}

static void every_plan_parses(void **state)
{
    size_t kernels = 0;
    for (const struct asset *k = asset_first("kernels/");
         k->path && str_starts(k->path, "kernels/"); k++) {
        struct problem_vec problems = VEC_INIT;
        struct task *t = task_of(k);
        struct plan *p = plan_parse(k->data, k->len, t, &problems);
        if (!p || problems.n)
            fail_msg("%s: %s", k->path, problems.items[0].text);
        assert_true(plan_launch_count(p) > 0);
        plan_free(p);
        task_free(t);
        kernels++;
    }
    assert_true(kernels >= 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_has_a_kernel),
        cmocka_unit_test(every_plan_parses),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
