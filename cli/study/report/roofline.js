/* SPDX-License-Identifier: Apache-2.0
 * Multiply-accumulates per byte against those per cycle, a dot for each layer, below what array and
 * memory can do. */
"use strict";

function rooflinePoints(part) {
  return (part.layers || []).filter(l => l.macs).map(l => ({
    ...l, perByte: l.macs / Math.max(l.read + l.written, 1),
    perCycle: l.macs / (l.cycles + l.hidden)}));
}

function addRooflineAxes(svg, x, y, width, height) {
  const plain = v => v >= 1 ? whole(v) : String(+v.toPrecision(1));
  const powers = scale => d3.range(Math.ceil(Math.log10(scale.domain()[0]) - 1e-9),
                                   Math.log10(scale.domain()[1]) + 1e-9).map(e => Math.pow(10, e));
  const axis = (scale, orient) => d3.svg.axis().scale(scale).orient(orient)
    .tickValues(powers(scale)).tickFormat(plain);
  svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height})`)
    .call(axis(x, "bottom")).append("text").attr("x", x.range()[1]).attr("y", 34)
    .attr("text-anchor", "end").text("multiply-accumulates per byte read or written");
  svg.append("g").attr("class", "axis").attr("transform", `translate(${x.range()[0]},0)`)
    .call(axis(y, "left")).append("text").attr("x", 8).attr("y", y.range()[1] - 8)
    .text("multiply-accumulates per cycle");
}

function drawRoofline(part) {
  const points = rooflinePoints(part), width = 1180, height = 400;
  if (!showSection("roofline", points.length > 0)) return;
  const peak = part.machine.array * part.machine.array, rate = part.machine.dram_bytes;
  const intensities = points.map(p => p.perByte).concat(peak / rate);
  const x = d3.scale.log().domain([d3.min(intensities) / 2, d3.max(intensities) * 3])
    .range([60, width - 20]);
  const y = d3.scale.log().domain([Math.min(d3.min(points, p => p.perCycle) / 2, peak / 20),
                                   peak * 1.6]).range([height, 24]);
  const skipped = part.layers.filter(l => l.operator && !l.macs).length;
  find("#roofline .note").textContent = `A dot is a layer, its area the layer's cycles. Below the ` +
    `slope memory is what limits it (${rate} B/cycle), below the level the array (${peak} ` +
    `multiply-accumulates a cycle). Hidden cycles count: a layer whose bytes came in the time of ` +
    `others lies on the slope.` + (skipped ? ` Layers without any, ${skipped}, are left out.` : "");
  const svg = d3.select(cleared("#roofline .chart")).append("svg")
    .attr("viewBox", `0 0 ${width} ${height + 40}`).attr("width", "100%");
  addRooflineAxes(svg, x, y, width, height);
  const corner = peak / rate, least = Math.max(x.domain()[0], y.domain()[0] / rate);
  const ceiling = [[least, least * rate], [corner, peak], [x.domain()[1], peak]];
  svg.append("path").attr("fill", "none").attr("stroke", "#1a1a1a").attr("stroke-width", 2)
    .attr("d", d3.svg.line().x(d => x(d[0])).y(d => y(d[1]))(ceiling));
  svg.append("text").attr("x", x.range()[1]).attr("y", y(peak) - 7).attr("text-anchor", "end")
    .text(`array: ${peak} a cycle`);
  svg.append("text").attr("x", x(Math.sqrt(least * corner)) - 10).attr("text-anchor", "end")
    .attr("y", y(Math.sqrt(least * corner) * rate)).text(`memory: ${rate} B/cycle`);
  const most = d3.max(points, p => p.cycles);
  const dots = svg.append("g").selectAll("circle")
    .data(points.sort((a, b) => b.cycles - a.cycles)).enter().append("circle")
    .attr("cx", p => x(p.perByte)).attr("cy", p => y(p.perCycle))
    .attr("r", p => 3 + 11 * Math.sqrt(p.cycles / most)).attr("fill", p => operatorColour(p.operator))
    .attr("fill-opacity", 0.75).attr("stroke", "#1a1a1a").attr("stroke-width", 0.7)
    .on("click", p => { location.hash = "layer=" + p.operator; });
  tips(dots, p => `${p.name}\n${d3.format(".1f")(p.perByte)} multiply-accumulates a byte, ` +
    `${d3.format(".1f")(p.perCycle)} a cycle\n${whole(p.cycles)} cycles, ${percent(p.share)} %` +
    (p.hidden ? `; ${whole(p.hidden)} hidden` : ""));
}
