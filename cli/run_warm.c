/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run.h"

wk_status wk_run_warm(wk_run_job *job, wk_tensor *out, wk_run_buffers *b) {
  WK_TRY(wk_runner_run(job->runner, job->in, out));
  for (size_t i = 0; i < wk_runner_inputs(job->runner); i++) b->inputs[i] = job->in[i].data;
  for (size_t i = 0; i < wk_runner_outputs(job->runner); i++) b->outputs[i] = out[i].data;
  return NULL;
}
