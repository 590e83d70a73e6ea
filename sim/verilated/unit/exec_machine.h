// SPDX-License-Identifier: Apache-2.0
// The Verilated execute engine with a scratchpad that denies grants at random.
#ifndef WICK_EXEC_MACHINE_H
#define WICK_EXEC_MACHINE_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "Vwick_exec.h"
#include "exec_model.h"
#include "verilated.h"

inline std::mt19937_64 rng(1);
inline int64_t draw(int64_t lo, int64_t hi) {
  return lo + (int64_t)(rng() % (uint64_t)(hi - lo + 1));
}
inline bool chance(int percent) { return draw(0, 99) < percent; }

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
  bool is_quiet_in_reset, is_quiet_after_reset;

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
    is_quiet_in_reset = quiet();
    v->rst_ni = 1;
    edge();
    is_quiet_after_reset = quiet();
  }
  bool quiet() const {
    return !v->done_o && !v->active_o && !v->busy_o && !v->error_o && !v->mark_valid_o &&
           !v->in_req_o && !v->drain_req_o && !v->wt_req_o && !v->ev_mac_o && !v->ev_acc_read_o &&
           !v->ev_acc_write_o && v->cmd_ready_o;
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
    step([this] {
      if (!quiet()) fail("not quiet after clear_i");
    });
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
        if (!v->active_o && next > r.done.size() && r.start.back() < cycle && !r.error &&
            !v->done_o)
          fail("not active");
      });
    }
    if (marks != due.size() && !r.error) fail("a MARK is missing");
    r.cycles = cycle - begin;
    return r;
  }
};

#endif
