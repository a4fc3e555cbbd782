/*
 * prompt.h - prompts from data files with strict slots, measured section by section.
 *
 *     struct prompt p;
 *     const struct prompt_slot slots[] = {{"task", text, 3000}, {"feedback", fb, 2000}};
 *     if (prompt_render(&p, "step", slots, 2, err) < 0) ...
 *     author gets p.stable.buf and p.turn.buf
 *     prompt_release(&p);
 *
 * A template is prompts/NAME.md. In it: {{slot}} is replaced; {{>part}} includes prompts/part.md;
 * {{#slot}} ... {{/slot}} stays only if the slot is not empty; a line `<!-- turn -->` ends the part
 * that is the same from call to call. Other one-line comments are for readers and are dropped. A
 * slot without a value, and a value without a slot, are errors: a prompt never goes out half
 * filled. HONE_PROMPTS names a directory whose files stand in for the built-in ones.
 *
 * A slot over its budget is folded (fold.h), never cut in the middle of a line; `sections` says
 * what each slot cost.
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
    const char *text;    /* "" is a value, NULL is none */
    uint32_t max_tokens; /* 0 = no limit of its own */
};

struct prompt_section {
    char name[48]; /* a slot, an included part, or "template" */
    uint64_t tokens;
    bool folded;
};

struct prompt {
    struct strbuf stable, turn;
    VEC(struct prompt_section) sections;
    uint64_t tokens;
};

int prompt_render(struct prompt *p, const char *name, const struct prompt_slot *slots, size_t n,
                  struct err *err);
void prompt_release(struct prompt *p);
/* The text of prompts/NAME.md, included parts not yet in it; NULL with an error if absent. */
char *prompt_file(const char *name, struct err *err);
bool prompt_exists(const char *name);

#endif
