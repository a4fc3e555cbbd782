/*
 * playbook_views.c - the task as its PyTorch expression sees it.
 *
 * Inputs with further axes of 1, as w.view(1, -1, 1, 1), w[:, None, None] or mask.unsqueeze(1): the
 * expression without them, and the tensors with those shapes. And axes that are named: x / N.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "author/playbook_bind.h"
#include "author/playbook_read.h"
#include "base/util.h"

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* [:, None] or [..., None]: a ":" is the next axis, a None a new one, and "..." stands for as many
 * axes as are not named after it. */
static json_t *indexed(const char **s, const json_t *shape)
{
    json_t *seen = json_array();
    size_t used = 0, n = json_array_size(shape);
    do {
        size_t later = 0;
        if (text_take(s, "None")) {
            json_array_append_new(seen, json_string("1"));
        } else if (text_take(s, "...")) {
            for (const char *c = *s; *c && *c != ']'; c++)
                later += *c == ':';
            while (used + later < n)
                json_array_append(seen, json_array_get(shape, used++));
        } else if (text_take(s, ":") && used < n) {
            json_array_append(seen, json_array_get(shape, used++));
        } else {
            break;
        }
    } while (text_take(s, ","));
    bool ok = text_take(s, "]");
    for (; ok && used < n; used++) /* what is not named stays */
        json_array_append(seen, json_array_get(shape, used));
    if (ok)
        return seen;
    json_decref(seen);
    return NULL;
}

/* view(1, -1, 1, 1) of a vector. */
static json_t *viewed(const char **s, const json_t *shape)
{
    json_t *seen = json_array();
    bool ok = json_array_size(shape) == 1, whole = false;
    do {
        if (text_take(s, "-1") && !whole) {
            json_array_append(seen, json_array_get(shape, 0));
            whole = true;
        } else if (text_take(s, "1")) {
            json_array_append_new(seen, json_string("1"));
        } else {
            ok = false;
        }
    } while (ok && text_take(s, ","));
    if (ok && whole && text_take(s, ")"))
        return seen;
    json_decref(seen);
    return NULL;
}

static json_t *unsqueezed(const char **s, const json_t *shape)
{
    long n = (long)json_array_size(shape);
    char *end;
    text_take(s, "dim=");
    long axis = strtol(*s, &end, 10);
    axis += axis < 0 ? n + 1 : 0;
    if (end == *s || axis < 0 || axis > n)
        return NULL;
    *s = end;
    if (!text_take(s, ")"))
        return NULL;
    json_t *seen = json_deep_copy(shape);
    json_array_insert_new(seen, (size_t)axis, json_string("1"));
    return seen;
}

/* The views that follow a tensor's name at *s, all of them. NULL if there are none. */
static json_t *views_at(const char **s, const json_t *shape)
{
    json_t *seen = NULL, *next;
    for (const char *at = *s;; *s = at) {
        const json_t *now = seen ? seen : shape;
        next = text_take(&at, "[")             ? indexed(&at, now)
               : text_take(&at, ".view(")      ? viewed(&at, now)
               : text_take(&at, ".reshape(")   ? viewed(&at, now)
               : text_take(&at, ".unsqueeze(") ? unsqueezed(&at, now)
                                               : NULL;
        if (!next)
            return seen;
        json_decref(seen);
        seen = next;
    }
}

static json_t *tensor_named(const json_t *tensors, const char *name, size_t len)
{
    for (size_t i = 0; i < json_array_size(tensors); i++) {
        json_t *t = json_array_get(tensors, i);
        const char *n = facts_text(t, "name");
        if (json_is_true(json_object_get(t, "input")) && text_is(name, len, n))
            return t;
    }
    return NULL;
}

json_t *without_views(const json_t *task)
{
    json_t *copy = json_deep_copy(task), *tensors = json_object_get(copy, "tensors");
    const json_t *before = json_object_get(task, "tensors");
    const char *text = facts_text(task, "torch"), *s = text;
    struct strbuf out = STRBUF_INIT(8192);
    bool any = false, ok = true;
    while (*s && ok) {
        size_t n = 0;
        while (is_word(s[n]))
            n++;
        bool attribute = s > text && (s[-1] == '.' || is_word(s[-1]));
        json_t *t = n && !attribute ? tensor_named(tensors, s, n) : NULL;
        strbuf_add(&out, s, n ? n : 1);
        s += n ? n : 1;
        if (!t)
            continue;
        const json_t *shape = json_object_get(
            tensor_named(before, facts_text(t, "name"), strlen(facts_text(t, "name"))), "shape");
        json_t *seen = views_at(&s, shape);
        any |= seen != NULL;
        /* seen in two ways, it is two tensors: that is not for playbooks */
        const json_t *earlier = json_object_get(t, "seen");
        ok = !earlier || same_shape(earlier, seen ? seen : shape);
        json_object_set(t, "seen", seen ? seen : (json_t *)shape);
        json_decref(seen);
    }
    for (size_t i = 0; ok && any && i < json_array_size(tensors); i++) {
        json_t *t = json_array_get(tensors, i), *seen = json_object_get(t, "seen");
        if (seen)
            json_object_set(t, "shape", seen);
    }
    if (ok && any)
        json_object_set_new(copy, "torch", json_string(out.buf));
    strbuf_release(&out);
    if (ok && any)
        return copy;
    json_decref(copy);
    return json_incref((json_t *)task);
}

/* Is the name a value in the text? Not as an attribute, x.N, nor as an option, N=1. */
static bool has_value(const char *text, const char *name)
{
    for (const char *s = text; *s;) {
        size_t n = text_word(s);
        const char *after = s + n + strspn(s + n, " ");
        bool option = *after == '=' && after[1] != '=';
        if (n && text_is(s, n, name) && !option && (s == text || s[-1] != '.'))
            return true;
        s += n ? n : 1;
    }
    return false;
}

json_t *with_axes(const json_t *task)
{
    json_t *copy = json_deep_copy(task), *scalars = json_object_get(copy, "scalars");
    const json_t *axes = json_object_get(task, "axes");
    for (size_t i = 0; i < json_array_size(axes); i++) {
        const char *name = facts_text(json_array_get(axes, i), "name");
        if (has_value(facts_text(task, "torch"), name))
            json_object_set_new(scalars, name, json_pack("{s:s}", "dtype", "int64"));
    }
    return copy;
}
