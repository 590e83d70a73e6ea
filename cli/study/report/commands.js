/* SPDX-License-Identifier: Apache-2.0
 * The commands of a run, as report.h describes them, and what can be asked of
 * them. */
"use strict";

const numbers = text => text ? text.trim().split(" ") : [];

function readCommands(part) {
  const t = part.timeline, n = part.commands;
  const c = {n, names: t.names, queueNames: t.queue_names, texts: null,
             queue: Uint8Array.from(numbers(t.queues)), opcode: Uint8Array.from(numbers(t.opcodes)),
             operator: Uint16Array.from(numbers(t.operators)), start: new Float64Array(n),
             retire: new Float64Array(n), released: new Int32Array(n), lane: new Uint8Array(n)};
  const starts = numbers(t.starts), cycles = numbers(t.cycles), released = numbers(t.released);
  for (let i = 0, at = 0; i < n; i++) {
    if (starts[i] !== "-") at += +starts[i];
    c.start[i] = starts[i] === "-" ? NaN : at;
    c.retire[i] = c.start[i] + +cycles[i];
    c.released[i] = +released[i] ? i - released[i] : -1;
  }
  c.textLines = t.texts;
  splitQueues(c);
  return c;
}

/* c.queues: {name, list: commands that ran, waits: when each began to wait, lanes}. A queue has as
 * many lanes as it has commands under way at once. */
function splitQueues(c) {
  c.queues = c.queueNames.map(name => ({name, list: [], waits: [], lanes: 1}));
  const ends = c.queueNames.map(() => []);
  for (let i = 0; i < c.n; i++) {
    const q = c.queues[c.queue[i]], lanes = ends[c.queue[i]];
    if (isNaN(c.start[i])) continue;
    const idle = lanes.length ? Math.max(...lanes) : 0;
    q.waits.push(c.released[i] >= 0 && idle < c.start[i] ? idle : c.start[i]);
    q.list.push(i);
    let lane = 0;
    while (lanes[lane] > c.start[i]) lane++;
    c.lane[i] = lane;
    lanes[lane] = c.retire[i];
    q.lanes = Math.max(q.lanes, lane + 1);
  }
  c.queues = c.queues.filter(q => q.list.length);
}

/* The texts leave out what the last command of the same opcode has in the same place. */
function commandText(c, i) {
  if (!c.texts) {
    const last = {};
    c.texts = c.textLines.split("\n").slice(0, c.n).map((line, k) => {
      const before = last[c.opcode[k]] || [];
      last[c.opcode[k]] = line.split(" ").map((word, at) => word || before[at] || "");
      return last[c.opcode[k]].join(" ");
    });
  }
  return c.texts[i];
}

function describeCommand(part, c, i) {
  const cycles = c.retire[i] - c.start[i], by = c.released[i];
  return `${i}: ${commandText(c, i)}\n${operatorName(part, c.operator[i])}\n` +
    `cycles ${whole(c.start[i])} to ${whole(c.retire[i])}: ${whole(cycles)}` +
    (by < 0 ? "" : `\nreleased by ${by}, ${c.names[c.opcode[by]]} in ` +
                   `${c.queueNames[c.queue[by]]}, at ${whole(c.retire[by])}`);
}

/* First place in the queue's list whose command starts at `cycle` or later. */
function firstFrom(c, queue, cycle) {
  let low = 0, high = queue.list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (c.start[queue.list[middle]] < cycle) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Those that may be under way in [from, to), as places in the list: [first, last). */
function visible(c, queue, from, to) {
  let first = firstFrom(c, queue, from);
  for (let k = 0; k < 64 && first > 0; k++) first--; /* more are never under way at once */
  return [first, firstFrom(c, queue, to)];
}

/* In that queue at that time, of those under way the one in `lane`, if it is there. */
function commandAt(c, queue, cycle, lane, slack) {
  const [first, last] = visible(c, queue, cycle, cycle + slack);
  let best = -1;
  for (let k = first; k < last; k++) {
    const i = queue.list[k];
    if (c.start[i] > cycle + slack || c.retire[i] < cycle - slack) continue;
    if (best < 0 || c.lane[i] === lane) best = i;
  }
  return best;
}

/* When the layer's commands run. */
function layerWindow(c, operator) {
  let from = Infinity, to = 0;
  for (const queue of c.queues)
    for (const i of queue.list)
      if (c.operator[i] === operator) {
        from = Math.min(from, c.start[i]);
        to = Math.max(to, c.retire[i]);
      }
  return from < to ? [from, to] : null;
}
