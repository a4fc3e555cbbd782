/* respond.c - makes responses and adds the security headers to them. See respond.h. */
#include "serve/respond.h"

#include <string.h>

#include "base/util.h"
#include "sys/json.h"

/* The security headers. A page may load scripts, styles, images and data of this server, and
 * nothing else. Scripts in the page itself do not run. */
static const struct {
    const char *name, *value;
} headers[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
};

void respond_secure(const struct mhd *m, struct MHD_Response *r)
{
    for (size_t i = 0; i < ARRAY_LEN(headers); i++)
        m->add_header(r, headers[i].name, headers[i].value);
}

struct MHD_Response *respond_make(const struct mhd *m, const char *type, const void *body,
                                  size_t len)
{
    struct MHD_Response *r =
        m->response_from_buffer(len, len ? (void *)body : (void *)"", MHD_RESPMEM_MUST_COPY);
    if (r) {
        m->add_header(r, "Content-Type", type);
        respond_secure(m, r);
    }
    return r;
}

static enum MHD_Result queue(const struct mhd *m, struct MHD_Connection *c, unsigned status,
                             const char *type, const char *text)
{
    struct MHD_Response *r = respond_make(m, type, text, strlen(text));
    if (!r)
        return MHD_NO;
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        m->add_header(r, "Allow", "GET, HEAD");
    enum MHD_Result rc = m->queue_response(c, status, r);
    m->destroy_response(r);
    return rc;
}

enum MHD_Result respond_text(const struct mhd *m, struct MHD_Connection *c, unsigned status,
                             const char *text)
{
    return queue(m, c, status, "text/plain; charset=utf-8", text);
}

enum MHD_Result respond_error(const struct mhd *m, struct MHD_Connection *c, unsigned status,
                              const char *text)
{
    struct strbuf sb = STRBUF_INIT(8192);
    json_t *j = json_pack("{s:o}", "error", json_text(text));
    json_add_text(&sb, j, false);
    enum MHD_Result rc = queue(m, c, status, "application/json", sb.buf);
    json_decref(j);
    strbuf_release(&sb);
    return rc;
}
