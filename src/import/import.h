/*
 * import.h - makes a task from a PyTorch module, and proves that the task's truth is the module's.
 *
 *     struct importer im;
 *     importer_open(&im, PRECISION_TORCH);
 *     struct import_report r;
 *     if (import_module(&im, &request, "tasks", &r, err) < 0) ...    refused: what, and which line
 *     printf("%s: largest difference %g\n", r.dir, r.largest);
 *     import_report_release(&r);
 *     importer_close(&im);
 *
 * The steps: trace.py records the module's operations as a graph. Hone writes the graph's reference
 * and chooses sizes (task_text.h). Then Hone checks the task as `hone task check` does, and runs
 * the module in PyTorch, in double, at the smoke shapes and at two drawn shapes: its results must
 * be the oracle's. The task needs PyTorch no more, except as a baseline.
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
    bool compared;    /* PyTorch ran; false for a recorded trace */
    double largest;   /* difference from PyTorch in double, divided by the magnitude */
    double rounding;  /* the largest error of random rounding, divided by the tolerance */
    double seconds;
    size_t axes;        /* sizes that may vary */
    bool accepts_wrong; /* the outputs hardly depend on the inputs: the task is degenerate */
    bool is_ill;   /* ill-conditioned: rounding alone changes an output much (docs/tolerance.md) */
    bool is_loose; /* the model of rounding errors allows far larger errors than there are */
    uint64_t few_runs; /* with random rounding, if there were fewer than usual; else 0 */
    json_t *notes;     /* texts: sizes that were fixed, and why; a proof that was shortened */
    json_t *files;     /* paths: the user's file and those that it imports from its folder */
};

void importer_open(struct importer *im, enum import_precision precision);
void importer_close(struct importer *im);

/* Writes the task's folder into the folder `out`. If the task cannot be proven, removes the folder,
 * unless it existed before. The caller releases the report, also after an error. */
int import_module(struct importer *im, const struct trace_request *rq, const char *out,
                  struct import_report *r, struct err *err);
void import_report_release(struct import_report *r);

#endif
