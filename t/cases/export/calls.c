/* Calls the exported rowmix with wrong arguments and prints what it says. Runs on the fake driver. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rowmix.h"

static struct rowmix k;

static void try(const char *what, struct rowmix_args args)
{
    size_t bytes = 0;
    int rc = rowmix_workspace(&args, &bytes);
    if (rc == 0)
        rc = rowmix_run(&k, &args, NULL);
    printf("%s: %s\n", what, rc ? rowmix_error() : "ok");
}

int main(void)
{
    static _Alignas(256) char memory[1 << 16], space[1 << 16];
    if (rowmix_load(&k) != 0) {
        printf("load: %s\n", rowmix_error());
        return 1;
    }
    struct rowmix_args good = {.in = memory,    .scale = memory, .out = memory,       .total = memory,
                               .R = 4,          .C = 8,          .workspace = space, .workspace_bytes = sizeof space};
    struct rowmix_args a;
    try("good", good);
    a = good, a.in = memory + 4;
    try("misaligned for vectors", a);
    a = good, a.in = NULL;
    try("null", a);
    a = good, a.in = memory + 2;
    try("odd address", a);
    a = good, a.R = 0;
    try("empty", a);
    a = good, a.R = INT64_C(1) << 40;
    try("huge", a);
    a = good, a.R = a.C = 2000000000;
    try("large", a);
    a = good, a.R = 3, a.C = 7;
    try("constraint", a);
    a = good, a.R = 70000;
    try("grid", a);
    a = good, a.workspace_bytes = 16;
    try("workspace", a);
    a = good, a.workspace = NULL;
    try("no workspace", a);
    a = good, a.workspace = space + 64;
    try("odd workspace", a);
    rowmix_unload(&k);
    return 0;
}
