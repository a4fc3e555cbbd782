/* playbook_rig.h - code that tests of playbook/ share: a shelf of playbooks, and a task's facts
 * from a line of text. */
#ifndef T_UNIT_PLAYBOOK_RIG_H
#define T_UNIT_PLAYBOOK_RIG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "playbook/playbook.h"
#include "sys/file.h"

/* For cmocka_run_group_tests(): the state of a test is the shelf with the built-in playbooks. */
static inline int rig_open_shelf(void **state)
{
    struct playbook_shelf *shelf;
    if (playbooks_open(&shelf, NULL, NULL) < 0)
        return -1;
    *state = shelf;
    return 0;
}

static inline int rig_close_shelf(void **state)
{
    playbooks_close(*state);
    return 0;
}

/* Returns the sizes in a text such as "A,B" as JSON: ["A", "B"]. The text "-" has no sizes. */
static inline json_t *rig_shape(char *dims)
{
    json_t *shape = json_array();
    char *save = NULL;
    for (char *d = strtok_r(dims, ",", &save); d; d = strtok_r(NULL, ",", &save))
        if (!str_eq(d, "-"))
            json_array_append_new(shape, json_string(d));
    return shape;
}

/*
 * Returns the author facts of a task with the operation `op` and the PyTorch expression `torch`.
 * `spec` lists its tensors, scalars and axes:
 * "x float32 R,C; y float32 R out; eps scalar float32; K3 axis 3". A tensor with the shape "-" is a
 * single value. "out" marks an output, and "inout" a tensor that is both input and output.
 */
static inline json_t *rig_facts(const char *op, const char *torch, const char *spec)
{
    json_t *tensors = json_array(), *scalars = json_object(), *axes = json_array();
    char *all = xstrdup(spec), *save = NULL;
    for (char *t = strtok_r(all, ";", &save); t; t = strtok_r(NULL, ";", &save)) {
        char name[32], kind[32], rest[64], out[8] = "";
        if (sscanf(t, " %31s %31s %63s %7s", name, kind, rest, out) < 3)
            abort();
        if (str_eq(kind, "scalar"))
            json_object_set_new(scalars, name, json_pack("{s:s}", "dtype", rest));
        else if (str_eq(kind, "axis"))
            json_array_append_new(axes, json_pack("{s:s, s:i}", "name", name, "value", atoi(rest)));
        else
            json_array_append_new(tensors,
                                  json_pack("{s:s, s:s, s:o, s:b, s:b}", "name", name, "dtype",
                                            kind, "shape", rig_shape(rest), "input",
                                            !*out || str_eq(out, "inout"), "output", *out != 0));
    }
    free(all);
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "name", "t", "op_type", op, "torch", torch,
                     "tensors", tensors, "scalars", scalars, "axes", axes);
}

static inline const struct playbook *rig_book(const struct playbook_shelf *shelf, const char *name)
{
    vec_each (const struct playbook, pb, &shelf->books)
        if (str_eq(pb->name, name))
            return pb;
    return NULL;
}

/* Returns the text that is bound to a placeholder (its key), or "" if none is. */
static inline const char *rig_text(const struct pb_binding *b, const char *key)
{
    vec_each (const struct pb_text, t, &b->texts)
        if (str_eq(t->key, key))
            return t->value;
    return "";
}

struct fixture {
    struct temp_dir dir;
    struct playbook_shelf *shelf;
};

static inline int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    f->dir = (struct temp_dir)TEMP_DIR_INIT;
    *state = f;
    return temp_dir_make(&f->dir, NULL);
}

static inline int tear_down(void **state)
{
    struct fixture *f = *state;
    playbooks_close(f->shelf);
    temp_dir_release(&f->dir);
    free(f);
    return 0;
}

static inline const struct playbook *built_in(struct fixture *f, const char *name)
{
    if (!f->shelf)
        assert_int_equal(playbooks_open(&f->shelf, NULL, NULL), 0);
    vec_each (struct playbook, pb, &f->shelf->books)
        if (str_eq(pb->name, name))
            return pb;
    fail_msg("no playbook %s", name);
    return NULL;
}

#endif
