/* SPDX-License-Identifier: Apache-2.0
 * What becomes of files of models of which single fields, bytes or words are others (the mutations
 * of tests/hostile): what the import makes of them or says, and what `inspect` finds. After a
 * change that is meant,
 *   test_import_mutants says KIND      what was done to a model, and the answers
 *   test_import_mutants rows >tests/unit/import_mutants.def */
#include "compiler/caffe2/caffe2.h"
#include "onnx.pb-c.h"
#include "tests/hostile/fields.h"
#include "tests/hostile/hostile.h"
#include "tests/hostile/model_text.h"
#include "tests/hostile/mutate.h"
#include "tests/unit/import_forms.h"
#include "tests/unit/near_answers.h"
#include "tests/unit/near_file.h"

static const answer_row expected[] = {
#define ROW(name, tried, taken, answers) {name, tried, taken, answers},
#include "tests/unit/import_mutants.def"
#undef ROW
};

/* ---- answers --------------------------------------------------------------------------------- */

static void print_info(wk_str *b, const wk_onnx_info *i) {
  wk_str_printf(b, "%s %s %s %lld: %lld nodes, %lld parameters, %lld bytes\n", i->producer,
                i->producer_version, i->graph_name, (long long)i->ir_version, (long long)i->nodes,
                (long long)i->parameters, (long long)i->parameter_bytes);
  for (size_t k = 0; k < i->inputs.n; k++)
    wk_str_printf(b, "in %s %s%s\n", i->inputs.data[k].name,
                  wk_onnx_io_text(i->arena, &i->inputs.data[k]),
                  i->inputs.data[k].has_default ? " with a default" : "");
  for (size_t k = 0; k < i->outputs.n; k++)
    wk_str_printf(b, "out %s %s\n", i->outputs.data[k].name,
                  wk_onnx_io_text(i->arena, &i->outputs.data[k]));
  for (size_t k = 0; k < i->opsets.n; k++)
    wk_str_printf(b, "opset %s %lld\n", i->opsets.data[k].domain,
                  (long long)i->opsets.data[k].version);
  for (size_t k = 0; k < i->ops.n; k++)
    wk_str_printf(b, "%s %lld\n", i->ops.data[k].op, (long long)i->ops.data[k].count);
  for (size_t k = 0; k < i->external.n; k++) wk_str_printf(b, "file %s\n", i->external.data[k]);
}

static void print_status(wk_str *b, wk_status s) {
  wk_str_printf(b, "%d %s: %s: %s\n", (int)s->code, s->place ? s->place : "", s->message,
                s->notes ? s->notes : "");
  wk_status_free(s);
}

static void ask(answer_row *x, const wk_str *model, const char *what) {
  static const wk_bind_shape shapes[] = {{.input = "x", .rank = 2, .dims = {2, 3}}};
  const wk_import_options o = {.is_hashed = true, .shapes = shapes,
                               .n_shapes = wk_hash64(what, strlen(what), 0) % 8 == 0};
  wk_str answer = {0};
  wk_import_report report;
  wk_onnx_info info;
  wk_module *m = NULL;
  const char *path = near_file(model);
  wk_status s = wk_net_import(path, &o, &report, &m);
  wk_str_printf(&answer, "%016llx\n", (unsigned long long)report.hash);
  if (m) answers_print(&answer, m);
  bool is_taken = !s;
  if (s) print_status(&answer, s);
  for (size_t i = 0; i < report.notes.n; i++)
    wk_str_printf(&answer, "note %s\n", report.notes.data[i]);
  wk_import_report_free(&report);
  wk_module_free(m);
  s = wk_net_inspect(path, NULL, &info);
  if (!s) print_info(&answer, &info);
  if (!s) wk_onnx_info_free(&info);
  else print_status(&answer, s);
  answers_add(x, what, is_taken, &answer);
}

/* ---- models ---------------------------------------------------------------------------------- */

typedef void (*mutation)(wk_rng *rng, wk_str *b, const wk_str *other, wk_str *note);

static wk_str model_of(size_t i, bool as_text) {
  wk_str model = {0}, text = {0};
  model_text(import_forms[i % WK_COUNTOF(import_forms)], &model);
  if (!as_text) return model;
  Onnx__ModelProto *p =
      onnx__model_proto__unpack(NULL, model.n, (const uint8_t *)model.s);
  message_text(&text, &p->base);
  onnx__model_proto__free_unpacked(p, NULL);
  wk_str_free(&model);
  return text;
}

static void ask_kind(const char *name, mutation change, bool as_text, int each) {
  for (size_t i = 0; i < WK_COUNTOF(import_forms); i++)
    for (int k = 0; k < each; k++) {
      wk_rng rng = {wk_hash64(import_forms[i], strlen(import_forms[i]), (uint64_t)k) >> 1};
      wk_str b = model_of(i, as_text), other = model_of(i + 7 * (size_t)k + 1, as_text), note = {0};
      wk_str_printf(&note, "%s\n", import_forms[i]);
      change(&rng, &b, &other, &note);
      wk_str_addn(&b, "", 0);
      ask(answers_of(name), &b, note.s);
      wk_str_free(&b);
      wk_str_free(&other);
      wk_str_free(&note);
    }
}

static void ask_all(void) {
  ask_kind("fields", mutate_onnx, false, 16);
  ask_kind("bytes", mutate_bytes, false, 8);
  ask_kind("words", mutate_text, true, 8);
}

static void answers(void **state) {
  (void)state;
  answers_check(expected, WK_COUNTOF(expected));
}

int main(int argc, char **argv) {
  return answers_main(argc, argv, "test_import_mutants", answers);
}
