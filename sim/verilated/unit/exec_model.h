// SPDX-License-Identifier: Apache-2.0
// Commands of the execute engine and what docs/isa.md says that they do, written plainly: the
// oracle of exec_test. Fields come from isa.def.
#ifndef WICK_EXEC_MODEL_H
#define WICK_EXEC_MODEL_H

#include "arithmetic.h"

enum Opcode {
#define QUEUE(name, number, doc)
#define HEADER(name, bits, doc)
#define COMMAND(name, opcode, queues, doc) OP_##name = opcode,
#define FIELD(command, name, bits, kind, value, doc)
#define CHOICE(kind, name, value, doc)
#define COST(name, cycles, doc)
#include "targets/accel/isa.def"
#undef HEADER
#undef COMMAND
#undef FIELD
};

struct FieldInfo {
  int bits, lsb;
  bool is_signed;
  int64_t value; // default
};

inline const std::map<std::string, FieldInfo> &fields_of(int op) {
  static std::map<int, std::map<std::string, FieldInfo>> all;
  static std::map<int, const char *> names;
  if (all.empty()) {
    const int64_t NEEDED = 0;
    (void)NEEDED;
    enum { UNSIGNED, SIGNED, FLAG, COUNT, SPM_, DRAM, ACC_ };
    enum { three = 0 };
    std::map<int, int> next;
    int header = 0;
    auto add = [&](int command, const char *name, int bits, bool is_signed, const char *value) {
      if (!next.count(command)) next[command] = header;
      int64_t v = !strcmp(value, "N") ? N : atoll(value);
      all[command][name] = {bits, next[command], is_signed, v};
      next[command] += bits;
    };
#define HEADER(name, bits, doc)                             \
  for (int c = 0; c < 32; c++) all[c]["." #name] = {bits, header, false, 0}; \
  header += bits;
#define COMMAND(name, opcode, queues, doc) names[opcode] = #name;
#define FIELD(command, name, bits, kind, value, doc) \
  add(OP_##command, #name, bits, !strcmp(#kind, "SIGNED"), #value);
#include "targets/accel/isa.def"
#undef QUEUE
#undef HEADER
#undef COMMAND
#undef FIELD
#undef CHOICE
#undef COST
  }
  return all[op];
}

struct Command {
  int op = 0;
  uint64_t bits[8] = {};
  bool bad = false;
  size_t wait = 0; // commands that must have retired before it starts
  // filled in by the model
  std::vector<uint32_t> inputs, residuals, reads, writes;
  int64_t acc_from = 0, acc_to = 0;
  bool drains = false;
  uint64_t macs = 0, acc_reads = 0, acc_writes = 0;

  Command() = default;
  explicit Command(int opcode) : op(opcode) {
    for (auto &f : fields_of(op)) set(f.first.c_str(), f.second.value);
    set(".opcode", op);
  }
  void set(const char *name, int64_t v) {
    auto f = fields_of(op).find(name);
    if (f == fields_of(op).end()) return; // a field that this command lacks
    for (int i = 0; i < f->second.bits; i++) {
      int p = f->second.lsb + i;
      bits[p / 64] &= ~(1ULL << (p % 64));
      bits[p / 64] |= (uint64_t)(v >> i & 1) << (p % 64);
    }
  }
  int64_t get(const char *name) const {
    auto f = fields_of(op).find(name);
    if (f == fields_of(op).end()) return 0;
    int64_t v = 0;
    for (int i = 0; i < f->second.bits; i++) {
      int p = f->second.lsb + i;
      v |= (int64_t)(bits[p / 64] >> (p % 64) & 1) << i;
    }
    if (f->second.is_signed && v >> (f->second.bits - 1)) v -= 1LL << f->second.bits;
    return v;
  }
  std::string text() const {
    std::string s = op == OP_CONV ? "conv" : op == OP_DWC ? "dwc" : op == OP_MM ? "mm" : "mark";
    for (auto &f : fields_of(op))
      if (f.first[0] != '.' && get(f.first.c_str()))
        s += " " + f.first + "=" + std::to_string(get(f.first.c_str()));
    return s + " (after " + std::to_string(wait) + ")";
  }
};

struct Model {
  std::vector<uint8_t> spm;
  std::vector<int32_t> acc = std::vector<int32_t>((size_t)ACC * N);
  explicit Model(const std::vector<uint8_t> &memory) : spm(memory) {}

  Command *c = nullptr;
  int64_t get(const char *name) const { return c->get(name); }
  uint8_t input(int64_t a) {
    c->inputs.push_back((uint32_t)a);
    return spm.at((size_t)a);
  }
  static int64_t number(uint8_t b, bool u8) { return u8 ? b : (int8_t)b; }
  int64_t bytes(int64_t a, int n, bool is_signed) {
    uint64_t v = 0;
    for (int i = 0; i < n; i++) v |= (uint64_t)input(a + i) << (8 * i);
    if (is_signed && n < 8 && v >> (8 * n - 1)) return (int64_t)(v - (1ULL << (8 * n)));
    return (int64_t)v;
  }

  void add(int64_t entry, int64_t o, int64_t v) {
    int32_t &a = acc.at((size_t)(entry * N + o));
    a = (int32_t)((uint32_t)a + (uint32_t)v);
  }

  void run(Command &command) {
    c = &command;
    c->inputs.clear();
    c->residuals.clear();
    c->writes.clear();
    c->reads.clear();
    c->macs = c->acc_reads = c->acc_writes = 0;
    c->drains = false;
    if (c->op == OP_MARK) return;
    int64_t ny = get("ny"), nx = c->op == OP_MM ? 1 : get("nx");
    c->acc_from = get("acc");
    c->acc_to = c->acc_from + ny * nx;
    c->drains = get("drain");
    if (!get("accumulate"))
      for (int64_t e = c->acc_from; e < c->acc_to; e++) std::fill_n(acc.begin() + e * N, N, 0);
    int64_t tiles = c->op == OP_MM ? multiply() : windows();
    c->acc_writes = (uint64_t)(tiles * ny * nx);
    c->acc_reads = (uint64_t)((tiles - !get("accumulate") + get("drain")) * ny * nx);
    if (get("drain")) drain(ny, nx);
    c->reads = c->inputs;
    c->reads.insert(c->reads.end(), c->residuals.begin(), c->residuals.end());
  }

  int64_t multiply() {
    int64_t kc = get("kc"), ny = get("ny"), n = get("n");
    for (int64_t b = 0; b < kc; b++) {
      int64_t lanes = b == kc - 1 ? get("k_tail") : N;
      for (int64_t i = 0; i < lanes; i++)
        for (int64_t o = 0; o < n; o++) {
          int64_t at = get("wt") + b * get("w_c") +
                       (get("transposed") ? i * get("w_r") + o : o * get("w_r") + i);
          int64_t w = number(input(at), get("w_u8")) - number((uint8_t)get("w_zero"), get("w_u8"));
          for (int64_t y = 0; y < ny; y++) {
            int64_t x = number(input(get("in") + y * get("in_y") + b * get("k_c") + i), get("u8")) -
                        number((uint8_t)get("zero"), get("u8"));
            add(get("acc") + y, o, x * w);
          }
        }
      c->macs += (uint64_t)(lanes * n * ny);
    }
    return kc;
  }

  int64_t windows() {
    bool dwc = c->op == OP_DWC;
    int64_t ny = get("ny"), nx = get("nx"), ky = get("ky"), kx = get("kx"),
            kc = dwc ? 1 : get("kc"), n = get("n");
    int64_t taps = dwc && !get("taps") ? 3 : 1, passes = (kx + taps - 1) / taps;
    int64_t in = get("in"), in_y = get("in_y"), in_x = get("in_x"), k_y = get("k_y"),
            k_x = get("k_x");
    int64_t k_c = get("k_c"), h = get("h"), w = get("w"), wt = get("wt");
    bool u8 = get("u8");
    int64_t zero = number((uint8_t)get("zero"), u8);
    for (int64_t b = 0; b < kc; b++)
      for (int64_t i = 0; i < ky; i++)
        for (int64_t j = 0; j < passes * taps; j++) {
          int64_t tile =
              dwc ? wt + (i * passes * taps + j) * N : wt + ((b * ky + i) * kx + j) * N * N;
          int64_t lanes = dwc ? n : b == kc - 1 ? get("k_tail") : N;
          std::vector<int64_t> weights((size_t)(N * N));
          for (int64_t o = 0; o < (dwc ? 1 : n); o++)
            for (int64_t l = 0; l < N; l++)
              weights[(size_t)(o * N + l)] = (int8_t)input(tile + o * N + l);
          if (j >= kx) continue;
          for (int64_t y = 0; y < ny; y++)
            for (int64_t x = 0; x < nx; x++) {
              c->macs += (uint64_t)(dwc ? n : n * lanes);
              int64_t iy = y * get("sy") + i * get("dy") - get("pad_t");
              int64_t ix = x * get("sx") + j * get("dx") - get("pad_l");
              if ((h && (iy < 0 || iy >= h)) || (w && (ix < 0 || ix >= w))) continue;
              int64_t at = in + y * in_y + x * in_x + i * k_y + j * k_x + b * k_c;
              int64_t v[N] = {};
              for (int64_t l = 0; l < lanes; l++) v[l] = number(input(at + l), u8) - zero;
              for (int64_t o = 0; o < n; o++) {
                int64_t sum = 0;
                if (dwc) sum = v[o] * weights[(size_t)o];
                else for (int64_t l = 0; l < lanes; l++) sum += v[l] * weights[(size_t)(o * N + l)];
                add(get("acc") + y * nx + x, o, sum);
              }
            }
        }
    return kc * ky * passes;
  }

  void drain(int64_t ny, int64_t nx) {
    int64_t par = get("par"), n = get("n");
    for (int64_t i = 0; i < 32 + 8 * n; i++) input(par + i);
    int64_t zero = bytes(par, 2, true), lo = bytes(par + 2, 2, true), hi = bytes(par + 4, 2, true);
    int64_t ma = bytes(par + 8, 4, true), mb = bytes(par + 12, 4, true),
            shift = bytes(par + 16, 1, false);
    int64_t za = bytes(par + 18, 2, true), zb = bytes(par + 20, 2, true),
            zy = bytes(par + 22, 2, true);
    int64_t lo2 = bytes(par + 24, 2, true), hi2 = bytes(par + 26, 2, true);
    bool r_u8 = bytes(par + 17, 1, false) & 1;
    for (int64_t y = 0; y < ny; y++)
      for (int64_t x = 0; x < nx; x++)
        for (int64_t o = 0; o < n; o++) {
          int64_t offset = y * get("out_y") + x * get("out_x") + o, e = par + 32 + 8 * o;
          int32_t sum = acc.at((size_t)((get("acc") + y * nx + x) * N + o));
          int32_t a = (int32_t)((uint32_t)sum + (uint32_t)bytes(e, 4, true));
          int64_t v =
              clamp(rescale(a, bytes(e + 4, 3, false), bytes(e + 7, 1, false)) + zero, lo, hi);
          if (get("residual")) {
            c->residuals.push_back((uint32_t)(get("res") + offset));
            int64_t r = number(spm.at((size_t)(get("res") + offset)), r_u8);
            v = clamp(shr_round((v - za) * ma + (r - zb) * mb, shift) + zy, lo2, hi2);
          }
          c->writes.push_back((uint32_t)(get("out") + offset));
          spm.at((size_t)(get("out") + offset)) = (uint8_t)v;
        }
  }
};

// Must b wait for a? Both were run by the model.
inline bool conflict(const Command &a, const Command &b) {
  if (a.op == OP_MARK || b.op == OP_MARK) return false;
  if (a.drains && a.acc_from < b.acc_to && b.acc_from < a.acc_to) return true;
  static std::vector<uint8_t> mark(SPM);
  for (uint32_t x : a.reads) mark[x] |= 1;
  for (uint32_t x : a.writes) mark[x] |= 2;
  bool found = false;
  for (uint32_t x : b.reads) found = found || (mark[x] & 2);
  for (uint32_t x : b.writes) found = found || mark[x];
  for (uint32_t x : a.reads) mark[x] = 0;
  for (uint32_t x : a.writes) mark[x] = 0;
  return found;
}

// Cycles from start to retirement of a command alone; see the COST rows of isa.def.
inline uint64_t duration(const Command &c) {
  if (c.op == OP_MARK) return 2;
  bool mm = c.op == OP_MM, dwc = c.op == OP_DWC;
  int64_t n = c.get("n"), ny = c.get("ny"), nx = mm ? 1 : c.get("nx"), kx = mm ? 1 : c.get("kx");
  int64_t ky = mm ? 1 : c.get("ky"), kc = dwc ? 1 : c.get("kc"),
          taps = dwc && !c.get("taps") ? 3 : 1;
  int64_t at = 0; // the cycle before the first word of the present tile may go out
  int64_t end = 0;
  for (int64_t b = 0; b < kc; b++)
    for (int64_t i = 0; i < ky; i++)
      for (int64_t j = 0; j < kx; j += taps) {
        int64_t lines = dwc                           ? taps
                        : !c.get("transposed") || !mm ? n
                        : b == kc - 1                 ? c.get("k_tail")
                                                      : N;
        int64_t words = nx;
        if (taps == 3) {
          int64_t lead =
              c.get("w") ? std::min<int64_t>(2, std::max<int64_t>(0, c.get("pad_l") - j)) : 0;
          words = c.get("sx") * (nx - 1) + 3 - lead;
        }
        int64_t begin = std::max(end, at + lines + 1);
        at = begin;
        end = begin + ny * words;
      }
  int64_t summed = end + 5; // seen by D; the last word goes out in end - 1
  if (!c.get("drain")) return (uint64_t)summed + 1;
  int64_t record = 3 + 32 / N + (8 * n + N - 1) / N;
  int64_t pixels = ny * nx, extra = c.get("residual") ? std::max<int64_t>(0, pixels - 5) : 0;
  return (uint64_t)(std::max(summed, record) + pixels + 11 + extra);
}

#endif
