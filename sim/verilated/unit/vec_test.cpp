// SPDX-License-Identifier: Apache-2.0
// The vector engine against a plain model of docs/isa.md: random commands in random batches, with
// and without a scratchpad that denies grants, and directed corners. Every batch compares all of the
// scratchpad; every read must lie in the command's footprint and every byte of it must be read;
// every command that was never denied must last exactly as long as its formula says.
//
//   vec_test [COMMANDS [SEED [RESET]]]   vec_test.sh builds it; RESET 0, 1, 2: registers without
//                                        reset start as 0, 1, random
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "Vwick_vec.h"
#include "arithmetic.h"
#include "verilated.h"

namespace {

constexpr int N = VEC_N;
constexpr int Tables = VEC_TABLES;
constexpr int64_t Spm = VEC_SPM;

// ---- commands ------------------------------------------------------------------------------------

struct Place {
  int lsb, bits;
};

// "MAP.a0" -> where it lies; "" + name: the header. Opcodes as "MAP".
std::map<std::string, Place> layout() {
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
enum { Softmax, Layernorm, RowMean, RowMax, Rmsnorm };

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

  // As compiler/ir/quant.h says it, in 128 bits.
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

constexpr int Start = 1, Latency = 6, Divide = 19, NormLatency = 8, Root = 34, Depth = 6;

int64_t duration(const Command &c) {
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
  if (c.name == "ROW" && (fn == Layernorm || fn == Rmsnorm)) {
    int64_t ny = c["ny"], kc = c["kc"], out = 9 * (kc - 1) + 1 + (8 * c["k_tail"] + N - 1) / N;
    return Start + record + ny * (kc + out) + Root + (ny - 1) * std::max<int64_t>(1, Root - out) +
           ny * kc + NormLatency - std::min<int64_t>(ny * kc, Depth);
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
  return Start + slots + std::max<int64_t>(0, Latency - results);  // Latency = Depth
}

// ---- the bench -----------------------------------------------------------------------------------

std::mt19937_64 rng;
int64_t pick(int64_t lo, int64_t hi) { return lo + int64_t(rng() % uint64_t(hi - lo + 1)); }
bool chance(int percent) { return pick(0, 99) < percent; }

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

// ---- random commands -----------------------------------------------------------------------------

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
      for (const char *s : {"_r", "_x", "_y"}) c.f[std::string("out") + s] = c[(std::string("in") + s).c_str()];
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
  // Negative multipliers of full size, sums of more than 32 bits, every shift.
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

// Normalisation: constant rows, one element, long rows, the largest variance, rows shorter than the
// root takes.
void norms(Bench &b) {
  Draw d{b};
  for (int kind = 0; kind < 6; kind++)
    for (int fn : {int(Layernorm), int(Rmsnorm)})
      for (int u8 = 0; u8 < 2; u8++) {
        d.next = 0;
        int64_t kc = kind == 0 ? 1 : kind == 3 ? std::min<int64_t>(32768 / N, Spm / 16 / N) : pick(1, 9);
        int64_t tail = kind == 0 ? 1 : N, n = (kc - 1) * N + tail, ny = kind == 3 ? 2 : pick(1, 6);
        int64_t in = d.place(ny * kc * N), par = d.norm_record(n, u8);
        for (int64_t i = 0; i < ny * kc * N; i++)
          b.store(in + i, kind == 1 ? 17 : kind == 4 ? (i & 1 ? 127 : 128) : kind == 5 ? 255 * (i & 1)
                                    : int64_t(rng()), 1);
        if (kind == 1) b.store(par + 8, 1, 8);
        Command c{"ROW", {{"fn", fn}, {"u8", u8}, {"in", in}, {"in_y", kc * N}, {"in_c", N}, {"ny", ny},
                          {"kc", kc}, {"k_tail", tail}, {"out", in}, {"out_y", kc * N}, {"out_c", N},
                          {"par", par}}};
        b.batch({c, c}, false);
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
    for (int fn : {5, 6, 7}) {
      bad = c;
      bad.f["fn"] = fn;
      refused(bad, ErrField);
    }
    bad = c;
    bad.f["fn"] = pick(0, 1) ? Layernorm : Rmsnorm, bad.f["kc"] = 32768 / N + 1, bad.f["k_tail"] = 1;
    if (bad["kc"] < 4096) refused(bad, ErrField);
    d.next = 0;
    c.f["par"] = d.norm_record(N, false);
    c.f["fn"] = Layernorm, c.f["kc"] = 1, c.f["k_tail"] = 1, c.f["ny"] = 1, c.f["in"] = Spm / 2;
    for (int64_t e : {int64_t{0}, int64_t{1} << 62, int64_t{-1}}) {
      b.store(c["par"] + 8, e, 8);
      refused(c, ErrField);
    }
    c = d.fitting(&Draw::row);
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
  norms(b);
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
