/* torch_variants.c - the table of PyTorch's variants. See torch_variants.h. */
#include "job/torch_variants.h"

#include <string.h>

#include "base/util.h"

/* The mode max-autotune times dozens of kernels for each product and convolution, so its first call
 * may take longer. */
const struct torch_variant torch_variants[TORCH_VARIANTS] = {
    {.name = "torch", .mode = "eager", .by_task = true, .first_call_s = 300},
    {.name = "torch.compile", .mode = "compile", .by_task = true, .first_call_s = 300},
    {.name = "torch.eager-default",
     .mode = "eager-default",
     .default_of = "torch",
     .first_call_s = 300},
    {.name = "torch.compile-default",
     .mode = "compile-default",
     .default_of = "torch.compile",
     .first_call_s = 300},
    {.name = "torch.max-autotune", .mode = "max-autotune", .first_call_s = 600},
    {.name = "torch.high", .mode = "high", .beside = true, .unjudged = true, .first_call_s = 300},
    {.name = "torch.channels-last",
     .mode = "channels-last",
     .beside = true,
     .by_layout = true,
     .first_call_s = 300},
    {.name = "torch.channels-last-timed",
     .mode = "channels-last-timed",
     .beside = true,
     .by_layout = true,
     .first_call_s = 300},
    {.name = "torch.frozen-weights",
     .mode = "frozen-weights",
     .beside = true,
     .by_weights = true,
     .first_call_s = 300},
};

const struct torch_variant *torch_variant_find(const char *name)
{
    for (size_t i = 0; i < TORCH_VARIANTS; i++)
        if (str_eq(torch_variants[i].name, name))
            return &torch_variants[i];
    return NULL;
}

const struct torch_variant *torch_variant_of_mode(const char *mode)
{
    for (size_t i = 0; i < TORCH_VARIANTS; i++)
        if (str_eq(torch_variants[i].mode, mode))
            return &torch_variants[i];
    return NULL;
}

const struct torch_variant *torch_variant_default(const char *name)
{
    for (size_t i = 0; i < TORCH_VARIANTS; i++)
        if (torch_variants[i].default_of && str_eq(torch_variants[i].default_of, name))
            return &torch_variants[i];
    return NULL;
}

bool torch_variant_is_choice(const struct torch_variant *v)
{
    return !v->by_task && !v->default_of;
}

bool contender_is_program(const char *name)
{
    return strlen(name) > 3 && str_ends(name, ".py");
}

bool baseline_is_torch(const char *name)
{
    const struct torch_variant *v = torch_variant_find(name);
    return v ? !v->beside : contender_is_program(name);
}

bool contender_is_beside(const char *name)
{
    const struct torch_variant *v = torch_variant_find(name);
    return v && v->beside;
}

/* Returns the bits of one word of the list, which has n characters; 0 if the word is unknown. */
static unsigned bits_of(const char *word, size_t n)
{
    unsigned set = 0;
    bool all = n == 3 && strncmp(word, "all", n) == 0;
    for (size_t i = 0; i < TORCH_VARIANTS; i++) {
        const char *known =
            torch_variant_is_choice(&torch_variants[i]) ? torch_variants[i].mode : NULL;
        if (known && (all || (strlen(known) == n && strncmp(word, known, n) == 0)))
            set |= 1u << i;
    }
    return set;
}

int torch_variants_parse(const char *list, unsigned *out, struct err *err)
{
    *out = 0;
    for (const char *p = list;;) {
        size_t n = strcspn(p, ",");
        unsigned set = bits_of(p, n);
        if (!set) {
            struct strbuf known = STRBUF_INIT(256);
            torch_variants_text(~0u, &known);
            int rc = err_set(err, ERR_USAGE,
                             "there is no PyTorch variant '%.*s'; give `all` or some of %s",
                             (int)MIN(n, 100), p, known.buf);
            strbuf_release(&known);
            return rc;
        }
        *out |= set;
        if (!p[n])
            return 0;
        p += n + 1;
    }
}

void torch_variants_text(unsigned set, struct strbuf *out)
{
    const char *between = "";
    for (size_t i = 0; i < TORCH_VARIANTS; i++) {
        if (!(set & 1u << i) || !torch_variant_is_choice(&torch_variants[i]))
            continue;
        strbuf_addf(out, "%s%s", between, torch_variants[i].mode);
        between = ",";
    }
}
