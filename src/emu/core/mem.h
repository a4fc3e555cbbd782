/*
 * mem.h - finds and checks the memory that loads, stores and atomics access.
 */
#ifndef EMU_CORE_MEM_H
#define EMU_CORE_MEM_H

#include "emu/core/machine.h"

/* Where the bytes of a warp's access are in host memory. The bytes of lane i begin at base +
 * addr[i] + i*stride, where addr[] is the array that the caller gave to mem_lanes(). */
struct lanes {
    uint8_t *base;
    uint64_t stride;
    enum ptx_space sp;
    uint64_t lo, hi; /* the warp touches addresses in [lo, hi) */
};

/* A host thread holds this lock while it moves 16 bytes or more as a whole (strong accesses,
 * atomics). */
extern pthread_mutex_t mem_wide_lock;

/* The value of insn.o[4] in ld.nc. No store may change the data that ld.nc reads, so this load may
 * move before stores. */
#define LD_CONST OPND_NUMBER(1)
/* merge_shared.c merges accesses to shared memory into wider ones. MERGED() is the value of
 * insn.o[4] in each part of a merged access. `bytes` is the size of the whole merged access, and
 * `first` says whether this part is its first. */
#define MERGED(bytes, first) OPND_NUMBER((bytes) | ((first) ? 0x100u : 0))
#define MERGED_BYTES(code) ((code)&0xff)
#define MERGED_FIRST(code) ((code) >> 8 & 1)

/* Further access flags, in addition to the MEM_ flags of core.h. */
#define ACCESS_ACQUIRE 64u
#define ACCESS_RELEASE 128u

/* Returns the space that the modifiers name, or SP_GENERIC if they name none. */
enum ptx_space mem_space(const struct ptx_insn *p);

/* Finds the host memory of a whole warp's access and writes it to *out. Returns false if the active
 * lanes are not all in one object (such as one buffer), or if something must be reported. The
 * caller then calls mem_at() for each lane. After mem_lanes() has returned true, addr[] holds no
 * generic addresses any more: they have become offsets in their space. */
bool mem_lanes(struct warp *w, const struct insn *pc, enum ptx_space sp, uint64_t *addr, uint32_t n,
               uint32_t access, struct lanes *out);

/* Describes an address: writes a text to buf, sets *object to the name of the nearest allocation
 * and *index to the index of the element in it. */
void mem_describe(const struct emu_mem *m, uint64_t addr, char *buf, size_t n, const char **object,
                  int64_t *index);

/* Like emu_fault(), but the finding also names the object that was accessed. */
int emu_fault_at(struct warp *w, const struct insn *pc, int lane, enum result_status st,
                 enum finding_kind kind, const char *object, int64_t index, const char *fmt, ...)
    __attribute__((format(printf, 8, 9)));

/* With these functions the sanitizer checks an access. san_global() and san_shared() check a whole
 * warp and return false when there may be something to report. The caller then calls san_lane() for
 * each lane, which reports. */
bool san_global(struct warp *w, const struct insn *pc, struct alloc *a, const uint64_t *addr,
                uint64_t lo, uint64_t hi, uint32_t n, uint32_t access);
bool san_shared(struct warp *w, const struct insn *pc, const uint64_t *addr, uint32_t n,
                uint32_t access);
void san_lane(struct warp *w, const struct insn *pc, uint32_t lane, enum ptx_space sp,
              uint64_t addr, uint32_t n, uint32_t access);

/* Tells the sanitizer about a strong access of the active lanes, because it may order other
 * accesses (a release or an acquire). If the strong access writes, call san_order() before the
 * access, with release = true. If it reads, call san_order() after the access, with release =
 * false. */
void san_order(struct warp *w, const struct insn *pc, enum ptx_space sp, const uint64_t *addr,
               uint32_t access, bool release);

/* Computes the effective addresses of all lanes. */
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

/* Counts an access, when counters are on. */
void count_access(struct warp *w, const struct insn *pc, enum ptx_space sp, const uint64_t *addr,
                  uint32_t n, uint32_t access);

#endif
