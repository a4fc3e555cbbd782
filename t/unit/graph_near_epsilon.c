/* Tests graph_near_epsilon(): which inputs Hone makes smaller, and by how much, so that a small
 * constant of the task (an epsilon) changes the result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "graph/near_epsilon.h"
#include "torch_rig.h"

/* Returns a text such as "x -17; w -3", which the caller frees: x is multiplied by 2^-17, and w by
 * 2^-3. All inputs have mean 0 and variance 1, and all sizes are 16. */
static char *scaled_text(const char *spec, const char *torch)
{
    struct torch_rig r;
    struct graph g;
    struct err err = ERR_INIT;
    struct strbuf sb = STRBUF_INIT(1024);
    struct arena mem = ARENA_INIT;
    struct near_epsilon_input inputs[8];
    int64_t sizes[16];
    const double scalars[4] = {1e-6, 1e-6, 1e-6, 1e-6};
    for (size_t i = 0; i < ARRAY_LEN(inputs); i++)
        inputs[i] = (struct near_epsilon_input){0, 1, true};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
        sizes[i] = 16;
    rig_spec(&r, spec);
    if (torch_read(&g, torch, &r.task, &err) < 0)
        fail_msg("%s: %s", torch, err.msg);
    struct near_epsilon found = graph_near_epsilon(&g, inputs, scalars, sizes, &mem);
    for (size_t i = 0; i < g.inputs.n; i++)
        if (found.bits[i])
            strbuf_addf(&sb, "%s%s %d", sb.len ? "; " : "", g.inputs.items[i]->name, found.bits[i]);
    char *text = xstrdup(sb.buf);
    strbuf_release(&sb);
    graph_release(&g);
    arena_release(&mem);
    arena_release(&r.mem);
    return text;
}

static void inputs_are_found(void **state)
{
    static const struct {
        const char *spec, *torch, *want;
    } cases[] = {
        /* The mean square of x is 1, and the epsilon is about 2^-33. With x * 2^-17, the mean
         * square is 2^-34, and the epsilon matters. */
        {"x float32 R,C; y float32 R,C out",
         "x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-10)", "x -17"},
        {"x float32 R,C; y float32 R,C out",
         "torch.nn.functional.layer_norm(x, (C,), None, None, 1e-10)", "x -17"},
        {"x float32 R,C; w float32 C; y float32 R,C out",
         "torch.nn.functional.rms_norm(x, (C,), w, 1e-10)", "x -17"},
        {"x float32 R,C; y float32 R,C out", "torch.nn.functional.normalize(x, dim=-1, eps=1e-6)",
         "x -20"},
        {"x float32 R,C; y float32 R,C out", "x / x.norm(dim=-1, keepdim=True).clamp(min=1e-6)",
         "x -22"},
        /* Both terms of a difference are scaled. So are the weight and the bias of linear(). */
        {"a float32 R,C; b float32 R,C; y float32 R out", "(a - b + 1e-6).norm(dim=-1)",
         "a -21; b -21"},
        {"x float32 R,C; w float32 O,C; b float32 O; y float32 R,O out",
         "torch.nn.functional.layer_norm(torch.nn.functional.linear(x, w, b), (O,), None, None, "
         "1e-10)",
         "w -19; b -19"},
        /* A float16 input is scaled less, so that its values do not become subnormal. */
        {"x float16 R,C; y float16 R,C out",
         "torch.nn.functional.layer_norm(x, (C,), None, None, 1e-10)", "x -8"},
        /* Nothing is scaled: the constant is no epsilon, or it matters already, or no input can
         * scale the value to which it is added. */
        {"x float32 R,C; y float32 R,C out", "x + 0.5", ""},
        {"x float32 R,C; y float32 R,C out", "x * 0.001 + 0.001", ""},
        {"x float32 R,C; y float32 R,C out", "torch.log(torch.sigmoid(x) + 1e-6)", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *got = scaled_text(cases[i].spec, cases[i].torch);
        if (!str_eq(got, cases[i].want))
            print_error("%s: \"%s\", want \"%s\"\n", cases[i].torch, got, cases[i].want);
        assert_string_equal(got, cases[i].want);
        free(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_are_found),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
