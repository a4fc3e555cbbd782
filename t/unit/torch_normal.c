/* Tests that PyTorch expressions have the same normal form if they mean the same, and otherwise
 * different ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/normal/normal.h"
#include "torch_rig.h"

static const char some_tensors[] =
    "x float32 R,C; h float32 R,2*D; q float32 A,R,C; w float32 C; i int64 N; k float32 C,K;"
    " b float32 K; v float32 R; t float32 A,C,K; z float32 C,C; rows float32 N,C; y float32 A,R,C;"
    " c float16 R,C; e scalar; s scalar";

static void open_graph(struct torch_rig *r, struct graph *g)
{
    const struct dim *shape[GRAPH_MAX_RANK];
    rig_spec(r, some_tensors);
    graph_init(g, r->task.axes, r->task.naxes);
    for (size_t i = 0; i < r->task.ntensors; i++) {
        const struct torch_tensor *t = &r->tensors[i];
        for (uint32_t d = 0; d < t->rank; d++)
            assert_non_null(shape[d] = dim_parse(&g->dims, t->shape[d], NULL));
        graph_input(g, t->name, t->dtype, t->rank, shape);
    }
    for (size_t i = 0; i < r->task.nscalars; i++)
        graph_scalar(g, r->scalars[i].name, r->scalars[i].dtype);
}

static void close_graph(struct torch_rig *r, struct graph *g)
{
    graph_release(g);
    arena_release(&r->mem);
}

/* Returns the normal form of the value of an expression. Checks that the normal form of this result
 * is the result itself. */
static const struct value *normal_of(struct graph *g, const char *text)
{
    struct err err = ERR_INIT;
    const struct value *v = rig_value(g, text, NULL, &err);
    if (!v)
        fail_msg("%s: %s", text, err.msg);
    v = graph_normal(g, v);
    assert_non_null(v);
    if (graph_normal(g, v) != v)
        fail_msg("the normal form of '%s' has another", text);
    return v;
}

static void test_same(void **state)
{
    static const char *const same[][2] = {
        /* shapes */
        {"x / x.size(-1)", "x / C"},
        {"x / x.shape[1]", "x / C"},
        {"h.shape[-1] // 2", "D"},
        {"h.size()[1] * x.ndim", "2 * D * 2"},
        {"x.sum(dim=x.dim() - 1)", "torch.sum(x, 1)"},
        {"(x * 2).relu().shape[0]", "R"},
        {"x.numel()", "R * C"},
        {"F.layer_norm(x, x.shape[-1:], w, eps=e)", "torch.layer_norm(x, (C,), w, None, e)"},
        {"F.layer_norm(x, list(w.shape))", "torch.layer_norm(x, (C,))"},
        /* arguments */
        {"F.softmax(dim=1, input=x)", "torch.softmax(x, 1)"},
        {"torch.nn.functional.softmax(c, -1, dtype=torch.float32)",
         "torch.softmax(c, 1, dtype=torch.float32)"},
        {"x.clamp(max=1)", "torch.clamp_max(x, 1)"},
        {"torch.clip(x, max=1, min=-1)", "torch.clamp(x, -1, 1)"},
        {"F.gelu(input=x, approximate=\"tanh\")", "F.gelu(x, approximate='tanh')"},
        {"x.where(w > 0, 1)", "torch.where(w > 0, x, 1)"},
        {"x.mean((-1, -2), True)", "torch.mean(x, (-2, -1), keepdim=True)"},
        {"x.var(-1, correction=0)", "torch.var(x, -1, unbiased=False)"},
        {"x.var(False)", "torch.var(x, unbiased=False)"},
        {"torch.max(x, 1).values", "torch.amax(x, 1)"},
        {"x.max(1, keepdim=True)[1]", "torch.argmax(x, 1, keepdim=True)"},
        {"torch.max(x, w)", "torch.maximum(x, w)"},
        {"x.max()", "torch.amax(x)"},
        {"x.cummax(1)[0]", "torch.cummax(x, 1).values"},
        /* spellings */
        {"x.pow(2) + x * x + x ** 2", "torch.square(x) + torch.square(x) + torch.square(x)"},
        {"2 * x * w * x", "torch.square(x) * 2 * w"},
        {"x ** 0.5 - x.pow(-0.5)", "torch.sqrt(x) - torch.rsqrt(x)"},
        {"x.add(w, alpha=2)", "x + 2 * w"},
        {"torch.div(x, w, rounding_mode='floor')", "x // w"},
        {"torch.addmm(b, x, k)", "x @ k + b"},
        {"x.sum(-1) / C", "torch.mean(x, -1)"},
        {"q.sum((1, 2)) / (R * C)", "torch.mean(q, (1, 2))"},
        {"torch.norm(x, 1, -1)", "torch.sum(torch.abs(x), -1)"},
        {"torch.linalg.norm(x, dim=1)", "torch.norm(x, 2, 1)"},
        {"(x * x).sum(1).sqrt()", "torch.norm(x, 2, 1)"},
        {"((x * x).sum(1) + 1).sqrt()", "torch.sqrt(torch.sum(torch.square(x), 1) + 1)"},
        {"x.exp().sum(-1).log()", "torch.logsumexp(x, -1)"},
        {"(e := (x - x.amax(1, True)).exp(), e / e.sum(1, True))[-1]", "torch.softmax(x, 1)"},
        {"(e := (x - x.amax(1, True)).exp(), e / e.sum(0, True))[-1]",
         "torch.softmax(x - torch.amax(x, 1, keepdim=True), 0)"},
        {"x - x.logsumexp(-1, True)", "torch.log_softmax(x, -1)"},
        {"x - x.mean(-1).unsqueeze(-1)", "x - torch.mean(x, -1, keepdim=True)"},
        {"x - x.mean(1)[:, None]", "x - torch.mean(x, 1, keepdim=True)"},
        {"x - x.std(-1)[..., None]", "x - torch.std(x, -1, keepdim=True)"},
        {"F.adaptive_avg_pool2d(q, (1, 1))", "torch.mean(q, (-2, -1), keepdim=True)"},
        {"torch.finfo(c.dtype).min", "-65504.0"},
        {"F.batch_norm(q, v, v, bias=v, eps=e)",
         "(q - v.view(1, -1, 1)) * torch.rsqrt(v.view(1, -1, 1) + e) + v.view(1, -1, 1)"},
        {"x.flatten().sum().reshape(1)", "torch.sum(x).reshape(1)"},
        {"x.sum(0).reshape(1, -1)", "x.sum(0, keepdim=True)"},
        /* halves */
        {"h[:, :D]", "h.chunk(2, -1)[0]"},
        {"h[..., h.shape[1] // 2:]", "h.chunk(2, -1)[1]"},
        {"torch.split(h, D, dim=-1)[1]", "h.chunk(2, -1)[1]"},
        {"h[:, D:2 * D]", "h.chunk(2, -1)[1]"},
        /* axes */
        {"torch.einsum('mk,kn->mn', x, k)", "x @ k"},
        {"torch.einsum('bmk, bnk -> bmn', q, y)", "q @ y.transpose(-2, -1)"},
        {"torch.einsum('abk,kn->abn', q, k)", "q @ k"},
        {"torch.einsum('mk,kn->nm', x, k)", "(x @ k).T"},
        {"torch.einsum('mk,mk->m', x, x)", "(x ** 2).sum(1)"},
        {"torch.einsum('abc->bca', q)", "q.permute((1, 2, 0))"},
        {"q.movedim(0, -1)", "q.permute((1, 2, 0))"},
        {"q.movedim(-1, 0)", "q.permute((2, 0, 1))"},
        {"torch.swapaxes(x, 0, 1).contiguous()", "x.transpose(0, 1)"},
        {"w.view(1, w.size(0), 1)", "w.view(1, -1, 1)"},
        {"z[i, :]", "z[i]"},
        {"x * w.expand_as(x)", "x * w"},
        {"x * w.unsqueeze(0).expand(R, -1)", "x * w.unsqueeze(0)"},
        /* in place */
        {"x.add_(w).mul_(2)", "(x + w) * 2"},
        {"F.relu(x + 1, inplace=True)", "torch.relu(x + 1)"},
        {"z.index_add_(0, i, rows)", "torch.index_add(z, 0, i, rows)"},
        /* brackets */
        {"-x ** 2", "-torch.square(x)"},
        {"(-x) ** 2", "torch.square(-x)"},
        {"(x - w) - (x - w)", "x - w - (x - w)"},
    };
    struct torch_rig r;
    struct graph g;
    open_graph(&r, &g);
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        if (normal_of(&g, same[i][0]) != normal_of(&g, same[i][1]))
            fail_msg("'%s' and '%s' differ", same[i][0], same[i][1]);
    close_graph(&r, &g);
}

/* The first text of each pair is almost, but not quite, what a rule rewrites. So the pair must have
 * different normal forms. */
static void test_different(void **state)
{
    static const char *const other[][2] = {
        {"x.sum(-1) / R", "torch.mean(x, -1)"},
        {"((x * x).sum(1) + 1).sqrt()", "torch.norm(x, 2, 1)"},
        {"(e := (x - x.amax(1, True)).exp(), e / e.sum(0, True))[-1]", "torch.softmax(x, 1)"},
        {"(x - x.amax(1, True)).exp() / x.exp().sum(1, True)", "torch.softmax(x, 1)"},
        {"z - z.logsumexp(-1)", "torch.log_softmax(z, -1)"},
        {"z - z.mean(0)[:, None]", "z - torch.mean(z, 0, keepdim=True)"},
        {"x.sum(0).reshape(1, -1)", "x.sum(0)"},
        {"h[:, 1:D]", "h[:, :D - 1]"},
        {"h[:, :D]", "h[:, D:]"},
        {"h[:, :R]", "h.chunk(2, -1)[0]"},
        {"h[:D]", "h.chunk(2, -1)[0]"},
        {"torch.einsum('mk,kn->nm', x, k)", "x @ k"},
        {"w.expand(R, C).sum()", "torch.sum(w)"},
        {"-x ** 2", "(-x) ** 2"},
        {"x - w - (x - w)", "x - w - x - w"},
        {"x * (w * 3)", "x * w * 3"},
        {"(x < w) == (w < x)", "x < w"},
        {"~(x > 0) & (w > 0)", "~((x > 0) & (w > 0))"},
        {"(x ** w) ** w", "x ** (w ** w)"},
        {"2 ** -x", "-(2 ** x)"},
        {"(x + 1).T", "x + 1"},
        {"F.gelu(x, approximate='tanh')", "F.gelu(x)"},
    };
    struct torch_rig r;
    struct graph g;
    open_graph(&r, &g);
    for (size_t i = 0; i < ARRAY_LEN(other); i++)
        if (normal_of(&g, other[i][0]) == normal_of(&g, other[i][1]))
            fail_msg("'%s' and '%s' are one", other[i][0], other[i][1]);
    close_graph(&r, &g);
}

/* No rule rewrites these expressions: their values are already in normal form. */
static void test_unchanged(void **state)
{
    static const char *const texts[] = {
        "x.sum(-1) / R",
        "(x - x.amax(1, True)).exp() / x.exp().sum(1, True)",
        "z - z.logsumexp(-1)",
        "z - z.mean(0)[:, None]",
        "h[:D]",
        "h[:, :R]",
        "h[:, 1:D]",
        "w.expand(R, C).sum()",
        "w.expand(R, C).reshape(-1)",
        "x * (w * 3)",
        "(x < w) == (w < x)",
        "~(x > 0) & (w > 0)",
        "(x ** w) ** w",
        "2 ** -x",
        "(x + 1).T",
    };
    struct torch_rig r;
    struct graph g;
    struct err err = ERR_INIT;
    open_graph(&r, &g);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        const struct value *v = rig_value(&g, texts[i], NULL, &err);
        if (!v)
            fail_msg("%s: %s", texts[i], err.msg);
        if (graph_normal(&g, v) != v)
            fail_msg("'%s' was rewritten", texts[i]);
    }
    close_graph(&r, &g);
}

/* Hone refuses these expressions, so they have no normal form. */
static void test_refused(void **state)
{
    static const char *const bad[] = {
        "x.shape[2]",
        "F.elu(x, alhpa=2)",
        "torch.linalg.norm(x, 2)",
        "q - q.mean(-1)[:, None]",
        "F.batch_norm(q, v, v, training=True)",
        "x.chunk(2, 1)[0]", /* C may be odd */
        "x * w.expand(R, C).reshape(-1)",
        /* in place */
        "x.add_(1) + x",
        "F.relu(x, inplace=True) + x",
        "(t := x + 1, t.relu_() + t)[-1]",
        "x.view(-1).add_(1) + x",
        /* these texts are not plain expressions */
        "lambda x: x",
        "x if w else h",
        "[v for v in x]",
        "x < w < h",
        "f(*x)",
        "x; w",
        "x +",
        "0x10",
        "'a\\'b'",
        "x[]",
        "",
    };
    struct torch_rig r;
    struct graph g;
    open_graph(&r, &g);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err = ERR_INIT;
        if (rig_value(&g, bad[i], NULL, &err))
            fail_msg("'%s' was read", bad[i]);
        assert_true(err.kind != ERR_NONE && *err.msg);
    }
    close_graph(&r, &g);
}

/* A product may have so many factors that normalising cannot try them in every order. It has a
 * normal form even so. */
static void test_many_factors(void **state)
{
    struct strbuf sb = STRBUF_INIT(1 << 16);
    struct torch_rig r;
    struct graph g;
    open_graph(&r, &g);
    strbuf_adds(&sb, "x");
    for (int i = 0; i < 200; i++)
        strbuf_addf(&sb, " * (w + %d)", i);
    assert_non_null(normal_of(&g, sb.buf));
    strbuf_release(&sb);
    close_graph(&r, &g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),         cmocka_unit_test(test_different),
        cmocka_unit_test(test_unchanged),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_many_factors),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
