/*
 * device_emu.h - the functions of the emulator's device that driver.c needs beside device/device.h,
 * because driver.c runs kernels without a job.
 */
#ifndef EMU_DEVICE_EMU_H
#define EMU_DEVICE_EMU_H

#include "device/device.h"

/* Loads PTX text of `len` bytes. */
enum result_status emu_load_text(struct device *d, const char *ptx, size_t len,
                                 struct device_module **out, struct err *err);
/* Gives the sizes of a kernel's parameters, at most `max` of them, in bytes. Returns their number,
 * or -1 if the module has no such kernel. */
int emu_kernel_params(struct device_module *m, const char *kernel, uint32_t *bytes, int max);

#endif
