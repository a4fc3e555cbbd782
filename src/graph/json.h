/*
 * json.h - a graph as JSON, and back. schema/graph.json describes the form, docs/graph.md shows it.
 *
 *     json_t *j = graph_to_json(&g);
 *     struct graph copy;
 *     if (graph_from_json(&copy, j, err) < 0) ...     "/values/3/attrs/dim: ..."
 *     graph_release(&copy);
 *
 * The reader treats the JSON as hostile. Every list and text has a cap. graph_add() makes every
 * value anew and infers its dtype and shape. A declared dtype or shape must equal the inferred one.
 * An error about an entry begins with its JSON pointer, as in the example.
 */
#ifndef GRAPH_JSON_H
#define GRAPH_JSON_H

#include <jansson.h>

#include "base/err.h"
#include "graph/graph.h"

#define GRAPH_JSON_VERSION 1
#define GRAPH_JSON_MAX_AXES 64
#define GRAPH_JSON_MAX_INPUTS 2048
#define GRAPH_JSON_MAX_SCALARS 64
#define GRAPH_JSON_MAX_OUTPUTS 1024
#define GRAPH_JSON_MAX_GUARDS 256
#define GRAPH_JSON_MAX_NAME 64
#define GRAPH_JSON_MAX_SIZE (INT64_C(1) << 40) /* largest size of a constant axis */
#define GRAPH_JSON_MAX_EXPR 1024               /* characters of a size or a guard */

/* Returns a new reference. The JSON has every input and scalar, and the values that an output
 * needs. */
json_t *graph_to_json(const struct graph *g);
/* Initialises g. After -1 there is nothing to release. */
int graph_from_json(struct graph *g, const json_t *j, struct err *err);

#endif
