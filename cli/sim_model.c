/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sim_model.h"

#include <string.h>
#include <unistd.h>

#include "cli/text.h"
#include "sim/build.h"

const char *const wk_sim_models[] = {"functional", "timing", "rtl", NULL};

enum { TENTH = 10, PAUSE = 10 }; /* percent, seconds */

/* Without a terminal: a line at the start, then one for every tenth, or when nothing was said for a
 * while. */
static void print_line(wk_sim_progress_line *p, const char *what, int percent) {
  double now = wk_clock();
  int tenth = percent > 0 ? percent / TENTH : 0;
  if (strcmp(p->what, what) != 0) {
    fprintf(stderr, "%s\n", what);
    snprintf(p->what, sizeof p->what, "%s", what);
    p->began = now;
    p->tenth = tenth;
  } else if (tenth > p->tenth) {
    fprintf(stderr, "%s: %d %%\n", what, percent);
    p->tenth = tenth;
  } else if (now - p->shown >= PAUSE) {
    fprintf(stderr, "%s: %.0f s\n", what, now - p->began);
  } else {
    return;
  }
  p->shown = now;
}

void wk_sim_progress_show(void *context, const char *what, int percent) {
  if (!isatty(STDERR_FILENO)) print_line(context, what, percent);
  else if (percent < 0) wk_progress("%s ...", what);
  else wk_progress("%s ... %d %%", what, percent);
}

static wk_status find_rtl(void *context, const wk_machine *m, const wk_sim_model **model) {
  wk_sim_build_options o = {.progress = wk_sim_progress_show, .context = context};
  return wk_sim_find_rtl(&o, m, model);
}

void wk_sim_choose_model(int model, wk_sim_progress_line *line) {
  const wk_sim_device_options o = {.model = (wk_sim_kind)model, .find = find_rtl,
                                   .find_context = line};
  wk_sim_device_configure(&o);
}

wk_status wk_sim_check_model(int model, const wk_runner *r) {
  const wick_session *session = wk_runner_session(r);
  const wick_entry_info *e = session ? wick_session_entry(session) : NULL;
  wk_progress_end();
  if (model == WK_SIM_FUNCTIONAL) return NULL;
  for (uint32_t i = 0; e && i < e->part_count; i++)
    if (!strcmp(e->parts[i]->target, wk_sim_device()->target)) return NULL;
  return wk_error(WK_USAGE, "--model %s has no effect: nothing runs on the accelerator",
                  wk_sim_models[model]);
}
