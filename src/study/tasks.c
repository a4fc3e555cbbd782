/* tasks.c - makes the tasks of a study: copies of tasks, without their slow shapes. Also makes the
 * siblings of these tasks, in which one axis is divided by 2 or 4. */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "study/study.h"
#include "sys/hash.h"
#include "sys/json.h"

static struct task *parse(json_t *j, const struct task *like, struct err *err)
{
    struct problem_vec problems = VEC_INIT;
    char *text = json_dumps(j, 0);
    struct task *t = task_parse(text, strlen(text), like->file, like->reference_c, &problems);
    if (!t)
        err_set(err, ERR_INPUT, "task '%s' cannot be studied: %s", like->name,
                problems.n ? problems.items[0].text : "it has no text");
    else
        /* We leave out the shapes that Hone adds by itself. The tests show that kernels from
         * playbooks pass at these shapes. */
        t->regimes.n = 0;
    problems_release(&problems);
    free(text);
    return t;
}

static const char *role_of(const json_t *w)
{
    const char *role = json_string_value(json_object_get(w, "role"));
    return role ? role : "";
}

/* Drops check and held-out shapes, and all baselines but one. */
static void drop_slow_parts(json_t *j)
{
    json_t *all = json_object_get(j, "workloads");
    for (size_t i = json_array_size(all); i-- > 0;) {
        const char *role = role_of(json_array_get(all, i));
        if (str_eq(role, "check") || str_eq(role, "heldout"))
            json_array_remove(all, i);
    }
    json_object_set_new(j, "baselines", json_pack("[s]", "naive")); /* a task needs a baseline */
}

/* Divides one axis of workload w: by 2 if k is below 2, else by 4. An axis qualifies if the
 * quotient is whole and at least 32. If k is even, divides the first axis that qualifies, else the
 * last. Returns false if no axis qualifies, or if k is odd and only one axis qualifies. */
static bool divide_axis(json_t *w, int k)
{
    json_t *axes = json_object_get(w, "axes"), *v, *first = NULL, *last = NULL;
    const char *name;
    json_int_t by = k < 2 ? 2 : 4;
    json_object_foreach(axes, name, v)
    {
        json_int_t size = json_integer_value(v);
        if (!json_is_integer(v) || size % by || size / by < 32)
            continue;
        first = first ? first : v;
        last = v;
    }
    if (!first || (k % 2 && last == first))
        return false;
    v = k % 2 ? last : first;
    json_integer_set(v, json_integer_value(v) / by);
    return true;
}

/* Makes a copy of the task in which one axis of each timed shape is shorter, where divide_axis()
 * can divide one. Returns NULL if no shape has such an axis, or if the copy is not a valid task. */
static struct task *make_sibling(json_t *j, const struct task *like, int k)
{
    json_t *copy = json_deep_copy(j), *w;
    size_t i;
    bool changed = false;
    char *name = xasprintf("%s_sibling%d", like->name, k);
    json_object_set_new(copy, "name", json_string(name));
    json_array_foreach(json_object_get(copy, "workloads"), i, w)
    {
        if (str_eq(role_of(w), "time"))
            changed |= divide_axis(w, k);
    }
    struct task *t = changed ? parse(copy, like, NULL) : NULL;
    json_decref(copy);
    free(name);
    return t;
}

int study_add_task(struct study *s, const char *name, struct err *err)
{
    struct problem_vec problems = VEC_INIT;
    struct task *t = task_find(name, &problems);
    if (!t) {
        err_set(err, ERR_INPUT, "'%s' cannot be used as a task: %s", name,
                problems.n ? problems.items[0].text : "?");
        problems_release(&problems);
        return -1;
    }
    json_t *j = json_loads(t->text, 0, NULL);
    drop_slow_parts(j);
    struct study_task x = {.name = arena_strdup(&s->arena, t->name), .task = parse(j, t, err)};
    for (int k = 0; k < STUDY_SIBLINGS && x.task; k++)
        x.sibling[k] = make_sibling(j, t, k);
    json_decref(j);
    task_free(t);
    if (!x.task)
        return -1;
    *vec_push(&s->tasks) = x;
    return 0;
}

void study_siblings(const struct study *s, const struct task *t, struct study_sibling_vec *out)
{
    vec_each (struct study_task, x, &s->tasks) {
        for (int k = -1; k < STUDY_SIBLINGS; k++) {
            const struct task *some = k < 0 ? x->task : x->sibling[k];
            if (some && some->class == t->class && !str_eq(some->name, t->name))
                *vec_push(out) = some;
        }
    }
}

void study_setup(const struct study *s, const struct study_arm *arm, const struct task *t,
                 struct strbuf *out)
{
    strbuf_addf(out, "budget=%u author=%s", s->budget, arm->author ? arm->author : s->author);
    if (!arm->memory)
        return;
    struct study_sibling_vec all = VEC_INIT;
    struct hash *h = hash_new();
    char key[HASH_HEX];
    study_siblings(s, t, &all);
    vec_each (const struct task *, x, &all)
        hash_str(h, (*x)->name);
    hash_finish(h, key);
    strbuf_addf(out, " siblings=%.8s", key);
    vec_release(&all);
}

void study_release(struct study *s)
{
    vec_each (struct study_task, t, &s->tasks) {
        task_free(t->task);
        for (int k = 0; k < STUDY_SIBLINGS; k++)
            task_free(t->sibling[k]);
    }
    vec_release(&s->tasks);
    arena_release(&s->arena);
}
