/*
 * mem.h - how loads, stores and atomics reach memory; for the core's own files.
 */
#ifndef EMU_CORE_MEM_H
#define EMU_CORE_MEM_H

#include "emu/core/machine.h"

/* Where a warp's lanes are: lane i's bytes at base + addr[i] + i * stride. */
struct lanes {
    uint8_t *base;
    uint64_t stride;
    enum ptx_space sp;
    uint64_t lo, hi; /* addresses touched */
};

/* Held while 16 bytes are moved as one. */
extern pthread_mutex_t mem_wide_lock;

/* In o[4] of a load of what nobody writes (ld.nc): it may be done before stores. */
#define LD_CONST OPND_NUMBER(1)
/* In o[4] of a shared access that is joined with others, see merge_shared.c. */
#define MERGED(bytes, first) OPND_NUMBER((bytes) | ((first) ? 0x100u : 0))
#define MERGED_BYTES(code) ((code)&0xff)
#define MERGED_FIRST(code) ((code) >> 8 & 1)

/* More access flags, the core's own. */
#define ACCESS_ACQUIRE 64u
#define ACCESS_RELEASE 128u

enum ptx_space mem_space(const struct ptx_insn *p); /* from the modifiers; SP_GENERIC if none */

/* All active lanes in one place? False: go lane by lane with mem_at. Generic addresses in addr[]
 * are turned into offsets of their space. */
bool mem_lanes(struct warp *w, const struct insn *pc, enum ptx_space sp, uint64_t *addr, uint32_t n,
               uint32_t access, struct lanes *out);

/* Names an address: text, nearest allocation, element index. */
void mem_describe(const struct emu_mem *m, uint64_t addr, char *buf, size_t n, const char **object,
                  int64_t *index);

/* emu_fault with the object named. */
int emu_fault_at(struct warp *w, const struct insn *pc, int lane, enum result_status st,
                 enum finding_kind kind, const char *object, int64_t index, const char *fmt, ...)
    __attribute__((format(printf, 8, 9)));

/* The sanitizer's look at an access. The warp-wide ones return false when something must be
 * reported: the access is then done lane by lane and san_lane says what is wrong. */
bool san_global(struct warp *w, const struct insn *pc, struct alloc *a, const uint64_t *addr,
                uint64_t lo, uint64_t hi, uint32_t n, uint32_t access);
bool san_shared(struct warp *w, const struct insn *pc, const uint64_t *addr, uint32_t n,
                uint32_t access);
void san_lane(struct warp *w, const struct insn *pc, uint32_t lane, enum ptx_space sp,
              uint64_t addr, uint32_t n, uint32_t access);

/* A strong access at the addresses of the active lanes: before it, if it writes (release), and
 * after it, if it reads. */
void san_order(struct warp *w, const struct insn *pc, enum ptx_space sp, const uint64_t *addr,
               uint32_t access, bool release);

/* Effective addresses of all lanes. */
static inline void lane_addrs(const struct warp *w, const struct insn *in, uint32_t code,
                              uint32_t bits, uint64_t *addr)
{
    if (bits == 64) {
        const uint64_t *a = opnd(w, code);
        for (uint32_t i = 0; i < WARP; i++)
            addr[i] = a[i] + (uint64_t)in->imm;
    } else if (bits == 32) {
        const uint32_t *a = opnd(w, code);
        for (uint32_t i = 0; i < WARP; i++)
            addr[i] = (uint32_t)(a[i] + (uint32_t)in->imm);
    } else { /* a .local variable of this frame */
        for (uint32_t i = 0; i < WARP; i++)
            addr[i] = w->frame->local_base + (uint64_t)in->imm;
    }
}

/* Counting of an access, when counters are on. */
void count_access(struct warp *w, const struct insn *pc, enum ptx_space sp, const uint64_t *addr,
                  uint32_t n, uint32_t access);

#endif
