/*
 * import.h - makes a task from a PyTorch module, and proves that its reference computes the same.
 *
 *     struct importer im;
 *     importer_open(&im, PRECISION_TORCH);
 *     struct import_report r;
 *     if (import_module(&im, &request, "tasks", &r, err) < 0) ...    why the module is refused
 *     printf("%s: largest difference %g\n", r.dir, r.largest);
 *     import_report_release(&r);
 *     importer_close(&im);
 *
 * The steps:
 *  1. trace.py records the module's operations as a graph.
 *  2. Hone writes the graph as C code, the reference. Hone also computes a tolerance from a model
 *     of rounding errors, and chooses sizes (task_text.h).
 *  3. Hone checks the task as `hone task check` does. Unless the trace was recorded earlier, Hone
 *     also runs the module in PyTorch and compares the results with those of the oracle, the
 *     compiled reference. They must agree within the tolerance. If the module can compute in
 *     double, they must agree within a thousandth of the tolerance.
 *  4. Hone runs the reference with random rounding, to see that the tolerance is neither too narrow
 *     nor too wide (graph/tolerance/prove.h).
 */
#ifndef IMPORT_IMPORT_H
#define IMPORT_IMPORT_H

#include <jansson.h>

#include "base/err.h"
#include "import/task_text.h"
#include "import/trace.h"
#include "torch/check.h"

struct importer {
    enum import_precision precision;
    struct torch_check torch; /* one process for all imports */
};

struct import_report {
    char *name, *dir;
    bool compared; /* with PyTorch */
    /* The largest |PyTorch - oracle| / max(|oracle|, rms of the oracle's output), in double if the
     * module can; 0 if not compared. */
    double largest;
    /* The largest error of random rounding, divided by the tolerance. */
    double rounding;
    double seconds;
    size_t axes; /* how many axes may vary */
    /* Wrong kernels would pass, because the outputs hardly depend on the inputs. */
    bool accepts_wrong;
    bool is_ill; /* rounding alone changes an output a lot (docs/tolerance.md) */
    /* The tolerance is far wider than the errors of random rounding. */
    bool is_loose;
    bool needs_python; /* the reference is in Python */
    /* The fewest runs with random rounding at a shape, if below TOLERANCE_RUNS; else 0. */
    uint64_t few_runs;
    json_t *notes; /* for the user */
    json_t *files; /* paths of the Python files that the trace ran; may be NULL */
};

void importer_open(struct importer *im, enum import_precision precision);
void importer_close(struct importer *im);

/* Writes the task into a folder in `out`. Fails if the folder holds a task that was not imported
 * from this file. After an error, removes the folder if it is new. The caller always releases the
 * report. */
int import_module(struct importer *im, const struct trace_request *rq, const char *out,
                  struct import_report *r, struct err *err);
void import_report_release(struct import_report *r);

#endif
