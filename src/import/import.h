/*
 * import.h - makes a task from a PyTorch module, and proves that the task's reference computes the
 * same as the module.
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
 *  2. Hone writes the graph as C code, the reference. Compiled, it is the oracle. Hone also
 *     computes a tolerance from a model of rounding errors, and chooses sizes (task_text.h).
 *  3. Hone checks the task as `hone task check` does. It also runs the module in PyTorch, at the
 *     smoke shapes and two random ones, unless the request has an earlier trace. The results must
 *     agree with the oracle within the tolerance; if in double, within a thousandth of it.
 *  4. Hone runs the oracle with random rounding, to see that the tolerance is neither too narrow
 *     nor too wide (graph/tolerance/prove.h).
 *
 * After that, PyTorch is only a baseline. But a task from a definition of FlashInfer-Bench may keep
 * its reference in Python.
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
    /* The largest error of random rounding / the tolerance. */
    double rounding;
    double seconds;
    size_t axes; /* sizes that may vary */
    /* The outputs hardly depend on the inputs: wrong kernels would pass. */
    bool accepts_wrong;
    bool is_ill; /* rounding alone changes an output a lot (docs/tolerance.md) */
    /* The tolerance is far wider than the errors of random rounding. */
    bool is_loose;
    bool needs_python; /* the reference is in Python, so evaluations need PyTorch */
    /* The fewest runs with random rounding at a shape, if below TOLERANCE_RUNS; else 0. */
    uint64_t few_runs;
    json_t *notes; /* for the user, such as which sizes are fixed */
    json_t *files; /* paths of the user's file and of its imports */
};

void importer_open(struct importer *im, enum import_precision precision);
void importer_close(struct importer *im);

/* Writes the task's folder into `out`. Fails if the folder holds another task than an earlier
 * import of the file. If a check fails, removes the folder, unless it existed before. The caller
 * releases the report, also after an error. */
int import_module(struct importer *im, const struct trace_request *rq, const char *out,
                  struct import_report *r, struct err *err);
void import_report_release(struct import_report *r);

#endif
