/* torch.c - reads any text as a PyTorch expression. A refusal has a reason, and no text causes an
 * internal error. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "torch/read.h"

static const char *const axes[] = {"A", "B", "C", "D", "N", "K"};
static const int64_t fixed[] = {0, 0, 0, 0, 0, 3};

static const struct torch_tensor tensors[] = {
    {"x", DT_F16, 2, {"B", "C"}, true, false},
    {"h", DT_F32, 2, {"B", "2*D"}, true, false},
    {"q", DT_F32, 3, {"A", "B", "C"}, true, false},
    {"w", DT_F32, 1, {"C"}, true, false},
    {"k", DT_BF16, 2, {"C", "D"}, true, false},
    {"p", DT_F32, 4, {"A", "B", "C", "4*D"}, true, false},
    {"f", DT_F32, 4, {"B", "1", "K", "3"}, true, false},
    {"i", DT_I32, 1, {"N"}, true, false},
    {"u", DT_U8, 2, {"B", "C"}, true, false},
    {"m", DT_BOOL, 2, {"B", "C"}, true, false},
    {"y", DT_F32, 2, {"B", "C"}, false, true},
};
static const struct torch_scalar scalars[] = {{"eps", DT_F32}, {"N", DT_I64}};

/* Reads the text twice. Both graphs must be the same. */
static void read_task(const char *text)
{
    const struct torch_task task = {
        axes, fixed, ARRAY_LEN(axes), tensors, ARRAY_LEN(tensors), scalars, ARRAY_LEN(scalars),
        NULL, 0};
    struct graph g, again;
    struct err err = ERR_INIT;
    if (torch_read(&g, text, &task, &err) < 0) {
        if (err.kind == ERR_NONE || !*err.msg || err.kind == ERR_INTERNAL)
            abort();
        return;
    }
    if (graph_verify(&g, &err) < 0 && err.kind == ERR_INTERNAL)
        abort();
    if (torch_read(&again, text, &task, &err) < 0 || again.values.n != g.values.n ||
        again.outputs.items[0].value->id != g.outputs.items[0].value->id)
        abort();
    for (size_t i = 0; i < g.values.n; i++)
        if (g.values.items[i]->rank > GRAPH_MAX_RANK)
            abort();
    graph_release(&again);
    graph_release(&g);
}

/* Reads the text with torch_read_values(). There, `names` go before inputs of the same name, and
 * functions need no module: sum(x) instead of torch.sum(x). */
static void read_form(const char *text)
{
    struct graph g;
    struct err err = ERR_INIT;
    graph_init(&g, axes, ARRAY_LEN(axes));
    const struct dim *shape[] = {dim_name(&g.dims, 0), dim_name(&g.dims, 1)};
    const struct value *x = graph_input(&g, "x", DT_F32, 2, shape), *out[4];
    const struct torch_name items[] = {{"h", x}, {"$last", graph_integer(&g, 1)}};
    const struct torch_names names = {items, ARRAY_LEN(items)};
    if (torch_read_values(&g, text, &names, out, 4, &err) < 0 && !*err.msg)
        abort();
    graph_release(&g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = xstrndup((const char *)data, size);
    read_task(text);
    read_form(text);
    free(text);
    return 0;
}
