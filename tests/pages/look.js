// Opens each of `pages` (list.js) in a frame of each width, uses all of its controls, and prints what is wrong with it:
// "page, width, light or dark: kind: what" per bug, and at last the counts. Without kAllViews, a page has another mode at each width.
"use strict";
const kWidths = [400, 1400], kControls = 30;  // the first controls of a page
const found = [], counts = {views: 0, controls: 0, texts: 0, colours: 0};
window.report = () => {};  // of an error in the page that is open

const read = (file) => new Promise((done, failed) => {
  const request = new XMLHttpRequest();  // fetch does not read files
  request.open("GET", file);
  request.onload = () => done(request.responseText);
  request.onerror = () => failed(new Error(`cannot read ${file}`));
  request.send();
});

// Runs in the page before its own scripts.
const listen = () => {
  addEventListener("error", (e) => parent.report(e.message || `cannot load ${e.target.src || e.target.href}`), true);
  addEventListener("unhandledrejection", (e) => parent.report(`promise: ${e.reason}`));
  console.error = (...words) => parent.report(`console: ${words.join(" ")}`);
};

const pause = () => new Promise((done) => setTimeout(done, 30));

const open_frame = async (file, width) => {
  const frame = document.createElement("iframe");
  frame.style.cssText = `border: 0; width: ${width}px; height: 900px`;
  const loaded = new Promise((done) => frame.addEventListener("load", done));
  if (file.endsWith(".svg")) {
    frame.src = file;
  } else {
    const text = await read(file), head = text.indexOf("<head>");
    if (head < 0) throw new Error("no <head>");
    frame.srcdoc = `${text.slice(0, head + 6)}<script>(${listen})()</` + `script>${text.slice(head + 6)}`;
  }
  document.body.append(frame);
  await loaded;
  await pause();
  return frame;
};

// Uses the page's controls one after another. Those that a click replaces are looked up again.
const use_controls = async (doc, look) => {
  const all = () => [...doc.querySelectorAll("summary, button, input, select")].slice(0, kControls);
  const change = (control, value) => {
    control.value = value;
    for (const kind of ["input", "change"]) control.dispatchEvent(new Event(kind, {bubbles: true}));
  };
  for (let i = 0; i < all().length; ++i) {
    const control = all()[i];
    const values = control.localName === "select" ? [control.options[control.options.length - 1].value, control.value] :
      control.type === "range" ? [control.max, control.min] : [];
    for (const value of values.length > 0 ? values : [null]) {
      const now = all()[i];
      if (!now || now.disabled) break;
      if (value === null) now.click();
      else change(now, value);
      ++counts.controls;
      await pause();
      look();
    }
  }
};

const mode = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
const look_at = async (file, width) => {
  const told = new Set();
  const tell = (fault) => {
    if (told.has(fault)) return;
    told.add(fault);
    found.push(`${file}, ${width}, ${mode}: ${fault}`);
  };
  window.report = (message) => tell(`error: ${message}`);
  try {
    const frame = await open_frame(file, width), view = frame.contentWindow;
    if (view.matchMedia("(prefers-color-scheme: dark)").matches !== (mode === "dark")) tell(`error: not in ${mode} mode`);
    const look = () => {  // all of the page, as high as it is: what is not rendered has no colours
      const page = view.document.scrollingElement || view.document.documentElement;
      frame.style.height = `${page.scrollHeight}px`;
      faults_of(view, counts).forEach(tell);
    };
    look();
    await use_controls(view.document, look);
    frame.remove();
  } catch (error) {
    tell(`error: ${error.stack || error}`);
  }
};

addEventListener("load", async () => {
  for (const [number, file] of pages.entries()) {
    for (const [place, width] of kWidths.entries()) {
      if (kAllViews || (number + place) % 2 === (mode === "dark" ? 1 : 0)) await look_at(file, width), ++counts.views;
    }
  }
  document.querySelectorAll("iframe").forEach((frame) => frame.remove());
  document.getElementById("found").textContent = ["", ...found, `looked at ${JSON.stringify(counts)}`, ""].join("\n");
});
