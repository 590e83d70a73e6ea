// SPDX-License-Identifier: Apache-2.0
// wick_exec against a plain model of docs/isa.md, with a scratchpad that denies grants at random.
//
//   exec_test [random commands [seed]]   directed corners, durations, random commands; exit 0 when good
//   exec_test --peak                     utilisation of the two reference convolutions
//   exec_test --speed                    simulated cycles per second of a busy array
//
// Built once per N by exec_test.sh, with -DN=..., -DACC=..., -DSPM=....
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <algorithm>
#include <ctime>
#include <initializer_list>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>
#include "Vwick_exec.h"
#include "verilated.h"
#if VM_COVERAGE
#include "verilated_cov.h"
#endif

#include "exec_model.h"
#include "exec_timing.h"

namespace {

std::mt19937_64 rng(1);
int64_t draw(int64_t lo, int64_t hi) { return lo + (int64_t)(rng() % (uint64_t)(hi - lo + 1)); }
bool chance(int percent) { return draw(0, 99) < percent; }

// ---- the machine ---------------------------------------------------------------------------------
struct Port {
  bool req, we, gnt;
  uint32_t addr;
  uint64_t be;
  uint8_t wdata[N];
};

struct Result {
  bool error = false;
  int code = 0;
  uint32_t index = 0;
  uint64_t cycles = 0, macs = 0, mac_cycles = 0, acc_reads = 0, acc_writes = 0;
  std::vector<uint64_t> start, done;
};

struct Machine {
  std::unique_ptr<VerilatedContext> context{new VerilatedContext};
  std::unique_ptr<Vwick_exec> v;
  std::vector<uint8_t> spm = std::vector<uint8_t>(SPM);
  int deny = 0;          // percent of requests that are not granted
  int mark_deny = 0;
  const std::vector<bool> *readable = nullptr;
  int waited[3] = {};
  std::vector<int32_t> acc = std::vector<int32_t>((size_t)ACC * N); // as the model has them
  uint8_t rdata[3][N];
  uint64_t cycle = 0;

  // Registers and memories begin with random contents.
  explicit Machine(int seed) {
    context->randReset(2);
    context->randSeed(seed);
    v.reset(new Vwick_exec(context.get()));
    v->clk_i = 0;
    v->rst_ni = 1;
    v->eval();
    v->rst_ni = 0;
    v->clear_i = 0;
    v->cmd_valid_i = 0;
    v->mark_ready_i = 0;
    v->in_gnt_i = v->drain_gnt_i = v->wt_gnt_i = 0;
    for (int i = 0; i < 3; i++) edge();
    v->rst_ni = 1;
    edge();
  }
  void edge() {
    v->clk_i = 0;
    v->eval();
    v->clk_i = 1;
    v->eval();
  }
  Port port(int p) {
    Port r{};
    const void *wdata;
    if (p == 0) {
      r = {(bool)v->in_req_o, (bool)v->in_we_o, false, v->in_addr_o, v->in_be_o, {}};
      wdata = &v->in_wdata_o;
    } else if (p == 1) {
      r = {(bool)v->drain_req_o, (bool)v->drain_we_o, false, v->drain_addr_o, v->drain_be_o, {}};
      wdata = &v->drain_wdata_o;
    } else {
      r = {(bool)v->wt_req_o, (bool)v->wt_we_o, false, v->wt_addr_o, v->wt_be_o, {}};
      wdata = &v->wt_wdata_o;
    }
    memcpy(r.wdata, wdata, N);
    return r;
  }
  void fail(const char *what) {
    printf("cycle %llu: %s\n", (unsigned long long)cycle, what);
    exit(1);
  }
  // One cycle; inputs other than the ports' are set. The outputs of the cycle are left in v before
  // the edge by `look`.
  template <class F> void step(F look) {
    v->clk_i = 0;
    memcpy(&v->in_rdata_i, rdata[0], N);
    memcpy(&v->drain_rdata_i, rdata[1], N);
    memcpy(&v->wt_rdata_i, rdata[2], N);
    v->in_gnt_i = v->drain_gnt_i = v->wt_gnt_i = 0;
    v->eval();
    Port p[3];
    for (int i = 0; i < 3; i++) {
      p[i] = port(i);
      p[i].gnt = p[i].req && (!deny || waited[i] >= 15 || !chance(deny));
      waited[i] = p[i].req && !p[i].gnt ? waited[i] + 1 : 0;
    }
    v->in_gnt_i = p[0].gnt;
    v->drain_gnt_i = p[1].gnt;
    v->wt_gnt_i = p[2].gnt;
    v->eval();
    for (int i = 0; i < 3; i++) {
      Port again = port(i);
      if (again.req != p[i].req || (p[i].req && (again.addr != p[i].addr || again.be != p[i].be ||
                                                again.we != p[i].we))) {
        fail("a request depends on its grant");
      }
    }
    look();
    for (int i = 0; i < 3; i++) {
      for (int b = 0; b < N; b++) rdata[i][b] = (uint8_t)rng();
      if (!p[i].gnt) continue;
      for (int b = 0; b < N; b++) {
        if (!(p[i].be >> b & 1)) continue;
        uint32_t a = p[i].addr + (uint32_t)b;
        if (a >= SPM) fail("access outside the scratchpad");
        if (p[i].we) spm[a] = p[i].wdata[b];
        else {
          if (readable && !(*readable)[a]) fail("read outside the footprint");
          rdata[i][b] = spm[a];
        }
      }
    }
    v->clk_i = 1;
    v->eval();
    cycle++;
  }

  void clear() {
    v->cmd_valid_i = 0;
    v->clear_i = 1;
    step([] {});
    v->clear_i = 0;
    step([] {});
  }

  // Starts commands without looking at anything for some cycles.
  void start_some(const std::vector<Command> &list, int cycles) {
    size_t next = 0;
    for (int i = 0; i < cycles; i++) {
      v->cmd_valid_i = next < list.size();
      v->mark_ready_i = i % 3 == 0;
      if (next < list.size()) memcpy(&v->cmd_i, list[next].bits, 64);
      step([&] { next += v->cmd_valid_i && v->cmd_ready_o; });
    }
    v->cmd_valid_i = 0;
  }

  Result run(const std::vector<Command> &list) {
    Result r;
    std::vector<uint64_t> due; // accumulator writes that must have happened at a MARK
    uint64_t writes = 0;
    for (const Command &c : list) {
      writes += c.acc_writes;
      if (c.op == OP_MARK) due.push_back(writes);
    }
    size_t next = 0, marks = 0;
    uint64_t begin = cycle;
    int tail = 0;
    while (tail < 30) {
      if (r.done.size() == list.size() || r.error) tail++;
      if (cycle - begin > 3000000) fail("hangs");
      bool offer = next < list.size() && list[next].wait <= r.done.size();
      v->cmd_valid_i = offer;
      if (next < list.size()) {
        memcpy(&v->cmd_i, list[next].bits, 64);
        v->cmd_index_i = (uint32_t)next + 1000;
      }
      v->mark_ready_i = !chance(mark_deny);
      step([&] {
        if (offer && v->cmd_ready_o) {
          r.start.push_back(cycle);
          next++;
        }
        if (v->done_o) {
          r.done.push_back(cycle);
          if (r.done.size() > next) fail("retires what has not started");
        }
        r.macs += v->ev_macs_o;
        r.mac_cycles += v->ev_mac_o;
        if (v->mark_valid_o && v->mark_ready_i) {
          if (marks >= due.size() || r.acc_writes < due[marks]) fail("MARK too early");
          marks++;
        }
        r.acc_reads += (uint64_t)((v->ev_acc_read_o & 1) + (v->ev_acc_read_o >> 1));
        r.acc_writes += (uint64_t)((v->ev_acc_write_o & 1) + (v->ev_acc_write_o >> 1));
        if (v->error_o) {
          if (r.error) fail("two errors");
          r.error = true;
          r.code = v->error_code_o;
          r.index = v->error_index_o - 1000;
        }
        if (tail > 5 && !r.error && v->active_o) fail("still active");
        if (!v->active_o && next > r.done.size() && r.start.back() < cycle && !r.error && !v->done_o) fail("not active");
      });
    }
    if (marks != due.size() && !r.error) fail("a MARK is missing");
    r.cycles = cycle - begin;
    return r;
  }
};

// ---- random commands -----------------------------------------------------------------------------
const uint32_t Records = SPM - SPM / 4; // parameter records lie from here on, nothing is written there
uint32_t next_record;

void put(std::vector<uint8_t> &m, uint32_t a, int64_t v, int bytes) {
  for (int i = 0; i < bytes; i++) m[a + (uint32_t)i] = (uint8_t)((uint64_t)v >> (8 * i));
}

uint32_t make_record(std::vector<uint8_t> &m, int scale) {
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
    int s = chance(10) ? (int)draw(1, 62) : std::min(62, std::max(1, 24 + scale - 6 - 16 + (int)draw(-2, 2)));
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

int64_t stride(int64_t unit, int64_t max) {
  switch (draw(0, 4)) {
    case 0: return std::min(unit, max);
    case 1: return std::min<int64_t>(2 * unit, max);
    case 2: return std::min<int64_t>(draw(0, unit), max);
    default: return std::min<int64_t>(draw(0, 4 * unit), max);
  }
}

// The address that puts a set of offsets somewhere into [from, to); false when it does not fit.
bool place(int64_t lo, int64_t hi, int64_t from, int64_t to, int align, int64_t *base) {
  if (hi - lo + 1 > to - from - 2 * align) return false;
  *base = draw(from - lo, to - 1 - hi);
  if (align > 1) *base = (*base + align - 1) / align * align;
  return *base + lo >= from && *base + hi < to;
}

void draw_epilogue(Command &c, std::vector<uint8_t> &m, int64_t ny, int64_t nx, bool has_x, int terms) {
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

bool draw_command(Command &c, int op, std::vector<uint8_t> &m, bool quick) {
  c = Command(op);
  if (op == OP_MARK) {
    c.set("row", draw(0, 65535));
    return true;
  }
  int64_t in_lo = INT32_MAX, in_hi = INT32_MIN, base = 0, most = quick ? 6 : 14;
  c.set("zero", chance(50) ? 0 : draw(0, 255));
  c.set("u8", chance(40));
  if (op == OP_MM) {
    int64_t ny = chance(20) ? 1 : draw(1, 3 * most), kc = draw(1, 3), tail = chance(50) ? N : draw(1, N);
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
  int64_t ny = draw(1, most), nx = draw(1, most), ky = draw(1, 4), kx = draw(1, op == OP_DWC ? 7 : 4);
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

// ---- checks --------------------------------------------------------------------------------------
int failures;

void show(const std::vector<Command> &list) {
  for (const Command &c : list) printf("  %s\n", c.text().c_str());
}

// Runs commands on machine and model, compares memories and events.
bool check(Machine &dut, std::vector<Command> &list, const std::vector<uint8_t> &memory, const char *what,
           Result *result = nullptr) {
  Model model(memory);
  model.acc = dut.acc;
  std::vector<bool> readable(SPM);
  uint64_t macs = 0, acc_reads = 0, acc_writes = 0;
  for (Command &c : list) {
    model.run(c);
    for (uint32_t a : c.reads) readable[a] = true;
    macs += c.macs;
    acc_reads += c.acc_reads;
    acc_writes += c.acc_writes;
  }
  for (size_t j = 0; j < list.size(); j++) {
    list[j].wait = 0;
    for (size_t i = 0; i < j; i++) {
      if (conflict(list[i], list[j])) list[j].wait = i + 1;
    }
  }
  dut.spm = memory;
  dut.readable = &readable;
  Result r = dut.run(list);
  dut.readable = nullptr;
  bool good = !r.error && r.macs == macs && r.acc_reads == acc_reads && r.acc_writes == acc_writes;
  if (!good) {
    printf("%s: error %d (%d, command %u), macs %llu of %llu, reads %llu of %llu, writes %llu of %llu\n", what,
           r.error, r.code, r.index, (unsigned long long)r.macs, (unsigned long long)macs,
           (unsigned long long)r.acc_reads, (unsigned long long)acc_reads,
           (unsigned long long)r.acc_writes, (unsigned long long)acc_writes);
    show(list);
  }
  for (uint32_t a = 0; a < SPM && good; a++) {
    if (dut.spm[a] != model.spm[a]) {
      printf("%s: byte %u is %u, not %u (was %u)\n", what, a, dut.spm[a], model.spm[a], memory[a]);
      show(list);
      good = false;
    }
  }
  dut.acc = model.acc;
  if (r.error) dut.clear();
  if (!good) failures++;
  if (failures > 5) exit(1);
  if (result) *result = r;
  return good;
}

bool conflict_free(Command &c, const std::vector<uint8_t> &memory) {
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

std::vector<uint8_t> draw_memory() {
  std::vector<uint8_t> m(SPM);
  for (auto &b : m) b = (uint8_t)rng();
  next_record = Records;
  return m;
}

Command draw_legal(int op, std::vector<uint8_t> &m, bool quick) {
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

int draw_op(int marks) {
  if (chance(marks)) return OP_MARK;
  int x = (int)draw(0, 2);
  return x == 0 ? OP_CONV : x == 1 ? OP_DWC : OP_MM;
}

void test_durations(Machine &dut, int count) {
  dut.deny = 0;
  std::vector<uint8_t> memory = draw_memory();
  for (int i = 0; i < count; i++) {
    if (i % 16 == 0) memory = draw_memory();
    std::vector<Command> list{draw_legal(draw_op(3), memory, true)};
    Result r;
    if (!check(dut, list, memory, "alone", &r)) continue;
    uint64_t took = r.done[0] - r.start[0];
    if (took != duration(list[0])) {
      printf("took %llu cycles, not %llu\n", (unsigned long long)took,
             (unsigned long long)duration(list[0]));
      show(list);
      if (++failures > 5) exit(1);
    }
  }
}

// Sequences against the recursion of exec_timing.h.
std::vector<double> timing_errors;
int64_t worst_ahead, worst_behind, exact, sequences;

void compare_timing(const std::vector<Command> &list, const Result &r) {
  Timing timing;
  std::vector<int64_t> done;
  int64_t origin = (int64_t)r.start[0];
  bool same = true;
  for (size_t i = 0; i < list.size(); i++) {
    int64_t earliest = list[i].wait ? done[list[i].wait - 1] + 1 : 0;
    Timeline t = timing.next(list[i], earliest);
    done.push_back(t.done);
    same = same && t.done == (int64_t)r.done[i] - origin && t.start == (int64_t)r.start[i] - origin;
    if (getenv("EXEC_TIMING") && (t.done != (int64_t)r.done[i] - origin)) {
      for (size_t k = 0; k <= i; k++) printf("  %s: %d %d\n", list[k].text().c_str(), (int)(r.start[k] - origin), (int)(r.done[k]-origin));
      printf("start %d not %d, done %d not %d\n", (int)t.start, (int)(r.start[i] - origin), (int)t.done, (int)(r.done[i]-origin));
      exit(1);
    }
  }
  int64_t real = (int64_t)r.done.back() - origin, error = done.back() - real;
  exact += same;
  sequences++;
  worst_ahead = std::min(worst_ahead, error);
  worst_behind = std::max(worst_behind, error);
  timing_errors.push_back(100.0 * (double)std::abs(error) / (double)real);
}

void test_random(Machine &dut, int count) {
  for (int i = 0; i < count;) {
    std::vector<uint8_t> memory = draw_memory();
    std::vector<Command> list;
    int64_t length = draw(1, 10);
    for (int64_t k = 0; k < length; k++) list.push_back(draw_legal(draw_op(15), memory, !chance(10)));
    dut.deny = chance(30) ? 0 : (int)draw(1, 70);
    dut.mark_deny = chance(50) ? 0 : 80;
    Result r;
    if (check(dut, list, memory, "random", &r) && !dut.deny && !dut.mark_deny) compare_timing(list, r);
    dut.mark_deny = 0;
    i += (int)length;
  }
  dut.deny = 0;
}

// ---- directed ------------------------------------------------------------------------------------
Command conv(std::initializer_list<std::pair<const char *, int64_t>> fields, int op = OP_CONV) {
  Command c(op);
  c.set("par", Records);
  for (auto &f : fields) c.set(f.first, f.second);
  return c;
}

void fill_accumulators(Machine &dut);

void expect_error(Machine &dut, Command c, int code, const char *what) {
  std::vector<uint8_t> memory = draw_memory();
  make_record(memory, 16);
  std::vector<Command> list{conv({{"in", 0}, {"wt", 1024}, {"drain", 1}, {"out", 8192}}), c,
                            conv({{"in", 0}, {"wt", 1024}})};
  dut.spm = memory;
  Result r = dut.run(list);
  if (!r.error || r.code != code || r.index != 1) {
    printf("%s: error %d, code %d, index %u\n", what, r.error, r.code, r.index);
    failures++;
  }
  dut.clear();
  Model model(memory);
  std::vector<Command> good{conv({{"in", 0}, {"wt", 1024}, {"ny", 3}, {"drain", 1}, {"out", 8192}})};
  check(dut, good, memory, "after an error");
  fill_accumulators(dut);
}

// Cleared at any time, the engine is idle at once and as good as new.
void test_clear(Machine &dut, int count) {
  for (int i = 0; i < count; i++) {
    std::vector<uint8_t> memory = draw_memory();
    std::vector<Command> list;
    for (int k = 0; k < 5; k++) list.push_back(draw_legal(draw_op(20), memory, true));
    dut.spm = memory;
    dut.start_some(list, (int)draw(0, 400));
    dut.clear();
    if (dut.v->active_o || dut.v->done_o || dut.v->mark_valid_o) dut.fail("active after clear_i");
    dut.deny = 0;
    fill_accumulators(dut);
    list = {list[0]};
    check(dut, list, memory, "after clear_i");
  }
}

void test_errors(Machine &dut) {
  const int Field = 2, Range = 4;
  for (const char *f : {"ny", "nx", "ky", "kx", "sy", "sx", "dy", "dx", "kc", "k_tail", "n"}) {
    Command c = conv({{"in", 0}, {"wt", 0}});
    c.set(f, 0);
    expect_error(dut, c, Field, f);
  }
  for (const char *f : {"ny", "nx", "ky", "kx", "sy", "sx", "dy", "dx", "n"}) {
    Command c = conv({{"in", 0}, {"wt", 0}, {"taps", 1}}, OP_DWC);
    c.set(f, 0);
    expect_error(dut, c, Field, f);
  }
  for (const char *f : {"ny", "kc", "k_tail", "n"}) {
    Command c = conv({{"in", 0}, {"wt", 0}, {"w_r", N}}, OP_MM);
    c.set(f, 0);
    expect_error(dut, c, Field, f);
  }
  if (N < 32) {
    expect_error(dut, conv({{"n", N + 1}}), Field, "n");
    expect_error(dut, conv({{"k_tail", N + 1}}), Field, "k_tail");
  }
  expect_error(dut, conv({{"wt", 4}}), Field, "wt");
  expect_error(dut, conv({{"par", 4}, {"drain", 1}}), Field, "par");
  Command three = conv({{"k_x", N}, {"in_x", N}, {"kx", 3}}, OP_DWC);
  Command c = three;
  c.set("dx", 2);
  expect_error(dut, c, Field, "three taps: dx");
  c = three;
  c.set("k_x", N + 1);
  expect_error(dut, c, Field, "three taps: k_x");
  c = three;
  c.set("in_x", 2 * N);
  expect_error(dut, c, Field, "three taps: in_x");
  c = three;
  c.set("sx", 3);
  c.set("in_x", 3 * N);
  expect_error(dut, c, Field, "three taps: sx");
  expect_error(dut, conv({{"in", SPM - N + 1}}), Range, "in");
  expect_error(dut, conv({{"in", -1}}), Range, "in < 0");
  expect_error(dut, conv({{"in", 0}, {"ny", 2}, {"in_y", SPM - 1}}), Range, "second row");
  expect_error(dut, conv({{"wt", SPM - N}}), Range, "wt");
  expect_error(dut, conv({{"par", SPM - N}, {"drain", 1}}), Range, "par");
  expect_error(dut, conv({{"out", SPM - N + 1}, {"drain", 1}}), Range, "out");
  expect_error(dut, conv({{"out", 0}, {"ny", 2}, {"out_y", SPM - 1}, {"drain", 1}}), Range, "out_y");
  expect_error(dut, conv({{"res", SPM - 1}, {"residual", 1}, {"drain", 1}}), Range, "res");
  if (ACC <= 4096) {
    expect_error(dut, conv({{"acc", ACC - 1}, {"ny", 2}}), Range, "acc");
    expect_error(dut, conv({{"nx", 500}, {"ny", 500}}), Range, "acc");
  }
  if (SPM == 1 << 20) return;
  expect_error(dut, conv({{"in", SPM}}), Range, "in beyond");
  expect_error(dut, conv({{"out", SPM}, {"drain", 1}}), Range, "out beyond");
  expect_error(dut, conv({{"par", SPM}, {"drain", 1}}), Range, "par beyond");
}

// Writes every accumulator entry: from then on the model knows what they hold.
void fill_accumulators(Machine &dut) {
  std::vector<Command> list{conv({{"in", 0}, {"ny", ACC}, {"wt", 1024}, {"w_r", N}}, OP_MM)};
  check(dut, list, draw_memory(), "fill");
}

void test_directed(Machine &dut) {
  for (int deny : {0, 30}) {
    dut.deny = deny;
    // The first layer: 7 x 7 x 3, stride 2, rows of a padded image; a row of taps is 21 bytes.
    std::vector<uint8_t> memory = draw_memory();
    uint32_t par = make_record(memory, 20);
    int64_t blocks = (21 + N - 1) / N;
    std::vector<Command> first{conv({{"in", 5}, {"in_x", 6}, {"in_y", 2 * 3 * 29}, {"k_y", 3 * 29}, {"ky", 7},
                                     {"k_c", N}, {"kc", blocks}, {"k_tail", 21 - (blocks - 1) * N},
                                     {"ny", 5}, {"nx", 11}, {"sy", 2}, {"sx", 2}, {"wt", 4096},
                                     {"out", 30001}, {"out_y", 11 * N}, {"drain", 1}, {"par", par}})};
    check(dut, first, memory, "first layer");
    // Padding on all sides, zero point, u8; every stride and dilation.
    for (int64_t s = 1; s <= 3; s++) {
      for (int64_t d = 1; d <= 3; d++) {
        memory = draw_memory();
        par = make_record(memory, 17);
        int64_t hw = 9, out = (hw + 2 * d - 2 * d - 1) / s + 1;
        std::vector<Command> list{conv({{"in", 2000 - d * (hw + 1) * N}, {"in_x", s * N}, {"in_y", s * hw * N},
                                        {"k_x", d * N}, {"k_y", d * hw * N}, {"ky", 3}, {"kx", 3},
                                        {"ny", out}, {"nx", out}, {"pad_t", d}, {"pad_l", d}, {"h", hw},
                                        {"w", hw}, {"sy", s}, {"sx", s}, {"dy", d}, {"dx", d},
                                        {"zero", 131}, {"u8", 1}, {"wt", 16384}, {"out", 40000 - 1},
                                        {"out_y", out * N}, {"drain", 1}, {"par", par}})};
        check(dut, list, memory, "padding");
      }
    }
    // A chain of commands that accumulate on one pixel, without waits, then a drain.
    memory = draw_memory();
    par = make_record(memory, 16);
    std::vector<Command> chain;
    for (int64_t i = 0; i < 12; i++) {
      chain.push_back(conv({{"in", 100 * i}, {"wt", 2048 + N * i}, {"n", 1 + i % 3}, {"ny", 2 - i % 2},
                            {"taps", 1}, {"accumulate", i > 0}, {"drain", i == 11}, {"par", par},
                            {"out", 20000}}, i % 2 ? OP_CONV : OP_DWC));
    }
    check(dut, chain, memory, "chain");
    // Depthwise 3 x 3 of 28 columns, and what it keeps the array busy.
    memory = draw_memory();
    par = make_record(memory, 16);
    std::vector<Command> depthwise{
        conv({{"in", 8192 - 29 * N}, {"in_x", N}, {"in_y", 28 * N}, {"k_x", N}, {"k_y", 28 * N}, {"ky", 3},
              {"kx", 3}, {"ny", 5}, {"nx", 28}, {"pad_t", 1}, {"pad_l", 1}, {"h", 28}, {"w", 28},
              {"wt", 0}, {"out", 0x8000}, {"out_y", 28 * N}, {"drain", 1}, {"par", par}}, OP_DWC)};
    check(dut, depthwise, memory, "depthwise");
    // Saturated inputs and weights of both signs.
    for (int64_t a : {-128, 127})
      for (int64_t b : {-128, 127})
        for (int u8 = 0; u8 < 2; u8++) {
          memory = draw_memory();
          for (int i = 0; i < 16384; i++) memory[(size_t)i] = (uint8_t)(i < 8192 ? a : b);
          par = make_record(memory, 20);
          std::vector<Command> mm{conv({{"in", 0}, {"in_y", 64}, {"ny", 4}, {"kc", 2}, {"zero", -a}, {"u8", u8},
                                        {"wt", 8192}, {"w_r", N}, {"w_c", N * N}, {"w_zero", -b},
                                        {"w_u8", u8}, {"out", 20000}, {"out_y", N}, {"drain", 1},
                                        {"par", par}, {"accumulate", 0}}, OP_MM)};
          check(dut, mm, memory, "extremes");
        }
  }
  dut.deny = 0;
}

// ---- figures -------------------------------------------------------------------------------------
std::vector<Command> layer(int64_t taps, int64_t blocks, std::vector<uint8_t> &memory) {
  std::vector<Command> list;
  int64_t size = 14, pad = taps / 2, image = size * size * N, in = N == 32 ? 524288 : 65536;
  uint32_t par = make_record(memory, 20);
  for (int64_t o = 0; o < 8; o++) {
    list.push_back(conv({{"in", in - pad * (size + 1) * N}, {"in_x", N}, {"in_y", size * N}, {"k_x", N},
                         {"k_y", size * N}, {"k_c", taps == 1 ? 0 : image}, {"ny", size}, {"nx", size},
                         {"ky", taps}, {"kx", taps}, {"kc", blocks}, {"pad_t", pad}, {"pad_l", pad},
                         {"h", size}, {"w", size}, {"wt", 0}, {"acc", o % 2 * ACC / 2}, {"drain", 1},
                         {"par", par}, {"out", (N == 32 ? 262144 : in + 33 * image) + o % 2 * image}, {"out_y", size * N}}));
  }
  return list;
}

void peak(Machine &dut) {
  for (int which = 0; which < 2; which++) {
    std::vector<uint8_t> memory = draw_memory();
    std::vector<Command> list = layer(which ? 1 : 3, which ? 32 : 8, memory);
    Result r;
    check(dut, list, memory, "peak", &r);
    uint64_t cycles = r.done.back() - r.start[0];
    printf("%s: %llu cycles, %.2f %% of the multipliers busy\n",
           which ? "1x1x512->128 14x14" : "3x3x128->128 14x14", (unsigned long long)cycles,
           100.0 * (double)r.macs / (double)(cycles * N * N));
  }
  // Depthwise 3 x 3, stride 1, 28 x 28, in halves of 14 rows that alternate between the banks.
  std::vector<uint8_t> memory = draw_memory();
  std::vector<Command> list;
  uint32_t par = make_record(memory, 16);
  for (int64_t i = 0; i < 24; i++) {
    int64_t bottom = i % 2;
    list.push_back(conv({{"in", 32768 + (bottom ? 13 * 28 - 1 : -29) * N}, {"in_x", N}, {"in_y", 28 * N},
                         {"k_x", N}, {"k_y", 28 * N}, {"ky", 3}, {"kx", 3}, {"ny", 14}, {"nx", 28},
                         {"pad_t", bottom ? 0 : 1}, {"pad_l", 1}, {"h", bottom ? 15 : 28}, {"w", 28},
                         {"wt", 0}, {"acc", bottom * ACC / 2}, {"out", 4 * 32768 + bottom * 392 * N},
                         {"out_y", 28 * N}, {"drain", 1}, {"par", par}}, OP_DWC));
  }
  Result r;
  check(dut, list, memory, "depthwise", &r);
  uint64_t cycles = r.done.back() - r.start[0];
  printf("depthwise 3x3 28x28x%d: %llu cycles, %.1f multiplications a cycle\n", 12 * N,
         (unsigned long long)cycles, (double)r.macs / (double)cycles);
}

void speed(Machine &dut) {
  std::vector<uint8_t> memory = draw_memory();
  std::vector<Command> list = layer(3, 8, memory);
  Vwick_exec *v = dut.v.get();
  dut.spm = memory;
  clock_t begin = clock(); // of the processor: others may use the machine
  uint64_t cycles = 0, busy = 0;
  size_t k = 0;
  v->in_gnt_i = v->drain_gnt_i = v->wt_gnt_i = 1;
  v->cmd_valid_i = 1;
  memcpy(&v->cmd_i, list[0].bits, 64);
  while (cycles < 2000000) {
    v->clk_i = 0;
    v->eval();
    bool taken = v->cmd_ready_o;
    if (v->in_req_o) memcpy(dut.rdata[0], &dut.spm[v->in_addr_o], N);
    if (v->drain_req_o && !v->drain_we_o) memcpy(dut.rdata[1], &dut.spm[v->drain_addr_o], N);
    if (v->wt_req_o) memcpy(dut.rdata[2], &dut.spm[v->wt_addr_o], N);
    v->clk_i = 1;
    v->eval();
    memcpy(&v->in_rdata_i, dut.rdata[0], N);
    memcpy(&v->drain_rdata_i, dut.rdata[1], N);
    memcpy(&v->wt_rdata_i, dut.rdata[2], N);
    if (taken) memcpy(&v->cmd_i, list[++k % list.size()].bits, 64);
    busy += v->busy_o;
    cycles++;
  }
  double s = (double)(clock() - begin) / CLOCKS_PER_SEC;
  printf("%.0f kHz, array busy %.1f %%\n", (double)cycles / s / 1000, 100.0 * (double)busy / (double)cycles);
}

} // namespace

int main(int argc, char **argv) {
  Machine dut(argc > 2 ? atoi(argv[2]) : 1);
  fill_accumulators(dut);
  if (argc > 1 && !strcmp(argv[1], "--peak")) {
    peak(dut);
    return failures != 0;
  }
  if (argc > 1 && !strcmp(argv[1], "--speed")) {
    speed(dut);
    return 0;
  }
  int count = argc > 1 ? atoi(argv[1]) : 2000;
  if (argc > 2) rng.seed(strtoull(argv[2], nullptr, 0));
  test_directed(dut);
  test_errors(dut);
  test_clear(dut, count / 40);
  test_durations(dut, count / 4);
  test_random(dut, count);
  std::sort(timing_errors.begin(), timing_errors.end());
  if (!timing_errors.empty()) {
    printf("exec_timing.h: %lld of %lld sequences exact, median error %.2f %%, p95 %.2f %%, %lld to %+lld cycles\n",
           (long long)exact, (long long)sequences, timing_errors[timing_errors.size() / 2],
           timing_errors[timing_errors.size() * 95 / 100], (long long)worst_ahead, (long long)worst_behind);
  }
#if VM_COVERAGE
  dut.context->coveragep()->write("coverage.dat");
#endif
  printf("N = %d: %s\n", N, failures ? "FAILED" : "good");
  return failures != 0;
}
