/* SPDX-License-Identifier: Apache-2.0
 * Names of values inside one graph. */
#ifndef WICK_IR_GRAPH_NAMES_H
#define WICK_IR_GRAPH_NAMES_H

#include "compiler/ir/graph.h"

/* A copy in the module's arena that no value of g has: name itself, else name.1, name.2 …; a fresh
 * generated name when name is NULL or empty. Not entered into g->names. */
const char *wk_graph_unique_name(const wk_graph *g, const char *name);
/* Generated names are an underscore and digits. */
bool wk_name_is_generated(const char *name);
/* Gives v this (unique) name. */
void wk_graph_set_name(wk_graph *g, wk_value_id v, const char *name);

#endif
