/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/compile/compile.h"

void wk_inst_text(wk_str *b, const wk_program *p, const wk_inst *i) {
  wk_str_add(b, wk_op_get(i->op)->name);
  for (uint32_t k = 0; k < i->n_operands; k++) {
    const wk_view *v = &i->operands[k];
    wk_str_add(b, k ? ", " : " ");
    if (v->buffer == WK_NONE) {
      wk_str_add(b, "_");
      continue;
    }
    wk_type t = wk_type_make(v->dtype, v->rank, v->dims);
    wk_str_printf(b, "%s %s ",
                  v->role == WK_ROLE_IN    ? "@in"
                  : v->role == WK_ROLE_OUT ? "@out"
                                           : "@inout",
                  p->buffers.data[v->buffer].name);
    wk_type_print(b, &t);
  }
}
