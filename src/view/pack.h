/*
 * pack.h - makes JSON small: stores each line of long texts only once.
 *
 * Sources and prompts of one run share most of their lines. A text of several lines becomes {"$":
 * [first, count, first, count, ...]}: ranges of a table of lines. web/data.js does the reverse.
 *
 *     struct pack *p = pack_new();
 *     json_object_set_new(answers, key, pack_json(p, answer));
 *     json_object_set_new(root, "lines", pack_lines(p));        after the last pack_json()
 *     pack_free(p);
 */
#ifndef VIEW_PACK_H
#define VIEW_PACK_H

#include <jansson.h>

struct pack;

struct pack *pack_new(void);
void pack_free(struct pack *p);
/* Returns a copy in which ranges of lines stand for long texts. */
json_t *pack_json(struct pack *p, const json_t *j);
/* Returns the table of lines, an array of strings. */
json_t *pack_lines(const struct pack *p);

#endif
