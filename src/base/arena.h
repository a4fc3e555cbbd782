/*
 * arena.h - memory that is freed all at once: one arena for each task, plan or evaluation.
 *
 *     struct arena a = ARENA_INIT;
 *     char *s = arena_printf(&a, "%s.%d", name, i);
 *     arena_release(&a);
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena {
    struct arena_block *head;
    size_t bytes; /* how many bytes the arena has handed out */
};

#define ARENA_INIT \
    {              \
        NULL, 0    \
    }

void *arena_alloc(struct arena *a, size_t n); /* zeroed, 16-byte aligned */
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void arena_release(struct arena *a);

#endif
