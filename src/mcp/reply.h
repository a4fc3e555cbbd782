/*
 * reply.h - the result of a tool: text for models, JSON for programs, links to long texts.
 *
 *     struct reply r = REPLY_INIT;
 *     reply_text(&r, "%s passes", name);
 *     reply_foreign(&r, "the kernel's source", source, len);
 *     json_t *result = reply_finish(&r);
 *
 * Text from kernels and models may hold instructions for the model that reads it. reply_foreign()
 * puts such text between two lines with a random word that the text cannot guess. The first of
 * these lines says that the text is data.
 */
#ifndef MCP_REPLY_H
#define MCP_REPLY_H

#include "base/vec.h"
#include "sys/json.h"

/* Longer texts become resources; the reply holds only their beginning. */
#define REPLY_LONG_BYTES (24u << 10)

struct reply {
    json_t *content;    /* an array, or NULL */
    json_t *structured; /* an object, or NULL */
    bool is_error;
};
#define REPLY_INIT        \
    {                     \
        NULL, NULL, false \
    }

void reply_text(struct reply *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* `what` names the text: "the kernel's source". */
void reply_foreign(struct reply *r, const char *what, const char *text, size_t len);
void reply_link(struct reply *r, const char *uri, const char *name, const char *mime,
                const char *description);
/* Makes the reply say that the tool failed, with the message of err. Drops all earlier content. */
void reply_fail(struct reply *r, const struct err *err);
/* Takes ownership of `j`. */
void reply_structured(struct reply *r, json_t *j);
/* Returns the result of tools/call. Empties r. */
json_t *reply_finish(struct reply *r);
void reply_release(struct reply *r);

/* ---- long texts ------------------------------------------------------------------------------ */

enum { SHELF_SLOTS = 64, SHELF_MAX_BYTES = 64 << 20 };

/* Keeps the most recent long texts. Clients read them as hone://result/ID. */
struct shelf {
    struct shelf_text {
        char id[33];
        const char *mime; /* static */
        char *text;
        size_t len;
    } slots[SHELF_SLOTS];
    size_t next, bytes; /* the slot for the next text; bytes of all texts */
};

/* Copies the text. Returns its id. */
const char *shelf_put(struct shelf *s, const char *mime, const char *text, size_t len);
const struct shelf_text *shelf_find(const struct shelf *s, const char *id);
void shelf_release(struct shelf *s);

#endif
