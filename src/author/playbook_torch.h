/*
 * playbook_torch.h - a task's PyTorch expression as a C expression, for elementwise playbooks and
 * row reductions.
 *
 *     "x * torch.sigmoid(x)"  with x as v0  ->  "(v0 * (1.f / (1.f + expf(-(v0)))))"
 *
 * Understood: numbers, the task's inputs, + - * / **, comparisons, parentheses, and the elementwise
 * functions of torch and torch.nn.functional, as calls or as methods. Anything else (a reduction,
 * an index, a name it does not know) is refused with the reason: a guess would be a wrong kernel.
 */
#ifndef AUTHOR_PLAYBOOK_TORCH_H
#define AUTHOR_PLAYBOOK_TORCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

#define TORCH_MAX_TEXT 4096

/* names[i] is called v<i> in the result. */
bool torch_to_c(const char *text, const char *const *names, size_t n, struct strbuf *out,
                struct strbuf *why);

/*
 * The same for what works along the last axis, a reduction or a softmax, of an elementwise
 * expression:
 *
 *     "(x * x).sum(dim=-1)"  ->  name "sum", expr "(v0 * v0)"
 *
 * As a function or a method; the axis is -1, or rank-1 of the input. max and min, which give
 * indices too, need a `.values` or `[0]`; `max` and `amax` are both called "max", and so on.
 */
struct torch_rows {
    const char *name;
    struct strbuf expr;
    bool whole; /* no axis is given: over all of them, as if they were one */
};
bool torch_to_rows(const char *text, const char *const *names, size_t n, size_t rank,
                   struct torch_rows *out, struct strbuf *why);

#endif
