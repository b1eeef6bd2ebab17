// Plays the attention player of a page of `tapegrad attention` with a small stand-in for the browser's document:
//   node player.js TOUCH_FOLDER PAGE LANGUAGE
// Prints {"parts": headings, "states": [{"step", "told", "likely": rows of bars, "arcs": [[head, weight]], "picture": HTML}] after each press of the next button, "back": the step after the left arrow key, "played": the step
// after the play button, "rows": the rows of the second part when the second token is entered}.
"use strict";
const fs = require("fs"), vm = require("vm");
const [folder, file, language] = process.argv.slice(2);

class Node {
  constructor(tagName) {
    Object.assign(this, {tagName: tagName.toUpperCase(), children: [], dataset: {}, attributes: {}, listeners: {}, className: "", innerHTML: ""});
  }
  get textContent() { return this.children.map((child) => (child instanceof Node ? child.textContent : String(child))).join(""); }
  set textContent(text) { this.children = [text]; }
  setAttribute(key, value) {
    this.attributes[key] = String(value);
    if (key === "class") this.className = value;
    if (key === "value") this.value = value;
  }
  append(...children) { this.children.push(...children); }
  appendChild(child) { this.append(child); return child; }
  replaceChildren(...children) { this.children = children; }
  addEventListener(type, call) { (this.listeners[type] = this.listeners[type] || []).push(call); }
  dispatchEvent(event) { (this.listeners[event.type] || []).forEach((call) => call({target: this, preventDefault() {}, ...event})); }
  all() { return this.children.flatMap((child) => (child instanceof Node ? [child, ...child.all()] : [])); }
  querySelectorAll(tag) { return this.all().filter((node) => node.tagName === tag.toUpperCase()); }
  querySelector(tag) { return this.querySelectorAll(tag)[0]; }
}
globalThis.document = {createElement: (name) => new Node(name)};
globalThis.Event = class { constructor(type) { this.type = type; } };
let tick = null;
globalThis.setInterval = (call) => { tick = call; return 1; };
globalThis.clearInterval = () => { tick = null; };

const script = (name) => fs.readFileSync(`${folder}/${name}.js`, "utf8");
vm.runInThisContext(script("common").replace("const touch", "var touch") + script("attention"));
const data = JSON.parse(fs.readFileSync(file, "utf8").match(/application\/json">([\s\S]*?)<\/script>/)[1]);
const root = new Node("div");
touch.attention(root, data, language);
const [decoding, rows] = root.children, buttons = () => decoding.querySelectorAll("button");
const cells = (table) => (table ? table.children.map((row) => row.children.map((cell) => cell.textContent)) : []);
const state = () => {
  const [, , , told, pictures, bars] = decoding.children; // after the heading and a sentence
  const [weights, picture] = pictures.children, arcs = [...weights.innerHTML.matchAll(/<title>(.*?): \S+ ([0-9.]+)<\/title>/g)];
  return {step: decoding.dataset.step, told: told.textContent, likely: cells(bars.children[0].children[1]),
    arcs: arcs.map((arc) => [arc[1], arc[2]]), picture: picture.innerHTML};
};
const states = [state()], [, after, play] = buttons();
while (!after.disabled) {
  after.dispatchEvent({type: "click"});
  states.push(state());
}
decoding.dispatchEvent({type: "keydown", key: "ArrowLeft"});
const back = decoding.dataset.step;
play.dispatchEvent({type: "click"});
for (let i = 0; i < 1000 && tick; ++i) tick();
const played = decoding.dataset.step;
const tokens = rows.children.find((node) => node.className === "tokens");
tokens.children[1].dispatchEvent({type: "mouseenter"});
console.log(JSON.stringify({parts: root.querySelectorAll("h3").map((title) => title.textContent), states, back, played,
  rows: cells(rows.querySelector("table"))}));
