/*
 * verdict_json.c - writes a verdict as JSON and reads it back. Both use the same tables of fields,
 * so they cannot differ. schema/verdict.json describes the JSON.
 */
#include <stddef.h>
#include <string.h>

#include "base/util.h"
#include "sys/json.h"
#include "verdict/verdict.h"

/* F_LATER and F_LATER_F64: a string and a number that a later version of Hone added. In older
 * verdicts they are "" and 0. */
enum field_type { F_STR, F_LATER, F_F64, F_LATER_F64, F_U64, F_U32, F_BOOL, F_U32X3, F_I64 };

struct field {
    const char *key;
    enum field_type type;
    size_t offset;
};

#define FIELD(s, k, t)               \
    {                                \
#k, t, offsetof(struct s, k) \
    }

static const struct field workload_fields[] = {
    FIELD(verdict_workload, name, F_STR),
    FIELD(verdict_workload, role, F_STR),
    FIELD(verdict_workload, shape, F_STR),
    FIELD(verdict_workload, ok, F_BOOL),
    FIELD(verdict_workload, max_ratio, F_F64),
    FIELD(verdict_workload, rms_ratio, F_F64),
    FIELD(verdict_workload, output, F_STR),
    FIELD(verdict_workload, note, F_STR),
    FIELD(verdict_workload, blocks, F_LATER_F64),
    FIELD(verdict_workload, blocks_ran, F_LATER_F64),
    FIELD(verdict_workload, blocks_verified, F_LATER_F64),
    FIELD(verdict_workload, unseen_pct, F_LATER_F64),
    FIELD(verdict_workload, found_pct, F_LATER_F64),
    FIELD(verdict_workload, verified, F_LATER),
    FIELD(verdict_workload, verified_pct, F_LATER_F64),
};

static const struct field time_fields[] = {
    FIELD(verdict_time, workload, F_STR),
    FIELD(verdict_time, shape, F_STR),
    FIELD(verdict_time, who, F_STR),
    FIELD(verdict_time, is_model, F_BOOL),
    FIELD(verdict_time, median_ns, F_F64),
    FIELD(verdict_time, mad_ns, F_F64),
    FIELD(verdict_time, lo_ns, F_F64),
    FIELD(verdict_time, hi_ns, F_F64),
    FIELD(verdict_time, n, F_U32),
    FIELD(verdict_time, ratio, F_F64),
    FIELD(verdict_time, ratio_lo, F_F64),
    FIELD(verdict_time, ratio_hi, F_F64),
    FIELD(verdict_time, roofline_pct, F_F64),
    FIELD(verdict_time, limit, F_LATER),
};

static const struct field baseline_fields[] = {
    FIELD(verdict_baseline, who, F_STR),
    FIELD(verdict_baseline, state, F_STR),
    FIELD(verdict_baseline, text, F_STR),
};

static const struct field finding_fields[] = {
    FIELD(verdict_finding, workload, F_LATER), FIELD(verdict_finding, role, F_LATER),
    FIELD(verdict_finding, kernel, F_STR),     FIELD(verdict_finding, file, F_STR),
    FIELD(verdict_finding, line, F_U32),       FIELD(verdict_finding, block, F_U32X3),
    FIELD(verdict_finding, thread, F_U32X3),   FIELD(verdict_finding, object, F_STR),
    FIELD(verdict_finding, index, F_I64),      FIELD(verdict_finding, text, F_STR),
    FIELD(verdict_finding, other, F_STR),      FIELD(verdict_finding, count, F_U64),
};

static const struct field counter_fields[] = {
    FIELD(verdict_counter, workload, F_LATER), FIELD(verdict_counter, role, F_LATER),
    FIELD(verdict_counter, kernel, F_STR),     FIELD(verdict_counter, name, F_STR),
    FIELD(verdict_counter, unit, F_STR),       FIELD(verdict_counter, line, F_U32),
    FIELD(verdict_counter, value, F_F64),
};

static const struct field verdict_fields[] = {
    FIELD(verdict, stage, F_STR),        FIELD(verdict, detector, F_STR),
    FIELD(verdict, summary, F_STR),      FIELD(verdict, detail, F_STR),
    FIELD(verdict, score, F_F64),        FIELD(verdict, time_ns, F_F64),
    FIELD(verdict, speedup, F_F64),      FIELD(verdict, time_is_model, F_BOOL),
    FIELD(verdict, bottleneck, F_STR),   FIELD(verdict, device, F_STR),
    FIELD(verdict, gpu, F_STR),          FIELD(verdict, driver, F_STR),
    FIELD(verdict, arch, F_STR),         FIELD(verdict, compiler, F_STR),
    FIELD(verdict, source_sha, F_STR),   FIELD(verdict, task, F_STR),
    FIELD(verdict, seed, F_U64),         FIELD(verdict, compile_ns, F_U64),
    FIELD(verdict, run_ns, F_U64),       FIELD(verdict, total_ns, F_U64),
    FIELD(verdict, task_sha, F_LATER),   FIELD(verdict, speedup_over, F_LATER),
    FIELD(verdict, precision, F_LATER),  FIELD(verdict, preconditions, F_LATER),
    FIELD(verdict, separation, F_LATER),
};

/* ---- writing ---- */

static json_t *write_field(const struct field *f, const void *base)
{
    const char *p = (const char *)base + f->offset;
    const uint32_t *u3 = (const void *)p;
    switch (f->type) {
    case F_STR:
    case F_LATER:
        return json_text(*(const char *const *)p);
    case F_F64:
    case F_LATER_F64:
        return json_from_double(*(const double *)p);
    case F_U64: /* a string, since jansson's integers are signed */
        return json_sprintf("%llu", (unsigned long long)*(const uint64_t *)p);
    case F_I64:
        return json_integer(*(const int64_t *)p);
    case F_U32:
        return json_integer(*(const uint32_t *)p);
    case F_BOOL:
        return json_boolean(*(const bool *)p);
    case F_U32X3:
        return json_pack("[i,i,i]", (int)u3[0], (int)u3[1], (int)u3[2]);
    }
    BUG("field type %d", (int)f->type);
}

static json_t *write_fields(const struct field *f, size_t n, const void *base)
{
    json_t *j = json_object();
    for (size_t i = 0; i < n; i++)
        json_object_set_new(j, f[i].key, write_field(&f[i], base));
    return j;
}

static json_t *write_array(const struct field *f, size_t nf, const void *items, size_t n,
                           size_t size)
{
    json_t *a = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(a, write_fields(f, nf, (const char *)items + i * size));
    return a;
}

#define WRITE_ARRAY(fields, v) \
    write_array(fields, ARRAY_LEN(fields), (v).items, (v).n, sizeof *(v).items)

json_t *verdict_to_json(const struct verdict *v)
{
    json_t *j = write_fields(verdict_fields, ARRAY_LEN(verdict_fields), v);
    json_object_set_new(j, "version", json_integer(VERDICT_VERSION));
    json_object_set_new(j, "kind", json_string(verdict_kind_name(v->kind)));
    json_object_set_new(j, "workloads", WRITE_ARRAY(workload_fields, v->workloads));
    json_object_set_new(j, "times", WRITE_ARRAY(time_fields, v->times));
    json_object_set_new(j, "baselines", WRITE_ARRAY(baseline_fields, v->baselines));
    json_object_set_new(j, "counters", WRITE_ARRAY(counter_fields, v->counters));
    json_t *findings = WRITE_ARRAY(finding_fields, v->findings);
    for (size_t i = 0; i < v->findings.n; i++)
        json_object_set_new(json_array_get(findings, i), "kind",
                            json_string(finding_kind_name(v->findings.items[i].kind)));
    json_object_set_new(j, "findings", findings);
    json_t *warnings = json_array();
    for (size_t i = 0; i < v->warnings.n; i++)
        json_array_append_new(warnings, json_text(v->warnings.items[i]));
    json_object_set_new(j, "warnings", warnings);
    return j;
}

/* ---- reading ---- */

static int read_u64(const json_t *j, uint64_t *out)
{
    const char *s = json_string_value(j);
    if (!s || !*s || strlen(s) > 20)
        return -1;
    uint64_t v = 0;
    for (; *s; s++)
        if (*s < '0' || *s > '9' || __builtin_mul_overflow(v, 10u, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
            return -1;
    *out = v;
    return 0;
}

static int read_u32(const json_t *j, uint32_t *out)
{
    json_int_t v = json_integer_value(j);
    if (!json_is_integer(j) || v < 0 || v > UINT32_MAX)
        return -1;
    *out = (uint32_t)v;
    return 0;
}

static int read_value(const struct field *f, const json_t *j, void *base, struct arena *a)
{
    char *p = (char *)base + f->offset;
    switch (f->type) {
    case F_STR:
    case F_LATER:
        if (!json_is_string(j))
            return -1;
        *(const char **)p = arena_strdup(a, json_string_value(j));
        return 0;
    case F_F64:
    case F_LATER_F64:
        return json_get_double(j, (double *)p);
    case F_U64:
        return read_u64(j, (uint64_t *)p);
    case F_I64:
        *(int64_t *)p = json_integer_value(j);
        return json_is_integer(j) ? 0 : -1;
    case F_U32:
        return read_u32(j, (uint32_t *)p);
    case F_BOOL:
        *(bool *)p = json_is_true(j);
        return json_is_boolean(j) ? 0 : -1;
    case F_U32X3:
        if (json_array_size(j) != 3)
            return -1;
        for (size_t i = 0; i < 3; i++)
            if (read_u32(json_array_get(j, i), (uint32_t *)p + i) < 0)
                return -1;
        return 0;
    }
    BUG("field type %d", (int)f->type);
}

static int read_fields(const struct field *f, size_t n, const json_t *j, void *base,
                       struct arena *a, const char *what, struct err *err)
{
    if (!json_is_object(j))
        return err_set(err, ERR_INPUT, "verdict: %s must be a JSON object", what);
    for (size_t i = 0; i < n; i++) {
        const json_t *x = json_object_get(j, f[i].key);
        if (!x && f[i].type == F_LATER)
            *(const char **)(void *)((char *)base + f[i].offset) = "";
        if (!x && f[i].type == F_LATER_F64)
            *(double *)(void *)((char *)base + f[i].offset) = 0;
        if (!x && (f[i].type == F_LATER || f[i].type == F_LATER_F64))
            continue;
        if (!x)
            return err_set(err, ERR_INPUT, "verdict: %s must have a key '%s'", what, f[i].key);
        if (read_value(&f[i], x, base, a) < 0)
            return err_set(err, ERR_INPUT,
                           "verdict: %s: '%s' must have the type that schema/verdict.json gives",
                           what, f[i].key);
    }
    return 0;
}

static int finding_kind_from(const char *name)
{
    for (int k = 0; name && k < FIND_COUNT; k++)
        if (str_eq(finding_kind_name((enum finding_kind)k), name))
            return k;
    return -1;
}

#define READ_ARRAY(fields, vec, key)                                                           \
    for (size_t i = 0; i < json_array_size(json_object_get(j, key)); i++)                      \
        if (read_fields(fields, ARRAY_LEN(fields), json_array_get(json_object_get(j, key), i), \
                        vec_push(vec), &v->arena, key, err) < 0)                               \
            goto fail;

int verdict_from_json(struct verdict *v, const json_t *j, struct err *err)
{
    static const char *const arrays[] = {"workloads", "times", "counters", "findings", "warnings"};
    memset(v, 0, sizeof *v);
    if (json_integer_value(json_object_get(j, "version")) != VERDICT_VERSION)
        return err_set(err, ERR_INPUT, "verdict: 'version' must be %d", VERDICT_VERSION);
    const char *kind = json_string_value(json_object_get(j, "kind"));
    bool ok = false;
    v->kind = verdict_kind_from(kind ? kind : "", &ok);
    if (!ok)
        return err_set(err, ERR_INPUT, "verdict: unknown kind '%.40s'", kind ? kind : "(none)");
    for (size_t i = 0; i < ARRAY_LEN(arrays); i++)
        if (!json_is_array(json_object_get(j, arrays[i])))
            return err_set(err, ERR_INPUT, "verdict: '%s' must be an array", arrays[i]);
    const json_t *baselines = json_object_get(j, "baselines"); /* older verdicts have none */
    if (baselines && !json_is_array(baselines))
        return err_set(err, ERR_INPUT, "verdict: 'baselines' must be an array");
    if (read_fields(verdict_fields, ARRAY_LEN(verdict_fields), j, v, &v->arena, "the verdict",
                    err) < 0)
        goto fail;
    READ_ARRAY(workload_fields, &v->workloads, "workloads")
    READ_ARRAY(time_fields, &v->times, "times")
    READ_ARRAY(counter_fields, &v->counters, "counters")
    READ_ARRAY(baseline_fields, &v->baselines, "baselines")
    READ_ARRAY(finding_fields, &v->findings, "findings")
    for (size_t i = 0; i < v->findings.n; i++) {
        const json_t *f = json_array_get(json_object_get(j, "findings"), i);
        int k = finding_kind_from(json_string_value(json_object_get(f, "kind")));
        if (k < 0) {
            err_set(err, ERR_INPUT, "verdict: finding %zu has an unknown 'kind', or none", i);
            goto fail;
        }
        v->findings.items[i].kind = (enum finding_kind)k;
    }
    const json_t *warnings = json_object_get(j, "warnings");
    for (size_t i = 0; i < json_array_size(warnings); i++) {
        const char *s = json_string_value(json_array_get(warnings, i));
        *vec_push(&v->warnings) = arena_strdup(&v->arena, s ? s : "");
    }
    return 0;
fail:
    verdict_release(v);
    return -1;
}
