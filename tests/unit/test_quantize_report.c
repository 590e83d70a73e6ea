/* SPDX-License-Identifier: Apache-2.0
 * What `wick quantize` reports of a job that is written down here, as text and as JSON: which
 * layers lose most, why others stay float, and what there is no figure for. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "cli/fit/quantize.h"

static char path[] = "/tmp/wick-quantize-XXXXXX";
static bool is_wrong;

static void check_text(const char *what, const char *got, const char *want) {
  if (strcmp(got, want) == 0) return;
  fprintf(stderr, "@@ %s\n%s@@ end\n", what, got);
  is_wrong = true;
}

/* ---- the job --------------------------------------------------------------------------------- */

enum { LAYERS = 9 };

static const char text[] =
    "module \"m\" {\n  graph @main(%x: f32[2]) {\n"
    "%v0 = relu(%x)\n%v1 = neg(%v0)\n%v2 = relu(%v1)\n%v3 = neg(%v2)\n%v4 = relu(%v3)\n"
    "%v5 = neg(%v4)\n%v6 = relu(%v5)\n%v7 = neg(%v6)\n%v8 = relu(%v7)\noutput %v8\n  }\n}\n";

/* Signal and noise alone and in the model. */
static const struct {
  wk_layer_kind kind;
  bool quantised, keep;
  const char *why;
  wk_quantize_noise alone, drift;
} rows[LAYERS] = {
    {WK_LAYER_LEADS, true, false, NULL, {100, 1}, {100, 10}},
    {WK_LAYER_LEADS, true, false, NULL, {1000, 1}, {1000, 0}},
    {WK_LAYER_LEADS, false, true, "--keep-float", {1, 1}, {0, 0}},
    {WK_LAYER_FOLLOWS, true, false, NULL, {10, 1}, {50, 1}},
    {WK_LAYER_LEADS, true, false, NULL, {500, 0}, {0, 1}},
    {WK_LAYER_LEADS, false, true, NULL, {1, 1}, {20, 1}},
    {WK_LAYER_FOLLOWS, false, false, "nobody reads this", {1, 1}, {30, 1}},
    {WK_LAYER_LEADS, true, false, NULL, {100, 1}, {200, 1}},
    {WK_LAYER_LEADS, true, false, NULL, {20, 1}, {40, 1}}};

typedef struct {
  wk_quantize_opts opts;
  wk_quantize_job j;
  wk_quantize_layer layers[LAYERS];
  wk_quantize_noise alone[LAYERS], drift[LAYERS];
  wk_range ranges[32];
  wk_value_id like[32];
} drawn;

static void draw(drawn *d) {
  *d = (drawn){.opts = {.scheme = 0, .method = 1, .output = "q.onnx"}};
  wk_quantize_job *j = &d->j;
  *j = (wk_quantize_job){.opts = &d->opts, .arena = wk_arena_new(), .path = "m.onnx",
                         .n_samples = 1, .bytes_before = 40960, .bytes_after = 10240,
                         .end = {1000, 1}, .ranges = d->ranges, .drift = d->drift,
                         .alone = d->alone};
  j->options = (wk_quantize_options){.activation = WK_U8, .method = WK_RANGE_MINMAX};
  wk_status s = wk_module_parse(text, "t", &j->m);
  if (s) fail_msg("%s", s->message);
  assert_true(j->m->main->values.n <= WK_COUNTOF(d->like));
  for (size_t v = 0; v < j->m->main->values.n; v++) {
    d->like[v] = (wk_value_id)v;
    d->ranges[v] = (wk_range){.min = -(double)v, .max = 51 * (double)v - (double)v, .count = 4};
  }
  for (uint32_t i = 0; i < LAYERS; i++) {
    static char names[LAYERS][8];
    snprintf(names[i], sizeof names[i], "n%u", i);
    d->layers[i] = (wk_quantize_layer){.name = names[i], .op = i % 2 ? WK_OP_NEG : WK_OP_RELU,
                                       .kind = rows[i].kind, .core = i, .last = i,
                                       .keep = rows[i].keep, .why = rows[i].why,
                                       .quantised = rows[i].quantised};
    d->alone[i] = rows[i].alone;
    d->drift[i] = rows[i].drift;
  }
  j->plan.layers.data = d->layers;
  j->plan.layers.n = LAYERS;
  j->plan.like = d->like;
}

static void erase(drawn *d) {
  wk_module_free(d->j.m);
  wk_arena_free(d->j.arena);
}

static const char *summary(const wk_quantize_job *j) {
  static char *out;
  static size_t n;
  free(out);
  FILE *f = open_memstream(&out, &n);
  assert_non_null(f);
  wk_quantize_summary(f, j);
  fclose(f);
  return out;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void summaries(void **state) {
  (void)state;
  drawn d;
  is_wrong = false;
  draw(&d);
  check_text("plain", summary(&d.j),
             "model        m.onnx\n"
             "calibration  1 sample\n"
             "scheme       uint8, weights int8 per tensor, percentile\n"
             "layers       6 of 9 quantised\n"
             "size         40.0 KiB before, 10.0 KiB after (4.00 x smaller)\n"
             "outputs      30.0 dB signal to noise\n"
             "layers that lose most\n"
             "layer  operator  alone dB  in the model dB\n"
             "n3     neg           10.0             17.0\n"
             "n8     Relu          13.0             16.0\n"
             "n0     Relu          20.0             10.0\n"
             "n7     neg           20.0             23.0\n"
             "n1     neg           30.0            exact\n");
  d.opts.verbose = d.opts.equalise = true;
  d.opts.scheme = d.opts.method = 0;
  d.j.options.symmetric = d.j.options.per_channel = true;
  d.j.n_samples = 2;
  d.j.kept = 3;
  d.j.pairs = 1;
  d.j.bytes_after = -1;
  d.j.end.noise = 0;
  check_text("verbose", summary(&d.j),
             "layer  operator  alone dB  in the model dB\n"
             "n0     Relu          20.0             10.0\n"
             "n1     neg           30.0            exact\n"
             "n2     Relu                              -  float: --keep-float\n"
             "n3     neg           10.0             17.0\n"
             "n4     Relu         exact                -\n"
             "n5     neg                            13.0  float\n"
             "n6     Relu                           14.8  float: so are its operands\n"
             "n7     neg           20.0             23.0\n"
             "n8     Relu          13.0             16.0\n"
             "model          m.onnx\n"
             "calibration    2 samples\n"
             "scheme         uint8 symmetric, weights int8 per channel, minmax\n"
             "layers         6 of 9 quantised\n"
             "kept in float  3 to meet --target-drop\n"
             "equalised      1 pair\n"
             "size           40.0 KiB before\n"
             "outputs        identical to those of the float model\n"
             "layers that lose most\n"
             "layer  operator  alone dB  in the model dB\n"
             "n3     neg           10.0             17.0\n"
             "n8     Relu          13.0             16.0\n"
             "n0     Relu          20.0             10.0\n"
             "n7     neg           20.0             23.0\n"
             "n1     neg           30.0            exact\n");
  d.opts.verbose = false;
  d.j.pairs = 2;
  d.j.bytes_after = 0;
  for (size_t i = 0; i < LAYERS; i++) d.alone[i].noise = 0;
  check_text("nothing is lost", summary(&d.j),
             "model          m.onnx\n"
             "calibration    2 samples\n"
             "scheme         uint8 symmetric, weights int8 per channel, minmax\n"
             "layers         6 of 9 quantised\n"
             "kept in float  3 to meet --target-drop\n"
             "equalised      2 pairs\n"
             "size           40.0 KiB before\n"
             "outputs        identical to those of the float model\n");
  erase(&d);
  assert_false(is_wrong);
}

/* The five layers with the least signal for their noise, the least first, of equals the first. */
static void layers_that_lose_most(void **state) {
  (void)state;
  wk_rng rng = {11};
  for (int round = 0; round < 200; round++) {
    drawn d;
    draw(&d);
    char want[80] = "";
    bool taken[LAYERS] = {false};
    for (size_t i = 0; i < LAYERS; i++) {
      d.layers[i].quantised = wk_rng_range(&rng, 0, 4) > 0;
      d.alone[i] = (wk_quantize_noise){64, (double)wk_rng_range(&rng, 0, 6)};
    }
    for (int k = 0; k < 5; k++) {
      int worst = -1;
      for (int i = 0; i < LAYERS; i++)
        if (!taken[i] && d.layers[i].quantised && d.alone[i].noise > 0 &&
            (worst < 0 || d.alone[i].noise > d.alone[worst].noise))
          worst = i;
      if (worst < 0) break;
      taken[worst] = true;
      snprintf(want + strlen(want), sizeof want - strlen(want), "%s ", d.layers[worst].name);
    }
    char got[80] = "";
    const char *at = strstr(summary(&d.j), "layers that lose most\n");
    assert_int_equal(at != NULL, *want != 0);
    if (at) at = strchr(strchr(at, '\n') + 1, '\n'); /* behind the head */
    for (; at && at[1]; at = strchr(at + 1, '\n'))
      snprintf(got + strlen(got), sizeof got - strlen(got), "%.*s ", (int)strcspn(at + 1, " "),
               at + 1);
    assert_string_equal(got, want);
    erase(&d);
  }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *json_of(const wk_quantize_job *j) {
  wk_out *out;
  assert_null(wk_out_open(path, &out));
  wk_quantize_json(out, j);
  assert_null(wk_out_commit(out));
  json_t *o = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
  assert_non_null(o);
  return o;
}

static void reports(void **state) {
  (void)state;
  drawn d;
  is_wrong = false;
  draw(&d);
  json_t *o = json_of(&d.j);
  char *compact = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(6));
  check_text("report", compact,
             "{\"model\":\"m.onnx\",\"output\":\"q.onnx\",\"scheme\":\"uint8\","
             "\"method\":\"percentile\",\"symmetric\":false,\"per_channel\":false,"
             "\"bias_correction\":false,\"equalised_pairs\":0,\"samples\":1,"
             "\"bytes_before\":40960,\"bytes_after\":10240,\"kept_for_target\":0,"
             "\"snr_outputs_db\":30.0,\"worst\":[\"n3\",\"n8\",\"n0\",\"n7\",\"n1\"],"
             "\"layers\":[{\"name\":\"n0\",\"operator\":\"Relu\",\"quantised\":true,"
             "\"tensor\":\"v0\",\"snr_in_model_db\":10.0,\"snr_alone_db\":20.0,\"min\":-1.0,"
             "\"max\":50.0,\"scale\":0.2,\"zero_point\":5},{\"name\":\"n1\",\"operator\":\"neg\","
             "\"quantised\":true,\"tensor\":\"v1\",\"snr_in_model_db\":null,"
             "\"snr_alone_db\":30.0,\"min\":-2.0,\"max\":100.0,\"scale\":0.4,\"zero_point\":5},"
             "{\"name\":\"n2\",\"operator\":\"Relu\",\"quantised\":false,\"tensor\":\"v2\","
             "\"snr_in_model_db\":null,\"why\":\"float: --keep-float\"},{\"name\":\"n3\","
             "\"operator\":\"neg\",\"quantised\":true,\"tensor\":\"v3\","
             "\"snr_in_model_db\":16.9897,\"snr_alone_db\":10.0,\"min\":-4.0,\"max\":200.0,"
             "\"scale\":0.8,\"zero_point\":5},{\"name\":\"n4\",\"operator\":\"Relu\","
             "\"quantised\":true,\"tensor\":\"v4\",\"snr_in_model_db\":null,"
             "\"snr_alone_db\":null,\"min\":-5.0,\"max\":250.0,\"scale\":1.0,\"zero_point\":5},"
             "{\"name\":\"n5\",\"operator\":\"neg\",\"quantised\":false,\"tensor\":\"v5\","
             "\"snr_in_model_db\":13.0103,\"why\":\"float\"},{\"name\":\"n6\","
             "\"operator\":\"Relu\",\"quantised\":false,\"tensor\":\"v6\","
             "\"snr_in_model_db\":14.7712,\"why\":\"float: so are its operands\"},"
             "{\"name\":\"n7\",\"operator\":\"neg\",\"quantised\":true,\"tensor\":\"v7\","
             "\"snr_in_model_db\":23.0103,\"snr_alone_db\":20.0,\"min\":-8.0,\"max\":400.0,"
             "\"scale\":1.6,\"zero_point\":5},{\"name\":\"n8\",\"operator\":\"Relu\","
             "\"quantised\":true,\"tensor\":\"v8\",\"snr_in_model_db\":16.0206,"
             "\"snr_alone_db\":13.0103,\"min\":-9.0,\"max\":450.0,\"scale\":1.8,"
             "\"zero_point\":5}]}");
  free(compact);
  json_decref(o);
  d.j.bytes_after = -1;
  d.j.end.noise = 0;
  d.j.options.symmetric = d.j.options.per_channel = d.j.options.bias_correction = true;
  d.j.pairs = 4;
  d.j.kept = 2;
  for (size_t i = 0; i < LAYERS; i++) d.alone[i].noise = 0;
  d.j.plan.layers.n = 1;
  o = json_of(&d.j);
  compact = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(6));
  check_text("without figures", compact,
             "{\"model\":\"m.onnx\",\"output\":\"q.onnx\",\"scheme\":\"uint8\","
             "\"method\":\"percentile\",\"symmetric\":true,\"per_channel\":true,"
             "\"bias_correction\":true,\"equalised_pairs\":4,\"samples\":1,"
             "\"bytes_before\":40960,\"bytes_after\":null,\"kept_for_target\":2,"
             "\"snr_outputs_db\":null,\"worst\":[],\"layers\":[{\"name\":\"n0\","
             "\"operator\":\"Relu\",\"quantised\":true,\"tensor\":\"v0\","
             "\"snr_in_model_db\":10.0,\"snr_alone_db\":null,\"min\":-1.0,\"max\":50.0,"
             "\"scale\":0.393701,\"zero_point\":128}]}");
  free(compact);
  json_decref(o);
  erase(&d);
  assert_false(is_wrong);
}

/* ---- what is asked for ----------------------------------------------------------------------- */

static void drops(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool is_right;
    double decibel;
  } cases[] = {{"40dB", true, 40},     {"40DB", true, 40},      {"-3.5db", true, -3.5},
               {"0dB", true, 0},       {"0.01", true, 40},      {"0.1", true, 20},
               {"1e-3", true, 60},     {"0", false, 0},         {"1", false, 0},
               {"-0.5", false, 0},     {"dB", false, 0},        {"", false, 0},
               {"40", false, 0},       {"0.1x", false, 0},      {"40dBx", false, 0},
               {"infdB", false, 0},    {"nandB", false, 0},     {"nan", false, 0},
               {"0.5 dB", false, 0},   {"0.999999", true, 8.6859e-6}};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    double v = -1;
    wk_status s = wk_quantize_target(cases[i].text, &v);
    if (!s != cases[i].is_right || (!s && fabs(v - cases[i].decibel) > 1e-9))
      fail_msg("%s: %g, %s", cases[i].text, v, s ? s->message : "taken");
    if (s) assert_int_equal(s->code, WK_USAGE);
    if (s) assert_non_null(strstr(s->message, "write a ratio such as 40dB"));
    wk_status_free(s);
  }
}

int main(void) {
  int file = mkstemp(path);
  if (file < 0) return 1;
  close(file);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(summaries),
      cmocka_unit_test(layers_that_lose_most),
      cmocka_unit_test(reports),
      cmocka_unit_test(drops),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  return unlink(path) || failed;
}
