// SPDX-License-Identifier: Apache-2.0
// Random commands of the execute engine, and the memory that they work on.
#ifndef WICK_EXEC_DRAW_H
#define WICK_EXEC_DRAW_H

#include <algorithm>
#include <set>

#include "exec_machine.h"

const uint32_t Records =
    SPM - SPM / 4; // parameter records lie from here on, nothing is written there
inline uint32_t next_record;

inline void put(std::vector<uint8_t> &m, uint32_t a, int64_t v, int bytes) {
  for (int i = 0; i < bytes; i++) m[a + (uint32_t)i] = (uint8_t)((uint64_t)v >> (8 * i));
}

inline uint32_t make_record(std::vector<uint8_t> &m, int scale) {
  uint32_t a = next_record;
  next_record += 32 + 8 * N;
  if (next_record > SPM) {
    a = Records;
    next_record = a + 32 + 8 * N;
  }
  bool u8 = chance(50);
  bool narrow = chance(20);
  int lo = u8 ? 0 : -128, hi = lo + 255;
  if (narrow) {
    int x = (int)draw(lo, hi), y = (int)draw(lo, hi);
    lo = std::min(x, y);
    hi = std::max(x, y);
  }
  put(m, a, draw(u8 ? 0 : -128, u8 ? 255 : 127), 2);
  put(m, a + 2, chance(5) ? -32768 : lo, 2);
  put(m, a + 4, chance(5) ? 32767 : hi, 2);
  put(m, a + 6, 0, 2);
  int shift = chance(10) ? (int)draw(0, 62) : (int)draw(14, 24);
  int64_t range = chance(20) ? 8388607 : 1 << 21;
  put(m, a + 8, draw(-range, range), 4);
  put(m, a + 12, draw(-range, range), 4);
  put(m, a + 16, shift, 1);
  put(m, a + 17, draw(0, 1), 1);
  put(m, a + 18, draw(-128, 255), 2);
  put(m, a + 20, draw(-128, 255), 2);
  put(m, a + 22, draw(-128, 255), 2);
  put(m, a + 24, draw(-128, 0), 2);
  put(m, a + 26, draw(1, 255), 2);
  put(m, a + 28, 0, 4);
  for (int c = 0; c < N; c++) {
    uint32_t e = a + 32 + 8 * (uint32_t)c;
    put(m, e, chance(10) ? (int64_t)(int32_t)rng() : draw(-20000, 20000), 4);
    put(m, e + 4, chance(10) ? draw(0, (1 << 24) - 1) : draw(1 << 23, (1 << 24) - 1), 3);
    // |sum| is about 2^scale: results of some tens
    int s = chance(10) ? (int)draw(1, 62)
                       : std::min(62, std::max(1, 24 + scale - 6 - 16 + (int)draw(-2, 2)));
    if (chance(5)) { // exact ties
      put(m, e + 4, 1 << 23, 3);
      s = 8;
    }
    put(m, e + 7, s, 1);
  }
  return a;
}

struct Shape { // wanted of a random command
  int op = 0;
  bool quick = true;
};

inline int64_t stride(int64_t unit, int64_t max) {
  switch (draw(0, 4)) {
    case 0: return std::min(unit, max);
    case 1: return std::min<int64_t>(2 * unit, max);
    case 2: return std::min<int64_t>(draw(0, unit), max);
    default: return std::min<int64_t>(draw(0, 4 * unit), max);
  }
}

// The address that puts a set of offsets somewhere into [from, to); false when it does not fit.
inline bool place(int64_t lo, int64_t hi, int64_t from, int64_t to, int align, int64_t *base) {
  if (hi - lo + 1 > to - from - 2 * align) return false;
  *base = draw(from - lo, to - 1 - hi);
  if (align > 1) *base = (*base + align - 1) / align * align;
  return *base + lo >= from && *base + hi < to;
}

inline void draw_epilogue(Command &c, std::vector<uint8_t> &m, int64_t ny, int64_t nx, bool has_x,
                          int terms) {
  int64_t entries = ny * nx;
  int64_t half = ACC / 2, first = ACC > 4096 ? 4096 : ACC;
  int64_t acc = chance(40) ? 0 : chance(50) ? half : draw(0, first - entries);
  if (acc + entries > ACC || acc > 4095) acc = 0;
  c.set("acc", acc);
  c.set("accumulate", chance(30));
  c.set("drain", chance(70));
  c.set("residual", chance(40));
  int64_t n = chance(60) ? N : draw(1, N);
  c.set("n", n);
  int64_t out_x = has_x ? chance(50) ? N : n + draw(0, 9) : 0;
  int64_t out_y = (has_x ? nx * out_x : n) + (chance(50) ? 0 : draw(0, 40));
  if (has_x) c.set("out_x", out_x);
  c.set("out_y", out_y);
  int64_t last = (ny - 1) * out_y + (nx - 1) * out_x + n - 1, out = 0, res = 0;
  if (c.get("drain")) {
    if (!place(0, last, 0, Records, 1, &out)) c.bad = true;
    res = out;
    if (chance(70) && !place(0, last, 0, Records, 1, &res)) c.bad = true;
  }
  c.set("out", out);
  c.set("res", res);
  int bits = 14;
  while (terms > 1) {
    bits++;
    terms /= 4;
  }
  c.set("par", make_record(m, bits));
}

inline bool draw_command(Command &c, int op, std::vector<uint8_t> &m, bool quick) {
  c = Command(op);
  if (op == OP_MARK) {
    c.set("row", draw(0, 65535));
    return true;
  }
  int64_t in_lo = INT32_MAX, in_hi = INT32_MIN, base = 0, most = quick ? 6 : 14;
  c.set("zero", chance(50) ? 0 : draw(0, 255));
  c.set("u8", chance(40));
  if (op == OP_MM) {
    int64_t ny = chance(20) ? 1 : draw(1, 3 * most), kc = draw(1, 3),
            tail = chance(50) ? N : draw(1, N);
    bool t = chance(50);
    c.set("ny", ny);
    c.set("kc", kc);
    c.set("k_tail", tail);
    draw_epilogue(c, m, ny, 1, false, (int)kc * N);
    int64_t n = c.get("n");
    int64_t in_y = stride(N * kc, 4095), k_c = stride(N, 4095);
    c.set("in_y", in_y);
    c.set("k_c", k_c);
    int64_t hi = (ny - 1) * in_y + (kc - 1) * k_c + N - 1;
    if (!place(0, hi, 0, SPM, 1, &base)) return false;
    c.set("in", base);
    int64_t w_r = stride(N, 4095), w_c = stride(N * N, 4095);
    c.set("w_r", w_r);
    c.set("w_c", w_c);
    hi = (kc - 1) * w_c + N * w_r + std::max<int64_t>(n, N);
    if (!place(0, hi, 0, SPM, 1, &base)) return false;
    c.set("wt", base);
    c.set("transposed", t);
    c.set("w_zero", chance(50) ? 0 : draw(0, 255));
    c.set("w_u8", chance(50));
    return !c.bad;
  }
  int64_t ny = draw(1, most), nx = draw(1, most), ky = draw(1, 4),
          kx = draw(1, op == OP_DWC ? 7 : 4);
  int64_t sy = draw(1, 3), sx = draw(1, 3), dy = draw(1, 3), dx = draw(1, 3), kc = 1, tail = N;
  bool three = op == OP_DWC && chance(70);
  if (three) {
    sx = draw(1, 2);
    dx = 1;
  }
  if (op == OP_CONV) {
    kc = draw(1, 3);
    tail = chance(50) ? N : draw(1, N);
    c.set("kc", kc);
    c.set("k_tail", tail);
  } else {
    c.set("taps", three ? 0 : 1);
  }
  draw_epilogue(c, m, ny, nx, true, (int)(ky * kx * (op == OP_DWC ? 1 : kc * N)));
  int64_t k_x = three ? N : stride(N, 4095), in_x = three ? sx * N : stride(sx * N, 4095);
  int64_t k_y = stride(N * (nx + 2), 4095), in_y = stride(sy * N * (nx + 2), 4095);
  int64_t k_c = op == OP_CONV ? stride(N, 4095) : 0;
  int64_t h = chance(30) ? 0 : draw(1, (ny - 1) * sy + 1 + (ky - 1) * dy);
  int64_t w = chance(30) ? 0 : draw(1, (nx - 1) * sx + 1 + (kx - 1) * dx);
  int64_t pad_t = draw(0, 3), pad_l = draw(0, 3);
  int64_t n = c.get("n"), bytes = op == OP_DWC ? n : N;
  for (int64_t y = 0; y < ny; y++)
    for (int64_t x = 0; x < nx; x++)
      for (int64_t i = 0; i < ky; i++)
        for (int64_t j = 0; j < kx; j++) {
          int64_t iy = y * sy + i * dy - pad_t, ix = x * sx + j * dx - pad_l;
          if ((h && (iy < 0 || iy >= h)) || (w && (ix < 0 || ix >= w))) continue;
          int64_t a = y * in_y + x * in_x + i * k_y + j * k_x;
          in_lo = std::min(in_lo, a);
          in_hi = std::max(in_hi, a + (kc - 1) * k_c + bytes - 1);
        }
  if (in_lo > in_hi) base = draw(-1000, 1000);
  else if (!place(in_lo, in_hi, 0, SPM, 1, &base)) return false;
  if (base < -(1 << 20) || base >= 1 << 20) return false;
  c.set("in", base);
  c.set("in_y", in_y);
  c.set("in_x", in_x);
  c.set("k_y", k_y);
  c.set("k_x", k_x);
  if (op == OP_CONV) c.set("k_c", k_c);
  c.set("ny", ny);
  c.set("nx", nx);
  c.set("ky", ky);
  c.set("kx", kx);
  c.set("pad_t", pad_t);
  c.set("pad_l", pad_l);
  c.set("h", h);
  c.set("w", w);
  c.set("sy", sy);
  c.set("sx", sx);
  c.set("dy", dy);
  c.set("dx", dx);
  int64_t taps = three ? 3 : 1;
  int64_t weights = op == OP_CONV ? kc * ky * kx * N * N : ky * ((kx + taps - 1) / taps) * taps * N;
  if (!place(0, weights - 1, 0, SPM, N, &base)) return false;
  c.set("wt", base);
  return !c.bad;
}

inline bool conflict_free(Command &c, const std::vector<uint8_t> &memory) {
  Model model(memory);
  Command copy = c;
  model.run(copy);
  std::set<uint32_t> written(copy.writes.begin(), copy.writes.end());
  for (uint32_t a : copy.inputs)
    if (written.count(a)) return false;
  if (c.get("residual") && c.get("res") != c.get("out"))
    for (uint32_t a : copy.residuals)
      if (written.count(a)) return false;
  return true;
}

inline std::vector<uint8_t> draw_memory() {
  std::vector<uint8_t> m(SPM);
  for (auto &b : m) b = (uint8_t)rng();
  next_record = Records;
  return m;
}

inline Command draw_legal(int op, std::vector<uint8_t> &m, bool quick) {
  for (;;) {
    Command c;
    std::vector<uint8_t> copy = m;
    uint32_t record = next_record;
    if (draw_command(c, op, copy, quick) && (op == OP_MARK || conflict_free(c, copy))) {
      m = copy;
      return c;
    }
    next_record = record;
  }
}

inline int draw_op(int marks) {
  if (chance(marks)) return OP_MARK;
  int x = (int)draw(0, 2);
  return x == 0 ? OP_CONV : x == 1 ? OP_DWC : OP_MM;
}

// A command with some fields given.
inline Command conv(std::initializer_list<std::pair<const char *, int64_t>> fields,
                    int op = OP_CONV) {
  Command c(op);
  c.set("par", Records);
  for (auto &f : fields) c.set(f.first, f.second);
  return c;
}

#endif
