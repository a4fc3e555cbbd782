/* Reads any text as a graph in JSON. The reader refuses the text with a message, or Hone can write
 * the graph and read the same graph back. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "graph/json.h"
#include "graph/print.h"
#include "sys/json.h"

/* True if a size of the printed graph is too long to write. */
static bool has_unwritable_size(const char *text)
{
    return strstr(text, "(a size too long to write)") != NULL;
}

static void write_and_read(const struct graph *g)
{
    struct graph again;
    struct err err = ERR_INIT;
    struct strbuf a = STRBUF_INIT(64 << 20), b = STRBUF_INIT(64 << 20);
    graph_print(&a, g);
    json_t *j = graph_to_json(g);
    if (graph_from_json(&again, j, &err) == 0) {
        graph_print(&b, &again);
        if (!str_eq(a.buf, b.buf))
            BUG("read:\n%s\nwritten and read again:\n%s", a.buf, b.buf);
        graph_release(&again);
    } else if (!has_unwritable_size(a.buf) && !strstr(err.msg, "more than the limit")) {
        BUG("the graph's own JSON is refused: %s\n%s", err.msg, a.buf);
    }
    json_decref(j);
    strbuf_release(&a);
    strbuf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct err err = ERR_INIT;
    struct graph g;
    json_t *j = json_read_text((const char *)data, len, "input", NULL, &err);
    if (j && graph_from_json(&g, j, &err) == 0) {
        write_and_read(&g);
        graph_release(&g);
    } else if (!*err.msg) {
        BUG("refused without a word");
    }
    json_decref(j);
    return 0;
}
