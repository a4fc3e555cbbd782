/*
 * vec.h - a growing array of any type.
 *
 *     VEC(struct launch) launches = VEC_INIT;      or as a struct member
 *     *vec_push(&launches) = l;
 *     vec_each (struct launch, p, &launches)
 *         use(p);
 *     vec_release(&launches);
 *
 * vec_push returns a pointer to a new zeroed element. It may move the other elements in memory, so
 * pointers to them become invalid.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stddef.h>
#include <stdlib.h>

#define VEC(type)      \
    struct {           \
        type *items;   \
        size_t n, cap; \
    }
/* A named vec type, for function signatures. */
#define VEC_DECL(name, type) \
    struct name {            \
        type *items;         \
        size_t n, cap;       \
    }
#define VEC_INIT   \
    {              \
        NULL, 0, 0 \
    }

#define vec_push(v)                                                            \
    ((v)->items = vec_grow((v)->items, (v)->n, &(v)->cap, sizeof *(v)->items), \
     &(v)->items[(v)->n++])
#define vec_release(v) (free((v)->items), (v)->items = NULL, (v)->n = (v)->cap = 0)
#define vec_each(type, p, v) for (type *p = (v)->items; p && p < (v)->items + (v)->n; p++)

/* Makes room for one more element and zeroes it. Returns the array, which may have moved. */
void *vec_grow(void *items, size_t n, size_t *cap, size_t size);

#endif
