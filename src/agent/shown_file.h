/*
 * shown_file.h - decides how a prompt shows a candidate's file.
 *
 * Providers charge little for a prompt's beginning if it equals that of an earlier prompt. So a
 * prompt repeats the file that the role's last prompt showed, byte for byte. Then it lists the
 * changes that turn this old file into the candidate's file. If the changes are too many, the
 * prompt shows the candidate's file itself.
 */
#ifndef AGENT_SHOWN_FILE_H
#define AGENT_SHOWN_FILE_H

#include "base/strbuf.h"
#include "base/vec.h"

/* The file that the last prompt of each role showed. */
struct shown_file {
    char role[24];
    char *text;
};
VEC_DECL(shown_files, struct shown_file);

/* Returns the file to show for `source` in the next prompt of the role, and appends to `changes`
 * the changes that turn this file into `source`. The result is valid until this function is called
 * for the role again. */
const char *shown_file_next(struct shown_files *v, const char *role, const char *source,
                            struct strbuf *changes);
void shown_files_release(struct shown_files *v);

/* Appends the changes that make `after` from `before`, in words and code. */
void changes_text(const char *before, const char *after, struct strbuf *out);

#endif
