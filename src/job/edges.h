/*
 * edges.h - rearranges data so that the last element of a row matters.
 *
 * Suppose a kernel computes the maximum of each column and leaves out the last of 129 rows. With
 * random data, its result is still right for nearly all columns. So a call with JOB_CALL_EDGES
 * exchanges the largest and the last value along the innermost dimension, and along each dimension
 * that the task reduces. It does this in all rows if there are few, else in about a quarter of
 * them. Of several dimensions, only the outermost is certain to have the largest value last.
 */
#ifndef JOB_EDGES_H
#define JOB_EDGES_H

#include "job/job.h"

bool edges_wanted(const struct job_buffer *b, const struct job_call *call);
/* Rearranges `data`, which holds the whole buffer as gen_fill() wrote it. */
void edges_apply(const struct job_buffer *b, void *data);

#endif
