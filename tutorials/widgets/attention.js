// The attention player: decoding step by step, and one token's row in every head. Data: {"heads": [{"name", "group",
// "self", "rows", "columns": texts, "weights": [rows * columns] in ten-thousandths, null where masked}], "decoding": {"group": shown first,
// "" for all, "groups": of the decoder, "read": tokens before the first step, "steps": [{"row", "next", "given", "likely": [[text, probability]]}],
// "ends", "pictures": [HTML]}}; the heads of a group have the same tokens, and a page may have no decoding.
"use strict";
touch.attention = (root, {heads, decoding}, language) => {
  if (!heads.length) return;
  const {element} = touch, part = (title) => root.appendChild(element("div", {class: "part"}, element("h3", {}, title)));
  if (decoding) touch.decoding(part(language === "ko" ? "한 단계씩 보는 디코딩" : "Decoding, step by step"), heads, decoding, language);
  touch.attentionRows(part(language === "ko" ? "토큰 하나를 모든 헤드에서 보기" : "One token in every head"), heads, language);
};

// A button that calls advance() again and again until it returns false.
touch.playButton = (language, advance) => {
  const say = language === "ko" ? ["재생", "멈춤"] : ["Play", "Stop"], button = touch.element("button", {type: "button"}, say[0]);
  let timer = null;
  const stop = () => {
    clearInterval(timer);
    timer = null;
    button.textContent = say[0];
  };
  button.addEventListener("click", () => {
    if (timer !== null) return stop();
    button.textContent = say[1];
    timer = setInterval(() => { if (!advance()) stop(); }, 900);
  });
  return button;
};

// One row of a head: {labels, weights}. A token sees no later one where queries and keys are one sequence of a decoder.
touch.attentionRow = ({self, rows, columns, weights}, row, causal) => {
  const n = columns.length, until = self && causal ? row + 1 : n, labels = self ? rows : columns;
  return {labels: labels.slice(0, until), weights: weights.slice(row * n, row * n + until).map((v) => (v === null ? v : v / 1e4))};
};

// Two rows of tokens: those that may be read, and those written so far; from the last one an arc to each that a head reads, as
// thick as its weight. `steps`: what a click on a written token leads to.
touch.arcs = (names, lines, keys, written, steps) => {
  const safe = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  const size = Math.max(28, 8 * Math.max(...[...keys, ...written].map((text) => [...text].length)) + 14), high = 190;
  const x = (i) => size * (i + 0.5), from = x(written.length - 1), apart = Math.min(4, (size - 12) / names.length);
  const box = (text, i, y, more) => `<g ${more}><rect class="token" x="${x(i) - size / 2 + 2}" y="${y}" width="${size - 4}" height="24" rx="4"/>` +
    `<text class="label" x="${x(i)}" y="${y + 16}" text-anchor="middle">${safe(text)}</text></g>`;
  const arcs = lines.map((weights, head) => {
    const by = (head - (names.length - 1) / 2) * apart;
    return weights.map((w, i) => (w === null || w < 0.005 ? "" : `<path class="arc c${head % 8}" stroke-width="${(1 + 7 * w).toFixed(1)}" stroke-opacity="${(0.15 + 0.85 * w).toFixed(2)}" ` +
      `d="M${from + by} ${high - 28}C${from + by} ${high / 2} ${x(i) + by} ${high / 2} ${x(i) + by} 28"><title>${safe(`${names[head]}: ${keys[i]} ${w.toFixed(2)}`)}</title></path>`)).join("");
  });
  const width = size * Math.max(keys.length, written.length);
  return `<svg viewBox="0 0 ${width} ${high}" width="${width}" height="${high}" role="img">${keys.map((text, i) => box(text, i, 2, "")).join("")}${arcs.join("")}` +
    `${written.map((text, i) => box(text, i, high - 26, steps[i] === undefined ? "" : `class="step" data-step="${steps[i]}"`)).join("")}</svg>`;
};

// Rows of [label, share, text, class of the colour] as bars.
touch.bars = (rows) => touch.element("table", {class: "bars"}, ...rows.map(([label, share, text, colour = "heat"]) => {
  const bar = touch.element("td");
  bar.innerHTML = `<svg width="120" height="10"><rect class="${colour}" width="${(1 + 119 * share).toFixed(1)}" height="10"/></svg>`;
  return touch.element("tr", {}, touch.element("th", {}, label), bar, touch.element("td", {}, text));
}));

touch.decoding = (root, heads, {group, groups, read, steps, ends, pictures}, language) => {
  const say = (ko, en) => (language === "ko" ? ko : en), {element} = touch;
  const decoders = heads.filter((head) => groups.includes(head.group)), last = steps.length - (ends ? 0 : 1);
  const own = steps.findIndex((step) => !step.given), state = {at: Math.max(0, own), group};
  const [told, likely, looks, weights, picture] = ["p", "div", "div", "div", "div"].map((name) => element(name));
  weights.className = picture.className = "scroll";

  const button = (label, name, to) => {
    const made = element("button", {type: "button", "aria-label": name}, label);
    made.addEventListener("click", () => go(to()));
    return made;
  };
  const before = button("◀", say("앞 단계", "previous step"), () => state.at - 1);
  const after = button("▶", say("다음 단계", "next step"), () => state.at + 1);
  const tell = (step, done) => {
    if (done) return say(`${steps.length}단계로 답을 모두 썼습니다.`, `The answer is complete after ${steps.length} steps.`);
    const place = say(`${state.at + 1} / ${steps.length}단계. `, `Step ${state.at + 1} of ${steps.length}. `);
    const p = (step.likely.find(([text]) => text === step.next) || [])[1];
    const chance = p === undefined ? "" : say(` (확률 ${p.toFixed(4)})`, ` (probability ${p.toFixed(4)})`);
    return place + (step.given ? say(`다음 토큰은 주어진 "${step.next}"입니다${chance}.`, `The next token is given: "${step.next}"${chance}.`)
      : say(`모델이 다음에 쓰는 토큰은 "${step.next}"입니다${chance}.`, `The model writes "${step.next}" next${chance}.`));
  };
  const draw = () => {
    const done = state.at === steps.length, step = steps[Math.min(state.at, steps.length - 1)];
    root.dataset.step = state.at;
    before.disabled = state.at === 0;
    after.disabled = state.at === last;
    told.textContent = tell(step, done);
    likely.replaceChildren(element("h4", {}, say("다음 토큰의 확률", "Probability of the next token")),
      ...(done ? [] : [touch.bars(step.likely.map(([text, p]) => [text, p, p.toFixed(4)]))]));
    const shown = decoders.filter((head) => !state.group || head.group === state.group);
    const lines = shown.map((head) => touch.attentionRow(head, step.row, true));
    const names = shown.map((head) => head.name), {labels} = lines[0], now = Math.min(state.at, steps.length - 1);
    const before_now = [...read, ...steps.slice(0, now).map(({next}) => next)];
    weights.innerHTML = touch.arcs(names, lines.map((line) => line.weights), labels, [...before_now, done ? step.next : "?"],
      [...read.map(() => undefined), ...steps.map((_, i) => i)]);
    looks.replaceChildren(element("h4", {}, say("헤드가 가장 많이 보는 토큰", "What each head reads most")), touch.bars(lines.map((line, head) => {
      const most = Math.max(...line.weights);
      return [names[head], most, `${labels[line.weights.indexOf(most)]} ${most.toFixed(2)}`, `f${head % 8}`];
    })));
    picture.innerHTML = pictures[state.at] || "";
  };
  const go = (to) => {
    state.at = Math.min(last, Math.max(0, to));
    draw();
    return state.at < last;
  };
  const select = element("select", {"aria-label": say("종류", "kind")});
  if (!group) select.append(element("option", {value: ""}, say("모든 층", "all layers")));
  for (const one of groups) select.append(element("option", one === group ? {value: one, selected: ""} : {value: one}, one));
  select.addEventListener("change", () => { state.group = select.value; draw(); });
  const play = touch.playButton(language, () => go(state.at === last ? 0 : state.at + 1));
  root.tabIndex = 0;
  root.addEventListener("keydown", (event) => {
    const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!by || /^(SELECT|INPUT)$/.test(event.target.tagName)) return;
    event.preventDefault();
    go(state.at + by);
  });
  weights.addEventListener("click", (event) => {
    const box = event.target.closest("[data-step]");
    if (box) go(Number(box.dataset.step));
  });
  root.append(element("p", {}, say("위는 읽을 수 있는 토큰, 아래는 지금까지 쓴 토큰입니다. 활은 쓰려는 토큰에서 헤드가 읽는 토큰으로 가고, 굵을수록 가중치가 큽니다. 가리키면 수가 보입니다.",
    "Above, the tokens that may be read; below, those written so far. An arc leads from the token being written to one that a head reads, as thick as the weight; point at it for the number.")),
    element("div", {class: "tokens"}, before, after, play, select, element("span", {class: "soft"}, say("화살표 키 ← →", "arrow keys ← →"))),
    told, element("div", {class: "sides"}, weights, picture), element("div", {class: "sides"}, likely, looks));
  draw();
};

touch.attentionRows = (root, heads, language) => {
  const say = (ko, en) => (language === "ko" ? ko : en), {element} = touch;
  const groups = [...new Set(heads.map((head) => head.group))];
  const state = {group: groups[0], row: 0};
  const tokens = element("div", {class: "tokens"}), shown = element("div", {class: "scroll"}), told = element("p", {class: "soft"});
  const members = () => heads.filter((head) => head.group === state.group);
  const draw = () => {
    const all = members(), lines = all.map((head) => touch.attentionRow(head, state.row, false)), {labels} = lines[0];
    const high = all.reduce((most, head) => head.weights.reduce((a, b) => Math.max(a, b), most), 200) / 1e4;
    shown.replaceChildren(touch.table(all.map((head) => head.name), labels, lines.map((line) => line.weights), {high}));
    told.textContent = say(`${state.row}번째 토큰 "${all[0].rows[state.row]}"의 행. 가장 큰 가중치: `, `Row of token ${state.row}, "${all[0].rows[state.row]}". Largest weights: `) +
      lines.map(({weights}, i) => {
        const most = Math.max(...weights), at = weights.indexOf(most);
        return `${all[i].name.replace(/^.*?(?=(layer|층) \d)/, "")}: ${at} "${labels[at]}" ${most.toFixed(2)}`;
      }).join("; ");
    [...tokens.children].forEach((button, i) => { button.className = i === state.row ? "chosen" : ""; });
  };
  const choose = (row) => { state.row = row; draw(); };
  const drawGroup = () => {
    const all = members();
    tokens.replaceChildren(...all[0].rows.map((text, i) => {
      const button = element("button", {type: "button"}, text);
      for (const event of ["mouseenter", "focus", "click"]) button.addEventListener(event, () => choose(i));
      return button;
    }));
    state.row = Math.min(state.row, all[0].rows.length - 1);
    draw();
  };
  const select = element("select", {"aria-label": say("종류", "kind")});
  for (const group of groups) select.append(element("option", {value: group}, group));
  select.addEventListener("change", () => { state.group = select.value; drawGroup(); });
  const play = touch.playButton(language, () => { choose((state.row + 1) % tokens.children.length); return true; });
  root.append(element("div", {class: "tokens"}, select, play), tokens, told, shown);
  drawGroup();
};
