/* gpu.c - reads data sheets of GPUs and computes the floor from them. See gpu.h. */
#include "measure/gpu.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "sys/asset.h"

struct field {
    const char *key;
    size_t offset;
    bool is_int;
};

#define U32(k)                                \
    {                                         \
#k, offsetof(struct job_gpu, k), true \
    }
#define F64(k)                                 \
    {                                          \
#k, offsetof(struct job_gpu, k), false \
    }
static const struct field fields[] = {
    U32(sms),
    U32(cores_per_sm),
    U32(max_threads_per_sm),
    U32(max_blocks_per_sm),
    U32(regs_per_sm),
    U32(smem_per_sm),
    U32(smem_per_block),
    U32(l2_bytes),
    U32(warp_schedulers),
    F64(clock_ghz),
    F64(dram_gbps),
    F64(l2_gbps),
    F64(smem_bytes_clk),
    F64(launch_us),
    F64(fp32_tflops),
    F64(fp64_tflops),
    F64(f16_tensor_tflops),
    F64(tf32_tensor_tflops),
    F64(f8_tensor_tflops),
    F64(s8_tensor_tops),
    F64(sfu_per_clk),
    F64(dram_latency_ns),
};

static int read_field(const struct field *f, const json_t *j, struct job_gpu *g, const char *name,
                      struct err *err)
{
    const json_t *x = json_object_get(j, f->key);
    double v = json_number_value(x);
    if (!json_is_number(x) || !(v >= 0) || v > 1e12)
        return err_set(err, ERR_INPUT, "gpu '%s': \"%s\" must be a number >= 0", name, f->key);
    char *p = (char *)g + f->offset;
    if (f->is_int)
        *(uint32_t *)(void *)p = v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
    else
        *(double *)(void *)p = v;
    return 0;
}

static json_t *load_json(const char *name, struct err *err)
{
    json_error_t je;
    char path[128];
    snprintf(path, sizeof path, "gpus/%.100s.json", name);
    const struct asset *a = asset_find(path);
    json_t *j = a ? json_loadb(a->data, a->len, JSON_REJECT_DUPLICATES, &je)
                  : json_load_file(name, JSON_REJECT_DUPLICATES, &je);
    if (j)
        return j;
    struct strbuf known = STRBUF_INIT(256);
    for (const struct asset *k = asset_first("gpus/"); k && k < assets + nassets; k++) {
        if (!str_starts(k->path, "gpus/"))
            break;
        strbuf_addf(&known, " %.*s", (int)strlen(k->path) - 10, k->path + 5);
    }
    char line[32] = "";
    if (je.line > 0)
        snprintf(line, sizeof line, " (line %d)", je.line);
    err_set(err, ERR_INPUT,
            "gpu '%s': %s%s; the built-in names are%s; you can also give a JSON file", name,
            je.text, line, known.buf);
    strbuf_release(&known);
    return NULL;
}

int gpu_load(const char *name, struct job_gpu *out, const char **arch, struct arena *a,
             struct err *err)
{
    json_t *j = load_json(name, err);
    if (!j)
        return -1;
    int rc = 0;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < ARRAY_LEN(fields) && rc == 0; i++)
        rc = read_field(&fields[i], j, out, name, err);
    const char *n = json_string_value(json_object_get(j, "name"));
    const char *s = json_string_value(json_object_get(j, "arch"));
    out->name = arena_strdup(a, n ? n : name);
    if (arch)
        *arch = arena_strdup(a, s ? s : "sm_90a");
    json_decref(j);
    return rc;
}

/* The device's name must contain the name of the data sheet. Only letters and digits count, in
 * lower case: "NVIDIA GeForce RTX 4090" contains "rtx4090". A digit must not follow, because
 * "NVIDIA L40S" is not an "l4". */
const char *gpu_for_device(const char *device_name, struct arena *a)
{
    struct strbuf flat = STRBUF_INIT(256);
    for (const char *p = device_name; *p; p++)
        if (isalnum((unsigned char)*p))
            strbuf_addc(&flat, (char)tolower((unsigned char)*p));
    const char *found = NULL;
    for (const struct asset *k = asset_first("gpus/"); k && k < assets + nassets && !found; k++) {
        if (!str_starts(k->path, "gpus/"))
            break;
        char *name = arena_strndup(a, k->path + 5, strlen(k->path) - 10);
        const char *at = strstr(flat.buf, name);
        if (at && !isdigit((unsigned char)at[strlen(name)]))
            found = name;
    }
    strbuf_release(&flat);
    return found;
}

const char *gpu_name_of(const char *device_name, struct arena *a)
{
    const char *sheet = gpu_for_device(device_name, a);
    return sheet ? sheet : device_name;
}

/* Returns the time that `flops` take on the fastest unit of the GPU for operands of this type. */
static double arithmetic_ns(const struct job_gpu *g, double flops, enum dtype operand)
{
    double rate = 0; /* TFLOP/s of that unit */
    switch (operand) {
    case DT_F64:
        rate = 2 * g->fp64_tflops; /* tensor cores double the rate */
        break;
    case DT_F32:
        /* A float32 product can be split into TF32 or f16 products. */
        rate = MAX(g->tf32_tensor_tflops, g->f16_tensor_tflops);
        break;
    case DT_F8E4M3:
    case DT_F8E5M2:
        rate = MAX(g->f8_tensor_tflops, g->f16_tensor_tflops);
        break;
    case DT_I8:
    case DT_U8:
        rate = g->s8_tensor_tops;
        break;
    default:
        rate = g->f16_tensor_tflops;
    }
    return rate > 0 ? flops / rate / 1e3 : 0;
}

double gpu_floor_ns(const struct job_gpu *g, double flops, double min_bytes, double written,
                    enum dtype operand)
{
    /* If all data fits into the L2, it may never reach DRAM. */
    bool fits = min_bytes <= g->l2_bytes;
    double gbps = fits ? MAX(g->l2_gbps, g->dram_gbps) : g->dram_gbps;
    double bytes = fits ? min_bytes : min_bytes - fmin(written, g->l2_bytes);
    return fmax(arithmetic_ns(g, flops, operand), gbps > 0 ? bytes / gbps : 0);
}

double gpu_roofline_ns(const struct job_gpu *g, double flops, double bytes, enum dtype operand,
                       const char **limit)
{
    double math = arithmetic_ns(g, flops, operand);
    double memory = g->dram_gbps > 0 ? bytes / g->dram_gbps : 0;
    *limit = math > memory ? "arithmetic" : "DRAM";
    return fmax(math, memory);
}
