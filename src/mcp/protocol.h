/*
 * protocol.h - the revisions of MCP that the server knows, and the form of answers in each.
 *
 * There are two eras. Up to 2025-11-25 a client begins with `initialize`, and the server remembers
 * the revision. Since 2026-07-28 there is no handshake: each request names its revision and the
 * client's capabilities in `_meta`. protocol_choose() decides for each request, so a client may mix
 * requests of both kinds.
 */
#ifndef MCP_PROTOCOL_H
#define MCP_PROTOCOL_H

#include "mcp/message.h"

struct revision {
    const char *name;
    bool stateless; /* no handshake; results name their type, and how long they may be cached */
};

/* Chooses the revision of a request. `agreed` is the revision of the handshake, or NULL if there
 * was none. Returns NULL and fills `code`, `err` and `data` (an owned value, or NULL) if the
 * request cannot be served. */
const struct revision *protocol_choose(const struct message *m, const struct revision *agreed,
                                       enum rpc_code *code, json_t **data, struct err *err);
/* Returns the revision with which the server answers `initialize`. It is the revision `asked`, if
 * this is a revision with a handshake that the server knows. Otherwise it is the newest revision
 * with a handshake. */
const struct revision *protocol_agree(const char *asked);
/* Returns the names of all revisions, the newest first. The caller owns the reference. */
json_t *protocol_versions(void);

/* Returns `_meta.progressToken`, borrowed; NULL if it is neither a string nor an integer. */
json_t *protocol_progress_token(const json_t *params);

/* These functions make messages. They take ownership of `result`, `data` and `params`.
 * protocol_error() accepts an `id` of NULL, for a request whose id is unknown. */
json_t *protocol_result(const struct revision *r, const json_t *id, json_t *result,
                        const char *version);
json_t *protocol_error(const json_t *id, enum rpc_code code, const char *text, json_t *data);
json_t *protocol_notification(const char *method, json_t *params);
/* Says how long a client may keep a list or a resource; only in revisions since 2026-07-28. */
void protocol_cacheable(const struct revision *r, json_t *result, int ttl_ms, bool is_public);

#endif
