/* SPDX-License-Identifier: Apache-2.0
 * soak_streams [--seed N] [--count N] [--machine NAME] [--commands N] [--coverage FILE]: random
 * streams on the RTL against the functional model until one differs; it is shrunk and printed.
 * Exit status 1 when one differed. FILE: what was covered of the RTL, for verilator_coverage. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/random_stream.h"

typedef struct {
  uint64_t seed, count;
  const char *machine, *coverage;
  random_stream_options draw;
} options;

static bool parse(int argc, char **argv, options *o) {
  *o = (options){.seed = 1, .count = 1000, .machine = "tiny"};
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) return false;
    uint64_t number = strtoull(argv[i + 1], NULL, 10);
    if (!strcmp(argv[i], "--seed")) o->seed = number;
    else if (!strcmp(argv[i], "--count")) o->count = number;
    else if (!strcmp(argv[i], "--machine")) o->machine = argv[i + 1];
    else if (!strcmp(argv[i], "--coverage")) o->coverage = argv[i + 1];
    else if (!strcmp(argv[i], "--commands")) o->draw.commands = (int)number;
    else return false;
  }
  return true;
}

static bool try_seed(const options *o, const wk_sim_model *rtl, const wk_machine *m, uint64_t seed,
                     uint64_t *cycles, uint64_t *commands) {
  wk_str text = {0};
  random_stream_setting setting = random_stream_draw_setting(rtl, m, seed % 2 ? seed : 0);
  wk_stream *s = random_stream(m, seed, &o->draw);
  wk_status refused = wk_check(s, &s->machine, NULL);
  bool ok = !refused && random_stream_agrees(s, &setting, &text);
  if (refused) {
    wk_status_print(stderr, refused);
    random_stream_print(s, "refused by wk_check");
  } else if (!ok) {
    fprintf(stderr, "seed %" PRIu64 ": %s\n", seed, text.s);
    random_stream_show(s, &setting, o->machine, seed);
  }
  wk_status_free(refused);
  *cycles += setting.cycles;
  *commands += s->n;
  wk_stream_free(s);
  wk_str_free(&text);
  return ok;
}

int main(int argc, char **argv) {
  options o;
  wk_machine m;
  const wk_sim_model *rtl;
  uint64_t cycles = 0, commands = 0, done = 0;
  if (!parse(argc, argv, &o)) {
    fprintf(stderr, "usage: soak_streams [--seed N] [--count N] [--machine NAME] [--commands N] "
                    "[--coverage FILE]\n");
    return WK_USAGE;
  }
  wk_status s = wk_machine_read(o.machine, &m);
  if (!s) s = wk_sim_model_of(WK_SIM_RTL, &(wk_sim_build_options){.machine = &m,
                                                                  .coverage = o.coverage}, &rtl);
  if (s) {
    wk_status_print(stderr, s);
    return (int)s->code;
  }
  bool ok = true;
  for (; ok && done < o.count; done++) {
    ok = try_seed(&o, rtl, &m, o.seed + done, &cycles, &commands);
    if (done % 1000 == 999) fprintf(stderr, "%" PRIu64 " streams ...\n", done + 1);
  }
  if (o.coverage) rtl->write_counts(o.coverage);
  printf("%" PRIu64 " streams, %" PRIu64 " commands, %" PRIu64 " cycles\n", done, commands, cycles);
  return ok ? 0 : 1;
}
