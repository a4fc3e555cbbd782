/* rnd.h - random words for tests, the same ones every time: xorshift. */
#ifndef RND_H
#define RND_H

#include <stdint.h>

static uint64_t rnd_state = 88172645463325252u;

static inline uint32_t rnd(void)
{
    rnd_state ^= rnd_state << 13;
    rnd_state ^= rnd_state >> 7;
    rnd_state ^= rnd_state << 17;
    return (uint32_t)(rnd_state >> 16);
}

#endif
