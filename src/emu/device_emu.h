/*
 * device_emu.h - how the rest of emu/ uses the emulator's device (device/device.h) without a job.
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
