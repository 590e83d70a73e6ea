/* SPDX-License-Identifier: Apache-2.0
 * What all parts of the page share: numbers as text, colours, the tip, the view of time. */
"use strict";

/* Okabe and Ito: told apart by the colour-blind, too. Light grey is waiting. */
const palette = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442",
                 "#4d4d4d"];
const causeColours = {
  compute: "#009e73", drain: "#56b4e9", conflicts: "#f0e442", vector: "#0072b2",
  bandwidth: "#d55e00", latency: "#e69f00", space: "#cc79a7", order: "#999999",
  dispatch: "#4d4d4d"};

const whole = d3.format(",.0f");
const percent = v => v === null || v === undefined ? "-" : d3.format(".1f")(100 * v);
function scaled(n, step, units) {
  let k = 0;
  while (Math.abs(n) >= step * 0.9995 && k < units.length - 1) n /= step, k++;
  return (k || n % 1 ? d3.format(n < 10 ? ".2f" : n < 100 ? ".1f" : ".0f")(n) : whole(n)) +
         units[k];
}
const bytes = n => scaled(n, 1024, [" B", " KiB", " MiB", " GiB"]);
const count = n => scaled(n, 1000, ["", " k", " M", " G", " T"]);

const operatorColour = i => i ? palette[(i - 1) % palette.length] : "#999999";
function operatorName(part, i) {
  const layer = part.layers && part.layers[i];
  return layer ? layer.name : i ? "operator " + i : "other";
}

function element(parent, tag, text, className) {
  const e = document.createElement(tag);
  if (text !== undefined && text !== null) e.textContent = text;
  if (className) e.className = className;
  parent.appendChild(e);
  return e;
}
const find = selector => document.querySelector(selector);
function cleared(selector) {
  const e = find(selector);
  e.textContent = "";
  return e;
}
function showSection(id, isShown) {
  find("#" + id).hidden = !isShown;
  return isShown;
}

function showTip(event, text) {
  const tip = find("#tip");
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const right = event.clientX + 16 + tip.offsetWidth > innerWidth;
  const below = event.clientY + 16 + tip.offsetHeight > innerHeight;
  tip.style.left = Math.max(0, event.clientX + (right ? -12 - tip.offsetWidth : 14)) + "px";
  tip.style.top = Math.max(0, event.clientY + (below ? -12 - tip.offsetHeight : 14)) + "px";
}
function tips(selection, text) { /* a d3 selection */
  selection.on("mousemove", d => showTip(d3.event, text(d))).on("mouseleave", () => showTip());
}

function addLegend(div, entries) {
  for (const [colour, text] of entries) {
    const e = element(div, "span");
    element(e, "i").style.background = colour;
    e.appendChild(document.createTextNode(text));
  }
}

/* #sort=layers.cycles&command=17 */
function hashParameters() {
  const all = {};
  for (const pair of location.hash.slice(1).split("&")) {
    const [key, value] = pair.split("=");
    if (key) all[key] = decodeURIComponent(value || "");
  }
  return all;
}

/* ---- canvases over time ---------------------------------------------------------------------- */

const LEFT = 64; /* pixels of labels */

/* The cycles [from, to) that timeline and scratchpad show, both the same. */
function newView(cycles) {
  return {from: 0, to: cycles, cycles, draws: [],
          set(from, to) {
            const span = Math.min(Math.max(to - from, 8), Math.max(cycles, 8));
            const middle = (from + to) / 2;
            this.from = Math.max(0, Math.min(middle - span / 2, Math.max(cycles, 8) - span));
            this.to = this.from + span;
            for (const draw of this.draws) draw();
          }};
}

/* A canvas of that height, in pixels of the page; returns what to draw with. */
function openCanvas(canvas, height) {
  const ratio = window.devicePixelRatio || 1, width = Math.max(canvas.clientWidth, 200);
  canvas.style.height = height + "px";
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.fillStyle = "#fff";
  g.fillRect(0, 0, width, height);
  g.font = "12px system-ui, 'DejaVu Sans', sans-serif";
  g.textBaseline = "middle";
  return {g, width, height};
}

function timeScale(view, width) {
  return d3.scale.linear().domain([view.from, view.to]).range([LEFT, width]);
}

function drawTimeAxis(g, x, y, bottom) {
  const ticks = x.ticks(8);
  g.strokeStyle = "#ddd";
  g.fillStyle = "#1a1a1a";
  g.beginPath();
  for (const t of ticks) {
    if (t % 1) continue;
    const at = Math.round(x(t)) + 0.5, text = whole(t), half = g.measureText(text).width / 2;
    g.moveTo(at, y + 8);
    g.lineTo(at, bottom);
    g.fillText(text, Math.max(LEFT, Math.min(at - half, x.range()[1] - 2 * half)), y);
  }
  g.stroke();
  g.fillText("cycle", 4, y);
}

/* Wheel and drag. click(event): without a drag. */
function attachZoom(canvas, view, click) {
  const cycleAt = event => {
    const box = canvas.getBoundingClientRect();
    return timeScale(view, box.width).invert(event.clientX - box.left);
  };
  let held = null;
  canvas.onwheel = event => {
    event.preventDefault();
    const at = cycleAt(event), factor = Math.pow(1.0018, event.deltaY);
    view.set(at - (at - view.from) * factor, at + (view.to - at) * factor);
  };
  canvas.onpointerdown = event => {
    held = {x: event.clientX, from: view.from, to: view.to, moved: false};
    canvas.setPointerCapture(event.pointerId);
  };
  canvas.addEventListener("pointermove", event => {
    if (!held) return;
    const pixels = canvas.getBoundingClientRect().width - LEFT;
    const by = (held.x - event.clientX) / pixels * (held.to - held.from);
    held.moved = held.moved || Math.abs(held.x - event.clientX) > 3;
    if (held.moved) view.set(held.from + by, held.to + by);
  });
  canvas.onpointerup = event => {
    if (held && !held.moved && click) click(event);
    held = null;
  };
  canvas.onpointerleave = () => showTip();
}
