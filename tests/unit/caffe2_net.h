/* SPDX-License-Identifier: Apache-2.0
 * Nets of one operator of Caffe2 as protobuf text, of a row: inputs as "x=1x3x8x8 w=4..9x3x3x3",
 * outputs as "y z", arguments as kernel=3 pads=[1,2] scale=0.5 mode="edge". */
#ifndef WICK_TEST_CAFFE2_NET_H
#define WICK_TEST_CAFFE2_NET_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/caffe2/caffe2.h"

enum { CAFFE2_MAX_INPUTS = 8 };
typedef struct {
  wk_str text;
  char *names; /* of the inputs */
  wk_bind_shape shapes[CAFFE2_MAX_INPUTS];
  size_t n_shapes;
} caffe2_net;

/* The next word; NULL: there is none. */
static inline char *caffe2_word(char **p) {
  char *s = strsep(p, " ");
  return s && *s ? s : NULL;
}

static inline void caffe2_argument(wk_str *s, char *argument) {
  char *value = strchr(argument, '=');
  assert_non_null(value);
  *value++ = 0;
  bool is_list = *value == '[', is_text = strchr(value, '"') != NULL;
  const char *kind = is_text ? "s" : strchr(value, '.') ? "f" : "i";
  const char *field = !is_list ? kind : is_text ? "strings" : *kind == 'f' ? "floats" : "ints";
  wk_str_printf(s, "arg { name: \"%s\" %s: %s } ", argument, field, value);
}

static inline void caffe2_shape(wk_bind_shape *s, char *input) {
  char *dims = strchr(input, '=');
  assert_non_null(dims);
  *dims++ = 0;
  *s = (wk_bind_shape){.input = input};
  for (; *dims; dims += *dims == 'x', s->rank++) {
    s->least[s->rank] = s->dims[s->rank] = strtoll(dims, &dims, 10);
    if (strncmp(dims, "..", 2) != 0) continue;
    s->is_open = true;
    s->dims[s->rank] = strtoll(dims + 2, &dims, 10);
  }
}

static inline caffe2_net caffe2_net_of(const char *type, const char *in, const char *out,
                                       const char *args) {
  caffe2_net n = {.names = strdup(in)};
  char *results = strdup(out), *arguments = strdup(args), *p = n.names, *w;
  wk_str_printf(&n.text, "op { type: \"%s\" ", type);
  while ((w = caffe2_word(&p))) {
    assert_true(n.n_shapes < CAFFE2_MAX_INPUTS);
    caffe2_shape(&n.shapes[n.n_shapes++], w);
    wk_str_printf(&n.text, "input: \"%s\" ", w);
  }
  for (p = results; (w = caffe2_word(&p));) wk_str_printf(&n.text, "output: \"%s\" ", w);
  for (p = arguments; (w = caffe2_word(&p));) caffe2_argument(&n.text, w);
  wk_str_printf(&n.text, "}\nexternal_output: \"%s\"\n", results);
  if (!n.n_shapes) /* a net does not only fill */
    wk_str_printf(&n.text, "op { type: \"Copy\" input: \"%s\" output: \"copy\" }\n", results);
  free(results);
  free(arguments);
  return n;
}

static inline void caffe2_net_free(caffe2_net *n) {
  wk_str_free(&n->text);
  free(n->names);
}

#endif
