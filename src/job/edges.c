/*
 * edges.c - moves the largest values of rows or columns to their ends.
 */
#include "job/edges.h"

#include <string.h>

#define EDGES_MAX_BYTES (16u << 20) /* larger buffers stay as they are */

/* If a buffer has more than ALL_ROWS rows, we rearrange only about one row in ONE_IN. If we
 * rearranged all of many rows, the last column would hold the largest value of every row. Along
 * this column, exp(cumsum(x)) could overflow float32. */
enum { ALL_ROWS = 16, ONE_IN = 4 };

bool edges_wanted(const struct job_buffer *b, const struct job_call *call)
{
    bool input = b->role == JOB_INPUT || b->role == JOB_INOUT;
    return (call->flags & JOB_CALL_EDGES) && input && b->edge_dims && dtype_is_float(b->dtype) &&
           !gen_has_structure(&b->gen) && b->bytes <= EDGES_MAX_BYTES && !(b->file && *b->file);
}

/* The row has n elements, `step` bytes apart. */
static void move_largest(char *row, uint64_t n, uint64_t step, enum dtype t)
{
    size_t size = dtype_bytes(t), best = n - 1;
    double most = dtype_load(t, row + best * step), v;
    char tmp[16];
    for (uint64_t i = 0; i + 1 < n; i++)
        if ((v = dtype_load(t, row + i * step)) > most) {
            most = v;
            best = i;
        }
    memcpy(tmp, row + best * step, size);
    memcpy(row + best * step, row + (n - 1) * step, size);
    memcpy(row + (n - 1) * step, tmp, size);
}

/* Rearranges rows along one dimension. A row has n elements, `inner` elements apart. */
static void move_in_rows(char *data, uint64_t elems, uint64_t n, uint64_t inner, enum dtype t)
{
    uint64_t size = dtype_bytes(t), row = 0;
    for (uint64_t from = 0; from < elems; from += n * inner)
        for (uint64_t i = from; i < from + inner; i++, row++)
            if (elems / n <= ALL_ROWS || gen_mix32((uint32_t)row) % ONE_IN == 0)
                move_largest(data + i * size, n, inner * size, t);
}

void edges_apply(const struct job_buffer *b, void *data)
{
    uint64_t inner = 1, elems = 1;
    for (uint32_t d = 0; d < b->rank; d++)
        elems *= (uint64_t)b->dims[d];
    if (elems != b->elems || !elems)
        return;
    /* Goes from the innermost dimension to the outermost. Each pass can undo the one before it. So
     * only the outermost dimension in `edge_dims` is sure to have its largest element last. */
    for (uint32_t d = b->rank; d-- > 0; inner *= (uint64_t)b->dims[d]) {
        uint64_t n = (uint64_t)b->dims[d];
        if (!(b->edge_dims >> d & 1) || n < 2)
            continue;
        move_in_rows(data, elems, n, inner, b->dtype);
    }
}
