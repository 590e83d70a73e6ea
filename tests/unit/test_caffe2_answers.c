/* SPDX-License-Identifier: Apache-2.0
 * What becomes of nets that are nearly right: those of the tables of messages and of forms and
 * those of tests/caffe2, each with a number or a text changed or an argument or an input left out,
 * and operators with inputs that are not meant for them. Whether a net is taken, as what graph, and
 * with which message it is refused is summed up. After a change that is meant,
 *   test_caffe2_answers says NAME      the nets of a row and the answers: compare with those before
 *   test_caffe2_answers rows >tests/unit/caffe2_answers.def */
#include <unistd.h>

#include "tests/hostile/hostile.h"
#include "tests/hostile/net_files.h"
#include "tests/unit/caffe2_net.h"
#include "tests/unit/near_answers.h"
#include "tests/unit/near_file.h"
#include "tests/unit/near_model.h"

static const struct {
  const char *type, *in, *out, *args;
} rows[] = {
#define MESSAGE(message, type, in, out, args) {type, in, out, args},
#define FORM(type, in, out, args) {type, in, out, args},
#include "tests/unit/caffe2_messages.def"
#include "tests/unit/caffe2_forms.def"
#undef MESSAGE
#undef FORM
};

static const answer_row expected[] = {
#define ROW(name, tried, taken, answers) {name, tried, taken, answers},
#include "tests/unit/caffe2_answers.def"
#undef ROW
};

/* ---- answers --------------------------------------------------------------------------------- */

static void print_answer(wk_str *b, wk_status s, wk_module *m, const wk_import_report *r) {
  if (s)
    wk_str_printf(b, "%d %s: %s", (int)s->code, s->message, s->notes ? s->notes : "");
  if (m) answers_print(b, m);
  for (size_t i = 0; i < r->notes.n; i++) wk_str_printf(b, "note %s\n", r->notes.data[i]);
  for (size_t i = 0; i < r->need_bind.n; i++) wk_str_printf(b, "size %s\n", r->need_bind.data[i]);
}

static void ask(answer_row *x, const wk_str *text, const wk_import_options *o) {
  wk_str answer = {0};
  wk_import_report report;
  wk_module *m = NULL;
  wk_status s = wk_net_import(near_file(text), o, &report, &m);
  print_answer(&answer, s, m, &report);
  answers_add(x, text->s, !s, &answer);
  wk_import_report_free(&report);
  wk_status_free(s);
  wk_module_free(m);
}

/* ---- edits ----------------------------------------------------------------------------------- */

/* Where a piece of the text begins that is one argument or one input; NULL: there is none. */
static const char *piece(const char *text, wk_rng *rng, size_t *n) {
  static const char *const begins[] = {"arg", "input:"};
  size_t k = (size_t)wk_rng_range(rng, 0, 2) / 2, at = (size_t)wk_rng_range(rng, 0, 99), count = 0;
  for (const char *p = text; (p = strstr(p, begins[k])); p++) count++;
  if (!count) return NULL;
  const char *p = strstr(text, begins[k]);
  for (at %= count; at; at--) p = strstr(p + 1, begins[k]);
  *n = k ? 6 + strcspn(p + 6, "\"") : strcspn(p, "}") + 1;
  if (k) *n += near_quoted(p + *n);
  return p;
}

static wk_str edited(const char *text, const near_places *all, wk_rng *rng) {
  static const char *const words[] = {"", "NHWC", "NCHW", "x", "edge", "y", "axis"};
  wk_str b = {0};
  size_t n;
  const char *at = wk_rng_range(rng, 0, 3) ? NULL : piece(text, rng, &n);
  if (at) {
    bool is_twice = wk_rng_range(rng, 0, 3) == 0;
    wk_str_printf(&b, "%.*s %s", (int)(at - text + (is_twice ? (ptrdiff_t)n : 0)), text,
                  is_twice ? at : at + n);
    return b;
  }
  const near_place *x = &all->data[wk_rng_range(rng, 0, (int64_t)all->n - 1)];
  for (int i = 0; i < 4 && x->kind != NEAR_NUMBER; i++)
    x = &all->data[wk_rng_range(rng, 0, (int64_t)all->n - 1)];
  near_edit(&b, text, all, x, words, WK_COUNTOF(words), rng);
  return b;
}

static void ask_near(answer_row *x, const wk_str *text, const wk_import_options *o, int edits) {
  near_places all = {0};
  wk_rng rng = {wk_hash64(text->s, text->n, 1) >> 1};
  near_find(text->s, &all);
  for (int i = 0; i < edits; i++) {
    wk_str b = edited(text->s, &all, &rng);
    ask(x, &b, o);
    wk_str_free(&b);
  }
  wk_vec_free(&all);
}

/* ---- nets ------------------------------------------------------------------------------------ */

/* One size of a shape is another one. */
static void ask_shapes(answer_row *x, caffe2_net *net, const wk_import_options *o) {
  for (size_t i = 0; i < net->n_shapes; i++)
    for (int k = 0; k < net->shapes[i].rank; k++)
      for (int d = -1; d <= 1; d += 2) {
        net->shapes[i].dims[k] += d;
        ask(x, &net->text, o);
        net->shapes[i].dims[k] -= d;
      }
}

static void ask_row(const char *type, const char *in, const char *out, const char *args) {
  caffe2_net net = caffe2_net_of(type, in, out, args);
  const wk_import_options o = {.shapes = net.shapes, .n_shapes = net.n_shapes};
  answer_row *x = answers_of(type);
  int64_t taken = x->taken;
  wk_str_add(&net.text, "name: \"net\"\n");
  ask(x, &net.text, &o);
  bool is_taken = x->taken > taken;
  if (is_taken) ask_shapes(x, &net, &o);
  ask_near(x, &net.text, &o, is_taken ? 24 : 4);
  caffe2_net_free(&net);
}

static void ask_of_table(const char *type) {
  static const char *const inputs[] = {"", "x=2x3", "x=1x4x5x6", "x=2x3 y=2x3", "x=6x8 y=4 z=4",
                                       "x=1x4x5x6 y=4 z=4", "x=4x8 y=4 z=3 v=3"};
  static const char *const args[] = {"", "axis=1 kernel=2 group=2 order=\"NHWC\" scale=0.5"};
  for (size_t i = 0; i < WK_COUNTOF(inputs); i++)
    for (size_t k = 0; k < WK_COUNTOF(args); k++) {
      caffe2_net net = caffe2_net_of(type, inputs[i], "a b", args[k]);
      const wk_import_options o = {.shapes = net.shapes, .n_shapes = net.n_shapes};
      wk_str_add(&net.text, "name: \"net\"\n");
      ask(answers_of(type), &net.text, &o);
      caffe2_net_free(&net);
    }
}

/* The net of a folder, with its weights. */
static void ask_folder(const net_files *n) {
  const char *end = strrchr(n->predict, '/'), *name = end;
  wk_file f;
  wk_str text = {0};
  while (name[-1] != '/') name--;
  answer_row *x = answers_of(wk_arena_strndup(found.arena, name, (size_t)(end - name)));
  wk_status s = wk_file_map(n->predict, &f);
  assert_null(s);
  wk_str_addn(&text, (const char *)f.data, f.size);
  wk_file_unmap(&f);
  ask(x, &text, &n->files);
  ask_near(x, &text, &n->files, 100);
  wk_str_free(&text);
}

static void ask_all(void) {
  for (size_t i = 0; i < WK_COUNTOF(rows); i++)
    ask_row(rows[i].type, rows[i].in, rows[i].out, rows[i].args);
  for (size_t i = 0; i < wk_caffe2_op_count(); i++) ask_of_table(wk_caffe2_op_get(i).type);
  for (size_t i = 0; i < net_count(); i++) ask_folder(net_get(i));
}

static void answers(void **state) {
  (void)state;
  answers_check(expected, WK_COUNTOF(expected));
}

int main(int argc, char **argv) {
  return answers_main(argc, argv, "test_caffe2_answers", answers);
}
