/* texts.c - keeps the texts of a binding, and writes sizes and C++ types as texts. A binding
 * (book.h) is a template fitted to one task. */
#include "playbook/book/texts.h"

#include <ctype.h>
#include <string.h>

#include "base/util.h"

void bind_text(struct pb_binding *b, const char *key, const char *value)
{
    *vec_push(&b->texts) =
        (struct pb_text){arena_strdup(&b->arena, key), arena_strdup(&b->arena, value)};
}

void bind_number(struct pb_binding *b, const char *key, int64_t v)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)v);
    bind_text(b, key, text);
}

const char *bound_text(const struct pb_binding *b, const char *key, size_t len)
{
    vec_each (struct pb_text, t, &b->texts)
        if (strlen(t->key) == len && memcmp(t->key, key, len) == 0)
            return t->value;
    return NULL;
}

const char *restricted(const struct pb_binding *b)
{
    return b->in_place ? "" : "__restrict__ ";
}

void pb_binding_release(struct pb_binding *b)
{
    vec_release(&b->texts);
    json_decref(b->graph_task);
    arena_release(&b->arena);
    *b = (struct pb_binding)PB_BINDING_INIT;
}

const char *facts_text(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));
    return s ? s : "";
}

bool same_text(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (isspace((unsigned char)*a))
            a++;
        while (isspace((unsigned char)*b))
            b++;
        if (*a != *b)
            return false;
        if (!*a)
            return true;
    }
}

bool same_shape(const json_t *a, const json_t *b)
{
    size_t n = json_array_size(a);
    bool same = n == json_array_size(b);
    for (size_t i = 0; same && i < n; i++)
        same = same_text(json_string_value(json_array_get(a, i)),
                         json_string_value(json_array_get(b, i)));
    return same;
}

const char *dim_factor(struct arena *a, const char *dim)
{
    return same_text(dim, "1") ? "1" : arena_printf(a, "(%s)", dim);
}

const char *dims_times(struct arena *a, const char *left, const char *right)
{
    if (str_eq(left, "1"))
        return right;
    return str_eq(right, "1") ? left : arena_printf(a, "%s * %s", left, right);
}

const char *dims_product(struct arena *a, const json_t *shape, size_t from, size_t to)
{
    const char *all = "1";
    for (size_t i = from; i < to; i++)
        all = dims_times(a, all, dim_factor(a, json_string_value(json_array_get(shape, i))));
    return all;
}

const char *element_type(enum dtype t)
{
    static const char *const names[DT_COUNT] = {
        [DT_F64] = "double",
        [DT_F32] = "float",
        [DT_F16] = "cute::half_t",
        [DT_BF16] = "cute::bfloat16_t",
        [DT_F8E4M3] = "cute::float_e4m3_t",
        [DT_F8E5M2] = "cute::float_e5m2_t",
        [DT_I64] = "long long",
        [DT_I32] = "int",
        [DT_I16] = "short",
        [DT_I8] = "signed char",
        [DT_U64] = "unsigned long long",
        [DT_U32] = "unsigned",
        [DT_U16] = "unsigned short",
        [DT_U8] = "unsigned char",
        [DT_BOOL] = "unsigned char", /* not bool, because CuTe packs bools into bits */
    };
    return names[t];
}

const char *value_type(enum dtype t)
{
    static const char *const names[DT_COUNT] = {
        [DT_I64] = "int64_t",  [DT_I32] = "int32_t",  [DT_I16] = "int16_t",
        [DT_I8] = "int8_t",    [DT_U64] = "uint64_t", [DT_U32] = "uint32_t",
        [DT_U16] = "uint16_t", [DT_U8] = "uint8_t",   [DT_BOOL] = "bool"};
    return names[t] ? names[t] : "float";
}

const struct pb_op *op_called(const struct playbook *pb, const char *name)
{
    vec_each (struct pb_op, op, &pb->ops)
        if (str_eq(op->name, name))
            return op;
    return NULL;
}
