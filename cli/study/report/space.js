/* SPDX-License-Identifier: Apache-2.0
 * What lies in the scratchpad, and when: the rectangles of report.h. */
"use strict";

function readSpace(part) {
  const list = numbers(part.space.rectangles), n = list.length / 5;
  const s = {n, block: new Uint16Array(n), blocks: new Uint16Array(n), from: new Float64Array(n),
             to: new Float64Array(n), operator: new Uint16Array(n)};
  for (let i = 0, at = 0; i < n; i++) {
    s.block[i] = list[5 * i];
    s.blocks[i] = list[5 * i + 1];
    s.from[i] = at += +list[5 * i + 2];
    s.to[i] = at + +list[5 * i + 3];
    s.operator[i] = list[5 * i + 4];
  }
  return s;
}

/* Blocks in use: the most at once, and on average. */
function spaceInUse(s, cycles) {
  const events = [];
  let now = 0, most = 0, sum = 0;
  for (let i = 0; i < s.n; i++) {
    events.push([s.from[i], s.blocks[i]], [s.to[i], -s.blocks[i]]);
    sum += (s.to[i] - s.from[i]) * s.blocks[i];
  }
  events.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  for (const event of events) most = Math.max(most, now += event[1]);
  return {most, average: cycles ? sum / cycles : 0};
}

const pixelOf = colour => {
  const v = parseInt(colour.slice(1), 16);
  return 0xff000000 | (v & 255) << 16 | v & 0xff00 | v >> 16; /* as ImageData has it */
};

/* A pixel for every block and column, whatever the number of rectangles. */
function paintSpace(s, view, width, blocks) {
  const image = new ImageData(width, blocks), pixels = new Uint32Array(image.data.buffer);
  const scale = width / (view.to - view.from), colours = [];
  pixels.fill(0xfff4f4f4);
  for (let i = 0; i < s.n; i++) {
    if (s.to[i] < view.from || s.from[i] >= view.to) continue;
    const first = Math.max(Math.floor((s.from[i] - view.from) * scale), 0);
    const last = Math.min(Math.ceil((s.to[i] - view.from) * scale), width);
    const pixel = colours[s.operator[i]] ||
      (colours[s.operator[i]] = pixelOf(operatorColour(s.operator[i])));
    for (let b = s.block[i]; b < s.block[i] + s.blocks[i]; b++)
      pixels.fill(pixel, b * width + first, b * width + Math.max(last, first + 1));
  }
  return image;
}

function drawSpace(s, part, view, canvas) {
  const {blocks, block} = part.space, height = blocks + TOP + 6;
  const {g, width} = openCanvas(canvas, height), x = timeScale(view, width);
  const image = paintSpace(s, view, Math.max(Math.round(width - LEFT), 1), blocks);
  const hidden = document.createElement("canvas");
  hidden.width = image.width;
  hidden.height = image.height;
  hidden.getContext("2d").putImageData(image, 0, 0);
  g.imageSmoothingEnabled = false;
  drawTimeAxis(g, x, 8, TOP);
  g.drawImage(hidden, LEFT, TOP, width - LEFT, blocks);
  g.strokeStyle = "#888";
  g.strokeRect(LEFT - 0.5, TOP - 0.5, width - LEFT, blocks + 1);
  g.fillStyle = "#1a1a1a";
  for (let k = 0; k <= 4; k++)
    g.fillText(bytes(k * blocks * block / 4), 4, Math.min(TOP + k * blocks / 4, height - 8));
}

function addSpace(part, view) {
  const s = readSpace(part), canvas = find("#space canvas"), {block, blocks} = part.space;
  const used = spaceInUse(s, part.cycles);
  find("#space .note").textContent = `Bytes between the first write and the last read, in blocks ` +
    `of ${bytes(block)}; the colour is that of the layer whose command wrote, as in the timeline, ` +
    `whose window this shows. At most ${bytes(used.most * block)} of ${bytes(blocks * block)} are ` +
    `in use at once, ${bytes(used.average * block)} on average.`;
  attachZoom(canvas, view);
  canvas.onmousemove = event => {
    const box = canvas.getBoundingClientRect();
    const cycle = timeScale(view, box.width).invert(event.clientX - box.left);
    const at = Math.floor(event.clientY - box.top - TOP);
    const slack = (view.to - view.from) / box.width;
    let hit = -1;
    for (let i = 0; i < s.n; i++)
      if (at >= s.block[i] && at < s.block[i] + s.blocks[i] && cycle + slack >= s.from[i] &&
          cycle < s.to[i]) hit = i;
    showTip(event, hit < 0 || event.clientX - box.left < LEFT ? "" :
      `${operatorName(part, s.operator[hit])}\nbytes ${whole(s.block[hit] * block)} to ` +
      `${whole((s.block[hit] + s.blocks[hit]) * block)}\n` +
      `cycles ${whole(s.from[hit])} to ${whole(s.to[hit])}`);
  };
  view.draws.push(() => drawSpace(s, part, view, canvas));
}
