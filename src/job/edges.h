/*
 * edges.h - data in which the last element of a row matters.
 *
 * A kernel that loses the last row of 129 gives the right maximum almost always: the lost element
 * is the largest of its column once in 129. So in a call with JOB_CALL_EDGES the largest value of
 * each row, or of each column that the task reduces, changes places with the last one. The values
 * stay those that the generator drew.
 */
#ifndef JOB_EDGES_H
#define JOB_EDGES_H

#include "job/job.h"

/* Whether the call rearranges this buffer. */
bool edges_wanted(const struct job_buffer *b, const struct job_call *call);
/* Moves the largest values. `data` holds the whole buffer as gen_fill() wrote it. */
void edges_apply(const struct job_buffer *b, void *data);

#endif
