/* SPDX-License-Identifier: Apache-2.0
 * Summary, causes, what-if, queues, modes, layers, energy, machine, counters: bars and tables. */
"use strict";

/* ---- bars ------------------------------------------------------------------------------------ */

/* rows: {name, note, pieces: [{label, value, colour, doc}]}; all to one scale, `most` wide. */
function addBars(div, rows, most, unit) {
  const width = 1180, left = 110, right = 200, step = 28;
  const x = d3.scale.linear().domain([0, most]).range([0, width - left - right]);
  const svg = d3.select(div).append("svg").attr("viewBox", `0 0 ${width} ${rows.length * step}`)
    .attr("width", "100%");
  const row = svg.selectAll("g").data(rows).enter().append("g")
    .attr("transform", (d, i) => `translate(${left},${i * step})`);
  row.append("text").attr("x", -8).attr("y", 17).attr("text-anchor", "end").text(d => d.name);
  row.append("text").attr("y", 17).text(d => d.note)
    .attr("x", d => 8 + x(d3.sum(d.pieces, p => p.value)));
  const piece = row.selectAll("rect").data(d => {
    let at = 0;
    return d.pieces.map(p => ({...p, row: d.name, from: (at += p.value) - p.value}));
  }).enter().append("rect").attr("x", d => x(d.from)).attr("y", 4).attr("height", 20)
    .attr("width", d => Math.max(x(d.value) - (x(d.value) > 2 ? 0.7 : 0), 0))
    .attr("fill", d => d.colour);
  tips(piece, d => `${d.row ? d.row + ", " : ""}${d.label}: ${whole(d.value)} ${unit}` +
                   ` (${percent(d.value / most)} %)${d.doc ? "\n" + d.doc : ""}`);
}

function causePieces(part, docs) {
  return Object.keys(part.causes || {}).filter(name => part.causes[name])
    .map(name => ({label: name, value: part.causes[name], colour: causeColours[name],
                   doc: docs[name]}));
}

/* ---- summary --------------------------------------------------------------------------------- */

const bytesIn = p => p.counters.bytes_ld0 + p.counters.bytes_ld1 + p.counters.bytes_ld2;
const bytesOut = p => p.counters.bytes_st;

function drawSummary(part) {
  const m = part.machine, all = part.all_layers, tiles = cleared("#summary .tiles");
  const add = (value, label, doc) => {
    const tile = element(tiles, "div", null, "tile");
    tile.title = doc || "";
    element(tile, "b", value);
    element(tile, "span", label);
  };
  add(whole(part.cycles), "cycles");
  add(scaled(part.cycles / m.clock_mhz, 1000, [" us", " ms", " s"]), `at ${m.clock_mhz} MHz`);
  if (all) add(percent(part.utilisation) + " %", "use of the array",
               "multiply-accumulates of the layers / (N x N x cycles)");
  else add(percent(part.active_lanes) + " %", "active lanes",
           "multiplications / (N x N x cycles), with those that only pad");
  add(percent(part.overlap) + " %", "overlap",
      "of the cycles with a transfer under way, those in which something computes, too");
  add(percent(part.exposed / part.cycles) + " %", "exposed",
      "cycles in which nothing computes because it waits for a transfer");
  if (all) add(percent(all.efficiency) + " %", "efficiency", "bound / cycles");
  if (all && all.of_least !== null)
    add(percent(all.of_least) + " %", "of least", "what no schedule is below / cycles");
  add(bytes(bytesIn(part) + bytesOut(part)), "moved");
  if (part.energy_pj) add(scaled(part.energy_pj / 1e6, 1000, [" uJ", " mJ", " J"]), "energy, about");
  const dl = cleared("#summary dl");
  const fact = (name, text) => element(dl, "dt", name) && element(dl, "dd", text);
  fact(part.layers ? "part" : "stream", `${part.stream}, ${whole(part.commands)} commands`);
  fact("machine", `${m.name}: ${m.array} x ${m.array} MACs, scratchpad ${bytes(m.scratchpad)}, ` +
       `accumulators ${bytes(m.accumulators)}, memory ${m.dram_bytes} B/cycle, latency ` +
       `${m.dram_latency} cycles, hash ${m.hash}`);
  fact("ran on", part.model + (part.build ? ", " + part.build : ""));
  if (all && all.activity !== null)
    fact("multiply-accumulates", `${count(all.macs)}, ${percent(part.utilisation)} % of the peak: ` +
         `mapping ${percent(all.mapping)} % x activity ${percent(all.activity)} %`);
  fact("active lanes", `${count(part.counters.macs)}, ${percent(part.active_lanes)} % of the ` +
       `peak, with those that only pad`);
  fact("transfers", `${bytes(bytesIn(part))} in, ${bytes(bytesOut(part))} out; ` +
       `${d3.format(".2f")((bytesIn(part) + bytesOut(part)) / part.cycles)} B/cycle`);
  if (all) fact("bound", `${whole(all.bound)} cycles for these tiles and bytes: ${all.limit}`);
  if (all && all.binds) fact("least", `${whole(all.least)} cycles, whatever the schedule: ` +
                             `${all.binds}`);
  if (all && all.predicted) fact("predicted", `${whole(all.predicted)} cycles`);
}

/* ---- causes, what-if, queues ----------------------------------------------------------------- */

function drawCauses(part, docs) {
  if (!showSection("causes", !!part.causes)) return;
  const pieces = causePieces(part, docs), transfers = {null: "", weights: 1, inputs: 1, results: 1};
  addBars(cleared("#causes .bar"), [{name: "cycles", note: "", pieces}], part.cycles, "cycles");
  addTable(cleared("#causes .table"), "causes", [
    {key: "label", label: "cause", kind: "text", colour: r => r.colour},
    {key: "value", label: "charged", format: whole, doc: "cycles; each has one cause, the nearest"},
    {key: "share", label: "%", value: r => r.value / part.cycles, format: percent},
    ...(part.what_if ? [{key: "won", label: "won without",
      doc: "cycles that the timing model saves when this cause alone is gone", format: v => v < 0 ? "-" : whole(v),
      value: r => r.label in part.what_if ? part.cycles - part.what_if[r.label] : -1}] : []),
    {key: "doc", label: "what it means", kind: "text wide"}], pieces);
  const rows = part.causes_of_layers.map(r => ({
    ...r, layer: operatorName(part, r.operator), moved: transfers[r.moved] ? r.moved : ""}));
  addTable(cleared("#causes .rows"), "layercauses", [
    {key: "layer", label: "layer", kind: "text", link: r => r.operator ? "#layer=" + r.operator : ""},
    {key: "cause", label: "cause", kind: "text", colour: r => causeColours[r.cause]},
    {key: "moved", label: "of", kind: "text"},
    {key: "cycles", label: "charged", format: whole},
    {key: "share", label: "% of all", value: r => r.cycles / part.cycles, format: percent}], rows);
}

function drawWhatIf(part, docs) {
  if (!showSection("whatif", !!part.what_if)) return;
  const rows = Object.keys(part.what_if).map(name => ({
    name, cycles: part.what_if[name], won: part.cycles - part.what_if[name], doc: docs[name],
    colour: causeColours[name] || "#4d4d4d"}));
  addBars(cleared("#whatif .chart"), rows.map(r => ({
    name: r.name, note: `${whole(r.won)} cycles, ${percent(r.won / part.cycles)} %`,
    pieces: [{label: "won", value: r.won, colour: r.colour, doc: r.doc}]})),
    d3.max(rows, r => r.won) || 1, "cycles");
  addTable(cleared("#whatif .table"), "whatif", [
    {key: "name", label: "without", kind: "text", colour: r => r.colour},
    {key: "won", label: "won", format: whole},
    {key: "share", label: "%", value: r => r.won / part.cycles, format: percent},
    {key: "cycles", label: "cycles", format: whole},
    {key: "doc", label: "what is assumed", kind: "text wide"}], rows);
}

const stateColours = {busy: "#009e73", memory: "#d55e00", bank: "#f0e442", empty: "#e6e6e6"};

function drawQueues(part) {
  const c = part.counters, div = cleared("#queues .chart"), rows = [], seen = new Map();
  const queues = [...new Set(Object.keys(c).filter(k => k.endsWith(".busy"))
    .map(k => k.slice(0, -5)))];
  for (const q of queues) {
    const pieces = [];
    for (const key of Object.keys(c)) {
      if (!key.startsWith(q + ".") || !c[key]) continue;
      const state = key.slice(q.length + 1), of = state.split(".")[1];
      const label = of ? "waits for " + of : state;
      const colour = of ? ["#0072b2", "#56b4e9", "#cc79a7", "#e69f00", "#999999", "#4d4d4d"]
        [queues.indexOf(of) % 6] : stateColours[state];
      seen.set(label, colour);
      pieces.push({label, value: c[key], colour});
    }
    if (!pieces.every(p => p.label === "empty"))
      rows.push({name: q, pieces, note: percent((c[q + ".busy"] || 0) / c.cycles) + " % busy"});
  }
  addLegend(element(div, "div", null, "legend"), [...seen].map(([text, colour]) => [colour, text]));
  addBars(div, rows, part.cycles, "cycles");
}

/* ---- prefetch modes -------------------------------------------------------------------------- */

function drawModes(part, number, modes, docs) {
  if (!showSection("modes", !!modes)) return;
  const parts = modes.map(m => ({prefetch: m.prefetch, ...m.parts[number]}))
    .filter(p => p.counters);
  const most = d3.max(parts, p => p.cycles), div = cleared("#modes .chart");
  const off = (parts.find(p => p.prefetch === "off") || {}).exposed;
  addLegend(element(div, "div", null, "legend"), Object.keys(docs)
    .map(name => [causeColours[name], name]));
  addBars(div, parts.map(p => ({name: p.prefetch, note: whole(p.cycles) + " cycles",
                                pieces: causePieces(p, docs)})), most, "cycles");
  addTable(cleared("#modes .table"), "modes", [
    {key: "prefetch", label: "prefetch", kind: "text"},
    {key: "cycles", label: "cycles", format: whole},
    {key: "ratio", label: "of the slowest %", value: p => p.cycles / most, format: percent},
    {key: "utilisation", label: "use of the array %", format: percent,
     doc: "multiply-accumulates of the layers / (N x N x cycles)"},
    {key: "overlap", label: "overlap %", format: percent},
    {key: "exposed", label: "exposed", format: whole},
    {key: "hides", label: "hides %", value: p => off ? 1 - p.exposed / off : null,
     format: v => v === null ? "-" : percent(v),
     doc: "the share of the exposed cycles of off that the mode has not"},
    {key: "of_least", label: "of least %", value: p => (p.all_layers || {}).of_least,
     format: v => typeof v === "number" ? percent(v) : "-", doc: "least / cycles"},
    {key: "in", label: "read", value: bytesIn, format: bytes},
    {key: "out", label: "written", value: bytesOut, format: bytes},
    {key: "commands", label: "commands", format: whole}], parts);
  const layers = (part.layers || []).map((l, i) => ({name: l.name, op: l.op, by: parts.map(
    p => ((p.layers || []).find(other => other.name === l.name && other.operator === i) || {}).cycles)}));
  addTable(cleared("#modes .layers"), "modelayers", [
    {key: "name", label: "layer", kind: "text"}, {key: "op", label: "op", kind: "text"},
    ...parts.map((p, i) => ({key: p.prefetch, label: p.prefetch, value: l => l.by[i],
                             format: v => v === null ? "-" : whole(v)}))], layers);
}

/* ---- layers, energy, machine ----------------------------------------------------------------- */

const layerColumns = [
  {key: "name", label: "layer", kind: "text", link: l => l.operator ? "#layer=" + l.operator : "",
   colour: l => l.operator === undefined ? "#fff" : operatorColour(l.operator)},
  {key: "op", label: "op", kind: "text"},
  {key: "cycles", label: "cycles", format: whole, doc: "charged to the layer"},
  {key: "predicted", label: "predicted", format: whole, doc: "by the compiler's schedule model"},
  {key: "share", label: "%", format: percent, doc: "of all cycles"},
  {key: "utilisation", label: "use %", format: percent,
   doc: "of the array: multiply-accumulates / (N x N x cycles), mapping x activity"},
  {key: "mapping", label: "mapping %", format: percent, doc: "what shapes cost"},
  {key: "activity", label: "activity %", format: percent, doc: "what waiting costs"},
  {key: "overlap", label: "overlap %", format: percent, doc: "transfers behind compute"},
  {key: "exposed", label: "exposed", format: whole, doc: "cycles of transfers without compute"},
  {key: "read", label: "read", format: bytes}, {key: "written", label: "written", format: bytes},
  {key: "bound", label: "bound", format: whole, doc: "the least cycles for these tiles and bytes"},
  {key: "limit", label: "limit", kind: "text", doc: "what the bound is of"},
  {key: "hidden", label: "hidden", format: whole,
   doc: "cycles of other layers, behind which the rest of the bound lies"},
  {key: "efficiency", label: "efficiency %", format: percent, doc: "bound / (cycles + hidden)"},
  {key: "least", label: "least", format: whole, doc: "the least cycles, whatever the schedule"},
  {key: "binds", label: "binds", kind: "text", doc: "what the least is of"},
  {key: "of_least", label: "of least %", format: v => v === null ? "-" : percent(v),
   doc: "least / cycles"},
  {key: "energy_pj", label: "uJ", format: v => d3.format(",.2f")(v / 1e6),
   doc: "about; multiplications and memory alone: accesses on the chip are counted for all layers"},
  {key: "macs", label: "MACs", format: count}, {key: "ex", label: "array", format: whole,
   doc: "the least cycles that the array needs"},
  {key: "drain", label: "drain", format: whole, doc: "that the accumulators need to be emptied"},
  {key: "ve", label: "vector", format: whole, doc: "that the vector unit needs"},
  {key: "least_ex", label: "least array", format: whole}, {key: "least_drain", label: "drain",
   format: whole}, {key: "least_ve", label: "vector", format: whole},
  {key: "least_weights", label: "weights", format: bytes, doc: "that any schedule reads"},
  {key: "least_in", label: "inputs", format: bytes, doc: "of the part, read once"},
  {key: "least_out", label: "outputs", format: bytes, doc: "of the part"}];

function drawLayers(part) {
  if (!showSection("layers", !!part.layers)) return;
  const rows = part.layers.filter(l => l.operator || l.cycles || l.read || l.written);
  addTable(cleared("#layers .table"), "layers", layerColumns,
           [...rows.filter(l => l.operator), ...rows.filter(l => !l.operator)],
           {...part.all_layers, name: "all", op: ""});
}

function drawEnergy(part) {
  if (!showSection("energy", !!part.energy_pj)) return;
  const rows = part.energy_shares.map((s, i) => ({...s, label: s.name, value: s.pj,
                                                  colour: palette[i % palette.length]}));
  addBars(cleared("#energy .bar"), [{name: "energy", note: "", pieces: rows}], part.energy_pj, "pJ");
  addTable(cleared("#energy .table"), "energy", [
    {key: "name", label: "for", kind: "text", colour: r => r.colour},
    {key: "count", label: "how many", format: count},
    {key: "each", label: "pJ each"},
    {key: "pj", label: "uJ", format: v => d3.format(",.2f")(v / 1e6)},
    {key: "share", label: "%", value: r => r.pj / part.energy_pj, format: percent}], rows);
}

function drawPairs(selector, name, object, key) {
  addTable(cleared(selector), name, [
    {key: "name", label: key, kind: "text"},
    {key: "value", label: "value", format: v => typeof v === "number" && v % 1 === 0 ? whole(v) : v}],
           Object.keys(object).filter(k => object[k] !== 0 || key === "key")
             .map(k => ({name: k, value: object[k]})));
}
