/* pack.c - replaces texts in JSON by ranges of a table of lines. See pack.h. */
#include "view/pack.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/vec.h"

enum { SHORTEST = 80 }; /* shorter texts stay as they are */

/* `lines` is the table of lines. `slots` is a hash table that finds a line in `lines`. A slot holds
 * the line's number + 1, or 0 if the slot is empty. */
struct pack {
    VEC(char *) lines;
    size_t *slots, nslots;
};

struct pack *pack_new(void)
{
    struct pack *p = xcalloc(1, sizeof *p);
    p->nslots = 1024;
    p->slots = xcalloc(p->nslots, sizeof *p->slots);
    return p;
}

void pack_free(struct pack *p)
{
    vec_each (char *, line, &p->lines)
        free(*line);
    vec_release(&p->lines);
    free(p->slots);
    free(p);
}

static size_t find_slot(const struct pack *p, const char *line, size_t n)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)line[i]) * 1099511628211u;
    size_t at = (size_t)h & (p->nslots - 1);
    for (; p->slots[at]; at = (at + 1) & (p->nslots - 1)) {
        const char *have = p->lines.items[p->slots[at] - 1];
        if (strlen(have) == n && memcmp(have, line, n) == 0)
            break;
    }
    return at;
}

static void grow(struct pack *p)
{
    free(p->slots);
    p->nslots *= 2;
    p->slots = xcalloc(p->nslots, sizeof *p->slots);
    for (size_t i = 0; i < p->lines.n; i++)
        p->slots[find_slot(p, p->lines.items[i], strlen(p->lines.items[i]))] = i + 1;
}

static size_t line_number(struct pack *p, const char *line, size_t n)
{
    size_t at = find_slot(p, line, n);
    if (p->slots[at])
        return p->slots[at] - 1;
    *vec_push(&p->lines) = xstrndup(line, n);
    p->slots[at] = p->lines.n;
    if (2 * p->lines.n > p->nslots)
        grow(p);
    return p->lines.n - 1;
}

static json_t *pack_text(struct pack *p, const char *text)
{
    json_t *ranges = json_array();
    size_t first = 0, count = 0;
    for (const char *at = text;;) {
        size_t n = strcspn(at, "\n"), line = line_number(p, at, n);
        if (count && line != first + count) {
            json_array_append_new(ranges, json_integer((json_int_t)first));
            json_array_append_new(ranges, json_integer((json_int_t)count));
            count = 0;
        }
        first = count ? first : line;
        count++;
        if (!at[n])
            break;
        at += n + 1;
    }
    json_array_append_new(ranges, json_integer((json_int_t)first));
    json_array_append_new(ranges, json_integer((json_int_t)count));
    return json_pack("{s:o}", "$", ranges);
}

json_t *pack_json(struct pack *p, const json_t *j)
{
    json_t *out, *value;
    const char *key;
    size_t i;
    if (json_is_string(j) && json_string_length(j) > SHORTEST && strchr(json_string_value(j), '\n'))
        return pack_text(p, json_string_value(j));
    if (json_is_array(j)) {
        out = json_array();
        json_array_foreach(j, i, value) json_array_append_new(out, pack_json(p, value));
        return out;
    }
    if (json_is_object(j)) {
        out = json_object();
        json_object_foreach((json_t *)j, key, value)
        {
            json_object_set_new(out, key, pack_json(p, value));
        }
        return out;
    }
    return json_deep_copy(j);
}

json_t *pack_lines(const struct pack *p)
{
    json_t *out = json_array();
    for (size_t i = 0; i < p->lines.n; i++)
        json_array_append_new(out, json_string(p->lines.items[i]));
    return out;
}
