// A mask to click, before or after softmax. Data: {"tokens": [texts], "scores": [[numbers]], "allowed": [[0 or 1]]
// (all), "when": "before" or "after"}. "columns" [texts] names the keys where they are not the tokens.
"use strict";
touch.mask = (root, data, language) => {
  const say = (ko, en) => (language === "ko" ? ko : en), {element} = touch;
  const {scores} = data, rows = data.tokens || scores.map((_, i) => String(i + 1)), columns = data.columns || rows;
  const given = scores.map((row, t) => row.map((_, s) => (data.allowed ? Boolean(data.allowed[t][s]) : true)));
  let allowed = given.map((row) => [...row]), when = data.when || "before";
  const shown = element("div"), part = (title, table) => element("div", {}, element("h3", {}, title), table);
  const high = Math.max(1e-9, ...scores.flat().map(Math.abs));

  const draw = () => {
    const hidden = (table, other) => table.map((row, t) => row.map((v, s) => (allowed[t][s] ? v : other)));
    const board = touch.table(rows, columns, allowed.map((row) => row.map(Number)), {digits: 0});
    [...board.querySelectorAll("td")].forEach((cell, i) => {
      const t = Math.floor(i / columns.length), s = i % columns.length;
      const flip = () => { allowed[t][s] = !allowed[t][s]; draw(); };
      cell.style.cursor = "pointer";
      cell.setAttribute("role", "button");
      cell.setAttribute("aria-label", `${rows[t]}, ${columns[s]}`);
      cell.addEventListener("click", flip);
    });
    const parts = [part(say("마스크: 칸을 누르세요 (1: 보임, 0: 가림)", "Mask: click a cell (1: visible, 0: hidden)"), board)];
    let weights;
    if (when === "before") {
      const masked = hidden(scores, -Infinity);
      weights = masked.map(touch.softmax);
      parts.push(part(say("가린 점수", "Masked scores"), touch.table(rows, columns, masked, {high})));
    } else {
      const full = scores.map(touch.softmax), kept = hidden(full, 0);
      const sums = kept.map((row) => row.reduce((a, b) => a + b, 0));
      weights = kept.map((row, t) => row.map((v) => (sums[t] > 0 ? v / sums[t] : 0)));
      parts.push(part(say("softmax(점수): 가려질 토큰도 분모에 들어갑니다", "softmax(scores): hidden tokens are in the denominator, too"), touch.table(rows, columns, full, {digits: 3})),
        part(say("가린 뒤: 합이 1이 아닙니다", "After the mask, rows do not add up to 1"), touch.table(rows, [...columns, say("합", "sum")], kept.map((row, t) => [...row, sums[t]]), {digits: 3})));
    }
    parts.push(part(say("가중치", "Weights"), touch.table(rows, columns, hidden(weights, null), {digits: 3})));
    const empty = rows.filter((_, t) => !allowed[t].some(Boolean));
    if (empty.length) {
      parts.push(element("p", {}, say(`볼 토큰이 없는 행: ${empty.join(", ")}. 소프트맥스가 0/0이 되어 PyTorch에서는 NaN이 나오고, tapegrad의 어텐션에서는 0이 됩니다.`,
        `Rows with nothing to see: ${empty.join(", ")}. Their softmax is 0/0, NaN in PyTorch; tapegrad's attention uses 0.`)));
    }
    shown.replaceChildren(...parts);
  };
  const order = element("select", {"aria-label": say("순서", "order")});
  for (const [value, text] of [["before", say("소프트맥스 앞에서 가리기 (-inf)", "mask before softmax (-inf)")], ["after", say("소프트맥스 뒤에서 가리고 다시 나누기", "mask after softmax, renormalise")]])
    order.append(element("option", value === when ? {value, selected: ""} : {value}, text));
  order.addEventListener("change", () => { when = order.value; draw(); });
  const button = (text, rule) => {
    const made = element("button", {type: "button"}, text);
    made.addEventListener("click", () => { allowed = given.map((row, t) => row.map((v, s) => rule(t, s, v))); draw(); });
    return made;
  };
  root.append(element("label", {}, order), button(say("처음", "reset"), (t, s, v) => v), " ", button(say("인과", "causal"), (t, s) => s <= t), " ",
    button(say("모두 보임", "all visible"), () => true), shown);
  draw();
};
