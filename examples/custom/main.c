/* SPDX-License-Identifier: Apache-2.0
 * Runs the package of model.onnxtxt: the program is linked with routine.c and registers what the
 * package calls. Prints the first row of y. */
#include <stdio.h>

#include "runtime/routine.h"

static int fail(const char *what, wick_status status, const wick_error_detail *detail) {
  fprintf(stderr, "%s: %s: %s\n", what, wick_status_text(status), detail->text);
  return 1;
}

int main(int argc, char **argv) {
  wick_error_detail detail = {{0}};
  wick_load_options load = {.size = sizeof load, .detail = &detail};
  wick_model *model;
  wick_session *session;
  float x[12], y[16];
  for (int i = 0; i < 12; i++) x[i] = (float)(i - 6) / 4;
  const void *inputs[] = {x};
  void *outputs[] = {y};
  if (argc != 2) return fprintf(stderr, "usage: main PACKAGE\n"), 2;
  for (const wick_routine *r = wick_routine_plugin(); r->name; r++)
    if (wick_routine_register(r) != WICK_OK) return 1;
  wick_status s = wick_model_load(argv[1], &load, &model);
  if (s != WICK_OK) return fail(argv[1], s, &detail);
  s = wick_session_create(model, 0, 1, &session);
  if (s == WICK_OK) s = wick_session_run(session, inputs, outputs);
  if (s != WICK_OK) return fail("run", s, &detail);
  printf("%.4f %.4f %.4f %.4f\n", y[0], y[1], y[2], y[3]);
  wick_session_free(session);
  wick_model_free(model);
  return 0;
}
