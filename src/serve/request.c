/* request.c - parses the target of a request, and checks token, cookie, Host and Origin. */
#include "serve/request.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/util.h"
#include "sys/asset.h"

static bool is_secret(const char *s)
{
    return strlen(s) == ACCESS_SECRET - 1 && strspn(s, "0123456789abcdef") == ACCESS_SECRET - 1;
}

void request_parse(struct request *r, const char *target)
{
    memset(r, 0, sizeof *r);
    if (str_eq(target, "/")) {
        r->route = ROUTE_PAGE;
    } else if (str_eq(target, "/events")) {
        r->route = ROUTE_EVENTS;
    } else if (str_starts(target, "/login?token=") && is_secret(target + 13)) {
        r->route = ROUTE_LOGIN;
        memcpy(r->token, target + 13, ACCESS_SECRET);
    } else if (str_starts(target, "/web/") && (r->asset = asset_find(target + 1))) {
        r->route = ROUTE_ASSET;
    } else if (str_starts(target, "/api/") && view_query_parse(&r->query, target + 5) == 0) {
        r->route = ROUTE_API;
    }
}

/* ---- access --------------------------------------------------------------------------------- */

static int draw_secret(char out[ACCESS_SECRET], struct err *err)
{
    unsigned char raw[32];
    if (getrandom(raw, sizeof raw, 0) != sizeof raw)
        return err_errno(err, "cannot draw a random token");
    for (size_t i = 0; i < sizeof raw; i++)
        snprintf(out + 2 * i, 3, "%02x", raw[i]);
    return 0;
}

int access_init(struct access *a, const char *address, struct err *err)
{
    memset(a, 0, sizeof *a);
    snprintf(a->address, sizeof a->address, "%s", address);
    a->loopback = str_starts(address, "127.") || str_eq(address, "::1");
    return draw_secret(a->token, err) < 0 || draw_secret(a->cookie, err) < 0 ? -1 : 0;
}

void access_set_port(struct access *a, unsigned port)
{
    a->port = port;
    snprintf(a->cookie_name, sizeof a->cookie_name, "hone-%u", port);
}

/* Compares every character, so that the time does not show where the texts differ. */
static bool same_secret(const char *want, const char *got, size_t len)
{
    unsigned char differ = len != ACCESS_SECRET - 1;
    for (size_t i = 0; i < ACCESS_SECRET - 1 && i < len; i++)
        differ |= (unsigned char)(want[i] ^ got[i]);
    return !differ;
}

bool access_token_ok(const struct access *a, const char *token)
{
    return same_secret(a->token, token, strlen(token));
}

bool access_cookie_ok(const struct access *a, const char *header)
{
    size_t name = strlen(a->cookie_name);
    for (const char *p = header; p && *p;) {
        p += strspn(p, " ;");
        size_t n = strcspn(p, ";");
        if (n > name && memcmp(p, a->cookie_name, name) == 0 && p[name] == '=' &&
            same_secret(a->cookie, p + name + 1, n - name - 1))
            return true;
        p += n;
    }
    return false;
}

static bool is_numeric(const char *name)
{
    struct in6_addr raw;
    char plain[64];
    size_t n = strlen(name);
    if (n >= sizeof plain)
        return false;
    if (name[0] != '[')
        return inet_pton(AF_INET, name, &raw) == 1;
    if (n < 2 || name[n - 1] != ']')
        return false;
    memcpy(plain, name + 1, n - 2);
    plain[n - 2] = '\0';
    return inet_pton(AF_INET6, plain, &raw) == 1;
}

bool access_host_ok(const struct access *a, const char *host)
{
    char port[16], name[256], self[256] = "";
    size_t n = host ? strlen(host) : 0;
    size_t tail = (size_t)snprintf(port, sizeof port, ":%u", a->port);
    if (n <= tail || n >= sizeof name || !str_ends(host, port))
        return false;
    memcpy(name, host, n - tail);
    name[n - tail] = '\0';
    if (str_eq(name, "127.0.0.1") || str_eq(name, "localhost") || str_eq(name, "[::1]") ||
        str_eq(name, a->address))
        return true;
    if (a->loopback)
        return false;
    return is_numeric(name) || (gethostname(self, sizeof self - 1) == 0 && str_eq(name, self));
}

bool access_origin_ok(const struct access *a, const char *origin)
{
    return !origin || (str_starts(origin, "http://") && access_host_ok(a, origin + 7));
}
