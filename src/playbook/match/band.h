/*
 * band.h - a band of a matrix: the elements with from <= n - m <= to, where m is the row and n the
 * column. A causal mask, torch.tril() and torch.triu() keep a band.
 */
#ifndef PLAYBOOK_MATCH_BAND_H
#define PLAYBOOK_MATCH_BAND_H

#include "playbook/match/match.h"

struct band {
    int64_t from, to;
};
#define BAND_EVERYWHERE ((struct band){-(1LL << 40), 1LL << 40})

/* Says whether a value is the index n (1), the index m (-1), or neither (0). */
struct band_index {
    int (*sign)(void *ctx, const struct value *v);
    void *ctx;
};

/* Narrows the band to the elements in which the condition has the value `taken`. The condition must
 * be a comparison of n - m with a number, or of n with m. Returns false, and leaves the band as it
 * is, if the condition is none of these. */
bool band_narrow(const struct value *condition, bool taken, const struct band_index *index,
                 struct band *out);

/* Binds keep_from, keep_to, and masked: "1" if some elements are outside of the band, else "0". */
void bind_band(struct match *x, struct band b);

#endif
