// What all widgets use. A widget is a file <name>.js of this folder with a line `touch.<name> = (root, data, language) => ...`:
// it fills the empty element `root` with what the page's JSON `data` describes, in the language "ko" or "en".
"use strict";
const touch = {};

// An element with attributes, and children that are elements or texts: element("p", {class: "told"}, "text").
touch.element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

// A labelled slider, which calls change(value) at once and whenever it moves.
touch.slider = (label, {min, max, step, value}, change) => {
  const input = touch.element("input", {type: "range", min, max, step, value});
  const shown = touch.element("output");
  const update = () => {
    shown.textContent = input.value;
    change(Number(input.value));
  };
  input.addEventListener("input", update);
  update();
  return touch.element("label", {class: "slider"}, touch.element("span", {}, label), input, shown);
};

// The rows of numbers as a table with labels, each cell shaded up to `high` on both sides of 0: blue, and where there are
// negative numbers, blue below and red above. null is masked: grey, as -Infinity. At half of the ink, texts keep their contrast.
touch.table = (rows, columns, values, {digits = 2, high = 1} = {}) => {
  const signed = values.flat().some((v) => v !== null && Number.isFinite(v) && v < 0);
  const look = (v) => {
    if (v === null || v === -Infinity) return "background: var(--blocked)";
    const share = Math.min(1, Math.abs(v) / high), ink = share < 0.01 ? 0 : Math.round(4 + 46 * share);
    return Number.isFinite(v) ? `background: color-mix(in srgb, var(--${signed && v > 0 ? "warm" : "heat"}) ${ink}%, transparent)` : "";
  };
  const text = (v) => (v === null ? "–" : Number.isFinite(v) ? v.toFixed(digits).replace(/^-(0\.?0*)$/, "$1") : v < 0 ? "-inf" : String(v));
  const head = touch.element("tr", {}, touch.element("th"), ...columns.map((c) => touch.element("th", {}, c)));
  const body = values.map((row, r) => touch.element("tr", {}, touch.element("th", {}, rows[r]),
    ...row.map((v) => touch.element("td", {style: look(v)}, text(v)))));
  return touch.element("table", {class: "cells"}, head, ...body);
};

touch.softmax = (row) => {
  const most = Math.max(...row.filter((v) => v > -Infinity));
  const powers = row.map((v) => (v > -Infinity ? Math.exp(v - most) : 0));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((p) => (sum > 0 ? p / sum : 0));
};

// Fills every element of class "touch" with the widget that it names.
touch.start = () => {
  for (const root of document.querySelectorAll(".touch")) {
    const data = JSON.parse(root.querySelector("script").textContent);
    const place = touch.element("div", {class: "widget"});
    root.append(place);
    touch[root.dataset.widget](place, data, document.documentElement.lang);
  }
};
