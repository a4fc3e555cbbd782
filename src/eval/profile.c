/* profile.c - runs ncu and reads what it counted. See profile.h. */
#include "eval/profile.h"

#include <string.h>

#include "base/util.h"
#include "compile/sass.h"
#include "prof/prof.h"
#include "sys/file.h"
#include "sys/toolchain.h"

enum { MAX_CSV = 64 << 20 };

const char *const *profile_ncu(const char *dir, struct arena *a)
{
    struct toolchain tc;
    toolchain_find(&tc);
    const char *ncu = *tc.ncu ? arena_strdup(a, tc.ncu) : NULL;
    toolchain_release(&tc);
    if (!ncu)
        return NULL;
    const char *const argv[] = {
        ncu,
        "--csv",
        "--page",
        "raw",
        "--print-units",
        "base",
        "--clock-control",
        "none",
        "--profile-from-start",
        "off",
        "--log-file",
        arena_printf(a, "%s/ncu.csv", dir),
        "--metrics",
        ncu_metrics(a),
        NULL,
    };
    const char **copy = arena_alloc(a, sizeof argv);
    memcpy(copy, argv, sizeof argv);
    return copy;
}

int profile_read_ncu(struct verdict *v, const struct job *job, const char *dir, struct err *err)
{
    struct strbuf csv = STRBUF_INIT(MAX_CSV);
    struct arena a = ARENA_INIT;
    struct ncu_table *t = NULL;
    char *path = xasprintf("%s/ncu.csv", dir);
    size_t want = 0, at = 0;
    int rc = file_read(path, MAX_CSV, &csv, err);
    free(path);
    if (rc == 0)
        rc = ncu_read(&t, csv.buf, csv.len, &a, err);
    for (uint32_t c = 0; c < job->ncases; c++)
        want += job->cases[c].programs[0].nlaunches;
    if (rc == 0 && ncu_launches(t) != want)
        rc = err_set(err, ERR_INPUT, "ncu saw %zu launches, but the job has %zu", ncu_launches(t),
                     want);
    for (uint32_t c = 0; c < job->ncases && rc == 0; c++) {
        size_t n = job->cases[c].programs[0].nlaunches;
        ncu_counters(t, at, n, job->cases[c].name, v);
        at += n;
    }
    arena_release(&a);
    strbuf_release(&csv);
    return rc;
}

/* ---- facts about the code ---- */

static void put(struct verdict *v, const char *kernel, const char *name, const char *unit,
                double value)
{
    *vec_push(&v->counters) = (struct verdict_counter){
        .workload = "code",
        .role = "static",
        .kernel = arena_strdup(&v->arena, kernel),
        .name = arena_strdup(&v->arena, name),
        .unit = unit,
        .value = value,
    };
}

void profile_static(struct verdict *v, const struct compiled *code)
{
    struct arena a = ARENA_INIT;
    struct sass_vec sass = VEC_INIT;
    vec_each (const struct kernel_info, k, &code->kernels) {
        put(v, k->name, "registers", "1", k->registers);
        put(v, k->name, "static_smem", "B", k->static_smem_bytes);
        put(v, k->name, "spills", "B", (double)k->spill_store_bytes + k->spill_load_bytes);
        put(v, k->name, "stack", "B", k->stack_bytes);
    }
    if (code->cubin_len && sass_count(code->cubin, code->cubin_len, "", &sass, NULL, &a, NULL) == 0)
        vec_each (const struct sass_kernel, s, &sass) {
            put(v, s->name, "sass_instructions", "1", s->total);
            for (int k = 0; k < SASS_KINDS; k++)
                if (s->kinds[k])
                    put(v, s->name, arena_printf(&a, "sass_%s", sass_kind_name((enum sass_kind)k)),
                        "1", s->kinds[k]);
            if (s->global_loads)
                put(v, s->name, "sass_wide_loads", "1", s->wide_loads);
        }
    vec_release(&sass);
    arena_release(&a);
}
