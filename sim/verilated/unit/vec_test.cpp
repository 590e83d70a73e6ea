// SPDX-License-Identifier: Apache-2.0
// The vector engine against a plain model of docs/isa.md: random commands in random batches, with
// and without a scratchpad that denies grants, and directed corners. Every batch compares all of
// the scratchpad; every read must lie in the command's footprint and every byte of it must be read;
// every command that was never denied must last exactly as long as its formula says.
//
//   vec_test [COMMANDS [SEED [RESET]]]   `run vec` builds it; RESET 0, 1, 2: registers
//                                        without reset start as 0, 1, random
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "vec_errors.h"
#include "verilated.h"
#if VM_COVERAGE
#include "verilated_cov.h"
#endif

int main(int argc, char **argv) {
  int64_t count = argc > 1 ? atoll(argv[1]) : 2000;
  rng.seed(argc > 2 ? uint64_t(atoll(argv[2])) : 1);
  Verilated::randReset(argc > 3 ? atoi(argv[3]) : 2);
  for (int i = 1; i <= 16; i++) {  // whatever registers held before
    Verilated::randSeed(i);
    std::make_unique<Bench>()->reset();
  }
  auto bench = std::make_unique<Bench>();
  Bench &b = *bench;
  for (auto &v : b.mem) v = uint8_t(rng());
  b.model.mem = b.mem;
  b.reset();
  // All tables are written once, so that no test depends on what they held before.
  for (int t = 0; t < Tables; t++)
    b.batch({Command{"TAB", {{"in", 256 * t}, {"table", t}, {"count", 1}}}}, false);
  corners(b);
  norms(b);
  int64_t directed = b.commands;
  std::map<std::string, int> kinds;
  int64_t random = 0;
  while (random < count) {
    Draw d{b};
    b.deny = chance(40) ? 0 : int(pick(1, 80));
    std::vector<Command> cmds;
    int64_t most = pick(1, 4);
    // Room for the next command is not known before it is drawn: leave half of the scratchpad.
    while (int64_t(cmds.size()) < most && d.next < Spm / 4) {
      cmds.push_back(d.any());
      const Command &c = cmds.back();
      kinds[c.name + (c.f.count("fn") ? std::to_string(c["fn"]) : "")]++;
    }
    b.batch(cmds, chance(50));
    random += int64_t(cmds.size());
  }
  b.deny = 0;
  int64_t before = b.commands;
  Refusals(b).all();
  printf("vec_test N=%d: %lld directed and %lld random commands, %lld after errors, %lld cycles, "
         "%lld denied\n",
         N, static_cast<long long>(directed), static_cast<long long>(random),
         static_cast<long long>(b.commands - before), static_cast<long long>(b.cycle),
         static_cast<long long>(b.denied));
  if (getenv("VEC_KINDS"))
    for (auto &[k, n] : kinds) printf("  %s %d\n", k.c_str(), n);
  b.dut.final();
#if VM_COVERAGE
  Verilated::threadContextp()->coveragep()->write("coverage.dat");
#endif
  return 0;
}
