// SPDX-License-Identifier: Apache-2.0
// The Verilated top `wick_accel` with the memory of targets/accel/model/dram.h on its AXI4 port and
// a host on its AXI-Lite port, behind the interface of sim/model.h.
//
// Time begins with the cycle before the first request of the machine.
//
// A cycle: the memory's answers and the monitors' readings of the present cycle are put on the
// inputs while the clock is low, the outputs settle, handshakes are carried out, then the clock
// rises and the memory ticks. In a waveform a cycle takes a nanosecond, so that times are cycles,
// and begins with the rising edge; the memory's answers come with the falling one.
#include <verilated.h>
#if VM_COVERAGE
#include <verilated_cov.h>
#endif

#include <cstdio>
#include <cstring>
#include <memory>

#include "Vwick_accel.h"
#include "sim/model.h"
#include "sim/verilated/monitor.h"
#include "sim/verilated/registers.h"
#if WICK_PROBE
#include "Vwick_accel__Dpi.h"
#endif
#if VM_TRACE
#include <verilated_fst_c.h>
#endif

#if WICK_PROFILE
// Of clang's profile runtime. The variable stands for the part of it that would write a file when
// the process ends.
extern "C" {
int __llvm_profile_runtime;
void __llvm_profile_set_filename(const char *path);
int __llvm_profile_write_file(void);
}
#endif

namespace {

class Stalls {  // xorshift: whether the bus is ready in a cycle
 public:
  explicit Stalls(uint64_t seed) : state_(seed * 2654435761u + 88172645463325252u) {}
  bool Draw(bool enabled) {
    if (!enabled) return false;
    state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
    return (state_ >> 32 & 3) == 0;
  }

 private:
  uint64_t state_;
};

// The Verilated top. With coverage, one of them serves all benches: it counts as long as it lives.
struct Model {
  explicit Model(const wk_sim_options &options) : context(new VerilatedContext) {
    static const int kRandReset[] = {0, 1, 2};  // WK_SIM_RESET_ZEROS, ONES, RANDOM
    context->randReset(kRandReset[options.reset]);
    context->randSeed(static_cast<int>(options.seed % 0x7fffffff) + 1);
    context->traceEverOn(options.wave != nullptr);
    top.reset(new Vwick_accel{context.get()});
  }
  ~Model() {
    Verilated::threadContextp(context.get());  // the destructor of the top looks it up there
    top->final();
  }

  std::unique_ptr<VerilatedContext> context;
  std::unique_ptr<Vwick_accel> top;
};

#if WICK_PROFILE
void WriteCounts(const char *path) {
  __llvm_profile_set_filename(path);
  __llvm_profile_write_file();
}
#elif !VM_COVERAGE
constexpr void (*WriteCounts)(const char *) = nullptr;
#endif

#if VM_COVERAGE
std::shared_ptr<Model> counted;
std::shared_ptr<Model> NewModel(const wk_sim_options &options) {
  if (!counted) counted.reset(new Model(options));
  return counted;
}
void WriteCounts(const char *path) {
  if (counted) counted->context->coveragep()->write(path);
}
#else
std::shared_ptr<Model> NewModel(const wk_sim_options &options) {
  return std::shared_ptr<Model>(new Model(options));
}
#endif

class Bench {
 public:
  explicit Bench(const wk_sim_options &options);
  ~Bench();
  void Run(const wk_sim_job &job, wk_sim_result *result);
  void Access(int port, bool writes, uint32_t address, uint64_t lanes) const {
    if (options_.access) options_.access(options_.context, port, writes, address, lanes);
  }

 private:
  void Cycle();
  void DriveAnswers();
  void TakeRequests();
  void TakeEvents();
  void Write(uint32_t offset, uint32_t value);
  uint32_t Read(uint32_t offset);
  void Reset();
  void Readout(wk_sim_result *result);

  wk_sim_options options_;
  const wk_dram_api dram_api_;
  std::shared_ptr<Model> model_;
  Vwick_accel *top_;
  wk_dram *dram_;
  AxiMonitor monitor_;
  Stalls stalls_;
  uint64_t cycle_ = 0, start_ = 0;
  bool started_ = false;
  uint32_t ordinal_[2][WK_SIM_QUEUES] = {};
#if VM_TRACE
  std::unique_ptr<VerilatedFstC> wave_;
#endif
};

// Whose clock rises: the probe in the RTL does not know.
thread_local const Bench *rising;

Bench::Bench(const wk_sim_options &options)
    : options_(options), dram_api_(*options.dram_api), model_(NewModel(options)),
      top_(model_->top.get()), monitor_(options.dram.bus), stalls_(options.seed) {
  dram_ = dram_api_.create(&options_.dram, options_.memory);
#if VM_TRACE
  if (options.wave) {
    wave_.reset(new VerilatedFstC);
    wave_->set_time_unit("100ps");
    wave_->set_time_resolution("100ps");
    top_->trace(wave_.get(), 99);
    wave_->open(options.wave);
  }
#endif
  Reset();
}

Bench::~Bench() {
#if VM_TRACE
  if (wave_) wave_->close();
#endif
  dram_api_.destroy(dram_);
}

void Bench::Reset() {
  top_->clk_i = 0;
  top_->rst_ni = 0;
  top_->s_axil_awvalid_i = top_->s_axil_wvalid_i = top_->s_axil_arvalid_i = 0;
  top_->s_axil_bready_i = top_->s_axil_rready_i = 1;
  top_->eval();
  for (int i = 0; i < 4; i++) Cycle();
  top_->rst_ni = 1;
  Cycle();
}

void Bench::DriveAnswers() {
  wk_dram_beat beat;
  uint8_t id, resp;
  bool room = dram_api_.can_request(dram_);
  top_->m_axi_arready_i = room && !stalls_.Draw(options_.stalls);
  top_->m_axi_awready_i = room && !stalls_.Draw(options_.stalls);
  top_->m_axi_wready_i = monitor_.WritesOpen() && !stalls_.Draw(options_.stalls);
  top_->m_axi_rvalid_i = dram_api_.read_beat(dram_, &beat);
  if (top_->m_axi_rvalid_i) {
    top_->m_axi_rid_i = beat.id;
    top_->m_axi_rresp_i = beat.resp;
    top_->m_axi_rlast_i = beat.last;
    std::memcpy(&top_->m_axi_rdata_i, beat.data, options_.dram.bus);
  }
  top_->m_axi_bvalid_i = dram_api_.response(dram_, &id, &resp);
  if (top_->m_axi_bvalid_i) top_->m_axi_bid_i = id, top_->m_axi_bresp_i = resp;
}

void Bench::TakeRequests() {
  uint8_t data[64];
  monitor_.Check(*top_, cycle_ - start_);
  if (top_->m_axi_rvalid_i && top_->m_axi_rready_o) dram_api_.pop_read(dram_);
  if (top_->m_axi_bvalid_i && top_->m_axi_bready_o) dram_api_.pop_response(dram_);
  if (top_->m_axi_arvalid_o && top_->m_axi_arready_i)
    dram_api_.read(dram_, top_->m_axi_arid_o, top_->m_axi_araddr_o, top_->m_axi_arlen_o + 1u);
  if (top_->m_axi_awvalid_o && top_->m_axi_awready_i)
    dram_api_.write(dram_, top_->m_axi_awid_o, top_->m_axi_awaddr_o, top_->m_axi_awlen_o + 1u);
  if (top_->m_axi_wvalid_o && top_->m_axi_wready_i) {
    std::memcpy(data, &top_->m_axi_wdata_o, options_.dram.bus);
    dram_api_.write_beat(dram_, data, top_->m_axi_wstrb_o);
  }
}

void Bench::TakeEvents() {
  uint32_t started = top_->event_start_o, retired = top_->event_done_o;
  if (!options_.event || !(started | retired)) return;
  for (int kind = 0; kind < 2; kind++)  // retirements first
    for (int q = 0; q < WK_SIM_QUEUES; q++)
      if ((kind ? started : retired) >> q & 1)
        options_.event(options_.context, cycle_ - start_, q, ordinal_[kind][q]++, kind == 0);
}

void Bench::Cycle() {
  DriveAnswers();
  top_->eval();
  if (top_->rst_ni) {
    TakeRequests();
    TakeEvents();
  }
#if VM_TRACE
  uint64_t t = cycle_ - start_;
  bool shown = wave_ && started_ && t >= options_.wave_from && t <= options_.wave_to;
  if (shown) wave_->dump(10 * t + 5);
#endif
  rising = this;
  top_->clk_i = 1;
  top_->eval();
#if VM_TRACE
  if (shown) wave_->dump(10 * t + 10);
#endif
  top_->clk_i = 0;
  dram_api_.tick(dram_);
  cycle_++;
}

// ---- host --------------------------------------------------------------------------------------

void Bench::Write(uint32_t offset, uint32_t value) {
  bool address = true, data = true;
  top_->s_axil_awaddr_i = offset;
  top_->s_axil_wdata_i = value;
  top_->s_axil_wstrb_i = 0xf;
  top_->s_axil_bready_i = 1;
  while (address || data) {
    top_->s_axil_awvalid_i = address;
    top_->s_axil_wvalid_i = data;
    top_->eval();
    bool address_taken = top_->s_axil_awready_o, data_taken = top_->s_axil_wready_o;
    Cycle();
    if (address_taken) address = false;
    if (data_taken) data = false;
  }
  top_->s_axil_awvalid_i = top_->s_axil_wvalid_i = 0;
  top_->eval();
  while (!top_->s_axil_bvalid_o) Cycle(), top_->eval();
  Cycle();
}

uint32_t Bench::Read(uint32_t offset) {
  bool taken = false;
  top_->s_axil_araddr_i = offset;
  top_->s_axil_arvalid_i = 1;
  top_->s_axil_rready_i = 1;
  while (!taken) {
    top_->eval();
    taken = top_->s_axil_arready_o;
    Cycle();
  }
  top_->s_axil_arvalid_i = 0;
  top_->eval();
  while (!top_->s_axil_rvalid_o) Cycle(), top_->eval();
  uint32_t value = top_->s_axil_rdata_o;
  Cycle();
  return value;
}

void Bench::Readout(wk_sim_result *result) {
  result->status = Read(WICK_ACCEL_REG_STATUS);
  result->error = Read(WICK_ACCEL_REG_ERROR);
  result->config =
      Read(WICK_ACCEL_REG_CONFIG_LO) | static_cast<uint64_t>(Read(WICK_ACCEL_REG_CONFIG_HI)) << 32;
  for (uint32_t i = 0; i < WK_SIM_COUNTERS; i++) {
    Write(WICK_ACCEL_REG_COUNTER_SELECT, i);
    result->counters[i] = Read(WICK_ACCEL_REG_COUNTER_LO);
    result->counters[i] |= static_cast<uint64_t>(Read(WICK_ACCEL_REG_COUNTER_HI)) << 32;
  }
  for (uint32_t q = 0; q < WK_SIM_QUEUES; q++) {
    Write(WICK_ACCEL_REG_DONE_SELECT, q);
    result->done[q] = Read(WICK_ACCEL_REG_DONE);
  }
}

void Bench::Run(const wk_sim_job &job, wk_sim_result *result) {
  *result = {};
  std::memset(ordinal_, 0, sizeof ordinal_);
  dram_api_.reset(dram_);
  Write(WICK_ACCEL_REG_BASE, job.base);
  Write(WICK_ACCEL_REG_COUNT, job.count);
  Write(WICK_ACCEL_REG_MARK_BASE, job.mark_base);
  Write(WICK_ACCEL_REG_TIMEOUT, job.timeout);
  Write(WICK_ACCEL_REG_IRQ, 3);
  started_ = false;
  start_ = cycle_;
  Write(WICK_ACCEL_REG_CONTROL, 1);
  while (!top_->irq_o) {
    Cycle();
    if (!started_ && top_->m_axi_arvalid_o) {  // offered, not taken: this cycle is 1
      started_ = true;
      start_ = cycle_ - 1;
      dram_api_.reset(dram_);
      dram_api_.tick(dram_);
    }
    if (job.max_cycles && cycle_ - start_ >= job.max_cycles) {
      result->gave_up = true;
      break;
    }
  }
  Readout(result);
  result->cycles = result->counters[WICK_ACCEL_COUNTER_CYCLES];
  std::snprintf(result->violation, sizeof result->violation, "%s", monitor_.Violation());
}

void *Open(const wk_sim_options *options) { return new Bench(*options); }
void RunModel(void *state, const wk_sim_job *job, wk_sim_result *result) {
  static_cast<Bench *>(state)->Run(*job, result);
}
void Close(void *state) { delete static_cast<Bench *>(state); }

}  // namespace

#if WICK_PROBE
extern "C" void wick_spm_access(int port, svBit writes, int address, long long lanes) {
  rising->Access(port, writes, static_cast<uint32_t>(address), static_cast<uint64_t>(lanes));
}
#endif

#if WICK_TUNED
constexpr char kBuild[] = "tuned";
#else
constexpr char kBuild[] = "plain";
#endif

extern "C" __attribute__((visibility("default"))) const wk_sim_model wick_rtl_model;
const wk_sim_model wick_rtl_model = {WK_SIM_ABI, "rtl", kBuild, Open,
                                     RunModel, Close, WriteCounts};
