/*
 * mem.h - finds and checks the memory of loads, stores and atomics.
 */
#ifndef EMU_CORE_MEM_H
#define EMU_CORE_MEM_H

#include "emu/core/machine.h"

/* Host memory of a warp's access. The bytes of lane i begin at base + addr[i] + i*stride. */
struct lanes {
    uint8_t *base;
    uint64_t stride;
    enum ptx_space sp;
    uint64_t lo, hi; /* accessed addresses: [lo, hi) */
};

/* A host thread holds this lock while a strong access or an atomic moves 16 bytes or more. */
extern pthread_mutex_t mem_wide_lock;

/* insn.o[4] of ld.nc: the load may move before stores, because no store may change its data. */
#define LD_CONST OPND_NUMBER(1)
/* insn.o[4] of a shared access that the GPU merges with others (merge_shared.c). `bytes` is the
 * size of the merged access. `first` marks its first part in the code. */
#define MERGED(bytes, first) OPND_NUMBER((bytes) | ((first) ? 0x100u : 0))
#define MERGED_BYTES(code) ((code)&0xff)
#define MERGED_FIRST(code) ((code) >> 8 & 1)

#define ACCESS_ACQUIRE 64u
#define ACCESS_RELEASE 128u

/* Returns the space that the modifiers name, or SP_GENERIC. */
enum ptx_space mem_space(const struct ptx_insn *p);

/* Finds the host memory of a whole warp's access to n bytes per lane. If it returns true, generic
 * addresses in addr[] have become offsets in their space. If it returns false, the lanes are not
 * all in one object, or there is something to report. Then call mem_at() for each lane. */
bool mem_lanes(struct warp *w, const struct insn *pc, enum ptx_space sp, uint64_t *addr, uint32_t n,
               uint32_t access, struct lanes *out);

/* Describes an address by the nearest allocation: sets *object to its name, *index to the index of
 * the element there, and writes a text such as "y[3, 17]" to buf. */
void mem_describe(const struct emu_mem *m, uint64_t addr, char *buf, size_t n, const char **object,
                  int64_t *index);

int emu_fault_at(struct warp *w, const struct insn *pc, int lane, enum result_status st,
                 enum finding_kind kind, const char *object, int64_t index, const char *fmt, ...)
    __attribute__((format(printf, 8, 9)));

/* These functions check a whole warp. If one returns false, there may be something to report: call
 * san_lane() for each lane. */
bool san_global(struct warp *w, const struct insn *pc, struct alloc *a, const uint64_t *addr,
                uint64_t lo, uint64_t hi, uint32_t n, uint32_t access);
bool san_shared(struct warp *w, const struct insn *pc, const uint64_t *addr, uint32_t n,
                uint32_t access);
void san_lane(struct warp *w, const struct insn *pc, uint32_t lane, enum ptx_space sp,
              uint64_t addr, uint32_t n, uint32_t access);

/* Call it around a strong access of the active lanes, which may order other accesses: before a
 * write with release = true, after a read with release = false. */
void san_order(struct warp *w, const struct insn *pc, enum ptx_space sp, const uint64_t *addr,
               uint32_t access, bool release);

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

void count_access(struct warp *w, const struct insn *pc, enum ptx_space sp, const uint64_t *addr,
                  uint32_t n, uint32_t access);

#endif
