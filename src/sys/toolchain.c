/*
 * toolchain.c - looks for CUDA, CUTLASS and their tools in the places that toolchain.h lists.
 */
#include "sys/toolchain.h"

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "base/vec.h"
#include "sys/file.h"

VEC_DECL(place_vec, const char *);

static void add_place(struct place_vec *v, struct arena *a, const char *dir)
{
    if (dir && *dir && file_is_dir(dir))
        *vec_push(v) = arena_strdup(a, dir);
}

/* Adds the directories .deps/SUB that exist. Binaries lie at different depths of a source tree. So
 * we look for .deps/ in the binary's directory and the three above it, then in the current
 * directory. At the end comes share/hone/SUB of an installed Hone. */
static void add_deps_places(struct place_vec *v, struct arena *a, const char *sub)
{
    struct strbuf self = STRBUF_INIT(4096);
    if (self_dir(&self, NULL) == 0) {
        char *dir = arena_strdup(a, self.buf);
        for (int up = 0; up < 4; up++) {
            add_place(v, a, arena_printf(a, "%s/.deps/%s", dir, sub));
            char *slash = strrchr(dir, '/');
            if (!slash || slash == dir)
                break;
            *slash = '\0';
        }
        /* an absolute path, because compilers run in another directory */
        char *here = getcwd(NULL, 0);
        if (here)
            add_place(v, a, arena_printf(a, "%s/.deps/%s", here, sub));
        free(here);
        add_place(v, a, arena_printf(a, "%s/../share/hone/%s", self.buf, sub));
    }
    strbuf_release(&self);
}

/* Returns the path that matches `pattern` and is last in version order, or "". */
static const char *newest_match(struct arena *a, const char *pattern)
{
    glob_t g;
    const char *best = "";
    if (glob(pattern, 0, NULL, &g) == 0) {
        for (size_t i = 0; i < g.gl_pathc; i++)
            if (!strstr(g.gl_pathv[i], ".alt.") && strverscmp(g.gl_pathv[i], best) > 0)
                best = arena_strdup(a, g.gl_pathv[i]);
        globfree(&g);
    }
    return best;
}

/* ---- CUDA --------------------------------------------------------------------------------- */

static const char *nvrtc_in(struct arena *a, const char *home)
{
    static const char *const libs[] = {"lib64", "lib", "targets/*/lib", "lib/*-linux-gnu"};
    for (size_t i = 0; i < ARRAY_LEN(libs); i++) {
        const char *m = newest_match(a, arena_printf(a, "%s/%s/libnvrtc.so.[0-9]*", home, libs[i]));
        if (*m)
            return m;
    }
    return "";
}

static const char *include_in(struct arena *a, const char *home, const char *header)
{
    static const char *const dirs[] = {"include", "targets/*/include", "include/cccl",
                                       "targets/*/include/cccl"};
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        const char *m = newest_match(a, arena_printf(a, "%s/%s/%s", home, dirs[i], header));
        if (*m)
            return arena_strndup(a, m, strlen(m) - strlen(header) - 1);
    }
    return "";
}

static void add_cuda_places(struct place_vec *v, struct arena *a)
{
    add_place(v, a, getenv("HONE_CUDA_HOME"));
    add_deps_places(v, a, "cuda");
    add_place(v, a, getenv("CUDA_HOME"));
    add_place(v, a, getenv("CUDA_PATH"));
    struct strbuf nvcc = STRBUF_INIT(4096);
    if (find_program("nvcc", &nvcc)) {
        char *real = realpath(nvcc.buf, NULL);
        char *bin = real ? strstr(real, "/bin/nvcc") : NULL;
        if (bin) {
            *bin = '\0';
            add_place(v, a, real);
        }
        free(real);
    }
    strbuf_release(&nvcc);
    add_place(v, a, "/usr/local/cuda");
    add_place(v, a, newest_match(a, "/usr/local/cuda-[0-9]*"));
    add_place(v, a, "/opt/cuda");
    add_place(v, a, "/usr");
}

static void find_cuda(struct toolchain *tc, const struct place_vec *places)
{
    struct arena *a = &tc->arena;
    const char *own = getenv("HONE_NVRTC");
    if (own && file_exists(own))
        tc->nvrtc_lib = arena_strdup(a, own);
    vec_each (const char *, p, places) {
        const char *inc = include_in(a, *p, "cuda_fp16.h");
        const char *lib = nvrtc_in(a, *p);
        if (!*inc || (!*lib && !*tc->nvrtc_lib))
            continue;
        tc->cuda_home = *p;
        tc->cuda_include = inc;
        tc->cccl_include = include_in(a, *p, "cuda/std/type_traits");
        if (!*tc->nvrtc_lib)
            tc->nvrtc_lib = lib;
        return;
    }
}

/* ---- tools -------------------------------------------------------------------------------- */

/* Returns the path of the tool `name`, or "". `env` is the variable that may name the tool.
 * toolchain.h lists the places where we look. */
static const char *find_tool(struct toolchain *tc, const struct place_vec *cuda,
                             const struct place_vec *bins, const char *env, const char *name)
{
    struct arena *a = &tc->arena;
    const char *own = getenv(env), *path;
    if (own && file_is_executable(own))
        return arena_strdup(a, own);
    vec_each (const char *, p, bins)
        if (file_is_executable(path = arena_printf(a, "%s/%s", *p, name)))
            return path;
    if (*tc->cuda_home &&
        file_is_executable(path = arena_printf(a, "%s/bin/%s", tc->cuda_home, name)))
        return path;
    struct strbuf sb = STRBUF_INIT(4096);
    path = find_program(name, &sb) ? arena_strdup(a, sb.buf) : "";
    strbuf_release(&sb);
    if (*path)
        return path;
    vec_each (const char *, p, cuda)
        if (file_is_executable(path = arena_printf(a, "%s/bin/%s", *p, name)))
            return path;
    return "";
}

static const char *find_cute(struct toolchain *tc)
{
    struct arena *a = &tc->arena;
    struct place_vec v = VEC_INIT;
    const char *own = getenv("HONE_CUTLASS_HOME"), *found = "";
    add_place(&v, a, own);
    add_deps_places(&v, a, "cutlass");
    add_place(&v, a, getenv("CUTLASS_HOME"));
    add_place(&v, a, getenv("CUTLASS_PATH"));
    add_place(&v, a, "/usr/local/cutlass");
    add_place(&v, a, "/usr");
    vec_each (const char *, p, &v) {
        const char *with = arena_printf(a, "%s/include", *p);
        if (file_exists(arena_printf(a, "%s/cute/tensor.hpp", with)))
            found = with;
        else if (file_exists(arena_printf(a, "%s/cute/tensor.hpp", *p)))
            found = *p;
        if (*found)
            break;
    }
    vec_release(&v);
    return found;
}

static const char *find_own_include(struct toolchain *tc)
{
    const char *own = getenv("HONE_INCLUDE");
    char *real = own && *own ? realpath(own, NULL) : NULL;
    const char *found = real ? arena_strdup(&tc->arena, real) : "";
    free(real);
    return found;
}

static const char *find_cc(struct toolchain *tc)
{
    const char *const names[] = {getenv("HONE_CC"), getenv("CC"), "cc", "gcc", "clang"};
    struct strbuf sb = STRBUF_INIT(4096);
    const char *found = "";
    for (size_t i = 0; i < ARRAY_LEN(names) && !*found; i++)
        if (names[i] && *names[i] && find_program(names[i], &sb))
            found = arena_strdup(&tc->arena, sb.buf);
    strbuf_release(&sb);
    return found;
}

void toolchain_find(struct toolchain *tc)
{
    *tc = (struct toolchain){.arena = ARENA_INIT,
                             .cuda_home = "",
                             .cuda_include = "",
                             .cccl_include = "",
                             .nvrtc_lib = ""};
    struct place_vec cuda = VEC_INIT, bins = VEC_INIT;
    add_cuda_places(&cuda, &tc->arena);
    add_deps_places(&bins, &tc->arena, "bin");
    find_cuda(tc, &cuda);
    tc->cute_include = find_cute(tc);
    tc->own_include = find_own_include(tc);
    tc->nvcc = find_tool(tc, &cuda, &bins, "HONE_NVCC", "nvcc");
    tc->ptxas = find_tool(tc, &cuda, &bins, "HONE_PTXAS", "ptxas");
    tc->cuobjdump = find_tool(tc, &cuda, &bins, "HONE_CUOBJDUMP", "cuobjdump");
    tc->nvdisasm = find_tool(tc, &cuda, &bins, "HONE_NVDISASM", "nvdisasm");
    tc->ncu = find_tool(tc, &cuda, &bins, "HONE_NCU", "ncu");
    tc->cc = find_cc(tc);
    vec_release(&cuda);
    vec_release(&bins);
}

void toolchain_release(struct toolchain *tc)
{
    arena_release(&tc->arena);
}

/* ---- versions ----------------------------------------------------------------------------- */

static long define_of(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = text; (p = strstr(p, name)); p += n)
        if (isspace((unsigned char)p[n]) && p > text && isspace((unsigned char)p[-1]) &&
            isdigit((unsigned char)p[n + strspn(p + n, " \t")]))
            return strtol(p + n, NULL, 10);
    return -1;
}

const char *toolchain_cuda_version(struct toolchain *tc)
{
    struct strbuf sb = STRBUF_INIT(4 << 20);
    const char *v = "";
    if (*tc->cuda_include && file_read(arena_printf(&tc->arena, "%s/cuda.h", tc->cuda_include),
                                       sb.max, &sb, NULL) == 0) {
        long n = define_of(sb.buf, "CUDA_VERSION");
        if (n > 0)
            v = arena_printf(&tc->arena, "%ld.%ld", n / 1000, n % 1000 / 10);
    }
    strbuf_release(&sb);
    return v;
}

const char *toolchain_cute_version(struct toolchain *tc)
{
    struct strbuf sb = STRBUF_INIT(1 << 20);
    const char *v = "";
    if (*tc->cute_include &&
        file_read(arena_printf(&tc->arena, "%s/cutlass/version.h", tc->cute_include), sb.max, &sb,
                  NULL) == 0) {
        long major = define_of(sb.buf, "CUTLASS_MAJOR"), minor = define_of(sb.buf, "CUTLASS_MINOR"),
             patch = define_of(sb.buf, "CUTLASS_PATCH");
        if (major >= 0)
            v = arena_printf(&tc->arena, "%ld.%ld.%ld", major, minor, patch);
    }
    strbuf_release(&sb);
    return v;
}
