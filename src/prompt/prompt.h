/*
 * prompt.h - makes prompts by filling the slots of template files. An author, mostly a language
 * model, answers them.
 *
 *     struct prompt p;
 *     const struct prompt_slot slots[] = {{"task", text, 3000}, {"feedback", fb, 2000}};
 *     if (prompt_render(&p, "step", slots, 2, err) < 0) ...
 *     author gets p.stable.buf and p.turn.buf
 *     prompt_release(&p);
 *
 * A template is prompts/NAME.md. In it:
 *     {{slot}}                  is replaced by the slot's text
 *     {{>part}}                 includes prompts/part.md
 *     {{#slot}} ... {{/slot}}   stays only if the slot is not empty
 *     <!-- turn -->             on a line of its own, ends the part of the prompt that stays the
 *                               same from call to call
 * Other one-line comments are dropped. Slots without a value and values without a slot are errors.
 * Files in $HONE_PROMPTS replace the built-in ones. A slot with more than max_tokens is folded
 * (fold.h), never cut in the middle of a line.
 */
#ifndef PROMPT_PROMPT_H
#define PROMPT_PROMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"

#define PROMPT_MAX_BYTES (4u << 20)

struct prompt_slot {
    const char *name;
    const char *text;    /* "" is a value; NULL means no value */
    uint32_t max_tokens; /* 0 = no limit */
};

struct prompt_section {
    char name[48]; /* a slot, an included part, or the template itself */
    uint64_t tokens;
    bool folded;
};

struct prompt {
    struct strbuf stable, turn;
    VEC(struct prompt_section) sections;
    uint64_t tokens;
};

/* After an error there is nothing to release. */
int prompt_render(struct prompt *p, const char *name, const struct prompt_slot *slots, size_t n,
                  struct err *err);
void prompt_release(struct prompt *p);
/* Returns the text of prompts/NAME.md before parts are included; the caller frees it. Returns NULL
 * if there is no such file. */
char *prompt_file(const char *name, struct err *err);
bool prompt_exists(const char *name);
/* Sets *out to whether the template, or a part that it includes, has the slot. Returns -1 if a file
 * is missing. */
int prompt_has_slot(const char *name, const char *slot, bool *out, struct err *err);

#endif
