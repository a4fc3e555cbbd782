/*
 * doctor.c - `hone doctor`: shows what this machine has, and what each missing thing would enable.
 * The exit status only says whether Hone can evaluate a kernel here, on a GPU or on the emulator.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "author/key.h"
#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "sys/dl.h"
#include "sys/file.h"
#include "sys/gpu_probe.h"
#include "sys/json.h"
#include "sys/proc.h"
#include "sys/toolchain.h"

struct row {
    const char *name;
    bool found;
    bool essential;     /* if this is missing, the output marks it with "NO!" */
    const char *detail; /* version or path, or why it is missing */
    const char *enables;
};

struct doctor {
    struct arena arena;
    struct toolchain tc;
    VEC(struct row) rows;
};

/* Returns the path. If it is below the current directory, leaves out that directory. */
static const char *shown(const char *path)
{
    char cwd[4096];
    size_t n = getcwd(cwd, sizeof cwd) ? strlen(cwd) : 0;
    return n > 1 && strncmp(path, cwd, n) == 0 && path[n] == '/' ? path + n + 1 : path;
}

static void add_row(struct doctor *d, const char *name, bool found, bool essential,
                    const char *detail, const char *enables)
{
    *vec_push(&d->rows) =
        (struct row){name, found, essential, arena_strdup(&d->arena, detail), enables};
}

/* ---- probes ------------------------------------------------------------------------------- */

/* Runs a program. Returns the first line of its output that contains `want`; NULL if there is none,
 * or if the program failed. */
static const char *first_line_with(struct doctor *d, const char *const *argv, const char *want,
                                   uint64_t limit_ns)
{
    struct child_process c = CHILD_INIT;
    const char *found = NULL;
    c.argv = argv;
    c.limit_ns = limit_ns;
    c.max_out = 64 << 10;
    c.merge = true;
    if (child_run(&c, NULL) == 0 && c.end == CHILD_EXITED && c.code == 0) {
        const char *hit = strstr(c.out.buf, want);
        while (hit && hit > c.out.buf && hit[-1] != '\n')
            hit--;
        if (hit)
            found = arena_strndup(&d->arena, hit, strcspn(hit, "\r\n"));
    }
    child_release(&c);
    return found;
}

static void check_gpu(struct doctor *d)
{
    const char *enables = "running and timing kernels for real; without it, the emulator";
    struct gpu_probe g;
    struct err err = ERR_INIT;
    if (gpu_probe(&g, &err) < 0 || !g.n) {
        char *tail = strstr(err.msg, ": running on a GPU is off");
        if (tail)
            *tail = '\0';
        add_row(d, "gpu", false, false, *err.msg ? err.msg : "none visible", enables);
        return;
    }
    for (unsigned i = 0; i < g.n; i++)
        add_row(d, "gpu", true, false,
                arena_printf(&d->arena, "%s, sm_%u, %u SMs, %.1f GiB", g.gpus[i].name, g.gpus[i].sm,
                             g.gpus[i].sms, (double)g.gpus[i].mem_bytes / 0x1p30),
                enables);
    add_row(d, "driver", true, false,
            arena_printf(&d->arena, "%s, CUDA up to %u.%u", *g.driver ? g.driver : "unknown",
                         g.cuda_max / 1000, g.cuda_max % 1000 / 10),
            "running kernels");
}

static void check_nvrtc(struct doctor *d)
{
    const char *enables = "compiling kernels in seconds, with precompiled headers";
    const char *const names[] = {d->tc.nvrtc_lib, NULL};
    int (*version)(int *, int *), major = 0, minor = 0;
    const struct dl_symbol syms[] = {{"nvrtcVersion", &version}, {NULL, NULL}};
    void *h;
    struct err err = ERR_INIT;
    if (!*d->tc.nvrtc_lib) {
        add_row(d, "nvrtc", false, true, "no libnvrtc found", enables);
        return;
    }
    if (dl_load(&h, names, syms, "compiling", "see tools/setup", &err) < 0) {
        add_row(d, "nvrtc", false, true, err.msg, enables);
        return;
    }
    version(&major, &minor);
    add_row(d, "nvrtc", true, true,
            arena_printf(&d->arena, "%d.%d, %s", major, minor, shown(d->tc.nvrtc_lib)), enables);
    dl_close(h);
}

static void check_tool(struct doctor *d, const char *name, const char *path, const char *want,
                       const char *enables)
{
    const char *const argv[] = {path, "--version", NULL};
    const char *line = *path ? first_line_with(d, argv, want, 10 * SEC) : NULL;
    if (!*path)
        add_row(d, name, false, false, "not found", enables);
    else if (!line)
        add_row(d, name, false, false, arena_printf(&d->arena, "%s does not run", shown(path)),
                enables);
    else
        add_row(d, name, true, false, arena_printf(&d->arena, "%s, %s", line, shown(path)),
                enables);
}

static void check_cute(struct doctor *d)
{
    const char *v = toolchain_cute_version(&d->tc);
    add_row(d, "cute", *d->tc.cute_include, true,
            *d->tc.cute_include ? arena_printf(&d->arena, "%s, %s", v, shown(d->tc.cute_include))
                                : "no cute/tensor.hpp found (tools/setup fetches it)",
            "kernels written with CuTe and CUTLASS");
}

static void check_ncu(struct doctor *d)
{
    check_tool(d, "ncu", d->tc.ncu, "Version", "hardware profiles; without it, emulator counters");
    struct strbuf sb = STRBUF_INIT(64 << 10);
    /* The driver may allow only root to read performance counters. */
    if (*d->tc.ncu && geteuid() != 0 &&
        file_read("/proc/driver/nvidia/params", sb.max, &sb, NULL) == 0 &&
        strstr(sb.buf, "RmProfilingAdminOnly: 1")) {
        struct row *r = &d->rows.items[d->rows.n - 1];
        r->found = false;
        r->detail =
            arena_printf(&d->arena, "%s, but the driver allows counters to root only", r->detail);
    }
    strbuf_release(&sb);
}

static void check_torch(struct doctor *d)
{
    const char *enables = "hone import, and PyTorch as a baseline on a GPU";
    const char *named = getenv("HONE_PYTHON"), *python = named && *named ? named : "python3";
    const char *const argv[] = {python, "-c",
                                "import torch; print('torch', torch.__version__, "
                                "'with CUDA' if torch.cuda.is_available() else 'CPU only')",
                                NULL};
    struct strbuf sb = STRBUF_INIT(4096);
    if (!find_program(python, &sb)) {
        add_row(d, "torch", false, false, arena_printf(&d->arena, "no %s", python), enables);
    } else {
        const char *line = first_line_with(d, argv, "torch ", 60 * SEC);
        add_row(d, "torch", line, false,
                line ? line : arena_printf(&d->arena, "%s cannot import torch", python), enables);
    }
    strbuf_release(&sb);
}

static void check_library(struct doctor *d, const char *name, const char *file, const char *symbol,
                          const char *package, const char *enables)
{
    const char *const names[] = {file, NULL};
    void *fn, *h;
    const struct dl_symbol syms[] = {{symbol, &fn}, {NULL, NULL}};
    bool found = dl_load(&h, names, syms, "", "", NULL) == 0;
    add_row(d, name, found, false,
            found ? file : arena_printf(&d->arena, "no %s (Debian: %s)", file, package), enables);
    if (found)
        dl_close(h);
}

/* Prints only where a key is, never the key. */
static void check_keys(struct doctor *d)
{
    static const char *const keys[] = {"ANTHROPIC_API_KEY", "OPENAI_API_KEY"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct strbuf key = STRBUF_INIT(4096);
        struct err err = ERR_INIT;
        bool found = key_find(keys[i], &key, &err) == 0;
        const char *v = getenv(keys[i]);
        memset(key.buf, 0, key.len);
        strbuf_release(&key);
        add_row(d, keys[i], found, false,
                !found    ? err.msg
                : v && *v ? "set"
                          : "in a file",
                i == 0 ? "authors anthropic:MODEL" : "authors openai:MODEL");
    }
}

static void check_worker(struct doctor *d)
{
    struct strbuf sb = STRBUF_INIT(4096);
    bool found = false;
    if (self_dir(&sb, NULL) == 0) {
        strbuf_adds(&sb, "/hone-worker");
        found = file_is_executable(sb.buf);
    }
    add_row(d, "hone-worker", found, true,
            found ? shown(sb.buf) : "not beside hone (make builds it)",
            "running jobs, on a GPU or the emulator");
    strbuf_release(&sb);
}

static void check_slurm(struct doctor *d)
{
    struct strbuf sb = STRBUF_INIT(4096);
    bool found = find_program("sbatch", &sb);
    add_row(d, "slurm", found, false,
            found ? arena_strdup(&d->arena, sb.buf) : "there is no sbatch on PATH",
            "--on slurm: GPUs of a cluster (docs/scale.md)");
    strbuf_release(&sb);
}

static void examine(struct doctor *d)
{
    toolchain_find(&d->tc);
    check_gpu(d);
    check_nvrtc(d);
    check_tool(d, "nvcc", d->tc.nvcc, "release", "a second compiler, in place of NVRTC");
    check_cute(d);
    check_worker(d);
    check_tool(d, "cc", d->tc.cc, "", "oracles of your own tasks on the CPU");
    check_tool(d, "cuobjdump", d->tc.cuobjdump, "release", "hone compile --sass");
    check_ncu(d);
    check_torch(d);
    check_slurm(d);
    check_library(d, "libcurl", "libcurl.so.4", "curl_multi_init", "libcurl4",
                  "model servers over HTTP");
    check_library(d, "libmicrohttpd", "libmicrohttpd.so.12", "MHD_start_daemon", "libmicrohttpd12",
                  "hone serve");
    check_keys(d);
}

/* ---- the verdict -------------------------------------------------------------------------- */

static bool has(const struct doctor *d, const char *name)
{
    vec_each (struct row, r, &d->rows)
        if (r->found && str_eq(r->name, name))
            return true;
    return false;
}

static bool is_ready(const struct doctor *d)
{
    return (has(d, "nvrtc") || (has(d, "nvcc") && *d->tc.cuda_home)) && has(d, "hone-worker");
}

static void print_json(const struct doctor *d)
{
    json_t *rows = json_array();
    vec_each (struct row, r, &d->rows)
        json_array_append_new(rows,
                              json_pack("{s:s, s:b, s:b, s:o, s:s}", "name", r->name, "found",
                                        (int)r->found, "essential", (int)r->essential, "detail",
                                        json_text(r->detail), "enables", r->enables));
    json_t *root = json_pack("{s:b, s:s, s:o}", "ready", (int)is_ready(d), "device",
                             has(d, "gpu") ? "cuda" : "emu", "checks", rows);
    json_print(stdout, root);
    json_decref(root);
}

static void print_text(const struct doctor *d)
{
    vec_each (struct row, r, &d->rows)
        if (r->found)
            printf("  yes  %-18s %s\n", r->name, r->detail);
    puts("");
    vec_each (struct row, r, &d->rows)
        if (!r->found)
            printf("  %s  %-18s %s\n       %-18s would enable: %s\n", r->essential ? "NO!" : "no ",
                   r->name, r->detail, "", r->enables);
    if (is_ready(d))
        printf("\nReady: kernels compile here and run on %s.\n",
               has(d, "gpu") ? "the GPU and the emulator" : "the emulator");
    else
        puts("\nNot ready: Hone needs NVRTC (or nvcc) and hone-worker to evaluate kernels; "
             "run tools/setup and make.");
}

static int run(int argc, const char **argv)
{
    bool json = false;
    const struct option opts[] = {
        OPT_FLAG(0, "json", &json, "print JSON"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone doctor [--json]",
        .about = "Shows what this machine has, and what each missing thing would enable. Exits 3\n"
                 "if Hone cannot evaluate kernels here.",
        .example = "hone doctor",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc)
        return cmd_usage(&spec, "unexpected '%s'", argv[0]);
    struct doctor d = {.arena = ARENA_INIT};
    examine(&d);
    if (json)
        print_json(&d);
    else
        print_text(&d);
    int status = is_ready(&d) ? HONE_OK : HONE_ENV;
    vec_release(&d.rows);
    toolchain_release(&d.tc);
    arena_release(&d.arena);
    return status;
}

const struct command cmd_doctor = {"doctor", "what this machine has, and what is missing", run};
