/* SPDX-License-Identifier: Apache-2.0
 * made indexed: instructions other than products and loops, as large as they are in networks: which
 * code they get by types and strides, how it is cut into tasks, and what these are told to cost.
 *
 * A case is the instruction as a program's text has it, with buffers %0, %1, … in the order of its
 * operands; they are as large as what it reads of them. */
#include "tests/checksums/made_machines.h"

static const struct {
  const char *name, *text;
} cases[] = {
#include "tests/checksums/made_indexed.def"
};

enum { MOST = 8 }; /* operands */

static wk_program *program_of(const char *name, const char *text) {
  wk_str b = {0};
  wk_program *p;
  int n_out = 0, n_in = 0;
  wk_str_printf(&b, "program \"%s\" {\n", name);
  for (int k = 0; k < MOST; k++) {
    char out[16], in[16];
    snprintf(out, sizeof out, "@out %%%d[", k);
    snprintf(in, sizeof in, "@in %%%d[", k);
    if (strstr(text, out))
      wk_str_printf(&b, "buffer output %d %%%d : u8[1073741824]\n", n_out++, k);
    if (strstr(text, in)) wk_str_printf(&b, "buffer input %d %%%d : u8[1073741824]\n", n_in++, k);
  }
  wk_str_printf(&b, "%s\n}\n", text);
  made_must(wk_program_parse(b.s, name, &p));
  wk_str_free(&b);
  const wk_inst *i = p->body.insts.data[0];
  for (uint32_t k = 0; k < i->n_operands; k++) {
    const wk_view *v = &i->operands[k];
    if (v->buffer == WK_NONE) continue;
    int64_t reach = 1;
    for (int d = 0; d < v->rank; d++) reach += (v->dims[d] - 1) * v->strides[d];
    wk_buffer *buffer = &p->buffers.data[v->buffer];
    buffer->size = reach * wk_dtype_size(v->dtype);
    wk_program_io *io = k < i->n_out ? &p->outputs.data[buffer->io] : &p->inputs.data[buffer->io];
    io->type = wk_type_make(v->dtype, 1, &reach);
  }
  return p;
}

void made_indexed(made_table *t) {
  made_place place;
  made_open(&place);
  for (size_t k = 0; k < WK_COUNTOF(cases); k++) {
    made_row(t, cases[k].name);
    for (size_t i = 0; i < MADE_MACHINES; i++)
      made_program(t, &place, i, program_of(cases[k].name, cases[k].text));
  }
  made_close(&place);
}
