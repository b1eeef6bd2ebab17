// Finds what is wrong with the layout of a document that a browser has rendered.
"use strict";

// Four corners of a rectangle, or of a rotated one.
const corners_of = ({left, top, right, bottom}) => [[left, top], [right, top], [right, bottom], [left, bottom]];

// Fonts reserve more height than their letters have: what is left of a line of text when that is taken off.
const letters_of = ([a, b, c, d]) => {
  const between = (p, q, share) => [p[0] + share * (q[0] - p[0]), p[1] + share * (q[1] - p[1])];
  return [between(a, d, 0.25), between(b, c, 0.25), between(c, b, 0.25), between(d, a, 0.25)];
};

const bounds_of = (corners) => {
  const xs = corners.map((p) => p[0]), ys = corners.map((p) => p[1]);
  return {left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys)};
};

// By how many pixels two convex shapes overlap, at the side where they do least; 0 or less: they do not.
const overlap_of = (a, b) => {
  let least = Infinity;
  for (const shape of [a, b]) {
    for (let i = 0; i < 2; ++i) {  // parallel sides have one direction
      const [p, q] = [shape[i], shape[i + 1]], length = Math.hypot(q[0] - p[0], q[1] - p[1]);
      if (length === 0) return 0;
      const along = (v) => (v[0] * (q[1] - p[1]) - v[1] * (q[0] - p[0])) / length;
      const u = a.map(along), v = b.map(along);
      least = Math.min(least, Math.min(Math.max(...u), Math.max(...v)) - Math.max(Math.min(...u), Math.min(...v)));
    }
  }
  return least;
};

const shown = (element) => element.checkVisibility({opacityProperty: true, visibilityProperty: true});

// What each line of text covers, {node, element, text, corners}; of an SVG text, all of it.
const texts_of = (doc) => {
  const found = [];
  const walker = doc.createTreeWalker(doc.documentElement, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.data.trim(), element = node.parentElement;
    if (text === "" || element.closest("script, style, title, desc, defs, option") || !shown(element)) continue;
    const svg_text = element.closest("svg text");
    if (svg_text) {
      if (seen.has(svg_text)) continue;
      seen.add(svg_text);
      const {x, y, width, height} = svg_text.getBBox(), to = svg_text.getScreenCTM();
      if (width === 0 || height === 0) continue;
      const corners = corners_of({left: x, top: y, right: x + width, bottom: y + height})
        .map(([u, v]) => [to.a * u + to.c * v + to.e, to.b * u + to.d * v + to.f]);
      found.push({node: svg_text, element: svg_text, text: svg_text.textContent.trim(), corners: letters_of(corners)});
      continue;
    }
    const range = doc.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      if (rect.width > 0 && rect.height > 0) {
        found.push({node, element, text, corners: letters_of(corners_of(rect))});
      }
    }
  }
  return found;
};

// What an element's ancestors leave visible of it (now), and what a reader can scroll to (reach). `known`: those of elements seen
// before.
const everything = {left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity};
const visible_part = (element, view, known) => {
  if (!element || element === view.document.body) return {now: {...everything, left: 0, top: 0}, reach: everything};
  if (known.has(element)) return known.get(element);
  let part = visible_part(element.parentElement, view, known);
  const style = view.getComputedStyle(element), clips = style.overflowX !== "visible" || style.overflowY !== "visible";
  if (clips && (element.localName === "svg" || !element.namespaceURI.endsWith("svg"))) {
    const box = element.getBoundingClientRect();
    const within = (a) => ({left: Math.max(a.left, box.left), right: Math.min(a.right, box.right),
                            top: Math.max(a.top, box.top), bottom: Math.min(a.bottom, box.bottom)});
    const scrolls = /auto|scroll/.test(style.overflowX + style.overflowY);
    part = {now: within(part.now), reach: scrolls ? everything : within(part.reach)};
  }
  known.set(element, part);
  return part;
};

// "rgb(1, 2, 3)", "rgba(1, 2, 3, 0.5)" and "color(srgb 0.1 0.2 0.3 / 0.5)" as [red, green, blue, share].
const colour_of = (text) => {
  const numbers = (text.match(/[\d.]+(e-?\d+)?/g) || []).map(Number);
  if (!/^(rgba?|color)\(/.test(text) || numbers.length < 3) return [0, 0, 0, 0];  // none, transparent
  const scale = text.startsWith("color") ? 255 : 1;
  return [...numbers.slice(0, 3).map((v) => v * scale), numbers.length > 3 ? numbers[3] : 1];
};

const over = (front, back) => {
  const share = front[3] + back[3] * (1 - front[3]);
  if (share === 0) return [0, 0, 0, 0];
  const mixed = [0, 1, 2].map((i) => (front[i] * front[3] + back[i] * back[3] * (1 - front[3])) / share);
  return [...mixed, share];
};

// The product of an element's and its ancestors' opacities. `known`: those of elements seen before.
const opacity_of = (element, view, known) => {
  if (!element) return 1;
  if (!known.has(element)) {
    const own = Number(view.getComputedStyle(element).opacity);
    known.set(element, own * opacity_of(element.parentElement, view, known));
  }
  return known.get(element);
};

// WCAG 2: (lighter + 0.05) / (darker + 0.05).
const contrast_of = (a, b) => {
  const luminance = (c) => {
    const [red, green, blue] = c.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [u, v] = [luminance(a), luminance(b)];
  return (Math.max(u, v) + 0.05) / (Math.min(u, v) + 0.05);
};

// Text colour and the colour below it, at its middle; null where something else covers the text, and for controls that
// are disabled.
const colours_at = ({element, corners}, view, opacities) => {
  const middle = [0, 1].map((i) => corners.reduce((sum, p) => sum + p[i], 0) / 4);
  const stack = view.document.elementsFromPoint(...middle);
  const svg = element.localName === "text";
  const style = view.getComputedStyle(element);
  const text = colour_of(svg ? style.fill : style.color);
  text[3] *= opacity_of(element, view, opacities) * (svg ? Number(style.fillOpacity) : 1);
  const from = svg ? stack.indexOf(element) + 1 : stack.indexOf(element);
  if (!stack.includes(element) || element.closest(":disabled")) return null;
  let below = [0, 0, 0, 0];
  for (const at of stack.slice(from)) {
    if (below[3] > 0.999) break;
    if (at.localName === "text" || at.localName === "tspan") continue;
    const painted = view.getComputedStyle(at);
    const shape = at.namespaceURI.endsWith("svg") && at.localName !== "svg";
    const colour = colour_of(shape ? painted.fill : painted.backgroundColor);
    colour[3] *= opacity_of(at, view, opacities) * (shape ? Number(painted.fillOpacity) : 1);
    below = over(below, colour);
  }
  const paper = view.matchMedia("(prefers-color-scheme: dark)").matches &&
    view.getComputedStyle(view.document.documentElement).colorScheme.includes("dark") ? [18, 18, 18, 1] : [255, 255, 255, 1];
  below = over(below, paper);
  return [over(text, below), below];
};

// Words that are broken into lines of less than three letters; a token may be a line break.
const broken_words = (texts) => {
  const lines = new Map();
  for (const {node} of texts) lines.set(node, (lines.get(node) || 0) + 1);
  return [...lines].filter(([node, count]) => count > 2 && node.nodeType === Node.TEXT_NODE &&
    count >= 2 + node.data.trim().split("\n").length && node.data.trim().length / count < 3).map(([node]) => node.data.trim());
};

// Negative numbers of a table that are not shaded although smaller positive ones are, or as those are. (Texts are rounded.)
const unsigned_tables = (view) => {
  const found = [];
  for (const table of view.document.querySelectorAll("table")) {
    const cells = [...table.querySelectorAll("td")].filter((cell) => /^-?\d+(\.\d+)?(e[-+]\d+)?$/.test(cell.textContent.trim()))
      .map((cell) => ({text: cell.textContent.trim(), value: Number(cell.textContent), colour: colour_of(view.getComputedStyle(cell).backgroundColor)}));
    const positive = cells.filter(({value, colour}) => value > 0 && colour[3] > 0.02);
    const wrong = cells.find(({value, colour}) => value < 0 && positive.some((other) =>
      (colour[3] === 0 && other.value < -value) || (colour[3] > 0.1 && String(other.colour) === String(colour))));
    if (wrong) found.push(wrong.text);
  }
  return found;
};

// One line per fault of the document in `view`, as "kind: what"; adds to `counts` what it has compared.
const kLeastContrast = 4.5;
const faults_of = (view, counts) => {
  const doc = view.document, faults = [], page = doc.scrollingElement || doc.documentElement;
  const html = doc.documentElement.localName === "html";
  if (html && page.scrollWidth > page.clientWidth) {
    const widest = [...doc.body.querySelectorAll(":not(svg *)")]
      .filter((e) => e.getBoundingClientRect().right > page.clientWidth + 0.5)
      .map((e) => `${e.localName}${e.className.baseVal ?? e.className ? "." + (e.className.baseVal ?? e.className) : ""}`);
    faults.push(`scrolls: ${page.scrollWidth} pixels wide: ${[...new Set(widest)].slice(0, 5).join(", ")}`);
  }
  const name = (text) => `"${text.length > 40 ? text.slice(0, 37) + "..." : text}"`;
  const texts = [], parts = new Map(), opacities = new Map();
  for (const text of texts_of(doc)) {
    text.bounds = bounds_of(text.corners);
    const {now, reach} = visible_part(text.element, view, parts), b = text.bounds;
    if (b.left < reach.left - 1 || b.right > reach.right + 1 || b.top < reach.top - 1 || b.bottom > reach.bottom + 1) {
      faults.push(`cut off: ${name(text.text)}`);
    }
    text.seen = {left: Math.max(b.left, now.left), right: Math.min(b.right, now.right)};  // the rest is scrolled out of sight
    if (text.seen.right > text.seen.left && b.bottom > now.top && b.top < now.bottom) texts.push(text);
  }
  if (html && [...doc.querySelectorAll(".card:not(.touch) > svg")].some((svg) => !svg.parentElement.querySelector(".save"))) {
    faults.push("unsaved: a drawing without its link");  // the policy of the page stops the script
  }
  counts.texts += texts.length;
  for (const text of broken_words(texts)) faults.push(`broken: ${name(text)}`);
  for (const text of unsigned_tables(view)) faults.push(`sign: ${name(text)} is shaded like a positive number, or like 0`);
  texts.sort((a, b) => a.bounds.top - b.bounds.top);
  for (let i = 0; i < texts.length; ++i) {
    const a = texts[i];
    for (let j = i + 1; j < texts.length && texts[j].bounds.top < a.bounds.bottom; ++j) {
      const b = texts[j];
      if (a.node === b.node || a.seen.right <= b.seen.left || b.seen.right <= a.seen.left) continue;
      if (overlap_of(a.corners, b.corners) > 1) faults.push(`overlap: ${name(a.text)} and ${name(b.text)}`);
    }
    const colours = colours_at(a, view, opacities);
    if (!colours) continue;
    ++counts.colours;
    const contrast = contrast_of(...colours);
    if (contrast < kLeastContrast) {
      const shades = colours.map((c) => c.slice(0, 3).map(Math.round).join(" ")).join(" on ");
      faults.push(`contrast: ${contrast.toFixed(1)} of ${name(a.text)}, ${shades}`);
    }
  }
  return faults;
};
