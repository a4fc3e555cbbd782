/*
 * san.c - the sanitizer.
 */
#include "emu/mem.h"

bool san_global(struct warp *w, const struct insn *pc, struct alloc *a, const uint64_t *addr,
                uint64_t lo, uint64_t hi, uint32_t n, uint32_t access)
{
    return true;
}
bool san_shared(struct warp *w, const struct insn *pc, const uint64_t *addr, uint32_t n,
                uint32_t access)
{
    return true;
}
void san_lane(struct warp *w, const struct insn *pc, uint32_t lane, enum ptx_space sp,
              uint64_t addr, uint32_t n, uint32_t access)
{
}
void san_block_create(struct block *b)
{
}
void san_block_start(struct block *b)
{
}
void san_block_destroy(struct block *b)
{
}
void san_release(struct warp *w, const void *key)
{
}
void san_acquire(struct warp *w, const void *key)
{
}
uint32_t san_async_begin(struct warp *w, const struct insn *pc, struct block *b, uint32_t off,
                         uint32_t n, bool write, const char *what)
{
    return 1;
}
void san_async_end(struct block *b, uint32_t id)
{
}
void san_async_written(struct block *b, uint32_t off, uint32_t n, const void *key)
{
}
void san_proxy_fence(struct warp *w)
{
}
void san_proxy_check(struct warp *w, const struct insn *pc, struct block *b, uint32_t off,
                     uint32_t n, const char *what)
{
}
void san_global_range(struct warp *w, const struct insn *pc, uint64_t addr, uint64_t n,
                      uint32_t access)
{
}
void san_warp_sync(struct warp *w, uint32_t mask)
{
}
void san_fence(struct warp *w, uint32_t scope)
{
}
void san_order(struct warp *w, const struct insn *pc, enum ptx_space sp, const uint64_t *addr,
               bool release)
{
}
