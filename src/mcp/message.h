/*
 * message.h - reads JSON-RPC messages from a stream, one per line.
 *
 *     struct line_reader r = LINE_READER_INIT;
 *     line_reader_add(&r, bytes, n);
 *     while ((what = line_reader_next(&r, &line, &len)) != LINE_NONE)
 *         if (what == LINE_WHOLE) message_read(&m, line, len); ... message_release(&m);
 *
 * The reader reports a line longer than MESSAGE_MAX_BYTES once, and drops the rest of it.
 */
#ifndef MCP_MESSAGE_H
#define MCP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "sys/json.h"

#define MESSAGE_MAX_BYTES (8u << 20)
#define MESSAGE_MAX_CHUNK (64u << 10)

/* ---- lines ----------------------------------------------------------------------------------- */

struct line_reader {
    struct strbuf buf;
    size_t start;    /* first byte of the next line */
    size_t searched; /* no newline lies between `start` and this byte */
    bool skipping;   /* drops the rest of a line that was too long */
};
#define LINE_READER_INIT                                                    \
    {                                                                       \
        STRBUF_INIT(MESSAGE_MAX_BYTES + 2 * MESSAGE_MAX_CHUNK), 0, 0, false \
    }

enum line_kind { LINE_NONE, LINE_WHOLE, LINE_TOO_LONG };

/* Adds n bytes, at most MESSAGE_MAX_CHUNK. Then call line_reader_next() until it returns
 * LINE_NONE. */
void line_reader_add(struct line_reader *r, const char *data, size_t n);
/* For LINE_WHOLE, sets *line and *len to the next line without its newline. The line is valid until
 * the next line_reader_add(). After LINE_TOO_LONG, the caller must not read *line. */
enum line_kind line_reader_next(struct line_reader *r, const char **line, size_t *len);
void line_reader_release(struct line_reader *r);

/* ---- messages -------------------------------------------------------------------------------- */

enum message_kind {
    MESSAGE_REQUEST,
    MESSAGE_NOTIFICATION,
    MESSAGE_RESPONSE, /* ignored: this server sends no requests */
    MESSAGE_BLANK,
    MESSAGE_BAD
};

enum rpc_code {
    RPC_PARSE = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_NO_METHOD = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_INTERNAL = -32603,
    /* in revisions of MCP up to 2025-11-25; later ones use RPC_INVALID_PARAMS */
    RPC_NO_RESOURCE = -32002,
    RPC_UNSUPPORTED_VERSION = -32022 /* in revisions of MCP since 2026-07-28 */
};

struct message {
    enum message_kind kind;
    json_t *root;       /* owns the values below; may be NULL */
    json_t *id;         /* a string or an integer; NULL if not valid */
    const char *method; /* "" if there is none */
    json_t *params;     /* an object, or NULL */
    enum rpc_code code; /* of a bad message: the error code of the answer */
    struct err err;     /* of a bad message: the reason */
};

void message_read(struct message *m, const char *text, size_t len);
void message_release(struct message *m);

#endif
