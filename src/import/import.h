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
 * The steps of an import:
 *  1. trace.py records the module's operations as a graph.
 *  2. Hone writes the graph's reference as C code. The compiled reference is the oracle. Hone also
 *     computes a tolerance from a model of rounding errors, and chooses sizes (task_text.h).
 *  3. Hone checks the task as `hone task check` does. If the caller gave no file of an earlier
 *     trace, Hone also runs the module in PyTorch. It does so at the small smoke shapes and at two
 *     held-out shapes, which are drawn at random. The module's results must agree with the oracle's
 *     within the task's tolerance. If the module runs in double, they must agree within a
 *     thousandth of the tolerance.
 *  4. Hone runs the oracle with random rounding, to see that the tolerance is neither too narrow
 *     nor too wide (graph/tolerance/prove.h).
 * After the import, the task needs PyTorch only as a baseline. But if the task comes from a
 * definition of FlashInfer-Bench, Hone may keep its reference in Python; then every evaluation
 * needs PyTorch.
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
    struct torch_check torch; /* one process with PyTorch, for all imports of a command */
};

struct import_report {
    char *name, *dir; /* the task's name, and its folder */
    bool compared;    /* the oracle was compared with PyTorch; false for a recorded trace */
    /* The largest |PyTorch - oracle| / max(|oracle|, rms) of any element. PyTorch computes in
     * double if the module can, and rms is that of the oracle's output. The value is 0 if nothing
     * was compared. */
    double largest;
    /* The largest error that random rounding caused, divided by the tolerance. */
    double rounding;
    double seconds; /* how long the import took */
    size_t axes;    /* how many sizes may vary */
    /* The outputs hardly depend on the inputs, so the task is degenerate: it would accept wrong
     * kernels. */
    bool accepts_wrong;
    bool is_ill; /* rounding alone changes an output a lot (docs/tolerance.md) */
    /* The tolerance is far wider than the errors that random rounding caused. */
    bool is_loose;
    bool needs_python; /* the reference is in Python, so every evaluation needs PyTorch */
    /* Hone runs the oracle with random rounding TOLERANCE_RUNS times at each shape, or fewer times
     * if the oracle takes long. This is the least number of runs at a shape; 0 if no shape had
     * fewer than TOLERANCE_RUNS. */
    uint64_t few_runs;
    json_t *notes; /* texts for the user, for example which sizes are fixed and why */
    json_t *files; /* the paths of the user's file and of the files that it imports */
};

void importer_open(struct importer *im, enum import_precision precision);
void importer_close(struct importer *im);

/* Writes the task's folder into the folder `out`. If the task's folder exists, it must hold a task
 * that was imported from the same file; otherwise the function fails. If a check fails, removes the
 * task's folder, except when it existed before. The caller releases the report, also after an
 * error. */
int import_module(struct importer *im, const struct trace_request *rq, const char *out,
                  struct import_report *r, struct err *err);
void import_report_release(struct import_report *r);

#endif
