/*
 * exits.c - distinguishes threads that returned early from threads that went past a barrier, or a
 * warp-wide instruction, without executing it.
 *
 * From sm_70 on, these instructions wait only for threads that have not exited. So threads may
 * return before a barrier, but they must not go around it and do the work after it. For each lane
 * we keep where it exited and where it last met other threads, and flow_went_past() decides. The
 * answer does not depend on the order in which the emulator runs warps.
 *
 * Threads may also wait at two different barrier instructions, A and B. If B comes after A, and no
 * loop leads back to A, then the threads at B went around A (exits_beyond).
 *
 * We record places only in the kernel's own code. A lane that exited or met others in a called
 * function counts as having returned early.
 */
#include "base/util.h"
#include "emu/core/flow.h"
#include "emu/core/machine.h"

#define AT_START 0u
#define IN_CALL UINT32_MAX
/* went_past() answers three kinds of questions. In one, `exit` is the place where a thread exited.
 * In the other two, `exit` says who asks: */
#define NO_EXIT 0u                 /* exits_beyond() */
#define TWO_BRANCHES (IN_CALL - 1) /* exits_in_two_branches() */
/* A place is AT_START, IN_CALL, or 1 + the number of an instruction of the kernel. */

static uint32_t place_of(const struct warp *w, const struct insn *pc)
{
    return w->frame == w->frame0 ? pc->src + 1 : IN_CALL;
}

static void set_places(uint32_t *to, uint32_t lanes, uint32_t place)
{
    for (uint32_t i = 0; i < WARP; i++)
        to[i] = lanes >> i & 1 ? place : to[i];
}

void exits_start(struct warp *w)
{
    memset(w->met, 0, sizeof w->met);
}

void exits_met(struct warp *w, enum exits_kind kind, uint32_t lanes, const struct insn *pc)
{
    if (w->launch->sanitize)
        set_places(w->met[kind], lanes, place_of(w, pc));
}

void exits_left(struct warp *w, uint32_t lanes, const struct insn *pc)
{
    if (w->launch->sanitize)
        set_places(w->exit_at, lanes, place_of(w, pc));
}

uint32_t warp_lanes(const struct warp *w)
{
    uint32_t left = w->launch->nthreads - w->id * WARP;
    return left >= WARP ? FULL : (1u << left) - 1;
}

static bool analyse(struct launch *l, uint32_t since, uint32_t at, uint32_t exit)
{
    const struct ptx_func *f = l->entry->src;
    struct arena a = ARENA_INIT;
    struct flow g;
    struct err err;
    bool past = false;
    if (flow_build(&g, f, &a, &err) == 0)
        past = exit == NO_EXIT ? flow_is_beyond(&g, since - 1, at - 1)
               : exit == TWO_BRANCHES
                   ? flow_in_two_branches(&g, since - 1, at - 1)
                   : flow_went_past(&g, f, since == AT_START ? FLOW_START : since - 1, at - 1,
                                    exit - 1);
    arena_release(&a);
    return past;
}

static bool went_past(struct launch *l, uint32_t since, uint32_t at, uint32_t exit)
{
    struct went_past *free_slot = NULL;
    if (since == IN_CALL || at == IN_CALL || exit == IN_CALL)
        return false;
    pthread_mutex_lock(&l->emu->lock);
    for (size_t i = 0; i < ARRAY_LEN(l->past) && !free_slot; i++) {
        struct went_past *p = &l->past[i];
        if (!p->at) {
            free_slot = p;
        } else if (p->since == since && p->at == at && p->exit == exit) {
            bool answer = p->answer;
            pthread_mutex_unlock(&l->emu->lock);
            return answer;
        }
    }
    bool answer = analyse(l, since, at, exit);
    if (free_slot)
        *free_slot = (struct went_past){since, at, exit, answer};
    pthread_mutex_unlock(&l->emu->lock);
    return answer;
}

bool exits_beyond(struct launch *l, uint32_t since, uint32_t at)
{
    return went_past(l, since, at, NO_EXIT);
}

bool exits_in_two_branches(const struct warp *w, const struct insn *a, const struct insn *b)
{
    return went_past(w->launch, place_of(w, a), place_of(w, b), TWO_BRANCHES);
}

uint32_t exits_past(struct warp *w, uint32_t lanes, enum exits_kind kind, uint32_t place)
{
    uint32_t past = 0, last[2] = {0, 0};
    bool answer = false;
    for (uint32_t m = lanes & warp_lanes(w) & ~w->live; m; m &= m - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(m), since = w->met[kind][i], exit = w->exit_at[i];
        if (since != last[0] || exit != last[1])
            answer = went_past(w->launch, since, place, exit);
        last[0] = since;
        last[1] = exit;
        past |= (uint32_t)answer << i;
    }
    return past;
}

uint32_t exits_place(const struct warp *w, const struct insn *pc)
{
    return place_of(w, pc);
}
