/* SPDX-License-Identifier: Apache-2.0
 * What the RTL model is trained on before it is compiled a second time. */
#include <stdlib.h>
#include <string.h>

#include "sim/build.h"
#include "sim/run.h"

static const char training[] = "sim/training.s";
enum { MAX_CYCLES = 8000000, COLUMNS = 14 /* of a plane */ };

static int64_t clamp(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}

/* Shares of the scratchpad: a plane has at most 1/32, of which there are 2 * KC + 9; large weights
 * 3 * KY * KC * N^2 bytes, 9/64 or, if KC is 1, 9/32. The rest is for records and tables. */
static void define_measures(const wk_machine *m, wk_str *out) {
  int64_t n = m->array, half = wk_machine_entries(m) / 2, words = m->scratchpad / n;
  int64_t pixels = half < words / 32 ? half : words / 32;
  const struct {
    const char *name;
    int64_t value;
  } rows[] = {{"ROWS", clamp(pixels / COLUMNS, 1, COLUMNS)},
              {"KC", clamp(words / (64 * n), 1, 4)},
              {"KY", words < 32 * n ? 1 : 3},
              {"HALF", half},
              {"CHANNELS", m->load_channels}};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++)
    wk_str_printf(out, ".define %s %lld\n", rows[i].name, (long long)rows[i].value);
}

wk_status wk_sim_training_text(const wk_machine *m, wk_str *out) {
  wk_str path = {0};
  wk_file f;
  wk_sim_root(&path);
  wk_str_printf(&path, "/%s", training);
  wk_status s = wk_file_map(path.s, &f);
  wk_str_free(&path);
  WK_TRY(s);
  define_measures(m, out);
  wk_str_printf(out, "%.*s", (int)f.size, (const char *)f.data);
  wk_file_unmap(&f);
  return NULL;
}

static wk_machine with_default_memory(const wk_machine *m) {
  wk_machine y;
  wk_machine_defaults(&y);
  memcpy(y.name, m->name, sizeof y.name);
  for (size_t i = 0; i < WK_KEY_COUNT; i++) {
    const wk_machine_key *k = &wk_machine_keys[i];
    if (k->kind == WK_KEY_HARDWARE)
      memcpy((char *)&y + k->offset, (const char *)m + k->offset, sizeof(int64_t));
  }
  return y;
}

static wk_status run_training(const wk_sim_model *model, const wk_stream *s, const wk_machine *m) {
  const wk_sim_run_options o = {.machine = m, .max_cycles = MAX_CYCLES};
  wk_sim_run r;
  WK_TRY(wk_sim_run_stream(s, model, &o, &r));
  wk_status status = wk_sim_verdict(s, m, &r);
  wk_sim_run_free(&r);
  return status;
}

wk_status wk_sim_train(const char *library, const wk_machine *m, const char *profile) {
  const wk_machine machine = with_default_memory(m);
  const wk_asm_options o = {.machine = &machine};
  const wk_sim_model *model;
  wk_stream *stream;
  wk_str text = {0};
  wk_status s = wk_sim_training_text(&machine, &text);
  if (!s) s = wk_asm(text.s, text.n, training, NULL, &o, &stream);
  wk_str_free(&text);
  WK_TRY(s);
  s = wk_sim_load(library, &model);
  if (!s) s = run_training(model, stream, &machine);
  if (!s) model->write_counts(profile);
  wk_stream_free(stream);
  return s;
}
