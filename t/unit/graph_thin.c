/* Tests graph_thin(): which inputs Hone makes thin (zero except at a few places), along which
 * dimensions, and which inputs it scales. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "graph/thin.h"
#include "torch_rig.h"

/* Returns a text such as "a 01 +; b 1 -; left 1; sums 2", which the caller frees. Input a is thin
 * along dimensions 0 and 1 and scaled up (+); b is thin along dimension 1 and scaled down (-). One
 * product keeps all its terms (left), and two sums became thin (sums). */
static char *thin_text(const char *spec, const char *torch)
{
    struct torch_rig r;
    struct graph g;
    struct err err = ERR_INIT;
    struct strbuf sb = STRBUF_INIT(1024);
    struct arena mem = ARENA_INIT;
    rig_spec(&r, spec);
    if (torch_read(&g, torch, &r.task, &err) < 0)
        fail_msg("%s: %s", torch, err.msg);
    struct thin t = graph_thin(&g, &mem);
    for (size_t i = 0; i < g.inputs.n; i++) {
        const struct thin_input *x = &t.inputs[i];
        if (!x->dims && !x->scale)
            continue;
        strbuf_addf(&sb, "%s%s ", sb.len ? "; " : "", g.inputs.items[i]->name);
        for (int d = 0; d < 32; d++)
            if (x->dims >> d & 1)
                strbuf_addf(&sb, "%d", d);
        strbuf_adds(&sb, x->scale > 0 ? " +" : x->scale < 0 ? " -" : "");
    }
    if (t.left)
        strbuf_addf(&sb, "; left %u", t.left);
    if (t.sums)
        strbuf_addf(&sb, "; sums %u", t.sums);
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
        /* The second operand becomes thin along the dimension over which the product sums. */
        {"a float32 M,K; b float32 K,N; y float32 M,N out", "a @ b", "a  -; b 0 +"},
        {"x float32 M,K; w float32 N,K; y float32 M,N out", "torch.nn.functional.linear(x, w)",
         "x  -; w 1 +"},
        {"a float32 B,M,K; b float32 B,N,K; y float32 B,M,N out", "torch.bmm(a, b.transpose(1, 2))",
         "a  -; b 2 +"},
        {"a float32 B,H,M,K; b float32 K,N; y float32 B,H,M,N out",
         "(a.reshape(B * H * M, K) @ b).reshape(B, H, M, N)", "a  -; b 0 +"},
        /* An input that is used twice is not scaled. */
        {"a float32 M,K; y float32 M,M out", "a @ a.t()", "a 1"},
        {"a float32 M,M; b float32 M,M; y float32 M,M out", "a @ b + b", "b 0"},
        /* If an operand is computed and is no input, the other becomes thin. If both are computed,
         * the product keeps all its terms. */
        {"a float32 M,K; b float32 K,N; y float32 M,N out", "a @ torch.exp(b)", "a 1"},
        {"a float32 M,K; b float32 K,N; y float32 M,N out", "torch.exp(a) @ torch.exp(b)",
         "; left 1"},
        {"a float32 M,K; b float32 K,L; c float32 L,N; y float32 M,N out", "torch.relu(a @ b) @ c",
         "a  -; b 0 +; c 0"},
        /* If the task itself asks for products of a narrow type, nothing changes. */
        {"a float16 M,K; b float16 K,N; y float16 M,N out", "a @ b", ""},
        /* Convolutions. */
        {"x float32 B,C,H,W; w float32 O,C,3,3; y float32 B,O,H,W out",
         "torch.nn.functional.conv2d(x, w, padding=1)", "x  -; w 123 +"},
        /* Attention has two products. */
        {"q float32 B,S,D; k float32 B,S,D; v float32 B,S,D; y float32 B,S,D out",
         "torch.nn.functional.scaled_dot_product_attention(q, k, v)", "q  -; k 2 +; v 1"},
        /* Sums. */
        {"x float32 R,C; y float32 R out", "x.square().mean(-1)", "x 1; sums 1"},
        {"x float32 R,C; y float32 R out", "torch.exp(x).sum(-1)", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *got = thin_text(cases[i].spec, cases[i].torch);
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
