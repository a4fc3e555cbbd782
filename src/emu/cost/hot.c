/*
 * hot.c - counts which words the atomics of a launch change. The L2 performs atomics on one word
 * one after the other. Atomics on neighbouring words go to the same part of the L2 and wait for
 * each other too. So the model needs to know how many atomics meet on a word, and on a piece of 512
 * bytes. (A sampled call fills its buffers in other pieces, of 1024 bytes.)
 */
#include <stdlib.h>

#include "base/util.h"
#include "emu/core/machine.h"

#define SLOTS 65536u
#define PROBES 16 /* slots to try for a place; if all are taken, the place gets none */
#define PIECE_SHIFT 9

/* A place is a word or a piece. Some places get no slot in the table. Atomics seldom meet there, so
 * only hot_table.all counts them. */
struct place {
    uint64_t at, n; /* the place; how many atomics changed it */
    /* A run is a series of consecutive atomics of one block at this place. `own` is the sum of the
     * squared lengths of all runs. */
    double own;
    uint32_t block;   /* the block of the last atomic */
    uint32_t of_last; /* length so far of the run to which that atomic belongs */
};
struct hot_table {
    struct place slots[SLOTS]; /* hash table with open addressing */
    uint64_t all;              /* all atomics, also those without a slot */
};
/* The L2 changes several words of a 32-byte sector together. So `pieces` counts each sector of an
 * access once, and `words` each lane. */
struct hot_words {
    struct hot_table words, pieces;
};

static void note(struct hot_table *t, uint64_t at, uint32_t block)
{
    uint32_t i = (uint32_t)(at * 0x9e3779b97f4a7c15ull >> 40) % SLOTS;
    t->all++;
    for (int k = 0; k < PROBES; k++, i = (i + 1) % SLOTS) {
        struct place *p = &t->slots[i];
        if (p->n && p->at != at)
            continue;
        if (!p->n || p->block != block)
            p->of_last = 0;
        p->at = at;
        p->block = block;
        p->n++;
        p->own += 2.0 * p->of_last++ + 1;
        break;
    }
}

void hot_note(struct warp *w, const uint64_t *addr)
{
    struct launch *l = w->launch;
    uint64_t seen[WARP];
    uint32_t n = 0, block = w->block->linear;
    pthread_mutex_lock(&l->emu->lock);
    if (!l->hot)
        l->hot = xcalloc(1, sizeof *l->hot);
    FOR_LANES(i, w)
    {
        bool known = false;
        for (uint32_t k = 0; k < n && !known; k++)
            known = seen[k] == addr[i] / 32;
        if (!known) {
            seen[n++] = addr[i] / 32;
            note(&l->hot->pieces, addr[i] >> PIECE_SHIFT, block);
        }
        note(&l->hot->words, addr[i] / 4, block);
    }
    pthread_mutex_unlock(&l->emu->lock);
}

/* Returns how many atomics an average atomic meets at its place, itself included. If only a sample
 * of the blocks ran, `scale` multiplies the atomics of other blocks. */
static double meet(const struct hot_table *t, double scale)
{
    double own = 0, others = 0;
    for (uint32_t i = 0; i < SLOTS; i++) {
        const struct place *p = &t->slots[i];
        own += p->own;
        others += MAX((double)p->n * (double)p->n - p->own, 0.0);
    }
    return MAX((own + others * scale) / (double)t->all, 1.0);
}

void hot_work(struct launch *l, struct work *w, double scale)
{
    if (!l->hot)
        return;
    w->same_word = meet(&l->hot->words, scale);
    w->same_piece = meet(&l->hot->pieces, scale);
    w->pieces = MAX((double)l->hot->pieces.all * scale / w->same_piece, 1.0);
    hot_free(l);
}

void hot_free(struct launch *l)
{
    free(l->hot);
    l->hot = NULL;
}
