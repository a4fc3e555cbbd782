/* tree.c - PyTorch expressions as trees: what is printed of a tree is read again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "author/playbook_torch.h"
#include "author/playbook_tree.h"
#include "base/util.h"

static json_t *some_tensors(void)
{
    return json_pack("[{s:s, s:b, s:s, s:[s, s]}, {s:s, s:b, s:s, s:[s, s, s]},"
                     " {s:s, s:b, s:s, s:[s]}]",
                     "name", "x", "input", 1, "dtype", "float16", "shape", "R", "2*D", "name", "q",
                     "input", 1, "dtype", "float32", "shape", "A", "B/2", "C", "name", "w", "input",
                     1, "dtype", "int64", "shape", "C");
}

/* Brackets that were not there before may nest too deep. */
static bool is_deep(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += strchr("([-+~", *text) != NULL;
    return n > 40;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static json_t *tensors;
    tensors = tensors ? tensors : some_tensors();
    char *text = xstrndup((const char *)data, size);
    struct arena a = ARENA_INIT;
    struct strbuf first = STRBUF_INIT(TORCH_MAX_TEXT);
    struct tree_facts facts = {tensors};
    struct tree *t = tree_parse(&a, text);
    if (t && tree_print(t, &first) && !is_deep(first.buf) && !tree_parse(&a, first.buf))
        abort();
    t = t ? tree_normal(&a, t, &facts) : NULL;
    strbuf_clear(&first);
    first.truncated = false;
    if (t && tree_print(t, &first) && !is_deep(first.buf) && !tree_parse(&a, first.buf))
        abort();
    if (t) {
        tree_reduced(&a, t);
        tree_unfolded(&a, t);
    }
    strbuf_release(&first);
    arena_release(&a);
    free(text);
    return 0;
}
