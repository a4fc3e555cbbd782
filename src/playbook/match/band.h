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

/* `sign` returns 1 for the index n, -1 for the index m, 0 for any other value. */
struct band_index {
    int (*sign)(void *ctx, const struct value *v);
    void *ctx;
};

/* Narrows the band to the elements for which the condition has the value `taken`. If the condition
 * does not compare n - m with a number, or n with m, returns false and leaves the band as it is. */
bool band_narrow(const struct value *condition, bool taken, const struct band_index *index,
                 struct band *out);

/* Binds keep_from and keep_to. Binds masked to "1" if elements lie outside of the band, else to
 * "0". */
void bind_band(struct match *x, struct band b);

#endif
