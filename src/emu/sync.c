/*
 * sync.c - barriers.
 */
#include "base/util.h"
#include "emu/machine.h"

void barrier_exited(struct warp *w)
{
    (void)w;
}
void call_results(struct warp *w, struct frame *callee, uint32_t lanes)
{
}
const struct decode_entry decode_half_ops[] = {{NULL, NULL}}, decode_cvt_ops[] = {{NULL, NULL}},
                          decode_sync_ops[] = {{NULL, NULL}}, decode_atom_ops[] = {{NULL, NULL}},
                          decode_call_ops[] = {{NULL, NULL}};
