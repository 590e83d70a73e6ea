/* SPDX-License-Identifier: Apache-2.0
 * Outputs of strings, compared by what their numbers stand for. */
#include <string.h>

#include "cli/verify/test_case.h"

static const char *text_of(const wk_labels *l, int64_t number) {
  return number >= 0 && number < l->texts.n ? l->texts.v[number] : "(no label)";
}

wk_status wk_test_labelled(const wk_test_set *s, const wk_labels *l, const wk_tensor *got,
                           const wk_tensor *want) {
  int64_t n = wk_type_count(&want->type);
  for (int64_t i = 0; i < n; i++) {
    int64_t a = wk_load_i64(got->data, got->type.dtype, i);
    int64_t b = wk_load_i64(want->data, want->type.dtype, i);
    if (b < 0)
      return wk_error(WK_FAILED, "%s: output %s: element %lld is '%s', want a string that is none "
                      "of the model's labels", s->name, l->output, (long long)i, text_of(l, a));
    bool are_labels = a >= 0 && a < l->texts.n && b < l->texts.n;
    if (a != b && !(are_labels && strcmp(text_of(l, a), text_of(l, b)) == 0))
      return wk_error(WK_FAILED, "%s: output %s: element %lld is '%s', want '%s'", s->name,
                      l->output, (long long)i, text_of(l, a), text_of(l, b));
  }
  return NULL;
}
