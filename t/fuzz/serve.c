/* The texts of a request: target, Host, Origin and Cookie, split at NUL bytes; and texts with
 * paths.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "serve/request.h"
#include "sys/asset.h"
#include "sys/short_paths.h"
#include "view/queries.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Hone reads the same query back from the text that it writes for an accepted query. */
static void check_route(const struct request *r, const char *target)
{
    struct strbuf again = STRBUF_INIT(VIEW_MAX_QUERY);
    if (r->route == ROUTE_ASSET &&
        (!str_starts(r->asset->path, "web/") || !str_eq(r->asset->path, target + 1)))
        abort();
    if (r->route == ROUTE_API) {
        view_query_text(&r->query, &again);
        struct view_query q;
        if (view_query_parse(&q, again.buf) < 0 || strcmp(q.run, r->query.run) != 0 ||
            strcmp(q.role, r->query.role) != 0 || q.n != r->query.n || q.kind != r->query.kind ||
            strpbrk(r->query.run, "/%\\?&="))
            abort();
    }
    strbuf_release(&again);
}

static void check_access(const char *host, const char *origin, const char *cookie)
{
    struct access a = {.address = "127.0.0.1", .loopback = true};
    memset(a.cookie, 'a', ACCESS_SECRET - 1);
    memset(a.token, 'b', ACCESS_SECRET - 1);
    access_set_port(&a, 4663);
    if (access_cookie_ok(&a, cookie) && !strstr(cookie, a.cookie))
        abort();
    if (access_token_ok(&a, cookie) && !str_eq(cookie, a.token))
        abort();
    if (access_host_ok(&a, host) && !str_eq(host, "127.0.0.1:4663") &&
        !str_eq(host, "localhost:4663") && !str_eq(host, "[::1]:4663"))
        abort();
    if (access_origin_ok(&a, origin) && !str_starts(origin, "http://"))
        abort();
    a.loopback = false;
    access_host_ok(&a, host);
}

/* Shortening takes text away and never adds any. */
static void check_paths(const char *text)
{
    struct strbuf out = STRBUF_INIT(1u << 20);
    for (int code = 0; code < 2; code++) {
        strbuf_clear(&out);
        short_paths(text, code, &out);
        if (out.len > strlen(text))
            abort();
    }
    strbuf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const char *part[4] = {"", "", "", ""};
    char *text = xmalloc(len + 1);
    memcpy(text, data, len);
    text[len] = '\0';
    size_t n = 0;
    for (size_t at = 0; at < len && n < 4; at += strlen(text + at) + 1)
        part[n++] = text + at;
    struct request r;
    request_parse(&r, part[0]);
    check_route(&r, part[0]);
    check_access(part[1], part[2], part[3]);
    check_paths(part[0]);
    free(text);
    return 0;
}
