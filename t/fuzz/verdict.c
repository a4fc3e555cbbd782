/* Reads any JSON as a verdict, as from a recording or a store. Hone refuses it, or can write it and
 * read the same verdict back. Then Hone prints the verdict and its counters as text. */
#include <stdint.h>

#include "base/util.h"
#include "prof/prof.h"
#include "report/verdict_text.h"
#include "verdict/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *j = json_loadb((const char *)data, size, 0, NULL);
    struct verdict v = {0}, again = {0};
    if (j && verdict_from_json(&v, j, NULL) == 0) {
        struct strbuf sb = STRBUF_INIT(4 << 20);
        json_t *out = verdict_to_json(&v);
        if (!out || verdict_from_json(&again, out, NULL) < 0)
            BUG("what was written cannot be read");
        json_t *twice = verdict_to_json(&again);
        if (!json_equal(out, twice))
            BUG("what was read again is not the same");
        if (verdict_cmp(&v, &again) != 0 && v.score == v.score)
            BUG("a verdict is not as good as itself");
        prof_verdict_text(&sb, &v, 2500);
        verdict_text(&sb, &v, true);
        strbuf_release(&sb);
        json_decref(twice);
        json_decref(out);
    }
    verdict_release(&again);
    verdict_release(&v);
    json_decref(j);
    return 0;
}
