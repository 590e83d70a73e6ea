// SPDX-License-Identifier: Apache-2.0
// What docs/isa.md says that the commands of the vector engine do, written plainly: the oracle of
// vec_test.
#ifndef WICK_VEC_MODEL_H
#define WICK_VEC_MODEL_H

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "arithmetic.h"
#include "vec_commands.h"

enum { Ok = 0, ErrField = 2, ErrRange = 4 };

struct Model {
  std::vector<uint8_t> mem = std::vector<uint8_t>(Spm);
  std::vector<std::vector<uint8_t>> tables;
  std::vector<uint8_t> *touched = nullptr;  // bytes read
  int error = Ok;
  Model() : tables(Tables, std::vector<uint8_t>(256)) {}

  bool inside(int64_t addr, int64_t n) {
    if (addr >= 0 && addr + n <= Spm) return true;
    error = ErrRange;
    return false;
  }
  int byte(int64_t addr, bool u8) {
    if (!inside(addr, 1)) return 0;
    if (touched) (*touched)[addr] = 1;
    return u8 ? mem[addr] : int8_t(mem[addr]);
  }
  int64_t number(int64_t addr, int bytes) {
    int64_t v = 0;
    for (int i = 0; i < bytes; i++) v |= int64_t{byte(addr + i, true)} << 8 * i;
    return v;
  }
  void put(int64_t addr, int64_t v) {
    if (inside(addr, 1)) mem[addr] = uint8_t(v);
  }
  struct Record {
    int64_t zero, lo, hi, ma, mb, shift, za, zb, zy, lo2, hi2;
  };
  Record record(int64_t p) {
    auto i16 = [&](int at) { return int64_t{int16_t(number(p + at, 2))}; };
    auto i32 = [&](int at) { return int64_t{int32_t(number(p + at, 4))}; };
    if (p % N) error = ErrField;
    number(p, 32);  // all of it is read
    return {i16(0),  i16(2),  i16(4),  i32(8),  i32(12), number(p + 16, 1),
            i16(18), i16(20), i16(22), i16(24), i16(26)};
  }
  struct Entry {
    int64_t bias, mult, shift;
  };
  Entry entry(int64_t p, int64_t i) {
    return {number(p + 32 + 8 * i, 4), number(p + 36 + 8 * i, 3), number(p + 39 + 8 * i, 1)};
  }

  void run(const Command &c) {
    if (c.name == "MAP") map(c);
    if (c.name == "POOL") pool(c);
    if (c.name == "ROW") row(c);
    if (c.name == "TRN") trn(c);
    if (c.name == "TAB") tab(c);
  }

  void map(const Command &c) {
    int fn = int(c["fn"]);
    bool two = fn == Add || fn == Mul || fn == MapMax || fn == MapMin;
    Record r{};
    if (two || fn == Scale) r = record(c["par"]);
    if (fn == Table && c["table"] >= Tables) error = ErrRange;
    if (error) return;
    for (int64_t i2 = 0; i2 < c["n2"]; i2++)
      for (int64_t i1 = 0; i1 < c["n1"]; i1++)
        for (int64_t i0 = 0; i0 < c["n0"]; i0++) {
          int64_t at_a = c["a"] + i2 * c["a2"] + i1 * c["a1"] + i0 * c["a0"];
          int64_t at_b = c["b"] + i2 * c["b2"] + i1 * c["b1"] + i0 * c["b0"];
          int64_t at_y = c["out"] + i2 * c["y2"] + i1 * c["y1"] + i0 * c["y0"];
          int64_t y[64];
          for (int64_t i = 0; i < c["n"]; i++) {
            int64_t a = byte(at_a + i, c["a_u8"]);
            int64_t b = two ? byte(at_b + (c["splat"] ? 0 : i), c["b_u8"]) : 0;
            int64_t v = a;
            if (fn == Add || fn == Scale) {
              int64_t sum = (a - r.za) * r.ma + (fn == Add ? (b - r.zb) * r.mb : 0);
              v = clamp(shr_round(sum, r.shift) + r.zy, r.lo2, r.hi2);
            }
            if (fn == Mul)
              v = clamp(rescale((a - r.za) * (b - r.zb), r.ma, r.shift) + r.zy, r.lo2, r.hi2);
            if (fn == MapMax) v = clamp(std::max(a, b), r.lo2, r.hi2);
            if (fn == MapMin) v = clamp(std::min(a, b), r.lo2, r.hi2);
            if (fn == Table) v = tables[c["table"]][a & 255];
            y[i] = v;
          }
          for (int64_t i = 0; i < c["n"]; i++) put(at_y + i, y[i]);
          if (error) return;
        }
  }

  void pool(const Command &c) {
    int fn = int(c["fn"]);
    Record r{};
    if (fn != PoolMax) r = record(c["par"]);
    if (error) return;
    if (fn == Mean) entry(c["par"], 0);
    for (int64_t oy = 0; oy < c["ny"]; oy++)
      for (int64_t ox = 0; ox < c["nx"]; ox++) {
        int64_t acc[64], taps = 0;
        for (auto &a : acc) a = fn != PoolMax || c["u8"] ? 0 : -128;
        for (int64_t ky = 0; ky < c["ky"]; ky++)
          for (int64_t kx = 0; kx < c["kx"]; kx++) {
            int64_t y = oy * c["sy"] + ky * c["dy"] - c["pad_t"];
            int64_t x = ox * c["sx"] + kx * c["dx"] - c["pad_l"];
            if (c["h"] && (y < 0 || y >= c["h"])) continue;
            if (c["w"] && (x < 0 || x >= c["w"])) continue;
            taps++;
            int64_t at = c["in"] + oy * c["in_y"] + ox * c["in_x"] + ky * c["k_y"] + kx * c["k_x"];
            for (int64_t i = 0; i < c["n"]; i++) {
              int64_t v = byte(at + i, c["u8"]);
              acc[i] = fn == PoolMax ? std::max(acc[i], v) : acc[i] + v - r.za;
            }
          }
        Entry e{};
        if (fn == Mean) e = entry(c["par"], 0);
        if (fn == ValidMean && taps) e = entry(c["par"], taps - 1);
        for (int64_t i = 0; i < c["n"]; i++) {
          int64_t v = acc[i];
          if (fn != PoolMax)
            v = clamp((taps ? rescale(v, e.mult, e.shift) : 0) + r.zero, r.lo, r.hi);
          put(c["out"] + oy * c["out_y"] + ox * c["out_x"] + i, v);
        }
        if (error) return;
      }
  }

  void row(const Command &c) {
    int fn = int(c["fn"]);
    Record r{};
    Entry e{};
    int64_t n = (c["kc"] - 1) * N + c["k_tail"];
    if (fn == Layernorm || fn == Rmsnorm) return norm(c, n, fn == Rmsnorm);
    if (fn != RowMax) r = record(c["par"]), e = entry(c["par"], 0);
    if (error) return;
    if (fn == Softmax && n > 32768) error = ErrField;
    if (fn == Softmax && c["table"] + 3 > Tables) error = ErrRange;
    for (int64_t y = 0; y < c["ny"] && !error; y++) {
      auto at = [&](const char *base, const char *sy, const char *sc, int64_t i) {
        return c[base] + y * c[sy] + i / N * c[sc] + i % N;
      };
      int64_t sum = 0, most = -128;
      for (int64_t i = 0; i < n; i++) {
        int64_t v = byte(at("in", "in_y", "in_c", i), c["u8"]);
        most = std::max(most, v);
        sum += v - r.za;
      }
      if (fn == RowMax) put(c["out"] + y * c["out_y"], most);
      if (fn == RowMean)
        put(c["out"] + y * c["out_y"],
            clamp(rescale(int32_t(sum), e.mult, e.shift) + r.zero, r.lo, r.hi));
      if (fn != Softmax) continue;
      auto exponential = [&](int64_t i) {
        int64_t d = most - byte(at("in", "in_y", "in_c", i), c["u8"]);
        int64_t t = c["table"];
        return tables[t][d] | tables[t + 1][d] << 8 | tables[t + 2][d] << 16;
      };
      int64_t total = 0;
      for (int64_t i = 0; i < n && !error; i++) total += exponential(i);
      if (total == 0 || e.bias < 1 << 30 || e.bias >= int64_t{1} << 31) error = ErrField;
      if (error) return;
      int z = 64 - __builtin_clzll(uint64_t(total)), adj = 0;
      __int128 scaled = static_cast<__int128>(e.bias) << 33;
      int64_t q = int64_t(scaled / (static_cast<__int128>(total) << (40 - z)));
      if (z >= 7 && q != int64_t((static_cast<__int128>(e.bias) << (z - 7)) / total)) abort();
      if (q >= 1 << 24) q >>= 1, adj = 1;
      int64_t shift = e.shift + z - 7 - adj - 16;
      if (shift < 1 || shift > 62) error = ErrField;
      for (int64_t i = 0; i < n && !error; i++)
        put(at("out", "out_y", "out_c", i),
            clamp(rescale(exponential(i), q, shift) + r.zero, r.lo, r.hi));
    }
  }

  // As compiler/expr/quant.h says it, in 128 bits.
  void norm(const Command &c, int64_t n, bool rms) {
    Record r = record(c["par"]);
    if (n > 32768) error = ErrField;
    if (error) return;
    int64_t e = number(c["par"] + 8, 8), zero = rms ? r.za : 0;
    for (int64_t y = 0; y < c["ny"]; y++) {
      auto at = [&](const char *base, const char *sy, const char *sc, int64_t i) {
        return c[base] + y * c[sy] + i / N * c[sc] + i % N;
      };
      std::vector<int64_t> q;
      int64_t sum = 0, squares = 0;
      for (int64_t i = 0; i < n; i++) {
        q.push_back(byte(at("in", "in_y", "in_c", i), c["u8"]) - zero);
        sum += rms ? 0 : q.back();
        squares += q.back() * q.back();
      }
      __int128 one = 1, v = ((one * n * squares - one * sum * sum) << 16) + (one * uint64_t(e));
      if (v < 1 || v >= one << 62) error = ErrField;
      if (error) return;
      int h = 0;
      while (v << (2 * h + 2) < one << 62) h++;
      int s = 30 - h;
      __int128 w = (v << 2 * h) >> 30, u = w >> 16;
      __int128 root = u < 32768 ? (one * 20711 << 16) - u * 18768 : (one * 14645 << 16) - u * 6635;
      for (int i = 0; i < 3; i++)
        root = (root * (3 * (one << 29) - ((w * ((root * root) >> 29)) >> 32))) >> 30;
      for (int64_t i = 0; i < n; i++) {
        int64_t b = int32_t(number(c["par"] + 32 + 8 * i, 4));
        int64_t g = int32_t(number(c["par"] + 36 + 8 * i, 4));
        __int128 x = ((n * q[i] - sum) * root + (one << s) / 2) >> s;
        __int128 p = ((x * g + (r.shift ? one << (r.shift - 1) : 0)) >> r.shift) + b;
        p = std::min<__int128>(std::max<__int128>(p, INT32_MIN), INT32_MAX);
        put(at("out", "out_y", "out_c", i), clamp(shr_round(int64_t(p), 16) + r.zero, r.lo, r.hi));
      }
      if (error) return;
    }
  }

  void trn(const Command &c) {
    for (int64_t ty = 0; ty < c["ny"]; ty++)
      for (int64_t tx = 0; tx < c["nx"]; tx++) {
        int64_t in = c["in"] + ty * c["in_y"] + tx * c["in_x"];
        int64_t out = c["out"] + ty * c["out_y"] + tx * c["out_x"];
        uint8_t tile[32][32];
        for (int64_t r = 0; r < c["rows"]; r++)
          for (int64_t i = 0; i < c["n"]; i++)
            tile[r][i] = uint8_t(byte(in + r * c["in_r"] + i, true));
        for (int64_t r = 0; r < c["rows"]; r++)
          for (int64_t i = 0; i < c["n"]; i++) put(out + i * c["out_r"] + r, tile[r][i]);
        if (error) return;
      }
  }

  void tab(const Command &c) {
    if (c["in"] % N) error = ErrField;
    else if (c["table"] + c["count"] > Tables) error = ErrRange;
    for (int64_t t = 0; t < c["count"] && !error; t++)
      for (int64_t i = 0; i < 256; i++)
        tables[c["table"] + t][i] = uint8_t(byte(c["in"] + 256 * t + i, true));
  }
};

#endif
