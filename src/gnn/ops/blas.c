/* blas.c - loads OpenBLAS and sets it to one thread. See blas.h. */
#include "gnn/ops/blas.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/util.h"
#include "sys/dl.h"

static struct blas openblas;
static const struct blas *found;

static void load(void)
{
    const char *wish = getenv("HONE_GNN_BLAS");
    if (wish && str_eq(wish, "none"))
        return;
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so", NULL};
    static void (*set_threads)(int);
    static char *(*get_config)(void);
    const struct dl_symbol syms[] = {
        {"cblas_sgemm", &openblas.sgemm},
        {"cblas_dgemm", &openblas.dgemm},
        {"openblas_set_num_threads", &set_threads},
        {"openblas_get_config", &get_config},
        {NULL, NULL},
    };
    void *handle;
    struct err err = ERR_INIT;
    if (dl_load(&handle, names, syms, "fast matrix products", "libopenblas0-pthread", &err) < 0) {
        log_info("gnn", "%s; products run in plain C", err.msg);
        return;
    }
    set_threads(1);
    openblas.name = get_config();
    found = &openblas;
}

const struct blas *blas_find(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return found;
}
