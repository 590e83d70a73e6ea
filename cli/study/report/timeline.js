/* SPDX-License-Identifier: Apache-2.0
 * Queues over time, from the whole run down to one command. */
"use strict";

const LANE = 13, GAP = 8, TOP = 22, MOST_LANES = 4, LEAST_ROW = 26;

function rowsOf(c) {
  let y = TOP;
  return c.queues.map(queue => {
    const lanes = Math.min(queue.lanes, MOST_LANES);
    const row = {queue, y, lanes, height: Math.max(LANE * lanes, LEAST_ROW)};
    y += row.height + GAP;
    return row;
  });
}

/* ---- from afar: columns ---------------------------------------------------------------------- */

/* For each pixel, the part of it that is covered and the operator that covers most of it. */
function newColumns(width) {
  return {part: new Float32Array(width), weight: new Float32Array(width),
          operator: new Uint16Array(width)};
}

function cover(columns, from, to, operator) { /* in pixels */
  const width = columns.part.length, last = Math.min(Math.ceil(to), width);
  for (let p = Math.max(Math.floor(from), 0); p < last; p++) {
    const covered = Math.min(to, p + 1) - Math.max(from, p);
    columns.part[p] += covered;
    if (columns.operator[p] === operator) columns.weight[p] += covered;
    else if (covered > columns.weight[p]) {
      columns.weight[p] = covered - columns.weight[p];
      columns.operator[p] = operator;
    } else columns.weight[p] -= covered;
  }
}

function drawColumns(g, columns, row, colour) {
  for (let p = 0; p < columns.part.length; p++) {
    const height = Math.min(columns.part[p], 1) * row.height;
    if (height < 0.25) continue;
    g.fillStyle = colour(columns.operator[p]);
    g.fillRect(LEFT + p, row.y + row.height - height, 1, height);
  }
}

function drawFromAfar(t, row, x, first, last) {
  const width = Math.ceil(x.range()[1] - LEFT), busy = newColumns(width);
  const waiting = newColumns(width), c = t.commands, key = colourKey(t);
  let until = 0; /* commands under way at once cover no more than one */
  for (let k = first; k < last; k++) {
    const i = row.queue.list[k], from = Math.max(c.start[i], until);
    if (row.queue.waits[k] < c.start[i])
      cover(waiting, x(row.queue.waits[k]) - LEFT, x(c.start[i]) - LEFT, 0);
    if (from < c.retire[i]) cover(busy, x(from) - LEFT, x(c.retire[i]) - LEFT, key(i));
    until = Math.max(until, c.retire[i]);
  }
  drawColumns(t.g, waiting, row, () => "#d9d9d9");
  drawColumns(t.g, busy, row, colourOf(t));
}

/* ---- from near: commands --------------------------------------------------------------------- */

function laneBox(row, lane) {
  const height = row.height / row.lanes;
  return [row.y + Math.min(lane, row.lanes - 1) * height, height - (row.lanes > 1 ? 1 : 0)];
}

function drawLabel(g, text, from, to, y) {
  const shown = [Math.max(from, LEFT) + 3, to - 3];
  if (g.measureText(text).width > shown[1] - shown[0]) return;
  g.fillStyle = "#000";
  g.fillText(text, shown[0], y);
}

function drawCommand(t, row, x, k) {
  const c = t.commands, i = row.queue.list[k], [y, height] = laneBox(row, c.lane[i]);
  const from = x(c.start[i]), to = Math.max(x(c.retire[i]), from + 0.6), waited = row.queue.waits[k];
  if (waited < c.start[i]) {
    t.g.fillStyle = "#d9d9d9";
    t.g.fillRect(x(waited), row.y, from - x(waited), row.height);
    const by = c.queueNames[c.queue[c.released[i]]];
    if (from - x(waited) > 60) drawLabel(t.g, "waits for " + by, x(waited), from, row.y + 13);
  }
  t.g.fillStyle = colourOf(t)(colourKey(t)(i));
  t.g.globalAlpha = 0.85;
  t.g.fillRect(from, y, to - from, height);
  t.g.globalAlpha = 1;
  if (to - from > 4) {
    t.g.strokeStyle = "#fff";
    t.g.strokeRect(from + 0.5, y + 0.5, to - from - 1, height - 1);
  }
  if (height > 12 && to - from > 40) drawLabel(t.g, c.names[c.opcode[i]], from, to, y + height / 2);
}

function drawChosen(t, x) {
  const c = t.commands, i = t.chosen;
  if (i < 0 || isNaN(c.start[i])) return;
  const place = command => {
    const row = t.rows.find(r => r.queue.name === c.queueNames[c.queue[command]]);
    return [row, ...laneBox(row, c.lane[command])];
  };
  const [, y, height] = place(i), by = c.released[i];
  t.g.strokeStyle = "#000";
  t.g.lineWidth = 2;
  t.g.strokeRect(x(c.start[i]), y, Math.max(x(c.retire[i]) - x(c.start[i]), 2), height);
  if (by >= 0 && !isNaN(c.retire[by])) {
    const [, from, tall] = place(by);
    t.g.beginPath();
    t.g.moveTo(x(c.retire[by]), from + tall / 2);
    t.g.lineTo(x(c.start[i]), y + height / 2);
    t.g.stroke();
  }
  t.g.lineWidth = 1;
}

/* ---- colours --------------------------------------------------------------------------------- */

const commandColours = {ld: "#0072b2", fill: "#56b4e9", st: "#d55e00", conv: "#009e73",
                        dwc: "#f0e442", mm: "#e69f00"};

function colourKey(t) {
  return t.byCommand ? i => t.commands.opcode[i] : i => t.commands.operator[i];
}
function colourOf(t) {
  return t.byCommand ? k => commandColours[(t.commands.names[k] || "").toLowerCase()] || "#cc79a7"
                     : operatorColour;
}

/* Of what takes the most time in the view. */
function drawLegend(t) {
  const time = new Map(), c = t.commands, key = colourKey(t), {from, to} = t.view;
  for (const row of t.rows) {
    const [first, last] = visible(c, row.queue, from, to);
    for (let k = first; k < last; k++) {
      const i = row.queue.list[k];
      const shown = Math.min(c.retire[i], to) - Math.max(c.start[i], from);
      if (shown > 0) time.set(key(i), (time.get(key(i)) || 0) + shown);
    }
  }
  const most = [...time].sort((a, b) => b[1] - a[1]).slice(0, 8).map(e => e[0])
    .sort((a, b) => a - b);
  const name = k => t.byCommand ? c.names[k] : operatorName(t.part, k);
  const div = cleared("#timeline .legend");
  addLegend(div, [...most.map(k => [colourOf(t)(k), name(k)]), ["#d9d9d9", "waits"]]);
  if (time.size > 8) element(div, "span", `and ${time.size - 8} more`);
}

/* ---- all ------------------------------------------------------------------------------------- */

function drawTimeline(t) {
  const last = t.rows[t.rows.length - 1], bottom = last ? last.y + last.height : TOP;
  const {g, width} = openCanvas(t.canvas, bottom + 4), x = timeScale(t.view, width);
  t.g = g;
  drawTimeAxis(g, x, 8, bottom);
  g.save();
  g.beginPath();
  g.rect(LEFT, 0, width - LEFT, bottom + 4);
  g.clip();
  for (const row of t.rows) {
    const [first, end] = visible(t.commands, row.queue, t.view.from, t.view.to);
    if (end - first > width / 2) drawFromAfar(t, row, x, first, end);
    else for (let k = first; k < end; k++) drawCommand(t, row, x, k);
  }
  drawChosen(t, x);
  g.restore();
  g.fillStyle = "#1a1a1a";
  for (const row of t.rows) {
    g.fillText(row.queue.name, 4, row.y + row.height / 2);
    g.fillStyle = "#888";
    g.fillRect(LEFT, row.y + row.height, width - LEFT, 1);
    g.fillStyle = "#1a1a1a";
  }
  drawLegend(t);
  find("#window").textContent = `cycles ${whole(t.view.from)} to ${whole(t.view.to)}, ` +
    `${whole(t.view.to - t.view.from)} of ${whole(t.view.cycles)}`;
}

function chooseCommand(t, i) {
  const div = cleared("#command"), c = t.commands;
  t.chosen = i;
  if (i < 0) return;
  element(div, "code", `${i}: ${commandText(c, i)}`);
  div.appendChild(document.createTextNode(isNaN(c.start[i]) ? "It never ran." :
    `${operatorName(t.part, c.operator[i])}, in ${c.queueNames[c.queue[i]]}: started in cycle ` +
    `${whole(c.start[i])}, retired in ${whole(c.retire[i])} ` +
    `(${whole(c.retire[i] - c.start[i])} cycles). `));
  const by = c.released[i];
  if (by < 0) return;
  div.appendChild(document.createTextNode(`Released in cycle ${whole(c.retire[by])} by `));
  element(div, "a", `command ${by}, ${c.names[c.opcode[by]]} in ${c.queueNames[c.queue[by]]}`)
    .href = "#command=" + by;
}

function pointAt(t, event) {
  const box = t.canvas.getBoundingClientRect(), y = event.clientY - box.top;
  const x = timeScale(t.view, box.width), cycle = x.invert(event.clientX - box.left);
  const row = t.rows.find(r => y >= r.y && y < r.y + r.height);
  if (!row || event.clientX - box.left < LEFT) return -1;
  const lane = Math.floor((y - row.y) / (row.height / row.lanes));
  return commandAt(t.commands, row.queue, cycle, lane, 2 * (t.view.to - t.view.from) / box.width);
}

/* view: newView. Returns what chooses: command(i), layer(operator). */
function addTimeline(part, commands, view) {
  const t = {part, commands, view, rows: rowsOf(commands), canvas: find("#timeline canvas"),
             chosen: -1, byCommand: false};
  const tools = cleared("#timeline .tools");
  const button = (text, act) => { element(tools, "button", text).onclick = act; };
  const zoom = by => {
    const middle = (view.from + view.to) / 2, half = (view.to - view.from) / 2 * by;
    view.set(middle - half, middle + half);
  };
  cleared("#command");
  button("whole run", () => view.set(0, view.cycles));
  button("closer", () => zoom(0.4));
  button("further", () => zoom(2.5));
  button("colours: layer / command", () => { t.byCommand = !t.byCommand; drawTimeline(t); });
  element(tools, "span").id = "window";
  attachZoom(t.canvas, view, event => { chooseCommand(t, pointAt(t, event)); drawTimeline(t); });
  t.canvas.onmousemove = event => {
    const i = pointAt(t, event);
    showTip(event, i < 0 ? "" : describeCommand(part, commands, i));
  };
  view.draws.push(() => drawTimeline(t));
  return {command(i) {
            if (!(i >= 0 && i < commands.n)) return;
            chooseCommand(t, i);
            const cycles = Math.max(commands.retire[i] - commands.start[i], 8);
            if (!isNaN(cycles))
              view.set(commands.start[i] - cycles, commands.retire[i] + cycles);
          },
          layer(operator) {
            const window = layerWindow(commands, operator);
            if (window) view.set(window[0], window[1]);
          }};
}
