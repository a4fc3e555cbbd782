/*
 * shown_file.h - decides how a prompt shows a candidate's file.
 *
 * Providers charge little for the beginning of a prompt if an earlier prompt began with the same
 * bytes. So a prompt repeats the file that the role's last prompt showed, byte for byte, and then
 * lists the changes that lead to the candidate's file. If the changes are too many, the prompt
 * shows the candidate's file itself.
 */
#ifndef AGENT_SHOWN_FILE_H
#define AGENT_SHOWN_FILE_H

#include "base/strbuf.h"
#include "base/vec.h"

struct shown_file {
    char role[24];
    char *text;
};
VEC_DECL(shown_files, struct shown_file);

/* Returns the file that the role's next prompt shows for `source`. Appends the changes that turn
 * this file into `source`. The result is valid until the next call for the same role. */
const char *shown_file_next(struct shown_files *v, const char *role, const char *source,
                            struct strbuf *changes);
void shown_files_release(struct shown_files *v);

/* Appends the changes that make `after` from `before`, in words and code. */
void changes_text(const char *before, const char *after, struct strbuf *out);

#endif
