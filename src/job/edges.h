/*
 * edges.h - rearranges data so that the last element of a row matters.
 *
 * Suppose a kernel computes the maximum of each column and leaves out the last of 129 rows. It is
 * still right for almost every column, because only one column in 129 has its largest element in
 * the last row. So a call with JOB_CALL_EDGES exchanges the largest and the last value along the
 * innermost dimension, and along each dimension that the task reduces: in all rows if there are
 * few, else in about a quarter of them. If the task reduces along several dimensions, the last
 * value is certain to be the largest only along the outermost of them. The values are still those
 * that the generator drew.
 */
#ifndef JOB_EDGES_H
#define JOB_EDGES_H

#include "job/job.h"

/* Whether the call rearranges this buffer. */
bool edges_wanted(const struct job_buffer *b, const struct job_call *call);
/* Moves the largest values. `data` holds the whole buffer as gen_fill() wrote it. */
void edges_apply(const struct job_buffer *b, void *data);

#endif
