/* SPDX-License-Identifier: Apache-2.0
 * Tables that a click on a heading sorts. */
"use strict";

const tables = {}; /* by name: how the hash sorts them */

function valueOf(column, row) {
  const v = column.value ? column.value(row) : row[column.key];
  return v === undefined ? null : v;
}

/* Numbers from the largest, texts from "a"; what has no value comes last. */
function compareBy(column, sign) {
  return (a, b) => {
    const x = valueOf(column, a), y = valueOf(column, b);
    if (x === null || y === null) return (x === null) - (y === null);
    return typeof x === "string" ? sign * x.localeCompare(y) : sign * (x - y);
  };
}

function addCells(tr, columns, row) {
  for (const column of columns) {
    const v = valueOf(column, row), text = column.format ? column.format(v, row) : v;
    const td = element(tr, "td", text, column.kind);
    if (column.kind) td.title = v;
    if (column.link && column.link(row)) {
      td.textContent = "";
      element(td, "a", text).href = column.link(row);
    }
    if (column.colour) td.style.boxShadow = "inset 9px 0 " + column.colour(row);
    if (column.colour) td.style.paddingLeft = "16px";
  }
}

/* columns: key, label; doc, value(row), format(value, row), kind ("text" on the left, "text wide"),
 * link(row), colour(row). total: a row that stays at the end. */
function addTable(parent, name, columns, rows, total) {
  const table = element(parent, "table"), head = element(element(table, "thead"), "tr");
  const body = element(table, "tbody");
  let order = rows.slice(), sorted = null, descending = false;
  const fill = () => {
    body.textContent = "";
    for (const row of order) addCells(element(body, "tr"), columns, row);
    columns.forEach((c, i) => head.children[i].setAttribute(
      "aria-sort", c !== sorted ? "none" : descending ? "descending" : "ascending"));
  };
  const sort = (column, isDescending) => {
    sorted = column;
    descending = isDescending;
    order = rows.slice().sort(compareBy(column, descending ? -1 : 1));
    fill();
  };
  for (const column of columns) {
    const th = element(head, "th", column.label, column.kind);
    th.title = column.doc || "";
    th.onclick = () => sort(column, sorted === column ? !descending : !column.kind);
  }
  fill();
  if (total) addCells(element(element(table, "tfoot"), "tr"), columns, total);
  tables[name] = key => {
    const column = columns.find(c => c.key === key.replace(/^-/, ""));
    if (column) sort(column, key[0] === "-" ? !!column.kind : !column.kind);
  };
}

/* "layers.cycles"; "layers.-cycles" the other way round */
function sortAsTold(text) {
  const [name, key] = (text || "").split(".");
  if (key && tables[name]) tables[name](key);
}
