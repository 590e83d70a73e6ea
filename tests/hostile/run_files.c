/* SPDX-License-Identifier: Apache-2.0
 * Files that runs leave and go on with, or describe something: states, checkpoints of training,
 * descriptions of OpenCL devices, figures of the simulator. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/fit/train.h"
#include "cli/study/diff.h"
#include "runtime/wick.h"
#include "targets/opencl/description.h"
#include "tests/accel_package.h"
#include "tests/accel_streams.h"
#include "tests/hostile/hostile.h"
#include "tests/unit/toy_package.h"

static void stop(const char *what) {
  fprintf(stderr, "hostile: %s\n", what);
  exit(2);
}

static void add_file(seed_list *l, const char *path) {
  wk_str b = {0};
  wk_file f;
  wk_status s = wk_file_map(path, &f);
  if (s) stop(path);
  wk_str_addn(&b, (const char *)f.data, f.size);
  wk_vec_push(l, b);
  wk_file_unmap(&f);
  (void)unlink(path);
}

static void add_text(seed_list *l, const char *text) {
  wk_str b = {0};
  wk_str_add(&b, text);
  wk_vec_push(l, b);
}

/* A copy with checksums that fit, in most cases. */
static bool is_sealed(feed_run *r, const wk_str *input, wk_str *copy) {
  wk_str_addn(copy, input->s ? input->s : "", input->n);
  return wk_rng_next(&r->rng) % 8 > 0;
}

/* ---- states ---------------------------------------------------------------------------------- */

/* Of the package of test_device.c; its devices are not needed. */
static const wick_model *toy_model(void) {
  static wick_model *model;
  static void *bytes;
  size_t size;
  const wick_load_options o = {.size = sizeof o, .flags = WICK_LOAD_DESCRIBE};
  if (model) return model;
  wk_package *p = toy_package();
  wk_status s = wk_package_bytes(p, &bytes, &size);
  wk_package_free(p);
  if (s || wick_model_load_memory(bytes, size, &o, &model) != WICK_OK) stop("the toy package");
  return model;
}

/* runtime/state.c: a header of 32 bytes with the number of rows at 12, the file's size at 16 and
 * checksums at 24 and 28, then rows of 96. */
static void seal_state(wk_str *b) {
  enum { COUNT = 12, SIZE = 16, DATA_CRC = 24, CRC = 28, ROWS = 32, ROW = 96 };
  const uint32_t none = 0;
  uint64_t size = b->n;
  uint32_t count, crc;
  if (b->n < ROWS) return;
  memcpy(&count, b->s + COUNT, sizeof count);
  if (count > (b->n - ROWS) / ROW) return;
  size_t data = ROWS + (size_t)count * ROW;
  memcpy(b->s + SIZE, &size, sizeof size);
  crc = wk_crc32c(0, b->s + data, b->n - data);
  memcpy(b->s + DATA_CRC, &crc, sizeof crc);
  memcpy(b->s + CRC, &none, sizeof none);
  crc = wk_crc32c(0, b->s, data);
  memcpy(b->s + CRC, &crc, sizeof crc);
}

void feed_state(feed_run *r, const wk_str *input) {
  char path[64];
  int fd;
  wk_str copy = {0};
  wick_state *state = NULL;
  wick_error_detail detail = {{0}};
  if (is_sealed(r, input, &copy)) seal_state(&copy);
  feed_with_file(&copy, path, &fd);
  r->accepted = wick_state_load(toy_model(), path, &detail, &state) == WICK_OK;
  if (strchr(detail.text, '\n')) wk_str_add(&r->complaint, "the error is not one line");
  if (r->accepted != (state != NULL)) wk_str_add(&r->complaint, "an error and a state");
  wick_state_free(state);
  wk_str_free(&copy);
  close(fd);
}

void seeds_state(seed_list *l, const char *folder) {
  char path[256];
  wick_state *state;
  snprintf(path, sizeof path, "%s/seed.state", folder);
  if (wick_state_new(toy_model(), &state) != WICK_OK ||
      wick_state_save(state, path, NULL) != WICK_OK)
    stop("a file of states");
  wick_state_free(state);
  add_file(l, path);
}

/* ---- packages -------------------------------------------------------------------------------- */

static void add_package(seed_list *l, void *bytes, size_t size) {
  wk_str b = {0};
  wk_str_addn(&b, bytes, size);
  wk_vec_push(l, b);
  free(bytes);
}

/* Of several parts and rows of every kind; for the accelerator. */
void seeds_package_units(seed_list *l) {
  static const char *const texts[] = {accel_product, accel_copy};
  wk_stream *streams[WK_COUNTOF(texts)];
  accel_unit_data unit = {0};
  void *bytes;
  size_t size;
  wk_package *p = toy_package();
  if (wk_package_bytes(p, &bytes, &size)) stop("the toy package");
  wk_package_free(p);
  add_package(l, bytes, size);
  for (size_t i = 0; i < WK_COUNTOF(texts); i++)
    if (wk_asm(texts[i], strlen(texts[i]), "seed", NULL, NULL, &streams[i])) stop("a stream");
  if (accel_package_bytes(&unit, streams, WK_COUNTOF(texts), &bytes, &size))
    stop("a package for the accelerator");
  add_package(l, bytes, size);
  for (size_t i = 0; i < WK_COUNTOF(texts); i++) wk_stream_free(streams[i]);
  accel_unit_free(&unit);
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

typedef struct {
  wk_train_run run;
  wk_step_variable variables[2];
  float weight[6];
  double moment[1];
  void *contents[2];
} small_run;

static void small_run_set(small_run *s, bool has_steps, const char *path) {
  const wk_type weight = wk_type_make(WK_F32, 2, (int64_t[]){2, 3});
  const wk_type moment = wk_type_make(WK_F64, 0, NULL);
  *s = (small_run){.variables = {{.name = "w", .type = weight, .is_weight = true},
                                 {.name = "train.moment", .type = moment}}};
  s->contents[0] = s->weight;
  s->contents[1] = s->moment;
  s->run.step.variables.data = s->variables;
  s->run.step.variables.n = WK_COUNTOF(s->variables);
  s->run.variables = s->contents;
  s->run.settings = "model 1234\nseed 0\nbatch 8\n";
  s->run.plan.per_epoch = s->run.history.per_epoch = 4;
  s->run.plan.steps = 12;
  s->run.history.metric = "accuracy";
  s->run.history.epochs = 3;
  s->run.history.has_steps = has_steps;
  s->run.checkpoint = path;
}

static void small_run_free(small_run *s) {
  wk_vec_free(&s->run.history.rows);
  wk_vec_free(&s->run.history.steps);
}

static void seal_checkpoint(wk_str *b) {
  uint32_t crc;
  if (b->n < sizeof crc) return;
  crc = wk_crc32c(0, b->s, b->n - sizeof crc);
  memcpy(b->s + b->n - sizeof crc, &crc, sizeof crc);
}

/* In every form. */
static void show_history(feed_run *r, const wk_history *h, wk_str *text) {
  char line[1024];
  wk_history_csv(text, h);
  wk_history_steps_csv(text, h);
  wk_history_page(text, h);
  for (size_t i = 0; i < h->rows.n; i++) {
    FILE *f = fmemopen(line, sizeof line, "w");
    if (!f) stop("a line");
    wk_history_line(f, h, &h->rows.data[i]);
    fclose(f);
    if (strstr(line, "; -")) wk_str_printf(&r->complaint, "a negative rate: %s", line);
  }
}

void feed_checkpoint(feed_run *r, const wk_str *input) {
  char path[64];
  int fd;
  small_run s;
  wk_str copy = {0}, text = {0};
  if (is_sealed(r, input, &copy)) seal_checkpoint(&copy);
  feed_with_file(&copy, path, &fd);
  small_run_set(&s, wk_rng_next(&r->rng) % 2, path);
  r->accepted = feed_status(r, wk_checkpoint_load(&s.run), "checkpoint");
  if (r->accepted) show_history(r, &s.run.history, &text);
  small_run_free(&s);
  wk_str_free(&text);
  wk_str_free(&copy);
  close(fd);
}

/* At the beginning, within the second epoch, and at the end of it. */
void seeds_checkpoint(seed_list *l, const char *folder) {
  char path[256];
  snprintf(path, sizeof path, "%s/seed.checkpoint", folder);
  for (int i = 0; i < 3; i++) {
    small_run s;
    small_run_set(&s, i != 1, path);
    s.run.done = i == 0 ? 0 : 4 + 2 * i;
    for (int64_t epoch = 1; i && epoch <= i; epoch++) {
      const wk_epoch row = {epoch, 4 * epoch, 0.1, 0.5, 0.9, 0.6, 0.8, 1, 32};
      wk_vec_push(&s.run.history.rows, row);
    }
    s.run.running = (wk_epoch){.epoch = i, .step = s.run.done};
    if (i == 1) s.run.running.epoch = 2;
    for (int64_t k = 0; s.run.history.has_steps && k < s.run.done; k++) {
      const wk_step_figures f = {0.1, 0.5, 0.9, 1};
      wk_vec_push(&s.run.history.steps, f);
    }
    if (wk_checkpoint_save(&s.run)) stop("a checkpoint");
    add_file(l, path);
    small_run_free(&s);
  }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void feed_device_json(feed_run *r, const wk_str *input) {
  char path[64];
  int fd;
  wick_opencl_info info;
  feed_with_file(input, path, &fd);
  r->accepted = feed_status(r, wk_opencl_read_json(path, &info), "description");
  if (r->accepted) json_decref(wk_opencl_describe_json(&info));
  close(fd);
}

void seeds_device_json(seed_list *l, const char *folder) {
  const wick_opencl_info gpu = {
      .name = "GPU \"one\"", .vendor = "vendor", .platform = "platform", .driver = "1.0",
      .version = "OpenCL 3.0", .type = WICK_OPENCL_GPU, .units = 132, .clock_mhz = 1980,
      .max_group = 1024, .max_items = {1024, 1024, 64}, .base_align = 512, .float_width = 1,
      .subgroup = 32, .memory = 1ll << 36, .max_alloc = 1ll << 34, .local_memory = 49152,
      .has_f64 = 1};
  (void)folder;
  for (int i = 0; i < 2; i++) {
    json_t *o = wk_opencl_describe_json(&gpu);
    char *text = json_dumps(o, i ? JSON_COMPACT : JSON_INDENT(1));
    add_text(l, text);
    free(text);
    json_decref(o);
  }
}

void feed_sim_json(feed_run *r, const wk_str *input) {
  char path[64];
  int fd;
  wk_diff_runs runs;
  feed_with_file(input, path, &fd);
  const char *const paths[2] = {path, path};
  r->accepted = feed_status(r, wk_diff_read(paths, &runs), "figures");
  if (r->accepted) (void)wk_diff_machine(&runs, 1);
  wk_diff_free(&runs);
  close(fd);
}

void seeds_sim_json(seed_list *l, const char *folder) {
  static const char *const texts[] = {
      "{\"wick\": \"sim\", \"version\": 1, \"parts\": [{\"part\": \"p\", \"cycles\": 4000, "
      "\"exposed\": 500, \"counters\": {\"bytes_ld0\": 1, \"bytes_ld1\": 20, \"bytes_st\": 7}, "
      "\"causes\": {\"compute\": 3000, \"latency\": 600}, \"machine\": {\"array\": 8, \"clock\": "
      "1.25, \"name\": \"tiny\"}, \"layers\": [{\"name\": \"a\", \"operator\": 1, \"cycles\": 100, "
      "\"exposed\": 10, \"read\": 1, \"written\": 2}, {\"name\": \"a\", \"operator\": 2, "
      "\"cycles\": 200}], \"causes_of_layers\": [{\"operator\": 1, \"cause\": \"compute\", "
      "\"cycles\": 60}, {\"operator\": 2, \"cause\": \"drain\", \"cycles\": 9}]}, "
      "{\"part\": \"q\", \"gave_up\": false}]}",
      "{\"wick\": \"sim\", \"version\": 1, \"cycles\": 7, \"counters\": {}, \"causes\": {}}"};
  (void)folder;
  for (size_t i = 0; i < WK_COUNTOF(texts); i++) add_text(l, texts[i]);
}
