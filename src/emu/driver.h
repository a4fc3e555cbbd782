/*
 * driver.h - the emulator behind the interface of the CUDA driver.
 *
 *     struct cu_driver cu;
 *     if (emu_driver_open(&cu, true, err) < 0) ...
 *     cu_context_open(&cu, 0, 0, &ctx, err);            and so on, as with a GPU
 *     emu_driver_close();
 *
 * A program that runs kernels through src/cuda/ can use this driver instead of the one from
 * cu_driver_load(). Rules:
 *   1. There is one emulated GPU in a process, because the driver's functions take no context.
 *      emu_driver_open() fails while it is open. Only one thread at a time may call the functions.
 *   2. Every function finishes its work before it returns. So streams and events exist, but there
 *      is never anything to wait for.
 *   3. A module is PTX text. cuModuleLoadData refuses machine code with CU_NO_BINARY_FOR_GPU.
 *   4. A launch fails with CU_LAUNCH_FAILED if it faults or the sanitizer finds a mistake. The
 *      driver's text for this error says what happened. Every later launch, copy, memset and
 *      synchronisation fails too.
 *   5. cuMemHostGetDevicePointer copies the pinned memory into the emulated GPU. Call it again
 *      after the host has changed the memory.
 *   6. Functions that need a real GPU (memory of other processes, variables of modules) are NULL.
 */
#ifndef EMU_DRIVER_H
#define EMU_DRIVER_H

#include <stdbool.h>

#include "cuda/driver.h"

/* `sanitize`: also look for races and for reads of memory that nobody wrote. */
int emu_driver_open(struct cu_driver *out, bool sanitize, struct err *err);
void emu_driver_close(void);

#endif
