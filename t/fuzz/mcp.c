/* Messages to the MCP server. Lines come in pieces of any size. Each message passes the checks that
 * the server makes before it acts. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "mcp/catalogue.h"
#include "mcp/message.h"
#include "mcp/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static json_t *catalogue;

/* Does as the server: chooses a revision, then checks the arguments of a tool. */
static void use(const struct message *m)
{
    struct err err = ERR_INIT;
    enum rpc_code code;
    json_t *data;
    const struct revision *r = protocol_choose(m, NULL, &code, &data, &err);
    if (!r && !*err.msg)
        BUG("refused without a word");
    json_decref(data);
    const char *name = json_string_value(json_object_get(m->params, "name"));
    json_t *args = json_object_get(m->params, "arguments");
    json_t *tool = name ? catalogue_tool(catalogue, name) : NULL;
    if (tool && json_is_object(args))
        catalogue_check(tool, args, &err);
    protocol_progress_token(m->params);
    json_t *answer = protocol_error(m->id, RPC_INTERNAL, m->method, NULL);
    if (!json_object_get(answer, "id"))
        BUG("an answer without the request's id");
    json_decref(answer);
}

static void read_one(const char *line, size_t len)
{
    struct message m;
    char *text = xmalloc(len ? len : 1); /* exactly sized: ASan sees a read past the end */
    memcpy(text, line, len);
    message_read(&m, text, len);
    if (m.kind == MESSAGE_REQUEST)
        use(&m);
    if (m.kind == MESSAGE_BAD && !*m.err.msg)
        BUG("bad without a word");
    message_release(&m);
    free(text);
}

/* The first byte sets the size of the pieces. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct line_reader r = LINE_READER_INIT;
    const char *line;
    size_t n, step = len ? (size_t)data[0] * 17 + 1 : 1;
    if (!catalogue)
        catalogue = catalogue_load();
    for (size_t at = 1; at < len; at += step) {
        enum line_kind kind;
        line_reader_add(&r, (const char *)data + at, MIN(step, len - at));
        while ((kind = line_reader_next(&r, &line, &n)) != LINE_NONE)
            if (kind == LINE_WHOLE)
                read_one(line, n);
    }
    line_reader_release(&r);
    return 0;
}
