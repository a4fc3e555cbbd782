/*
 * lanes.h - loops over the lanes of a warp, for exec functions.
 *
 * When all live lanes are active, the loop ignores the mask and runs over all 32 lanes, so that the
 * compiler vectorises it. It may then write registers of lanes that have exited, but nothing reads
 * these. Two registers are the same or do not overlap, so `ivdep` is safe. After the loop, LANES()
 * returns EX_NEXT from the exec function.
 */
#ifndef EMU_CORE_LANES_H
#define EMU_CORE_LANES_H

#include "emu/core/core.h"

#define LANES(w, i, ...)                                             \
    do {                                                             \
        if ((w)->active == (w)->live) {                              \
            _Pragma("GCC ivdep") for (uint32_t i = 0; i < WARP; i++) \
            {                                                        \
                __VA_ARGS__;                                         \
            }                                                        \
        } else {                                                     \
            FOR_LANES(i, w)                                          \
            {                                                        \
                __VA_ARGS__;                                         \
            }                                                        \
        }                                                            \
        return EX_NEXT;                                              \
    } while (0)

/* These macros define exec functions that compute d = f(a), f(a, b) or f(a, b, c) for arrays of
 * types D, A, B and C. */
#define UNARY(name, D, A, ...)                                   \
    static int name(struct warp *w, const struct insn *in)       \
    {                                                            \
        D *d = opnd(w, in->o[0]);                                \
        const A *pa = opnd(w, in->o[1]);                         \
        LANES(w, i, const A a = pa[i]; d[i] = (D)(__VA_ARGS__)); \
    }
#define BINARY(name, D, A, B, ...)                                                  \
    static int name(struct warp *w, const struct insn *in)                          \
    {                                                                               \
        D *d = opnd(w, in->o[0]);                                                   \
        const A *pa = opnd(w, in->o[1]);                                            \
        const B *pb = opnd(w, in->o[2]);                                            \
        LANES(w, i, const A a = pa[i]; const B b = pb[i]; d[i] = (D)(__VA_ARGS__)); \
    }
#define TERNARY(name, D, A, B, C, ...)                                       \
    static int name(struct warp *w, const struct insn *in)                   \
    {                                                                        \
        D *d = opnd(w, in->o[0]);                                            \
        const A *pa = opnd(w, in->o[1]);                                     \
        const B *pb = opnd(w, in->o[2]);                                     \
        const C *pc = opnd(w, in->o[3]);                                     \
        LANES(w, i, const A a = pa[i]; const B b = pb[i]; const C c = pc[i]; \
              d[i] = (D)(__VA_ARGS__));                                      \
    }

#endif
