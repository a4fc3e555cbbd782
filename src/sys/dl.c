/*
 * dl.c - loads a library and finds its functions.
 */
#include "sys/dl.h"

#include <dlfcn.h>
#include <string.h>

#include "base/util.h"

/* Returns the first required symbol that is absent, or NULL. */
static const char *resolve(void *h, const struct dl_symbol *syms)
{
    for (const struct dl_symbol *s = syms; s->name; s++) {
        bool optional = s->name[0] == '?';
        void *p = dlsym(h, s->name + optional);
        if (!p && !optional)
            return s->name;
        /* Object and function pointers have the same size on every system with dlsym. */
        memcpy(s->where, &p, sizeof p);
    }
    return NULL;
}

int dl_load(void **handle, const char *const *names, const struct dl_symbol *syms,
            const char *purpose, const char *package, struct err *err)
{
    const char *lacking = NULL, *lacking_in = NULL;
    for (const char *const *n = names; *n; n++) {
        void *h = dlopen(*n, RTLD_NOW | RTLD_LOCAL);
        if (!h)
            continue;
        lacking = resolve(h, syms);
        if (!lacking) {
            *handle = h;
            return 0;
        }
        lacking_in = *n;
        dlclose(h);
    }
    *handle = NULL;
    if (lacking)
        return err_set(err, ERR_ENV,
                       "%s has no %s (is it too old?); Hone needs it for %s (Debian: %s)",
                       lacking_in, lacking, purpose, package);
    return err_set(err, ERR_ENV, "%s was not found; Hone needs it for %s (Debian: %s)", names[0],
                   purpose, package);
}

void dl_close(void *handle)
{
    if (handle)
        dlclose(handle);
}
