/*
 * sampled_body.h - makes a phase compute each element DRAWN_SAMPLES times, each time with other
 * random roundings (drawn.h). The results are called the samples of the element.
 *
 * unit_text.h writes the body as if it computed each element once. sampled_body_write() adds loops
 * over the samples. It makes these loops the innermost ones where it can, so that the compiler can
 * use vector instructions. For example, the body
 *
 *     double v3 = 0;
 *     for (...) {
 *         const int64_t i5 = i4 + i2;
 *         const double v6 = VAL7(i5);
 *         v3 += v6 * v6;
 *     }
 *     VAL8(unit) = v3;
 *
 * becomes
 *
 *     double v3[8];
 *     for (int64_t sample = 0; sample < 8; sample++) {
 *         v3[sample] = 0;
 *     }
 *     for (...) {
 *         const int64_t i5 = i4 + i2;
 *         const hone_span s6 = SAMPLES(VAL7, i5);
 *         for (int64_t sample = 0; sample < 8; sample++) {
 *             const double v6 = s6[sample];
 *             v3[sample] += v6 * v6;
 *         }
 *     }
 *     for (int64_t sample = 0; sample < 8; sample++) {
 *         VAL8(unit) = v3[sample];
 *     }
 *
 * The macro VAL8 uses the variable `sample`. If an index or a condition depends on the sample, one
 * loop encloses the whole body.
 */
#ifndef GRAPH_REFERENCE_SAMPLED_BODY_H
#define GRAPH_REFERENCE_SAMPLED_BODY_H

#include "base/strbuf.h"
#include "graph/reference/body_text.h"

/* Text that a reference contains if it uses the macro SAMPLES. Both %d stand for DRAWN_SAMPLES. */
#define SAMPLED_BODY_MACRO                                              \
    "\n/* The samples of an element of a value with drawn errors. */\n" \
    "#define SAMPLES(region, i) hone_ref_span(hone, region##_at + %d * (i), %d, __LINE__)\n"

/* `sampled` has one entry per value: true if its VAL and PART (emit.h) hold a number for each
 * sample. */
void sampled_body_write(const struct body_names *names, const bool *sampled, const char *text,
                        struct strbuf *out);

#endif
