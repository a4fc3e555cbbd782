/*
 * main.c - the program `hone-gnn`, which trains graph neural networks on mini-batches.
 */
#include "base/util.h"
#include "gnn/cmd/commands.h"
#if __has_include("version.h")
#include "version.h" /* the Makefile writes it, from CHANGELOG.md and git */
#endif

#ifndef HONE_VERSION
#define HONE_VERSION "0"
#endif

/* In the order of --help. */
static const struct command *const table[] = {
    &gnn_cmd_make,  &gnn_cmd_import, &gnn_cmd_inspect, &gnn_cmd_sample,
    &gnn_cmd_train, &gnn_cmd_infer,  &gnn_cmd_bench,
};

int main(int argc, char **argv)
{
    const struct program p = {
        "hone-gnn",
        HONE_VERSION,
        "Trains and runs graph neural networks on sampled mini-batches. `make` or `import` writes\n"
        "a dataset, `train` trains a model on it, `infer` uses the model. docs/gnn.md says more.",
        table,
        ARRAY_LEN(table),
        NULL};
    return program_main(&p, argc, argv);
}
