/*
 * respond.h - responses with the headers that every answer of the server carries.
 */
#ifndef SERVE_RESPOND_H
#define SERVE_RESPOND_H

#include "serve/mhd.h"

/* Copies the body. The response has the type and all security headers. */
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
