/*
 * fidelity.h - one case of the fidelity test, and the things done with it: read, fill, run on the
 * emulator, run on a GPU or recall what a GPU wrote. See fidelity.c for the program.
 */
#ifndef T_FIDELITY_H
#define T_FIDELITY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/dtype.h"
#include "job/job.h"

#define MAX_BUFFERS 12
#define MAX_ARGS 16
#define MAX_MAPS 4

struct buffer {
    char name[32];
    enum dtype t;
    uint64_t elems;
    bool output;
    char init[128];
    uint8_t *data; /* inputs, then what the emulator wrote */
    uint8_t *gpu;  /* what the GPU wrote */
    uint64_t addr;
    char rule[16]; /* "" = not compared */
    double tol, rel;
};

struct map {
    char name[32];
    int buffer;
    struct job_tensormap t;
    bool im2col;
    int lower[3], upper[3];
    uint32_t channels, pixels;
    _Alignas(64) uint8_t bytes[128];
};

struct test {
    char kernel[128], note[64];
    uint32_t grid, block, smem, cluster;
    uint32_t fault; /* 1: the emulator and the GPU must refuse it */
    struct buffer b[MAX_BUFFERS];
    int nb;
    struct map m[MAX_MAPS];
    int nm;
    char args[MAX_ARGS][32];
    int nargs;
    int line;
};

/* A file of cases, and the PTX with their kernels. */
struct suite {
    const char *file;
    char *ptx; /* path */
    struct test *t;
    int n;
};

/* Prints "file:line: what" and ends the program. */
_Noreturn void bad(const char *file, int line, const char *what);
char *slurp(const char *path);
int find_buffer(const struct test *t, const char *name);

/* read_cases() reads NAME.case, whose PTX is NAME.ptx. read_ops() reads NAME.ops, and writes its
 * PTX into dir. */
struct test *add_test(struct suite *s);
void read_cases(struct suite *s);
void read_ops(struct suite *s, const char *dir);

/* fill() draws inputs from a random number generator, which seed_data() starts anew for each case.
 */
void seed_data(uint64_t seed);
void fill(struct buffer *b);

/* The driver, loaded at run time. gpu_load() and gpu_run() return 0 or the driver's error. */
struct cuda;
struct cuda *gpu_open(void);
int gpu_load(struct cuda *c, const char *ptx);
int gpu_run(struct cuda *c, struct test *t);

/* The recorded outputs of a GPU. hash_inputs() identifies a case, after its buffers were filled. */
struct record;
enum known { NOT_KNOWN, STALE, KNOWN_EQUAL, KNOWN_OTHER, KNOWN_SAMPLE };
uint64_t hash_inputs(const struct test *t);
void save_outputs(FILE *f, const char *file, int index, const struct test *t, uint64_t inputs);
struct record *read_record(const char *path);
/* Compares b->data with the record. If the record has only a sample (KNOWN_SAMPLE), compares
 * nothing. Then it copies the recorded elements to b->gpu, and sets *every to the distance between
 * two of them. */
enum known recall(const struct record *r, const char *file, int index, struct buffer *b,
                  uint64_t inputs, uint64_t *every);

#endif
