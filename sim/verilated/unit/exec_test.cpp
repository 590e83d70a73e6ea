// SPDX-License-Identifier: Apache-2.0
// wick_exec against a plain model of docs/isa.md, with a scratchpad that denies grants at random.
//
//   exec_test [random commands [seed]]   directed corners, durations, random commands; exit 0:
//                                        all is good
//   exec_test --peak                     utilisation of the two reference convolutions
//   exec_test --speed                    simulated cycles per second of a busy array
//
// Built by `run`, with -DN=..., -DACC=..., -DSPM=....
#include <algorithm>
#include <initializer_list>
#include <string>
#if VM_COVERAGE
#include "verilated_cov.h"
#endif

#include "exec_draw.h"
#include "exec_figures.h"
#include "exec_timing.h"

// ---- checks ------------------------------------------------------------------------------------
int failures;

void show(const std::vector<Command> &list) {
  for (const Command &c : list) printf("  %s\n", c.text().c_str());
}

// Runs commands on machine and model, compares memories and events.
bool check(Machine &dut, std::vector<Command> &list, const std::vector<uint8_t> &memory,
           const char *what, Result *result) {
  Model model(memory);
  model.acc = dut.acc;
  std::vector<bool> readable(SPM);
  uint64_t macs = 0, acc_reads = 0, acc_writes = 0;
  for (Command &c : list) {
    model.run(c);
    for (uint32_t a : c.reads) readable[a] = true;
    macs += c.macs;
    acc_reads += c.acc_reads;
    acc_writes += c.acc_writes;
  }
  for (size_t j = 0; j < list.size(); j++) {
    list[j].wait = 0;
    for (size_t i = 0; i < j; i++) {
      if (conflict(list[i], list[j])) list[j].wait = i + 1;
    }
  }
  dut.spm = memory;
  dut.readable = &readable;
  Result r = dut.run(list);
  dut.readable = nullptr;
  bool good = !r.error && r.macs == macs && r.acc_reads == acc_reads && r.acc_writes == acc_writes;
  if (!good) {
    printf(
        "%s: error %d (%d, command %u), macs %llu of %llu, reads %llu of %llu, writes %llu of "
        "%llu\n",
        what, r.error, r.code, r.index, (unsigned long long)r.macs, (unsigned long long)macs,
        (unsigned long long)r.acc_reads, (unsigned long long)acc_reads,
        (unsigned long long)r.acc_writes, (unsigned long long)acc_writes);
    show(list);
  }
  for (uint32_t a = 0; a < SPM && good; a++) {
    if (dut.spm[a] != model.spm[a]) {
      printf("%s: byte %u is %u, not %u (was %u)\n", what, a, dut.spm[a], model.spm[a], memory[a]);
      show(list);
      good = false;
    }
  }
  dut.acc = model.acc;
  if (r.error) dut.clear();
  if (!good) failures++;
  if (failures > 5) exit(1);
  if (result) *result = r;
  return good;
}

void test_durations(Machine &dut, int count) {
  dut.deny = 0;
  std::vector<uint8_t> memory = draw_memory();
  for (int i = 0; i < count; i++) {
    if (i % 16 == 0) memory = draw_memory();
    std::vector<Command> list{draw_legal(draw_op(3), memory, true)};
    Result r;
    if (!check(dut, list, memory, "alone", &r)) continue;
    uint64_t took = r.done[0] - r.start[0];
    if (took != duration(list[0])) {
      printf("took %llu cycles, not %llu\n", (unsigned long long)took,
             (unsigned long long)duration(list[0]));
      show(list);
      if (++failures > 5) exit(1);
    }
  }
}

// Sequences against the recursion of exec_timing.h.
std::vector<double> timing_errors;
int64_t worst_ahead, worst_behind, exact, sequences;

void compare_timing(const std::vector<Command> &list, const Result &r) {
  Timing timing;
  std::vector<int64_t> done;
  int64_t origin = (int64_t)r.start[0];
  bool same = true;
  for (size_t i = 0; i < list.size(); i++) {
    int64_t earliest = list[i].wait ? done[list[i].wait - 1] + 1 : 0;
    Timeline t = timing.next(list[i], earliest);
    done.push_back(t.done);
    same = same && t.done == (int64_t)r.done[i] - origin && t.start == (int64_t)r.start[i] - origin;
    if (getenv("EXEC_TIMING") && (t.done != (int64_t)r.done[i] - origin)) {
      for (size_t k = 0; k <= i; k++)
        printf("  %s: %d %d\n", list[k].text().c_str(), (int)(r.start[k] - origin),
               (int)(r.done[k] - origin));
      printf("start %d not %d, done %d not %d\n", (int)t.start, (int)(r.start[i] - origin),
             (int)t.done, (int)(r.done[i] - origin));
      exit(1);
    }
  }
  int64_t real = (int64_t)r.done.back() - origin, error = done.back() - real;
  exact += same;
  sequences++;
  worst_ahead = std::min(worst_ahead, error);
  worst_behind = std::max(worst_behind, error);
  timing_errors.push_back(100.0 * (double)std::abs(error) / (double)real);
}

void test_random(Machine &dut, int count) {
  for (int i = 0; i < count;) {
    std::vector<uint8_t> memory = draw_memory();
    std::vector<Command> list;
    int64_t length = draw(1, 10);
    for (int64_t k = 0; k < length; k++)
      list.push_back(draw_legal(draw_op(15), memory, !chance(10)));
    dut.deny = chance(30) ? 0 : (int)draw(1, 70);
    dut.mark_deny = chance(50) ? 0 : 80;
    Result r;
    if (check(dut, list, memory, "random", &r) && !dut.deny && !dut.mark_deny)
      compare_timing(list, r);
    dut.mark_deny = 0;
    i += (int)length;
  }
  dut.deny = 0;
}
// ---- directed -----------------------------------------------------------------------------------
void fill_accumulators(Machine &dut);

void expect_error(Machine &dut, Command c, int code, const char *what) {
  std::vector<uint8_t> memory = draw_memory();
  make_record(memory, 16);
  std::vector<Command> list{conv({{"in", 0}, {"wt", 1024}, {"drain", 1}, {"out", 8192}}), c,
                            conv({{"in", 0}, {"wt", 1024}})};
  dut.spm = memory;
  Result r = dut.run(list);
  if (!r.error || r.code != code || r.index != 1) {
    printf("%s: error %d, code %d, index %u\n", what, r.error, r.code, r.index);
    failures++;
  }
  dut.clear();
  Model model(memory);
  std::vector<Command> good{
      conv({{"in", 0}, {"wt", 1024}, {"ny", 3}, {"drain", 1}, {"out", 8192}})};
  check(dut, good, memory, "after an error");
  fill_accumulators(dut);
}

// Cleared at any time, the engine is idle at once and as good as new.
void test_clear(Machine &dut, int count) {
  for (int i = 0; i < count; i++) {
    std::vector<uint8_t> memory = draw_memory();
    std::vector<Command> list;
    for (int k = 0; k < 5; k++) list.push_back(draw_legal(draw_op(20), memory, true));
    dut.spm = memory;
    dut.start_some(list, (int)draw(0, 400));
    dut.clear();
    if (dut.v->active_o || dut.v->done_o || dut.v->mark_valid_o) dut.fail("active after clear_i");
    dut.deny = 0;
    fill_accumulators(dut);
    list = {list[0]};
    check(dut, list, memory, "after clear_i");
  }
}

// At every cycle of some short commands, the last one waiting for the one before it.
void test_clear_everywhere(Machine &dut) {
  std::vector<uint8_t> memory = draw_memory();
  int64_t par = make_record(memory, 16);
  std::vector<Command> list;
  for (int drain : {1, 0, 1})
    list.push_back(conv({{"in", 0}, {"in_x", N}, {"nx", 3}, {"wt", 8192}, {"w_r", N},
                         {"w_c", N * N}, {"drain", drain}, {"par", par}, {"out", 20000},
                         {"out_x", N}}));
  dut.deny = 0;
  for (int cycles = 1; cycles < 250; cycles++) {
    dut.spm = memory;
    dut.start_some(list, cycles);
    dut.clear();
  }
  fill_accumulators(dut);
  list = {list[0]};
  check(dut, list, memory, "after clear_i");
}

void test_errors(Machine &dut) {
  const int Field = 2, Range = 4;
  for (const char *f : {"ny", "nx", "ky", "kx", "sy", "sx", "dy", "dx", "kc", "k_tail", "n"}) {
    Command c = conv({{"in", 0}, {"wt", 0}});
    c.set(f, 0);
    expect_error(dut, c, Field, f);
  }
  for (const char *f : {"ny", "nx", "ky", "kx", "sy", "sx", "dy", "dx", "n"}) {
    Command c = conv({{"in", 0}, {"wt", 0}, {"taps", 1}}, OP_DWC);
    c.set(f, 0);
    expect_error(dut, c, Field, f);
  }
  for (const char *f : {"ny", "kc", "k_tail", "n"}) {
    Command c = conv({{"in", 0}, {"wt", 0}, {"w_r", N}}, OP_MM);
    c.set(f, 0);
    expect_error(dut, c, Field, f);
  }
  if (N < 32) {
    expect_error(dut, conv({{"n", N + 1}}), Field, "n");
    expect_error(dut, conv({{"k_tail", N + 1}}), Field, "k_tail");
  }
  expect_error(dut, conv({{"wt", 4}}), Field, "wt");
  expect_error(dut, conv({{"par", 4}, {"drain", 1}}), Field, "par");
  Command three = conv({{"k_x", N}, {"in_x", N}, {"kx", 3}}, OP_DWC);
  Command c = three;
  c.set("dx", 2);
  expect_error(dut, c, Field, "three taps: dx");
  c = three;
  c.set("k_x", N + 1);
  expect_error(dut, c, Field, "three taps: k_x");
  c = three;
  c.set("in_x", 2 * N);
  expect_error(dut, c, Field, "three taps: in_x");
  c = three;
  c.set("sx", 3);
  c.set("in_x", 3 * N);
  expect_error(dut, c, Field, "three taps: sx");
  expect_error(dut, conv({{"in", SPM - N + 1}}), Range, "in");
  expect_error(dut, conv({{"in", -1}}), Range, "in < 0");
  expect_error(dut, conv({{"in", 0}, {"ny", 2}, {"in_y", SPM - 1}}), Range, "second row");
  expect_error(dut, conv({{"wt", SPM - N}}), Range, "wt");
  expect_error(dut, conv({{"par", SPM - N}, {"drain", 1}}), Range, "par");
  expect_error(dut, conv({{"out", SPM - N + 1}, {"drain", 1}}), Range, "out");
  expect_error(dut, conv({{"out", 0}, {"ny", 2}, {"out_y", SPM - 1}, {"drain", 1}}), Range,
               "out_y");
  expect_error(dut, conv({{"res", SPM - 1}, {"residual", 1}, {"drain", 1}}), Range, "res");
  if (ACC <= 4096) {
    expect_error(dut, conv({{"acc", ACC - 1}, {"ny", 2}}), Range, "acc");
    expect_error(dut, conv({{"nx", 500}, {"ny", 500}}), Range, "acc");
  }
  if (SPM == 1 << 20) return;
  expect_error(dut, conv({{"in", SPM}}), Range, "in beyond");
  expect_error(dut, conv({{"out", SPM}, {"drain", 1}}), Range, "out beyond");
  expect_error(dut, conv({{"par", SPM}, {"drain", 1}}), Range, "par beyond");
}

// Writes every accumulator entry: from then on the model knows what they hold.
void fill_accumulators(Machine &dut) {
  std::vector<Command> list{conv({{"in", 0}, {"ny", ACC}, {"wt", 1024}, {"w_r", N}}, OP_MM)};
  check(dut, list, draw_memory(), "fill");
}

void test_directed(Machine &dut) {
  for (int deny : {0, 30}) {
    dut.deny = deny;
    // The first layer: 7 x 7 x 3, stride 2, rows of a padded image; a row of taps is 21 bytes.
    std::vector<uint8_t> memory = draw_memory();
    uint32_t par = make_record(memory, 20);
    int64_t blocks = (21 + N - 1) / N;
    std::vector<Command> first{conv({{"in", 5}, {"in_x", 6}, {"in_y", 2 * 3 * 29}, {"k_y", 3 * 29},
                                     {"ky", 7}, {"k_c", N}, {"kc", blocks},
                                     {"k_tail", 21 - (blocks - 1) * N}, {"ny", 5}, {"nx", 11},
                                     {"sy", 2}, {"sx", 2}, {"wt", 4096}, {"out", 30001},
                                     {"out_y", 11 * N}, {"drain", 1}, {"par", par}})};
    check(dut, first, memory, "first layer");
    // Padding on all sides, zero point, u8; every stride and dilation.
    for (int64_t s = 1; s <= 3; s++) {
      for (int64_t d = 1; d <= 3; d++) {
        memory = draw_memory();
        par = make_record(memory, 17);
        int64_t hw = 9, out = (hw + 2 * d - 2 * d - 1) / s + 1;
        std::vector<Command> list{conv({{"in", 2000 - d * (hw + 1) * N}, {"in_x", s * N},
                                        {"in_y", s * hw * N}, {"k_x", d * N}, {"k_y", d * hw * N},
                                        {"ky", 3}, {"kx", 3}, {"ny", out}, {"nx", out},
                                        {"pad_t", d}, {"pad_l", d}, {"h", hw}, {"w", hw}, {"sy", s},
                                        {"sx", s}, {"dy", d}, {"dx", d}, {"zero", 131}, {"u8", 1},
                                        {"wt", 16384}, {"out", 40000 - 1}, {"out_y", out * N},
                                        {"drain", 1}, {"par", par}})};
        check(dut, list, memory, "padding");
      }
    }
    // A chain of commands that accumulate on one pixel, without waits, then a drain.
    memory = draw_memory();
    par = make_record(memory, 16);
    std::vector<Command> chain;
    for (int64_t i = 0; i < 12; i++) {
      chain.push_back(conv({{"in", 100 * i}, {"wt", 2048 + N * i}, {"n", 1 + i % 3},
                            {"ny", 2 - i % 2}, {"taps", 1}, {"accumulate", i > 0},
                            {"drain", i == 11}, {"par", par}, {"out", 20000}},
                           i % 2 ? OP_CONV : OP_DWC));
    }
    check(dut, chain, memory, "chain");
    // Depthwise 3 x 3 of 28 columns, and what it keeps the array busy.
    memory = draw_memory();
    par = make_record(memory, 16);
    std::vector<Command> depthwise{conv({{"in", 8192 - 29 * N}, {"in_x", N}, {"in_y", 28 * N},
                                         {"k_x", N}, {"k_y", 28 * N}, {"ky", 3}, {"kx", 3},
                                         {"ny", 5}, {"nx", 28}, {"pad_t", 1}, {"pad_l", 1},
                                         {"h", 28}, {"w", 28}, {"wt", 0}, {"out", 0x8000},
                                         {"out_y", 28 * N}, {"drain", 1}, {"par", par}},
                                        OP_DWC)};
    check(dut, depthwise, memory, "depthwise");
    // Saturated inputs and weights of both signs.
    for (int64_t a : {-128, 127})
      for (int64_t b : {-128, 127})
        for (int u8 = 0; u8 < 2; u8++) {
          memory = draw_memory();
          for (int i = 0; i < 16384; i++) memory[(size_t)i] = (uint8_t)(i < 8192 ? a : b);
          par = make_record(memory, 20);
          std::vector<Command> mm{conv({{"in", 0}, {"in_y", 64}, {"ny", 4}, {"kc", 2}, {"zero", -a},
                                        {"u8", u8}, {"wt", 8192}, {"w_r", N}, {"w_c", N * N},
                                        {"w_zero", -b}, {"w_u8", u8}, {"out", 20000}, {"out_y", N},
                                        {"drain", 1}, {"par", par}, {"accumulate", 0}},
                                       OP_MM)};
          check(dut, mm, memory, "extremes");
        }
  }
  dut.deny = 0;
}

// Whatever registers held before: nothing is asked for, nothing is said to be done.
void test_reset() {
  for (int seed = 1; seed <= 16; seed++) {
    Machine dut(seed);
    if (dut.is_quiet_in_reset && dut.is_quiet_after_reset) continue;
    printf("N = %d: not quiet %s reset, seed %d\n", N, dut.is_quiet_in_reset ? "after" : "in",
           seed);
    failures++;
  }
}

int main(int argc, char **argv) {
  if (argc < 2 || argv[1][0] != '-') test_reset();
  Machine dut(argc > 2 ? atoi(argv[2]) : 1);
  fill_accumulators(dut);
  if (argc > 1 && !strcmp(argv[1], "--peak")) {
    peak(dut);
    return failures != 0;
  }
  if (argc > 1 && !strcmp(argv[1], "--speed")) {
    speed(dut);
    return 0;
  }
  int count = argc > 1 ? atoi(argv[1]) : 2000;
  if (argc > 2) rng.seed(strtoull(argv[2], nullptr, 0));
  test_directed(dut);
  test_errors(dut);
  test_clear(dut, count / 40);
  test_clear_everywhere(dut);
  test_durations(dut, count / 4);
  test_random(dut, count);
  std::sort(timing_errors.begin(), timing_errors.end());
  if (!timing_errors.empty()) {
    printf(
        "exec_timing.h: %lld of %lld sequences exact, median error %.2f %%, p95 %.2f %%, %lld to "
        "%+lld cycles\n",
        (long long)exact, (long long)sequences, timing_errors[timing_errors.size() / 2],
        timing_errors[timing_errors.size() * 95 / 100], (long long)worst_ahead,
        (long long)worst_behind);
  }
#if VM_COVERAGE
  dut.context->coveragep()->write("coverage.dat");
#endif
  printf("N = %d: %s\n", N, failures ? "FAILED" : "good");
  return failures != 0;
}
