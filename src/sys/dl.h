/*
 * dl.h - loads libraries at run time. Hone runs even if they are missing.
 *
 *     static const char *const names[] = {"libz.so.1", "libz.so", NULL};
 *     struct dl_symbol syms[] = {{"inflate", &f.inflate}, ..., {NULL, NULL}};
 *     if (dl_load(&handle, names, syms, "reading compressed files", "zlib1g", err) < 0) ...
 *         "libz.so.1 was not found; Hone needs it for reading compressed files (Debian: zlib1g)"
 */
#ifndef SYS_DL_H
#define SYS_DL_H

#include "base/err.h"

struct dl_symbol {
    const char *name; /* a leading '?' makes the symbol optional: if the library lacks it, the
                         pointer becomes NULL */
    void *where;      /* the address of a function pointer */
};

/* Loads the first library of `names` that has all symbols. On failure err (ERR_ENV) names the
 * library, what it is for, and its Debian package. */
int dl_load(void **handle, const char *const *names, const struct dl_symbol *syms,
            const char *purpose, const char *package, struct err *err);
void dl_close(void *handle);

#endif
