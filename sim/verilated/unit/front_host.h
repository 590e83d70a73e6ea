// SPDX-License-Identifier: Apache-2.0
// Tests of the registers as a host sees them (docs/isa.md): after reset, read and written, with a
// host that takes its time, and the interrupt.
#ifndef WICK_SIM_VERILATED_UNIT_FRONT_HOST_H
#define WICK_SIM_VERILATED_UNIT_FRONT_HOST_H

#include "sim/verilated/unit/front_bench.h"

class HostTest {
 public:
  explicit HostTest(const MachineKeys &keys) : keys_(keys) {}

  int Run() {
    for (int seed = 0; seed < 8; seed++) Reset(seed);
    Registers();
    ReadSlowly();
    WriteSlowly();
    Interrupt();
    return failures_;
  }

 private:
  struct Register {
    uint32_t offset, mask;  // the bits that keep what is written
  };
  static constexpr Register kWritable[] = {
      {Bench::kBase, ~63u},        {Bench::kCount, ~0u},  {Bench::kMarkBase, ~1023u},
      {Bench::kIrq, 1},            {Bench::kTimeout, ~0u}, {Bench::kSelect, ~0u},
      {Bench::kDoneSelect, ~0u}};

  void Check(bool ok, const char *what, uint32_t where = 0, uint32_t got = 0) {
    if (ok) return;
    std::printf("host: %s, at %x: %x\n", what, where, got);
    failures_++;
  }
  void CheckRead(Bench *b, uint32_t offset, uint32_t want, const char *what) {
    uint32_t got = b->Read(offset);
    Check(got == want, what, offset, got);
  }

  // Whatever registers held before.
  void Reset(int seed) {
    Bench b(keys_, 2, seed);
    Vwick_accel *t = b.top.get();
    Check(!b.was_awake, "nothing is valid in reset");
    Check(!t->s_axil_bvalid_o && !t->s_axil_rvalid_o, "no response after reset");
    Check(t->s_axil_awready_o && t->s_axil_wready_o && t->s_axil_arready_o, "ready after reset");
    for (const Register &r : kWritable) CheckRead(&b, r.offset, 0, "after reset");
    for (uint32_t offset : {Bench::kControl, Bench::kStatus, Bench::kError})
      CheckRead(&b, offset, 0, "after reset");
    for (int q = 0; q < 8; q++) {
      b.Write(Bench::kDoneSelect, q);
      CheckRead(&b, Bench::kDone, 0, "nothing has retired");
    }
  }

  void Registers() {
    Bench b(keys_, 2, 20);
    std::vector<uint32_t> fixed;
    const uint32_t read_only[] = {0, 4, 8, Bench::kStatus, Bench::kError, Bench::kDone};
    for (uint32_t offset : read_only) fixed.push_back(b.Read(offset));
    Check(fixed[0] == 0x5749434b, "ID", 0, fixed[0]);
    std::vector<uint32_t> values = {0, ~0u & ~2u, 0xa5a5a5a5, 0x5a5a5a58};
    for (int bit = 0; bit < 32; bit++) values.push_back(1u << bit);
    for (uint32_t value : values) {
      for (const Register &r : kWritable) b.Write(r.offset, value ^ r.offset);
      for (uint32_t offset : read_only) b.Write(offset, value);
      b.Write(Bench::kControl, value & ~1u);
      for (uint32_t offset = 0x40; offset < 0x100; offset += 4) b.Write(offset, value);
      for (const Register &r : kWritable)
        CheckRead(&b, r.offset, (value ^ r.offset) & r.mask, "read back");
      b.Write(Bench::kDoneSelect, 0);
      for (size_t i = 0; i < fixed.size(); i++)
        CheckRead(&b, read_only[i], fixed[i], "cannot be written");
    }
    for (uint32_t offset = 0x40; offset < 0x100; offset += 4)
      CheckRead(&b, offset, 0, "no register");
  }

  // A response waits for the host, and the next request for the response.
  void ReadSlowly() {
    Bench b(keys_, 2, 21);
    Vwick_accel *t = b.top.get();
    b.Write(Bench::kSelect, 5);
    t->s_axil_rready_i = 0;
    t->s_axil_araddr_i = Bench::kSelect;
    t->s_axil_arvalid_i = 1;
    b.Cycle();
    t->s_axil_araddr_i = Bench::kTimeout;  // the next one, which stands there
    b.Write(Bench::kSelect, 9);
    for (int i = 0; i < 5; i++) {
      Check(t->s_axil_rvalid_o && !t->s_axil_arready_o && t->s_axil_rdata_o == 5, "held", i,
            t->s_axil_rdata_o);
      b.Cycle();
    }
    t->s_axil_arvalid_i = 0;
    t->s_axil_rready_i = 1;
    b.Cycle();
    for (int i = 0; i < 3; i++, b.Cycle())
      Check(!t->s_axil_rvalid_o && t->s_axil_arready_o, "one response for one read", i);
  }

  void WriteSlowly() {
    Bench b(keys_, 2, 22);
    Vwick_accel *t = b.top.get();
    t->s_axil_bready_i = 0;
    Offer(&b, Bench::kSelect, 5);
    for (int i = 0; i < 3; i++) b.Cycle();
    Check(t->s_axil_bvalid_o, "a response");
    Offer(&b, Bench::kTimeout, 77);
    for (int i = 0; i < 5; i++, b.Cycle()) Check(t->s_axil_bvalid_o, "held", i);
    CheckRead(&b, Bench::kSelect, 5, "written");
    CheckRead(&b, Bench::kTimeout, 0, "waits for the response before it");
    Check(!t->s_axil_awready_o && !t->s_axil_wready_o, "one request waits, no more");
    t->s_axil_bready_i = 1;
    for (int i = 0; i < 4; i++) b.Cycle();
    Check(!t->s_axil_bvalid_o && t->s_axil_awready_o && t->s_axil_wready_o, "all is taken");
    CheckRead(&b, Bench::kTimeout, 77, "written at last");
    // Data long before or after its address, while another address or other data stand there.
    for (bool address_first : {false, true}) {
      Hold(&b, address_first, Bench::kSelect, 0x111);
      Hold(&b, !address_first, Bench::kCount, 0x222);
      CheckRead(&b, Bench::kSelect, 0x111, "address and data belong together");
      CheckRead(&b, Bench::kCount, 0x222, "address and data belong together");
    }
  }
  // Both halves of a write for a cycle in which they are taken.
  static void Offer(Bench *b, uint32_t offset, uint32_t value) {
    Vwick_accel *t = b->top.get();
    t->s_axil_awaddr_i = offset;
    t->s_axil_wdata_i = value;
    t->s_axil_awvalid_i = t->s_axil_wvalid_i = 1;
    b->Cycle();
    t->s_axil_awvalid_i = t->s_axil_wvalid_i = 0;
  }
  static void Hold(Bench *b, bool address_first, uint32_t offset, uint32_t value) {
    Vwick_accel *t = b->top.get();
    CData *first = address_first ? &t->s_axil_awvalid_i : &t->s_axil_wvalid_i;
    CData *second = address_first ? &t->s_axil_wvalid_i : &t->s_axil_awvalid_i;
    t->s_axil_awaddr_i = offset;
    t->s_axil_wdata_i = value;
    *first = 1;
    b->Cycle();
    if (address_first) t->s_axil_awaddr_i = Bench::kTimeout;  // of a request that is not taken
    else t->s_axil_wdata_i = 0x999;
    for (int i = 0; i < 4; i++) b->Cycle();
    *first = 0;
    *second = 1;
    b->Cycle();
    *second = 0;
    for (int i = 0; i < 4; i++) b->Cycle();
  }

  // Pending whether it is enabled or not, until a 1 is written to its bit.
  void Interrupt() {
    Bench b(keys_, 2, 23);
    Command end = Make("END", 0, {});
    std::copy(end.begin(), end.end(), &b.memory.bytes[0]);
    b.memory.Reset({}, 1);
    b.Write(Bench::kCount, 1);
    b.Write(Bench::kControl, 1);
    for (int i = 0; i < 2000 && b.Read(Bench::kStatus) != 2; i++)
      Check(!b.top->irq_o, "not enabled");
    CheckRead(&b, Bench::kStatus, 2, "done");
    CheckRead(&b, Bench::kIrq, 2, "pending");
    Check(!b.top->irq_o, "not enabled");
    b.Write(Bench::kIrq, 1);
    CheckRead(&b, Bench::kIrq, 3, "pending and enabled");
    Check(b.top->irq_o, "enabled");
    b.Write(Bench::kSelect, 2);
    b.Write(Bench::kIrq, 0);
    CheckRead(&b, Bench::kIrq, 2, "still pending");
    Check(!b.top->irq_o, "not enabled any more");
    b.Write(Bench::kIrq, 3);
    CheckRead(&b, Bench::kIrq, 1, "cleared");
    Check(!b.top->irq_o, "cleared");
  }

  const MachineKeys &keys_;
  int failures_ = 0;
};

#endif
