// SPDX-License-Identifier: Apache-2.0
// Commands with errors, and that the engine works again afterwards.
#ifndef WICK_VEC_ERRORS_H
#define WICK_VEC_ERRORS_H

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "vec_corners.h"

// Commands that the engine must refuse, each made from a good one by a change.
class Refusals {
 public:
  explicit Refusals(Bench &b) : b_(b), d_{b} {}

  void all() {
    for (int i = 0; i < 60; i++) {
      map();
      pool();
      row();
      softmax();
      trn();
      tab();
    }
  }

 private:
  using Changes = std::initializer_list<std::pair<const char *, int64_t>>;
  static Command with(Command c, Changes changes) {
    for (auto &[field, value] : changes) c.f[field] = value;
    return c;
  }
  Command draw(Command (Draw::*kind)()) {
    d_.next = 0;
    return d_.fitting(kind);
  }

  // The command ends in this error, and after clear_i the engine computes as before.
  void refused(const Command &c, int code) {
    uint32_t words[16];
    c.encode(words);
    b_.dut.cmd_valid_i = 1;
    memcpy(&b_.dut.cmd_i[0], words, 64);
    b_.dut.cmd_index_i = 0xabcde;
    for (int i = 0; i < 100000; i++) {
      memcpy(&b_.dut.rdata_i, b_.rdata, N);
      b_.dut.gnt_i = 1;
      b_.dut.eval();
      if (b_.dut.cmd_valid_i && b_.dut.cmd_ready_o) {
        b_.clock();
        b_.dut.cmd_valid_i = 0;
        continue;
      }
      if (b_.dut.done_o) fail("is not refused", &c);
      if (b_.dut.error_o) {
        if (b_.dut.error_code_o != code || b_.dut.error_index_o != 0xabcde) fail("wrong error", &c);
        b_.stop();
        Draw after{b_, Spm / 2};
        b_.batch({after.fitting(&Draw::map)}, false);
        return;
      }
      access(c);
      b_.clock();
    }
    fail("no error", &c);
  }
  void access(const Command &c) {
    for (int k = 0; k < N && b_.dut.req_o; k++)
      if (b_.dut.be_o >> k & 1) {
        int64_t at = int64_t{b_.dut.addr_o} + k;
        if (at >= Spm) fail("beyond the scratchpad", &c);
        if (b_.dut.we_o) b_.mem[at] = reinterpret_cast<uint8_t *>(&b_.dut.wdata_o)[k];
        else b_.rdata[k] = b_.mem[at];
      }
  }
  void refused_zeros(const Command &c, std::initializer_list<const char *> fields) {
    for (const char *f : fields) refused(with(c, {{f, 0}}), ErrField);
  }

  void map() {
    Command c = draw(&Draw::map);
    refused_zeros(c, {"n", "n0", "n1", "n2"});
    refused(with(c, {{"n", N + 1}}), ErrField);
    refused(with(c, {{"fn", 7}}), ErrField);
    refused(with(c, {{"fn", Add}, {"par", c["par"] + 1}}), ErrField);
    if (Tables < 16) refused(with(c, {{"fn", Table}, {"table", Tables}}), ErrRange);
    Command bad = with(c, {{"out", Spm - c["n"] + 1}});
    if (bad["out"] < 1 << 20) refused(bad, ErrRange);
    bad = with(c, {{"a", Spm - c["n"] - pick(0, 3)}, {"n0", 30}, {"a0", pick(1, 40)}});
    refused(bad, ErrRange);
  }

  void pool() {
    Command c = draw(&Draw::pool);
    refused_zeros(c, {"n", "ny", "nx", "ky", "kx", "sy", "sx", "dy", "dx"});
    refused(with(c, {{"fn", 3}}), ErrField);
    Command bad = with(c, {{"in", -1 - pick(0, 1000)}, {"h", 0}, {"w", 0}});
    refused(bad, ErrRange);
    bad = with(bad, {{"in", Spm - 1}, {"n", 2}});
    if (Spm < 1 << 20) refused(bad, ErrRange);
    refused(with(c, {{"ny", 511}, {"in_y", (1 << 20) - 1}, {"out_y", 0}, {"in", 0}, {"h", 0},
                     {"w", 0}}), ErrRange);
  }

  void row() {
    Command c = draw(&Draw::row);
    refused_zeros(c, {"ny", "kc", "k_tail"});
    for (int fn : {5, 6, 7}) refused(with(c, {{"fn", fn}}), ErrField);
    int64_t fn = pick(0, 1) ? Layernorm : Rmsnorm;
    Command bad = with(c, {{"fn", fn}, {"kc", 32768 / N + 1}, {"k_tail", 1}});
    if (bad["kc"] < 4096) refused(bad, ErrField);
    d_.next = 0;
    c = with(c, {{"par", d_.norm_record(N, false)}, {"fn", Layernorm}, {"kc", 1}, {"k_tail", 1},
                 {"ny", 1}, {"in", Spm / 2}});
    for (int64_t e : {int64_t{0}, int64_t{1} << 62, int64_t{-1}}) {
      b_.store(c["par"] + 8, e, 8);
      refused(c, ErrField);
    }
  }

  void softmax() {
    Command c = d_.fitting(&Draw::row);
    Command bad = with(c, {{"fn", Softmax}, {"table", Tables - 2}});
    refused(bad, ErrRange);
    bad = with(bad, {{"table", 0}, {"kc", 32768 / N + 1}, {"k_tail", 1}});  // 2^15 + 1 elements
    if (Tables >= 3 && bad["kc"] < 4096) refused(bad, ErrField);
    if (Tables < 3) return;
    exponentials(b_, 0.1);
    d_.next = 1024;
    c = with(d_.fitting(&Draw::row), {{"fn", Softmax}, {"table", 0}});
    for (int64_t m : {int64_t{1}, (int64_t{1} << 30) - 1, int64_t{1} << 31}) {
      b_.store(c["par"] + 32, m, 4);
      refused(c, ErrField);
    }
    b_.store(c["par"] + 32, 1 << 30, 4);
    for (int s : {85, 255}) {
      b_.store(c["par"] + 39, s, 1);
      refused(c, ErrField);
    }
    b_.store(c["par"] + 39, 0, 1);
    refused(with(c, {{"kc", 1}, {"k_tail", 1}}), ErrField);  // the shift is then 0
  }

  void trn() {
    Command c = draw(&Draw::trn);
    refused_zeros(c, {"nx", "ny", "rows", "n"});
    refused(with(c, {{"out", Spm - 1}, {"rows", 2}}), ErrRange);
  }

  void tab() {
    d_.next = 0;
    Command c = d_.tab(false);
    refused(with(c, {{"count", 0}}), ErrField);
    refused(with(c, {{"in", c["in"] + 1}}), ErrField);
    refused(with(c, {{"count", Tables - c["table"] + 1}}), ErrRange);
  }

  Bench &b_;
  Draw d_;
};

#endif
