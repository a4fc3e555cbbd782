/*
 * count.c - counters.
 */
#include "emu/mem.h"

struct insn_count *count_alloc(struct launch *l)
{
    return NULL;
}
void count_collect(struct launch *l, struct worker_state *ws)
{
}
void count_access(struct warp *w, const struct insn *pc, enum ptx_space sp, const uint64_t *addr,
                  uint32_t n, uint32_t access)
{
}
void count_bytes(struct warp *w, const struct insn *pc, enum count_bytes what, uint64_t bytes)
{
}
void count_bank_conflicts(struct warp *w, const struct insn *pc, uint32_t extra)
{
}
