// SPDX-License-Identifier: Apache-2.0
// Test of the front end, the DMA engines, the scratchpad and the counters: wick_accel with stubs
// for the execute and the vector engine, against a C model of LD, ST and FILL.
//
//   front_test MACHINE.cfg [STREAMS [host|illegal|durations|random|errors|bandwidth]]
#include <algorithm>

#include "sim/verilated/unit/front_bench.h"
#include "sim/verilated/unit/front_host.h"

namespace {

int failures = 0;
#define CHECK(condition, ...)                                                               \
  ((condition) ? (void)0                                                                    \
               : (void)(std::printf("%s:%d: %s: ", __FILE__, __LINE__, #condition),         \
                        std::printf(__VA_ARGS__), std::printf("\n"), failures++))

constexpr uint32_t kStream = 0x0, kMarks = 0x40000, kData = 0x80000, kDataSize = 0x40000;

// ---- the model ---------------------------------------------------------------------------------

struct Transfer {
  std::vector<uint32_t> memory, spm;  // byte addresses, in order
};

Transfer Walk(const Command &c, const std::string &name) {
  auto f = [&](const char *n) { return static_cast<uint32_t>(GetField(c, name + "." + n)); };
  Transfer t;
  if (name != "FILL")
    for (uint32_t i3 = 0; i3 < f("n3"); i3++)
      for (uint32_t i2 = 0; i2 < f("n2"); i2++)
        for (uint32_t i1 = 0; i1 < f("n1"); i1++)
          for (uint32_t i0 = 0, n0 = f("n0"),
                        a = f("dram") + i3 * f("s3") + i2 * f("s2") + i1 * f("s1");
               i0 < n0; i0++)
            t.memory.push_back(a + i0);
  uint32_t chunks =
      name == "FILL" ? f("c1") * f("c2") : static_cast<uint32_t>(t.memory.size()) / f("c0");
  for (uint32_t k = 0; k < chunks; k++)
    for (uint32_t j = 0, c0 = f("c0"), a = f("spm") + k / f("c1") * f("p2") + k % f("c1") * f("p1");
         j < c0; j++)
      t.spm.push_back(a + j);
  return t;
}

struct Model {
  std::vector<uint8_t> memory, spm;
  void Run(const Command &c, const std::string &name) {
    Transfer t = Walk(c, name);
    for (size_t i = 0; i < t.spm.size(); i++) {
      if (name == "LD") spm[t.spm[i]] = memory[t.memory[i]];
      if (name == "ST") memory[t.memory[i]] = spm[t.spm[i]];
      if (name == "FILL") spm[t.spm[i]] = static_cast<uint8_t>(GetField(c, "FILL.value"));
    }
  }
};

// ---- random legal streams ----------------------------------------------------------------------

class Generator {
 public:
  Generator(const MachineKeys &keys, uint32_t seed) : keys_(keys), rng_(seed) {
    for (auto &kind : last_)
      for (auto &queue : kind) queue.assign(keys.scratchpad + kDataSize, 0);
  }
  uint32_t Draw(uint32_t lo, uint32_t hi) { return lo + rng_() % (hi - lo + 1); }

  std::vector<Command> commands;
  std::vector<std::string> names;
  int marks = 0;

  void Add() {
    uint32_t kind = Draw(0, 19);
    int load = 3 + static_cast<int>(Draw(0, keys_.load_channels - 1));
    if (kind < 9) Transferring("LD", load);
    else if (kind < 14) Transferring("ST", 2);
    else if (kind < 16) Filling(load);
    else if (kind < 17)
      Append(Make("MARK", 0, {{".row", static_cast<uint64_t>(marks++)}}), "MARK", 0, {}, {});
    else if (kind < 19) Append(Make("CONV", 0, {{".in", Draw(0, 31)}}), "CONV", 0, {}, {});
    else Append(Make("MAP", 1, {}), "MAP", 1, {}, {});
  }
  void End() {
    commands.push_back(Make("END", 0, {}));
    names.push_back("END");
  }

 private:
  uint32_t Dim(int percent, uint32_t most) {
    return Draw(0, 99) < static_cast<uint32_t>(percent) ? Draw(1, most) : 1;
  }

  void Transferring(const std::string &name, int queue) {
    uint32_t n0 = Draw(0, 9) == 0 ? Draw(1, 3000) : Draw(1, 150), n1 = Dim(60, 5), n2 = Dim(40, 4),
             n3 = Dim(20, 3);
    uint32_t total = n0 * n1 * n2 * n3;
    bool store = name == "ST";
    auto stride = [&](uint32_t least) {
      uint32_t r = Draw(0, 3);
      return r == 0 || least > 6000 ? least
             : r == 1 && !store     ? Draw(0, 400)
                                    : least + Draw(0, 300);
    };
    uint32_t s1 = stride(n0), s2 = stride((n1 - 1) * s1 + n0),
             s3 = stride((n2 - 1) * s2 + (n1 - 1) * s1 + n0);
    uint64_t extent = static_cast<uint64_t>(n3 - 1) * s3 + (n2 - 1) * s2 + (n1 - 1) * s1 + n0;
    std::vector<uint32_t> divisors;
    for (uint32_t d = 1; d <= total; d++)
      if (total % d == 0 && total / d < 200) divisors.push_back(d);
    uint32_t c0 = divisors[Draw(0, static_cast<uint32_t>(divisors.size()) - 1)];
    uint32_t c1 = Draw(1, 5), p1 = c0 + (Draw(0, 1) ? Draw(0, 40) : 0),
             p2 = c1 * p1 + (Draw(0, 1) ? Draw(0, 60) : 0);
    uint32_t chunks = total / c0, lines = (chunks + c1 - 1) / c1;
    uint64_t span = static_cast<uint64_t>(lines - 1) * p2 + (c1 - 1) * p1 + c0;
    if (extent > kDataSize || span > keys_.scratchpad) return;
    uint32_t dram = kData + Place(kDataSize - static_cast<uint32_t>(extent));
    uint32_t spm = Place(keys_.scratchpad - static_cast<uint32_t>(span));
    Command c = Make(name, queue,
                     {{".dram", dram},
                      {".n0", n0},
                      {".n1", n1},
                      {".n2", n2},
                      {".n3", n3},
                      {".s1", s1},
                      {".s2", s2},
                      {".s3", s3},
                      {".spm", spm},
                      {".c0", c0},
                      {".c1", c1},
                      {".p1", p1},
                      {".p2", p2},
                      {"header.priority", Draw(0, 7)}});
    Transfer t = Walk(c, name);
    for (uint32_t &a : t.memory) a = a - kData + keys_.scratchpad;
    Append(c, name, queue, store ? t.spm : t.memory, store ? t.memory : t.spm);
  }
  void Filling(int queue) {
    uint32_t c0 = Draw(1, 100), c1 = Draw(1, 5), c2 = Draw(1, 5), p1 = Draw(0, 120),
             p2 = Draw(0, 400);
    uint32_t span = (c2 - 1) * p2 + (c1 - 1) * p1 + c0;
    Command c = Make("FILL", queue,
                     {{".value", Draw(0, 255)},
                      {".spm", Place(keys_.scratchpad - span)},
                      {".c0", c0},
                      {".c1", c1},
                      {".c2", c2},
                      {".p1", p1},
                      {".p2", p2}});
    Append(c, "FILL", queue, {}, Walk(c, "FILL").spm);
  }
  // Near either end, aligned, or anywhere.
  uint32_t Place(uint32_t most) {
    uint32_t r = Draw(0, 5);
    if (r == 0) return most - Draw(0, std::min(most, 40u));
    uint32_t a = Draw(0, std::min(most, r < 3 ? 4000u : most));
    return r & 1 ? a & ~63u : a;
  }
  void Append(Command c, const std::string &name, int queue, const std::vector<uint32_t> &reads,
              const std::vector<uint32_t> &writes) {
    static const char *const kThresholds[] = {"ex", "ve", "st", "ld0", "ld1", "ld2"};
    std::vector<uint32_t> need(keys_.Queues(), 0);
    for (int q = 0; q < keys_.Queues(); q++) {
      for (uint32_t a : writes) need[q] = std::max({need[q], last_[0][q][a], last_[1][q][a]});
      for (uint32_t a : reads) need[q] = std::max(need[q], last_[1][q][a]);
      if (Draw(0, 15) == 0) need[q] = std::max(need[q], count_[q]);
      if (need[q] == 0 && Draw(0, 3)) continue;
      SetField(&c, "header.wait", GetField(c, "header.wait") | 1u << q);
      SetField(&c, std::string("header.threshold_") + kThresholds[q], need[q]);
    }
    count_[queue]++;
    for (uint32_t a : reads) last_[0][queue][a] = count_[queue];
    for (uint32_t a : writes) last_[1][queue][a] = count_[queue];
    SetField(&c, "header.operator", Draw(0, 65535));
    commands.push_back(c);
    names.push_back(name);
  }

  const MachineKeys &keys_;
  std::mt19937 rng_;
  uint32_t count_[6] = {};
  std::vector<uint32_t> last_[2][6]; // commands of a queue up to the last that reads, writes a byte
};

// ---- helpers -----------------------------------------------------------------------------------

Result RunStream(Bench *bench, const std::vector<Command> &commands, const MemoryOptions &options,
                 uint32_t seed, uint32_t timeout = 5000, uint64_t limit = 400000,
                 int64_t count = -1) {
  for (size_t i = 0; i < commands.size(); i++)
    std::copy(commands[i].begin(), commands[i].end(), &bench->memory.bytes[kStream + 64 * i]);
  bench->memory.Reset(options, seed);
  bench->options = options;
  Result r = bench->Run(
      kStream, count < 0 ? static_cast<uint32_t>(commands.size()) : static_cast<uint32_t>(count),
      kMarks, timeout, limit);
  CHECK(bench->violation.empty(), "%s", bench->violation.c_str());
  bench->violation.clear();
  return r;
}

void CheckSums(const MachineKeys &keys, const std::vector<uint64_t> &c, const char *what) {
  size_t at = GetTables().plain_counters, group = Bench::kQueueCounters;
  for (int q = 0; q < keys.Queues(); q++, at += group) {
    uint64_t sum = 0;
    for (size_t s = 0; s < group; s++) sum += c[at + s];
    CHECK(sum == c[0], "%s: queue %d: states sum to %lu of %lu cycles", what, q, sum, c[0]);
  }
  uint64_t sum = 0;
  for (int s = 1; s <= 8; s++) sum += c[s];
  CHECK(sum == c[0], "%s: subsets sum to %lu of %lu cycles", what, sum, c[0]);
}

// Reads the scratchpad by storing it, in another stream.
std::vector<uint8_t> DumpScratchpad(Bench *bench, const MachineKeys &keys, uint32_t seed) {
  uint32_t half = keys.scratchpad / 2;
  std::vector<uint8_t> kept(bench->memory.bytes), out(keys.scratchpad);
  std::vector<Command> commands;
  MemoryOptions options;
  options.random = seed % 2 != 0;
  for (uint32_t i = 0; i < 2; i++) {
    uint32_t rows = (half + 262143) / 262144, row = half / rows;
    for (uint32_t r = 0; r < rows; r++) {
      commands = {
          Make("ST", 2,
               {{".dram", kData}, {".n0", row}, {".spm", i * half + r * row}, {".c0", row}}),
          Make("END", 0, {})};
      Result res = RunStream(bench, commands, options, seed);
      CHECK(!res.hung && res.status == 2, "dump: status %u", res.status);
      std::copy_n(&bench->memory.bytes[kData], row, &out[i * half + r * row]);
    }
  }
  bench->memory.bytes = kept;
  return out;
}

// ---- tests -------------------------------------------------------------------------------------

void TestRandom(const MachineKeys &keys, int streams) {
  uint64_t overlapped = 0;
  for (int seed = 0; seed < streams; seed++) {
    Generator g(keys, seed);
    for (uint32_t i = 0, n = g.Draw(1, 60); i < n; i++) g.Add();
    g.End();
    Bench bench(keys, seed % 3, seed);
    for (uint8_t &b : bench.memory.bytes) b = static_cast<uint8_t>(g.Draw(0, 255));
    Model model{bench.memory.bytes, DumpScratchpad(&bench, keys, 2)};
    for (int round = 0; round < 2; round++) {  // the second one back to back, with other latencies
      std::vector<uint32_t> per_queue(6, 0);
      for (size_t i = 0; i < g.commands.size(); i++) {
        std::copy(g.commands[i].begin(), g.commands[i].end(), &model.memory[kStream + 64 * i]);
        if (g.names[i] == "LD" || g.names[i] == "ST" || g.names[i] == "FILL")
          model.Run(g.commands[i], g.names[i]);
        if (g.names[i] != "END") per_queue[GetField(g.commands[i], "header.queue")]++;
      }
      MemoryOptions options;
      options.random = (seed + round) % 4 != 0;
      options.rate_num = 1 + g.Draw(0, 15);
      options.latency = g.Draw(1, 300);
      Result r = RunStream(&bench, g.commands, options, 100 * seed + round);
      CHECK(!r.hung && r.status == 2 && r.error == 0, "seed %d: status %u error %x", seed, r.status,
            r.error);
      for (int q = 0; q < keys.Queues(); q++) {
        CHECK(r.done[q] == per_queue[q], "seed %d: queue %d retired %u of %u", seed, q, r.done[q],
              per_queue[q]);
        CHECK(bench.starts[q].size() == per_queue[q] && bench.retired[q].size() == per_queue[q],
              "seed %d: events", seed);
      }
      CheckSums(keys, r.counters, "end");
      overlapped += r.counters[GetTables().counters.at("subset_lcs")];
      uint64_t loaded = 0;
      for (int c = 0; c < static_cast<int>(keys.load_channels); c++)
        loaded += r.counters[GetTables().counters.at("bytes_ld0") + c];
      uint64_t expected[2] = {0, 0};
      for (size_t i = 0; i < g.commands.size(); i++)
        if (g.names[i] == "LD" || g.names[i] == "ST")
          expected[g.names[i] == "ST"] += Walk(g.commands[i], g.names[i]).memory.size();
      CHECK(loaded == expected[0], "seed %d: %lu bytes loaded, not %lu", seed, loaded, expected[0]);
      CHECK(r.counters[GetTables().counters.at("bytes_st")] == expected[1], "seed %d: bytes_st",
            seed);
      for (int m = 0; m < g.marks; m++) {
        std::vector<uint64_t> row(bench.CounterCount());
        std::memcpy(row.data(), &bench.memory.bytes[kMarks + 1024 * m], 8 * row.size());
        CheckSums(keys, row, "mark");
        CHECK(row[0] > 0 && row[0] <= r.cycles, "seed %d: mark %d", seed, m);
        std::memcpy(&model.memory[kMarks + 1024 * m], row.data(), 8 * row.size());
      }
      CHECK(bench.memory.bytes == model.memory, "seed %d round %d: memory differs at %lx", seed,
            round,
            std::mismatch(model.memory.begin(), model.memory.end(), bench.memory.bytes.begin())
                    .first -
                model.memory.begin());
    }
    std::vector<uint8_t> spm = DumpScratchpad(&bench, keys, seed);
    CHECK(spm == model.spm, "seed %d: scratchpad differs at %lx", seed,
          std::mismatch(spm.begin(), spm.end(), model.spm.begin()).first - spm.begin());
    if (failures > 10) return;
  }
  std::printf("random: %d streams, twice each; all three kinds active in %lu cycles\n", streams,
              overlapped);
}

// Duration of a command alone, from its start to its retirement. Two commands of ex before it let
// the fetches come to rest.
uint64_t Duration(Bench *bench, Command c, const MemoryOptions &options) {
  int queue = static_cast<int>(GetField(c, "header.queue"));
  SetField(&c, "header.wait", 1);
  SetField(&c, "header.threshold_ex", 4);
  Command idle = Make("CONV", 0, {{".in", 31}});
  Result r = RunStream(bench, {idle, idle, idle, idle, c, Make("END", 0, {})}, options, 1);
  CHECK(!r.hung && r.status == 2, "status %u error %x", r.status, r.error);
  if (bench->retired[queue].empty()) return 0;
  return bench->retired[queue].front() - bench->starts[queue].front();
}

uint64_t CeilDiv(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

struct Piece {
  uint32_t lane, bytes, beats;
};
// The bursts of a transfer: runs are joined as isa.md says.
std::vector<Piece> Cut(const Command &c, const std::string &name, const MachineKeys &keys) {
  auto f = [&](const char *n) { return static_cast<uint32_t>(GetField(c, name + "." + n)); };
  uint32_t n[4] = {f("n0"), f("n1"), f("n2"), f("n3")}, s[4] = {1, f("s1"), f("s2"), f("s3")},
           run = n[0];
  for (int k = 1, joined = 1; k < 4 && joined; k++) {
    joined = n[k] == 1 || s[k] == run;
    if (joined) run *= n[k], n[k] = 1;
  }
  std::vector<Piece> pieces;
  for (uint32_t i3 = 0; i3 < n[3]; i3++)
    for (uint32_t i2 = 0; i2 < n[2]; i2++)
      for (uint32_t i1 = 0; i1 < n[1]; i1++)
        for (uint32_t a = f("dram") + i3 * s[3] + i2 * s[2] + i1 * s[1], end = a + run, bytes;
             a < end; a += bytes) {
          bytes = std::min(end - a, keys.burst - a % keys.burst);
          pieces.push_back({a % keys.bus, bytes,
                            static_cast<uint32_t>(CeilDiv(a % keys.bus + bytes, keys.bus))});
        }
  return pieces;
}

// Cycles of LD alone. Request i is on the bus in cycle 5 + i after the start; a beat taken in cycle
// r can be written from r + 2 on; one access a cycle; done in the cycle after the last.
uint64_t LoadFormula(const Command &c, const MachineKeys &keys, const MemoryOptions &o) {
  uint64_t num = o.rate_num, free_at = 0, taken = 0, request = 5, at = 0, write = 0;
  std::vector<uint64_t> byte_ready;
  for (const Piece &p : Cut(c, "LD", keys)) {
    uint64_t start = std::max(free_at, (request++ + o.latency) * num), left = p.bytes;
    for (uint32_t j = 0; j < p.beats; j++) {
      taken = std::max(taken + 1, CeilDiv(start + (j + 1) * keys.bus, num));
      uint64_t used = std::min<uint64_t>(left, keys.bus - (j ? 0 : p.lane));
      for (uint64_t k = 0; k < used; k++) byte_ready.push_back(taken + 2);
      left -= used;
    }
    free_at = start + p.beats * static_cast<uint64_t>(keys.bus);
  }
  uint64_t c0 = GetField(c, "LD.c0");
  for (uint64_t size; at < byte_ready.size(); at += size) {
    size = std::min<uint64_t>(keys.array, c0 - at % c0);
    write = std::max(write + 1, byte_ready[at + size - 1]);
  }
  return write + 1;
}

// Cycles of ST alone. The first access is in cycle 5, then one a cycle; its bytes can be in a data
// beat 3 cycles later; request i is on the bus in cycle 5 + i, its data after it; a response comes
// to done in the next cycle.
uint64_t StoreFormula(const Command &c, const MachineKeys &keys, const MemoryOptions &o) {
  uint64_t num = o.rate_num, free_at = 0, request = 5, at = 0, read = 4, sent = 0, answer = 0;
  std::vector<uint64_t> byte_ready;
  uint64_t c0 = GetField(c, "ST.c0"), total = 0;
  std::vector<Piece> pieces = Cut(c, "ST", keys);
  for (const Piece &p : pieces) total += p.bytes;
  for (uint64_t size; at < total; at += size) {
    size = std::min<uint64_t>(keys.array, c0 - at % c0);
    read++;
    for (uint64_t k = 0; k < size; k++) byte_ready.push_back(read + 3);
  }
  at = 0;
  for (const Piece &p : pieces) {
    uint64_t left = p.bytes;
    for (uint32_t j = 0; j < p.beats; j++) {
      uint64_t used = std::min<uint64_t>(left, keys.bus - (j ? 0 : p.lane));
      sent = std::max({sent + 1, byte_ready[at + used - 1], request + 1});
      at += used, left -= used;
    }
    request++;
    free_at = std::max(free_at, sent * num) + p.beats * static_cast<uint64_t>(keys.bus);
    answer = CeilDiv(free_at, num) + o.write_latency;
  }
  return answer + 1;
}

void TestDurations(const MachineKeys &keys) {
  Bench bench(keys, 2, 1);
  uint32_t n = keys.array, bus = keys.bus;
  MemoryOptions o;
  for (uint32_t rate : {4u, 8u, bus})
    for (uint32_t latency : {1u, 20u, 100u, 500u})
      for (uint32_t bytes : {bus, 2 * bus, 5 * bus, 256u, 4096u, 16384u}) {
        if (bytes > keys.burst * keys.bursts / 2 && latency == 500)
          continue; // more than is in flight
        o.rate_num = rate, o.latency = o.write_latency = latency;
        uint64_t d = Duration(
            &bench, Make("LD", 3, {{".dram", kData}, {".n0", bytes}, {".spm", 0}, {".c0", bytes}}),
            o);
        uint64_t formula =
            7 + latency + std::max(CeilDiv(bytes, rate) + bus / n, CeilDiv(bus, rate) + bytes / n);
        CHECK(d == formula, "LD %u bytes, rate %u, latency %u: %lu, formula %lu", bytes, rate,
              latency, d, formula);
        d = Duration(&bench,
                     Make("ST", 2, {{".dram", kData}, {".n0", bytes}, {".spm", 0}, {".c0", bytes}}),
                     o);
        uint64_t first = std::min(bytes, keys.burst),
                 last = bytes % keys.burst ? bytes % keys.burst : first;
        formula = 8 + latency +
                  std::max(first / n + CeilDiv(bytes, rate), bytes / n + CeilDiv(last, rate));
        CHECK(d == formula, "ST %u bytes, rate %u, latency %u: %lu, formula %lu", bytes, rate,
              latency, d, formula);
      }
  for (uint32_t c0 : {1u, n, n + 1, 4 * n})
    for (uint32_t c1 : {1u, 7u})
      for (uint32_t c2 : {1u, 3u}) {
        uint64_t d = Duration(&bench,
                              Make("FILL", 3,
                                   {{".spm", 5},
                                    {".c0", c0},
                                    {".c1", c1},
                                    {".c2", c2},
                                    {".p1", 4 * n},
                                    {".p2", 28 * n}}),
                              o);
        uint64_t formula = 5 + c1 * c2 * CeilDiv(c0, n);
        CHECK(d == formula, "FILL %u %u %u: %lu, formula %lu", c0, c1, c2, d, formula);
      }
  // Any pattern.
  int exact = 0, all = 0;
  uint64_t worst = 0;
  for (uint32_t seed = 0; all < 300; seed++) {
    Generator g(keys, seed);
    g.Add();
    if (g.commands.empty() || (g.names[0] != "LD" && g.names[0] != "ST")) continue;
    bool load = g.names[0] == "LD";
    Command c = g.commands[0];
    SetField(&c, "header.wait", 0);
    o.rate_num = g.Draw(4, bus), o.latency = o.write_latency = g.Draw(1, 200);
    uint64_t d = Duration(&bench, c, o),
             formula = load ? LoadFormula(c, keys, o) : StoreFormula(c, keys, o);
    bool fits = Cut(c, g.names[0], keys).size() <= keys.bursts;
    uint64_t off = d > formula ? d - formula : formula - d;
    if (!fits) continue;
    all++, exact += off == 0, worst = std::max(worst, off);
    if (off)
      std::printf("seed %u %s: %lu, formula %lu, rate %u latency %u\n", seed, g.names[0].c_str(), d,
                  formula, o.rate_num, o.latency);
  }
  CHECK(exact * 100 >= all * 98 && worst <= 4, "%d of %d exact, worst %lu cycles off", exact, all,
        worst);
  std::printf("durations: %d of %d random transfers exact, worst %lu cycles off\n", exact, all,
              worst);
}

// Many transfers on all channels: how much of the memory's bandwidth is used.
void TestBandwidth(const MachineKeys &keys) {
  Bench bench(keys, 2, 1);
  for (uint32_t latency : {100u, 500u, 1000u})
    for (uint32_t size : {512u, 1024u, 4096u})
      for (int store = 0; store < 2; store++) {
        std::vector<Command> commands;
        uint32_t count = 400000 / size, area = keys.scratchpad / 2;
        for (uint32_t i = 0; i < count; i++) {
          uint32_t at = i * size % area, dram = kData + i * size % (kDataSize - size);
          if (store && i % 4 == 3)
            commands.push_back(Make(
                "ST", 2, {{".dram", dram}, {".n0", size}, {".spm", area + at}, {".c0", size}}));
          else
            commands.push_back(Make("LD", 3 + i % keys.load_channels,
                                    {{".dram", dram}, {".n0", size}, {".spm", at}, {".c0", size}}));
        }
        commands.push_back(Make("END", 0, {}));
        MemoryOptions o;
        o.latency = o.write_latency = latency;
        o.rate_num = keys.bus / 2;
        Result r = RunStream(&bench, commands, o, 1);
        CHECK(!r.hung && r.status == 2, "status %u error %x", r.status, r.error);
        uint64_t begin = UINT64_MAX, end = 0;
        for (int q = 2; q < keys.Queues(); q++) {
          if (bench.retired[q].empty()) continue;
          begin = std::min<uint64_t>(begin, bench.starts[q].front());
          end = std::max<uint64_t>(end, bench.retired[q].back());
        }
        // With the commands themselves, which come over the same bus.
        double most = static_cast<double>(end - begin) * o.rate_num;
        double used = static_cast<double>(count) * size / most,
               bus = static_cast<double>(count) * (size + 64) / most;
        std::printf(
            "latency %4u, %4u bytes each, %s: %.1f %% of %u B/cycle, with the fetches %.1f %%\n",
            latency, size, store ? "LD, ST" : "LD    ", 100 * used, o.rate_num, 100 * bus);
        bool enough = keys.burst * keys.bursts >= latency * o.rate_num &&
                      20 * size >= latency * o.rate_num; // in flight
        CHECK(!enough || bus >= 0.95, "%.3f of the bus", bus);
        CHECK(!enough || size < 4096 || used >= 0.95, "%.3f of the bus", used);
      }
}

// An error at every beat and every response: an error status with a command that was on the bus,
// then a good stream.
void TestErrors(const MachineKeys &keys) {
  std::vector<Command> commands;
  for (int i = 0; i < 3; i++) {
    commands.push_back(
        Make("LD", 3, {{".dram", kData + 512u * i}, {".n0", 300}, {".spm", 0}, {".c0", 300}}));
    commands.push_back(Make("LD", 3 + keys.load_channels - 1,
                            {{".dram", kData + 7u},
                             {".n0", 40},
                             {".n1", 4},
                             {".s1", 100},
                             {".spm", 1000},
                             {".c0", 160}}));
    commands.push_back(
        Make("ST", 2, {{".dram", kData + 0x2000}, {".n0", 500}, {".spm", 2000}, {".c0", 500}}));
    commands.push_back(Make("MARK", 0, {{".row", static_cast<uint64_t>(i)}}));
  }
  commands.push_back(Make("END", 0, {}));
  Bench bench(keys, 2, 7);
  Result good = RunStream(&bench, commands, {}, 1);
  CHECK(good.status == 2, "status %u", good.status);
  int64_t answers = static_cast<int64_t>(bench.memory.Answers());
  int reads = 0, writes = 0, fetches = 0, ignored = 0;
  for (int random = 0; random < 2; random++)
    for (int64_t at = 0; at < answers; at++) {
      MemoryOptions o;
      o.random = random, o.error_at = at;
      Result r = RunStream(&bench, commands, o, static_cast<uint32_t>(at));
      CHECK(!r.hung, "answer %ld: hangs", at);
      CHECK(bench.memory.Idle(), "answer %ld: the bus is not quiet", at);
      uint32_t code = r.error & 255, index = r.error >> 8;
      if (r.status == 2) {  // a command behind END, of a burst that was fetched ahead
        ignored++;
      } else {
        CHECK(r.status == 4, "answer %ld: status %u", at, r.status);
        if (code == 5)
          reads++,
              CHECK(index < 12 && index % 4 < 2, "answer %ld: read error of command %u", at, index);
        else if (code == 6)
          writes++, CHECK(index < 12 && index % 4 >= 2, "answer %ld: write error of command %u", at,
                          index);
        else fetches++, CHECK(code == 7 && index < 13, "answer %ld: error %x", at, r.error);
      }
      r = RunStream(&bench, commands, {}, 1);
      CHECK(r.status == 2 && r.cycles == good.cycles,
            "answer %ld: afterwards status %u, %lu cycles, not %lu", at, r.status, r.cycles,
            good.cycles);
      if (failures > 10) return;
    }
  std::printf("errors: %d of reads, %d of writes, %d of fetches, %d ignored\n", reads, writes,
              fetches, ignored);
  CHECK(reads && writes && fetches, "some kind of error never came");
  // A memory that falls silent.
  for (int64_t at = 0; at < answers; at += 17) {
    Bench silent(keys, 2, 8);
    MemoryOptions o;
    o.error_at = at, o.silent = true;
    Result r = RunStream(&silent, commands, o, 1, 400, 20000);
    CHECK(!r.hung && r.status == 12 && (r.error & 255) == 8, "silent from %ld: status %u error %x",
          at, r.status, r.error);
  }
}

void ExpectError(Bench *bench, const char *what, std::vector<Command> commands, uint32_t code,
                 uint32_t index, int64_t count = -1) {
  Result r = RunStream(bench, commands, {}, 1, 5000, 50000, count);
  CHECK(!r.hung && r.status == 4 && r.error == (code | index << 8),
        "%s: status %u error code %u index %u", what, r.status, r.error & 255, r.error >> 8);
  r = RunStream(bench, {Make("FILL", 3, {{".spm", 0}, {".c0", 64}}), Make("END", 0, {})}, {}, 1);
  CHECK(!r.hung && r.status == 2, "after %s: status %u", what, r.status);
}

void TestIllegal(const MachineKeys &keys) {
  Bench bench(keys, 2, 9);
  Command end = Make("END", 0, {}), fill = Make("FILL", 3, {{".spm", 0}, {".c0", 64}}), c;
  Command ld = Make(
      "LD", 3, {{".dram", kData}, {".n0", 96}, {".spm", 0}, {".c0", 48}, {".c1", 2}, {".p1", 48}});
  Command st = Make(
      "ST", 2, {{".dram", kData}, {".n0", 96}, {".spm", 0}, {".c0", 48}, {".c1", 2}, {".p1", 48}});
  auto with = [](Command base, const char *field, uint64_t value) {
    return SetField(&base, field, value), base;
  };
  ExpectError(&bench, "opcode 0", {fill, with(fill, "header.opcode", 0), end}, 1, 1);
  ExpectError(&bench, "opcode 31", {with(fill, "header.opcode", 31), end}, 1, 0);
  ExpectError(&bench, "FILL in st", {with(fill, "header.queue", 2), end}, 1, 0);
  ExpectError(&bench, "LD in a missing queue",
              {fill, fill, with(ld, "header.queue", 3 + keys.load_channels), end}, 1, 2);
  ExpectError(&bench, "END in a queue", {fill, with(end, "header.queue", 3)}, 1, 1);
  ExpectError(&bench, "reserved bit", {with(fill, "header.reserved", 64), end}, 2, 0);
  c = fill, c[63] = 0x80;
  ExpectError(&bench, "bit behind the payload", {fill, c, end}, 2, 1);
  ExpectError(&bench, "END that waits", {fill, with(end, "header.wait", 8)}, 2, 1);
  c = with(fill, "header.wait", 8), SetField(&c, "header.threshold_ld0", 2);
  ExpectError(&bench, "wait on itself", {fill, c, end}, 3, 1);
  c = with(fill, "header.wait", 1), SetField(&c, "header.threshold_ex", 1);
  ExpectError(&bench, "wait on a later command", {fill, c, Make("MARK", 0, {}), end}, 3, 1);
  if (keys.load_channels < 3)
    ExpectError(&bench, "wait on a missing queue", {with(fill, "header.wait", 32), end}, 3, 0);
  for (const char *field : {"LD.n0", "LD.n1", "LD.n2", "LD.n3", "LD.c0", "LD.c1"})
    ExpectError(&bench, field, {fill, with(ld, field, 0), end}, 2, 1);
  for (const char *field : {"FILL.c0", "FILL.c1", "FILL.c2"})
    ExpectError(&bench, field, {fill, with(fill, field, 0), end}, 2, 1);
  for (const Command &t : {ld, st}) {
    const char *name = &t == &ld ? "LD" : "ST";
    (void)name;
    ExpectError(&bench, "a chunk too long", {fill, with(t, "LD.c0", 97), end}, 2, 1);
    ExpectError(&bench, "no whole number of chunks", {fill, with(t, "LD.c0", 50), end}, 2, 1);
    ExpectError(&bench, "beyond the scratchpad",
                {fill, with(t, "LD.spm", keys.scratchpad - 95), end}, 4, 1);
    c = with(t, "LD.n1", 4095);
    ExpectError(&bench, "more than 2^20 - 1 bytes", {fill, with(c, "LD.n2", 4095), end}, 2, 1);
    ExpectError(&bench, "chunk beyond", {fill, with(t, "LD.p1", keys.scratchpad - 10), end}, 4, 1);
  }
  ExpectError(&bench, "FILL beyond", {fill, with(fill, "FILL.spm", keys.scratchpad - 63), end}, 4,
              1);
  ExpectError(&bench, "no END", {fill, fill}, 7, 2);
  ExpectError(&bench, "COUNT before END", {fill, fill, end}, 7, 1, 1);
  ExpectError(&bench, "COUNT 0", {end}, 7, 0, 0);
  c = Make("DWC", 0, {{".in", 0}});
  ExpectError(&bench, "an error of ex", {fill, ld, c, st, end}, 4, 2);
}

}  // namespace

int main(int argc, char **argv) {
  if (argc < 2) return std::printf("front_test MACHINE.cfg [STREAMS]\n"), 2;
  MachineKeys keys(argv[1]);
  int streams = argc > 2 ? std::atoi(argv[2]) : 30;
  std::string only = argc > 3 ? argv[3] : "";
  if (only.empty() || only == "host") failures += HostTest(keys).Run();
  if (only.empty() || only == "illegal") TestIllegal(keys);
  if (only.empty() || only == "durations") TestDurations(keys);
  if (only.empty() || only == "random") TestRandom(keys, streams);
  if (only.empty() || only == "errors") TestErrors(keys);
  if (only.empty() || only == "bandwidth") TestBandwidth(keys);
#if VM_COVERAGE
  Bench(keys, 0, 0).WriteCoverage();
#endif
  if (failures) std::printf("%d failures\n", failures);
  return failures != 0;
}
