// The attention player: one token's row in every head, with numbers. Data: {"heads": [{"name", "group", "rows",
// "columns": texts, "weights": [rows * columns] in ten-thousandths}]}; the heads of a group have the same tokens.
"use strict";
touch.attention = (root, {heads}, language) => {
  const say = (ko, en) => (language === "ko" ? ko : en), {element} = touch;
  const groups = [...new Set(heads.map((head) => head.group))];
  const state = {group: groups[0], row: 0, full: 1, timer: null};
  const tokens = element("div", {class: "tokens"}), shown = element("div", {class: "scroll"}), told = element("p", {class: "soft"});
  const members = () => heads.filter((head) => head.group === state.group);
  const draw = () => {
    const all = members(), {rows, columns} = all[0], n = columns.length;
    const weights = all.map((head) => head.weights.slice(state.row * n, (state.row + 1) * n).map((v) => v / 1e4));
    const best = (row) => row.indexOf(Math.max(...row));
    shown.replaceChildren(touch.table(all.map((head) => head.name), columns, weights, {high: state.full}));
    told.textContent = say(`${state.row}번째 토큰 "${rows[state.row]}"의 행. 가장 큰 가중치: `, `Row of token ${state.row}, "${rows[state.row]}". Largest weights: `) +
      all.map((head, i) => `${head.name.replace(/^.*layer/, "")}: ${columns[best(weights[i])]} ${Math.max(...weights[i]).toFixed(2)}`).join("; ");
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
      button.addEventListener("mouseenter", () => choose(i));
      button.addEventListener("focus", () => choose(i));
      button.addEventListener("click", () => choose(i));
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
  const play = element("button", {type: "button"}, say("재생", "Play"));
  play.addEventListener("click", () => {
    clearInterval(state.timer);
    const started = state.timer === null;
    play.textContent = started ? say("멈춤", "Stop") : say("재생", "Play");
    state.timer = started ? setInterval(() => choose((state.row + 1) % tokens.children.length), 700) : null;
  });
  if (!heads.length) return;
  root.append(element("label", {}, select, play), scale, tokens, told, shown);
  drawGroup();
};
