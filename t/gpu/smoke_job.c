/*
 * smoke_job DIR emu|cuda KERNEL: writes DIR/job.bin for one kernel of smoke.cu. Links only files of
 * job/ and base/.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "job/job.h"

enum { N = 100003, SMALL = 5003 };

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    bool cuda = strcmp(argv[2], "cuda") == 0;
    const char *kernel = argv[3];
    uint64_t n = cuda ? N : SMALL;
    struct job_buffer buffers[3];
    for (int i = 0; i < 3; i++)
        buffers[i] = (struct job_buffer){.name = i == 0   ? "x"
                                                 : i == 1 ? "y"
                                                          : "z",
                                         .role = i == 2 ? JOB_OUTPUT : JOB_INPUT,
                                         .dtype = DT_F32,
                                         .elems = n,
                                         .bytes = 4 * n,
                                         .align = 256,
                                         .offset = i == 1 ? 4 : 0,
                                         .rank = 1,
                                         .dims = {(int64_t)n},
                                         .gen = {.dist = GEN_NORMAL, .b = 2, .n = n},
                                         .stream = (uint32_t)i,
                                         .file = "",
                                         .rtol = 1e-6,
                                         .budget = 4,
                                         .acc_eps = 0x1p-24};
    struct job_arg args[4] = {{JOB_ARG_BUFFER, 0, {0}, 8},
                              {JOB_ARG_BUFFER, 1, {0}, 8},
                              {JOB_ARG_BUFFER, 2, {0}, 8},
                              {JOB_ARG_BYTES, 0, {0}, 4}};
    int32_t count = (int32_t)n;
    memcpy(args[3].bytes, &count, 4);
    struct job_launch launches[2];
    for (int p = 0; p < 2; p++)
        launches[p] = (struct job_launch){.kernel = p ? "good" : kernel,
                                          .grid = {(uint32_t)(n + 255) / 256, 1, 1},
                                          .block = {256, 1, 1},
                                          .cluster = {1, 1, 1},
                                          .nargs = 4,
                                          .args = args};
    struct job_launch *l = &launches[0];
    if (strcmp(kernel, "big_shared") == 0)
        l->smem_bytes = 100 * 1024 + 4;
    if (strcmp(kernel, "cluster") == 0) {
        l->kernel = "good";
        l->cluster[0] = 2;
        l->grid[0] = (l->grid[0] + 1) / 2 * 2;
    }
    if (strcmp(kernel, "cooperative") == 0) {
        l->kernel = "good";
        l->cooperative = true;
    }
    if (strcmp(kernel, "too_many_threads") == 0) {
        l->kernel = "good";
        l->block[0] = 2048;
    }
    struct job_program programs[2] = {{.module = 0, .nlaunches = 1, .launches = &launches[0]},
                                      {.module = 1, .nlaunches = 1, .launches = &launches[1]}};
    struct job_call calls[] = {{0, JOB_CALL_VERIFY | JOB_CALL_COUNT, 11, 21, -1, 0},
                               {0, JOB_CALL_REPEAT, 11, 22, -1, 0},
                               {0, JOB_CALL_VERIFY | JOB_CALL_KEEP_STATE, 12, 23, -1, 0},
                               {0, JOB_CALL_VERIFY, 11, 24, 0, 77}};
    struct job_phase phase = {"reference", n, 1};
    int64_t axes[1] = {(int64_t)n};
    struct job_case c = {.name = "smoke:0",
                         .nbuffers = 3,
                         .buffers = buffers,
                         .nprograms = 2,
                         .programs = programs,
                         .ncalls = ARRAY_LEN(calls),
                         .calls = calls,
                         .nphases = 1,
                         .phases = &phase,
                         .naxes = 1,
                         .axes = axes};
    if (cuda && strcmp(kernel, "good") == 0)
        c.timing = (struct job_timing){11, 200, 3, 0.01, 5, false};
    struct job_module modules[2];
    for (int m = 0; m < 2; m++)
        modules[m] = (struct job_module){m ? "naive" : "candidate",
                                         JOB_MODULE_KERNEL,
                                         cuda ? "cand.cubin" : "",
                                         cuda ? "" : "cand.ptx",
                                         "",
                                         ""};
    struct job job = {.device = cuda ? JOB_CUDA : JOB_EMU,
                      .sanitize = false,
                      .nonce = 4711,
                      .seed = 99,
                      .limits = {.wall_ns = 60000000000u,
                                 .call_ns = 2000000000u,
                                 .measure_ns = 2000000000u,
                                 .device_bytes = 8ull << 30,
                                 .printf_bytes = 64 << 10},
                      .gpu = {.name = "h200",
                              .sms = 132,
                              .cores_per_sm = 128,
                              .max_threads_per_sm = 2048,
                              .max_blocks_per_sm = 32,
                              .regs_per_sm = 65536,
                              .smem_per_sm = 233472,
                              .smem_per_block = 232448,
                              .l2_bytes = 50 << 20,
                              .warp_schedulers = 4,
                              .clock_ghz = 1.98,
                              .dram_gbps = 4800,
                              .l2_gbps = 10000,
                              .smem_bytes_clk = 128,
                              .launch_us = 2,
                              .fp32_tflops = 67,
                              .fp64_tflops = 34,
                              .f16_tensor_tflops = 989,
                              .tf32_tensor_tflops = 495,
                              .f8_tensor_tflops = 1979,
                              .s8_tensor_tops = 1979,
                              .sfu_per_clk = 16,
                              .dram_latency_ns = 600},
                      .oracle = cuda ? "oracle.cubin" : "oracle.so",
                      .service = cuda ? "service.cubin" : "",
                      .nmodules = 2,
                      .modules = modules,
                      .ncases = 1,
                      .cases = &c};
    struct strbuf sb = STRBUF_INIT(JOB_MAX_BYTES);
    job_write(&job, &sb);
    char path[4096];
    snprintf(path, sizeof path, "%s/job.bin", argv[1]);
    FILE *f = fopen(path, "w");
    if (!f || fwrite(sb.buf, sb.len, 1, f) != 1 || fclose(f) != 0) {
        perror(path);
        return 1;
    }
    strbuf_release(&sb);
    return 0;
}
