// SPDX-License-Identifier: Apache-2.0
// What the test of the front end drives `wick_accel` with: a memory with fixed timing (that of
// targets/accel/model/dram.h) or random timing, a monitor of the AXI4 port, and a host.
#ifndef WICK_SIM_VERILATED_UNIT_FRONT_BENCH_H
#define WICK_SIM_VERILATED_UNIT_FRONT_BENCH_H

#include <verilated.h>
#if VM_COVERAGE
#include <verilated_cov.h>
#endif

#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "Vwick_accel.h"
#include "sim/verilated/unit/front_commands.h"

struct MemoryOptions {
  bool random = false;      // latencies, order between ids, gaps and back pressure
  uint32_t latency = 100, write_latency = 100;
  uint32_t rate_num = 8, rate_den = 1;
  int64_t error_at = -1;    // this read beat or write response, counted together
  bool silent = false;      // from error_at on no answers at all
};

class Memory {
 public:
  struct Burst {
    uint32_t id, address, beats, sent;
    uint64_t ready;
    bool is_write;
  };
  struct Answer {
    uint64_t visible;
    uint32_t id;
    bool last, error;
    std::vector<uint8_t> data;
  };

  Memory(uint32_t bus, size_t size) : bus_(bus), bytes(size) {}
  void Reset(const MemoryOptions &o, uint32_t seed) {
    options_ = o;
    rng_.seed(seed);
    now_ = free_at_ = answers_ = 0;
    pending_.clear(), beats_.clear(), responses_.clear(), open_.clear();
    read_held_ = response_held_ = false;
  }
  bool Chance(int percent) { return static_cast<int>(rng_() % 100) < percent; }
  void Read(uint32_t id, uint32_t address, uint32_t beats) {
    pending_.push_back({id, address, beats, 0, now_ + Latency(), false});
  }
  void WriteRequest(uint32_t id, uint32_t address, uint32_t beats) {
    open_.push_back({id, address, beats, 0, 0, true});
  }
  void WriteBeat(const uint8_t *data, uint64_t strobes) {
    Burst &b = open_.front();
    for (uint32_t i = 0; i < bus_; i++)
      if (strobes >> i & 1) bytes[(b.address + b.sent * bus_ + i) % bytes.size()] = data[i];
    if (++b.sent < b.beats) return;
    b.ready = now_ + (options_.random ? rng_() % 30 : 0);
    pending_.push_back(b);
    open_.pop_front();
  }
  // What stands on the bus; held until it is taken.
  Answer *ReadBeat() { return Head(&beats_, &read_held_); }
  Answer *Response() { return Head(&responses_, &response_held_); }
  void PopRead() { beats_.pop_front(), read_held_ = false; }
  void PopResponse() { responses_.pop_front(), response_held_ = false; }
  bool Idle() const {
    return pending_.empty() && beats_.empty() && responses_.empty() && open_.empty();
  }
  uint64_t Answers() const { return answers_; }

  void Tick() {
    if (options_.random) ServeRandom();
    else ServeFixed();
    now_++;
  }

 private:
  Answer *Head(std::deque<Answer> *queue, bool *held) {
    if (queue->empty() || queue->front().visible > now_) return nullptr;
    if (options_.random && !*held && Chance(30)) return nullptr;
    *held = true;
    return &queue->front();
  }
  uint64_t Latency() { return options_.random ? 1 + rng_() % 60 : options_.latency; }
  bool Failed() {
    return static_cast<int64_t>(answers_++) == options_.error_at && !options_.silent;
  }
  bool Silent() const {
    return options_.silent && options_.error_at >= 0 &&
           static_cast<int64_t>(answers_) >= options_.error_at;
  }
  Answer BeatOf(Burst *b, uint64_t visible) {
    Answer a{visible, b->id, b->sent + 1 == b->beats, Failed(), std::vector<uint8_t>(bus_)};
    for (uint32_t i = 0; i < bus_; i++)
      a.data[i] = bytes[(b->address + b->sent * bus_ + i) % bytes.size()];
    b->sent++;
    return a;
  }
  // The bursts that are ready and the oldest of their id and kind.
  std::vector<size_t> Eligible() const {
    std::vector<size_t> ready;
    uint64_t seen = 0;
    for (size_t i = 0; i < pending_.size(); i++) {
      uint64_t bit = UINT64_C(1) << (pending_[i].id + (pending_[i].is_write ? 32 : 0));
      if (!(seen & bit) && pending_[i].ready <= now_) ready.push_back(i);
      seen |= bit;
    }
    return ready;
  }
  void ServeRandom() {  // a beat of any id, if the bus has taken the one before
    std::vector<size_t> ready = Eligible();
    if (ready.empty() || Silent()) return;
    size_t i = ready[rng_() % ready.size()];
    Burst *b = &pending_[i];
    if (b->is_write) {
      responses_.push_back({now_ + 1 + rng_() % 20, b->id, true, Failed(), {}});
      for (size_t k = responses_.size() - 1; k > 0; k--)  // in order
        if (responses_[k].visible < responses_[k - 1].visible)
          responses_[k].visible = responses_[k - 1].visible;
      pending_.erase(pending_.begin() + static_cast<long>(i));
      return;
    }
    if (beats_.size() >= 2) return;
    beats_.push_back(BeatOf(b, now_ + 1));
    if (b->sent == b->beats) pending_.erase(pending_.begin() + static_cast<long>(i));
  }
  void ServeFixed() {
    uint64_t num = options_.rate_num, cost = static_cast<uint64_t>(bus_) * options_.rate_den;
    auto ceil_div = [&](uint64_t a) { return (a + num - 1) / num; };
    while (free_at_ < (now_ + 1) * num && !Silent()) {
      size_t best = pending_.size();
      for (size_t i : Eligible())
        if (best == pending_.size() || pending_[i].ready < pending_[best].ready) best = i;
      if (best == pending_.size()) return;
      Burst b = pending_[best];
      pending_.erase(pending_.begin() + static_cast<long>(best));
      uint64_t start = std::max(free_at_, b.ready * num);
      free_at_ = start + b.beats * cost;
      if (b.is_write) {
        responses_.push_back(
            {ceil_div(free_at_) + options_.write_latency, b.id, true, Failed(), {}});
        continue;
      }
      b.sent = 0;
      for (uint32_t j = 0; j < b.beats; j++)
        beats_.push_back(BeatOf(&b, ceil_div(start + (j + 1) * cost)));
    }
  }

  uint32_t bus_;
  MemoryOptions options_;
  std::mt19937 rng_;
  uint64_t now_ = 0, free_at_ = 0, answers_ = 0;
  std::deque<Burst> pending_, open_;
  std::deque<Answer> beats_, responses_;
  bool read_held_ = false, response_held_ = false;

 public:
  std::vector<uint8_t> bytes;
};

struct Result {
  uint32_t status = 0, error = 0;
  bool hung = false;
  std::vector<uint64_t> counters;
  std::vector<uint32_t> done;
  uint64_t cycles = 0;
};

class Bench {
 public:
  enum { kQueueCounters = 10 };
  enum {
    kStatus = 0x10,
    kError = 0x14,
    kBase = 0x18,
    kCount = 0x1c,
    kMarkBase = 0x20,
    kIrq = 0x24,
    kTimeout = 0x28,
    kSelect = 0x2c,
    kLow = 0x30,
    kHigh = 0x34,
    kDoneSelect = 0x38,
    kDone = 0x3c,
    kControl = 0x0c
  };

  Bench(const MachineKeys &keys, int rand_reset, int seed)
      : keys_(keys), memory(keys.bus, 1 << 20) {
#if VM_COVERAGE  // one model for all benches: it counts as long as it lives
    static std::shared_ptr<VerilatedContext> context;
    static std::shared_ptr<Vwick_accel> model;
    bool is_new = !model;
#else
    std::shared_ptr<VerilatedContext> context;
    std::shared_ptr<Vwick_accel> model;
    bool is_new = true;
#endif
    if (is_new) {
      context.reset(new VerilatedContext);
      context->randReset(rand_reset);
      context->randSeed(seed + 1);
      model.reset(new Vwick_accel{context.get()});
    }
    context_ = context;
    top = model;
    memory.Reset({}, 1);
    top->clk_i = 0;
    top->rst_ni = 0;
    top->s_axil_awvalid_i = top->s_axil_wvalid_i = top->s_axil_arvalid_i = 0;
    top->s_axil_bready_i = top->s_axil_rready_i = 1;
    top->eval();
    for (int i = 0; i < 4; i++) Cycle();
    top->rst_ni = 1;
    Cycle();
  }

  ~Bench() {  // the model looks for its context in the thread's, which may be another one's
    Verilated::threadContextp(context_.get());
    top.reset();
  }
#if VM_COVERAGE
  void WriteCoverage() { context_->coveragep()->write("coverage.dat"); }
#endif

  int CounterCount() const { return GetTables().plain_counters + 6 * kQueueCounters; }
  uint64_t Now() const { return cycle_; }

  void Write(uint32_t offset, uint32_t value) {
    bool address = true, data = true;
    top->s_axil_awaddr_i = offset;
    top->s_axil_wdata_i = value;
    top->s_axil_wstrb_i = 0xf;
    while (address || data) {
      top->s_axil_awvalid_i = address && (!data || cycle_ % 3);  // data sometimes comes first
      top->s_axil_wvalid_i = data && (!address || cycle_ % 2);
      bool a = top->s_axil_awvalid_i && top->s_axil_awready_o,
           d = top->s_axil_wvalid_i && top->s_axil_wready_o;
      Cycle();
      address &= !a, data &= !d;
    }
    top->s_axil_awvalid_i = top->s_axil_wvalid_i = 0;
    while (!top->s_axil_bvalid_o) Cycle();
    Cycle();
  }
  uint32_t Read(uint32_t offset) {
    top->s_axil_araddr_i = offset;
    top->s_axil_arvalid_i = 1;
    while (!top->s_axil_arready_o) Cycle();
    Cycle();
    top->s_axil_arvalid_i = 0;
    while (!top->s_axil_rvalid_o) Cycle();
    uint32_t value = top->s_axil_rdata_o;
    Cycle();
    return value;
  }

  // Runs `count` commands at `base`; `mark_base` as given.
  Result Run(uint32_t base, uint32_t count, uint32_t mark_base, uint32_t timeout, uint64_t limit) {
    Result r;
    for (auto &e : starts) e.clear();
    for (auto &e : retired) e.clear();
    starts.resize(6), retired.resize(6);
    Write(kBase, base);
    Write(kCount, count);
    Write(kMarkBase, mark_base);
    Write(kTimeout, timeout);
    Write(kIrq, 3);
    uint64_t begin = cycle_;
    Write(kControl, 1);
    while (!top->irq_o && cycle_ - begin < limit) Cycle();
    r.hung = !top->irq_o;
    r.status = Read(kStatus);
    r.error = Read(kError);
    for (int i = 0; i < CounterCount(); i++) {
      Write(kSelect, i);
      uint64_t low = Read(kLow);
      r.counters.push_back(low | static_cast<uint64_t>(Read(kHigh)) << 32);
    }
    for (int q = 0; q < keys_.Queues(); q++) Write(kDoneSelect, q), r.done.push_back(Read(kDone));
    r.cycles = r.counters[GetTables().counters.at("cycles")];
    return r;
  }

  void Cycle() {
    Drive();
    top->eval();
    if (top->rst_ni) Take();
    else if (cycle_) was_awake |= IsAwake();
    top->clk_i = 1;
    top->eval();
    top->clk_i = 0;
    top->eval();
    memory.Tick();
    cycle_++;
  }

  MemoryOptions options;  // ready signals follow options.random
  std::string violation;
  bool was_awake = false;  // something was valid in reset, after its first cycle
  std::vector<std::deque<uint64_t>> starts, retired;  // cycles, per queue

 private:
  bool IsAwake() const {
    return top->s_axil_bvalid_o || top->s_axil_rvalid_o || top->m_axi_arvalid_o ||
           top->m_axi_awvalid_o || top->m_axi_wvalid_o || top->irq_o || top->event_start_o ||
           top->event_done_o;
  }
  void Drive() {
    bool r = options.random;
    top->m_axi_arready_i = !r || memory.Chance(60);
    top->m_axi_awready_i = !r || memory.Chance(60);
    top->m_axi_wready_i = !open_.empty() && (!r || memory.Chance(60));
    Memory::Answer *a = memory.ReadBeat();
    top->m_axi_rvalid_i = a != nullptr;
    if (a) {
      top->m_axi_rid_i = a->id;
      top->m_axi_rresp_i = a->error ? 2 : 0;
      top->m_axi_rlast_i = a->last;
      std::memcpy(&top->m_axi_rdata_i, a->data.data(), keys_.bus);
    } else if (r) {
      top->m_axi_rid_i = memory.Chance(50);
      std::memset(&top->m_axi_rdata_i, 0xa5, keys_.bus);
    }
    a = memory.Response();
    top->m_axi_bvalid_i = a != nullptr;
    if (a) top->m_axi_bid_i = a->id, top->m_axi_bresp_i = a->error ? 2 : 0;
  }

  void Fail(const std::string &what) {
    if (violation.empty()) violation = "cycle " + std::to_string(cycle_) + ": " + what;
  }
  struct Held {
    bool waiting = false;
    std::vector<uint64_t> payload;
  };
  void Stable(const char *channel, Held *h, bool valid, bool ready, std::vector<uint64_t> payload) {
    if (h->waiting && !valid) Fail(std::string(channel) + " valid taken back");
    if (h->waiting && valid && payload != h->payload)
      Fail(std::string(channel) + " payload changed");
    h->waiting = valid && !ready;
    h->payload = std::move(payload);
  }
  void CheckRequest(const char *channel, uint32_t address, uint32_t beats, uint32_t size,
                    uint32_t burst) {
    uint32_t bytes = beats * keys_.bus;
    if (address % keys_.bus) Fail(std::string(channel) + " address");
    if (address / 4096 != (address + bytes - 1) / 4096)
      Fail(std::string(channel) + " crosses 4 KiB");
    if (address / keys_.burst != (address + bytes - 1) / keys_.burst)
      Fail(std::string(channel) + " longer than a burst");
    if (1u << size != keys_.bus || burst != 1) Fail(std::string(channel) + " size or kind");
  }
  void Take() {
    std::vector<uint64_t> w{top->m_axi_wstrb_o, top->m_axi_wlast_o};
    for (uint32_t i = 0; i < keys_.bus / 8; i++) {
      uint64_t word;
      std::memcpy(&word, reinterpret_cast<const uint8_t *>(&top->m_axi_wdata_o) + 8 * i, 8);
      w.push_back(word);
    }
    Stable("AR", &ar_, top->m_axi_arvalid_o, top->m_axi_arready_i,
           {top->m_axi_araddr_o, top->m_axi_arlen_o, top->m_axi_arid_o});
    Stable("AW", &aw_, top->m_axi_awvalid_o, top->m_axi_awready_i,
           {top->m_axi_awaddr_o, top->m_axi_awlen_o, top->m_axi_awid_o});
    Stable("W", &w_, top->m_axi_wvalid_o, top->m_axi_wready_i, w);
    if (top->m_axi_rvalid_i && top->m_axi_rready_o) {
      Memory::Answer *a = memory.ReadBeat();
      if (a->last) flight_[a->id]--;
      memory.PopRead();
    }
    if (top->m_axi_bvalid_i && top->m_axi_bready_o) memory.PopResponse();
    if (top->m_axi_wvalid_o && top->m_axi_wready_i) {
      uint8_t data[64];
      std::memcpy(data, &top->m_axi_wdata_o, keys_.bus);
      memory.WriteBeat(data, top->m_axi_wstrb_o);
      bool last = --open_.front() == 0;
      if (last != static_cast<bool>(top->m_axi_wlast_o)) Fail("W last");
      if (last) open_.pop_front();
    }
    if (top->m_axi_arvalid_o && top->m_axi_arready_i) {
      uint32_t beats = top->m_axi_arlen_o + 1u, id = top->m_axi_arid_o;
      CheckRequest("AR", top->m_axi_araddr_o, beats, top->m_axi_arsize_o, top->m_axi_arburst_o);
      if (id > keys_.load_channels) Fail("AR id");
      if (++flight_[id] > keys_.bursts && id)
        Fail("more read bursts than the channel may keep in flight");
      memory.Read(id, top->m_axi_araddr_o, beats);
    }
    if (top->m_axi_awvalid_o && top->m_axi_awready_i) {
      uint32_t beats = top->m_axi_awlen_o + 1u;
      CheckRequest("AW", top->m_axi_awaddr_o, beats, top->m_axi_awsize_o, top->m_axi_awburst_o);
      if (top->m_axi_awid_o > 1) Fail("AW id");
      memory.WriteRequest(top->m_axi_awid_o, top->m_axi_awaddr_o, beats);
      open_.push_back(beats);
    }
    for (int q = 0; q < keys_.Queues(); q++) {
      if (static_cast<size_t>(q) >= starts.size()) break;
      if (top->event_start_o >> q & 1) starts[q].push_back(cycle_);
      if (top->event_done_o >> q & 1) retired[q].push_back(cycle_);
    }
  }

  const MachineKeys &keys_;

 public:
  Memory memory;

 private:
  std::shared_ptr<VerilatedContext> context_;

 public:
  std::shared_ptr<Vwick_accel> top;

 private:
  uint64_t cycle_ = 0;
  Held ar_, aw_, w_;
  std::deque<uint32_t> open_;
  uint32_t flight_[16] = {};
};

#endif
