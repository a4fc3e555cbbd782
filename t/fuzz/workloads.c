/* Reads any text as the workloads of a FlashInfer-Bench definition, and takes scalars from them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "import/definition.h"
#include "sys/json.h"

static const char text[] =
    "{\"name\": \"d\", \"op_type\": \"x\","
    " \"axes\": {\"n\": {\"type\": \"var\"}, \"V\": {\"type\": \"const\", \"value\": 50}},"
    " \"inputs\": {\"i\": {\"shape\": [\"n\"], \"dtype\": \"int64\"},"
    "              \"t\": {\"shape\": [\"V\"], \"dtype\": \"float16\"},"
    "              \"eps\": {\"shape\": null, \"dtype\": \"float32\"}},"
    " \"outputs\": {\"y\": {\"shape\": [\"n\"], \"dtype\": \"float16\"}},"
    " \"reference\": \"def run(i, t, eps):\\n    return t[i]\\n\"}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct problem_vec problems = VEC_INIT;
    struct definition d = {.path = xstrdup("d.json"), .lines = xstrdup("d.jsonl")};
    char *lines = xmalloc(size ? size : 1); /* exactly sized: ASan sees a read past the end */
    if (size)
        memcpy(lines, data, size);
    d.task = task_parse(text, strlen(text), "d.json", NULL, &problems);
    d.document = json_read_text(text, strlen(text), "d.json", NULL, NULL);
    if (!d.task || !d.document)
        BUG("the definition cannot be read");
    if (definition_read_workloads(&d, lines, size, NULL) == 0) {
        double scalar = 0;
        json_t *notes = json_array();
        const struct definition_workload *w = definition_largest(&d);
        definition_scalars(&d, NULL, 0, &scalar, notes, NULL);
        if (w && (w->axes[0] < 1 || w->axes[1] != 50))
            BUG("a workload with an impossible axis");
        json_decref(definition_init(&d, NULL));
        json_decref(notes);
    }
    definition_close(&d);
    problems_release(&problems);
    free(lines);
    return 0;
}
