/* SPDX-License-Identifier: Apache-2.0
 * What becomes of models that are nearly right: those of the tables of messages and of forms, each
 * with its attributes, shapes, types and operands changed in one place, in all opsets, with other
 * floats and for other purposes, and each operator of the importer with operands that are not meant
 * for it. Whether a model is taken, as what graph, and with which message it is refused is summed
 * up for each operator. After a change that is meant,
 *   test_import_answers says OPERATOR      its models and the answers: compare with those before
 *   test_import_answers rows >tests/unit/import_answers.def */
#include "tests/hostile/model_text.h"
#include "tests/unit/near_answers.h"
#include "tests/unit/near_model.h"

static const char *const models[] = {
#define MESSAGE(message, text) text,
#define FORM(text) text,
#include "tests/unit/import_messages.def"
#include "tests/unit/import_messages_attention.def"
#include "tests/unit/import_messages_control.def"
#include "tests/unit/import_messages_forms.def"
#include "tests/unit/import_messages_ml.def"
#include "tests/unit/import_messages_fused.def"
#include "tests/unit/import_messages_parts.def"
#include "tests/unit/import_forms.def"
#include "tests/unit/import_forms_values.def"
#include "tests/unit/import_forms_more.def"
#include "tests/unit/import_forms_narrow.def"
#include "tests/unit/import_forms_rest.def"
#undef MESSAGE
#undef FORM
};

static const answer_row expected[] = {
#define ROW(name, tried, taken, answers) {name, tried, taken, answers},
#include "tests/unit/import_answers.def"
#undef ROW
};

/* ---- answers --------------------------------------------------------------------------------- */

/* The operator of the last statement that has one. */
static const char *operator_of(const char *text) {
  const char *op = text, *statement = text;
  size_t n = 0;
  int depth = 0;
  for (const char *p = text; *p; p++) {
    depth += (*p == '(' || *p == '{' || *p == '[') - (*p == ')' || *p == '}' || *p == ']');
    if (*p == ';' && !depth) statement = near_skip(p + 1);
    if (strncmp(p, "->", 2) || depth) continue;
    op = statement;
    for (n = 0; near_is_word(op[n]);) n++;
  }
  return wk_arena_strndup(found.arena, op, n);
}

static void print_report(wk_str *b, const wk_import_report *r) {
  for (size_t i = 0; i < r->notes.n; i++) wk_str_printf(b, "note %s\n", r->notes.data[i]);
  for (size_t i = 0; i < r->need_value.n; i++)
    wk_str_printf(b, "value of %s\n", r->need_value.data[i]);
  for (size_t i = 0; i < r->need_bind.n; i++)
    wk_str_printf(b, "size %s\n", r->need_bind.data[i]);
  for (size_t i = 0; i < r->weights.n; i++)
    wk_str_printf(b, "weight %s\n", r->weights.data[i].name);
  for (size_t i = 0; i < r->moved.n; i++)
    wk_str_printf(b, "%s moves %s\n", r->moved.data[i].output, r->moved.data[i].name);
  for (size_t i = 0; i < r->nodes.n; i++) {
    const wk_surveyed *n = &r->nodes.data[i];
    wk_str_printf(b, "%s.%s %lld is %d %s:", n->domain, n->op, (long long)n->opset, (int)n->fate,
                  n->reason ? n->reason : "");
    for (size_t k = 0; k < n->out.n; k++)
      wk_str_printf(b, " %s/%s", n->out.data[k].graph, n->out.data[k].name);
    wk_str_add(b, "\n");
  }
  wk_str_printf(b, "folded %lld, key %s\n", (long long)r->folded, r->key ? r->key : "none");
}

static void ask(answer_row *x, const char *text, const wk_import_options *o) {
  wk_str model = {0}, answer = {0};
  wk_import_report report;
  wk_module *m = NULL;
  model_text(text, &model);
  wk_status s = wk_import_onnx_memory(model.s, model.n, o, &report, &m);
  if (s)
    wk_str_printf(&answer, "%d %s: %s: %s", (int)s->code, s->place ? s->place : "", s->message,
                  s->notes ? s->notes : "");
  if (m) answers_print(&answer, m);
  print_report(&answer, &report);
  answers_add(x, text, !s, &answer);
  wk_import_report_free(&report);
  wk_status_free(s);
  wk_module_free(m);
  wk_str_free(&model);
}

/* ---- models ---------------------------------------------------------------------------------- */

enum { WORDS = 24, LONGEST = 1200, EDITS = 12, EDITS_OF_TAKEN = 60 };

/* Texts of the models before, latest last, which are those of the same operator or of one like
 * it. */
typedef struct {
  const char *of[WORDS];
  size_t n;
} word_list;

static void remember(word_list *w, const near_places *all) {
  for (size_t i = 0; i < all->n; i++) {
    const near_place *x = &all->data[i];
    if (x->kind != NEAR_QUOTED) continue;
    char *word = wk_arena_strndup(found.arena, x->at + 1, x->n - 2);
    bool is_known = false;
    for (size_t k = 0; k < w->n; k++) is_known = is_known || !strcmp(w->of[k], word);
    if (is_known) continue;
    if (w->n == WORDS) memmove(w->of, w->of + 1, --w->n * sizeof w->of[0]);
    w->of[w->n++] = word;
  }
}

/* Models at a limit of what is supported may take long. */
static bool has_large(const char *text) {
  for (const char *p = text; *p; p++)
    if (isdigit((unsigned char)*p) && (p == text || !near_is_word(p[-1])) && strtod(p, NULL) >= 256)
      return true;
  return false;
}

/* In each opset that there is, of the domain of ai.onnx.ml where the model has nodes of it. */
static void ask_opsets(answer_row *x, const char *text) {
  bool is_ml = strstr(text, "ai.onnx.ml.") != NULL;
  const char *domain = is_ml ? "ai.onnx.ml" : "", *word = is_ml ? "import ai.onnx.ml " : "opset ";
  const char *at = strstr(text, word), *rest = at ? strchr(at, ';') + 1 : text;
  for (int64_t n = 1; n <= wk_onnx_newest_opset(domain) + 1; n++) {
    wk_str b = {0};
    wk_str_printf(&b, "%.*s%s%lld; %s", at ? (int)(at - text) : 0, text, word, (long long)n, rest);
    ask(x, b.s, NULL);
    wk_str_free(&b);
  }
}

static void ask_types(answer_row *x, const char *text) {
  static const char *const types[] = {"f16", "bf16", "f64"};
  for (size_t i = 0; i < WK_COUNTOF(types) && strstr(text, "f32["); i++) {
    wk_str b = {0};
    near_retype(&b, text, types[i]);
    ask(x, b.s, NULL);
    wk_str_free(&b);
  }
}

static void ask_near(answer_row *x, const char *text, word_list *words) {
  near_places all = {0};
  wk_rng rng = {wk_hash64(text, strlen(text), 1) >> 1};
  int64_t taken = x->taken;
  ask(x, text, NULL);
  near_find(text, &all);
  remember(words, &all);
  bool is_taken = x->taken > taken;
  if (is_taken) ask_opsets(x, text);
  if (is_taken) ask_types(x, text);
  size_t edits = is_taken ? EDITS_OF_TAKEN : EDITS;
  for (size_t i = 0; i < edits && all.n; i++) {
    wk_str b = {0};
    near_edit(&b, text, &all, &all.data[wk_rng_range(&rng, 0, (int64_t)all.n - 1)], words->of,
              words->n, &rng);
    ask(x, b.s, NULL);
    wk_str_free(&b);
  }
  wk_vec_free(&all);
}

/* Each operator of the importer with operands of each type, in its first opset, the one before that
 * and the last one. */
static void ask_of_table(const wk_onnx_op *op) {
  static const char *const types[] = {"f32", "f16", "i64", "u8", "bool"};
  bool is_main = !*op->domain;
  const int64_t opsets[] = {op->since - 1, op->since, op->known};
  char *name = wk_arena_printf(found.arena, "%s%s%s", op->domain, is_main ? "" : ".", op->name);
  answer_row *x = answers_of(name);
  for (size_t o = 0; o < WK_COUNTOF(opsets); o++)
    for (size_t t = 0; t < WK_COUNTOF(types) && opsets[o]; t++)
      for (int n = 1; n <= 3; n++) {
        const char *of = types[t];
        char *text = wk_arena_printf(
            found.arena, "%s %s %lld; in x %s[2,3,4]; in z %s[3,4]; in v %s[4]; %s %s -> y; out y",
            is_main ? "opset" : "import", op->domain, (long long)opsets[o], of, of, of, name,
            n == 1 ? "x" : n == 2 ? "x,z" : "x,z,v");
        ask(x, text, NULL);
      }
}

static void ask_all(void) {
  static const wk_import_options others[] = {
      {.purpose = WK_FOR_TRAINING, .survey = true, .codes = true},
      {.purpose = WK_FOR_TRAINING_FROZEN_NORM, .list_all = true},
      {.purpose = WK_FOR_EVALUATION, .strict_opset = true},
      {.survey = true, .strict_opset = true}};
  word_list words = {.of = {"", "other"}, .n = 2};
  for (size_t i = 0; i < WK_COUNTOF(models); i++) {
    const char *op = operator_of(models[i]);
    if (strlen(models[i]) > LONGEST || has_large(models[i])) continue;
    for (size_t k = 0; k < WK_COUNTOF(others); k++) ask(answers_of(op), models[i], &others[k]);
    ask_near(answers_of(op), models[i], &words);
  }
  for (size_t i = 0; i < wk_onnx_op_count(); i++) {
    const wk_onnx_op op = wk_onnx_op_get(i);
    ask_of_table(&op);
  }
}

static void answers(void **state) {
  (void)state;
  answers_check(expected, WK_COUNTOF(expected));
}

int main(int argc, char **argv) {
  return answers_main(argc, argv, "test_import_answers", answers);
}
