/* SPDX-License-Identifier: Apache-2.0
 * What is given for the inputs of a model: sizes of symbols, shapes, values, numbers of elements,
 * drawn for models whose inputs are tensors, sequences and optionals. Most fit what is declared,
 * some are off in one place. What the model becomes, which sizes and values it still asks for and
 * which message refuses an option is summed up. After a change that is meant,
 *   test_import_bindings says NAME      the models, what is given, and the answers
 *   test_import_bindings rows >tests/unit/import_bindings.def */
#include "tests/hostile/model_text.h"
#include "tests/unit/near_answers.h"

static const answer_row expected[] = {
#define ROW(name, tried, taken, answers) {name, tried, taken, answers},
#include "tests/unit/import_bindings.def"
#undef ROW
};

static const struct { const char *name, *text; } models[] = {
    {"tensors", "in x f32[N,3]; in w f32[3,M]; MatMul x,w -> y; out y"},
    {"one symbol", "in x f32[N,N]; in w f32[N]; Add x,w -> y; out y"},
    {"known", "in x f32[2,3]; in w f32[3]; Add x,w -> y; out y"},
    {"no names", "in x f32[_,3]; in w f32[M,_]; MatMul x,w -> y; out y"},
    {"any shape", "in x f32; in w f32[3]; Add x,w -> y; out y"},
    {"no type", "in x; in w f32[3]; Add x,w -> y; out y"},
    {"shape", "in x f32[2,N]; in s i64[2]; Reshape x,s -> y; out y"},
    {"sizes", "in x f32[2,3]; in s i64[1]; in w i64[M]; Tile x,w -> a; Gather a,s -> y; out y"},
    {"bounds", "in x f32[2,N]; in s i64[1]; in w i64[1]; Slice x,s,w -> y; out y"},
    {"count", "in x f32[2,N]; in s i64[]; in w bool[]; Loop s,w,x -> y {body=(in i i64[]; "
              "in c bool[]; in v f32[2,N]; Exp v -> u; Identity c -> d; out d; out u)}; out y"},
    {"default", "in x f32[N,3]; in w f32[3]; init w f32[3]={1,2,3}; Add x,w -> y; out y"},
    {"choice", "in x f32[N]; in s bool[]; If s -> y {then_branch=(Exp x -> a; out a) "
               "else_branch=(Neg x -> a; out a)}; out y"},
    {"sequence", "in x sequence f32[2,N]; in s i64[]; SequenceAt x,s -> a; SequenceLength x -> b; "
                 "ConcatFromSequence x -> c {axis=1}; out a; out b; out c"},
    {"sequence of any", "in x sequence f32; in w sequence i64[3]; ConcatFromSequence x -> y "
                        "{axis=0}; SequenceLength w -> z; out y; out z"},
    {"optional", "opset 18; in x optional f32[2,N]; in w optional f32; OptionalHasElement x -> a; "
                 "OptionalGetElement x -> y; OptionalHasElement w -> b; out a; out y; out b"},
    {"optional sequence", "opset 18; in x optional sequence f32[N,3]; OptionalHasElement x -> a; "
                          "OptionalGetElement x -> q; SequenceLength q -> y; out a; out y"},
    {"strings", "in x string[2]; in w f32[N]; ai.onnx.ml.LabelEncoder x -> y {keys_strings=[\"p\"] "
                "values_int64s=[3]}; Exp w -> z; out y; out z"},
    {"axes", "in x f32[1,1,1,1,1,1,1,1,N]; in w f32[M]; Exp w -> y; out y"},
    {"parts of parts", "in x optional optional f32[2]; in w f32[M]; in s sequence sequence f32[2]; "
                       "Exp w -> y; out y"},
    {"unused", "in x string[N]; in w f32[M]; in s c64[2]; Exp w -> y; out y"}};

/* ---- what is given --------------------------------------------------------------------------- */

enum { MOST = 3 };
typedef struct {
  wk_import_options o;
  wk_bind binds[MOST];
  wk_bind_shape shapes[MOST];
  wk_bind_length lengths[MOST];
  wk_bind_value values[MOST];
} given;

static wk_rng rng;

static int64_t draw(int64_t low, int64_t high) { return wk_rng_range(&rng, low, high); }
static bool rarely(void) { return draw(0, 11) == 0; }

/* Of the model that is asked about. */
static const char *text;

static bool has(const char *part) { return strstr(text, part) != NULL; }

static const char *input(void) {
  static const char *const whole[] = {"x", "w", "s"}, *const element[] = {"x[0]", "x[1]", "w[0]"};
  static const char *const wrong[] = {"xx", "x[2]", "x[00]", "x[1", "n", "w[1]x"};
  if (rarely() && draw(0, 1)) return wrong[draw(0, WK_COUNTOF(wrong) - 1)];
  bool is_element = has(" sequence ") ? draw(0, 1) : rarely() && rarely();
  if (is_element) return element[draw(0, 1 + has("in w "))];
  return whole[draw(0, has("in s ") ? 2 : has("in w ") ? 1 : 0)];
}

/* Of an input of the models, as it mostly is: x 2x3, w 3, s a scalar or a list of one or two. */
static int shape_of(const char *name, int64_t *dims) {
  int rank = *name == 'x' ? 2 : *name == 'w' ? (int)draw(1, 2) : (int)draw(0, 1);
  dims[0] = *name == 's' ? draw(1, 2) : *name == 'w' ? 3 : 2;
  dims[1] = 3;
  int axis = (int)draw(0, 1);
  if (rarely()) dims[axis] = draw(0, 4);
  if (rarely()) rank = (int)draw(0, 2);
  return rank;
}

static void draw_shape(wk_bind_shape *s) {
  *s = (wk_bind_shape){.input = input()};
  if (draw(0, 1)) s->file = "f.npy";
  s->rank = shape_of(s->input, s->dims);
  if (rarely()) s->dims[draw(0, 1)] = -1;
  if (rarely()) s->rank = draw(0, 1) ? -1 : WK_MAX_RANK + 1;
  if (draw(0, 2)) s->option = "--shape i=1";
}

static void draw_value(wk_bind_value *v) {
  int64_t dims[2], *data = wk_arena_alloc(found.arena, 64 * sizeof *data);
  *v = (wk_bind_value){.input = input(), .file = "f.npy"};
  int rank = shape_of(v->input, dims);
  wk_dtype t = *v->input != 's' ? WK_F32 : draw(0, 2) ? WK_I64 : WK_BOOL;
  if (*v->input == 'w' && draw(0, 2) == 0) t = draw(0, 1) ? WK_I64 : WK_BOOL;
  v->value = (wk_tensor){.type = wk_type_make(t, rank, dims), .data = data};
  int64_t n = wk_type_count(&v->value.type);
  for (int64_t i = 0; i < n; i++)
    wk_store_i64(data, wk_dtype_storage(t), i, t == WK_BOOL ? 1 : n > 1 && i ? 3 : 2);
  if (draw(0, 2)) v->option = "--value i=f.npy";
}

static void draw_given(given *g) {
  static const char *const symbols[] = {"N", "M", "K"};
  *g = (given){.o = {.binds = g->binds, .shapes = g->shapes, .lengths = g->lengths,
                     .values = g->values}};
  bool has_parts = has(" optional ") || has(" sequence ");
  int symbols_there = has_parts ? 0 : has("N") + has("M");
  g->o.n_binds = (size_t)(rarely() ? draw(0, 2) : symbols_there);
  g->o.n_shapes = (size_t)draw(0, draw(0, 1) ? 0 : MOST);
  g->o.n_values = (size_t)draw(0, draw(0, 1) ? 0 : 1 + has("in s "));
  g->o.n_lengths = (size_t)(rarely() ? draw(0, 2) : has_parts ? 1 + has("in w ") : 0);
  g->o.survey = rarely();
  g->o.list_all = draw(0, 1);
  for (size_t i = 0; i < g->o.n_binds; i++) {
    int64_t k = rarely() ? draw(0, 2) : has("N") ? (int64_t)i : 1;
    g->binds[i] = (wk_bind){.symbol = symbols[k], .value = rarely() ? draw(-1, 4) : k ? 3 : 2};
  }
  for (size_t i = 0; i < g->o.n_shapes; i++) draw_shape(&g->shapes[i]);
  for (size_t i = 0; i < g->o.n_values; i++) draw_value(&g->values[i]);
  for (size_t i = 0; i < g->o.n_lengths; i++) {
    int64_t n = rarely() ? draw(-1, 1) : rarely() ? draw(256, 257) : draw(1, 2);
    g->lengths[i] = (wk_bind_length){.input = rarely() ? input() : i ? "w" : "x", .n = n};
    if (draw(0, 2)) g->lengths[i].option = "--length i=1";
  }
}

/* ---- answers --------------------------------------------------------------------------------- */

static void print_given(wk_str *b, const given *g) {
  for (size_t i = 0; i < g->o.n_binds; i++)
    wk_str_printf(b, " %s=%lld", g->binds[i].symbol, (long long)g->binds[i].value);
  for (size_t i = 0; i < g->o.n_shapes; i++)
    wk_str_printf(b, " shape %s rank %d %lldx%lld", g->shapes[i].input, g->shapes[i].rank,
                  (long long)g->shapes[i].dims[0], (long long)g->shapes[i].dims[1]);
  for (size_t i = 0; i < g->o.n_values; i++) {
    wk_str_printf(b, " value %s ", g->values[i].input);
    wk_type_print(b, &g->values[i].value.type);
  }
  for (size_t i = 0; i < g->o.n_lengths; i++)
    wk_str_printf(b, " length %s=%lld", g->lengths[i].input, (long long)g->lengths[i].n);
}

static void ask(answer_row *x, const wk_str *model, const given *g) {
  wk_str what = {0}, answer = {0};
  wk_import_report r;
  wk_module *m = NULL;
  wk_str_add(&what, text);
  print_given(&what, g);
  wk_status s = wk_import_onnx_memory(model->s, model->n, &g->o, &r, &m);
  wk_str_add(&answer, "");
  if (s)
    wk_str_printf(&answer, "%d %s: %s: %s\n", (int)s->code, s->place ? s->place : "", s->message,
                  s->notes ? s->notes : "");
  if (m) answers_print(&answer, m);
  for (size_t i = 0; i < r.notes.n; i++) wk_str_printf(&answer, "note %s\n", r.notes.data[i]);
  for (size_t i = 0; i < r.need_value.n; i++)
    wk_str_printf(&answer, "value of %s\n", r.need_value.data[i]);
  for (size_t i = 0; i < r.need_bind.n; i++)
    wk_str_printf(&answer, "size %s\n", r.need_bind.data[i]);
  for (size_t i = 0; i < r.unsupported.n; i++)
    wk_str_printf(&answer, "%s %s\n", r.unsupported.data[i].node, r.unsupported.data[i].reason);
  answers_add(x, what.s, !s, &answer);
  wk_import_report_free(&r);
  wk_status_free(s);
  wk_module_free(m);
  wk_str_free(&what);
}

static void ask_all(void) {
  for (size_t i = 0; i < WK_COUNTOF(models); i++) {
    wk_str model = {0};
    answer_row *x = answers_of(models[i].name);
    text = models[i].text;
    model_text(text, &model);
    for (uint64_t k = 0; k < 1500; k++) {
      given g;
      rng = (wk_rng){wk_hash64(text, strlen(text), k) >> 1};
      draw_given(&g);
      if (k == 0) g = (given){.o = {.list_all = true}};
      ask(x, &model, &g);
    }
    wk_str_free(&model);
  }
}

static void answers(void **state) {
  (void)state;
  answers_check(expected, WK_COUNTOF(expected));
}

int main(int argc, char **argv) {
  return answers_main(argc, argv, "test_import_bindings", answers);
}
