/*
 * import.h - makes a task from a PyTorch module, and proves that the task's truth is the module's.
 *
 *     struct importer im;
 *     importer_open(&im, PRECISION_TORCH);
 *     struct import_report r;
 *     if (import_module(&im, &request, "tasks", &r, err) < 0) ...    why the module is refused
 *     printf("%s: largest difference %g\n", r.dir, r.largest);
 *     import_report_release(&r);
 *     importer_close(&im);
 *
 * The steps: trace.py records the module's operations as a graph. Hone writes the graph's reference
 * and chooses sizes (task_text.h). Then Hone checks the task as `hone task check` does. The check
 * also runs the module in PyTorch, at the smoke shapes and at two shapes of the held-out ranges. It
 * does not if the caller gave the file of an earlier trace. The module's results must agree with
 * the oracle's within the task's tolerance; if the module runs in double, within a thousandth of
 * the tolerance. Last, Hone runs the oracle with random rounding, to see that the tolerance is
 * neither too narrow nor too wide (graph/tolerance/prove.h). From then on the task needs PyTorch
 * only as a baseline.
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
    struct torch_check torch; /* one PyTorch serves all imports of a command */
};

struct import_report {
    char *name, *dir; /* the task's name, and its folder */
    bool compared;    /* the oracle was compared with PyTorch; false for a recorded trace */
    /* The largest |PyTorch - oracle| / max(|oracle|, rms) of an element, with PyTorch in double;
     * rms is that of the oracle's output. 0 if they were not compared. */
    double largest;
    double rounding;    /* the largest error of random rounding, divided by the tolerance */
    double seconds;     /* how long the import took */
    size_t axes;        /* the number of sizes that may vary */
    bool accepts_wrong; /* the outputs hardly depend on the inputs: the task is degenerate */
    bool is_ill;   /* ill-conditioned: rounding alone changes an output a lot (docs/tolerance.md) */
    bool is_loose; /* the model of rounding errors allows far larger errors than the runs showed */
    bool needs_python; /* its reference is in Python, so every evaluation needs PyTorch */
    /* If only few runs with random rounding were made at a shape, how many; else 0. */
    uint64_t few_runs;
    json_t *notes; /* texts that say which sizes are fixed and why, and what else to know */
    json_t *files; /* paths: the user's file and those that it imports from its folder */
};

void importer_open(struct importer *im, enum import_precision precision);
void importer_close(struct importer *im);

/* Writes the task's folder into the folder `out`. Refuses if the task's folder holds a task that
 * was not imported from the same file. If a check fails, removes the task's folder, unless it
 * existed before. The caller releases the report, also after an error. */
int import_module(struct importer *im, const struct trace_request *rq, const char *out,
                  struct import_report *r, struct err *err);
void import_report_release(struct import_report *r);

#endif
