/* SPDX-License-Identifier: Apache-2.0
 * The data:
 *   parts        runs, as `wick sim --json` has them, with "timeline" and "space"
 *   modes        [{prefetch, parts}], the same parts under each --prefetch; may be missing
 *   cause_docs, what_if_docs   by name
 * The hash chooses: part=1, sort=layers.cycles, command=17, layer=3, from=100&to=200. */
"use strict";

window.onerror = (message, source, line) => {
  find("#failure").hidden = false;
  find("#failure").textContent += `${message} (line ${line})\n`;
};

const data = JSON.parse(find("#data").textContent);
let shown = -1, chooser = null, view = null;

function drawPart(number) {
  const part = data.parts[number];
  shown = number;
  drawSummary(part);
  drawModes(part, number, data.modes, data.cause_docs);
  drawCauses(part, data.cause_docs);
  drawWhatIf(part, data.what_if_docs);
  drawQueues(part);
  drawRoofline(part);
  drawLayers(part);
  drawEnergy(part);
  drawPairs("#machine .table", "machine", part.machine, "key");
  drawPairs("#counters .table", "counters", part.counters, "counter");
  chooser = null;
  view = newView(part.cycles);
  const isDrawn = showSection("timeline", !!part.timeline);
  showSection("space", isDrawn);
  if (!isDrawn) return;
  chooser = addTimeline(part, readCommands(part), view);
  addSpace(part, view);
}

function followHash() {
  const told = hashParameters(), number = +(told.part || Math.max(shown, 0));
  const isKnown = number >= 0 && number < data.parts.length;
  if (isKnown && number !== shown) {
    drawPart(number);
    view.set(0, view.cycles);
    find("#chooser select").value = number;
  }
  sortAsTold(told.sort);
  if (told.to) view.set(+told.from || 0, +told.to);
  if (!chooser) return;
  if (told.layer) chooser.layer(+told.layer);
  if (told.command) chooser.command(+told.command);
  if (told.layer || told.command || told.to) find("#timeline").scrollIntoView();
}

function main() {
  const select = find("#chooser select");
  find("#chooser").hidden = data.parts.length < 2;
  data.parts.forEach((part, i) => {
    const text = `${i}: ${part.part || part.stream}, ${whole(part.cycles)} cycles`;
    element(select, "option", text).value = i;
  });
  select.onchange = () => { location.hash = "part=" + select.value; };
  window.onhashchange = followHash;
  window.onresize = () => view.set(view.from, view.to);
  followHash();
}

main();
