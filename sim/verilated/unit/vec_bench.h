// SPDX-License-Identifier: Apache-2.0
// The Verilated vector engine with a scratchpad that denies grants at random, beside the model.
#ifndef WICK_VEC_BENCH_H
#define WICK_VEC_BENCH_H

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

#include "Vwick_vec.h"
#include "vec_model.h"
#include "verilated.h"

inline std::mt19937_64 rng;
inline int64_t pick(int64_t lo, int64_t hi) { return lo + int64_t(rng() % uint64_t(hi - lo + 1)); }
inline bool chance(int percent) { return pick(0, 99) < percent; }

[[noreturn]] void fail(const std::string &what, const Command *c = nullptr) {
  printf("vec_test N=%d: %s\n", N, what.c_str());
  if (c) {
    printf("  %s", c->name.c_str());
    for (auto &[k, v] : c->f) printf(" %s=%lld", k.c_str(), static_cast<long long>(v));
    printf("\n");
  }
  exit(1);
}

struct Bench {
  Vwick_vec dut;
  std::vector<uint8_t> mem = std::vector<uint8_t>(Spm);
  Model model;
  int64_t cycle = 0, commands = 0, denied = 0, index = 0;
  int deny = 0;  // percent
  uint8_t rdata[N] = {};
  std::vector<std::vector<uint8_t>> expected;  // bytes that each command of the batch must read
  std::vector<uint8_t> seen;                   // that the running one has read

  void clock() {
    dut.clk_i = 1;
    dut.eval();
    dut.clk_i = 0;
    cycle++;
  }
  void reset() {
    dut.rst_ni = 0;
    dut.clk_i = 0;
    dut.clear_i = 0;
    dut.cmd_valid_i = 0;
    dut.gnt_i = 0;
    dut.eval();
    clock();
    dut.rst_ni = 1;
  }

  struct Result {
    bool error = false;
    int code = 0;
    int64_t index = 0;
  };

  // Runs a batch; the commands follow each other as closely as the engine takes them, or with gaps.
  Result batch(const std::vector<Command> &cmds, bool gaps) {
    expected.clear();
    int error = Ok;
    for (auto &c : cmds) {
      std::vector<uint8_t> touched(Spm);
      model.touched = &touched;
      model.error = Ok;
      model.run(c);
      model.touched = nullptr;
      if (model.error) touched.assign(Spm, 1);  // how far it gets is its own business
      expected.push_back(std::move(touched));
      if ((error = model.error)) break;
    }
    size_t started = 0, retired = 0;
    int64_t start_cycle = 0, denied_before = 0, idle = 0;
    int64_t first = index;
    while (retired < cmds.size()) {
      bool offer = started < cmds.size() && (!gaps || chance(30));
      if (dut.cmd_valid_i && started < cmds.size()) offer = true;  // valid waits for ready
      dut.cmd_valid_i = offer;
      if (offer) {
        cmds[started].encode(&dut.cmd_i[0]);
        dut.cmd_index_i = uint32_t(first + int64_t(started));
      } else {
        for (int i = 0; i < 16; i++) dut.cmd_i[i] = uint32_t(rng());
      }
      memcpy(&dut.rdata_i, rdata, N);
      dut.gnt_i = 0;
      dut.eval();
      bool req = dut.req_o, grant = req && !chance(deny);
      uint64_t be = dut.be_o;
      uint32_t addr = dut.addr_o;
      uint8_t wdata[N];
      memcpy(wdata, &dut.wdata_o, N);
      dut.gnt_i = grant;
      dut.eval();
      if (req != bool(dut.req_o) || addr != dut.addr_o) fail("the request depends on the grant");
      if (dut.stall_bank_o != (req && !grant)) fail("stall_bank_o");
      if (dut.active_o != (started > retired && !dut.error_o)) fail("active_o");
      if (req && !grant) denied++;
      for (auto &b : rdata) b = uint8_t(rng());
      if (grant) {
        for (int i = 0; i < N; i++) {
          if (!(be >> i & 1)) continue;
          if (int64_t{addr} + i >= Spm) fail("beyond the scratchpad", &cmds[retired]);
          if (dut.we_o) {
            mem[addr + i] = wdata[i];
          } else {
            rdata[i] = mem[addr + i];
            if (!expected[retired][addr + i]) fail("reads outside its footprint", &cmds[retired]);
            seen[addr + i] = 1;
          }
        }
      }
      if (dut.done_o) {
        const Command &c = cmds[retired];
        int64_t took = cycle - start_cycle, formula = duration(c);
        if (denied == denied_before && took != formula)
          fail("took " + std::to_string(took) + " cycles, formula " + std::to_string(formula), &c);
        if (seen != expected[retired]) fail("did not read all of its footprint", &c);
        retired++;
        commands++;
      }
      if (dut.error_o) {
        Result r{true, dut.error_code_o, dut.error_index_o};
        if (!error) fail("error " + std::to_string(r.code), &cmds[std::max<size_t>(started, 1) - 1]);
        if (size_t(r.index - first) != expected.size() - 1) fail("index of the error");
        if (r.code != error) fail("code " + std::to_string(r.code), &cmds[expected.size() - 1]);
        stop();
        return r;
      }
      if (dut.cmd_valid_i && dut.cmd_ready_o) {
        start_cycle = cycle;
        denied_before = denied;
        seen.assign(Spm, 0);
        started++;
        idle = 0;
      }
      clock();
      if (started > retired && ++idle > 10000000) fail("hangs", &cmds[retired]);
    }
    index += int64_t(cmds.size());
    dut.cmd_valid_i = 0;
    if (error) fail("no error", &cmds[expected.size() - 1]);
    if (mem != model.mem) {
      size_t at = size_t(std::mismatch(mem.begin(), mem.end(), model.mem.begin()).first - mem.begin());
      printf("  byte %zu: %d, expected %d\n", at, mem[at], model.mem[at]);
      if (cmds.back().f.count("par")) {
        Model::Record r = model.record(cmds.back()["par"]);
        Model::Entry e = model.entry(cmds.back()["par"], 0);
        for (int64_t v : {r.zero, r.lo, r.hi, r.ma, r.mb, r.shift, r.za, r.zb, r.zy, r.lo2, r.hi2,
                          e.bias, e.mult, e.shift})
          printf("  %lld", static_cast<long long>(v));
        printf("\n");
      }
      fail("wrong result", &cmds.back());
    }
    return {};
  }

  // After an error: nothing happens any more; after clear_i all is as before.
  void stop() {
    for (int i = 0; i < 20; i++) {
      clock();
      dut.cmd_valid_i = chance(50);
      dut.eval();
      if (dut.error_o || dut.req_o || dut.done_o || dut.cmd_ready_o || dut.active_o)
        fail("something happens after an error");
    }
    dut.cmd_valid_i = 0;
    dut.clear_i = 1;
    clock();
    dut.clear_i = 0;
    model.mem = mem;  // what such a command leaves behind is nobody's business
    model.error = Ok;
  }
  void store(int64_t at, int64_t v, int bytes) {
    for (int i = 0; i < bytes; i++) mem[at + i] = model.mem[at + i] = uint8_t(v >> 8 * i);
  }
};

#endif
