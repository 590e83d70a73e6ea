// SPDX-License-Identifier: Apache-2.0
// The vector engine with a scratchpad that may deny grants: runs batches of commands and compares
// all that they do with the model.
#ifndef WICK_VEC_BENCH_H
#define WICK_VEC_BENCH_H

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "Vwick_vec.h"
#include "vec_duration.h"
#include "vec_model.h"

inline std::mt19937_64 rng;
inline int64_t pick(int64_t lo, int64_t hi) {
  return lo + int64_t(rng() % uint64_t(hi - lo + 1));
}
inline bool chance(int percent) { return pick(0, 99) < percent; }

[[noreturn]] inline void fail(const std::string &what, const Command *c = nullptr) {
  printf("vec_test N=%d: %s\n", N, what.c_str());
  if (c) {
    printf("  %s", c->name.c_str());
    for (auto &[k, v] : c->f) printf(" %s=%lld", k.c_str(), static_cast<long long>(v));
    printf("\n");
  }
  exit(1);
}

class Bench {
 public:
  Vwick_vec dut;
  std::vector<uint8_t> mem = std::vector<uint8_t>(Spm);
  Model model;
  int64_t cycle = 0, commands = 0, denied = 0;
  int deny = 0;  // percent
  uint8_t rdata[N] = {};

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
    dut.eval();
    if (!quiet()) fail("not quiet in reset");
    dut.rst_ni = 1;
    clock();
    dut.eval();
    if (!quiet()) fail("not quiet after reset");
  }
  bool quiet() const {
    return !dut.done_o && !dut.active_o && !dut.error_o && !dut.req_o && !dut.ev_slot_o &&
           dut.cmd_ready_o;
  }

  // Runs a batch; the commands follow each other as closely as the engine takes them, or with gaps.
  void batch(const std::vector<Command> &cmds, bool gaps) {
    foretell(cmds);
    at_ = {};
    while (at_.retired < cmds.size()) {
      offer(cmds, gaps);
      access(cmds);
      if (dut.done_o) retire(cmds[at_.retired]);
      if (dut.error_o) return refuse(cmds);
      if (dut.cmd_valid_i && dut.cmd_ready_o) take();
      clock();
      if (at_.started > at_.retired && ++at_.idle > 10000000) fail("hangs", &cmds[at_.retired]);
    }
    index_ += int64_t(cmds.size());
    dut.cmd_valid_i = 0;
    if (error_) fail("no error", &cmds[expected_.size() - 1]);
    if (mem != model.mem) show_difference(cmds.back());
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

 private:
  struct Progress {
    size_t started = 0, retired = 0;
    int64_t start_cycle = 0, denied_before = 0, idle = 0;
  };

  // What the model says of every command, up to the first with an error.
  void foretell(const std::vector<Command> &cmds) {
    expected_.clear();
    error_ = Ok;
    for (auto &c : cmds) {
      std::vector<uint8_t> touched(Spm);
      model.touched = &touched;
      model.error = Ok;
      model.run(c);
      model.touched = nullptr;
      if (model.error) touched.assign(Spm, 1);  // how far it gets is its own business
      expected_.push_back(std::move(touched));
      if ((error_ = model.error)) break;
    }
  }

  void offer(const std::vector<Command> &cmds, bool gaps) {
    bool offers = at_.started < cmds.size() && (!gaps || chance(30));
    if (dut.cmd_valid_i && at_.started < cmds.size()) offers = true;  // valid waits for ready
    dut.cmd_valid_i = offers;
    if (offers) {
      cmds[at_.started].encode(&dut.cmd_i[0]);
      dut.cmd_index_i = uint32_t(index_ + int64_t(at_.started));
    } else {
      for (int i = 0; i < 16; i++) dut.cmd_i[i] = uint32_t(rng());
    }
  }

  // The scratchpad's side of a cycle.
  void access(const std::vector<Command> &cmds) {
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
    if (dut.active_o != (at_.started > at_.retired && !dut.error_o)) fail("active_o");
    if (req && !grant) denied++;
    for (auto &b : rdata) b = uint8_t(rng());
    if (!grant) return;
    for (int i = 0; i < N; i++) {
      if (!(be >> i & 1)) continue;
      if (int64_t{addr} + i >= Spm) fail("beyond the scratchpad", &cmds[at_.retired]);
      if (dut.we_o) mem[addr + i] = wdata[i];
      else read(addr + i, i, cmds[at_.retired]);
    }
  }

  void read(size_t address, int lane, const Command &c) {
    rdata[lane] = mem[address];
    if (!expected_[at_.retired][address]) fail("reads outside its footprint", &c);
    seen_[address] = 1;
  }

  void retire(const Command &c) {
    int64_t took = cycle - at_.start_cycle, formula = duration(c);
    if (denied == at_.denied_before && took != formula)
      fail("took " + std::to_string(took) + " cycles, formula " + std::to_string(formula), &c);
    if (seen_ != expected_[at_.retired]) fail("did not read all of its footprint", &c);
    at_.retired++;
    commands++;
  }

  void take() {
    at_.start_cycle = cycle;
    at_.denied_before = denied;
    seen_.assign(Spm, 0);
    at_.started++;
    at_.idle = 0;
  }

  void refuse(const std::vector<Command> &cmds) {
    int code = dut.error_code_o;
    if (!error_)
      fail("error " + std::to_string(code), &cmds[std::max<size_t>(at_.started, 1) - 1]);
    if (size_t(dut.error_index_o - index_) != expected_.size() - 1) fail("index of the error");
    if (code != error_) fail("code " + std::to_string(code), &cmds[expected_.size() - 1]);
    stop();
  }

  [[noreturn]] void show_difference(const Command &last) {
    auto place = std::mismatch(mem.begin(), mem.end(), model.mem.begin()).first;
    size_t at = size_t(place - mem.begin());
    printf("  byte %zu: %d, expected %d\n", at, mem[at], model.mem[at]);
    if (last.f.count("par")) {
      Model::Record r = model.record(last["par"]);
      Model::Entry e = model.entry(last["par"], 0);
      for (int64_t v : {r.zero, r.lo, r.hi, r.ma, r.mb, r.shift, r.za, r.zb, r.zy, r.lo2, r.hi2,
                        e.bias, e.mult, e.shift})
        printf("  %lld", static_cast<long long>(v));
      printf("\n");
    }
    fail("wrong result", &last);
  }

  Progress at_;
  int error_ = Ok;  // that the batch ends in
  int64_t index_ = 0;
  std::vector<std::vector<uint8_t>> expected_;  // bytes that each command of the batch must read
  std::vector<uint8_t> seen_;                   // that the running one has read
};

#endif
