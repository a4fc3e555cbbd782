/*
 * gpu_made.h - makes the data of papers.h on a device and copies it to host memory. At full size
 * that takes seconds; the host alone needs minutes.
 */
#ifndef GNN_GPU_GPU_MADE_H
#define GNN_GPU_GPU_MADE_H

#include "base/err.h"
#include "gnn/data/dataset.h"

/* Makes the data of *d, which comes from papers_open() with PAPERS_ON_DEVICE. `device` is a name as
 * in gnn/gpu/devices.h; the function opens this device and closes it again. */
int gpu_make_on_host(struct dataset *d, const char *device, struct err *err);

#endif
