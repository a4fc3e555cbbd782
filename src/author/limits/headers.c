/* headers.c - reads the provider's limits, and the pause that it asks for, from HTTP headers
 * (headers.h). */
#include "author/limits/headers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "base/util.h"

const char *const limit_kind_names[LIMIT_KINDS] = {"requests", "tokens", "input tokens",
                                                   "output tokens"};

static double seconds_until(double unix_s)
{
    struct timeval now;
    gettimeofday(&now, NULL);
    return MAX(unix_s - (double)now.tv_sec - (double)now.tv_usec / 1e6, 0);
}

/* Reads "1h2m3.5s" or "20ms". Returns seconds, or -1 if the text has another form. */
static double go_duration(const char *s)
{
    static const struct {
        const char *unit;
        double s;
    } units[] = {{"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"d", 86400},
                 {"h", 3600},  {"m", 60},    {"s", 1}};
    double sum = 0;
    if (!*s)
        return -1;
    while (*s) {
        char *end;
        size_t k = 0;
        double v = strtod(s, &end);
        if (end == s || !isfinite(v) || v < 0)
            return -1;
        while (k < ARRAY_LEN(units) && !str_starts(end, units[k].unit))
            k++;
        if (k == ARRAY_LEN(units))
            return -1;
        sum += v * units[k].s;
        s = end + strlen(units[k].unit);
    }
    return sum;
}

/* Reads an RFC 3339 date in UTC, or an HTTP date. Returns the seconds until then, at least 0, or -1
 * if the text has another form. */
static double date(const char *s)
{
    static const char *const forms[] = {"%Y-%m-%dT%H:%M:%S", "%a, %d %b %Y %H:%M:%S GMT"};
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        struct tm tm = {0};
        char *rest = strptime(s, forms[i], &tm);
        double fraction = 0;
        if (rest && i == 0 && *rest == '.')
            fraction = strtod(rest, &rest);
        if (rest && (i == 0 ? str_eq(rest, "Z") || str_eq(rest, "+00:00") : !*rest))
            return seconds_until((double)timegm(&tm) + fraction);
    }
    return -1;
}

double limit_seconds(const char *text)
{
    char *end;
    double v = strtod(text, &end);
    if (end != text && !*end && isfinite(v) && v >= 0)
        return v > 1e12 ? seconds_until(v / 1e3) : v > 1e9 ? seconds_until(v) : v;
    v = go_duration(text);
    return v >= 0 ? v : date(text);
}

double limit_retry_after(header_get get, const void *ctx)
{
    char text[64];
    char *end;
    if (get(ctx, "retry-after-ms", text, sizeof text)) {
        double v = strtod(text, &end);
        if (end != text && !*end && isfinite(v) && v >= 0)
            return v / 1e3;
    }
    return get(ctx, "retry-after", text, sizeof text) ? limit_seconds(text) : -1;
}

static double count(header_get get, const void *ctx, const char *name)
{
    char text[64], *end;
    if (!get(ctx, name, text, sizeof text))
        return -1;
    double v = strtod(text, &end);
    return end != text && !*end && isfinite(v) && v >= 0 ? v : -1;
}

/* The name of a header is `prefix`, then "limit", "remaining" or "reset", then `suffix`. */
static const struct {
    enum limit_kind kind;
    const char *prefix, *suffix;
} names[] = {
    {LIMIT_REQUESTS, "x-ratelimit-", "-requests"},
    {LIMIT_TOKENS, "x-ratelimit-", "-tokens"},
    {LIMIT_REQUESTS, "anthropic-ratelimit-requests-", ""},
    {LIMIT_INPUT, "anthropic-ratelimit-input-tokens-", ""},
    {LIMIT_OUTPUT, "anthropic-ratelimit-output-tokens-", ""},
    {LIMIT_TOKENS, "anthropic-ratelimit-tokens-", ""},
    {LIMIT_REQUESTS, "x-ratelimit-", ""},
    {LIMIT_REQUESTS, "ratelimit-", ""},
};

unsigned limit_headers_read(struct limit_told told[LIMIT_KINDS], header_get get, const void *ctx)
{
    unsigned found = 0;
    for (int k = 0; k < LIMIT_KINDS; k++)
        told[k] = (struct limit_told){.remaining = -1, .reset_s = -1};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct limit_told *t = &told[names[i].kind];
        char name[96], text[64];
        if (t->limit > 0)
            continue;
        /* Anthropic limits input tokens and output tokens. Its header for "tokens" only repeats the
         * tighter of the two. */
        if (names[i].kind == LIMIT_TOKENS && told[LIMIT_INPUT].limit > 0)
            continue;
        snprintf(name, sizeof name, "%slimit%s", names[i].prefix, names[i].suffix);
        double limit = count(get, ctx, name);
        if (!(limit > 0))
            continue;
        t->limit = limit;
        snprintf(name, sizeof name, "%sremaining%s", names[i].prefix, names[i].suffix);
        t->remaining = count(get, ctx, name);
        snprintf(name, sizeof name, "%sreset%s", names[i].prefix, names[i].suffix);
        t->reset_s = get(ctx, name, text, sizeof text) ? limit_seconds(text) : -1;
        found++;
    }
    return found;
}
