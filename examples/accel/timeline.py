#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces of `wick sim --trace` as one drawing: a timeline for each, a track for each queue.

examples/accel/timeline.py -o OUT.svg [--from CYCLE] [--cycles N] TITLE=TRACE.json ...

A bar is a command, from its start to its end; its colour is its operator (op=), so in the examples
whatever belongs to one tile has one colour. Commands of a queue that overlap share its height.
"""
import argparse
import html
import json

COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#76b7b2")
ORDER = ("ld0", "ld1", "ld2", "ex", "ve", "st")
WIDTH, LEFT, RIGHT, TRACK, GAP, TITLE, SPACE = 960, 44, 24, 26, 4, 24, 14


def read_trace(path):
    """{queue: [(start, end, operator)]} of the queues that have commands."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
    tracks = {}
    for e in (e for e in events if e["ph"] == "X"):
        span = (e["ts"], e["ts"] + e["dur"], e["args"]["operator"])
        tracks.setdefault(names[e["tid"]], []).append(span)
    return {name: sorted(tracks[name]) for name in ORDER if name in tracks}


def lanes_of(spans):
    """The lane of every span, such that no two spans of a lane overlap; and how many lanes."""
    ends, lanes = [], []
    for start, end, _ in spans:
        free = next((i for i, e in enumerate(ends) if e <= start), len(ends))
        ends[free:free + 1] = [end]
        lanes.append(free)
    return lanes, max(len(ends), 1)


class Drawing:
    def __init__(self, first, cycles):
        self.first, self.cycles, self.y, self.parts = first, cycles, 8, []

    def x(self, cycle):
        at = min(max(cycle - self.first, 0), self.cycles)
        return LEFT + at * (WIDTH - LEFT - RIGHT) / self.cycles

    def text(self, x, y, text, rest=""):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}"{rest}>{html.escape(text)}</text>')

    def bar(self, y, height, span):
        x, end = self.x(span[0]), self.x(span[1])
        colour = COLOURS[span[2] % len(COLOURS)]
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(end - x - 0.4, 0.3):.1f}" '
                          f'height="{height:.1f}" fill="{colour}"/>')

    def track(self, name, spans):
        last = self.first + self.cycles
        seen = [s for s in spans if s[1] > self.first and s[0] < last]
        lanes, n = lanes_of(seen)
        self.parts.append(f'<rect x="{LEFT}" y="{self.y}" width="{WIDTH - LEFT - RIGHT}" '
                          f'height="{TRACK}" fill="#f0f0f0"/>')
        self.text(LEFT - 6, self.y + TRACK / 2 + 4, name, ' text-anchor="end"')
        for span, lane in zip(seen, lanes):
            self.bar(self.y + lane * TRACK / n, TRACK / n - (0.6 if n > 1 else 0), span)
        self.y += TRACK + GAP

    def timeline(self, title, tracks):
        self.text(LEFT, self.y + TITLE - 9, title, ' font-weight="bold"')
        self.y += TITLE
        for name, spans in tracks.items():
            self.track(name, spans)
        self.y += SPACE

    def axis(self):
        step = 10 ** (len(str(self.cycles)) - 1)
        for cycle in range(-(-self.first // step) * step, self.first + self.cycles + 1, step):
            x = self.x(cycle)
            self.parts.append(f'<path d="M{x:.1f} 8V{self.y - 8}" stroke="#0004" '
                              'stroke-width="0.5" stroke-dasharray="2 3"/>')
            self.text(x, self.y + 6, f"{cycle:,}", ' text-anchor="middle"')
        self.y += 16

    def svg(self):
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.y}" '
            f'width="{WIDTH}" height="{self.y}" font-family="sans-serif" font-size="12">',
            f'<rect width="{WIDTH}" height="{self.y}" fill="#fff"/>', *self.parts, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--from", dest="first", type=int, default=0, help="first cycle shown")
    parser.add_argument("--cycles", type=int, default=5000, help="how many are shown")
    parser.add_argument("traces", nargs="+", metavar="TITLE=TRACE.json")
    options = parser.parse_args()
    drawing = Drawing(options.first, options.cycles)
    for argument in options.traces:
        title, _, path = argument.rpartition("=")
        drawing.timeline(title, read_trace(path))
    drawing.axis()
    with open(options.output, "w", encoding="utf-8") as file:
        file.write(drawing.svg())


if __name__ == "__main__":
    main()
