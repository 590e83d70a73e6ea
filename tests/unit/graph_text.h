/* SPDX-License-Identifier: Apache-2.0
 * Graphs of cases in a table: arguments and a line or two. */
#ifndef WICK_TEST_GRAPH_TEXT_H
#define WICK_TEST_GRAPH_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "compiler/ir/ir.h"

/* args: "%x: f32[2,3]"; numbers: nodes that all cases may use, or ""; body: nodes and outputs. */
static inline wk_module *graph_of(const char *args, const char *numbers, const char *body) {
  wk_module *m = NULL;
  wk_str text = {0};
  wk_str_printf(&text, "module \"t\" {\ngraph @main(%s) {\n%s%s\n}\n}\n", args, numbers, body);
  wk_status s = wk_module_parse(text.s, "t", &m);
  if (s) fail_msg("%s\n%s: %s", body, s->place ? s->place : "", s->message);
  wk_str_free(&text);
  return m;
}

#endif
