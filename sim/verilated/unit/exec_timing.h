// SPDX-License-Identifier: Apache-2.0
// When commands that follow each other start, compute and retire, when no port waits: the recursion
// that a timing model of the execute engine needs. Exact, but for what meets in stage D: records
// and pixels at the one port, array and drain at one bank of accumulators, each worth a cycle then.
#ifndef WICK_EXEC_TIMING_H
#define WICK_EXEC_TIMING_H

struct Timeline {
  int64_t start = 0; // the command is taken
  int64_t done = 0;  // its done pulse
};

class Timing {
 public:
  // The next command, which may not start before `earliest` (queue and waits).
  Timeline next(const Command &c, int64_t earliest) {
    Timeline t;
    if (c.op == OP_MARK) return mark(earliest);
    bool mm = c.op == OP_MM, dwc = c.op == OP_DWC;
    int64_t n = c.get("n"), ny = c.get("ny"), nx = mm ? 1 : c.get("nx"), kx = mm ? 1 : c.get("kx");
    int64_t ky = mm ? 1 : c.get("ky"), kc = dwc ? 1 : c.get("kc"),
            taps = dwc && !c.get("taps") ? 3 : 1;

    // Start: stage W has asked for its last line, M has taken the command before.
    t.start = std::max({earliest, start_ + 1, line_ + 1, load_ + 1});
    start_ = t.start;
    // M takes it behind its last word, D has room for one more.
    load_ = std::max({t.start + 1, word_, head_});
    int64_t ready = load_ + 1; // the first word may go out
    line_ = t.start;
    for (int64_t b = 0; b < kc; b++)
      for (int64_t i = 0; i < ky; i++)
        for (int64_t j = 0; j < kx; j += taps) {
          int64_t lines = dwc                           ? taps
                          : !mm || !c.get("transposed") ? n
                          : b == kc - 1                 ? c.get("k_tail")
                                                        : N;
          int64_t words = nx;
          if (taps == 3) {
            int64_t lead =
                c.get("w") ? std::min<int64_t>(2, std::max<int64_t>(0, c.get("pad_l") - j)) : 0;
            words = c.get("sx") * (nx - 1) + 3 - lead;
          }
          line_ = std::max(line_, take_) + lines;  // W: behind the first word of the tile before
          take_ = std::max(ready, line_ + 1);      // M: first word of the tile
          word_ = take_ + ny * words - 1;          // its last word
          ready = word_ + 1;
        }
    int64_t summed = word_ + 6;
    // D: the record is fetched when the drain before has begun, and its buffer is free.
    head_ = std::max(load_ + 1, drain_ + 1);
    int64_t record = head_ + 1;
    if (c.get("drain"))
      record = std::max(record, written_[parity_] + 1) + 32 / N + (8 * n + N - 1) / N;
    drain_ = std::max({record, summed, issued_ + 1, marked_});
    if (!c.get("drain")) {
      drain_ = std::max(drain_, done_);
      t.done = drain_ + 1;
    } else {
      int64_t pixels = ny * nx;
      int64_t first = std::max(drain_ + 1, issued_ + 1);
      bool both = c.get("residual");
      issued_ = first + pixels - 1 + (both ? std::max<int64_t>(0, pixels - 10) : 0);
      t.done = first + pixels + 10 + (both ? std::max<int64_t>(0, pixels - 5) : 0);
      written_[parity_] = t.done - 1;
      parity_ = !parity_;
    }
    summed_ = std::max(summed_, summed);
    done_ = t.done;
    return t;
  }

 private:
  Timeline mark(int64_t earliest) {
    Timeline t;
    t.start = std::max({earliest, start_ + 1, mark_ + 1});
    start_ = t.start;
    int64_t snapped = std::max(t.start + 1, summed_ + 1);
    t.done = std::max(snapped, done_ + 1) + 1;
    mark_ = t.done - 1;
    marked_ = t.done;
    done_ = t.done;
    return t;
  }

  int64_t start_ = -1;              // start of the newest command
  int64_t line_ = -1;               // grant of its last line of weights
  int64_t take_ = -1, word_ = -1;   // its last tile's first word, its last word
  int64_t load_ = -1;               // M takes it
  int64_t head_ = -1, drain_ = -1;  // D takes it: its record, its pixels
  int64_t issued_ = -1;             // the last pixel of a drain is read
  int64_t written_[2] = {-1, -1};   // last write of the drain that used a record buffer
  int parity_ = 0;
  int64_t summed_ = -1, mark_ = -1, marked_ = -1, done_ = -1;
};

#endif
