/* SPDX-License-Identifier: Apache-2.0
 * wick run --state: the state of a package in a file, from run to run. */
#include <unistd.h>

#include "cli/run.h"

wk_status wk_run_check_state(const wk_run_opts *o, bool is_package) {
  if (!o->state) return NULL;
  if (!is_package)
    return wk_error(WK_USAGE, "is a model: --state FILE is for packages ('wick compile --state' "
                              "makes one that has a state)");
  return NULL;
}

static wk_status load(const wk_run_opts *o, wk_run_job *job) {
  if (!wk_runner_states(job->runner))
    return wk_error_at(WK_USAGE, o->state, "what runs of the package has no state");
  if (access(o->state, F_OK)) {
    wk_notes_add(&job->notes, NULL, "%s is new: the state begins as in the package", o->state);
    return NULL;
  }
  return wk_runner_load_state(job->runner, o->state);
}

/* Of several runs each begins with the state that is there now. */
wk_status wk_run_load_state(const wk_run_opts *o, wk_run_job *job) {
  if (o->state) WK_TRY(load(o, job));
  if (o->repeat > 1 || o->profile || o->dump) wk_runner_mark(job->runner);
  return NULL;
}

wk_status wk_run_save_state(const wk_run_opts *o, const wk_run_job *job) {
  return wk_runner_save_state(job->runner, o->state);
}
