/* SPDX-License-Identifier: Apache-2.0
 * Loops that read a bag of embeddings per iteration become segment_reduce, however they are
 * written; whatever differs in one thing that counts stays a loop. What they compute is in
 * tests/onnx/EmbeddingBag*. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/onnx/onnx.h"
#include "tests/hostile/model_text.h"

/* Three bags of the rows that `list` names, the first and the last of several rows. */
static const char constants[] =
    "opset 17; in table f32[4,2]; in list i64[6]; in factors f32[6]; "
    "init starts i64[3]={0,2,2}; init ends i64[3]={2,2,6}; init n i64[]={3}; init yes bool[]={1}; "
    "init zero i64[1]={0}; init one i64[1]={1}; Loop n,yes -> y {body=(in i i64[]; in c bool[]; ";
static const char bounds[] =
    "Gather starts,i -> a; Gather ends,i -> b; Unsqueeze a,zero -> f; Unsqueeze b,zero -> e; "
    "Slice list,f,e,zero,one -> here; Gather table,here -> rows; ";
static const char plain[] =
    "ReduceSum rows,zero -> row {keepdims=0}; Identity c -> on; out on; out row)}; out y";
static const char weighted[] =
    "Slice factors,f,e,zero,one -> part; Unsqueeze part,one -> w; Mul rows,w -> scaled; "
    "ReduceSum scaled,zero -> row {keepdims=0}; Identity c -> on; out on; out row)}; out y";
/* Bounds that are known when the model runs: all but the first and all but the last of one list. */
static const char offsets[] =
    "opset 17; in table f32[4,2]; in list i64[6]; in all i64[4]; init n i64[]={3}; "
    "init yes bool[]={1}; init zero i64[1]={0}; init one i64[1]={1}; init last i64[1]={-1}; "
    "init far i64[1]={99}; Slice all,zero,last,zero,one -> starts; "
    "Slice all,one,far,zero,one -> ends; Loop n,yes -> y {body=(in i i64[]; in c bool[]; ";

#define FOLD "ReduceSum rows,zero -> row {keepdims=0}"

typedef struct {
  bool is_bags;
  const char *from, *to; /* what is put in place of what, once */
} edit;

static const edit plain_edits[] = {
    {true, "", ""},
    {true, FOLD, "ReduceMean rows -> row {keepdims=0 axes=[0]}"},
    {true, FOLD, "ReduceMax rows -> row {keepdims=0 axes=[0]}"},
    {true, "Identity c -> on", "Cast yes -> on {to=9}"},
    {true, "Identity c -> on; out on", "out c"},
    {true, "Identity c -> on", "Identity c -> d; Identity d -> on"},
    {true, "Slice list,f,e,zero,one", "Slice list,f,e,zero"},
    {true, "Gather table,here -> rows", "Gather table,here -> r; Identity r -> rows"},
    {true, "Gather table,here -> rows", "Gather table,here -> rows {axis=0}"},
    {true, "Unsqueeze a,zero", "Constant -> z {value=tensor z i64[1]={0}}; Unsqueeze a,z"},
    /* other operators */
    {false, FOLD, "ReduceMin rows -> row {keepdims=0 axes=[0]}"},
    {false, FOLD, "ReduceSumSquare rows -> row {keepdims=0 axes=[0]}"},
    {false, "ReduceSum rows", "Neg rows -> minus; ReduceSum minus"},
    {false, "Gather table,here -> rows", "Gather table,here -> r; Abs r -> rows"},
    {false, "Gather starts,i -> a", "Gather starts,i -> a0; Neg a0 -> a"},
    {false, "Unsqueeze a,zero -> f", "Unsqueeze a,zero -> f0; Abs f0 -> f"},
    /* other axes, steps, places */
    {false, FOLD, "ReduceSum rows,one -> row {keepdims=0}"},
    {false, FOLD, "ReduceSum rows,zero -> row"},
    {false, FOLD, "ReduceMean rows -> row {keepdims=0 axes=[1]}"},
    {false, FOLD, "ReduceMean rows -> row {keepdims=0 axes=[0,1]}"},
    {false, FOLD, "ReduceMean rows -> row {keepdims=0}"},
    {false, "Slice list,f,e,zero,one", "init two i64[1]={2}; Slice list,f,e,zero,two"},
    {false, "Gather table,here -> rows", "Transpose table -> t; Gather t,here -> rows {axis=1}"},
    {false, "Gather table,here -> rows", "Gather table,here -> rows {axis=1}"},
    {false, "Identity c -> on", "Not c -> on"},
    {false, "Identity c -> on", "Not yes -> on"},
    {false, "Identity c -> on", "init no bool[]={0}; Cast no -> on {to=9}"},
    /* other types and shapes */
    {false, "in table f32[4,2]", "in table i32[4,2]"},
    {false, "in table f32[4,2]", "in table f32[4,2,1]"},
    {false, "in list i64[6]", "in list i64[6,1]"},
    /* bags that overlap, leave something out or are too few */
    {false, "starts i64[3]={0,2,2}", "starts i64[3]={0,1,2}"},
    {false, "starts i64[3]={0,2,2}", "starts i64[3]={0,2,3}"},
    {false, "ends i64[3]={2,2,6}", "ends i64[3]={2,3,6}"},
    {true, "ends i64[3]={2,2,6}", "ends i64[3]={2,2,5}"},
    {true, "starts i64[3]={0,2,2}", "starts i64[3]={1,2,2}"},
    {true, "starts i64[3]={0,2,2}", "starts i64[4]={0,2,2,6}"},
    {true, "starts i64[3]={0,2,2}", "starts i64[4]={0,2,2,5}"},
    {true, "ends i64[3]={2,2,6}", "ends i64[4]={2,2,6,0}"},
    {true, "n i64[]={3}", "n i64[]={2}"},
    {true, "n i64[]={3}", "n i64[]={1}"},
    {false, "n i64[]={3}", "n i64[]={0}"},
    {false, "n i64[]={3}", "n i64[]={4}"},
    {false, "init ends i64[3]", "init ends i32[3]"},
    {false, "Loop n,yes -> y", "init no bool[]={0}; Loop n,no -> y"},
};

static const edit weighted_edits[] = {
    {true, "", ""},
    {true, "Slice factors,f,e,zero,one", "Slice factors,f,e,zero"},
    {true, "ReduceSum scaled,zero -> row {keepdims=0}",
     "ReduceMax scaled -> row {keepdims=0 axes=[0]}"},
    {false, "Mul rows,w", "Add rows,w"},
    {false, "Unsqueeze part,one", "Unsqueeze part,zero"},
    {false, "Unsqueeze part,one -> w", "Unsqueeze part,one -> v; Neg v -> w"},
    {false, "Slice factors,f,e,zero,one", "Slice factors,e,f,zero,one"},
    {false, "Slice factors,f,e,zero,one", "Slice factors,f,f,zero,one"},
    {false, "Slice factors,f,e,zero,one", "Slice factors,e,e,zero,one"},
    {false, "in factors f32[6]", "in factors f32[6,1]"},
    {false, "in factors f32[6]", "in factors f64[6]"},
    {false, "Gather table,here -> rows", "Gather table,here -> r; Abs r -> rows"},
};

static const edit offset_edits[] = {
    {true, "", ""},
    {true, "in all i64[4]", "in all i64[5]"},
    {false, "in all i64[4]", "in all i64[3]"},
    {false, "Slice all,one,far,zero,one -> ends", "Slice all,zero,far,zero,one -> ends"},
    {false, "Slice all,zero,last,zero,one -> starts", "Slice all,one,far,zero,one -> starts"},
    {true, "Slice all,zero,last,zero,one -> starts", "Identity all -> starts"},
    {false, "Slice all,one,far,zero,one -> ends", "Identity all -> ends"},
    {false, "Slice all,one,far,zero,one -> ends", "in ends i64[3]"},
    {false, "Slice all,zero,last,zero,one -> starts", "in starts i64[3]"},
    {false, "Slice all,one,far,zero,one -> ends", "init two i64[1]={2}; in more i64[9]; "
     "Slice more,one,far,zero,two -> ends"},
};

static char *edited(const char *text, const edit *e) {
  const char *at = strstr(text, e->from);
  assert_non_null(at);
  wk_str s = {0};
  wk_str_printf(&s, "%.*s%s%s", (int)(at - text), text, e->to, at + strlen(e->from));
  return s.s;
}

/* Whether a loop becomes bags; one that stays a loop may be refused then. */
static bool becomes_bags(const char *text) {
  wk_str model = {0};
  wk_module *m = NULL;
  bool found = false;
  model_text(text, &model);
  wk_status s = wk_import_onnx_memory(model.s, model.n, NULL, NULL, &m);
  for (uint32_t i = 0; m && i < m->main->nodes.n; i++)
    found |= wk_nod(m->main, i)->op == WK_OP_SEGMENT_REDUCE;
  wk_status_free(s);
  wk_module_free(m);
  wk_str_free(&model);
  return found;
}

static void check(const char *head, const char *tail, const edit *edits, size_t n) {
  wk_str text = {0};
  int bad = 0;
  wk_str_printf(&text, "%s%s%s", head, bounds, tail);
  for (size_t i = 0; i < n; i++) {
    char *changed = edited(text.s, &edits[i]);
    bool got = becomes_bags(changed);
    if (got != edits[i].is_bags) {
      print_error("%s\n  becomes %s\n", changed, got ? "bags" : "a loop");
      bad++;
    }
    free(changed);
  }
  wk_str_free(&text);
  assert_int_equal(bad, 0);
}

static void test_sums(void **state) {
  (void)state;
  check(constants, plain, plain_edits, WK_COUNTOF(plain_edits));
}

static void test_weights(void **state) {
  (void)state;
  check(constants, weighted, weighted_edits, WK_COUNTOF(weighted_edits));
}

static void test_offsets(void **state) {
  (void)state;
  check(offsets, plain, offset_edits, WK_COUNTOF(offset_edits));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums), cmocka_unit_test(test_weights),
                                     cmocka_unit_test(test_offsets)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
