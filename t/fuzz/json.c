/* JSON from outside: the strict reader, places in it, and writing back what was read. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "sys/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The root and the first element of an array have a place inside the text. */
static void check_places(const char *text, size_t len, const json_t *root)
{
    struct json_place p;
    if (!json_find_place(text, len, "", false, &p))
        BUG("the root has no place");
    if (json_is_array(root) && json_array_size(root) > 0 &&
        !json_find_place(text, len, "/0", false, &p))
        BUG("the first element has no place");
    json_find_place(text, len, "/a/b/1", true, &p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct err err = ERR_INIT;
    char *text = xmalloc(len ? len : 1); /* exactly sized: ASan sees a read past the end */
    for (size_t i = 0; i < len; i++)
        text[i] = (char)data[i];
    json_t *root = json_read_text(text, len, "input", NULL, &err);
    if (root) {
        struct strbuf sb = STRBUF_INIT(64 << 20);
        check_places(text, len, root);
        json_add_text(&sb, root, true);
        json_t *again = json_read_text(sb.buf, sb.len, "again", NULL, &err);
        if (!again || !json_equal(root, again))
            BUG("what was written is not what was read");
        json_decref(again);
        json_decref(root);
        strbuf_release(&sb);
    } else if (!*err.msg) {
        BUG("refused without a word");
    }
    free(text);
    return 0;
}
