/* SPDX-License-Identifier: Apache-2.0
 * The built-in networks are those that were published: as many parameters and multiply-adds. Text
 * and weights are the same on every machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/zoo/zoo.h"

typedef struct {
  const char *name;
  int64_t parameters; /* learned ones: not the statistics of batch norms */
  int64_t products;   /* multiply-adds of convolutions and matrices */
  uint64_t text;      /* hash of the text with seed 1, which has hashes of the weights */
} row;

/* The first seven and the four from vit_b16 on as their authors' implementations have them;
 * bert_base and gpt2_small for 128 positions. */
static const row rows[] = {
    {"resnet18", 11689512, 1814073344, 0x5e7177c29abe2c22},
    {"resnet50", 25557032, 4089184256, 0x73c93c508204b24c},
    {"vgg19", 143667240, 19632062464, 0x02aec7c7815cc442},
    {"mobilenet_v2", 3504872, 300774272, 0x4767d887e20e561c},
    {"squeezenet", 1235496, 349151936, 0x4bfb7b38222ecaf6},
    {"densenet121", 7978856, 2834161664, 0x1948aa0a21cf46da},
    {"efficientnet_b0", 5288548, 385814752, 0x784a5daf762b9e5c},
    {"ds_cnn", 23180, 2550528, 0xf48b545097b9ed08},
    {"digits_cnn", 9978, 9895936, 0x1e1aefe2f56fc95b},
    {"unet", 7763173, 12079595520, 0x5f618b113180aeab},
    {"lstm", 373260, 1536, 0xa591bef63522af61},
    {"bert_base", 109187328, 11174215680, 0xbd09e443a954338e},
    {"gpt2_small", 123751680, 16114089984, 0x2a209149a48cb8bc},
    {"llama_tiny", 49682944, 4362076160, 0xad3e500f5cb3836a},
    {"vit_b16", 86567656, 17563828224, 0xb19df0824612b7f1},
    {"whisper_tiny", 7632384, 18468864000, 0xa376c2c7ba5bec62},
    {"convnext_tiny", 28589128, 4455531264, 0x935cd7443097e6e1},
    {"swin_tiny", 28288354, 4490566656, 0x2106d696d5708fae},
    {"dlrm", 2566533, 5469184, 0xd65b8193ea6191e5},
};

static const wk_type *type_of(const wk_graph *g, wk_value_id v) { return &wk_val(g, v)->type; }

static int64_t products_of(const wk_graph *g, const wk_node *n) {
  if (n->op != WK_OP_CONV && n->op != WK_OP_CONV_TRANSPOSE && n->op != WK_OP_MATMUL) return 0;
  const wk_type *x = type_of(g, n->in[0]), *w = type_of(g, n->in[1]);
  int64_t out = wk_type_count(type_of(g, n->out[0]));
  if (n->op == WK_OP_MATMUL) return out * x->dims[x->rank - 1];
  return (n->op == WK_OP_CONV ? out : wk_type_count(x)) * (wk_type_count(w) / w->dims[0]);
}

/* Masks, positions and indices, which nobody learns. */
static bool is_known(const wk_value *v) {
  return strstr(v->name, "/constant") || strstr(v->name, "/select");
}

static row measure(const wk_module *m) {
  const wk_graph *g = m->main;
  wk_str text = {0};
  row r = {0};
  for (size_t i = 0; i < g->values.n; i++) {
    const wk_value *v = wk_val(g, (wk_value_id)i);
    if (v->kind != WK_VALUE_CONSTANT || !v->type.rank || is_known(v)) continue;
    r.parameters += wk_type_count(&v->type);
  }
  for (size_t i = 0; i < g->nodes.n; i++) {
    const wk_node *n = wk_nod(g, (wk_node_id)i);
    if (n->op == WK_OP_BATCH_NORM) r.parameters -= 2 * wk_type_count(type_of(g, n->in[1]));
    r.products += products_of(g, n);
  }
  wk_module_print(&text, m, WK_PRINT_SHORT);
  r.text = wk_hash64(text.s, text.n, 0);
  wk_str_free(&text);
  return r;
}

static void check(const row *want) {
  wk_module *m;
  const wk_zoo_entry *e = wk_zoo_find(want->name);
  assert_non_null(e);
  assert_null(wk_zoo_build(e, 1, 0, &m));
  row got = measure(m);
  wk_module_free(m);
  if (got.parameters == want->parameters && got.products == want->products &&
      got.text == want->text)
    return;
  fail_msg("%s has %lld parameters, %lld products, and its text the hash 0x%016llx", want->name,
           (long long)got.parameters, (long long)got.products, (unsigned long long)got.text);
}

static void test_networks(void **state) {
  (void)state;
  assert_int_equal(wk_zoo_count, WK_COUNTOF(rows));
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) check(&rows[i]);
}

/* Networks of images are of as many as one likes; others say which input is in the way. */
static void test_batches(void **state) {
  (void)state;
  static const struct { const char *name, *why; } nets[] = {
      {"digits_cnn", NULL},
      {"ds_cnn", NULL},
      {"lstm", "input input has no axis of samples in front"},
      {"bert_base", "input input_ids has no axis of samples in front"},
      {"gpt2_small", "input input_ids has no axis of samples in front"},
      {"whisper_tiny", "input input_features has no axis of samples in front"},
      {"vit_b16", NULL},
      {"swin_tiny", NULL},
      {"dlrm", "input numbers has no axis of samples in front"}};
  for (size_t i = 0; i < WK_COUNTOF(nets); i++) {
    wk_module *m;
    wk_status s = wk_zoo_build(wk_zoo_find(nets[i].name), 1, 5, &m);
    if (nets[i].why) {
      assert_non_null(s);
      assert_int_equal(s->code, WK_UNSUPPORTED);
      assert_string_equal(s->message, nets[i].why);
      wk_status_free(s);
      continue;
    }
    assert_null(s);
    assert_int_equal(type_of(m->main, m->main->inputs.data[0])->dims[0], 5);
    assert_int_equal(type_of(m->main, m->main->outputs.data[0])->dims[0], 5);
    wk_module_free(m);
  }
  assert_null(wk_zoo_find("resnet"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_batches),
                                     cmocka_unit_test(test_networks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
