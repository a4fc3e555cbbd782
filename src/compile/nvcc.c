/*
 * nvcc.c - runs nvcc in a child process of the compile service, on machines without NVRTC or if the
 * user asks for it. nvcc starts about a dozen programs; child_run() (sys/proc.h) makes sure that
 * none of them outlives nvcc.
 */
#include <signal.h>
#include <stdlib.h>

#include "base/util.h"
#include "compile/compile_service.h"
#include "sys/file.h"
#include "sys/proc.h"

enum { LOG_MAX = 1 << 20, PTX_MAX = 256 << 20, CUBIN_MAX = 256 << 20 };

static char *in_dir(struct arena *a, const struct temp_dir *dir, const char *name)
{
    return arena_printf(a, "%s/%s", dir->path, name);
}

/* Writes the source and the headers to files in `dir`. The source's file has the candidate's name,
 * so that diagnostics show this name. */
static int write_inputs(const struct compile_job_request *rq, const struct temp_dir *dir,
                        struct arena *a, struct err *err)
{
    if (file_write(in_dir(a, dir, rq->name), rq->source, rq->len, err) < 0)
        return -1;
    for (size_t i = 0; i < rq->nheaders; i++)
        if (file_write(in_dir(a, dir, rq->header_names[i]), rq->header_texts[i],
                       strlen(rq->header_texts[i]), err) < 0)
            return -1;
    return 0;
}

static int read_output(const char *path, size_t max, struct arena *a, const char **data,
                       uint32_t *len, struct err *err)
{
    struct strbuf sb = STRBUF_INIT(max);
    int rc = file_read(path, max, &sb, err);
    if (rc == 0) {
        char *copy = arena_alloc(a, sb.len + 1);
        memcpy(copy, sb.buf, sb.len);
        *data = copy;
        *len = (uint32_t)sb.len;
    }
    strbuf_release(&sb);
    return rc;
}

static const char *ptx_name(const char *source, struct arena *a)
{
    size_t n = strlen(source);
    const char *dot = strrchr(source, '.');
    return arena_printf(a, "%.*s.ptx", dot ? (int)(dot - source) : (int)n, source);
}

static void sandbox(const struct compile_job_request *rq, const struct temp_dir *dir,
                    struct arena *a)
{
    /* nvcc runs the host's compiler, which reads files in these folders. */
    static const char *const system[] = {"/usr", "/lib", "/lib64", "/bin", "/opt", "/proc", "/sys"};
    const char **roots = arena_alloc(a, (rq->nroots + ARRAY_LEN(system)) * sizeof *roots);
    size_t n = 0;
    for (size_t i = 0; i < rq->nroots; i++)
        roots[n++] = rq->roots[i];
    for (size_t i = 0; i < ARRAY_LEN(system); i++)
        roots[n++] = system[i];
    const char *rw[] = {*rq->tmp ? rq->tmp : dir->path, "/dev"};
    sandbox_enter(roots, n, rw, ARRAY_LEN(rw));
}

/* Returns whether the last line of the log begins with `start` and contains `what`. We trust only
 * the last line: nvcc itself writes it, but the source can put any text into the lines above. */
static bool tool_said(const char *log, const char *start, const char *what)
{
    size_t n = strlen(log);
    while (n && log[n - 1] == '\n')
        n--;
    const char *line = log + n;
    while (line > log && line[-1] != '\n')
        line--;
    return str_starts(line, start) && memmem(line, (size_t)(log + n - line), what, strlen(what));
}

static void run(const struct compile_job_request *rq, const struct compile_job_spec *spec,
                struct temp_dir *dir, struct compile_job_result *out, struct arena *a)
{
    const char **argv = arena_alloc(a, (rq->noptions + 12) * sizeof *argv);
    const char *cubin = in_dir(a, dir, "hone-out.cubin"), *data = NULL;
    const char *tmp = arena_printf(a, "TMPDIR=%s", dir->path), *env[] = {tmp, NULL};
    size_t n = 0;
    argv[n++] = rq->tool;
    argv[n++] = "-cubin";
    for (size_t i = 0; i < rq->noptions; i++)
        argv[n++] = rq->options[i];
    argv[n++] = "--keep";
    argv[n++] = "--keep-dir";
    argv[n++] = dir->path;
    argv[n++] = "-o";
    argv[n++] = cubin;
    argv[n++] = rq->name;
    struct child_process c = CHILD_INIT;
    struct err err = ERR_INIT;
    c.argv = argv;
    c.env = env;
    c.dir = dir->path;
    c.merge = true;
    c.max_out = LOG_MAX;
    c.limit_bytes = spec->limit_bytes;
    c.limit_file_bytes = CUBIN_MAX;
    if (child_run(&c, &err) < 0) {
        out->code = COMPILE_JOB_TOOL_FAILED;
        out->log = arena_strdup(a, err.msg);
    } else {
        out->log = arena_strndup(a, c.out.buf, c.out.len);
        out->compile_ns = c.wall_ns;
        out->ok = c.end == CHILD_EXITED && c.code == 0;
        if (c.end == CHILD_MEMORY)
            out->code = COMPILE_JOB_OUT_OF_MEMORY;
        else if (c.end == CHILD_SIGNALED && c.code == SIGKILL)
            out->code = COMPILE_JOB_TOOL_KILLED;
        else if (c.end != CHILD_EXITED ||
                 tool_said(out->log, "nvcc error   : ", "died due to signal 11"))
            out->code = COMPILE_JOB_TOOL_CRASHED;
        else if (!out->ok && tool_said(out->log, "nvcc error   : ", "died due to signal 9"))
            out->code = COMPILE_JOB_TOOL_KILLED;
        else if (!out->ok && tool_said(out->log, "nvcc fatal   : ", "Unsupported gpu architecture"))
            out->code = COMPILE_JOB_TOOL_FAILED;
    }
    if (out->ok) {
        out->ok = read_output(cubin, CUBIN_MAX, a, &data, &out->cubin_len, &err) == 0;
        out->cubin = data;
        out->ok = out->ok && read_output(in_dir(a, dir, ptx_name(rq->name, a)), PTX_MAX, a,
                                         &out->ptx, &out->ptx_len, &err) == 0;
        if (!out->ok) {
            out->code = COMPILE_JOB_TOOL_FAILED;
            out->log = arena_strdup(a, err.msg);
        }
    }
    child_release(&c);
}

void nvcc_compile(const struct compile_job_request *rq, const struct compile_job_spec *spec,
                  struct compile_job_result *out, struct arena *a)
{
    struct temp_dir dir = TEMP_DIR_INIT;
    struct err err = ERR_INIT;
    if (*rq->tmp) {
        setenv("TMPDIR", rq->tmp, 1);
        temp_dir_sweep(); /* removes directories that killed children left */
    }
    if (strchr(rq->name, '/') || temp_dir_make(&dir, &err) < 0 ||
        write_inputs(rq, &dir, a, &err) < 0) {
        out->code = COMPILE_JOB_TOOL_FAILED;
        out->log =
            arena_strdup(a, *err.msg ? err.msg : "the source's name must not contain a slash");
    } else {
        sandbox(rq, &dir, a);
        run(rq, spec, &dir, out, a);
    }
    temp_dir_release(&dir);
}
