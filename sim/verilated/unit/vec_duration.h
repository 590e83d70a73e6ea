// SPDX-License-Identifier: Apache-2.0
// How long a command of the vector engine lasts when no access of it is denied (see wick_vec.sv).
#ifndef WICK_VEC_DURATION_H
#define WICK_VEC_DURATION_H

#include <algorithm>
#include <cstdint>

#include "vec_commands.h"

constexpr int Start = 1, Latency = 6, Divide = 19, NormLatency = 8, Root = 34, Depth = 6;

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

#endif
