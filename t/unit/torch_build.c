/* Tests the graphs that Hone makes of PyTorch expressions: those of all tasks, and different texts
 * that mean the same. */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "torch_rig.h"

static int read_one(struct torch_rig *r, const char *text, struct graph *g, struct err *err)
{
    if (torch_read(g, text, &r->task, err) < 0)
        return -1;
    int rc = graph_verify(g, err);
    if (rc < 0)
        graph_release(g);
    return rc;
}

static void read_task_at(const char *path)
{
    struct problem_vec problems = VEC_INIT;
    struct task *t = task_find(path, &problems);
    assert_non_null(t);
    struct torch_rig r;
    struct graph g;
    struct err err = ERR_INIT;
    rig_task(&r, t);
    /* torch_src can also be a module, or the word "graph" if the task has a graph */
    if (t->torch_src && !str_starts(t->torch_src, "def ") && !str_eq(t->torch_src, "graph")) {
        if (read_one(&r, t->torch_src, &g, &err) < 0)
            fail_msg("%s: %s: %s", path, t->torch_src, err.msg);
        graph_release(&g);
    }
    arena_release(&r.mem);
    task_free(t);
    problems_release(&problems);
}

/* If a task has an expression, Hone can make a graph of it, whose outputs are as the task declares
 * them. */
static void test_tasks(void **state)
{
    struct arena a = ARENA_INIT;
    const char **names;
    size_t n = task_builtin_names(&a, &names);
    assert_true(n > 20);
    for (size_t i = 0; i < n; i++)
        read_task_at(names[i]);
    arena_release(&a);
    glob_t odd;
    assert_int_equal(glob("t/cases/playbooks/*/task.json", 0, NULL, &odd), 0);
    for (size_t i = 0; i < odd.gl_pathc; i++)
        read_task_at(odd.gl_pathv[i]);
    globfree(&odd);
}

/* ---- spellings ------------------------------------------------------------------------------- */

static const char some_tensors[] =
    "x float16 R,C; h float32 R,2*D; q float32 A,R,C; w float32 C; k float32 C,K; i int64 N;"
    " s int32 N; m bool R,C; p float32 N,P,H,W; f float32 P,1,3,3; g float32 P; l float32 R,5;"
    " z float32 N,R; table float32 C,D; t float32 A,C,K; y float32 A,R,C; d float32 D;"
    " b float32 K; rows float32 N,D; u1 float32 2,3,N,K; u2 float32 2,3,N,R,K; e scalar";

/* Makes a graph with the inputs and scalars that `spec` names, and no operations. */
static void open_graph(struct torch_rig *r, struct graph *g, const char *spec)
{
    const struct dim *shape[GRAPH_MAX_RANK];
    rig_spec(r, spec);
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

static const struct value *value_of(struct graph *g, const char *text)
{
    struct err err = ERR_INIT;
    const struct value *v = rig_value(g, text, NULL, &err);
    if (!v)
        fail_msg("%s: %s", text, err.msg);
    return v;
}

/* The two texts of each pair mean the same, so they must give the same value. */
static void test_spellings(void **state)
{
    static const char *const same[][2] = {
        /* sizes */
        {"x / x.size(-1)", "x / C"},
        {"x / x.shape[1]", "x / C"},
        {"h.shape[-1] // 2", "D"},
        {"h.size()[1] * x.ndim", "4 * D"},
        {"x.sum(dim=x.dim() - 1)", "torch.sum(x, 1)"},
        {"(x * 2).relu().shape[0]", "R"},
        {"x.numel()", "C * R"},
        {"len(x) + len(x.shape)", "R + 2"},
        {"q.shape[1:][-1]", "C"},
        {"x.reshape(x.shape[:-1] + (1, C))", "x[:, None, :]"},
        {"max(x.shape[0], 1)", "max(1, R)"},
        /* arguments */
        {"F.softmax(dim=1, input=x)", "torch.softmax(x, 1)"},
        {"torch.nn.functional.softmax(x, -1, dtype=torch.float32)", "x.float().softmax(1)"},
        {"F.layer_norm(h, h.shape[-1:], eps=e)", "F.layer_norm(h, (2 * D,), None, None, e)"},
        {"F.layer_norm(q, list(w.shape), w)", "F.layer_norm(q, [C], weight=w, eps=1e-5)"},
        {"F.rms_norm(q, q.shape[-1], w, eps=e)", "F.rms_norm(q, (C,), w, e)"},
        {"x.clamp(max=1)", "torch.clamp_max(x, 1)"},
        {"torch.clip(x, max=1, min=-1)", "torch.clamp(x, -1, 1)"},
        {"F.hardtanh(x)", "x.clamp(-1, 1)"},
        {"F.relu6(x)", "x.clamp(0, 6)"},
        {"F.gelu(input=x, approximate=\"none\")", "torch.nn.functional.gelu(x)"},
        {"x.where(w > 0, 1)", "torch.where(w > 0, x, 1)"},
        {"x.masked_fill(m, -2)", "torch.where(m, -2, x)"},
        {"x.triu(1)", "torch.triu(input=x, diagonal=1)"},
        {"torch.tril(x)", "x.tril(diagonal=0)"},
        {"x.mean((-1, -2), True)", "torch.mean(x, (0, 1), keepdim=True)"},
        {"x.mean([1])", "torch.mean(x, axis=-1)"},
        {"x.var(-1, correction=0)", "torch.var(x, 1, unbiased=False)"},
        {"x.var(False)", "torch.var(x, unbiased=False)"},
        {"torch.var(x, 1, False, True)", "x.var(1, keepdim=True, correction=0)"},
        {"torch.max(x, 1).values", "torch.amax(x, 1)"},
        {"x.min(-1)[0]", "x.amin(1)"},
        {"x.max(1, keepdim=True)[1]", "torch.argmax(x, 1, keepdim=True)"},
        {"x.max(1).indices", "x.argmax(-1)"},
        {"torch.max(x, w)", "torch.maximum(x, w)"},
        {"torch.min(x, other=w)", "torch.minimum(x, w)"},
        {"x.max()", "torch.amax(x)"},
        {"x.cummax(1)[0]", "torch.cummax(x, -1).values"},
        {"torch.cumsum(x, dtype=torch.float32, dim=0)", "x.float().cumsum(0)"},
        {"x.sum(dtype=torch.float)", "x.float().sum()"},
        {"F.leaky_relu(x)", "torch.nn.functional.leaky_relu(x, negative_slope=0.01)"},
        {"torch.linalg.vector_norm(q, dim=(1, 2))", "torch.norm(q, dim=[2, 1])"},
        {"torch.flip(x, dims=[-1])", "x.flip(1)"},
        {"F.softplus(x)", "F.softplus(x, 1, threshold=20)"},
        /* functions and operators */
        {"x.add(w, alpha=2)", "x + 2 * w"},
        {"torch.sub(x, w)", "x - w"},
        {"torch.multiply(x, w)", "x * w"},
        {"torch.true_divide(x, w)", "x / w"},
        {"torch.pow(x, 2)", "x ** 2"},
        {"torch.div(x, w, rounding_mode='floor')", "x // w"},
        {"torch.remainder(i, 3)", "i % 3"},
        {"torch.addcmul(x, w, w, value=3)", "x + 3 * w * w"},
        {"x.addcdiv(w, x)", "x + w / x"},
        {"-x", "x.neg()"},
        {"abs(x)", "x.abs()"},
        {"~m", "torch.bitwise_not(m)"},
        {"x.eq(w) | x.less(w)", "torch.bitwise_or(x == w, x < w)"},
        {"x @ k", "torch.matmul(x, k)"},
        {"torch.mm(x, k)", "x @ k"},
        {"torch.bmm(q, t)", "q @ t"},
        {"torch.mv(x, w)", "x @ w"},
        {"torch.dot(w, w)", "(w * w).sum()"},
        {"F.linear(x, k.T)", "x @ k"},
        {"F.linear(x, table.t(), d)", "x @ table + d"},
        {"torch.addmm(b, x, k)", "x @ k + b"},
        {"torch.addmm(b, x, k, beta=2, alpha=e)", "e * (x @ k) + 2 * b"},
        {"torch.baddbmm(q @ t, q, t)", "q @ t + q @ t"},
        {"torch.norm(q, 1, -1)", "torch.sum(torch.abs(q), -1)"},
        {"torch.norm(q, torch.inf, -1)", "q.abs().amax(-1)"},
        {"torch.norm(q, float('inf'), -1)", "q.abs().amax(-1)"},
        {"torch.norm(q, 'fro', 1)", "torch.linalg.norm(q, dim=1)"},
        {"F.mse_loss(q, y)", "(q - y).square().mean()"},
        {"F.l1_loss(q, y, reduction='sum')", "(q - y).abs().sum()"},
        {"torch.count_nonzero(x, 1)", "(x != 0).sum(1)"},
        {"F.adaptive_avg_pool2d(q, (1, 1))", "torch.mean(q, (-2, -1), keepdim=True)"},
        {"F.adaptive_avg_pool1d(q, 1)", "q.mean(2, True)"},
        {"F.adaptive_max_pool2d(q, 1)", "q.amax((1, 2), True)"},
        {"torch.finfo(x.dtype).min", "-65504.0"},
        {"torch.finfo(torch.float32).eps", "1.1920928955078125e-07"},
        {"F.batch_norm(q, l[0, :1].expand(R), z[0], eps=e)",
         "(q - l[0, :1].expand(R).view(1, -1, 1)) * torch.rsqrt(z[0][:, None] [None] + e)"},
        {"F.glu(h)", "h[:, :D] * torch.sigmoid(h[:, D:])"},
        {"math.sqrt(64) * x", "8.0 * x"},
        {"x * 2 ** 3", "x * 8"},
        {"x * (7 // 2) + 7 % 4", "x * 3 + 3"},
        {"x * (-7 // 2)", "x * -4"},
        {"x / (1 / 2)", "x / 0.5"},
        {"x.masked_fill(m, float('-inf'))", "torch.where(m, -torch.inf, x)"},
        {"x.masked_fill(m, -math.inf)", "x.masked_fill(mask=m, value=-torch.inf)"},
        {"2 * math.pi * x", "2 * torch.pi * x"},
        /* precedence */
        {"-x ** 2", "-(x ** 2)"},
        {"2 ** -x", "2 ** (-x)"},
        {"x ** w ** w", "x ** (w ** w)"},
        {"x * w @ w", "(x * w) @ w"},
        {"x - w - w", "(x - w) - w"},
        {"m & m | m", "(m & m) | m"},
        {"i << 2 + 1", "i << 3"},
        {"~(x > 0) & (w > 0)", "(~(x > 0)) & (w > 0)"},
        /* parts of axes */
        {"h[:, :D]", "h.chunk(2, -1)[0]"},
        {"h[..., h.shape[1] // 2:]", "h.chunk(2, 1)[1]"},
        {"torch.split(h, D, dim=-1)[1]", "h.chunk(2, -1)[1]"},
        {"h[:, D:2 * D]", "h.narrow(1, D, D)"},
        {"h[:, -D:]", "h[:, D:]"},
        {"torch.split(h, [D, D], 1)[0]", "h[:, 0:D]"},
        {"l.chunk(2, 1)[1]", "l[:, 3:]"},
        {"l[:, -2]", "l.select(1, 3)"},
        {"l[:, 1:100]", "l[:, 1:]"},
        {"q[0]", "q[0, :, :]"},
        {"q[..., -1]", "q[:, :, C - 1]"},
        {"l[:, ::2]", "l[:, 0:5:2]"},
        {"(a := x.chunk(1, 0), a[0])[-1]", "x"},
        /* shapes */
        {"w[:, None]", "w.unsqueeze(-1)"},
        {"w.view(1, w.size(0), 1)", "w.view(1, -1, 1)"},
        {"w[None, ..., None]", "w.reshape((1, C, 1))"},
        {"q.flatten(1)", "q.view(A, -1)"},
        {"q.flatten(0, 1).unflatten(0, (A, R))", "q.reshape(A * R, C).view(A, R, C)"},
        {"x.sum(1, True).squeeze(-1)", "x.sum(1, True).reshape(R)"},
        {"w.expand(R, -1)", "w.expand_as(x)"},
        {"torch.broadcast_to(w, (R, C))", "w.expand([R, C])"},
        {"x.contiguous().clone().detach()", "x"},
        {"x.to(x.dtype).to('cuda').to(q.device)", "x"},
        {"x.to(w)", "x.float()"},
        {"x.type(torch.float32)", "x.to(dtype=torch.float)"},
        {"x.type_as(q)", "x.float()"},
        /* axes */
        {"q.transpose(-1, -2)", "q.mT"},
        {"torch.swapaxes(x, 0, 1).contiguous()", "x.T"},
        {"x.t()", "x.permute(1, 0)"},
        {"q.movedim(0, -1)", "q.permute((1, 2, 0))"},
        {"q.movedim(-1, 0)", "q.permute(2, 0, 1)"},
        {"torch.movedim(q, (0, 1), (1, 2))", "torch.permute(q, (2, 0, 1))"},
        {"q.permute(0, 1, 2)", "q"},
        {"torch.einsum('mk,kn->mn', x, k)", "x @ k"},
        {"torch.einsum('bmk, bnk -> bmn', q, y)", "q @ y.transpose(-2, -1)"},
        {"torch.einsum('abk,kn->abn', q, k)", "q @ k"},
        {"torch.einsum('mk,kn->nm', x, k)", "(x @ k).T"},
        {"torch.einsum('mk,mk->m', x, x)", "(x * x).sum(-1)"},
        {"torch.einsum('abc->bca', q)", "q.permute(1, 2, 0)"},
        {"torch.einsum('abc->b', q)", "q.sum((0, 2))"},
        {"torch.einsum('abc,abc->', q, y)", "(q * y).sum()"},
        {"torch.einsum('abm,bm->a', [q, x])",
         "(q.reshape(1, A, R * C).view(A, R * C) @ x.view(R * C, 1)).view(A)"},
        /* joins and repeats */
        {"torch.concat([x, x], axis=-1)", "torch.cat((x, x), 1)"},
        {"torch.cat((x,))", "x"},
        {"torch.stack([w, w])", "torch.cat((w[None], w[None]))"},
        {"l.unbind(1)[2]", "l[:, 2]"},
        {"x.roll(1, 0)", "torch.cat((x[-1:], x[:-1]))"},
        {"torch.roll(x, (0, -1), (0, 1))", "torch.cat((x[:, 1:], x[:, :1]), 1)"},
        {"x.repeat(1, 1)", "x"},
        {"w.outer(b)", "w[:, None] * b"},
        {"torch.arange(C)", "torch.arange(0, C, 1, device=x.device)"},
        {"x + torch.zeros_like(x)", "x + torch.full_like(x, 0)"},
        {"F.one_hot(tensor=i, num_classes=3)", "(i[:, None] == torch.arange(3)).long()"},
        {"F.instance_norm(q)", "F.group_norm(q, q.shape[1])"},
        {"F.cross_entropy(rows, i, ignore_index=-100, label_smoothing=0.0)",
         "F.cross_entropy(rows, i)"},
        {"F.cross_entropy(rows, i, None, None, 3, None, 'none', 0.1)",
         "F.cross_entropy(rows, i, ignore_index=3, reduction='none', label_smoothing=0.1)"},
        {"F.nll_loss(rows, i, d, None, 3, None, 'sum')",
         "F.nll_loss(rows, i, weight=d, ignore_index=3, reduction='sum')"},
        {"F.nll_loss(rows, i, reduction='sum')",
         "torch.where(i != -100, "
         "-rows.gather(1, torch.where(i != -100, i, 0)[:, None])[:, 0], 0).sum()"},
        {"F.scaled_dot_product_attention(u2, u2, u2, enable_gqa=True)",
         "F.scaled_dot_product_attention(u2, u2, u2)"},
        /* rows by index */
        {"table[i]", "F.embedding(i, table)"},
        {"table[s.long()]", "torch.index_select(table, 0, s)"},
        {"table[i, :]", "table[i]"},
        {"x[:, i]", "x.index_select(1, i)"},
        {"table.index_add_(0, i, rows)", "torch.index_add(table, 0, index=i, source=rows)"},
        /* names and changes in place */
        {"(t := x + w, t * t)[-1]", "(x + w) * (x + w)"},
        {"(x := x + w, x * 2)[1]", "(x + w) * 2"},
        {"q.add_(w).mul_(2)", "(q + w) * 2"},
        {"F.relu(x + 1, inplace=True)", "torch.relu(x + 1)"},
        {"x.add_(w)", "(x + w).half()"},
        {"(q @ t).relu_()", "torch.relu(q @ t)"},
        {"F.relu_(x * 2)", "(x * 2).relu()"},
        /* convolutions */
        {"F.conv2d(p, f, groups=p.shape[1])", "torch.conv2d(p, f, groups=P, stride=(1, 1))"},
        {"F.conv2d(p, f, None, 1, 'same', 1, P)", "F.conv2d(p, f, padding=1, groups=P)"},
        {"F.conv2d(p, f, g, padding='valid', groups=P)", "F.conv2d(p, f, bias=g, groups=P)"},
        {"F.pad(p, (1, 2))", "torch.nn.functional.pad(p, [1, 2, 0, 0], value=0)"},
        {"F.pad(p, (0, 0))", "p"},
        /* attention */
        {"F.scaled_dot_product_attention(q, y, y)",
         "torch.nn.functional.scaled_dot_product_attention(q, y, value=y, attn_mask=None)"},
    };
    struct torch_rig r;
    struct graph g;
    open_graph(&r, &g, some_tensors);
    unsigned bad = 0;
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        struct err err = ERR_INIT;
        const struct value *a = rig_value(&g, same[i][0], NULL, &err),
                           *b = rig_value(&g, same[i][1], NULL, &err);
        if (a && a == b)
            continue;
        print_error("'%s' and '%s': %s\n", same[i][0], same[i][1], a && b ? "differ" : err.msg);
        bad++;
    }
    assert_int_equal(bad, 0);
    close_graph(&r, &g);
}

/* The two texts of each pair look alike, but mean different things. So they must give different
 * values. */
static void test_differences(void **state)
{
    static const char *const other[][2] = {
        {"-x ** 2", "(-x) ** 2"},
        {"x - w - w", "x - (w - w)"},
        {"x.sum(0)", "x.sum(0, True)"},
        {"x.var(1)", "x.var(1, False)"},
        {"x.float()", "x"},
        {"F.gelu(x)", "F.gelu(x, approximate='tanh')"},
        {"h[:, :D]", "h[:, D:]"},
        {"x.mean(1)", "x.mean(0)"},
        {"x * 2", "x * 2.0"},
        {"q.transpose(0, 1)", "q.transpose(1, 2)"},
        {"i // 2", "i / 2"},
        {"x.cummax(1)[0]", "x.cummin(1)[0]"},
        {"x.max(1)[0]", "x.max(1)[1]"},
        {"torch.where(m, x, w)", "torch.where(m, w, x)"},
    };
    struct torch_rig r;
    struct graph g;
    open_graph(&r, &g, some_tensors);
    for (size_t i = 0; i < ARRAY_LEN(other); i++)
        if (value_of(&g, other[i][0]) == value_of(&g, other[i][1]))
            fail_msg("'%s' and '%s' are one value", other[i][0], other[i][1]);
    close_graph(&r, &g);
}

/* Integers of a tensor keep their width. A number in the text gets the width of the tensor with
 * which it is combined. */
static void test_types(void **state)
{
    static const struct {
        const char *text;
        enum dtype type;
    } good[] = {
        {"a + 1", DT_U8},
        {"a + b", DT_I16},
        {"a * n", DT_U8},
        {"a / 2", DT_F32},
        {"a * 0.5", DT_F32},
        {"a & 15 | b << 4", DT_I16},
        {"-b", DT_I8},
        {"~b", DT_I8},
        {"~m & (a > 3)", DT_BOOL},
        {"m + 1", DT_I64},
        {"m + m", DT_BOOL},
        {"torch.where(m, a, 0)", DT_U8},
        {"torch.where(m, 1, 0)", DT_I64},
        {"torch.where(m, 1, 0.5).sum()", DT_F32},
        {"x * torch.where(m, 1, 0.5)", DT_F32},
        {"b.clamp(min=0)", DT_I8},
        {"torch.exp(a)", DT_F32},
        {"x.to(torch.int32)", DT_I32},
        {"x.to(torch.float8_e4m3fn)", DT_F8E4M3},
        {"a.float() - b.to(x.dtype)", DT_F32},
        {"b ** 2", DT_I8},
        {"a // 2", DT_U8},
        {"b % n", DT_I8},
        {"x // 2", DT_F16},
        {"x * 0.5", DT_F16},
        {"x * f", DT_F32},
        /* One of two tensors has no axes. The result has the dtype of the other tensor, unless the
         * tensor without axes is of a higher kind: a float is higher than an integer. */
        {"x * z", DT_F16},
        {"b + j", DT_I8},
        {"b * z", DT_F32},
        {"j + 1", DT_I64},
        {"j * 0.5", DT_F32},
        {"torch.where(m, x, z)", DT_F16},
        {"a.sum()", DT_I64},
        {"(x > 0).sum(-1)", DT_I64},
        {"x.argmax()", DT_I64},
        {"x.any()", DT_BOOL},
        {"((x > 0) + (f > 0)).float()", DT_F32},
    };
    static const char *const bad[] = {"x & a",
                                      "m - m",
                                      "-m",
                                      "torch.where(a, x, x)",
                                      "a.masked_fill(m, 0.5)",
                                      "x << 1",
                                      "~x",
                                      "a.mean()",
                                      "torch.softmax(a, 0)",
                                      "a.add_(0.5)",
                                      "x[x]",
                                      "x[m]",
                                      "x.norm(p='nuc')"};
    struct torch_rig r;
    struct graph g;
    open_graph(&r, &g,
               "a uint8 N; b int8 N; m bool N; x float16 N; f float32 N; z float32 -; j int64 -");
    graph_scalar(&g, "n", DT_I32);
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        const struct value *v = value_of(&g, good[i].text);
        if (v->dtype != good[i].type)
            fail_msg("%s is %s", good[i].text, dtype_name(v->dtype));
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err = ERR_INIT;
        if (rig_value(&g, bad[i], NULL, &err))
            fail_msg("'%s' was read", bad[i]);
        assert_true(strstr(err.msg, "column ") != NULL);
    }
    close_graph(&r, &g);
}

/* Each expression is refused, and the message has these words. */
static void test_refusals(void **state)
{
    static const char *const bad[][2] = {
        {"u + 1", "column 1: the name 'u' is not known"},
        {"x + torch.foo(x)", "column 14: the function 'foo' is not known"},
        {"x.median(dim=-1)", "the method 'median' is not known"},
        {"torch.exp", "neither a constant nor a dtype"},
        {"torch.exp(x, x)", "takes at most 1"},
        {"F.elu(x, alhpa=2)", "no parameter 'alhpa'"},
        {"F.silu(x, approximate='tanh')", "no parameter 'approximate'"},
        {"torch.where(m, x)", "lacks its argument 'other'"},
        {"x.sum(1, dim=1)", "'dim' twice"},
        {"x.sum(2)", "rank 2 has no axis 2"},
        {"x.sum(other=1)", "no parameter 'other'"},
        {"x.mean((0, 0))", "named twice"},
        {"x.shape[2]", "out of range"},
        {"x.K", "no attribute 'K'"},
        {"x.clamp()", "clamp needs"},
        {"F.softmax(x)", "needs an axis"},
        {"torch.cumsum(x)", "lacks its argument 'dim'"},
        {"x.cummax(1)[1]", "indices of cummax"},
        {"x.max(1)", "gives 2 values"},
        {"torch.linalg.norm(x, 2)", "norms of matrices"},
        {"x.sum(-1, dtype=torch.int32)", "cut floats"},
        {"q.T", "turn matrices"},
        {"x.permute(0, 0)", "twice"},
        {"x.permute(0)", "1 of 2 axes"},
        {"x.view(3)", "reshape"},
        {"x.view(-1, -1)", "only one size"},
        {"x.chunk(2, 1)[0]", "no certain sizes; a constraint such as"},
        {"x.chunk(0, 1)[0]", "chunks"},
        {"x[0, 0, 0]", "more axes than there are"},
        {"x[..., ...]", "once"},
        {"l[:, 5]", "out of range"},
        {"x[5]", "out of range"},
        {"x[::-1]", "positive"},
        {"x[i, i]", "several"},
        {"x + q.T", "column"},
        {"x + k", "do not broadcast"},
        {"torch.mm(q, t)", "mm takes"},
        {"x @ x", "summed over"},
        {"x @ 2", "matmul"},
        {"2 @ 3", "takes tensors"},
        {"F.batch_norm(p, g, g, training=True)", "while training"},
        {"F.layer_norm(x, (R,))", "normalized_shape says 'R'"},
        {"F.rms_norm(x, (C,))", "give eps"},
        {"F.conv2d(p, f, stride=0, groups=P)", "stride"},
        {"F.conv2d(p, f, stride=2, padding='same', groups=P)", "stride of 1"},
        {"F.conv1d(p, f)", "conv1d takes"},
        {"F.conv2d(p, f)", "channels of a group"},
        {"F.pad(p, (1, 2), mode='reflect')", "'constant'"},
        {"F.pad(p, (1, 2, 3))", "before and one after"},
        {"F.scaled_dot_product_attention(q, y, y, dropout_p=0.1)", "dropout"},
        {"F.embedding_bag(i, table, i)", "include_last_offset=True"},
        {"F.pad(x, (1, 1), value=x)", "single value for 'value'"},
        {"F.layer_norm(h, (2 * D,), eps=d)", "single value for 'eps'"},
        {"F.scaled_dot_product_attention(q, q, q, scale=w)", "single value for 'scale'"},
        {"F.scaled_dot_product_attention(q[:1], q[:1], q[:1], attn_mask=(q @ q.mT > 0))", "mask"},
        {"F.scaled_dot_product_attention(q, q, q, attn_mask=i)", "takes floats"},
        {"F.conv2d(l[None, None].expand(1, 5, R, 5), l[:3, :, None, None], groups=2)", "divide"},
        {"x.narrow(1, 0, -1)", "narrow may reach beyond"},
        {"x.split([-1, C + 1], 1)[0]", "negative start or length"},
        {"x[:, C // 400 - 1]", "out of range"},
        {"i + 9007199254740993", "beyond 2^53"},
        {"torch.einsum('abij,bamkj->abimk', u1, u2)", "label 'a'"},
        {"torch.einsum('mk,kn', x, k)", "'->'"},
        {"torch.einsum('mm->m', x)", "distinct letters"},
        {"torch.einsum('...k,kn->...n', x, k)", "distinct letters"},
        {"torch.einsum('mk,kn->mz', x, k)", "'z'"},
        {"x.to(3)", "takes a dtype"},
        {"x.unsqueeze(0)[None, None, None, None, None, None]", "at most 8 axes"},
        {"'a'", "must be a tensor"},
        {"x < w < h", "do not chain"},
        {"9223372036854775808 * x", "64 bits"},
        {"9223372036854775807 * 2 * x", "64 bits"},
        {"x * (1 // 0)", "zero"},
        {"x * math.sqrt(-1)", "not a number"},
        {"10 ** 100", "64 bits"},
        {"x(1)", "the function 'x'"},
        {"(x + 1)(2)", "not a function"},
        {"None + x", "None"},
        {"x + (1, 2)", "a tuple"},
        /* joins and repeats */
        {"torch.cat(x, 0)", "cat takes a list of at least one tensor, not a tensor"},
        {"torch.cat(())", "not an empty one"},
        {"torch.cat((x, 1))", "'tensors' must be a tensor"},
        {"torch.cat((x, w))", "same number of axes"},
        {"torch.cat((x, table))", "cat: "},
        {"torch.cat((x.sum(), x.sum()))", "use stack"},
        {"torch.cat((x, x), out=x)", "no parameter 'out'"},
        {"x.cat(x)", "the method 'cat' is not known"},
        {"torch.stack((x, w))", "one shape"},
        {"torch.stack((x, h))", "cat: "},
        {"x.unbind(0)[0]", "unknown number of pieces"},
        {"x.roll(1, (0, 1))", "1 shifts for 2 axes"},
        {"x.roll((1, 1))", "takes one shift"},
        {"x.roll(e, 0)", "'shifts' must be"},
        {"x.roll(R - C, 0)", "is positive"},
        {"x.repeat(2)", "names 1 axes, but the tensor has 2"},
        {"x.repeat(2, -1)", "-1 times"},
        {"x.repeat_interleave(s)", "not with a tensor"},
        {"F.interpolate(p, scale_factor=1.5)", "whole factors"},
        {"F.interpolate(p, scale_factor=41)", "rounds the factor 41"},
        {"F.interpolate(p, scale_factor=2, mode='bilinear')", "mode='nearest'"},
        {"F.interpolate(p, scale_factor=2, align_corners=True)", "align_corners"},
        {"F.interpolate(p)", "either 'size' or"},
        {"F.interpolate(p, 7)", "not known to be a fixed multiple of 'H'"},
        {"F.interpolate(p, scale_factor=(2, 2, 2))", "3 numbers for 2 axes"},
        {"F.interpolate(x, scale_factor=2)", "3 to 5 axes"},
        {"F.pixel_shuffle(p, 2)", "'P' is not known to be a multiple of 4"},
        {"F.pixel_unshuffle(p, 2)", "'H' is not known to be a multiple of 2"},
        {"F.pixel_shuffle(p, 0)", "at least 1"},
        {"torch.outer(x, w)", "vectors"},
        {"torch.arange(0, 1, 0.1)", "only with integers"},
        {"torch.arange(4, 2)", "before the start"},
        {"torch.arange(4, 0, -1)", "use flip"},
        {"torch.arange(4, device=3)", "'device' must be"},
        {"torch.full_like(i, 0.5)", "int64 cannot hold a float"},
        {"torch.full_like(x, w)", "takes a number"},
        {"F.one_hot(i)", "depends on data"},
        {"F.one_hot(s, 3)", "takes int64, not int32"},
        {"torch.gather(x, 1, i)", "as many axes"},
        {"torch.gather(l, 1, i[:, None])", "size 'N' where the input has 'R'"},
        {"torch.gather(l, 1, l)", "gather"},
        {"F.scaled_dot_product_attention(u1, u1[:, :2], u1[:, :2], enable_gqa=True)",
         "'3' heads are not known to be a multiple of '2'"},
        /* groups and classes */
        {"F.group_norm(q, 3)", "'R' is not known to be a multiple of '3'; a constraint such as"},
        {"F.group_norm(p, 0)", "at least 1"},
        {"F.group_norm(w, 1)", "2 to 7 axes"},
        {"F.group_norm(p, 1, x)", "group_norm's weight has 2 axes"},
        {"F.group_norm(p, 1, w)", "do not broadcast"},
        {"F.instance_norm(p, g, g)", "without running statistics"},
        {"F.instance_norm(x)", "at least 3 axes"},
        {"F.cross_entropy(x, x)", "classes as integers, not with a target of float16"},
        {"F.cross_entropy(x, i)", "takes an input [N, C, ...] and a target [N, ...]"},
        {"F.cross_entropy(rows, i, reduction='avg')", "'none', 'mean' or 'sum'"},
        {"F.cross_entropy(rows, i, label_smoothing=2)", "from 0 to 1"},
        {"F.cross_entropy(rows, i, d, label_smoothing=0.1)", "both weight and label_smoothing"},
        {"F.cross_entropy(rows, i, reduce=False)", "use reduction="},
        {"F.cross_entropy(rows, i, w)", "a number for each class"},
        {"F.nll_loss(rows, i, label_smoothing=0.1)", "no parameter 'label_smoothing'"},
        /* changes in place */
        {"x.add_(1) + x", "in place"},
        {"F.relu(x, inplace=True) + x", "in place"},
        {"(t := x + 1, t.relu_() + t)[-1]", "in place"},
        {"x.view(-1).add_(1)", "in place"},
        {"(t := x.add_(1), t + t)[-1]", "in place"},
        {"w.add_(x)", "cannot change the shape"},
    };
    struct torch_rig r;
    struct graph g;
    open_graph(&r, &g, some_tensors);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err = ERR_INIT;
        if (rig_value(&g, bad[i][0], NULL, &err))
            fail_msg("'%s' was read", bad[i][0]);
        if (!strstr(err.msg, bad[i][1]))
            fail_msg("'%s': %s", bad[i][0], err.msg);
    }
    close_graph(&r, &g);
}

/* Each name (b, c, ...) uses the name before it three times. Written out, the expression would grow
 * by a factor of three with each name, but the graph gets only two values. A graph may have as many
 * values as the limit allows; an expression that needs more is refused. */
static void test_limits(void **state)
{
    struct strbuf sb = STRBUF_INIT(1 << 16);
    struct torch_rig r;
    struct graph g;
    struct err err = ERR_INIT;
    open_graph(&r, &g, "x float32 N; x1 float32 N");
    strbuf_adds(&sb, "(a := x");
    for (int i = 0; i < 25; i++)
        strbuf_addf(&sb, ", %c := %c + %c * %c", 'b' + i, 'a' + i, 'a' + i, 'a' + i);
    strbuf_adds(&sb, ")[-1]");
    value_of(&g, sb.buf);
    strbuf_clear(&sb);
    strbuf_adds(&sb, "x");
    for (int i = 0; i < 400; i++)
        strbuf_addf(&sb, " * (x + %d)", i);
    value_of(&g, sb.buf);
    int rounds = 0;
    for (; rounds < 30; rounds++) {
        strbuf_clear(&sb);
        strbuf_adds(&sb, "x");
        for (int i = 0; i < 300; i++)
            strbuf_addf(&sb, " * (x + %d)", 1000 * rounds + i);
        if (!rig_value(&g, sb.buf, NULL, &err))
            break;
    }
    assert_true(rounds > 3 && rounds < 30);
    assert_non_null(strstr(err.msg, "values in one graph"));
    strbuf_release(&sb);
    close_graph(&r, &g);
}

/* ---- whole tasks ----------------------------------------------------------------------------- */

/* Tests whether outputs fit their declarations. `why` is a part of the error, or NULL if there must
 * be none. */
static void test_signatures(void **state)
{
    static const struct {
        const char *torch, *tensors, *why;
    } cases[] = {
        {"F.leaky_relu(x, 0.2)", "x float32 N; y float32 N out", NULL},
        {"torch.cumsum(x.int(), -1)", "x float32 R,C; y float32 R,C out", NULL},
        {"(a + 1) @ b", "a float32 M,K; b float32 K,N; c float32 M,N out", NULL},
        {"t.index_add(0, i, x)", "t float32 V,D; i int64 N; x float32 N,D; y float32 V,D out",
         NULL},
        {"table[idx]", "table int64 V,D; idx int32 N; y int64 N,D out", NULL},
        {"(w * x).sum()", "w float32 C; x float32 R,C; y float32 1 out", NULL},
        {"(w * x).sum(1)", "w float32 C; x float32 A,R,C; y float32 A,C out", NULL},
        {"F.rms_norm(x, (C,), w, eps)", "x float32 R,C; w float32 C; y float32 R,C out; eps scalar",
         NULL},
        {"F.rms_norm(x, (768,), w, eps)",
         "x float32 R,768; w float32 768; y float32 R,768 out; eps scalar", NULL},
        {"F.rms_norm(x, (R,), w, eps)", "x float32 R,C; w float32 C; y float32 R,C out; eps scalar",
         "normalized_shape"},
        {"x * rsqrt(x.pow(2).mean(0, keepdim=True) + x) * w",
         "w float32 C; x float32 R,C; y float32 R,C out", NULL},
        {"F.layer_norm(z, weight=g, bias=c, normalized_shape=(z.size(-1),))",
         "g float16 C; c float16 C; z float16 A,R,C; y float16 A,R,C out", NULL},
        {"F.layer_norm(z, (C,), g, c).relu()",
         "g float16 C; c float16 C; z float16 A,R,C; y float16 A,R,C out", NULL},
        {"(t := h + q, (F.rms_norm(t, (C,), g, eps), t))[-1]",
         "h float16 R,C inout; q float16 R,C inout; g float16 C; eps scalar", NULL},
        {"(va * sa[..., None] + vb * sb[..., None], sa + sb)",
         "va float16 N,H,D; sa float32 N,H; vb float16 N,H,D; sb float32 N,H;"
         " v float16 N,H,D out; s float32 N,H out",
         NULL},
        {"F.silu(x[..., :D]) * x[..., D:]", "x float16 B,2*D; y float16 B,D out", NULL},
        {"(h := x.size(-1) // 2, x[:, :h] * torch.sigmoid(x[:, :h]) * x[:, h:])[-1]",
         "x float16 B,2*D; y float16 B,D out", NULL},
        {"F.silu(x[:, :D]) * x", "x float16 B,2*D; y float16 B,D out", "do not broadcast"},
        {"F.silu(x)", "x float16 B,2*D; y float16 B,D out", "declared with size 'D'"},
        {"x.amin(1)", "x float32 A,R,C; y float32 A,C out", NULL},
        {"x.sum()", "x float32 -; y float32 - out", NULL},
        {"torch.sqrt(x.pow(2).mean(-1) + 1e-6)", "x float32 R,C; y float32 R out", NULL},
        {"x.sum(-1) / x.amax(-1)", "x float32 R,C; y float32 R out", NULL},
        {"x.sum(-1) * w", "x float32 R,C; w float32 R,C; y float32 R out", "do not broadcast"},
        {"(x > 0).sum(-1) * 2", "x float32 R,C; y int64 R out", NULL},
        {"x / 2", "x int32 N; y int32 N out", "int32"},
        {"x * 2", "x int32 N; y int32 N out", NULL},
        {"x > 0", "x float32 N; y bool N out", NULL},
        {"x / K3", "x float32 K3; y float32 K3 out", NULL},
        {"x.K3", "x float32 K3; y float32 K3 out", "attribute"},
        {"F.conv1d(x, w, groups=C) + conv",
         "x float32 B,C,L; w float32 C,1,3; conv float32 B,C,L-2; y float32 B,C,L-2 out", NULL},
        {"F.conv1d(x, w, groups=C)", "x float32 B,C,L; w float32 C,1,3; y float32 B,C,M out",
         "size 'M'"},
        {"F.conv1d(x, w, b, groups=C)",
         "x float32 B,C,L; w float32 C,1,3; b float32 1; y float32 B,C,L-2 out", "bias"},
        {"F.conv1d(x, w, groups=C)",
         "x float32 B,C,L; w float32 C,1,3; y float32 B,C,L-2 out; z float32 B,C,L-2 out",
         "a tuple"},
        {"(x, x, x)", "x float32 N; y float32 N out; z float32 N out", "3 values"},
        {"F.conv2d(x, w, padding=2, dilation=2, groups=C)",
         "x float32 N,C,H,W; w float32 C,1,3,3; y float32 N,C,H,W out", NULL},
        {"x @ w.T", "x float16 Z,M,K; w float16 Z,N,K; y float16 Z,M,N out", "turn matrices"},
        {"x @ w.mT", "x float16 Z,M,K; w float16 Z,N,K; y float16 Z,M,N out", NULL},
        {"torch.where(k > 0, x, F)", "x float32 N; F float32 N; k float32 N; y float32 N out",
         NULL},
        {"F.relu()", "F float32 N; y float32 N out", NULL}, /* the tensor F shadows the module F */
        {"w * (x / torch.sqrt(torch.mean(torch.square(x), dim=-1, keepdim=True) + eps))",
         "x float16 R,C; w float16 C; y float16 R,C out; eps scalar", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct torch_rig r;
        struct graph g;
        struct err err = ERR_INIT;
        rig_spec(&r, cases[i].tensors);
        int rc = read_one(&r, cases[i].torch, &g, &err);
        if ((rc == 0) != !cases[i].why || (rc < 0 && !strstr(err.msg, cases[i].why)))
            fail_msg("'%s': %s", cases[i].torch, rc < 0 ? err.msg : "it was read");
        if (rc == 0)
            graph_release(&g);
        arena_release(&r.mem);
    }
}

/* A constraint can say that a size is a multiple of a number, or of a constant axis. */
static void test_multiples(void **state)
{
    static const struct {
        const char *torch, *constraint;
        bool good;
    } cases[] = {
        {"F.group_norm(x, 8)", "C % 8 == 0", true},
        {"F.group_norm(x, G)", "C % G == 0", true},
        {"torch.cat((x.chunk(2, 1)[1], x.chunk(2, 1)[0]), 1)", "C % 8 == 0", true},
        {"torch.stack((x[:, 1::2], x[:, ::2]), -1).flatten(-2)", "C % 2 == 0", true},
        {"torch.cat(torch.split(x, C // 4, 1), 1)", "C % 8 == 0", true},
        {"torch.cat(x.chunk(8, 1), 1)", "C == 21", true},
        {"F.group_norm(x, 8)", "C % 4 == 0", false},
        {"F.group_norm(x, 8)", "C % 8 == 0 || R == 1", false},
        {"F.group_norm(x, 8)", "C >= 8", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct torch_rig r;
        struct graph g;
        struct err err = ERR_INIT;
        rig_spec(&r, "x float32 R,C; y float32 R,C out; z float32 G");
        r.fixed[2] = 8;
        r.task.constraints = &cases[i].constraint;
        r.task.nconstraints = 1;
        int rc = read_one(&r, cases[i].torch, &g, &err);
        if ((rc == 0) != cases[i].good)
            fail_msg("'%s' with '%s': %s", cases[i].torch, cases[i].constraint, err.msg);
        if (rc == 0) {
            assert_int_equal(g.nguards, strchr(cases[i].constraint, '%') ? 1 : 0);
            if (g.nguards)
                assert_string_equal(g.guards[0], cases[i].constraint);
            graph_release(&g);
        }
        arena_release(&r.mem);
    }
}

/* A playbook lists the PyTorch expressions that it fits, its forms. In a form, a name may stand for
 * a value of a graph, and PyTorch's functions need no module before their names. */
static void test_forms(void **state)
{
    struct torch_rig r;
    struct graph g;
    struct err err = ERR_INIT;
    open_graph(&r, &g, some_tensors);
    const struct torch_name items[] = {
        {"in", value_of(&g, "x + 1")}, {"x", value_of(&g, "q")}, {"$last", graph_integer(&g, 2)}};
    const struct torch_names names = {items, ARRAY_LEN(items)};
    const char *const same[][2] = {
        {"silu(in)", "F.silu(x + 1)"},
        {"sum(x, 1, keepdim=True)", "q.sum(1, True)"},
        {"max(x, $last).values", "q.amax(-1)"},
        {"x * rsqrt(mean(x * x, $last, keepdim=True) + e) * w",
         "q * torch.rsqrt((q * q).mean(-1, True) + e) * w"},
        {"cummax(x, $last).values", "torch.cummax(q, 2)[0]"},
        {"abs(x)", "q.abs()"},
    };
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        const struct value *v = rig_value(&g, same[i][0], &names, &err);
        if (!v)
            fail_msg("%s: %s", same[i][0], err.msg);
        if (v != value_of(&g, same[i][1]))
            fail_msg("'%s' and '%s' are two values", same[i][0], same[i][1]);
    }
    const struct value *two[2];
    assert_int_equal(torch_read_values(&g, "(in, x)", &names, two, 2, &err), 2);
    assert_ptr_equal(two[1], value_of(&g, "q"));
    close_graph(&r, &g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tasks),       cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_differences), cmocka_unit_test(test_types),
        cmocka_unit_test(test_refusals),    cmocka_unit_test(test_limits),
        cmocka_unit_test(test_signatures),  cmocka_unit_test(test_forms),
        cmocka_unit_test(test_multiples),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
