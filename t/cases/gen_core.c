/* Compiled as C17 and as C++17, with and without fused multiply-adds: the output must not differ.
 */
#include "job/gen_core.h"
#include "job/poison.h"

#include <stdio.h>

static struct gen_spec spec_of(int dist, double a, double b, int special)
{
    struct gen_spec s = {0};
    s.dist = (uint8_t)dist;
    s.a = a;
    s.b = b;
    s.n = 5001;
    s.special[0] = (uint8_t)special;
    s.every[0] = special ? 20 : 0;
    return s;
}

static struct gen_spec thin_spec(void)
{
    struct gen_spec s = spec_of(GEN_UNIFORM, 1, 2, GEN_NAN);
    s.thin[0].places = 7;
    s.thin[0].step = 500;
    s.thin[1].places = 11;
    s.thin[1].step = 3;
    return s;
}

int main(void)
{
    const struct gen_spec specs[] = {
        spec_of(GEN_NORMAL, 0.3, 1.7, GEN_SPECIAL_NONE),
        spec_of(GEN_NORMAL, 90, 3, GEN_NEG_INF),
        spec_of(GEN_UNIFORM, -0.1, 0.7, GEN_SPECIAL_DENORMAL),
        spec_of(GEN_INT, -100, 1e6, GEN_SPECIAL_MAX),
        spec_of(GEN_CONST, 0.1, 0, GEN_NAN),
        spec_of(GEN_DENORMAL, 0, 0, GEN_POS_INF),
        spec_of(GEN_CSR, 0, 80000, GEN_SPECIAL_NONE),
        spec_of(GEN_PERM, 0, 0, GEN_SPECIAL_NONE),
        thin_spec(),
    };
    for (unsigned s = 0; s < sizeof specs / sizeof specs[0]; s++) {
        for (int t = GEN_T_F64; t <= GEN_T_BOOL; t++) {
            struct gen_plan p = gen_prepare(&specs[s], t, 0x0123456789abcdefu, s);
            uint64_t h = 0;
            for (uint64_t i = 0; i < 5001; i++) {
                h += gen_hash_word(gen_element(&p, i), i);
                h += gen_hash_word(gen_perturbed(&p, i), i + 10000);
                h += gen_hash_word(poison_bits((uint8_t)t, s, i), i + 20000);
            }
            printf("%u %d %016llx\n", s, t, (unsigned long long)h);
        }
    }
    return 0;
}
