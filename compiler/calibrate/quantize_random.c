/* SPDX-License-Identifier: Apache-2.0
 * --quantize-random: quantised while it is compiled, by random data. */
#include <stdlib.h>

#include "compiler/calibrate/quantize.h"
#include "compiler/pipeline/weights.h"

static wk_status quantise(wk_quantize_job *j, wk_module **out) {
  int64_t replaced;
  WK_TRY(wk_weights_randomise(j->m, (uint64_t)j->opts->seed, &replaced));
  WK_TRY(wk_quantize_prepare(j));
  WK_TRY(wk_quantize_profile(j));
  wk_value_id *at = wk_xcalloc(j->m->main->values.n, sizeof *at);
  wk_status s = wk_quantize_make(j, false, at, out);
  free(at);
  return s;
}

wk_status wk_quantize_module(wk_module **m, const char *path, int64_t seed) {
  const wk_quantize_opts opts = {.random = 1, .seed = seed, .method = WK_RANGE_MINMAX};
  wk_quantize_job j = {.opts = &opts, .arena = wk_arena_new(), .path = path, .m = *m};
  wk_module *made = NULL;
  WK_TRY(wk_status_place(wk_module_no_open(*m, "quantisation"), path));
  j.options = (wk_quantize_options){.activation = WK_U8, .method = WK_RANGE_MINMAX};
  wk_status s = wk_calibration_read(path, NULL, &opts.calibration, &j.data);
  if (!s) s = quantise(&j, &made);
  if (!s) {
    made->constant_bytes_left = made->fold_work_left = INT64_MAX;
    made->source = j.m;
    j.m = NULL;
  }
  wk_quantize_job_free(&j);
  *m = made;
  if (!s) s = wk_status_place(wk_model_convert(m), path);
  if (!s) wk_module_trim((*m)->source, *m);
  return s;
}
