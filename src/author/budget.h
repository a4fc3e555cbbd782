/*
 * budget.h - the limits on what a run may spend, and the prices of tokens.
 *
 * Hone takes a model's price from the first entry whose pattern matches its name: in the user's
 * file, else in the embedded prompts/prices.json. The user's file is $HONE_PRICES, else
 * $XDG_CONFIG_HOME/hone/prices.json, else ~/.config/hone/prices.json. The cost of a model without a
 * price is "unknown", never zero; a run with a money budget refuses such a model before it starts.
 */
#ifndef AUTHOR_BUDGET_H
#define AUTHOR_BUDGET_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"

struct price {
    double in, cached, cache_write, out; /* US dollars per million tokens */
};

struct prices;
int prices_load(struct prices **out, struct err *err);
void prices_free(struct prices *p);
/* Finds the price of a model. `scheme` is the kind of author. A model of "openai" or "anthropic"
 * needs a price: returns false if no entry matches its name. All other kinds cost nothing. */
bool prices_find(const struct prices *p, const char *scheme, const char *model, struct price *out);
/* Returns US dollars. `in` counts all tokens of the prompt, `cached` and `cache_write` included. */
double price_of(const struct price *p, uint64_t in, uint64_t cached, uint64_t cache_write,
                uint64_t out);

/* A limit of 0 means no limit. */
struct budget {
    uint64_t tokens;
    double usd;
    uint64_t wall_ns;
    uint64_t steps; /* how many candidates may be judged */
};
struct spent {
    uint64_t in_tokens, cached_tokens, out_tokens;
    bool estimated; /* some token counts are estimates */
    double usd;
    bool usd_unknown; /* some calls had no price */
    uint64_t wall_ns;
    uint64_t steps, calls; /* judged candidates, and author calls */
};

/* True if a limit is used up. Then `why` (may be NULL) says which one. */
bool budget_over(const struct budget *b, const struct spent *s, struct strbuf *why);
/* `reason` says why a run stopped. Returns true if the run stopped because a limit was used up. */
bool budget_ended(const char *reason);
/* Appends "12k/200k tokens, $0.31/$2.00": what is spent of each limit. */
void budget_describe(const struct budget *b, const struct spent *s, struct strbuf *out);

#endif
