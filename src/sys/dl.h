/*
 * dl.h - loads libraries at run time. If a library is missing, Hone still runs, and the error says
 * what does not work without it.
 *
 *     static const char *const names[] = {"libcurl.so.4", "libcurl.so", NULL};
 *     struct dl_symbol syms[] = {{"curl_easy_init", &f.easy_init}, ..., {NULL, NULL}};
 *     if (dl_load(&handle, names, syms, "talking to model servers", "libcurl4", err) < 0) ...
 *         "libcurl.so.4 is not here: talking to model servers is off (Debian: libcurl4)"
 */
#ifndef SYS_DL_H
#define SYS_DL_H

#include "base/err.h"

struct dl_symbol {
    const char *name; /* a leading '?' makes the symbol optional: if the library lacks it, the
                         pointer becomes NULL */
    void *where;      /* the address of a function pointer */
};

/* Loads the first library of names (NULL-terminated) that has all symbols. On failure err (ERR_ENV)
 * names the missing library, what does not work without it, and its Debian package. */
int dl_load(void **handle, const char *const *names, const struct dl_symbol *syms,
            const char *purpose, const char *package, struct err *err);
void dl_close(void *handle);

#endif
