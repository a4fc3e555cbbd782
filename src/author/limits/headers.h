/*
 * headers.h - reads from the headers of an answer how much the provider still allows. It knows the
 * headers of OpenAI (such as x-ratelimit-remaining-requests) and of Anthropic (such as
 * anthropic-ratelimit-input-tokens-remaining). It also knows headers without a unit, which proxies
 * send (x-ratelimit-remaining, ratelimit-remaining); these count requests.
 */
#ifndef AUTHOR_LIMITS_HEADERS_H
#define AUTHOR_LIMITS_HEADERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* LIMIT_TOKENS is unused if a provider limits input tokens and output tokens separately. */
enum limit_kind { LIMIT_REQUESTS, LIMIT_TOKENS, LIMIT_INPUT, LIMIT_OUTPUT, LIMIT_KINDS };

extern const char *const limit_kind_names[LIMIT_KINDS]; /* "requests", "tokens", ... */

struct limit_told {
    double limit;     /* how much is allowed each minute; 0 = not told */
    double remaining; /* how much of it is left; <0 = not told */
    double reset_s;   /* seconds until the whole limit is free again; <0 = not told */
};

/* Copies the value of a header into `out`. Returns false if there is none. */
typedef bool (*header_get)(const void *ctx, const char *name, char *out, size_t size);

/* Fills `told` with the limits that the headers of an answer tell; `get` reads a header. Returns
 * how many limits they tell. */
unsigned limit_headers_read(struct limit_told told[LIMIT_KINDS], header_get get, const void *ctx);

/* Reads "1s", "6m0s", "20ms", "12.5" (seconds), "2026-11-16T22:50:00Z", a Unix time in seconds or
 * milliseconds, or an HTTP date. Returns the seconds from now, at least 0; -1 for any other
 * text. */
double limit_seconds(const char *text);
/* Returns the pause, in seconds, that the header retry-after-ms or retry-after asks for; -1 if
 * neither is there. */
double limit_retry_after(header_get get, const void *ctx);

#endif
