/*
 * module.c - wraps the driver's functions for modules and kernels.
 */
#include "cuda/module.h"

#include <stdio.h>

int cu_module_load(const struct cu_driver *cu, const void *image, cu_module *out, struct err *err)
{
    return cu_check(cu, cu->ModuleLoadData(out, image), err, "loading a module");
}

void cu_module_unload(const struct cu_driver *cu, cu_module m)
{
    cu->ModuleUnload(m);
}

static int check_named(const struct cu_driver *cu, cu_result r, struct err *err, const char *what,
                       const char *name)
{
    char text[200];
    if (r == CU_SUCCESS || !err)
        return -r;
    snprintf(text, sizeof text, "looking up the %s '%.100s'", what, name);
    return cu_check(cu, r, err, text);
}

int cu_module_function(const struct cu_driver *cu, cu_module m, const char *name, cu_function *out,
                       struct err *err)
{
    return check_named(cu, cu->ModuleGetFunction(out, m, name), err, "kernel", name);
}

int cu_module_global(const struct cu_driver *cu, cu_module m, const char *name, cu_ptr *out,
                     size_t *bytes, struct err *err)
{
    return check_named(cu, cu->ModuleGetGlobal(out, bytes, m, name), err, "variable", name);
}

int cu_function_get(const struct cu_driver *cu, cu_function f, int which, int *out, struct err *err)
{
    return cu_check(cu, cu->FuncGetAttribute(out, which, f), err, "asking about a kernel");
}

int cu_function_set(const struct cu_driver *cu, cu_function f, int which, int value,
                    struct err *err)
{
    return cu_check(cu, cu->FuncSetAttribute(f, which, value), err, "setting up a kernel");
}
