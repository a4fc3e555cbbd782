/*
 * respond.h - makes HTTP responses with the security headers that every response of the server has.
 */
#ifndef SERVE_RESPOND_H
#define SERVE_RESPOND_H

#include "serve/mhd.h"

/* Makes a response with this content type and body, and all security headers. Copies the body. */
struct MHD_Response *respond_make(const struct mhd *m, const char *type, const void *body,
                                  size_t len);
/* Adds the security headers to a response. */
void respond_secure(const struct mhd *m, struct MHD_Response *r);
/* Queues a short text as the answer. */
enum MHD_Result respond_text(const struct mhd *m, struct MHD_Connection *c, unsigned status,
                             const char *text);
/* Queues {"error": text}. */
enum MHD_Result respond_error(const struct mhd *m, struct MHD_Connection *c, unsigned status,
                              const char *text);

#endif
