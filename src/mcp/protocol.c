/* protocol.c - chooses the revision of MCP for a request, and makes messages. See protocol.h. */
#include "mcp/protocol.h"

#include "base/util.h"

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_SERVER "io.modelcontextprotocol/serverInfo"

/* The revisions of MCP, the newest first. */
enum { R2026_07, R2025_11, R2025_06 };
static const struct revision revisions[] = {[R2026_07] = {"2026-07-28", true},
                                            [R2025_11] = {"2025-11-25", false},
                                            [R2025_06] = {"2025-06-18", false}};

static const struct revision *find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(revisions); i++)
        if (str_eq(revisions[i].name, name))
            return &revisions[i];
    return NULL;
}

const struct revision *protocol_agree(const char *asked)
{
    const struct revision *r = asked ? find(asked) : NULL;
    return r && !r->stateless ? r : &revisions[R2025_11];
}

json_t *protocol_versions(void)
{
    json_t *list = json_array();
    for (size_t i = 0; i < ARRAY_LEN(revisions); i++)
        json_array_append_new(list, json_string(revisions[i].name));
    return list;
}

static const struct revision *refuse(enum rpc_code *out, enum rpc_code code, struct err *err,
                                     const char *text)
{
    *out = code;
    err_set(err, ERR_INPUT, "%s", text);
    return NULL;
}

/* Finds the revision that the request names in `_meta`. */
static const struct revision *named(const json_t *meta, const json_t *version, enum rpc_code *code,
                                    json_t **data, struct err *err)
{
    if (!json_is_string(version))
        return refuse(code, RPC_INVALID_PARAMS, err,
                      "_meta: \"" META_VERSION "\" must be a string");
    const struct revision *r = find(json_string_value(version));
    if (!r) {
        *data = json_pack("{s:o, s:O}", "supported", protocol_versions(), "requested", version);
        return refuse(code, RPC_UNSUPPORTED_VERSION, err, "Unsupported protocol version");
    }
    if (r->stateless && !json_is_object(json_object_get(meta, META_CAPABILITIES)))
        return refuse(code, RPC_INVALID_PARAMS, err,
                      "_meta: \"" META_CAPABILITIES "\" must be an object");
    return r;
}

const struct revision *protocol_choose(const struct message *m, const struct revision *agreed,
                                       enum rpc_code *code, json_t **data, struct err *err)
{
    const json_t *meta = json_object_get(m->params, "_meta");
    const json_t *version = json_object_get(meta, META_VERSION);
    *data = NULL;
    if (meta && !json_is_object(meta))
        return refuse(code, RPC_INVALID_PARAMS, err, "\"_meta\" must be an object");
    if (version)
        return named(meta, version, code, data, err);
    if (str_eq(m->method, "initialize") || str_eq(m->method, "ping"))
        return agreed ? agreed : &revisions[R2025_11];
    if (!agreed)
        return refuse(code, RPC_INVALID_PARAMS, err,
                      "the request names no protocol version: put \"" META_VERSION
                      "\" and \"" META_CAPABILITIES "\" into _meta, or begin with initialize");
    if (str_eq(m->method, "server/discover"))
        return refuse(code, RPC_INVALID_PARAMS, err, "_meta: \"" META_VERSION "\" is missing");
    return agreed;
}

json_t *protocol_progress_token(const json_t *params)
{
    json_t *t = json_object_get(json_object_get(params, "_meta"), "progressToken");
    return json_is_string(t) || json_is_integer(t) ? t : NULL;
}

json_t *protocol_result(const struct revision *r, const json_t *id, json_t *result,
                        const char *version)
{
    if (r->stateless) {
        json_t *meta = json_object_get(result, "_meta");
        if (!meta)
            json_object_set_new(result, "_meta", meta = json_object());
        json_object_set_new(meta, META_SERVER,
                            json_pack("{s:s, s:s}", "name", "hone", "version", version));
        json_object_set_new(result, "resultType", json_string("complete"));
    }
    return json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result);
}

json_t *protocol_error(const json_t *id, enum rpc_code code, const char *text, json_t *data)
{
    json_t *error = json_pack("{s:i, s:o}", "code", (int)code, "message", json_text(text));
    if (data)
        json_object_set_new(error, "data", data);
    json_t *m = json_pack("{s:s, s:o}", "jsonrpc", "2.0", "error", error);
    if (id)
        json_object_set(m, "id", (json_t *)id);
    return m;
}

json_t *protocol_notification(const char *method, json_t *params)
{
    return json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", params);
}

void protocol_cacheable(const struct revision *r, json_t *result, int ttl_ms, bool is_public)
{
    if (!r->stateless)
        return;
    json_object_set_new(result, "ttlMs", json_integer(ttl_ms));
    json_object_set_new(result, "cacheScope", json_string(is_public ? "public" : "private"));
}
