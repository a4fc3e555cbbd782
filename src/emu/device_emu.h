/*
 * device_emu.h - two functions of the emulator's device that device/device.h does not have.
 * driver.c needs them, because it runs kernels without a job.
 */
#ifndef EMU_DEVICE_EMU_H
#define EMU_DEVICE_EMU_H

#include "device/device.h"

/* Loads PTX text of `len` bytes. */
enum result_status emu_load_text(struct device *d, const char *ptx, size_t len,
                                 struct device_module **out, struct err *err);
/* Sets bytes[i] to the size of parameter i of a kernel, in bytes, for at most `max` parameters.
 * Returns how many parameters the kernel has, or -1 if the module has no such kernel. */
int emu_kernel_params(struct device_module *m, const char *kernel, uint32_t *bytes, int max);

#endif
