/*
 * compare_text.h - prints two kernels side by side: their verdicts, and their times shape by shape.
 */
#ifndef REPORT_COMPARE_TEXT_H
#define REPORT_COMPARE_TEXT_H

#include <jansson.h>

#include "base/strbuf.h"
#include "verdict/verdict.h"

/* The candidate of `verdict`, or one of its baselines. If both sides point to one struct verdict,
 * the kernels ran in one job, and the verdict has the ratio of their times. */
struct compare_side {
    const char *name; /* "softmax-refine-3f2a:4", "fast.cu" */
    const struct verdict *verdict;
    const char *who; /* "candidate", or a baseline's name */
};

void compare_text(const struct compare_side *a, const struct compare_side *b, struct strbuf *out);
json_t *compare_json(const struct compare_side *a, const struct compare_side *b);
/* Is the side a candidate with the verdict `pass`, or a baseline that is right? */
bool compare_side_passes(const struct compare_side *s);

#endif
