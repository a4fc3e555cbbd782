/*
 * compile.c - `hone compile`: compiles a kernel file and prints PTX, cubin, machine code or facts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "compile/compile.h"
#include "compile/compile_service.h"
#include "compile/diag.h"
#include "compile/sass.h"
#include "eval/bundle_files.h"
#include "plan/plan.h"
#include "sys/file.h"
#include "sys/gpu_probe.h"
#include "sys/interrupt.h"
#include "sys/json.h"
#include "sys/toolchain.h"

static const char *const param_kinds[] = {"pointer", "int", "float", "bool", "struct"};

static json_t *sig_json(const struct sig *s)
{
    json_t *params = json_array();
    for (uint32_t i = 0; i < s->nparams; i++) {
        const struct sig_param *p = &s->params[i];
        json_t *j = json_pack("{s:s, s:i, s:i}", "kind", param_kinds[p->kind], "size", (int)p->size,
                              "align", (int)p->align);
        if (p->kind == SIG_INT)
            json_object_set_new(j, "signed", json_boolean(p->is_signed));
        if (p->kind == SIG_POINTER) {
            json_object_set_new(j, "const", json_boolean(p->is_const));
            json_object_set_new(j, "elem_size", json_integer(p->elem_size));
            if (p->elem != DT_NONE)
                json_object_set_new(j, "elem", json_string(dtype_name(p->elem)));
        }
        json_array_append_new(params, j);
    }
    return params;
}

static json_t *kernels_json(const struct compiled *c)
{
    json_t *out = json_array();
    for (size_t i = 0; i < c->kernels.n; i++) {
        const struct kernel_info *k = &c->kernels.items[i];
        json_t *j = json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i}", "name", k->name, "registers",
                              (int)k->registers, "spill_store_bytes", (int)k->spill_store_bytes,
                              "spill_load_bytes", (int)k->spill_load_bytes, "static_smem_bytes",
                              (int)k->static_smem_bytes, "stack_bytes", (int)k->stack_bytes,
                              "max_threads", (int)k->max_threads);
        vec_each (struct sig, s, &c->sigs)
            if (str_eq(sig_entry(s), k->name))
                json_object_set_new(j, "params", sig_json(s));
        json_array_append_new(out, j);
    }
    return out;
}

static json_t *diags_json(const struct compiled *c)
{
    static const char *const severities[] = {"error", "warning", "note"};
    json_t *out = json_array();
    vec_each (struct diag, d, &c->diags) {
        json_t *frames = json_array();
        for (size_t i = 0; i < d->frames.n; i++)
            json_array_append_new(frames,
                                  json_pack("{s:i, s:o}", "line", (int)d->frames.items[i].line,
                                            "text", json_text(d->frames.items[i].text)));
        json_array_append_new(out,
                              json_pack("{s:s, s:o, s:i, s:i, s:o, s:s, s:o}", "severity",
                                        severities[d->severity], "file", json_text(d->file), "line",
                                        (int)d->line, "column", (int)d->column, "message",
                                        json_text(d->message), "hint", d->hint, "frames", frames));
    }
    return out;
}

/* Returns the instruction counts of each kernel as JSON. The array is empty if Hone could not read
 * the machine code. */
static json_t *machine_json(const struct sass_vec *v)
{
    json_t *out = json_array();
    vec_each (struct sass_kernel, k, v) {
        json_t *kinds = json_object();
        for (int i = 0; i < SASS_KINDS; i++)
            if (k->kinds[i])
                json_object_set_new(kinds, sass_kind_name((enum sass_kind)i),
                                    json_integer(k->kinds[i]));
        json_array_append_new(out, json_pack("{s:s, s:i, s:o, s:i, s:i}", "kernel", k->name,
                                             "instructions", (int)k->total, "kinds", kinds,
                                             "global_loads", (int)k->global_loads, "wide_loads",
                                             (int)k->wide_loads));
    }
    return out;
}

static void print_machine(const struct sass_vec *v, const struct strbuf *listing)
{
    vec_each (struct sass_kernel, k, v) {
        printf("%s: %u instructions\n", k->name, k->total);
        for (int i = 0; i < SASS_KINDS; i++)
            if (k->kinds[i])
                printf("  %-9s %6u  %4.1f%%\n", sass_kind_name((enum sass_kind)i), k->kinds[i],
                       100.0 * k->kinds[i] / k->total);
        if (k->global_loads)
            printf("  %.0f%% of %u global loads move 16 bytes per thread\n",
                   100.0 * k->wide_loads / k->global_loads, k->global_loads);
    }
    fwrite(listing->buf, 1, listing->len, stdout);
}

static void print_json(const struct compiled *c, const struct sass_vec *machine)
{
    json_t *j = json_pack(
        "{s:b, s:s, s:s, s:o, s:s, s:b, s:b, s:b, s:f, s:f, s:I, s:I, s:o, s:o}", "ok", c->ok,
        "failure", c->failure, "compiler", c->compiler, "arch", json_text(c->arch), "key", c->key,
        "cached", c->from_cache, "pch", c->used_pch, "family_pch", c->used_family_pch, "compile_s",
        (double)c->compile_ns / 1e9, "cpu_s", (double)c->cpu_ns / 1e9, "ptx_bytes",
        (json_int_t)c->ptx_len, "cubin_bytes", (json_int_t)c->cubin_len, "kernels", kernels_json(c),
        "diagnostics", diags_json(c));
    if (c->ok)
        json_object_set_new(j, "machine", machine_json(machine));
    json_print(stdout, j);
    json_decref(j);
}

static void print_facts(const struct compiled *c)
{
    printf("%s for %s, %.2f s%s%s\n", c->compiler, c->arch, (double)c->compile_ns / 1e9,
           c->from_cache ? " (cached)" : "", c->used_pch ? " (precompiled header)" : "");
    for (size_t i = 0; i < c->kernels.n; i++) {
        const struct kernel_info *k = &c->kernels.items[i];
        printf("  %-20s %3u registers, %u B static shared, %u B stack, spills %u/%u B\n", k->name,
               k->registers, k->static_smem_bytes, k->stack_bytes, k->spill_store_bytes,
               k->spill_load_bytes);
    }
    if (!c->kernels.n)
        puts("  no kernel: nothing in it is extern \"C\" __global__");
}

static void print_diags(const struct compiled *c, unsigned max_lines)
{
    struct strbuf sb = STRBUF_INIT(1 << 20);
    if (*c->failure)
        strbuf_addf(&sb, "%s\n", c->failure);
    diag_text(&c->diags, max_lines - (*c->failure != '\0'), &sb);
    fwrite(sb.buf, 1, sb.len, stderr);
    strbuf_release(&sb);
}

/* Writes the architecture of GPU 0, or Hopper's if this machine has no GPU, and returns `out`. */
static const char *device_arch(char out[16])
{
    struct gpu_probe gpu;
    gpu_arch(gpu_probe(&gpu, NULL) == 0 && gpu.n ? gpu.gpus[0].sm : 90, out);
    return out;
}

struct want {
    bool ptx, cubin, sass, json, log;
    const char *output;
};

static int print_result(const struct compiled *c, const struct want *w, struct err *err)
{
    const void *bytes = w->ptx ? c->ptx : c->cubin;
    size_t len = w->ptx ? c->ptx_len : c->cubin_len;
    struct sass_vec machine = VEC_INIT;
    struct strbuf listing = STRBUF_INIT(64 << 20);
    struct arena a = ARENA_INIT;
    struct toolchain tc;
    toolchain_find(&tc);
    /* Only --sass needs the listing, and so the disassembler. Without its path, sass_count() only
     * counts. */
    if (c->ok && (w->sass || w->json) &&
        sass_count(c->cubin, c->cubin_len, w->sass ? tc.cuobjdump : "", &machine, &listing, &a,
                   err) < 0)
        fprintf(stderr, "hone: %s\n", err->msg);
    toolchain_release(&tc);
    int rc = c->ok ? HONE_OK : HONE_NEGATIVE;
    if (w->log)
        fputs(c->log, stderr);
    if (w->json)
        print_json(c, &machine);
    else if (!c->ok)
        print_diags(c, 40);
    else if (w->sass)
        print_machine(&machine, &listing);
    else if (w->output)
        rc = file_write(w->output, bytes, len, err) < 0 ? cmd_fail(err) : HONE_OK;
    else if (w->ptx || w->cubin)
        fwrite(bytes, 1, len, stdout);
    else
        print_facts(c);
    vec_release(&machine);
    strbuf_release(&listing);
    arena_release(&a);
    return rc;
}

/* Returns the source's plan, which may have options for the compiler. Returns NULL if there is no
 * plan, or one with mistakes. */
static struct plan *read_plan(const struct strbuf *src)
{
    struct problem_vec problems = VEC_INIT;
    struct plan *plan = plan_parse(src->buf, src->len, NULL, &problems);
    for (size_t i = 0; i < problems.n; i++)
        free(problems.items[i].text);
    vec_release(&problems);
    return plan;
}

/* Returns the kernels that the plan launches, if one of them is an instance of a template or is in
 * a namespace: the compiler must be told of these. Else returns NULL. */
static const char **named_kernels(const struct plan *plan, size_t *n, struct arena *mem)
{
    const char **kernels = plan ? kernels_of_plan(plan, n, mem) : NULL;
    for (size_t i = 0; i < *n; i++)
        if (strpbrk(kernels[i], "<:"))
            return kernels;
    *n = 0;
    return NULL;
}

static int run(int argc, const char **argv)
{
    /* The compile service is this program with other arguments (compile/compile_service.h). */
    if (argc >= 4 && str_eq(argv[1], COMPILE_SERVICE_ARG)) {
        interrupt_default();
        return compile_service_main(argv[2], (unsigned)strtoul(argv[3], NULL, 10));
    }
    struct want w = {0};
    bool cache = true, pch = true;
    const char *arch = NULL;
    char own_arch[16];
    struct compiler_config cfg = {0};
    const struct option opts[] = {
        OPT_STR(0, "arch", &arch, "SM",
                "sm_75 ... sm_121a (default: that of this machine's GPU, else sm_90a)"),
        OPT_STR(0, "compiler", &cfg.kind, "NAME", CMD_COMPILER_HELP),
        OPT_FLAG(0, "ptx", &w.ptx, "print the PTX on stdout"),
        OPT_FLAG(0, "cubin", &w.cubin, "print the cubin on stdout; redirect it"),
        OPT_FLAG(0, "sass", &w.sass,
                 "print machine code: counts by kind, and the listing if cuobjdump is there"),
        OPT_FLAG(0, "json", &w.json, "print facts, parameter types and diagnostics as JSON"),
        OPT_FLAG(0, "log", &w.log, "also print the compiler's own log, on stderr"),
        OPT_STR('o', "output", &w.output, "FILE",
                "write the cubin (with --ptx the PTX) to FILE, and print nothing; not with --sass\n"
                "and --json"),
        OPT_POS_TIME(0, "time-limit", &cfg.child_ns, "TIME",
                     "end the compiler after this time (default 120s)"),
        OPT_POS_BYTES(0, "memory-limit", &cfg.child_bytes, "SIZE",
                      "most resident memory of the compiler (default 6G)"),
        OPT_FLAG(0, "cache", &cache,
                 "use the compile cache (default); --no-cache neither reads nor writes it"),
        OPT_FLAG(0, "pch", &pch,
                 "use precompiled headers (default); --no-pch does not, which is slower"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone compile [options] KERNEL.cu",
        .about =
            "Compiles a kernel and prints facts about it: registers, shared memory, stack and\n"
            "spills; or says why it does not compile. One of --ptx, --cubin, --sass and --json\n"
            "prints something else in place of the facts.",
        .example = "hone compile kernels/softmax.cu\nhone compile --ptx kernels/softmax.cu",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc != 1)
        return cmd_usage(&spec, "give one KERNEL.cu");
    if (w.ptx + w.cubin + w.sass + w.json > 1)
        return cmd_usage(&spec, "give one of --ptx, --cubin, --sass and --json");
    if (w.output && (w.sass || w.json))
        return cmd_usage(&spec, "--output is for --ptx and --cubin");
    w.cubin |= w.output && !w.ptx;
    cfg.no_cache = !cache;
    cfg.no_pch = !pch;
    struct err err = ERR_INIT;
    struct strbuf src = STRBUF_INIT(CMD_MAX_SOURCE);
    struct compiler *c = NULL;
    struct compiled out = {0};
    struct plan *plan = NULL;
    struct arena mem = ARENA_INIT;
    int rc;
    const char *base = strrchr(argv[0], '/');
    if (cmd_read_source(argv[0], &src, &err) < 0 || compiler_open(&c, &cfg, &err) < 0) {
        rc = cmd_fail(&err);
        goto out;
    }
    plan = read_plan(&src);
    size_t nkernels = 0;
    const char **kernels = named_kernels(plan, &nkernels, &mem);
    struct compile_request rq = {.source = src.buf,
                                 .len = src.len,
                                 .kernels = kernels,
                                 .nkernels = nkernels,
                                 .options = plan ? plan_compile_options(plan) : NULL,
                                 .name = base ? base + 1 : argv[0],
                                 .arch = arch ? arch : device_arch(own_arch)};
    if (compile_run(c, &rq, &out, &err) < 0)
        rc = cmd_fail(&err);
    else
        rc = print_result(&out, &w, &err);
out:
    compiled_release(&out);
    compiler_close(c);
    plan_free(plan);
    arena_release(&mem);
    strbuf_release(&src);
    return rc;
}

const struct command cmd_compile = {"compile", "a kernel to PTX, cubin and facts", run};
