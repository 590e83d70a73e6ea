// SPDX-License-Identifier: Apache-2.0
// Commands of the vector engine, a plain model of docs/isa.md, and the formulas of durations.
#ifndef WICK_VEC_MODEL_H
#define WICK_VEC_MODEL_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

constexpr int N = VEC_N;
constexpr int Tables = VEC_TABLES;
constexpr int64_t Spm = VEC_SPM;

// ---- commands ------------------------------------------------------------------------------------

struct Place {
  int lsb, bits;
};

// "MAP.a0" -> where it lies; "" + name: the header. Opcodes as "MAP".
inline std::map<std::string, Place> layout() {
  std::map<std::string, Place> all;
  std::map<std::string, int> at;
  int header = 0;
  auto field = [&](const std::string &c, const std::string &f, int bits) {
    int &lsb = at.count(c) ? at[c] : (at[c] = header);
    all[c + "." + f] = {lsb, bits};
    lsb += bits;
  };
#define QUEUE(name, number, doc)
#define HEADER(name, bits, doc) all[#name] = {header, bits}, header += bits;
#define COMMAND(NAME, opcode, queues, doc) all[#NAME] = {opcode, 0};
#define FIELD(NAME, name, bits, kind, def, doc) field(#NAME, #name, bits);
#define CHOICE(kind, name, value, doc)
#define COST(name, cycles, doc)
#include "targets/accel/isa.def"
#undef QUEUE
#undef HEADER
#undef COMMAND
#undef FIELD
#undef CHOICE
#undef COST
  return all;
}
const std::map<std::string, Place> Layout = layout();

enum { Move, Add, Mul, MapMax, MapMin, Table, Scale };
enum { PoolMax, Mean, ValidMean };
enum { Softmax, Layernorm, RowMean, RowMax };

struct Command {
  std::string name;
  std::map<std::string, int64_t> f;
  int64_t operator[](const char *field) const {
    auto it = f.find(field);
    return it == f.end() ? 0 : it->second;
  }
  void encode(uint32_t words[16]) const {
    memset(words, 0, 64);
    auto put = [&](Place p, int64_t v) {
      for (int i = 0; i < p.bits; i++)
        if (v >> i & 1) words[(p.lsb + i) / 32] |= 1u << (p.lsb + i) % 32;
    };
    put({0, 5}, Layout.at(name).lsb);
    for (auto &[k, v] : f) put(Layout.at(name + "." + k), v);
  }
};

// ---- the model -----------------------------------------------------------------------------------

inline int64_t saturate(int64_t v, int64_t lo, int64_t hi) { return std::min(std::max(v, lo), hi); }

inline int64_t shr_round(int64_t v, int s) {
  if (s == 0) return v;
  int64_t down = v >> s, rest = v - (down << s), half = int64_t{1} << (s - 1);
  return down + (rest > half || (rest == half && (down & 1)));
}

inline int64_t rescale(int64_t a, int64_t m, int s) {
  int64_t p = saturate((a * m + (s ? int64_t{1} << (s - 1) : 0)) >> s, INT32_MIN, INT32_MAX);
  return shr_round(p, 16);
}

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
              v = saturate(shr_round(int32_t(sum), int(r.shift)) + r.zy, r.lo2, r.hi2);
            }
            if (fn == Mul)
              v = saturate(rescale((a - r.za) * (b - r.zb), r.ma, int(r.shift)) + r.zy, r.lo2, r.hi2);
            if (fn == MapMax) v = saturate(std::max(a, b), r.lo2, r.hi2);
            if (fn == MapMin) v = saturate(std::min(a, b), r.lo2, r.hi2);
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
            v = saturate((taps ? rescale(v, e.mult, int(e.shift)) : 0) + r.zero, r.lo, r.hi);
          put(c["out"] + oy * c["out_y"] + ox * c["out_x"] + i, v);
        }
        if (error) return;
      }
  }

  void row(const Command &c) {
    int fn = int(c["fn"]);
    Record r{};
    Entry e{};
    if (fn != RowMax) r = record(c["par"]), e = entry(c["par"], 0);
    if (error) return;
    int64_t n = (c["kc"] - 1) * N + c["k_tail"];
    if (fn == Softmax && n >= 65536) error = ErrField;
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
            saturate(rescale(int32_t(sum), e.mult, int(e.shift)) + r.zero, r.lo, r.hi));
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
            saturate(rescale(exponential(i), q, int(shift)) + r.zero, r.lo, r.hi));
    }
  }

  void trn(const Command &c) {
    for (int64_t ty = 0; ty < c["ny"]; ty++)
      for (int64_t tx = 0; tx < c["nx"]; tx++) {
        int64_t in = c["in"] + ty * c["in_y"] + tx * c["in_x"];
        int64_t out = c["out"] + ty * c["out_y"] + tx * c["out_x"];
        uint8_t tile[32][32];
        for (int64_t r = 0; r < c["rows"]; r++)
          for (int64_t i = 0; i < c["n"]; i++) tile[r][i] = uint8_t(byte(in + r * c["in_r"] + i, true));
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

// ---- durations (see wick_vec.sv) -----------------------------------------------------------------

constexpr int Start = 1, Latency = 6, Divide = 19;

inline int64_t duration(const Command &c) {
  int64_t record = std::max(1, 32 / N), log_n = 31 - __builtin_clz(N);
  int64_t slots = 0, results = Latency, fn = c["fn"];
  if (c.name == "MAP") {
    bool two = fn == Add || fn == Mul || fn == MapMax || fn == MapMin;
    int64_t b = !two ? 0 : c["b0"] ? c["n0"] : 1;
    results = c["n2"] * c["n1"] * c["n0"];
    slots = (two || fn == Scale ? record : 0) + c["n2"] * c["n1"] * (2 * c["n0"] + b);
  }
  if (c.name == "POOL") {
    results = c["ny"] * c["nx"];
    slots = (fn == PoolMax ? 0 : fn == Mean ? record + 1 : record) +
            results * (c["ky"] * c["kx"] + (fn == ValidMean ? 2 : 1));
  }
  if (c.name == "ROW") {
    int64_t fold = c["kc"] + log_n, ny = c["ny"];
    results = fn == Softmax ? ny * c["kc"] : ny;
    slots = fn == RowMax ? 0 : record + 1;
    if (fn == Softmax)
      slots += fold + 2 + ny * (fold + 1 + 2 * c["kc"]) +
               (ny - 1) * std::max<int64_t>(Divide, fold + 2) + Divide;
    else
      slots += ny * (fold + 1);
  }
  if (c.name == "TRN") slots = c["ny"] * c["nx"] * (c["rows"] + c["n"] + 1);
  if (c.name == "TAB") slots = c["count"] * 256 / N;
  return Start + slots + std::max<int64_t>(0, Latency - results);
}

#endif
