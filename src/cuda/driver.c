/*
 * driver.c - opens the driver's library, finds its functions, and puts its errors into words.
 */
#include "cuda/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"

static const struct {
    const char *symbol;
    size_t offset;
} functions[] = {
#define X(name, symbol, params) {symbol, offsetof(struct cu_driver, name)},
    CU_FUNCTIONS(X)
#undef X
};

int cu_driver_open(const char *path, struct cu_driver *out, struct err *err)
{
    *out = (struct cu_driver){0};
    /* We never close the library, because the driver has threads of its own and cannot be unloaded
     * safely. */
    void *lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!lib) {
        err_set(err, ERR_ENV, "the CUDA driver cannot be loaded: %s", dlerror());
        return -CU_NO_DEVICE;
    }
    for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
        void *sym = dlsym(lib, functions[i].symbol);
        if (!sym) {
            err_set(err, ERR_ENV,
                    "%s has no %s: the driver is too old (CUDA 12.0 or newer is needed)", path,
                    functions[i].symbol);
            return -CU_NOT_FOUND;
        }
        *(void **)((char *)out + functions[i].offset) = sym;
    }
    /* The driver must load a module whole. A kernel that is loaded only at its first launch would
     * stop the stream in the middle of a measurement. */
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    int rc = cu_check(out, out->Init(0), err, "cuInit");
    if (rc < 0) {
        if (err)
            err->kind = ERR_ENV;
        return rc;
    }
    out->DriverGetVersion(&out->version);
    return 0;
}

const struct cu_driver *cu_driver_load(struct err *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct cu_driver driver;
    static bool ready;
    pthread_mutex_lock(&lock);
    if (!ready)
        ready = cu_driver_open("libcuda.so.1", &driver, err) == 0;
    bool usable = ready;
    pthread_mutex_unlock(&lock);
    return usable ? &driver : NULL;
}

void *cu_driver_symbol(const struct cu_driver *cu, const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(functions); i++)
        if (str_eq(functions[i].symbol, name))
            return *(void *const *)((const char *)cu + functions[i].offset);
    return NULL;
}

const char *cu_error_text(const struct cu_driver *cu, int r)
{
    static _Thread_local char text[256];
    const char *name = NULL, *words = NULL;
    r = abs(r);
    cu->GetErrorName(r, &name);
    cu->GetErrorString(r, &words);
    if (name)
        snprintf(text, sizeof text, "%s (%s)", name, words ? words : "?");
    else
        snprintf(text, sizeof text, "CUDA error %d", r);
    return text;
}

int cu_check(const struct cu_driver *cu, cu_result r, struct err *err, const char *what)
{
    if (r == CU_SUCCESS)
        return 0;
    if (err)
        err_set(err, r == CU_OUT_OF_MEMORY ? ERR_LIMIT : ERR_ENV, "%s: %s", what,
                cu_error_text(cu, r));
    return -r;
}
