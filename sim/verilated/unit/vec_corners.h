// SPDX-License-Identifier: Apache-2.0
// Directed commands: operands and shapes at the ends of their ranges.
#ifndef WICK_VEC_CORNERS_H
#define WICK_VEC_CORNERS_H

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "vec_draw.h"

inline void exponentials(Bench &b, double scale) {
  Command c{"TAB", {{"in", 0}, {"table", 0}, {"count", 3}}};
  for (int d = 0; d < 256; d++)
    for (int t = 0; t < 3; t++)
      b.store(256 * t + d, std::lrint(8388608 * std::exp(-scale * d)) >> 8 * t, 1);
  b.batch({c}, false);
}

// Every pair of bytes through every function of two operands, both types; every byte through the
// others.
inline void pairs_of_bytes(Bench &b) {
  Draw d{b};
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
}

// Negative multipliers of full size, sums of more than 32 bits, every shift.
inline void wide_sums(Bench &b) {
  Draw d{b};
  for (int shift = 0; shift < 63; shift++)
    for (int64_t ma : {-8388607, 8388607, -4194304, 1}) {
      d.next = 1024;
      int64_t in = d.place(N), out = d.place(N), par = d.record(0, false, false, true);
      d.noise(in, N);
      b.store(par + 8, ma, 4);
      b.store(par + 12, -ma, 4);
      b.store(par + 16, shift, 1);
      b.store(par + 20, shift, 2);  // zb, of type u8
      b.store(par + 24, -128, 2);
      b.store(par + 26, 127, 2);
      Command c{"MAP", {{"fn", Add}, {"a", in}, {"b", in + 1}, {"b0", 0}, {"out", out}, {"n0", 1},
                        {"n1", 1}, {"n2", 1}, {"n", N - 1}, {"par", par}, {"b_u8", 1}}};
      b.batch({c}, false);
      c.f["fn"] = Scale;
      b.batch({c}, false);
    }
}

// Pools whose windows are all padding, all three functions.
inline void pools_of_padding(Bench &b) {
  Draw d{b};
  for (int fn = 0; fn < 3; fn++)
    for (int u8 = 0; u8 < 2; u8++) {
      d.next = 1024;
      int64_t in = d.place(4096), out = d.place(1024), par = d.record(9, false, u8, u8);
      d.noise(in, 4096);
      Command c{"POOL", {{"fn", fn}, {"u8", u8}, {"in", in - 7 * 80 - 7 * N}, {"in_y", 80},
                         {"in_x", N}, {"k_y", 80}, {"k_x", N}, {"ny", 8}, {"nx", 8}, {"ky", 3},
                         {"kx", 3}, {"pad_t", 7}, {"pad_l", 7}, {"h", 2}, {"w", 2}, {"sy", 1},
                         {"sx", 1}, {"dy", 1}, {"dx", 1}, {"out", out},
                         {"out_y", 8 * N > 127 ? 127 : 8 * N},
                         {"out_x", N > 8 ? 1 : N}, {"n", N > 8 ? 1 : N}, {"par", par}}};
      b.batch({c}, false);
    }
}

// Softmax: constant rows, rows of one element, long rows, one row apart from its minimum.
inline void softmax_rows(Bench &b) {
  Draw d{b};
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
}

// Softmax of the longest rows, with the largest and the least exponentials: sums of 39 bits and 1.
inline void longest_rows(Bench &b) {
  Draw d{b};
  if (Tables >= 3)
    for (int kind = 0; kind < 2; kind++) {
      d.next = 1024;
      for (int i = 0; i < 768; i++) b.store(i, kind == 0 ? 255 : i == 0, 1);
      b.batch({Command{"TAB", {{"in", 0}, {"table", Tables - 3}, {"count", 3}}}}, false);
      int64_t kc = kind == 1 ? 1 : std::min(4095, 32768 / N), tail = kind == 1 ? 1 : N;
      int64_t in = d.place(N), out = d.place(N), par = d.record(1, false, true, true);
      d.noise(in, N);
      b.store(par + 32, (int64_t{1} << 31) - 1, 4);
      b.store(par + 39, kind == 1 ? 30 : 23, 1);
      Command c{"ROW", {{"fn", Softmax}, {"u8", 1}, {"in", in}, {"ny", 2}, {"kc", kc},
                        {"k_tail", tail}, {"out", out}, {"par", par}, {"table", Tables - 3}}};
      b.batch({c}, false);
    }
}

inline void corners(Bench &b) {
  exponentials(b, 0.05);
  pairs_of_bytes(b);
  wide_sums(b);
  pools_of_padding(b);
  softmax_rows(b);
  longest_rows(b);
}

// Normalisation: constant rows, one element, long rows, the largest variance, rows shorter than the
// root takes.
inline void norms(Bench &b) {
  Draw d{b};
  for (int kind = 0; kind < 6; kind++)
    for (int fn : {int(Layernorm), int(Rmsnorm)})
      for (int u8 = 0; u8 < 2; u8++) {
        d.next = 0;
        int64_t most = std::min<int64_t>(32768 / N, Spm / 16 / N);
        int64_t kc = kind == 0 ? 1 : kind == 3 ? most : pick(1, 9);
        int64_t tail = kind == 0 ? 1 : N, n = (kc - 1) * N + tail, ny = kind == 3 ? 2 : pick(1, 6);
        int64_t in = d.place(ny * kc * N), par = d.norm_record(n, u8);
        for (int64_t i = 0; i < ny * kc * N; i++)
          b.store(in + i, kind == 1   ? 17
                          : kind == 4 ? (i & 1 ? 127 : 128)
                          : kind == 5 ? 255 * (i & 1)
                                      : int64_t(rng()), 1);
        if (kind == 1) b.store(par + 8, 1, 8);
        Command c{"ROW", {{"fn", fn}, {"u8", u8}, {"in", in}, {"in_y", kc * N}, {"in_c", N},
                          {"ny", ny}, {"kc", kc}, {"k_tail", tail}, {"out", in}, {"out_y", kc * N},
                          {"out_c", N}, {"par", par}}};
        b.batch({c, c}, false);
      }
}

#endif
