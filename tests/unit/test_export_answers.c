/* SPDX-License-Identifier: Apache-2.0
 * What is written as ONNX: of the rows of the tables of operators, as they are and as passes and
 * lowering leave them, of drawn branches and loops, and of the forms that the importer takes, as
 * they are, with other floats and with one thing changed. Every byte of the files counts, and the
 * message where there is no ONNX form. After a change that is meant,
 *   test_export_answers says NAME      what is written, as protobuf text: compare with that before
 *   test_export_answers rows >tests/unit/export_answers.def */
#include <unistd.h>

#include "onnx.pb-c.h"
#include "tests/hostile/fields.h"
#include "tests/hostile/model_text.h"
#include "tests/random_control.h"
#include "tests/unit/figures_tables.h"
#include "tests/unit/import_forms.h"
#include "tests/unit/near_answers.h"
#include "tests/unit/near_model.h"

static const answer_row expected[] = {
#define ROW(name, tried, taken, answers) {name, tried, taken, answers},
#include "tests/unit/export_answers.def"
#undef ROW
};

static char dir[64], path[96];

/* ---- what is written ------------------------------------------------------------------------- */

static void print_file(const wk_file *f) {
  wk_str text = {0};
  Onnx__ModelProto *p = onnx__model_proto__unpack(NULL, f->size, f->data);
  message_text(&text, &p->base);
  printf("%s\n", text.s);
  onnx__model_proto__free_unpacked(p, NULL);
  wk_str_free(&text);
}

static void ask(const char *name, const wk_module *m, const char *what) {
  wk_str answer = {0};
  wk_file f;
  wk_status s = wk_export_onnx(m, path);
  bool is_written = s == NULL;
  wk_str_add(&answer, "");
  if (s) {
    wk_str_printf(&answer, "%d %s: %s", (int)s->code, s->place ? s->place : "", s->message);
    wk_status_free(s);
  } else {
    assert_null(wk_file_map(path, &f));
    if (found.shown && !strcmp(found.shown, name)) print_file(&f);
    wk_str_printf(&answer, "%zu bytes %016llx", f.size,
                  (unsigned long long)wk_hash64(f.data, f.size, 0));
    wk_file_unmap(&f);
  }
  answers_add(answers_of(name), what, is_written, &answer);
}

/* As it is, after the passes on graphs, and lowered; frees m. */
static void ask_stages(const char *name, wk_module *m, const char *what) {
  assert_null(wk_module_normalise(m));
  answers_round(m);
  ask(name, m, what);
  assert_null(wk_passes_run(m, WK_STAGE_GRAPH, NULL, NULL, NULL));
  answers_round(m);
  ask(name, m, what);
  assert_null(wk_lower_nodes(m, NULL, NULL));
  assert_null(wk_passes_run(m, WK_STAGE_PRIMITIVE, NULL, NULL, NULL));
  answers_round(m);
  ask(name, m, what);
  wk_module_free(m);
}

/* ---- modules --------------------------------------------------------------------------------- */

static void ask_rows(void) {
  for (size_t i = 0; i < WK_COUNTOF(table); i++)
    for (int k = 0; k < 2; k++) {
      wk_module *m = table_module(&table[i], k);
      if (m) ask_stages(wk_op_get(table[i].op)->name, m, table[i].attrs);
    }
}

static void ask_model(const char *text, const char *name) {
  wk_str model = {0};
  wk_module *m = NULL;
  model_text(text, &model);
  wk_status s = wk_import_onnx_memory(model.s, model.n, NULL, NULL, &m);
  wk_str_free(&model);
  if (!s && m->main->outputs.n && !answers_are_large(m)) ask_stages(name, m, text);
  else if (!s) wk_module_free(m);
  wk_status_free(s);
}

/* With other floats. */
static void ask_types(const char *text) {
  static const char *const types[] = {"f16", "f64"};
  for (size_t i = 0; i < WK_COUNTOF(types) && strstr(text, "f32["); i++) {
    wk_str b = {0};
    near_retype(&b, text, types[i]);
    ask_model(b.s, types[i]);
    wk_str_free(&b);
  }
}

/* With one thing changed in it. */
static void ask_near(const char *text) {
  enum { EDITS = 4 };
  static const char *const words[] = {"", "other"};
  near_places all = {0};
  wk_rng rng = {wk_hash64(text, strlen(text), 2) >> 1};
  near_find(text, &all);
  for (size_t i = 0; i < EDITS && all.n; i++) {
    wk_str b = {0};
    near_edit(&b, text, &all, &all.data[wk_rng_range(&rng, 0, (int64_t)all.n - 1)], words,
              WK_COUNTOF(words), &rng);
    ask_model(b.s, "models, changed");
    wk_str_free(&b);
  }
  wk_vec_free(&all);
}

static void ask_models(void) {
  for (size_t i = 0; i < WK_COUNTOF(import_forms); i++) {
    ask_model(import_forms[i], "models");
    ask_types(import_forms[i]);
    ask_near(import_forms[i]);
  }
}

static void ask_control(void) {
  for (uint64_t seed = 1; seed <= 40; seed++) {
    wk_module *m = random_control(seed);
    answers_round(m);
    ask("branches and loops", m, "");
    wk_module_free(m);
  }
}

static void ask_all(void) {
  bool has_memory = access("/dev/shm", W_OK) == 0;
  snprintf(dir, sizeof dir, "%s/wick-export-XXXXXX", has_memory ? "/dev/shm" : "/tmp");
  assert_non_null(mkdtemp(dir));
  snprintf(path, sizeof path, "%s/m.onnx", dir);
  ask_rows();
  ask_models();
  ask_control();
  unlink(path);
  rmdir(dir);
}

/* ---- the test -------------------------------------------------------------------------------- */

static void answers(void **state) {
  (void)state;
  answers_check(expected, WK_COUNTOF(expected));
}

int main(int argc, char **argv) {
  return answers_main(argc, argv, "test_export_answers", answers);
}
