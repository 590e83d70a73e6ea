// SPDX-License-Identifier: Apache-2.0
// Commands of the vector engine: their fields, from isa.def, and their encoding.
#ifndef WICK_VEC_COMMANDS_H
#define WICK_VEC_COMMANDS_H

#include <cstdint>
#include <cstring>
#include <map>
#include <string>

constexpr int N = VEC_N;
constexpr int Tables = VEC_TABLES;
constexpr int64_t Spm = VEC_SPM;

struct Place {
  int lsb, bits;
};

// "MAP.a0" -> where it lies; "" + name: the header. Opcodes as "MAP".
inline std::map<std::string, Place> layout() {
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
inline const std::map<std::string, Place> Layout = layout();

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

#endif
