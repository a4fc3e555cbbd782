/* Tests how the playbook of attention matches a graph: operands, scores, masks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "playbook_rig.h"

#define BOOK "attention_sm80"

static const char heads[] =
    "q float16 B,H,L,D; k float16 B,H,S,D; v float16 B,H,S,E; y float16 B,H,L,E out";

/* Binds the playbook to a task. If it does not fit, returns false and adds the reason to `why`. */
static bool bind(struct fixture *f, const char *torch, const char *spec, struct pb_binding *b,
                 struct strbuf *why)
{
    json_t *task = rig_facts("", torch, spec);
    bool fits = playbook_bind(built_in(f, BOOK), task, 90, b, why);
    json_decref(task);
    return fits;
}

static void must_have(const struct pb_binding *b, const char *torch, const char *key,
                      const char *want)
{
    if (want && !str_eq(rig_text(b, key), want))
        fail_msg("%s: %s is '%s', not '%s'", torch, key, rig_text(b, key), want);
}

/* A score is called plain if it is the product of query and key times a number. */
static void test_plain_scores(void **state)
{
    static const struct {
        const char *spec, *torch, *scale, *z;
    } cases[] = {
        {heads, "F.scaled_dot_product_attention(q, k, v)", "1.f / sqrtf(float(D))", "(B*H)"},
        {heads, "F.scaled_dot_product_attention(q, k, v, scale=-2.0)", "float((-2.f))", "(B*H)"},
        {"q bfloat16 L,64; k bfloat16 S,64; v bfloat16 S,64; y bfloat16 L,64 out",
         "F.scaled_dot_product_attention(q, k, v)", "1.f / sqrtf(float(D))", "1"},
        {"x float16 B,S,D; y float16 B,S,D out", "F.scaled_dot_product_attention(x, x, x)",
         "1.f / sqrtf(float(D))", "B"},
        {"q float16 B,L,D; k float16 B,S,D; v float16 B,S,E; y float16 B,L,E out; s scalar float32",
         "F.scaled_dot_product_attention(q, k, v, scale=s)", "float(e.v3)", "B"},
        {heads, "torch.softmax(q @ k.mT * 0.125, -1) @ v", "1.f * float(0.125f)", "(B*H)"},
        {heads, "torch.softmax(q @ k.mT, -1) @ v", "1.f", "(B*H)"},
        {heads, "((q / 8) @ k.transpose(2, 3) / 2).softmax(3) @ v", "1.f / float(8) / float(2)",
         "(B*H)"},
        {heads, "(q.float() @ k.float().mT * 0.5).softmax(-1).half() @ v", "1.f * float(0.5f)",
         "(B*H)"},
        {heads,
         "(torch.bmm(q.view(B * H, L, D), k.view(B * H, S, D).mT).view(B, H, L, S) / 8)"
         ".softmax(-1) @ v",
         "1.f / float(8)", "(B*H)"},
        {heads,
         "torch.einsum('bhqk,bhkd->bhqd', torch.einsum('bhqd,bhkd->bhqk', q, k).softmax(-1), v)",
         "1.f", "(B*H)"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *torch = cases[i].torch;
        struct pb_binding b;
        struct strbuf why = STRBUF_INIT(2000);
        if (!bind(*state, torch, cases[i].spec, &b, &why))
            fail_msg("%s: %s", torch, why.buf);
        must_have(&b, torch, "plain", "true");
        must_have(&b, torch, "masked", "0");
        must_have(&b, torch, "scale", cases[i].scale);
        must_have(&b, torch, "Z", cases[i].z);
        bool one = strstr(torch, "attention") != NULL;
        assert_int_equal(str_eq(rig_text(&b, "empty"), "0.f"), one);
        pb_binding_release(&b);
        strbuf_release(&why);
    }
}

/* A mask broadcasts to the scores, which are then not plain. */
static void test_masks(void **state)
{
    static const char with_mask[] = "q float16 B,H,L,D; k float16 B,H,S,D; v float16 B,H,S,E; "
                                    "m %s; y float16 B,H,L,E out";
    static const struct {
        const char *mask, *torch, *score, *data, *extra;
    } cases[] = {
        {"float16 B,H,L,S", "F.scaled_dot_product_attention(q, k, v, m)",
         "(v * scale_of(e, D) + float(e.v3[m * N + n]))", "v3 + z * M * N", "\"m\", "},
        {"bool L,S", "F.scaled_dot_product_attention(q, k, v, m)",
         "(bool(e.v3[m * N + n]) ? v * scale_of(e, D) : -infinity())", "v3", "\"m\", "},
        {"bool B,1,1,S", "F.scaled_dot_product_attention(q, k, v, m)",
         "(bool(e.v3[n]) ? v * scale_of(e, D) : -infinity())", "v3 + z / v3_after % v3_along * N",
         "\"m\", \"H\", \"B\", "},
        {"float32 H,L,1", "torch.softmax(q @ k.mT + m, -1) @ v", "((v) + float(e.v3[m]))",
         "v3 + z / v3_after % v3_along * M", "\"m\", \"1\", \"H\", "},
        {"bool L,S", "(q @ k.mT).masked_fill(~m, -math.inf).softmax(-1) @ v", NULL, "v3",
         "\"m\", "},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *torch = cases[i].torch;
        char spec[200];
        struct pb_binding b;
        struct strbuf why = STRBUF_INIT(2000);
        snprintf(spec, sizeof spec, with_mask, cases[i].mask);
        if (!bind(*state, torch, spec, &b, &why))
            fail_msg("%s: %s", torch, why.buf);
        must_have(&b, torch, "plain", "false");
        must_have(&b, torch, "score", cases[i].score);
        must_have(&b, torch, "data", cases[i].data);
        must_have(&b, torch, "extra", cases[i].extra);
        pb_binding_release(&b);
        strbuf_release(&why);
    }
}

/* Returns the graph of softmax(where(not (n - m <= 0 and 1), fill, q k^T)) v: the mask has the form
 * that `hone import` gives to torch.tril(). */
static json_t *triangle(const char *fill)
{
    static const char text[] =
        "{'version': 1, 'axes': ['L', 'S', 'D'], 'inputs': ["
        " {'name': 'q', 'dtype': 'float16', 'shape': ['L', 'D']},"
        " {'name': 'k', 'dtype': 'float16', 'shape': ['S', 'D']},"
        " {'name': 'v', 'dtype': 'float16', 'shape': ['S', 'D']}], 'scalars': [], 'values': ["
        " {'id': '%%1', 'op': 'permute', 'args': ['k'], 'attrs': {'dims': [1, 0]}},"
        " {'id': '%%2', 'op': 'matmul', 'args': ['q', '%%1']},"
        " {'id': '%%3', 'op': 'cast', 'args': [1], 'attrs': {'dtype': 'bool'}},"
        " {'id': '%%4', 'op': 'expand', 'args': ['%%3'], 'attrs': {'shape': ['L', 'S']}},"
        " {'id': '%%5', 'op': 'iota', 'args': [], 'attrs': {'shape': ['S']}},"
        " {'id': '%%6', 'op': 'reshape', 'args': ['%%5'], 'attrs': {'shape': ['1', 'S']}},"
        " {'id': '%%7', 'op': 'iota', 'args': [], 'attrs': {'shape': ['L']}},"
        " {'id': '%%8', 'op': 'reshape', 'args': ['%%7'], 'attrs': {'shape': ['L', '1']}},"
        " {'id': '%%9', 'op': 'sub', 'args': ['%%6', '%%8']},"
        " {'id': '%%10', 'op': 'le', 'args': ['%%9', 0]},"
        " {'id': '%%11', 'op': 'logical_and', 'args': ['%%10', '%%4']},"
        " {'id': '%%12', 'op': 'bitwise_not', 'args': ['%%11']},"
        " {'id': '%%13', 'op': 'cast', 'args': [%s], 'attrs': {'dtype': 'float16'}},"
        " {'id': '%%14', 'op': 'where', 'args': ['%%12', '%%13', '%%2']},"
        " {'id': '%%15', 'op': 'softmax', 'args': ['%%14'], 'attrs': {'dim': [1]}},"
        " {'id': '%%16', 'op': 'matmul', 'args': ['%%15', 'v']}], 'outputs': ["
        " {'name': 'y', 'dtype': 'float16', 'shape': ['L', 'D'], 'value': '%%16'}], 'guards': []}";
    struct strbuf sb = STRBUF_INIT(8192);
    strbuf_addf(&sb, text, fill);
    for (char *c = sb.buf; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    json_t *graph = json_loads(sb.buf, 0, NULL);
    strbuf_release(&sb);
    assert_non_null(graph);
    return graph;
}

/* A causal mask keeps a band of keys. keep_from and keep_to are the ends of the band, counted from
 * the query. But if the scores outside the band are not -inf, the kernel must read all keys. */
static void test_causal(void **state)
{
    static const struct {
        const char *fill, *plain, *to;
    } cases[] = {
        {NULL, "true", "0LL"},
        {"{'number': '-inf'}", "true", "0LL"},
        {"-30000.0", "false", "1099511627776LL"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *fill = cases[i].fill;
        json_t *task = rig_facts("", "F.scaled_dot_product_attention(q, k, v, is_causal=True)",
                                 "q float16 L,D; k float16 S,D; v float16 S,D; y float16 L,D out");
        struct pb_binding b;
        struct strbuf why = STRBUF_INIT(2000);
        if (fill)
            json_object_set_new(task, "graph", triangle(fill));
        if (!playbook_bind(built_in(*state, BOOK), task, 90, &b, &why))
            fail_msg("%s: %s", fill, why.buf);
        must_have(&b, fill, "plain", cases[i].plain);
        must_have(&b, fill, "keep_to", cases[i].to);
        must_have(&b, fill, "keep_from", "-1099511627776LL");
        json_decref(task);
        pb_binding_release(&b);
        strbuf_release(&why);
    }
}

static void test_refuses(void **state)
{
    static const struct {
        const char *spec, *torch, *why;
    } cases[] = {
        {heads, "torch.softmax(q @ k.mT, 2) @ v", "not softmax"},
        {heads, "torch.softmax(q @ k.mT, -1) @ (v + 1)", "not softmax"},
        {heads, "torch.relu(q @ k.mT) @ v", "not softmax"},
        {heads, "torch.softmax(q @ k.mT, -1) @ v + 1", "not softmax"},
        {heads, "torch.softmax((q @ k.mT).cumsum(-1), -1) @ v", "cumsum"},
        {heads, "torch.softmax((q @ k.mT) @ (q @ k.mT).mT @ (q @ k.mT), -1) @ v", "not softmax"},
        {"q float16 B,L,H,D; k float16 B,L,H,D; v float16 B,L,H,D; y float16 B,H,L,D out",
         "F.scaled_dot_product_attention(q.mT.mT.transpose(1, 2), k.transpose(1, 2), "
         "v.transpose(1, 2))",
         "not softmax"},
        {"q float32 B,L,D; k float32 B,S,D; v float32 B,S,D; y float32 B,L,D out",
         "F.scaled_dot_product_attention(q, k, v)", "'q' is float32"},
        {"q float16 B,L,D; k float16 B,S,D; v float16 B,S,D; m float16 B; y float16 B,L,D out",
         "F.scaled_dot_product_attention(q, k, v)", "does not use 'm'"},
        {"q float16 A,B,C,L,D; k float16 A,B,C,S,D; v float16 A,B,C,S,D; m float16 A,1,C,1,S; "
         "y float16 A,B,C,L,D out",
         "F.scaled_dot_product_attention(q, k, v, m)", "'m' does not broadcast"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pb_binding b;
        struct strbuf why = STRBUF_INIT(2000);
        if (bind(*state, cases[i].torch, cases[i].spec, &b, &why))
            fail_msg("%s fits", cases[i].torch);
        if (!strstr(why.buf, cases[i].why))
            fail_msg("%s: %s", cases[i].torch, why.buf);
        strbuf_release(&why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_plain_scores, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_masks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_causal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refuses, set_up, tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
