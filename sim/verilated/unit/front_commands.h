// SPDX-License-Identifier: Apache-2.0
// The commands of isa.def as bits, the counters of regs.def and the keys of a machine file, for
// tests that drive the RTL without the assembler.
#ifndef WICK_SIM_VERILATED_UNIT_FRONT_COMMANDS_H
#define WICK_SIM_VERILATED_UNIT_FRONT_COMMANDS_H

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <map>
#include <string>

struct FieldPlace {
  int lsb, bits;
};

struct Tables {
  std::map<std::string, FieldPlace> fields;  // "LD.n0", "header.wait"
  std::map<std::string, int> opcodes;
  int plain_counters = 0;
  std::map<std::string, int> counters;
};

inline const Tables &GetTables() {
  static const Tables tables = [] {
    Tables t;
    int at = 0;
    std::string command;
    auto field = [&](const char *c, const char *name, int bits) {
      if (command != c) at = t.fields["header.reserved"].lsb + t.fields["header.reserved"].bits;
      command = c;
      t.fields[command + "." + name] = {at, bits};
      at += bits;
    };
    (void)field;
#define QUEUE(name, number, doc)
#define HEADER(name, bits, doc) field("header", #name, bits);
#define COMMAND(NAME, opcode, queues, doc) t.opcodes[#NAME] = opcode;
#define FIELD(NAME, name, bits, kind, def, doc) FIELD_(NAME, name, bits)
#define FIELD_(NAME, name, bits) field(#NAME, #name, bits);
#define CHOICE(kind, name, value, doc)
#define COST(name, cycles, doc)
    command = "header";
#include "targets/accel/isa.def"
#define REG(...)
#define ERROR(...)
#define STATE(...)
#define COUNTER(name, doc) t.counters[#name] = t.plain_counters++;
#include "targets/accel/regs.def"
#undef REG
#undef ERROR
#undef STATE
#undef COUNTER
    return t;
  }();
  return tables;
}

using Command = std::array<uint8_t, 64>;
struct Value {
  const char *name;
  uint64_t value;
};

inline void SetField(Command *c, const std::string &name, uint64_t value) {
  auto it = GetTables().fields.find(name);
  if (it == GetTables().fields.end()) std::printf("no field %s\n", name.c_str()), std::exit(2);
  for (int i = 0; i < it->second.bits; i++) {
    int bit = it->second.lsb + i;
    (*c)[bit / 8] = ((*c)[bit / 8] & ~(1 << bit % 8)) | (value >> i & 1) << bit % 8;
  }
}

inline uint64_t GetField(const Command &c, const std::string &name) {
  FieldPlace p = GetTables().fields.at(name);
  uint64_t v = 0;
  for (int i = 0; i < p.bits; i++)
    v |= static_cast<uint64_t>(c[(p.lsb + i) / 8] >> (p.lsb + i) % 8 & 1) << i;
  return v;
}

inline Command Make(const std::string &name, int queue, std::initializer_list<Value> values) {
  Command c{};
  SetField(&c, "header.opcode", GetTables().opcodes.at(name));
  SetField(&c, "header.queue", queue);
  for (const char *n : {"n1", "n2", "n3", "c1", "c2"})
    if (GetTables().fields.count(name + "." + n)) SetField(&c, name + "." + n, 1);
  for (const Value &v : values) SetField(&c, v.name[0] == '.' ? name + v.name : v.name, v.value);
  return c;
}

struct MachineKeys {
  uint32_t array, scratchpad, banks, accumulators, tables, load_channels, fifo, bus, burst, bursts;
  explicit MachineKeys(const char *path) {
    std::map<std::string, uint32_t> keys;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
      char name[64];
      unsigned value;
      if (std::sscanf(line.c_str(), " %63[a-z_] = %u", name, &value) == 2) keys[name] = value;
    }
    if (keys.empty()) std::printf("cannot read %s\n", path), std::exit(2);
#define KEY(name, def, min, max, check, unit, doc) name = keys.count(#name) ? keys[#name] : def;
#define RUN(...)
#include "targets/accel/machine.def"
  }
  int Queues() const { return 3 + static_cast<int>(load_channels); }
};

#endif
