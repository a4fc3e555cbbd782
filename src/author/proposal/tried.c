/* tried.c - reads the candidates of a run from the facts of a request. */
#include "author/proposal/tried.h"

#include <string.h>

#include "base/util.h"

bool node_passes_facts(const json_t *node)
{
    return str_eq(facts_text(json_object_get(node, "verdict"), "kind"), "pass");
}

void tried_points(const struct playbook *pb, const json_t *facts, struct pb_trial_vec *out)
{
    const json_t *tried = json_object_get(facts, "tried");
    for (size_t i = 0; i < json_array_size(tried); i++) {
        const json_t *n = json_array_get(tried, i), *v = json_object_get(n, "verdict");
        bool passes = node_passes_facts(n);
        struct pb_point p;
        if (playbook_uncode(pb, facts_text(n, "move"), &p))
            *vec_push(out) =
                (struct pb_trial){p, passes ? json_number_value(json_object_get(v, "time_ns")) : 0};
    }
}

bool node_ranges(const struct bound_book *book, const json_t *node, struct pb_ranges *out)
{
    struct ranges_place at;
    if (ranges_uncode(book->pb, facts_text(node, "move"), out))
        return out->n == 1 || ranges_allows(book, out);
    return ranges_find(facts_text(node, "source"), &at) && str_eq(at.book, book->pb->name) &&
           ranges_parse(book, at.text, at.len, at.line, out, NULL) == 0;
}

bool base_ranges(const struct bound_book *book, const json_t *facts, struct pb_ranges *out)
{
    const json_t *node = json_object_get(facts, "node"), *best = json_object_get(facts, "best");
    return (node_passes_facts(node) && node_ranges(book, node, out)) ||
           (best && node_ranges(book, best, out));
}
