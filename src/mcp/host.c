/* host.c - builds the jails and the environments of child processes. See host.h. */
#include "mcp/host.h"

#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/gpulock.h"
#include "base/options.h"
#include "base/util.h"
#include "sys/asset.h"
#include "sys/file.h"
#include "sys/toolchain.h"

enum { MAX_OUT = 32 << 20, MAX_ERR = 1 << 20, MAX_GPUS = 16 };

VEC_DECL(path_vec, const char *);

/* ---- what children may read ------------------------------------------------------------------ */

/* Every child may read the system's programs and libraries. It cannot read the rest of /etc, nor
 * /home, /root and /tmp, except for the paths that add_readable() and add_writable() add. */
static const char *const system_roots[] = {"/usr",
                                           "/bin",
                                           "/sbin",
                                           "/lib",
                                           "/lib32",
                                           "/lib64",
                                           "/opt",
                                           "/proc",
                                           "/sys",
                                           "/dev",
                                           "/etc/ld.so.cache",
                                           "/etc/ld.so.conf",
                                           "/etc/ld.so.conf.d",
                                           "/etc/alternatives",
                                           "/etc/localtime"};
/* A child that talks to a model's server also reads these, for host names and certificates. */
static const char *const network_roots[] = {"/etc", "/run/systemd/resolve"};

static void add_path(struct path_vec *v, struct arena *mem, const char *path)
{
    if (path && *path)
        *vec_push(v) = arena_strdup(mem, path);
}

static void add_folder_of(struct path_vec *v, struct arena *mem, const char *file)
{
    char *real = *file ? realpath(file, NULL) : NULL, *slash = real ? strrchr(real, '/') : NULL;
    if (slash && slash != real)
        add_path(v, mem, arena_strndup(mem, real, (size_t)(slash - real)));
    free(real);
}

static void add_toolchain(struct path_vec *v, struct arena *mem)
{
    struct toolchain tc;
    toolchain_find(&tc);
    const char *const trees[] = {tc.cuda_home, tc.cuda_include, tc.cccl_include, tc.cute_include,
                                 tc.own_include};
    const char *const files[] = {tc.nvrtc_lib, tc.nvcc, tc.ptxas, tc.cuobjdump,
                                 tc.nvdisasm,  tc.ncu,  tc.cc};
    for (size_t i = 0; i < ARRAY_LEN(trees); i++)
        add_path(v, mem, trees[i]);
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        add_folder_of(v, mem, files[i]);
    toolchain_release(&tc);
}

static void add_list(struct path_vec *v, struct arena *mem, const char *list)
{
    while (list && *list) {
        size_t n = strcspn(list, ":");
        if (n)
            add_path(v, mem, arena_strndup(mem, list, n));
        list += n + (list[n] == ':');
    }
}

/* Adds /opt/cuda for /opt/cuda/bin/ncu, for example. Never adds "/". */
static void add_folder_above(struct path_vec *v, struct arena *mem, const char *program)
{
    char *path = arena_strdup(mem, program);
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path)
            return;
        *slash = '\0';
    }
    add_path(v, mem, path);
}

/* Adds the folder of the Python environment. The environment's program python3 is often a symbolic
 * link into another environment. So adds the folder of that environment too. */
static void add_python(struct path_vec *v, struct arena *mem)
{
    struct strbuf program = STRBUF_INIT(4096);
    const char *name = getenv("HONE_PYTHON");
    if (find_program(name && *name ? name : "python3", &program)) {
        char *real = realpath(program.buf, NULL);
        add_folder_above(v, mem, program.buf);
        add_folder_above(v, mem, real ? real : "");
        free(real);
    }
    strbuf_release(&program);
}

static void add_matches(struct path_vec *v, struct arena *mem, const char *pattern)
{
    glob_t g;
    if (glob(pattern, 0, NULL, &g) == 0)
        for (size_t i = 0; i < g.gl_pathc; i++)
            add_path(v, mem, g.gl_pathv[i]);
    globfree(&g);
}

static bool has_gpu(void)
{
    return access("/dev/nvidiactl", F_OK) == 0;
}

static void add_readable(const struct host *h, struct path_vec *v, struct arena *mem)
{
    struct strbuf self = STRBUF_INIT(4096);
    for (size_t i = 0; i < ARRAY_LEN(system_roots); i++)
        add_path(v, mem, system_roots[i]);
    add_toolchain(v, mem);
    if (self_dir(&self, NULL) == 0)
        add_path(v, mem, self.buf);
    add_folder_of(v, mem, getenv("HONE_WORKER") ? getenv("HONE_WORKER") : "");
    add_list(v, mem, getenv("LD_LIBRARY_PATH"));
    if (h->config.allow_python)
        add_python(v, mem);
    /* Hone locks a GPU with a file. A child can open this file but cannot make it, so we make the
     * files here. */
    for (int i = 0; has_gpu() && i < MAX_GPUS; i++)
        gpu_unlock(gpu_lock(i));
    add_matches(v, mem, "/tmp/hone-gpu-*.lock");
    strbuf_release(&self);
}

static void add_writable(const struct host *h, struct path_vec *v, struct arena *mem)
{
    const char *cache = getenv("HONE_CACHE_DIR");
    add_path(v, mem, h->dir.path);
    add_path(v, mem, cache);
    add_path(v, mem, "/dev/null");
    add_path(v, mem, "/dev/zero");
    add_matches(v, mem, "/dev/nvidia*");
}

static void make_jails(struct host *h)
{
    struct path_vec read = VEC_INIT, write = VEC_INIT;
    const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME");
    add_readable(h, &read, &h->mem);
    add_writable(h, &write, &h->mem);
    size_t n = read.n;
    for (size_t i = 0; i < ARRAY_LEN(network_roots); i++)
        add_path(&read, &h->mem, network_roots[i]);
    add_path(&read, &h->mem,
             config && *config ? arena_printf(&h->mem, "%s/hone", config)
                               : arena_printf(&h->mem, "%s/.config/hone", home ? home : ""));
    *vec_push(&read) = NULL;
    *vec_push(&write) = NULL;
    const char **all = arena_alloc(&h->mem, read.n * sizeof *all);
    const char **some = arena_alloc(&h->mem, read.n * sizeof *some);
    const char **changed = arena_alloc(&h->mem, write.n * sizeof *changed);
    memcpy(all, read.items, read.n * sizeof *all);
    memcpy(some, read.items, n * sizeof *some);
    memcpy(changed, write.items, write.n * sizeof *changed);
    h->jail = (struct jail){.read = some,
                            .write = changed,
                            .net = has_gpu() ? JAIL_NET_LOCAL : JAIL_NET_NONE,
                            .optional = !h->confined};
    h->paid_jail = (struct jail){.read = all, .write = changed, .optional = !h->confined};
    vec_release(&read);
    vec_release(&write);
}

/* ---- the environment of children ------------------------------------------------------------- */

extern char **environ;

/* Do children get this variable? They do if it configures Hone, CUDA or a compiler, and does not
 * look like a key. */
static bool is_wanted(const char *entry)
{
    static const char *const names[] = {
        "HONE_", "CUDA_", "NVIDIA_", "CC=", "CXX=", "ASAN_", "UBSAN_", "LSAN_", "LC_ALL="};
    static const char *const never[] = {"HONE_AUTHOR=", "HONE_STORE=", "HONE_PYTHON="};
    for (size_t i = 0; i < ARRAY_LEN(never); i++)
        if (str_starts(entry, never[i]))
            return false;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_starts(entry, names[i]))
            return !strstr(entry, "KEY") && !strstr(entry, "TOKEN") && !strstr(entry, "SECRET");
    return false;
}

static void make_env(struct host *h)
{
    struct path_vec v = VEC_INIT;
    const char *python = getenv("HONE_PYTHON");
    *vec_push(&v) = "HONE_AUTHOR";
    *vec_push(&v) = "HONE_STORE";
    *vec_push(&v) = !h->config.allow_python ? "HONE_PYTHON=/dev/null/not-allowed"
                    : python && *python     ? arena_printf(&h->mem, "HONE_PYTHON=%s", python)
                                            : "HONE_PYTHON";
    if (!getenv("HONE_CACHE_DIR"))
        *vec_push(&v) = arena_printf(&h->mem, "HONE_CACHE_DIR=%s/hone-out/cache", h->dir.path);
    *vec_push(&v) = arena_printf(&h->mem, "TMPDIR=%s/hone-out/tmp", h->dir.path);
    size_t n = v.n;
    *vec_push(&v) = NULL;
    const char **paid = arena_alloc(&h->mem, v.n * sizeof *paid);
    memcpy(paid, v.items, v.n * sizeof *paid);
    h->paid_env = paid;
    v.n = n;
    *vec_push(&v) = arena_printf(&h->mem, "HOME=%s/hone-out", h->dir.path);
    *vec_push(&v) = "USER=hone"; /* PyTorch wants a name, but cannot read /etc/passwd in a jail */
    for (char **e = environ; *e; e++)
        if (is_wanted(*e))
            *vec_push(&v) = arena_strdup(&h->mem, *e);
    *vec_push(&v) = NULL;
    const char **env = arena_alloc(&h->mem, v.n * sizeof *env);
    memcpy(env, v.items, v.n * sizeof *env);
    h->env = env;
    vec_release(&v);
}

/* ---- the host -------------------------------------------------------------------------------- */

static int make_dirs(struct host *h, struct err *err)
{
    static const char *const dirs[] = {"hone-out", "hone-out/tmp", "hone-out/cache"};
    enum workdir_kind kind;
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        if (workdir_kind(&h->dir, dirs[i], &kind, err) < 0)
            return -1;
        char *path = xasprintf("%s/%s", h->dir.path, dirs[i]);
        int rc = kind == WORKDIR_DIR ? 0 : dir_make(path, err);
        free(path);
        if (rc < 0)
            return -1;
    }
    return 0;
}

int host_open(struct host *h, const struct mcp_config *c, struct err *err)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    *h = (struct host){.config = *c, .dir = {.fd = -1}};
    if (n < 0)
        return err_errno(err, "cannot find the path of this program");
    self[n] = '\0';
    if (workdir_open(&h->dir, c->dir, err) < 0 || make_dirs(h, err) < 0)
        return -1;
    h->hone = arena_strdup(&h->mem, self);
    h->confined = jail_can_limit_files();
    h->loop = loop_new();
    h->memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 4 * 3;
    if (!h->config.call_ns)
        h->config.call_ns = 1200 * SEC;
    make_jails(h);
    make_env(h);
    /* The server's own temporary files must be where children can read them. */
    setenv("TMPDIR", arena_printf(&h->mem, "%s/hone-out/tmp", h->dir.path), 1);
    return 0;
}

void host_close(struct host *h)
{
    loop_free(h->loop);
    workdir_close(&h->dir);
    arena_release(&h->mem);
}

void host_prepare(const struct host *h, enum host_author author, struct child_process *c)
{
    *c = (struct child_process)CHILD_INIT;
    c->dir = h->dir.path;
    c->env = author == HOST_BUILT_IN ? h->env : h->paid_env;
    c->clean_env = author == HOST_BUILT_IN;
    c->jail = author == HOST_BUILT_IN ? &h->jail : author == HOST_REMOTE ? &h->paid_jail : NULL;
    c->max_out = MAX_OUT;
    c->max_err = MAX_ERR;
    c->limit_bytes = h->memory_bytes;
    c->grace_ns = 8 * SEC;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static bool is_built_in(const char *task)
{
    char path[160];
    if (strchr(task, '/') || strlen(task) >= 100)
        return false;
    snprintf(path, sizeof path, "tasks/%s/task.json", task);
    return asset_find(path) != NULL;
}

static int no_such_task(const char *task, struct err *err)
{
    return err_set(err, ERR_INPUT,
                   "there is no task '%.200s': list_tasks names the built-in ones; or give the "
                   "path of a task's folder inside the server's directory",
                   task);
}

/* Fails if a file of the task is a link that leads out of the server's directory. */
static int check_files(const struct host *h, const char *dir, struct err *err)
{
    static const char *const names[] = {"task.json", "reference.c", "naive.cu"};
    enum workdir_kind kind;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char *path = xasprintf("%s/%s", dir, names[i]);
        int rc = workdir_kind(&h->dir, path, &kind, err);
        free(path);
        if (rc < 0)
            return -1;
    }
    return 0;
}

int host_task(const struct host *h, const char *task, struct arena *mem, const char **out,
              struct err *err)
{
    enum workdir_kind kind;
    *out = arena_strdup(mem, task);
    if (is_built_in(task))
        return 0;
    if (workdir_kind(&h->dir, task, &kind, err) < 0)
        return -1;
    if (kind == WORKDIR_NOTHING)
        return no_such_task(task, err);
    const char *slash = strrchr(task, '/');
    const char *dir = kind == WORKDIR_DIR ? task
                      : slash             ? arena_strndup(mem, task, (size_t)(slash - task))
                                          : ".";
    if (check_files(h, dir, err) < 0)
        return -1;
    if (!h->confined && !h->config.allow_unconfined)
        return err_set(
            err, ERR_ENV,
            "task '%.200s' has a reference.c that Hone would compile and run, but this "
            "machine's Linux has no Landlock to confine it. Use a built-in task, or ask the user "
            "to start the server with --allow-unconfined",
            task);
    return 0;
}
