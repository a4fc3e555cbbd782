/*
 * edges.h - rearranges data so that the last element of a row matters.
 *
 * A kernel that loses the last of 129 rows still gives the right maximum of a column almost always,
 * because the lost element is the largest of its column only once in 129. So if the task reduces
 * rows or columns, a call with JOB_CALL_EDGES exchanges the largest and the last value of each of
 * them. (If it reduces several dimensions, this is certain only for the outermost one.) The values
 * are still those that the generator drew.
 */
#ifndef JOB_EDGES_H
#define JOB_EDGES_H

#include "job/job.h"

/* Whether the call rearranges this buffer. */
bool edges_wanted(const struct job_buffer *b, const struct job_call *call);
/* Moves the largest values. `data` holds the whole buffer as gen_fill() wrote it. */
void edges_apply(const struct job_buffer *b, void *data);

#endif
