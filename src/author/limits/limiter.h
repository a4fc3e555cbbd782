/*
 * limiter.h - decides when requests may be sent, so that all processes of a user keep to a
 * provider's limits for one model and one key.
 *
 *     struct limiter *l = limiter_open(&(struct limiter_config){.provider = url, .model = m,
 *                                                               .key = key});
 *     int t = limiter_queue(l, need);                 need[LIMIT_TOKENS] = prompt + longest reply
 *     while (!limiter_is_granted(l, t, &why)) ...     sleep a little; `why` is for the user
 *     send the request;
 *     limiter_answered(l, t, true, told);             its headers have come (headers.h)
 *     limiter_end(l, t, used);                        its body has come
 *
 * A ticket:   WAITING ──> GRANTED ──> SENT ──> ANSWERED ──> freed by limiter_end
 *
 * The rules:
 *  - Limits come from the headers of answers. Until the first answer, one request goes at a time.
 *  - Requests never take more than a limit in any 60 seconds. Each counts with its prompt and its
 *    longest possible reply. The headers of answers correct our count.
 *  - A burst takes at most about 1/8 of a limit, so that no run starves the others.
 *  - The waiting run that got the least so far is next.
 *  - After limiter_pause(), one request goes at a time until one succeeds.
 *
 * The state is in an owner-only file in the cache directory (sys/shared_state.h), without the key.
 * Without this file, the limiter works for this process alone.
 */
#ifndef AUTHOR_LIMITS_LIMITER_H
#define AUTHOR_LIMITS_LIMITER_H

#include <stdbool.h>
#include <stdint.h>

#include "author/limits/headers.h"
#include "base/err.h"

struct limiter;

struct limiter_config {
    const char *provider, *model, *key;
    uint64_t window_ns;    /* the provider's "minute"; 0 means 60 s */
    uint64_t (*now)(void); /* NULL means now_ns */
    int64_t run;           /* callers with equal numbers share their turns; 0 means getpid() */
};

struct limiter_wait {
    /* The request cannot be sent before this time, in terms of now_ns(); 0 if not known. */
    uint64_t until_ns;
    char text[200]; /* ends the sentence "the call waits for ..." */
};

struct limiter *limiter_open(const struct limiter_config *cfg);
void limiter_close(struct limiter *l);

/* Puts a request into the queue. `need` is the most that the request may take. Returns a ticket, or
 * -1 if the queue is full. */
int limiter_queue(struct limiter *l, const double need[LIMIT_KINDS]);
/* Returns true once, when the request may be sent: then send it immediately. Otherwise sets *why to
 * what the request waits for. `why` may be NULL. */
bool limiter_is_granted(struct limiter *l, int ticket, struct limiter_wait *why);
/* Call this when the headers of the answer have come. `told` has the limits in these headers. `ok`
 * says whether the provider accepted the request. */
void limiter_answered(struct limiter *l, int ticket, bool ok,
                      const struct limit_told told[LIMIT_KINDS]);
/* Frees a ticket in any state. `used` is what the request used, or NULL if not known. */
void limiter_end(struct limiter *l, int ticket, const double used[LIMIT_KINDS]);
/* Keeps all processes from sending for pause_ns, for example after the answer 429. */
void limiter_pause(struct limiter *l, uint64_t pause_ns);

/* Returns the value for need[LIMIT_OUTPUT]: `most` tokens, or twice the longest recent reply if
 * that is less. An estimate is enough, because providers count output tokens only as they are
 * written. */
double limiter_expected_output(struct limiter *l, double most);

#endif
