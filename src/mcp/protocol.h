/*
 * protocol.h - the revisions of MCP, and the form of answers in each.
 *
 * Up to 2025-11-25 a client begins with `initialize`, and the server remembers the revision. Since
 * 2026-07-28 there is no handshake: each request names its revision and the client's capabilities
 * in `_meta`. A client may mix requests of both kinds.
 */
#ifndef MCP_PROTOCOL_H
#define MCP_PROTOCOL_H

#include "mcp/message.h"

struct revision {
    const char *name;
    bool stateless; /* no handshake; results carry their type and a cache time */
};

/* Returns the revision in which the server answers the request m. `agreed` is the revision of the
 * handshake, or NULL if there was none. If the request cannot be served, returns NULL and sets
 * *code, *data and *err. *data may become NULL; the caller owns it. */
const struct revision *protocol_choose(const struct message *m, const struct revision *agreed,
                                       enum rpc_code *code, json_t **data, struct err *err);
/* Returns the revision with which the server answers `initialize`. This is `asked`, if it is a
 * revision in our table with a handshake. Else it is our newest revision with a handshake. */
const struct revision *protocol_agree(const char *asked);
/* Returns an array with the names of all revisions, the newest first. The caller owns the
 * reference. */
json_t *protocol_versions(void);

/* Returns the token of the request's progress messages, borrowed from `params`. Returns NULL if
 * there is none that is a string or an integer. */
json_t *protocol_progress_token(const json_t *params);

/* These functions make messages, and take ownership of their json_t arguments, `id` excepted.
 * protocol_error() accepts an `id` of NULL, for a request whose id is unknown. */
json_t *protocol_result(const struct revision *r, const json_t *id, json_t *result,
                        const char *version);
json_t *protocol_error(const json_t *id, enum rpc_code code, const char *text, json_t *data);
json_t *protocol_notification(const char *method, json_t *params);
/* Says how long a client may cache `result`; does nothing before revision 2026-07-28. */
void protocol_cacheable(const struct revision *r, json_t *result, int ttl_ms, bool is_public);

#endif
