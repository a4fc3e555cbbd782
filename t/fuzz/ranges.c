/* ranges.c - tables of settings for ranges of shapes, labels of tables, and declarations of kernel
 * files. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "playbook/items.h"
#include "playbook/playbook.h"

static const char *const task_text =
    "{\"name\": \"t\", \"op_type\": \"softmax\", \"torch\": \"\", \"scalars\": {},"
    " \"axes\": [{\"name\": \"R\"}, {\"name\": \"C\"}],"
    " \"workloads\": [{\"role\": \"time\", \"axes\": {\"R\": 64, \"C\": 4096}}],"
    " \"tensors\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"R\", \"C\"],"
    " \"input\": true, \"output\": false}, {\"name\": \"y\", \"dtype\": \"float32\","
    " \"shape\": [\"R\", \"C\"], \"input\": false, \"output\": true}]}";

static struct bound_book open_book(void)
{
    static struct pb_binding b;
    struct playbook_shelf *shelf;
    struct strbuf why = STRBUF_INIT(400);
    json_t *task = json_loads(task_text, 0, NULL);
    if (playbooks_open(&shelf, NULL, NULL) < 0)
        abort();
    vec_each (struct playbook, pb, &shelf->books)
        if (str_eq(pb->name, "softmax") && playbook_bind(pb, task, 90, &b, &why))
            return (struct bound_book){pb, &b, task};
    abort();
}

/* Hone must read the same table back from its text, and from its label. */
static void check_table(const struct bound_book *book, const struct pb_ranges *r)
{
    struct pb_ranges again;
    struct strbuf text = STRBUF_INIT(1 << 20);
    ranges_print(book->pb, r, "//   ", &text);
    if (ranges_parse(book, text.buf, text.len, 1, &again, NULL) < 0 ||
        !ranges_equal(book->pb, r, &again))
        abort();
    strbuf_clear(&text);
    ranges_code(book->pb, r, &text);
    if (!ranges_uncode(book->pb, text.buf, &again) || !ranges_equal(book->pb, r, &again))
        abort();
    strbuf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct bound_book book;
    if (!book.pb)
        book = open_book();
    char *text = xstrndup((const char *)data, size);
    struct pb_ranges r;
    struct ranges_place at;
    struct item_vec items = VEC_INIT;
    struct err err = ERR_INIT;
    if (ranges_parse(&book, text, strlen(text), 1, &r, &err) == 0)
        check_table(&book, &r);
    else if (!err.msg[0])
        abort();
    if (ranges_find(text, &at))
        ranges_parse(&book, at.text, at.len, at.line, &r, NULL);
    ranges_uncode(book.pb, text, &r);
    items_split(text, &items);
    vec_each (const struct item, it, &items)
        if (it->text < text || it->text + it->len > text + strlen(text) || it->lead > it->len)
            abort();
    items_release(&items);
    free(text);
    return 0;
}
