/*
 * Tests which templates the author `playbook` takes for products and convolutions, and how it
 * splits larger graphs into launches.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "playbook/generate/part.h"
#include "playbook/playbook.h"
#include "playbook_rig.h"

/* The template for products in float32 uses one TF32 product if the task allows TF32, and otherwise
 * three. */
static void test_products_of_float32(void **state)
{
    struct fixture *f = *state;
    json_t *task = rig_facts("", "a @ b", "a float32 M,K; b float32 K,N; c float32 M,N out");
    built_in(f, "elementwise");
    for (int allowed = 0; allowed < 2; allowed++) {
        const struct playbook *first = NULL;
        struct pb_binding b;
        struct strbuf why = STRBUF_INIT(400), out = STRBUF_INIT(1 << 20);
        json_object_set_new(task, "allow_tf32", json_boolean(allowed));
        vec_each (struct playbook, pb, &f->shelf->books) {
            strbuf_clear(&why);
            if (!first && playbook_bind(pb, task, 90, &b, &why))
                first = pb;
        }
        assert_non_null(first);
        assert_string_equal(first->name, "gemm_3tf32_sm90");
        struct pb_point p = playbook_start(first, &b);
        assert_int_equal(playbook_expand(first, &b, &p, &out, NULL), 0);
        const char *want = allowed ? "kProducts = 1;" : "kProducts = 3;";
        assert_non_null(strstr(out.buf, want));
        pb_binding_release(&b);
        strbuf_release(&why);
        strbuf_release(&out);
    }
    json_decref(task);
}

/* Checks for which convolutions the template conv_tf32 fits, and some of the constants in its
 * kernel. The tile sizes with which the template starts (kBM) suit the largest timed shape. */
static void test_convolutions(void **state)
{
    static const struct {
        /* want: a text in the kernel, or after '!' one in the reason why the template fails */
        const char *torch, *tensors, *want;
    } cases[] = {
        {"F.relu(F.conv2d(x, w, b, stride=2, padding=(1, 0), dilation=3))",
         "x float32 N,C,H,W; w float32 O,C,3,5; b float32 O; y float32 N,O,(H-5)/2+1,(W-13)/2+1 "
         "out",
         "kGapD = 1, kGapH = 3, kGapW = 3"},
        {"F.conv2d(x, w, padding=1, groups=4)",
         "x float32 N,4*C,H,W; w float32 4*O,C,3,3; y float32 N,4*O,H,W out", "kBM = 64"},
        {"F.conv1d(x, w) * s.view(-1, 1)",
         "x float32 N,C,L; w float32 O,C,7; s float32 O; y float32 N,O,L-6 out",
         "kWindowD = 1, kWindowH = 1, kWindowW = 7"},
        {"F.conv3d(x, w)",
         "x float32 N,C,D,H,W; w float32 O,C,3,3,3; y float32 N,O,D-2,H-2,W-2 out", "kBM = 128"},
        {"F.conv1d(x, w, groups=C)", "x float32 N,C,L; w float32 C,1,3; y float32 N,C,L-2 out",
         "!depthwise"},
        {"F.conv1d(x, w) + F.conv1d(x, v)",
         "x float32 N,C,L; w float32 O,C,3; v float32 O,C,3; y float32 N,O,L-2 out",
         "!must have exactly one convolution"},
        {"F.conv1d(x, w)", "x float32 N,C,L; w float32 O,C,65; y float32 N,O,L-64 out",
         "!known size"},
        {"F.conv1d(x, w).sum(-1)", "x float32 N,C,L; w float32 O,C,3; y float32 N,O out", "!"},
        {"F.conv1d(x, w)", "x float16 N,C,L; w float16 O,C,3; y float16 N,O,L-2 out", "!float16"},
    };
    struct fixture *f = *state;
    built_in(f, "elementwise");
    const struct playbook *pb = rig_book(f->shelf, "conv_tf32");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pb_binding b;
        struct strbuf why = STRBUF_INIT(1000), out = STRBUF_INIT(1 << 20);
        json_t *task = rig_facts("", cases[i].torch, cases[i].tensors);
        bool fails = cases[i].want[0] == '!';
        json_object_set_new(task, "workloads",
                            json_pack("[{s:s, s:{s:i, s:i, s:i, s:i, s:i, s:i, s:i}}]", "role",
                                      "time", "axes", "N", 16, "C", 64, "O",
                                      strstr(cases[i].tensors, "4*O") ? 64 : 128, "D", 16, "H", 64,
                                      "W", 64, "L", 4096));
        bool fits = playbook_bind(pb, task, 90, &b, &why);
        if (fits == fails)
            fail_msg("'%s': %s", cases[i].torch, fits ? "fits" : why.buf);
        if (fits) {
            struct pb_point p = playbook_start(pb, &b);
            assert_int_equal(playbook_expand(pb, &b, &p, &out, NULL), 0);
            pb_binding_release(&b);
        }
        if (!strstr(fits ? out.buf : why.buf, cases[i].want + fails))
            fail_msg("'%s' has no '%s': %s", cases[i].torch, cases[i].want, why.buf);
        json_decref(task);
        strbuf_release(&why);
        strbuf_release(&out);
    }
}

/* The template for convolutions on Hopper fits if the task allows TF32, and if there is room for
 * the window in shared memory. */
static void test_convolutions_on_hopper(void **state)
{
    static const struct {
        /* want: a text in the kernel, or after '!' one in the reason why the template fails */
        const char *torch, *tensors, *want;
        bool tf32;
    } cases[] = {
        {"F.conv2d(x, w)", "x float32 N,C,H,W; w float32 O,C,3,5; y float32 N,O,H-2,W-4 out",
         "kKindsH = 1, kKindsW = 1, kReachH = 2, kReachW = 4", true},
        {"F.conv2d(x, w)", "x float32 N,C,H,W; w float32 O,C,3,5; y float32 N,O,H-2,W-4 out",
         "!`fits`", false},
        {"F.conv2d(x, w, stride=(2, 4), dilation=(2, 3))",
         "x float32 N,C,H,W; w float32 O,C,3,11; y float32 N,O,(H-5)/2+1,(W-31)/4+1 out",
         "kKindsH = 1, kKindsW = 4, kReachH = 2, kReachW = 6", true},
        {"F.conv2d(x, w, stride=2)",
         "x float32 N,C,H,W; w float32 O,C,1,1; y float32 N,O,(H-1)/2+1,(W-1)/2+1 out",
         "kKindsH = 1, kKindsW = 1, kReachH = 0, kReachW = 0", true},
        {"F.conv2d(x, w, dilation=100)",
         "x float32 N,C,H,W; w float32 O,C,9,9; y float32 N,O,H-800,W-800 out", "!`fits`", true},
    };
    struct fixture *f = *state;
    built_in(f, "elementwise");
    const struct playbook *pb = rig_book(f->shelf, "conv_sm90");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pb_binding b;
        struct strbuf why = STRBUF_INIT(1000), out = STRBUF_INIT(1 << 20);
        json_t *task = rig_facts("", cases[i].torch, cases[i].tensors);
        bool fails = cases[i].want[0] == '!';
        json_object_set_new(task, "allow_tf32_convs", json_boolean(cases[i].tf32));
        bool fits = playbook_bind(pb, task, 90, &b, &why);
        if (fits == fails)
            fail_msg("'%s': %s", cases[i].torch, fits ? "fits" : why.buf);
        if (fits) {
            struct pb_point p = playbook_start(pb, &b);
            assert_true(playbook_allows(pb, &b, &p));
            p.at[6] = 4; /* with more stages, shared memory is too small */
            p.at[7] = 15;
            assert_false(playbook_allows(pb, &b, &p));
            p = playbook_start(pb, &b);
            assert_int_equal(playbook_expand(pb, &b, &p, &out, NULL), 0);
            pb_binding_release(&b);
        }
        if (!strstr(fits ? out.buf : why.buf, cases[i].want + fails))
            fail_msg("'%s' has no '%s': %s", cases[i].torch, cases[i].want, why.buf);
        json_decref(task);
        strbuf_release(&why);
        strbuf_release(&out);
    }
}

/* This task allows TF32 for convolutions, but not for matrix products. So the convolution in the
 * generated file uses one TF32 product. */
static void test_convolution_in_a_graph(void **state)
{
    struct fixture *f = *state;
    json_t *task = rig_facts("", "F.conv1d(F.relu(x), w).amax(-1)",
                             "x float32 N,C,L; w float32 O,C,3; y float32 N,O out");
    struct pb_binding b;
    struct strbuf why = STRBUF_INIT(1000), out = STRBUF_INIT(8 << 20);
    built_in(f, "elementwise");
    json_object_set_new(task, "allow_tf32_convs", json_true());
    const struct playbook *pb = rig_book(f->shelf, "generate");
    assert_true(playbook_bind(pb, task, 90, &b, &why));
    struct pb_point p = playbook_start(pb, &b);
    assert_int_equal(playbook_expand(pb, &b, &p, &out, NULL), 0);
    assert_non_null(strstr(out.buf, "::pack_weights\""));
    assert_non_null(strstr(out.buf, "kProducts = 1;"));
    assert_null(strstr(out.buf, "extern \"C\" __global__ void __launch_bounds__(256)\n    pack"));
    pb_binding_release(&b);
    json_decref(task);
    strbuf_release(&why);
    strbuf_release(&out);
}

/* Appends to `out` the candidate that the playbook `generate` writes for a task on sm_90. Releases
 * the task. */
static void generated(struct fixture *f, json_t *task, struct strbuf *out)
{
    struct pb_binding b;
    struct strbuf why = STRBUF_INIT(1000);
    built_in(f, "elementwise");
    const struct playbook *pb = rig_book(f->shelf, "generate");
    if (!playbook_bind(pb, task, 90, &b, &why))
        fail_msg("%s", why.buf);
    struct pb_point p = playbook_start(pb, &b);
    assert_int_equal(playbook_expand(pb, &b, &p, out, NULL), 0);
    pb_binding_release(&b);
    json_decref(task);
    strbuf_release(&why);
}

/* Hone moves a mean into the convolution before it, so that the convolution multiplies sums of
 * elements. These sums are not rounded to TF32, even if the task allows TF32. So it uses three TF32
 * products. */
static void test_convolution_of_sums(void **state)
{
    struct fixture *f = *state;
    json_t *task = rig_facts("", "torch.tanh(F.conv2d(x, w, padding=1).mean(2))",
                             "x float32 N,C,H,W; w float32 O,C,3,3; y float32 N,O,W out");
    struct strbuf out = STRBUF_INIT(8 << 20);
    json_object_set_new(task, "allow_tf32_convs", json_true());
    generated(f, task, &out);
    assert_non_null(strstr(out.buf, "kProducts = 3;"));
    assert_null(strstr(out.buf, "kProducts = 1;"));
    strbuf_release(&out);
}

/* A twin does the work of another kernel, but for other sizes: it reads vectors (_vector), or has
 * wide indices (_wide). Returns whether a kernel is a twin. */
static bool is_twin(const char *kernel)
{
    const char *end = kernel + strlen(kernel);
    return (end - kernel > 7 && !strcmp(end - 7, "_vector")) ||
           (end - kernel > 5 && !strcmp(end - 5, "_wide"));
}

/* Sets *with to the number of launches of kernels whose names contain `part`. Sets *without to the
 * number of other launches, without those of twins. */
static void count_launches(const char *source, const char *part, int *with, int *without)
{
    const char *at = strstr(source, "/* hone-plan"), *end = strstr(at, "*/");
    json_t *plan = json_loadb(at + 12, (size_t)(end - at - 12), 0, NULL), *l;
    size_t i;
    assert_non_null(plan);
    *with = *without = 0;
    json_array_foreach(json_object_get(plan, "launches"), i, l)
    {
        const char *kernel = json_string_value(json_object_get(l, "kernel"));
        if (strstr(kernel, part))
            ++*with;
        else if (!is_twin(kernel))
            ++*without;
    }
    json_decref(plan);
}

static void launches_of(struct fixture *f, const char *torch, const char *tensors,
                        struct strbuf *out, int *templates, int *others)
{
    generated(f, rig_facts("", torch, tensors), out);
    count_launches(out->buf, "::", templates, others);
}

/* In a generated file, a product is done by a template, which also does elementwise work after it.
 * Products of the same form share the template's code. A product with a vector uses no template. */
static void test_products_in_a_graph(void **state)
{
    static const struct {
        const char *torch, *tensors;
        int products, others;
        unsigned codes;
        const char *want;
    } cases[] = {
        {"F.relu(x @ w.T + b).amax(-1)",
         "x float32 M,K; w float32 N,K; b float32 N; y float32 M out", 6, 1, 1, "v2"},
        {"torch.softmax(x @ w, -1) @ w.T", "x float32 M,K; w float32 K,N; y float32 M,K out", 14, 1,
         3, "\"dtype\": \"float32\""},
        {"torch.softmax(x @ w, -1) @ u",
         "x float32 M,K; w float32 K,N; u float32 N,O; y float32 M,O out", 14, 1, 2, "c0::gemm"},
        {"(x @ w).amax(-1)", "x float32 M,400; w float32 400,N; y float32 M out", 2, 1, 1,
         "c0::gemm"},
        {"(F.silu(x @ w) * (x @ u)).amax(-1)",
         "x float32 M,K; w float32 K,N; u float32 K,N; y float32 M out", 12, 1, 2, "c6::gemm"},
        {"(x @ w).amax(-1)", "x float32 M,K; w float32 K,N; y float32 M out", 6, 1, 1,
         "\"tensor\": \"c0_packA\""}, /* the tensor map reads a workspace of the template */
        {"(x @ w.mT).amax(-1)", "x float16 M,K; w float16 N,K; y float16 M out", 10, 1, 1,
         "\"tensor\": \"work0\""},
        {"F.scaled_dot_product_attention(q, k, v)",
         "q bfloat16 B,H,L,D; k bfloat16 B,H,S,D; v bfloat16 B,H,S,D; y bfloat16 B,H,L,D out", 7, 1,
         1, "::flash<"},
        /* If a product of 16-bit floats has no template, one TF32 product is enough. */
        {"(x @ w.mT).unsqueeze(1) @ v",
         "x float16 B,M,K; w float16 N,K; v float16 C,N,P; y float16 B,C,M,P out", 14, 1, 3,
         "kProducts = 1;"},
        {"(x.unsqueeze(2) * w).sum(1).amax(-1)", "x float32 M,K; w float32 K,N; y float32 M out", 0,
         2, 0, "_sum"},
        {"torch.softmax(x @ v, 0)", "x float32 M,K; v float32 K; y float32 M out", 0, -1, 0,
         "_matmul"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct strbuf out = STRBUF_INIT(8 << 20);
        int products, others;
        launches_of(f, cases[i].torch, cases[i].tensors, &out, &products, &others);
        if (products != cases[i].products || (cases[i].others >= 0 && others != cases[i].others) ||
            !strstr(out.buf, cases[i].want))
            fail_msg("'%s': %d launches of templates, %d others, or no '%s'", cases[i].torch,
                     products, others, cases[i].want);
        unsigned codes = 0;
        for (const char *at = out.buf; (at = strstr(at, "\nnamespace c")); at++)
            codes++;
        assert_int_equal(codes, cases[i].codes);
        strbuf_release(&out);
    }
}

/* Checks how many launches reductions take, and a part of their text. A loop over neighbouring axes
 * has no divisions. */
static void test_reductions_in_one_launch(void **state)
{
    static const struct {
        const char *torch, *tensors;
        int launches;
        const char *want;
    } cases[] = {
        {"(x - x.mean((0, 2), True)) * torch.rsqrt(x.var((0, 2), correction=0, keepdim=True) + "
         "1e-5)",
         "x float32 N,C,L; y float32 N,C,L out", 2, "PART"},
        {"(x - x.mean(1, True)) * torch.rsqrt(x.var(1, correction=0, keepdim=True) + 1e-5)",
         "x float32 N,C,L; y float32 N,C,L out", 1, "(sum), value"},
        {"torch.softmax(x, 1)", "x float32 N,C,L; y float32 N,C,L out", 1, "(amax), value"},
        {"x - x.sum(1, True) * (x * x).sum(1, True).transpose(0, 2)",
         "x float32 N,C,N; y float32 N,C,N out", 2, "(sum), value"},
        {"x.reshape(N, C, L, 4).amax(-1).sum(1)", "x float32 N,C,L*4; y float32 N,L out", 1,
         "_output"},
        {"x.sum((1, 2))", "x float32 N,C,L; y float32 N out", 2, "= i1 * (AX(C) * AX(L))"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct strbuf out = STRBUF_INIT(8 << 20);
        int templates, others;
        launches_of(f, cases[i].torch, cases[i].tensors, &out, &templates, &others);
        if (others != cases[i].launches || !strstr(out.buf, cases[i].want))
            fail_msg("'%s': %d launches, or no '%s'", cases[i].torch, others, cases[i].want);
        strbuf_release(&out);
    }
}

/* If all the work after a product is along its rows, one template may do all of it. `fits` says
 * whether it does. */
static void test_work_after_products(void **state)
{
    static const struct {
        const char *torch, *tensors;
        bool fits;
    } cases[] = {
        {"F.layer_norm(x @ w, (N,))", "x float32 M,K; w float32 K,N; y float32 M,N out", true},
        {"torch.tanh(torch.softmax(x @ w, -1))", "x float32 M,K; w float32 K,N; y float32 M,N out",
         true},
        {"F.layer_norm(torch.softmax(x @ w, 0), (N,))",
         "x float32 M,K; w float32 K,N; y float32 M,N out", false}, /* works along two axes */
        {"F.layer_norm(x @ w, (N,))", "x float16 M,K; w float16 K,N; y float16 M,N out", true},
        {"F.layer_norm(x, (K,)) @ w", "x bfloat16 M,K; w bfloat16 K,N; y bfloat16 M,N out", true},
        {"torch.cumsum(x @ w, 1)", "x float32 M,K; w float32 K,N; y float32 M,N out", false},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct strbuf out = STRBUF_INIT(8 << 20);
        int templates, others;
        launches_of(f, cases[i].torch, cases[i].tensors, &out, &templates, &others);
        if ((others == 0) != cases[i].fits || !strstr(out.buf, "::rows<") == cases[i].fits)
            fail_msg("'%s': %d launches are generated", cases[i].torch, others);
        strbuf_release(&out);
    }
}

/* Products of 16-bit matrices read and write 16-bit workspaces, as tensor maps see them. If a
 * template for one product is missing, all are computed from copies in float32. */
static void test_chains_of_halves(void **state)
{
    static const char tensors[] =
        "x bfloat16 M,K; w bfloat16 K,N; v bfloat16 N,P; y bfloat16 M,P out";
    static const char attention[] =
        "x float16 B,S,N; w float16 N,N; y float16 B,S,N out; H axis 4; D axis 16";
    struct fixture *f = *state;
    struct strbuf out = STRBUF_INIT(8 << 20);
    int templates, others;
    launches_of(f, "F.relu(x @ w) @ v", tensors, &out, &templates, &others);
    assert_int_equal(others, 0);
    assert_non_null(strstr(out.buf, "\"work0\": { \"bytes\": \"2*M*N\""));
    assert_non_null(strstr(out.buf, "\"dtype\": \"bfloat16\""));
    strbuf_clear(&out);
    launches_of(f, "F.scaled_dot_product_attention(x @ w, x @ w, x @ w) @ w", attention, &out,
                &templates, &others);
    assert_int_equal(others, 0);
    assert_non_null(strstr(out.buf, "::flash<"));
    strbuf_clear(&out);
    launches_of(f, "(x @ w).unsqueeze(1) @ v",
                "x bfloat16 B,M,K; w bfloat16 K,N; v bfloat16 C,N,P; y bfloat16 B,C,M,P out", &out,
                &templates, &others);
    assert_int_equal(others, 1); /* a product of batches that no template knows */
    assert_null(strstr(out.buf, "\"dtype\": \"bfloat16\""));
    strbuf_release(&out);
}

/* If windows do not overlap, each element is read once. So the results of the work before the
 * windows are not stored, but computed where the windows read them. The maximum of a few elements
 * is also computed where it is read. */
static void test_work_before_windows(void **state)
{
    static const char graph[] =
        "{'version': 1, 'axes': ['N'], 'scalars': [], 'guards': [],"
        " 'inputs': [{'name': 'x', 'dtype': 'float32', 'shape': ['N', 64]}],"
        " 'values': [{'id': '%%1', 'op': 'tanh', 'args': ['x']},"
        "  {'id': '%%2', 'op': 'sin', 'args': ['%%1']},"
        "  {'id': '%%3', 'op': 'windows', 'args': ['%%2'],"
        "   'attrs': {'dim': [1], 'size': '%d', 'step': 2, 'dilation': 1}},"
        "  {'id': '%%4', 'op': 'amax', 'args': ['%%3'], 'attrs': {'dim': [2], 'keepdim': false}}],"
        " 'outputs': [{'name': 'y', 'dtype': 'float32', 'shape': ['N', %d], 'value': '%%4'}]}";
    struct fixture *f = *state;
    for (int size = 2; size < 4; size++) {
        struct strbuf out = STRBUF_INIT(8 << 20);
        int templates, others;
        json_t *task = rig_facts("", "graph", "x float32 N,64; y float32 N,32 out");
        char text[1024];
        snprintf(text, sizeof text, graph, size, size == 2 ? 32 : 31);
        for (char *c = text; *c; c++)
            *c = *c == '\'' ? '"' : *c;
        json_object_set_new(task, "graph", json_loads(text, 0, NULL));
        generated(f, task, &out);
        count_launches(out.buf, "::", &templates, &others);
        assert_int_equal(others, size == 2 ? 1 : 2);
        strbuf_release(&out);
    }
}

/* A part is the code of a template inside a generated file. It loses the lines that hold only a
 * comment. But a line stays if it ends a longer comment, or if its last backslash joins it to the
 * next line. */
static void test_comments_of_a_part(void **state)
{
    (void)state;
    static const struct {
        const char *code, *want;
    } cases[] = {
        {"int x;\n  // old\nint y; // z\n", "int x;\nint y; // z\n"},
        {"/* a\n// old */\n// b\nint y;\n", "/* a\n// old */\nint y;\n"},
        {"/*/\n// old */\nint y;\n", "/*/\n// old */\nint y;\n"},
        {"// x \\\nint y;\n// z\n", "// x \\\nint y;\n"},
        {"// x \\\n// y\nint z;\n", "// x \\\n// y\nint z;\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        enum { N = 5 };
        struct strbuf s[N];
        struct part_code_vec codes = VEC_INIT;
        for (int k = 0; k < N; k++)
            strbuf_init(&s[k], 4096);
        char *source = xasprintf(
            "/* hone-plan {\"launches\": [{\"kernel\": \"k\", \"args\": []}]} */%s", cases[i].code);
        char *want = xasprintf("namespace c0 {\n%s}\n", cases[i].want);
        const struct part_texts texts = {&s[0], &s[1], &s[2], &s[3], &s[4], &codes};
        assert_int_equal(part_add(source, NULL, "c0", "work", true, &texts), 1);
        assert_string_equal(s[4].buf, want);
        for (int k = 0; k < N; k++)
            strbuf_release(&s[k]);
        part_codes_release(&codes);
        free(source);
        free(want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comments_of_a_part),
        cmocka_unit_test_setup_teardown(test_products_of_float32, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_convolutions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_convolutions_on_hopper, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_convolution_in_a_graph, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_convolution_of_sums, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_products_in_a_graph, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reductions_in_one_launch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_work_after_products, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_chains_of_halves, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_work_before_windows, set_up, tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
