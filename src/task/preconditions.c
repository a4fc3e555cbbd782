/*
 * preconditions.c - says in words what a task promises about the structure of its inputs.
 */
#include "base/util.h"
#include "task/task.h"

static const char *structure_of(const struct task_tensor *t, struct arena *a)
{
    switch (t->init.dist) {
    case GEN_CSR:
        return "holds row pointers: it begins with 0 and never falls";
    case GEN_PERM:
        return "is a permutation";
    case GEN_SORTED:
        return "is sorted along its last dimension";
    case GEN_ONE_HOT:
        return "has one 1 in each row, and zeros elsewhere";
    case GEN_LENGTHS:
        return arena_printf(a, "holds the lengths of the rows of %s", t->lengths_of);
    default:
        break;
    }
    switch (t->init.mask) {
    case GEN_LOWER:
        return "is lower triangular";
    case GEN_UPPER:
        return "is upper triangular";
    case GEN_PADDED:
        return arena_printf(a, "is padded with %g after the end of each row", t->init.pad);
    default:
        return NULL;
    }
}

const char *task_preconditions(const struct task *t, struct arena *a)
{
    struct strbuf sb = STRBUF_INIT(64 << 10);
    const char *what;
    vec_each (const struct task_tensor, x, &t->tensors)
        if (x->is_input && (what = structure_of(x, a)))
            strbuf_addf(&sb, "%s%s %s", sb.len ? "; " : "", x->name, what);
    const char *text = arena_strdup(a, sb.len ? sb.buf : "");
    strbuf_release(&sb);
    return text;
}
