// SPDX-License-Identifier: Apache-2.0
// Utilisation of the reference layers, and how fast the model runs.
#ifndef WICK_EXEC_FIGURES_H
#define WICK_EXEC_FIGURES_H

#include <ctime>

#include "exec_draw.h"

bool check(Machine &dut, std::vector<Command> &list, const std::vector<uint8_t> &memory,
           const char *what, Result *result = nullptr);

inline std::vector<Command> layer(int64_t taps, int64_t blocks, std::vector<uint8_t> &memory) {
  std::vector<Command> list;
  int64_t size = 14, pad = taps / 2, image = size * size * N, in = N == 32 ? 524288 : 65536;
  uint32_t par = make_record(memory, 20);
  for (int64_t o = 0; o < 8; o++) {
    list.push_back(conv({{"in", in - pad * (size + 1) * N}, {"in_x", N}, {"in_y", size * N},
                         {"k_x", N}, {"k_y", size * N}, {"k_c", taps == 1 ? 0 : image},
                         {"ny", size}, {"nx", size}, {"ky", taps}, {"kx", taps}, {"kc", blocks},
                         {"pad_t", pad}, {"pad_l", pad}, {"h", size}, {"w", size}, {"wt", 0},
                         {"acc", o % 2 * ACC / 2}, {"drain", 1}, {"par", par},
                         {"out", (N == 32 ? 262144 : in + 33 * image) + o % 2 * image},
                         {"out_y", size * N}}));
  }
  return list;
}

inline void peak(Machine &dut) {
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
    list.push_back(conv({{"in", 32768 + (bottom ? 13 * 28 - 1 : -29) * N}, {"in_x", N},
                         {"in_y", 28 * N}, {"k_x", N}, {"k_y", 28 * N}, {"ky", 3}, {"kx", 3},
                         {"ny", 14}, {"nx", 28}, {"pad_t", bottom ? 0 : 1}, {"pad_l", 1},
                         {"h", bottom ? 15 : 28}, {"w", 28}, {"wt", 0}, {"acc", bottom * ACC / 2},
                         {"out", 4 * 32768 + bottom * 392 * N}, {"out_y", 28 * N}, {"drain", 1},
                         {"par", par}},
                        OP_DWC));
  }
  Result r;
  check(dut, list, memory, "depthwise", &r);
  uint64_t cycles = r.done.back() - r.start[0];
  printf("depthwise 3x3 28x28x%d: %llu cycles, %.1f multiplications a cycle\n", 12 * N,
         (unsigned long long)cycles, (double)r.macs / (double)cycles);
}

inline void speed(Machine &dut) {
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
  printf("%.0f kHz, array busy %.1f %%\n", (double)cycles / s / 1000,
         100.0 * (double)busy / (double)cycles);
}

#endif
