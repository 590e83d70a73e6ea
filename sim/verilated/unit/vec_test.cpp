// SPDX-License-Identifier: Apache-2.0
// The vector engine against a plain model of docs/isa.md: random commands in random batches, with
// and without a scratchpad that denies grants, and directed corners. Every batch compares all of the
// scratchpad; every read must lie in the command's footprint and every byte of it must be read;
// every command that was never denied must last exactly as long as its formula says.
//
//   vec_test [COMMANDS [SEED [RESET]]]   `run` builds it; RESET 0, 1, 2: registers without
//                                        reset start as 0, 1, random
#if VM_COVERAGE
#include "verilated_cov.h"
#endif

#include "vec_draw.h"

namespace {

// ---- directed ------------------------------------------------------------------------------------

void exponentials(Bench &b, double scale) {
  Command c{"TAB", {{"in", 0}, {"table", 0}, {"count", 3}}};
  for (int d = 0; d < 256; d++)
    for (int t = 0; t < 3; t++)
      b.store(256 * t + d, std::lrint(8388608 * std::exp(-scale * d)) >> 8 * t, 1);
  b.batch({c}, false);
}

void corners(Bench &b) {
  Draw d{b};
  exponentials(b, 0.05);
  // Every pair of bytes through every function of two operands, both types; every byte through the
  // others.
  for (int fn = 0; fn < 7; fn++)
    for (int types = 0; types < 4; types++) {
      d.next = 1024;
      bool two = fn == Add || fn == Mul || fn == MapMax || fn == MapMin;
      int64_t lines = two ? 64 : 1;
      for (int pass = 0; pass < (two ? 4 : 1); pass++) {
        d.next = 1024;
        int64_t a = d.place(256), v = d.place(64), out = d.place(256 * lines);
        for (int i = 0; i < 256; i++) b.store(a + i, i, 1);
        for (int i = 0; i < 64; i++) b.store(v + i, 64 * pass + i, 1);
        int64_t par = d.record(0, fn == Mul, types & 1, types >> 1);
        Command c{"MAP", {{"fn", fn}, {"a", a}, {"a0", N}, {"b", v}, {"b1", 1}, {"splat", 1},
                          {"out", out}, {"y0", N}, {"y1", 256}, {"n0", 256 / N}, {"n1", lines},
                          {"n2", 1}, {"n", N}, {"par", par}, {"a_u8", types & 1},
                          {"b_u8", types >> 1}, {"table", 1}}};
        b.batch({c}, false);
      }
    }
  // Negative multipliers of full size, sums that wrap, every shift.
  for (int shift = 0; shift < 63; shift++)
    for (int64_t ma : {-8388607, 8388607, -4194304, 1}) {
      d.next = 1024;
      int64_t in = d.place(N), out = d.place(N), par = d.record(0, false, false, false);
      d.noise(in, N);
      b.store(par + 8, ma, 4);
      b.store(par + 12, -ma, 4);
      b.store(par + 16, shift, 1);
      b.store(par + 24, -128, 2);
      b.store(par + 26, 127, 2);
      Command c{"MAP", {{"fn", Add}, {"a", in}, {"b", in + 1}, {"b0", 0}, {"out", out}, {"n0", 1},
                        {"n1", 1}, {"n2", 1}, {"n", N - 1}, {"par", par}, {"b_u8", 1}}};
      b.batch({c}, false);
      c.f["fn"] = Scale;
      b.batch({c}, false);
    }
  // Pools whose windows are all padding, all three functions.
  for (int fn = 0; fn < 3; fn++)
    for (int u8 = 0; u8 < 2; u8++) {
      d.next = 1024;
      int64_t in = d.place(4096), out = d.place(1024), par = d.record(9, false, u8, u8);
      d.noise(in, 4096);
      Command c{"POOL", {{"fn", fn}, {"u8", u8}, {"in", in - 7 * 80 - 7 * N}, {"in_y", 80},
                         {"in_x", N}, {"k_y", 80}, {"k_x", N}, {"ny", 8}, {"nx", 8}, {"ky", 3},
                         {"kx", 3}, {"pad_t", 7}, {"pad_l", 7}, {"h", 2}, {"w", 2}, {"sy", 1},
                         {"sx", 1}, {"dy", 1}, {"dx", 1}, {"out", out}, {"out_y", 8 * N > 127 ? 127 : 8 * N},
                         {"out_x", N > 8 ? 1 : N}, {"n", N > 8 ? 1 : N}, {"par", par}}};
      b.batch({c}, false);
    }
  // Softmax: constant rows, rows of one element, long rows, one row apart from its minimum.
  if (Tables >= 3)
    for (int kind = 0; kind < 4; kind++)
      for (int u8 = 0; u8 < 2; u8++) {
        exponentials(b, kind == 3 ? 3.0 : 0.05);
        d.next = 1024;
        int64_t kc = kind == 2 ? 200 : kind == 1 ? 1 : 5, tail = kind == 1 ? 1 : N - 1;
        int64_t in = d.place(3 * kc * N), par = d.record(1, false, u8, u8);
        if (kind == 0 || kind == 1)
          for (int64_t i = 0; i < 3 * kc * N; i++) b.store(in + i, 17 + i / (kc * N) * 111, 1);
        else
          d.noise(in, 3 * kc * N);
        b.store(par + 32, 1 << 30, 4);
        b.store(par + 39, 22, 1);
        b.store(par, -128, 2);
        b.store(par + 2, -128, 2);
        b.store(par + 4, 127, 2);
        Command c{"ROW", {{"fn", Softmax}, {"u8", u8}, {"in", in}, {"in_y", kc * N}, {"in_c", N},
                          {"ny", 3}, {"kc", kc}, {"k_tail", tail}, {"out", in}, {"out_y", kc * N},
                          {"out_c", N}, {"par", par}, {"table", 0}}};
        b.batch({c}, false);
      }
  // Softmax of the longest rows, with the largest and the least exponentials: sums of 40 bits and 1.
  if (Tables >= 3)
    for (int kind = 0; kind < 2; kind++) {
      d.next = 1024;
      for (int i = 0; i < 768; i++) b.store(i, kind == 0 ? 255 : i == 0, 1);
      b.batch({Command{"TAB", {{"in", 0}, {"table", Tables - 3}, {"count", 3}}}}, false);
      int64_t kc = kind == 1 ? 1 : std::min(4095, 65536 / N), tail = kind == 1 ? 1 : N - 1;
      int64_t in = d.place(N), out = d.place(N), par = d.record(1, false, true, true);
      d.noise(in, N);
      b.store(par + 32, (int64_t{1} << 31) - 1, 4);
      b.store(par + 39, kind == 1 ? 30 : 23, 1);
      b.batch({Command{"ROW", {{"fn", Softmax}, {"u8", 1}, {"in", in}, {"ny", 2}, {"kc", kc},
                               {"k_tail", tail}, {"out", out}, {"par", par}, {"table", Tables - 3}}}},
              false);
    }
}

void errors(Bench &b) {
  auto refused = [&](Command c, int code) {
    uint32_t words[16];
    c.encode(words);
    b.dut.cmd_valid_i = 1;
    memcpy(&b.dut.cmd_i[0], words, 64);
    b.dut.cmd_index_i = 0xabcde;
    for (int i = 0; i < 100000; i++) {
      memcpy(&b.dut.rdata_i, b.rdata, N);
      b.dut.gnt_i = 1;
      b.dut.eval();
      if (b.dut.cmd_valid_i && b.dut.cmd_ready_o) {
        b.clock();
        b.dut.cmd_valid_i = 0;
        continue;
      }
      if (b.dut.done_o) fail("is not refused", &c);
      if (b.dut.error_o) {
        if (b.dut.error_code_o != code || b.dut.error_index_o != 0xabcde) fail("wrong error", &c);
        b.stop();
        Draw after{b, Spm / 2};
        b.batch({after.fitting(&Draw::map)}, false);
        return;
      }
      for (int k = 0; k < N && b.dut.req_o; k++)
        if (b.dut.be_o >> k & 1) {
          if (int64_t{b.dut.addr_o} + k >= Spm) fail("beyond the scratchpad", &c);
          if (b.dut.we_o) b.mem[b.dut.addr_o + k] = reinterpret_cast<uint8_t *>(&b.dut.wdata_o)[k];
          else b.rdata[k] = b.mem[b.dut.addr_o + k];
        }
      b.clock();
    }
    fail("no error", &c);
  };
  Draw d{b};
  for (int i = 0; i < 60; i++) {
    d.next = 0;
    Command c = d.fitting(&Draw::map);
    for (const char *f : {"n", "n0", "n1", "n2"}) {
      Command bad = c;
      bad.f[f] = 0;
      refused(bad, ErrField);
    }
    Command bad = c;
    bad.f["n"] = N + 1;
    refused(bad, ErrField);
    bad = c;
    bad.f["fn"] = 7;
    refused(bad, ErrField);
    bad = c;
    bad.f["fn"] = Add;
    bad.f["par"]++;
    refused(bad, ErrField);
    bad = c;
    bad.f["fn"] = Table;
    bad.f["table"] = Tables;
    if (Tables < 16) refused(bad, ErrRange);
    bad = c;
    bad.f["out"] = Spm - c["n"] + 1;
    if (bad["out"] < 1 << 20) refused(bad, ErrRange);
    bad = c;
    bad.f["a"] = Spm - c["n"] - pick(0, 3);
    bad.f["n0"] = 30, bad.f["a0"] = pick(1, 40);
    refused(bad, ErrRange);
    d.next = 0;
    c = d.fitting(&Draw::pool);
    for (const char *f : {"n", "ny", "nx", "ky", "kx", "sy", "sx", "dy", "dx"}) {
      bad = c;
      bad.f[f] = 0;
      refused(bad, ErrField);
    }
    bad = c;
    bad.f["fn"] = 3;
    refused(bad, ErrField);
    bad = c;
    bad.f["in"] = -1 - pick(0, 1000), bad.f["h"] = 0, bad.f["w"] = 0;
    refused(bad, ErrRange);
    bad.f["in"] = Spm - 1, bad.f["n"] = 2;
    if (Spm < 1 << 20) refused(bad, ErrRange);
    bad = c;
    bad.f["ny"] = 511, bad.f["in_y"] = (1 << 20) - 1, bad.f["out_y"] = 0;
    bad.f["in"] = bad.f["h"] = bad.f["w"] = 0;
    refused(bad, ErrRange);
    d.next = 0;
    c = d.fitting(&Draw::row);
    for (const char *f : {"ny", "kc", "k_tail"}) {
      bad = c;
      bad.f[f] = 0;
      refused(bad, ErrField);
    }
    bad = c;
    bad.f["fn"] = Layernorm;
    refused(bad, ErrField);
    bad = c;
    bad.f["fn"] = Softmax, bad.f["table"] = Tables - 2;
    refused(bad, ErrRange);
    bad.f["kc"] = 2048, bad.f["k_tail"] = N;
    if (N == 32) refused(bad, ErrField);  // 65536 elements
    if (Tables >= 3) {
      exponentials(b, 0.1);
      d.next = 1024;
      c = d.fitting(&Draw::row);
      c.f["fn"] = Softmax, c.f["table"] = 0;
      for (int64_t m : {int64_t{1}, (int64_t{1} << 30) - 1, int64_t{1} << 31}) {
        b.store(c["par"] + 32, m, 4);
        refused(c, ErrField);
      }
      b.store(c["par"] + 32, 1 << 30, 4);
      for (int s : {85, 255}) {
        b.store(c["par"] + 39, s, 1);
        refused(c, ErrField);
      }
      b.store(c["par"] + 39, 0, 1);
      c.f["kc"] = c.f["k_tail"] = 1;  // the shift is then 0
      refused(c, ErrField);
    }
    d.next = 0;
    c = d.fitting(&Draw::trn);
    for (const char *f : {"nx", "ny", "rows", "n"}) {
      bad = c;
      bad.f[f] = 0;
      refused(bad, ErrField);
    }
    bad = c;
    bad.f["out"] = Spm - 1, bad.f["rows"] = 2;
    refused(bad, ErrRange);
    d.next = 0;
    c = d.tab(false);
    bad = c;
    bad.f["count"] = 0;
    refused(bad, ErrField);
    bad = c;
    bad.f["in"] += 1;
    refused(bad, ErrField);
    bad = c;
    bad.f["count"] = Tables - c["table"] + 1;
    refused(bad, ErrRange);
  }
}

}  // namespace

int main(int argc, char **argv) {
  int64_t count = argc > 1 ? atoll(argv[1]) : 2000;
  rng.seed(argc > 2 ? uint64_t(atoll(argv[2])) : 1);
  Verilated::randReset(argc > 3 ? atoi(argv[3]) : 2);
  auto bench = std::make_unique<Bench>();
  Bench &b = *bench;
  for (auto &v : b.mem) v = uint8_t(rng());
  b.model.mem = b.mem;
  b.reset();
  // All tables are written once, so that no test depends on what they held before.
  for (int t = 0; t < Tables; t++)
    b.batch({Command{"TAB", {{"in", 256 * t}, {"table", t}, {"count", 1}}}}, false);
  corners(b);
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
      kinds[cmds.back().name + (cmds.back().f.count("fn") ? std::to_string(cmds.back()["fn"]) : "")]++;
    }
    b.batch(cmds, chance(50));
    random += int64_t(cmds.size());
  }
  b.deny = 0;
  int64_t before = b.commands;
  errors(b);
  printf("vec_test N=%d: %lld directed and %lld random commands, %lld after errors, %lld cycles, %lld denied\n",
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
