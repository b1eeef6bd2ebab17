// The attention player: decoding step by step, and one token's row in every head. Data: {"heads": [{"name", "group",
// "self", "rows", "columns": texts, "weights": [rows * columns] in ten-thousandths}], "decoding": {"group": shown first,
// "" for all, "groups": of the decoder, "read": tokens before the first step, "steps": [{"row", "next", "given", "likely": [[text, probability]]}],
// "ends", "pictures": [HTML]}}; the heads of a group have the same tokens, and a page may have no decoding.
"use strict";
touch.attention = (root, {heads, decoding}, language) => {
  if (!heads.length) return;
  const {element} = touch, part = (title) => root.appendChild(element("div", {class: "part"}, element("h3", {}, title)));
  if (decoding) touch.decoding(part(language === "ko" ? "한 단계씩 보는 디코딩" : "Decoding, step by step"), heads, decoding, language);
  touch.attentionRows(part(language === "ko" ? "모든 헤드에서 본 한 토큰" : "One token in every head"), heads, language);
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
  return {labels: labels.slice(0, until), weights: weights.slice(row * n, row * n + until).map((v) => v / 1e4)};
};

touch.decoding = (root, heads, {group, groups, read, steps, ends, pictures}, language) => {
  const say = (ko, en) => (language === "ko" ? ko : en), {element} = touch;
  const decoders = heads.filter((head) => groups.includes(head.group)), last = steps.length - (ends ? 0 : 1);
  const own = steps.findIndex((step) => !step.given), state = {at: Math.max(0, own), group};
  const [told, written, likely, weights, picture] = ["p", "div", "div", "div", "div"].map((name) => element(name));
  written.className = "tokens";
  likely.className = weights.className = picture.className = "scroll";

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
    const token = ({next, given}, i) => {
      const made = button(next, say(`${i + 1}단계`, `step ${i + 1}`), () => i);
      made.className = i === state.at ? "chosen" : given ? "soft" : "";
      return made;
    };
    written.replaceChildren(element("span", {class: "soft"}, say("지금까지:", "So far:")),
      ...read.map((text) => element("span", {}, text)), ...steps.slice(0, state.at).map(token),
      ...(done ? [] : [element("span", {class: "chosen"}, "?")]));
    likely.replaceChildren(...(done ? [] : [touch.table([say("다음 토큰", "next token")],
      step.likely.map(([text]) => text), [step.likely.map(([, p]) => p)], {digits: 4})]));
    const shown = decoders.filter((head) => !state.group || head.group === state.group);
    const lines = shown.map((head) => touch.attentionRow(head, step.row, true));
    const most = Math.max(0.02, ...lines.flatMap((line) => line.weights));
    weights.replaceChildren(touch.table(shown.map((head) => head.name), lines[0].labels, lines.map((line) => line.weights), {high: most}));
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
  root.append(element("div", {class: "tokens"}, before, after, play, element("span", {class: "soft"}, say("화살표 키 ← →", "arrow keys ← →"))),
    told, written, likely, element("label", {}, say("어텐션", "attention"), select),
    element("div", {class: "sides"}, weights, picture));
  draw();
};

touch.attentionRows = (root, heads, language) => {
  const say = (ko, en) => (language === "ko" ? ko : en), {element} = touch;
  const groups = [...new Set(heads.map((head) => head.group))];
  const state = {group: groups[0], row: 0, full: 1};
  const tokens = element("div", {class: "tokens"}), shown = element("div", {class: "scroll"}), told = element("p", {class: "soft"});
  const members = () => heads.filter((head) => head.group === state.group);
  const draw = () => {
    const all = members(), {rows, columns} = all[0], best = (row) => row.indexOf(Math.max(...row));
    const weights = all.map((head) => touch.attentionRow(head, state.row, false).weights);
    shown.replaceChildren(touch.table(all.map((head) => head.name), columns, weights, {high: state.full}));
    told.textContent = say(`${state.row}번째 토큰 "${rows[state.row]}"의 행. 가장 큰 가중치: `, `Row of token ${state.row}, "${rows[state.row]}". Largest weights: `) +
      all.map((head, i) => `${head.name.replace(/^.*?(?=(layer|층) \d)/, "")}: "${columns[best(weights[i])]}" ${Math.max(...weights[i]).toFixed(2)}`).join("; ");
    [...tokens.children].forEach((button, i) => { button.className = i === state.row ? "chosen" : ""; });
  };
  const choose = (row) => { state.row = row; draw(); };
  const scale = touch.slider(say("진한 색의 값", "Full colour at"), {min: 0.02, max: 1, step: 0.01, value: 1}, (v) => {
    state.full = v;
    if (tokens.children.length) draw();
  });
  const drawGroup = () => {
    const all = members();
    tokens.replaceChildren(...all[0].rows.map((text, i) => {
      const button = element("button", {type: "button"}, text);
      for (const event of ["mouseenter", "focus", "click"]) button.addEventListener(event, () => choose(i));
      return button;
    }));
    state.row = Math.min(state.row, all[0].rows.length - 1);
    const input = scale.querySelector("input");
    input.value = Math.max(0.02, ...all.map((head) => head.weights.reduce((a, b) => Math.max(a, b), 0) / 1e4));
    input.dispatchEvent(new Event("input"));
  };
  const select = element("select", {"aria-label": say("종류", "kind")});
  for (const group of groups) select.append(element("option", {value: group}, group));
  select.addEventListener("change", () => { state.group = select.value; drawGroup(); });
  const play = touch.playButton(language, () => { choose((state.row + 1) % tokens.children.length); return true; });
  root.append(element("label", {}, select, play), scale, tokens, told, shown);
  drawGroup();
};
