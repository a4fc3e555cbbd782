/* PyTorch expressions as trees: what is written in many ways has one normal form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "author/playbook_bind.h"
#include "author/playbook_form.h"
#include "author/playbook_tree.h"
#include "base/util.h"

/* x [R, C], h [R, 2*D], q [A, R, C], w [C], i [N] */
static json_t *some_tensors(void)
{
    return json_pack("[{s:s, s:b, s:s, s:[s, s]}, {s:s, s:b, s:s, s:[s, s]},"
                     " {s:s, s:b, s:s, s:[s, s, s]}, {s:s, s:b, s:s, s:[s]},"
                     " {s:s, s:b, s:s, s:[s]}]",
                     "name", "x", "input", 1, "dtype", "float16", "shape", "R", "C", "name", "h",
                     "input", 1, "dtype", "float32", "shape", "R", "2*D", "name", "q", "input", 1,
                     "dtype", "float32", "shape", "A", "R", "C", "name", "w", "input", 1, "dtype",
                     "float32", "shape", "C", "name", "i", "input", 1, "dtype", "int64", "shape",
                     "N");
}

/* "-": it has no tree, or none in normal form. */
static char *normal_text(const char *text, const json_t *tensors)
{
    struct arena a = ARENA_INIT;
    struct strbuf sb = STRBUF_INIT(TORCH_MAX_TEXT);
    struct tree_facts facts = {tensors};
    struct tree *t = tree_parse(&a, text);
    t = t ? tree_normal(&a, t, &facts) : NULL;
    if (!t || !tree_print(t, &sb)) {
        strbuf_clear(&sb);
        strbuf_addc(&sb, '-');
    }
    arena_release(&a);
    return strbuf_detach(&sb, NULL);
}

static void test_normal(void **state)
{
    static const char *const cases[][2] = {
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
        {"x.shape[2]", "(R, C)[2]"},
        /* arguments */
        {"F.softmax(dim=1, input=x)", "torch.softmax(x, 1)"},
        {"torch.nn.functional.softmax(x, -1, dtype=torch.float32)",
         "torch.softmax(x, -1, dtype=torch.float32)"},
        {"x.clamp(max=1)", "torch.clamp_max(x, 1)"},
        {"torch.clip(x, max=1, min=-1)", "torch.clamp(x, -1, 1)"},
        {"F.gelu(input=x, approximate=\"tanh\")", "torch.gelu(x, approximate='tanh')"},
        {"x.where(w > 0, 1)", "torch.where(w > 0, x, 1)"},
        {"F.elu(x, alhpa=2)", "torch.elu(x, alhpa=2)"},
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
        {"torch.addmm(w, x, h)", "x @ h + w"},
        {"x.sum(-1) / C", "torch.mean(x, -1)"},
        {"x.sum(-1) / R", "torch.sum(x, -1) / R"},
        {"q.sum((1, 2)) / (R * C)", "torch.mean(q, (1, 2))"},
        {"torch.norm(x, 1, -1)", "torch.sum(torch.abs(x), -1)"},
        {"torch.linalg.norm(x, dim=1)", "torch.norm(x, 2, 1)"},
        {"torch.linalg.norm(x, 2)", "torch.linalg.norm(x, 2)"},
        {"(x * x).sum(1).sqrt()", "torch.norm(x, 2, 1)"},
        {"((x * x).sum(1) + 1).sqrt()", "torch.sqrt(torch.sum(torch.square(x), 1) + 1)"},
        {"x.exp().sum(-1).log()", "torch.logsumexp(x, -1)"},
        {"(e := (x - x.amax(1, True)).exp(), e / e.sum(1, True))[-1]", "torch.softmax(x, 1)"},
        {"(e := (x - x.amax(1, True)).exp(), e / e.sum(0, True))[-1]",
         "torch.softmax(x - torch.amax(x, 1, keepdim=True), 0)"},
        {"(x - x.amax(1, True)).exp() / x.exp().sum(1, True)",
         "torch.exp(x - torch.amax(x, 1, keepdim=True)) / torch.sum(torch.exp(x), 1, "
         "keepdim=True)"},
        {"x - x.logsumexp(-1, True)", "torch.log_softmax(x, -1)"},
        {"x - x.logsumexp(-1)", "x - torch.logsumexp(x, -1)"},
        {"x - x.mean(-1).unsqueeze(-1)", "x - torch.mean(x, -1, keepdim=True)"},
        {"x - x.mean(1)[:, None]", "x - torch.mean(x, 1, keepdim=True)"},
        {"x - x.std(-1)[..., None]", "x - torch.std(x, -1, keepdim=True)"},
        {"x - x.mean(0)[:, None]", "x - torch.mean(x, 0)[:, None]"},
        {"q - q.mean(-1)[:, None]", "q - torch.mean(q, -1)[:, None]"},
        {"F.adaptive_avg_pool2d(q, (1, 1))", "torch.mean(q, (-2, -1), keepdim=True)"},
        {"torch.finfo(x.dtype).min", "-65504"},
        {"F.batch_norm(q, w, w, bias=h, eps=e)",
         "(q - w.view(1, -1, 1)) * torch.rsqrt(w.view(1, -1, 1) + e) + h.view(1, -1, 1)"},
        {"F.batch_norm(q, w, w, training=True)", "torch.batch_norm(q, w, w, None, None, True)"},
        {"x.flatten().sum().reshape(1)", "torch.sum(x)"},
        {"x.sum(0).reshape(1, -1)", "torch.sum(x, 0).reshape(1, -1)"},
        /* halves */
        {"h[:, :D]", "h.chunk(2, -1)[0]"},
        {"h[..., h.shape[1] // 2:]", "h.chunk(2, -1)[1]"},
        {"torch.split(h, D, dim=-1)[1]", "h.chunk(2, -1)[1]"},
        {"h[:, D:2 * D]", "h.chunk(2, -1)[1]"},
        {"h[:D]", "h[:D]"},
        {"h[:, :R]", "h[:, :R]"},
        {"h[:, 1:D]", "h[:, 1:D]"},
        {"x.chunk(2, 1)[0]", "x.chunk(2, 1)[0]"}, /* C may be odd */
        /* axes */
        {"torch.einsum('mk,kn->mn', x, h)", "x @ h"},
        {"torch.einsum('bmk, bnk -> bmn', q, q)", "q @ q.transpose(-2, -1)"},
        {"torch.einsum('abk,kn->abn', q, x)", "q @ x"},
        {"torch.einsum('mk,kn->nm', x, h)", "torch.einsum('mk,kn->nm', x, h)"},
        {"torch.einsum('mk,mk->m', x, x)", "torch.einsum('mk,mk->m', x, x)"},
        {"torch.einsum('abc->bca', q)", "q.permute((1, 2, 0))"},
        {"q.movedim(0, -1)", "q.permute((1, 2, 0))"},
        {"q.movedim(-1, 0)", "q.permute((2, 0, 1))"},
        {"torch.swapaxes(x, 0, 1).contiguous()", "x.transpose(0, 1)"},
        {"w.view(1, w.size(0), 1)", "w.view(1, -1, 1)"},
        {"x[i, :]", "x[i]"},
        {"x * w.expand_as(x)", "x * w"},
        {"x * w.unsqueeze(0).expand(R, -1)", "x * w.unsqueeze(0)"},
        {"x * w.expand(R, C).reshape(-1)", "x * w.expand((R, C)).reshape(-1)"},
        {"w.expand(R, C).sum()", "torch.sum(w.expand((R, C)))"},
        /* in place */
        {"x.add_(w).mul_(2)", "(x + w) * 2"},
        {"F.relu(x + 1, inplace=True)", "torch.relu(x + 1)"},
        {"x.add_(1) + x", "-"},
        {"F.relu(x, inplace=True) + x", "-"},
        {"(t := x + 1, t.relu_() + t)[-1]", "-"},
        {"x.view(-1).add_(1) + x", "-"},
        {"x.index_add_(0, i, h)", "torch.index_add_(x, 0, i, h)"},
        /* brackets */
        {"-x ** 2", "-torch.square(x)"},
        {"(-x) ** 2", "torch.square(-x)"},
        {"(x - w) - (x - w)", "x - w - (x - w)"},
        {"x * (w * 3)", "x * (w * 3)"},
        {"(x < w) == (w < x)", "(x < w) == (w < x)"},
        {"~(x > 0) & (w > 0)", "~(x > 0) & (w > 0)"},
        {"(x ** w) ** w", "(x ** w) ** w"},
        {"2 ** -x", "2 ** -x"},
        {"(x + 1).T", "(x + 1).T"},
        /* no plain expressions */
        {"lambda x: x", "-"},
        {"x if w else h", "-"},
        {"[v for v in x]", "-"},
        {"x < w < h", "-"},
        {"f(*x)", "-"},
        {"x; w", "-"},
        {"x +", "-"},
        {"0x10", "-"},
        {"'a\\'b'", "-"},
        {"x[]", "-"},
        {"", "-"},
    };
    json_t *tensors = some_tensors();
    assert_non_null(tensors);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *got = normal_text(cases[i][0], tensors);
        if (!str_eq(got, cases[i][1]))
            fail_msg("'%s' became '%s', not '%s'", cases[i][0], got, cases[i][1]);
        if (!str_eq(got, "-")) { /* and that stays as it is */
            char *again = normal_text(got, tensors);
            if (!str_eq(again, got))
                fail_msg("'%s' became '%s'", got, again);
            free(again);
        }
        free(got);
    }
    json_decref(tensors);
}

/* What would grow without end is given up. */
static void test_limits(void **state)
{
    struct strbuf sb = STRBUF_INIT(1 << 16);
    strbuf_adds(&sb, "(a := x");
    for (int i = 0; i < 25; i++)
        strbuf_addf(&sb, ", %c := %c + %c * %c", 'b' + i, 'a' + i, 'a' + i, 'a' + i);
    strbuf_adds(&sb, ")[-1]");
    char *got = normal_text(sb.buf, NULL);
    assert_string_equal(got, "-");
    free(got);
    strbuf_clear(&sb);
    for (int i = 0; i < 3000; i++)
        strbuf_addc(&sb, '(');
    got = normal_text(sb.buf, NULL);
    assert_string_equal(got, "-");
    free(got);
    strbuf_clear(&sb);
    strbuf_adds(&sb, "x");
    for (int i = 0; i < 400; i++)
        strbuf_addf(&sb, " * x%d", i);
    got = normal_text(sb.buf, NULL); /* more factors than are looked at in every order */
    assert_true(strlen(got) > 1000);
    free(got);
    strbuf_release(&sb);
}

/* One form is every spelling of it, and nothing else. */
static void test_norms(void **state)
{
    const char *const roles[] = {"x", "w", "eps"}, *const names[] = {"x", "w", "e"};
    const enum dtype types[] = {DT_F16, DT_F32, DT_F32};
    json_t *tensors = some_tensors();
    const struct form_names v = {roles, 2, 3, names, types, 3, 2, tensors};
    const char *form = "x * rsqrt(mean(x * x, $last, keepdim=True) + eps) * w";
    const char *const same[] = {
        "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + e) * w",
        "w * (x / torch.sqrt(e + torch.mean(torch.square(x), dim=1, keepdim=True)))",
        "(x.float() * torch.rsqrt((x.float() ** 2).mean(-1, True) + e)).to(x.dtype) * w",
        "x / ((x ** 2).sum(-1, keepdim=True) / C + e) ** 0.5 * w",
        "x * (1 / torch.sqrt(x.pow(2).mean(dim=(-1,), keepdim=True) + 1e-6)) * w",
        "(s := x.float(), w * s * (s.square().mean(-1, keepdim=True) + e).rsqrt())[-1].half()",
    };
    const char *const others[] = {
        "x * torch.rsqrt(x.pow(2).mean(0, keepdim=True) + e) * w",
        "x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + e) * w",
        "x * torch.rsqrt(x.pow(2).mean(-1) + e) * w",
        "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True)) * w",
        "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + e) * w * w",
        "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + e) * (1 + w)",
        "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) - e) * w",
        "x * torch.rsqrt(x.abs().mean(-1, keepdim=True) + e) * w",
        "x / (torch.sqrt(x.pow(2).mean(-1, keepdim=True)) + e) * w",
        "x / ((x ** 2).sum(-1, keepdim=True) / R + e) ** 0.5 * w",
        "w * torch.rsqrt(w.pow(2).mean(-1, keepdim=True) + e) * x",
        "x.int() * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + e) * w",
    };
    for (size_t i = 0; i < ARRAY_LEN(same) + ARRAY_LEN(others); i++) {
        bool want = i < ARRAY_LEN(same);
        const char *text = want ? same[i] : others[i - ARRAY_LEN(same)];
        int at[3] = {FORM_LACKS, FORM_LACKS, FORM_LACKS};
        double numbers[3] = {0};
        bool fixed = !want; /* x is x, or a form for w would be one for x */
        if (fixed)
            at[0] = 0;
        if (form_matches(form, text, &v, at, numbers) != want)
            fail_msg("'%s' %s", text, want ? "is not the form" : "is the form");
        if (want && strstr(text, "1e-6")) {
            assert_int_equal(at[2], FORM_NUMBER);
            assert_true(numbers[2] == 1e-6);
        } else if (want) {
            assert_int_equal(at[2], 2);
        }
    }
    json_decref(tensors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normal),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_norms),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
