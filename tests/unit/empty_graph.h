/* SPDX-License-Identifier: Apache-2.0
 * A graph to build on. */
#ifndef WICK_TEST_EMPTY_GRAPH_H
#define WICK_TEST_EMPTY_GRAPH_H

#include "compiler/ir/ir.h"

/* main(%x: f32[2,3]) of a module, and nothing else. The caller frees the module. */
static inline wk_graph *empty_graph(wk_value_id *x) {
  const wk_type t = wk_type_make(WK_F32, 2, (const int64_t[]){2, 3});
  wk_graph *g = wk_graph_new(wk_module_new("m"), "main");
  *x = wk_graph_input(g, "x", &t);
  return g;
}

#endif
