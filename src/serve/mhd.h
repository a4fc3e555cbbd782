/*
 * mhd.h - loads libmicrohttpd at run time, because only `hone serve` needs it.
 */
#ifndef SERVE_MHD_H
#define SERVE_MHD_H

#include <microhttpd.h>

#include "base/err.h"

struct mhd {
    void *lib;
    __typeof__(&MHD_start_daemon) start_daemon;
    __typeof__(&MHD_stop_daemon) stop_daemon;
    __typeof__(&MHD_get_daemon_info) get_daemon_info;
    __typeof__(&MHD_lookup_connection_value) lookup;
    __typeof__(&MHD_get_connection_values) get_values;
    __typeof__(&MHD_queue_response) queue_response;
    __typeof__(&MHD_create_response_from_buffer) response_from_buffer;
    __typeof__(&MHD_create_response_from_callback) response_from_callback;
    __typeof__(&MHD_destroy_response) destroy_response;
    __typeof__(&MHD_add_response_header) add_header;
    __typeof__(&MHD_suspend_connection) suspend;
    __typeof__(&MHD_resume_connection) resume;
};

int mhd_load(struct mhd *m, struct err *err);
void mhd_unload(struct mhd *m);

#endif
