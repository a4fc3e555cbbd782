/*
 * limiter.h - decides when requests may be sent. A provider's limits apply to one model and one
 * key. All processes of a user that use this model and key share the limits and keep to them
 * together.
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
 * Which requests are granted:
 *  - We learn limits only from the headers of answers. As long as no answer has come, only one
 *    request is under way at a time. Otherwise many requests could go over a limit that we do not
 *    know yet. If a provider tells no limits, requests are not held back.
 *  - Requests never take more than the limit in any minute. That suits providers that count by the
 *    minute on the clock, over the last sixty seconds, or by a bucket that fills steadily. Until a
 *    request ends, we count its prompt and its longest possible reply. Some providers count the
 *    longest possible reply even after the request has ended. So we do that too, until a later
 *    answer says that more is left than we think.
 *  - Each answer says how much is left. If that is less than we think, other machines use the key
 *    too, and we count what they took.
 *  - Requests are spread over the minute. A burst of several requests takes at most about an eighth
 *    of a limit; a single request may take more. Otherwise runs with many calls would use up the
 *    limit while a run that makes one call at a time waits for its answer.
 *  - Among the waiting runs the one that got least so far is next. A run is a process, or all
 *    processes with the same limiter_config.run.
 *  - After an answer such as 429, the caller calls limiter_pause(). No request is sent until the
 *    pause is over. Then one request is sent at a time, until an answer is good.
 *
 * The state is in an owner-only file in the cache directory (sys/shared_state.h). Its name is a
 * hash of a random secret of the user, the address, the model and the key. The file does not hold
 * the key. Tickets of a process that died are taken back within a second. If the file cannot be
 * used, the limiter works for this process alone and logs a warning.
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
    uint64_t window_ns;    /* the "minute" of the provider; 0 = 60 s */
    uint64_t (*now)(void); /* NULL = now_ns */
    int64_t run; /* callers with the same number share their turns; 0 means the process's id */
};

struct limiter_wait {
    /* The request is not granted before now_ns() reaches this time. 0 if the time is not known. */
    uint64_t until_ns;
    char text[200]; /* what the call waits for, as the end of a sentence */
};

struct limiter *limiter_open(const struct limiter_config *cfg);
void limiter_close(struct limiter *l);

/* Joins the queue with the amounts that the request may take. Returns the ticket, or -1 if the
 * queue is full: try again later. */
int limiter_queue(struct limiter *l, const double need[LIMIT_KINDS]);
/* Returns true once, when the request may be sent; send it immediately. `why` may be NULL. */
bool limiter_is_granted(struct limiter *l, int ticket, struct limiter_wait *why);
/* Call it when the headers have come. `ok` says whether the provider accepted the request. */
void limiter_answered(struct limiter *l, int ticket, bool ok,
                      const struct limit_told told[LIMIT_KINDS]);
/* Gives the ticket back, with the amounts that the request used in the end; NULL if they are not
 * known. Accepts a ticket in any state. */
void limiter_end(struct limiter *l, int ticket, const double used[LIMIT_KINDS]);
/* From now on nobody sends for pause_ns, in any process. Then one request goes at a time until an
 * answer is good. */
void limiter_pause(struct limiter *l, uint64_t pause_ns);

/* Returns how many output tokens to expect of a reply whose cap is `most`, for need[LIMIT_OUTPUT].
 * Providers count output tokens as the model writes them. So we expect twice the longest recent
 * reply, and not the cap, which replies seldom reach. */
double limiter_expected_output(struct limiter *l, double most);

#endif
