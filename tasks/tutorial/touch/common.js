// What all widgets use. A widget is a file touch/<name>.js with one line `touch.<name> = (root, data, language) => ...`:
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

// The rows of numbers as a table with labels, each cell shaded by its value between low and high.
touch.table = (rows, columns, values, {digits = 2, low = 0, high = 1} = {}) => {
  const head = touch.element("tr", {}, touch.element("th"), ...columns.map((c) => touch.element("th", {}, c)));
  const body = values.map((row, r) => touch.element("tr", {}, touch.element("th", {}, rows[r]), ...row.map((v) => {
    const share = Math.round(100 * Math.min(1, Math.max(0, (v - low) / (high - low))) * 0.7);
    const style = Number.isFinite(v) ? `background: color-mix(in srgb, var(--heat) ${share}%, transparent)` : "";
    return touch.element("td", {style}, Number.isFinite(v) ? v.toFixed(digits) : v < 0 ? "-inf" : String(v));
  })));
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
