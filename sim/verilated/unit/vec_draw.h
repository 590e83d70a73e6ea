// SPDX-License-Identifier: Apache-2.0
// Random commands of the vector engine, with their operands.
#ifndef WICK_VEC_DRAW_H
#define WICK_VEC_DRAW_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "vec_bench.h"

struct NoRoom {};  // the command drawn does not fit

struct Draw {
  Bench &b;
  int64_t next = 0;  // first byte that the batch has not used

  int64_t place(int64_t bytes, int64_t align = 1) {
    next += pick(0, 40);
    next = (next + align - 1) / align * align;
    int64_t at = next;
    next += bytes;
    if (next > Spm) throw NoRoom();
    return at;
  }
  void noise(int64_t at, int64_t bytes) {
    int kind = int(pick(0, 3));
    for (int64_t i = 0; i < bytes; i++) {
      int v = int(rng() & 255);
      if (kind == 1) v = v & 1 ? 0x80 : 0x7f;
      if (kind == 2) v = 100 + v % 4;
      b.store(at + i, v, 1);
    }
  }
  int64_t byte_of(bool u8) { return u8 ? pick(0, 255) : pick(-128, 127); }
  void range(int64_t at, bool u8) {  // lo, hi
    int64_t lo = u8 ? 0 : -128, hi = lo + 255;
    if (chance(30)) lo = pick(lo, hi), hi = pick(lo, hi);
    b.store(at, lo, 2);
    b.store(at + 2, hi, 2);
  }
  int64_t record(int64_t entries, bool mul, bool a_u8, bool b_u8) {
    int64_t p = place(32 + 8 * entries, N);
    bool y_u8 = chance(50);
    for (int i = 0; i < 32 + 8 * entries; i++) b.store(p + i, 0, 1);
    b.store(p, byte_of(y_u8), 2);
    range(p + 2, y_u8);
    int64_t bits = pick(1, 23), shift = std::max<int64_t>(0, bits + 8 - pick(0, 14));
    int64_t ma = pick(0, (int64_t{1} << bits) - 1), mb = pick(0, (int64_t{1} << bits) - 1);
    if (chance(30)) ma = int64_t{1} << (bits - 1), mb = ma;  // ties
    if (chance(40)) ma = -ma;
    if (chance(40)) mb = -mb;
    if (mul) {
      ma = pick(1 << 23, (1 << 24) - 1);
      if (chance(20)) ma = 1 << 23;
      shift = pick(5, 25);
      if (chance(10)) shift = pick(1, 62);
    } else if (chance(10)) {
      shift = pick(0, 62);
    }
    b.store(p + 8, ma, 4);
    b.store(p + 12, mb, 4);
    b.store(p + 16, shift, 1);
    b.store(p + 18, byte_of(a_u8), 2);
    b.store(p + 20, byte_of(b_u8), 2);
    b.store(p + 22, byte_of(y_u8), 2);
    range(p + 24, y_u8);
    for (int64_t i = 0; i < entries; i++) {
      int64_t m = pick(1 << 23, (1 << 24) - 1), s = pick(6, 24);
      if (chance(20)) m = 1 << 23;
      if (chance(10)) m = pick(0, (1 << 24) - 1), s = pick(1, 62);
      b.store(p + 32 + 8 * i, int64_t(rng()), 4);
      b.store(p + 36 + 8 * i, m, 3);
      b.store(p + 39 + 8 * i, s, 1);
    }
    return p;
  }

  Command map() {
    Command c{"MAP", {}};
    int64_t n = chance(50) ? N : pick(1, N), fn = pick(0, 6);
    int64_t n0 = pick(1, 10), n1 = pick(1, 4), n2 = pick(1, 3);
    if (chance(5)) n0 = pick(10, 60);
    c.f = {{"fn", fn}, {"n", n}, {"n0", n0}, {"n1", n1}, {"n2", n2}, {"a_u8", pick(0, 1)},
           {"b_u8", pick(0, 1)}, {"splat", chance(25)}, {"table", pick(0, Tables - 1)}};
    auto strides = [&](const char *s0, const char *s1, const char *s2, bool disjoint) {
      int64_t t0 = n + (chance(50) ? N - n : pick(0, 20));
      int64_t t1 = n0 * t0 + (chance(50) ? 0 : pick(0, 50));
      int64_t t2 = n1 * t1 + (chance(50) ? 0 : pick(0, 50));
      if (!disjoint && chance(30)) t0 = 0;
      if (!disjoint && chance(30)) t1 = chance(50) ? 0 : pick(0, 100);
      if (!disjoint && chance(30)) t2 = chance(50) ? 0 : pick(0, 100);
      c.f[s0] = t0, c.f[s1] = t1, c.f[s2] = t2;
      return (n0 - 1) * t0 + (n1 - 1) * t1 + (n2 - 1) * t2 + n;
    };
    int64_t size_b = strides("b0", "b1", "b2", false);
    c.f["b"] = place(size_b);
    noise(c["b"], size_b);
    int64_t size_y = strides("y0", "y1", "y2", true);
    c.f["out"] = place(size_y);
    if (chance(35)) {  // in place
      bool first = chance(50) || c["splat"];
      for (int i = 0; i < 3; i++) {
        std::string d = std::to_string(i);
        c.f[(first ? "a" : "b") + d] = c.f["y" + d];
      }
      c.f[first ? "a" : "b"] = c["out"];
      noise(c["out"], size_y);
    }
    if (!c.f.count("a")) {
      int64_t size_a = strides("a0", "a1", "a2", false);
      c.f["a"] = place(size_a);
      noise(c["a"], size_a);
    }
    c.f["par"] = record(0, fn == Mul, c["a_u8"], c["b_u8"]);
    return c;
  }

  Command pool() {
    Command c{"POOL", {}};
    int64_t n = chance(50) ? N : pick(1, N), fn = pick(0, 2), u8 = pick(0, 1);
    int64_t ny = pick(1, 4), nx = pick(1, 5), ky = pick(1, 4), kx = pick(1, 4);
    int64_t sy = pick(1, 3), sx = pick(1, 3), dy = pick(1, 3), dx = pick(1, 3);
    int64_t h = chance(60) ? pick(1, 9) : 0, w = chance(60) ? pick(1, 9) : 0;
    int64_t pad_t = h ? pick(0, 6) : 0, pad_l = w ? pick(0, 6) : 0;
    if (chance(5)) pad_t = h = pick(10, 63), pad_l = w = pick(10, 20);  // some windows all padding
    int64_t px = n + (chance(50) ? N - n : pick(0, 9));
    int64_t rows = h ? h : (ny - 1) * sy + (ky - 1) * dy + 1;
    int64_t columns = w ? w : (nx - 1) * sx + (kx - 1) * dx + 1;
    int64_t py = columns * px + pick(0, 30);
    int64_t at = place(rows * py);
    noise(at, rows * py);
    c.f = {{"fn", fn}, {"n", n}, {"u8", u8}, {"ny", ny}, {"nx", nx}, {"ky", ky}, {"kx", kx},
           {"sy", sy}, {"sx", sx}, {"dy", dy}, {"dx", dx}, {"h", h}, {"w", w},
           {"pad_t", pad_t}, {"pad_l", pad_l}, {"in_y", sy * py}, {"in_x", sx * px},
           {"k_y", dy * py}, {"k_x", dx * px}, {"in", at - pad_t * py - pad_l * px}};
    if (c["in"] < -(1 << 20)) fail("in");
    c.f["out_x"] = n + pick(0, 20);
    c.f["out_y"] = nx * c["out_x"] + pick(0, 20);
    c.f["out"] = place(ny * c["out_y"] + N);
    c.f["par"] = record(ky * kx, false, u8, u8);
    return c;
  }

  // Of rows of n elements: variances of all sizes, factors of g.
  int64_t norm_record(int64_t n, bool u8) {
    int64_t p = record(n, false, u8, u8);
    int64_t e = chance(20) ? 1 : int64_t(rng() >> pick(3, 63)) | 1;
    if (e + ((n * n * 255 * 255) << 16) >= int64_t{1} << 62) e = 1;
    int64_t shift = chance(90) ? pick(19, 45) : pick(0, 62), most = 1 << pick(8, 24);
    b.store(p + 8, e, 8);
    b.store(p + 16, shift, 1);
    int kind = int(pick(0, 3));
    for (int64_t i = 0; i < n; i++) {
      int64_t g = kind == 0 ? most - 1 : pick(1 - most, most - 1);
      if (kind == 1 && chance(10)) g = 0;
      int64_t bias = chance(3) ? int64_t(int32_t(rng())) : pick(-4 << 16, 4 << 16);
      b.store(p + 32 + 8 * i, bias, 4);
      b.store(p + 36 + 8 * i, g, 4);
    }
    return p;
  }

  Command row() {
    Command c{"ROW", {}};
    int64_t fn = chance(40) ? Softmax : chance(60) ? (chance(50) ? Layernorm : Rmsnorm)
                 : chance(50) ? RowMean : RowMax, u8 = pick(0, 1);
    if (Tables < 3 && fn == Softmax) fn = RowMean;
    int64_t ny = pick(1, 9), kc = chance(20) ? pick(10, 30) : pick(1, 6);
    int64_t tail = chance(40) ? N : pick(1, N), n_y, n_c;
    c.f = {{"fn", fn}, {"u8", u8}, {"ny", ny}, {"kc", kc}, {"k_tail", tail},
           {"table", pick(0, std::max(0, Tables - 3))}};
    auto strides = [&](const char *y, const char *s, bool disjoint) {
      n_c = N + (chance(50) ? 0 : pick(0, 20));
      n_y = (kc - 1) * n_c + tail + pick(0, 30);
      if (!disjoint && chance(15)) n_y = chance(50) ? 0 : pick(0, 100);
      if (!disjoint && chance(15)) n_c = chance(50) ? 0 : pick(0, 100);
      c.f[y] = n_y, c.f[s] = n_c;
      return (ny - 1) * n_y + (kc - 1) * n_c + N;
    };
    bool in_place = chance(35);
    int64_t size = strides("in_y", "in_c", in_place);
    c.f["in"] = place(size);
    noise(c["in"], size);
    if (in_place) {
      c.f["out"] = c["in"], c.f["out_y"] = c["in_y"], c.f["out_c"] = c["in_c"];
    } else {
      size = strides("out_y", "out_c", true);
      c.f["out"] = place(size);
    }
    if (fn == Layernorm || fn == Rmsnorm) {
      c.f["par"] = norm_record((kc - 1) * N + tail, u8);
      return c;
    }
    c.f["par"] = record(1, false, u8, u8);
    if (fn == Softmax) {
      int64_t p = c["par"] + 32;
      b.store(p, pick(1 << 30, (int64_t{1} << 31) - 1), 4);
      if (chance(30)) b.store(p, 1 << 30, 4);
      b.store(p + 7, chance(70) ? pick(21, 24) : pick(16, 44), 1);
    }
    return c;
  }

  Command trn() {
    Command c{"TRN", {}};
    int64_t rows = chance(40) ? N : pick(1, N), n = chance(40) ? N : pick(1, N);
    int64_t nx = pick(1, 3), ny = pick(1, 3);
    auto strides = [&](const char *r, const char *x, const char *y, int64_t lines, int64_t bytes) {
      c.f[r] = bytes + pick(0, 20);
      c.f[x] = lines * c[r] + pick(0, 20);
      c.f[y] = nx * c[x] + pick(0, 20);
      return ny * c[y];
    };
    c.f = {{"rows", rows}, {"n", n}, {"nx", nx}, {"ny", ny}};
    int64_t size = strides("in_r", "in_x", "in_y", rows, n);
    c.f["in"] = place(size);
    noise(c["in"], size);
    if (rows == n && chance(40)) {  // in place
      c.f["out"] = c["in"];
      for (std::string s : {"_r", "_x", "_y"}) c.f["out" + s] = c[("in" + s).c_str()];
    } else {
      size = strides("out_r", "out_x", "out_y", n, rows);
      c.f["out"] = place(size);
    }
    return c;
  }

  Command tab(bool exponentials) {
    Command c{"TAB", {}};
    int64_t count = exponentials ? 3 : pick(1, std::min(3, Tables));
    c.f = {{"table", pick(0, Tables - count)}, {"count", count}};
    c.f["in"] = place(256 * count, N);
    double scale = std::exp(double(pick(-60, 5)) / 10);
    for (int64_t d = 0; d < 256; d++) {
      int64_t e = exponentials ? int64_t(std::lrint(8388608 * std::exp(-scale * double(d))))
                               : int64_t(rng() & 0xffffff) | (d ? 0 : 1 << 23);
      for (int64_t t = 0; t < count; t++) b.store(c["in"] + 256 * t + d, e >> 8 * t, 1);
    }
    return c;
  }

  Command fitting(Command (Draw::*draw)()) {
    for (int64_t before = next;; next = before) {
      try {
        return (this->*draw)();
      } catch (NoRoom) {
      }
    }
  }
  Command any() { return fitting(&Draw::one); }
  Command one() {
    int kind = int(pick(0, 99));
    if (kind < 35) return map();
    if (kind < 60) return pool();
    if (kind < 82) return row();
    if (kind < 94) return trn();
    return tab(Tables >= 3 && chance(70));
  }
};

#endif
