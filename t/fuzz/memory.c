/* Reads any bytes as a file of lessons, and as the lessons that a run keeps in its configuration
 * (memory_recall()). No accepted text may have a newline or another character that could change the
 * form of a prompt, such as '#' or '`'. No text of a lesson may be too long. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "memory/lesson.h"
#include "memory/memory.h"
#include "sys/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_findings(const json_t *j)
{
    json_t *found = memory_checked(j), *again = memory_checked(found);
    const json_t *lines = json_object_get(found, "lines");
    if (!json_equal(found, again) && found)
        abort();
    for (size_t i = 0; i < json_array_size(lines); i++)
        if (strpbrk(json_string_value(json_array_get(lines, i)), "\n\r`#{}<"))
            abort();
    if (json_array_size(lines) > MEMORY_LINES ||
        json_array_size(json_object_get(found, "points")) > MEMORY_POINTS)
        abort();
    json_decref(again);
    json_decref(found);
}

static void check_lesson(const json_t *j)
{
    struct lesson_rec l;
    struct lesson_setting s[LESSON_SETTINGS];
    if (lesson_from_json(&l, j, NULL) == 0) {
        if (strlen(l.text) >= LESSON_TEXT || !(l.gain >= 0) || !lesson_is_kind(l.kind) ||
            strpbrk(l.text, "\n\r`#{}<"))
            abort();
        lesson_read_point(l.text, s);
        traits_similarity(l.ops, l.sizes, "add", "1 2 3 4 5");
        traits_share_mark(l.marks, l.ops);
        json_t *out = lesson_to_json(&l);
        if (!out)
            abort();
        json_decref(out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct json_caps caps = {.max_bytes = MEMORY_FILE, .max_depth = 8};
    struct lesson_setting s[LESSON_SETTINGS];
    json_t *j = json_read_text((const char *)data, size, "f", &caps, NULL);
    const json_t *lessons = json_object_get(j, "lessons");
    char *text = xstrndup((const char *)data, size);
    for (size_t i = 0; i < json_array_size(lessons); i++)
        check_lesson(json_array_get(lessons, i));
    check_lesson(j);
    check_findings(j);
    lesson_read_move(text, s);
    lesson_read_point(text, s);
    free(text);
    json_decref(j);
    return 0;
}
