/* secrets.c - finds the user's keys, and removes them from texts. See secrets.h. */
#include "mcp/secrets.h"

#include <stdlib.h>
#include <string.h>

#include "author/key.h"
#include "base/util.h"

extern char **environ;

enum { SHORTEST = 8 }; /* shorter values are not taken for keys */

static bool names_a_secret(const char *name, size_t n)
{
    static const char *const ends[] = {"KEY", "TOKEN", "SECRET", "PASSWORD"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        size_t k = strlen(ends[i]);
        if (n >= k && memcmp(name + n - k, ends[i], k) == 0)
            return true;
    }
    return false;
}

static void add(struct secret_vec *v, const char *text)
{
    if (strlen(text) >= SHORTEST)
        *vec_push(v) = xstrdup(text);
}

void secrets_find(struct secret_vec *v)
{
    static const char *const providers[] = {"OPENAI_API_KEY", "ANTHROPIC_API_KEY"};
    struct strbuf key = STRBUF_INIT(8192);
    for (char **e = environ; *e; e++) {
        size_t n = strcspn(*e, "=");
        if ((*e)[n] && names_a_secret(*e, n))
            add(v, *e + n + 1);
    }
    for (size_t i = 0; i < ARRAY_LEN(providers); i++)
        if (key_find(providers[i], &key, NULL) == 0)
            add(v, key.buf);
    explicit_bzero(key.buf, key.len);
    strbuf_release(&key);
}

void secrets_scrub(const struct secret_vec *v, char *text, size_t len)
{
    vec_each (char *, key, v)
        key_redact(text, len, *key);
}

void secrets_release(struct secret_vec *v)
{
    vec_each (char *, key, v) {
        explicit_bzero(*key, strlen(*key));
        free(*key);
    }
    vec_release(v);
}
