/*
 * ranges.h - settings for ranges of shapes: the `when` table of a candidate (docs/playbooks.md).
 *
 *     // hone-when gemm_sm80
 *     //   M <= 64: bm=32 bn=64 warps=4 stages=4 group=1
 *     //   else: bm=128 bn=128 warps=8 stages=3 group=1
 *
 * A table has ranges of one axis, in ascending order. The last range has no end, so every shape
 * has a range. A range has a point: one value for each setting of the playbook. A table with one
 * range is one point for all shapes; it has no axis.
 *
 *     struct pb_ranges r;
 *     if (ranges_parse(&book, text, len, 1, &r, err) < 0) ...
 *     uint32_t i = ranges_choose(&r, 4096);                    r.items[i].point
 */
#ifndef PLAYBOOK_BOOK_RANGES_H
#define PLAYBOOK_BOOK_RANGES_H

#include "playbook/book/book.h"

#define RANGES_MAX 8
#define RANGES_MAX_AXIS 64          /* bytes of an axis's name, with the NUL */
#define RANGES_MAX_TEXT (16u << 10) /* bytes of a table */

struct pb_range {
    int64_t to; /* the last size of the range; INT64_MAX if it has no end */
    struct pb_point point;
};
struct pb_ranges {
    char axis[RANGES_MAX_AXIS]; /* "" if there is one range */
    uint32_t n;
    struct pb_range items[RANGES_MAX];
};

/* A playbook that is bound to a task. `task` is author facts. */
struct bound_book {
    const struct playbook *pb;
    const struct pb_binding *binding;
    const json_t *task;
};

/* Returns a table with one point for all shapes. */
struct pb_ranges ranges_one(const struct pb_point *p);
/* Returns the first size of range i. */
int64_t ranges_from(const struct pb_ranges *r, uint32_t i);
/* Returns the number of the range that has this size. */
uint32_t ranges_choose(const struct pb_ranges *r, int64_t size);
/* Joins neighbours with equal points. */
void ranges_merge(const struct playbook *pb, struct pb_ranges *r);
bool ranges_equal(const struct playbook *pb, const struct pb_ranges *a, const struct pb_ranges *b);
/* Can a table of the task use this axis? It can unless the task fixes the size of the axis. */
bool ranges_has_axis(const json_t *task, const char *axis);
/* Returns the point to begin with for sizes from `from` to `to`. Computes each `guess` at the
 * largest timed shape of this range. If the range has no timed shape, returns playbook_start(). */
struct pb_point ranges_start(const struct bound_book *book, const char *axis, int64_t from,
                             int64_t to);

/*
 * Reads a table. Entries are separated by newlines or `;`, and a line may begin with `//`:
 *
 *     M <= 64: bm=32 bn=64; 64 < M <= 512: bm=64; else: bm=128
 *
 * A setting that is not named gets its value from ranges_start(). `line` is the number of the first
 * line, for messages. Fails, with line and column, on overlapping, missing or unreachable ranges,
 * an unknown axis or setting, a value that the setting does not have, settings that do not go
 * together, and too many ranges.
 */
int ranges_parse(const struct bound_book *book, const char *text, size_t len, unsigned line,
                 struct pb_ranges *out, struct err *err);
/* Appends a line for each range, each after `prefix`. */
void ranges_print(const struct playbook *pb, const struct pb_ranges *r, const char *prefix,
                  struct strbuf *out);
/* Appends "M <= 64" or "else". */
void ranges_print_condition(const struct pb_ranges *r, uint32_t i, struct strbuf *out);

struct ranges_place {
    char book[64];    /* the playbook's name */
    const char *text; /* the table */
    size_t len;
    unsigned line; /* of the table's first line, from 1 */
};
/* Finds the table in a kernel file. Returns false if the file has none. */
bool ranges_find(const char *source, struct ranges_place *out);

/* Appends the label of a table, such as "[gemm_sm80 M<=64:0.1.0 2.1.0]". If the table has only one
 * range, this is the label that playbook_code() gives to the point. */
void ranges_code(const struct playbook *pb, const struct pb_ranges *r, struct strbuf *out);
/* Finds the label of a table or a point in a text. Returns false if the text has no label of this
 * playbook. Does not check whether the table suits a task: ranges_allows() does. */
bool ranges_uncode(const struct playbook *pb, const char *text, struct pb_ranges *out);
/* Does the task have the axis, and does the playbook allow all points? */
bool ranges_allows(const struct bound_book *book, const struct pb_ranges *r);

#endif
