/* Reads any bytes as a suite, and as a table of known times. An accepted item stays below its
 * folder and has a label. The store can keep its options. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "campaign/known_times.h"
#include "campaign/suite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_item(const struct suite_item *i, struct arena *a)
{
    struct suite_item again = {.label = ""};
    bool path = str_starts(i->operand, "dir/");
    if (*i->operand == '/' || (path && strstr(i->operand, "/../")) || !*i->label)
        abort();
    json_t *j = suite_options(i);
    char *text = json_dumps(j, 0);
    if (text && (suite_read_options(text, &again, a, NULL) < 0 || again.sizes.n != i->sizes.n ||
                 again.inputs.n != i->inputs.n))
        abort();
    vec_release(&again.inputs);
    vec_release(&again.sizes);
    free(text);
    json_decref(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = ARENA_INIT;
    struct suite_item_vec items = VEC_INIT;
    struct known_times k;
    char *text = xstrndup("", 0);
    text = xrealloc(text, size + 1); /* so that ASan sees a read past the end */
    memcpy(text, data, size);
    if (suite_parse(text, size, "suite", "dir", &items, &a, NULL) == 0)
        vec_each (struct suite_item, i, &items)
            check_item(i, &a);
    if (known_times_parse(&k, text, size, "table", NULL) == 0) {
        known_times_find(&k, "level1/1_x.py");
        known_times_release(&k);
    }
    suite_release(&items);
    arena_release(&a);
    free(text);
    return 0;
}
