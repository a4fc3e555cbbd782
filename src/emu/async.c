/*
 * async.c - asynchronous operations: hooks the core calls. See core.h.
 */
#include "emu/core.h"

const struct decode_entry decode_async_ops[] = {{NULL, NULL}};
const struct decode_entry decode_tensor_ops[] = {{NULL, NULL}};

void async_block_begin(struct block *b)
{
    b->async = NULL;
}

void async_block_end(struct block *b)
{
    b->async = NULL;
}

void async_warp_exit(struct warp *w)
{
    (void)w;
}

int async_idle(struct cluster *c)
{
    (void)c;
    return 0;
}

enum result_status emu_tensormap(const struct job_tensormap *t, uint64_t addr, uint8_t out[128],
                                 struct err *err)
{
    (void)t;
    (void)addr;
    (void)out;
    err_set(err, ERR_INTERNAL, "tensor maps are not supported yet");
    return RESULT_UNSUPPORTED;
}
