// SPDX-License-Identifier: Apache-2.0
// Watches the AXI4 port of the machine for violations of the protocol by the machine: valid taken
// back or payload changed before ready, bursts that are too long or cross 4 KiB, addresses off the
// bus grid, write data without a request or with `last` in the wrong place.
#ifndef WICK_SIM_VERILATED_MONITOR_H
#define WICK_SIM_VERILATED_MONITOR_H

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>

class AxiMonitor {
 public:
  explicit AxiMonitor(uint32_t bus) : bus_(bus) {}

  const char *Violation() const { return text_; }  // the first one; "": none
  // Some write request waits for data.
  bool WritesOpen() const { return !open_.empty(); }

  template <class Top>
  void Check(const Top &top, uint64_t cycle) {
    CheckRequest("AR", top.m_axi_arvalid_o, top.m_axi_arready_i, top.m_axi_araddr_o,
                 top.m_axi_arlen_o, top.m_axi_arid_o, &ar_, cycle);
    CheckRequest("AW", top.m_axi_awvalid_o, top.m_axi_awready_i, top.m_axi_awaddr_o,
                 top.m_axi_awlen_o, top.m_axi_awid_o, &aw_, cycle);
    CheckData(top, cycle);
    if (top.m_axi_awvalid_o && top.m_axi_awready_i) open_.push_back(top.m_axi_awlen_o + 1u);
  }

 private:
  struct Held {
    bool waiting = false;
    uint64_t payload = 0;
  };

  void Report(const char *channel, const char *what, uint64_t cycle) {
    if (!text_[0])
      std::snprintf(text_, sizeof text_, "cycle %" PRIu64 ": %s %s", cycle, channel, what);
  }

  void CheckHeld(const char *channel, bool valid, bool ready, uint64_t payload, Held *held,
                 uint64_t cycle) {
    if (held->waiting && !valid) Report(channel, "valid was taken back", cycle);
    if (held->waiting && valid && payload != held->payload)
      Report(channel, "payload changed before it was taken", cycle);
    held->waiting = valid && !ready;
    held->payload = payload;
  }

  void CheckRequest(const char *channel, bool valid, bool ready, uint32_t address, uint32_t length,
                    uint32_t id, Held *held, uint64_t cycle) {
    if (!valid && !held->waiting) return;
    CheckHeld(channel, valid, ready, address | static_cast<uint64_t>(length) << 32 |
              static_cast<uint64_t>(id) << 40, held, cycle);
    if (!valid) return;
    uint32_t bytes = (length + 1) * bus_;
    if (address % bus_) Report(channel, "address is no multiple of the bus", cycle);
    if (address / 4096 != (address + bytes - 1) / 4096)
      Report(channel, "burst crosses 4 KiB", cycle);
  }

  template <class Top>
  void CheckData(const Top &top, uint64_t cycle) {
    if (!top.m_axi_wvalid_o && !w_.waiting) return;
    uint64_t payload = top.m_axi_wstrb_o * 2 + top.m_axi_wlast_o;
    uint8_t data[64];
    std::memcpy(data, &top.m_axi_wdata_o, bus_);
    for (uint32_t i = 0; top.m_axi_wvalid_o && i < bus_; i++)
      payload = payload * 1099511628211u ^ data[i];
    CheckHeld("W", top.m_axi_wvalid_o, top.m_axi_wready_i, payload, &w_, cycle);
    if (!top.m_axi_wvalid_o || !top.m_axi_wready_i) return;
    if (open_.empty()) {
      Report("W", "data without a request", cycle);
      return;
    }
    bool last = --open_.front() == 0;
    if (last != static_cast<bool>(top.m_axi_wlast_o))
      Report("W", "last is in the wrong place", cycle);
    if (last) open_.pop_front();
  }

  uint32_t bus_;
  char text_[160] = "";
  Held ar_, aw_, w_;
  std::deque<uint32_t> open_;  // beats still to come, per write request
};

#endif
