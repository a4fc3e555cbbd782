/* message.c - splits input into lines, and lines into messages. See message.h. */
#include "mcp/message.h"

#include <string.h>

#include "base/util.h"

/* ---- lines ----------------------------------------------------------------------------------- */

/* Moves the unread bytes to the front, so that the buffer stays small. */
static void drop_read(struct line_reader *r)
{
    if (!r->start)
        return;
    r->buf.len -= r->start;
    memmove(r->buf.buf, r->buf.buf + r->start, r->buf.len + 1);
    r->searched -= r->start;
    r->start = 0;
}

void line_reader_add(struct line_reader *r, const char *data, size_t n)
{
    if (n > MESSAGE_MAX_CHUNK)
        BUG("%zu bytes at once", n);
    drop_read(r);
    if (r->skipping) {
        const char *end = memchr(data, '\n', n);
        if (!end)
            return;
        n -= (size_t)(end + 1 - data);
        data = end + 1;
        r->skipping = false;
    }
    strbuf_add(&r->buf, data, n);
}

enum line_kind line_reader_next(struct line_reader *r, const char **line, size_t *len)
{
    const char *from = r->buf.buf + r->searched;
    const char *end = memchr(from, '\n', r->buf.len - r->searched);
    size_t have = (end ? (size_t)(end - r->buf.buf) : r->buf.len) - r->start;
    bool too_long = have > MESSAGE_MAX_BYTES;
    if (!end && !too_long) {
        r->searched = r->buf.len;
        return LINE_NONE;
    }
    *line = r->buf.buf + r->start;
    *len = have;
    if (end) {
        r->start = r->searched = (size_t)(end + 1 - r->buf.buf);
    } else {
        strbuf_release(&r->buf);
        r->start = r->searched = 0;
        r->skipping = true;
    }
    return too_long ? LINE_TOO_LONG : LINE_WHOLE;
}

void line_reader_release(struct line_reader *r)
{
    strbuf_release(&r->buf);
    *r = (struct line_reader)LINE_READER_INIT;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void bad(struct message *m, enum rpc_code code, const char *why)
{
    m->kind = MESSAGE_BAD;
    m->code = code;
    err_set(&m->err, ERR_INPUT, "%s", why);
}

static void read_object(struct message *m)
{
    json_t *version = json_object_get(m->root, "jsonrpc"), *id = json_object_get(m->root, "id"),
           *method = json_object_get(m->root, "method");
    if (json_is_string(id) || json_is_integer(id))
        m->id = id;
    m->params = json_object_get(m->root, "params");
    if (!json_is_string(version) || !str_eq(json_string_value(version), "2.0"))
        bad(m, RPC_INVALID_REQUEST, "\"jsonrpc\" must be \"2.0\"");
    else if (!method && (json_object_get(m->root, "result") || json_object_get(m->root, "error")))
        m->kind = MESSAGE_RESPONSE;
    else if (!json_is_string(method))
        bad(m, RPC_INVALID_REQUEST, "\"method\" must be a string");
    else if (id && !m->id)
        bad(m, RPC_INVALID_REQUEST, "\"id\" must be a string or an integer");
    else if (m->params && !json_is_object(m->params))
        bad(m, RPC_INVALID_PARAMS, "\"params\" must be an object");
    else
        m->kind = id ? MESSAGE_REQUEST : MESSAGE_NOTIFICATION;
    if (!json_is_object(m->params))
        m->params = NULL;
    if (json_is_string(method))
        m->method = json_string_value(method);
}

/* Is the message a notification: an object with a method and without an id? JSON-RPC allows no
 * answer to a notification, not even to a bad one. */
static bool is_notification(const struct message *m)
{
    return *m->method && !json_object_get(m->root, "id");
}

/* The message may be JSON that we refuse, for example because a key occurs twice. Finds its id, so
 * that the sender learns which request failed. */
static void look_again(struct message *m, const char *text, size_t len)
{
    m->root = json_loadb(text, len, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
    if (m->root && !json_is_object(m->root) && !json_is_array(m->root))
        bad(m, RPC_INVALID_REQUEST, "a message must be a JSON object");
    json_t *id = json_object_get(m->root, "id");
    if (json_is_integer(id) ||
        (json_is_string(id) && strlen(json_string_value(id)) == json_string_length(id)))
        m->id = id;
}

static bool is_blank(const char *text, size_t len)
{
    while (len && strchr(" \t\r", *text) && *text) {
        text++;
        len--;
    }
    return !len;
}

void message_read(struct message *m, const char *text, size_t len)
{
    struct json_caps caps = {.max_bytes = MESSAGE_MAX_BYTES};
    *m = (struct message){.kind = MESSAGE_BLANK, .method = "", .err = ERR_INIT};
    if (is_blank(text, len))
        return;
    m->root = json_read_text(text, len, "message", &caps, &m->err);
    if (!m->root) {
        m->kind = MESSAGE_BAD;
        m->code = RPC_PARSE;
        look_again(m, text, len);
    } else if (json_is_array(m->root)) {
        bad(m, RPC_INVALID_REQUEST,
            "batches are not part of this protocol: send one message per line");
    } else {
        read_object(m);
        if (m->kind == MESSAGE_BAD && is_notification(m))
            m->kind = MESSAGE_NOTIFICATION, m->method = "";
    }
}

void message_release(struct message *m)
{
    json_decref(m->root);
    *m = (struct message){.kind = MESSAGE_BLANK, .method = ""};
}
