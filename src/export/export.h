/*
 * export.h - writes a verified kernel as a file for other programs.
 *
 *     struct export_job job = {.model = &m, .out = "softmax.py"};
 *     const struct export_format *f = export_format_find("torch", err);
 *     f->write(&job, err);                 job.written names the files
 *
 * To add a format, write as_NAME.c, declare its entry here and add it to the table of export.c.
 */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "export/model.h"

struct export_job {
    struct export_model *model;
    struct export_model *backward; /* the kernel of the gradient; NULL = none */
    const char *out;               /* a file, or a directory if the format has several files */
    bool cubin_form;               /* only for kernelbench: write machine code instead of source */
    bool ptx;                      /* only for c: write PTX beside the machine code */
    VEC(const char *) written;     /* paths, in the model's arena */
};

struct export_format {
    const char *name;
    const char *summary;
    int (*write)(struct export_job *job, struct err *err);
};

extern const struct export_format export_c, export_torch, export_kernelbench, export_flashinfer,
    export_cubin;
extern const struct export_format *const export_formats[];
extern const size_t nexport_formats;

/* If there is no such format, returns NULL, and err lists the formats. */
const struct export_format *export_format_find(const char *name, struct err *err);
void export_job_release(struct export_job *job);

/* For the writers of formats: writes a file and adds it to `written`. */
int export_write(struct export_job *job, const char *path, const struct strbuf *text,
                 struct err *err);
void export_base64(struct strbuf *out, const void *data, size_t n);

#endif
