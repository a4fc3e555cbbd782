/* mhd.c - finds the functions of libmicrohttpd in the shared library. */
#include "serve/mhd.h"

#include <string.h>

#include "sys/dl.h"

int mhd_load(struct mhd *m, struct err *err)
{
    static const char *const names[] = {"libmicrohttpd.so.12", "libmicrohttpd.so", NULL};
    memset(m, 0, sizeof *m);
    const struct dl_symbol syms[] = {
        {"MHD_start_daemon", &m->start_daemon},
        {"MHD_stop_daemon", &m->stop_daemon},
        {"MHD_get_daemon_info", &m->get_daemon_info},
        {"MHD_lookup_connection_value", &m->lookup},
        {"MHD_get_connection_values", &m->get_values},
        {"MHD_queue_response", &m->queue_response},
        {"MHD_create_response_from_buffer", &m->response_from_buffer},
        {"MHD_create_response_from_callback", &m->response_from_callback},
        {"MHD_destroy_response", &m->destroy_response},
        {"MHD_add_response_header", &m->add_header},
        {"MHD_suspend_connection", &m->suspend},
        {"MHD_resume_connection", &m->resume},
        {NULL, NULL},
    };
    return dl_load(&m->lib, names, syms, "hone serve", "libmicrohttpd12", err);
}

void mhd_unload(struct mhd *m)
{
    dl_close(m->lib);
    m->lib = NULL;
}
