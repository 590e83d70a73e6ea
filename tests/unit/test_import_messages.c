/* SPDX-License-Identifier: Apache-2.0
 * What the importer says of a model that it refuses, and what it takes just beside that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/onnx/onnx.h"
#include "tests/hostile/model_text.h"

static const struct {
  const char *message, *text;
} rows[] = {
#define MESSAGE(message, text) {message, text},
#include "tests/unit/import_messages.def"
#include "tests/unit/import_messages_attention.def"
#include "tests/unit/import_messages_control.def"
#include "tests/unit/import_messages_forms.def"
#include "tests/unit/import_messages_ml.def"
#include "tests/unit/import_messages_fused.def"
#include "tests/unit/import_messages_parts.def"
#undef MESSAGE
};

/* "" when it is taken; what is not leaves no module. */
static wk_str import(const char *text) {
  wk_str model = {0}, out = {0};
  wk_module *m = (wk_module *)&model;
  model_text(text, &model);
  wk_status s = wk_import_onnx_memory(model.s, model.n, NULL, NULL, &m);
  wk_str_add(&out, "");
  if (s) assert_null(m);
  if (s) wk_str_printf(&out, "%s: %s", s->message, s->notes ? s->notes : "");
  wk_status_free(s);
  wk_module_free(m);
  wk_str_free(&model);
  return out;
}

static void test_messages(void **state) {
  int bad = 0;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    wk_str got = import(rows[i].text);
    bool good = *rows[i].message ? strstr(got.s, rows[i].message) != NULL : !*got.s;
    if (!good) print_error("%s\n  is '%s', not '%s'\n", rows[i].text, got.s, rows[i].message);
    bad += !good;
    wk_str_free(&got);
  }
  assert_int_equal(bad, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_messages)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
