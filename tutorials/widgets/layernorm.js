// Layer normalisation of some rows. Data: {"rows": [[numbers]], "tokens": [texts], "gamma": [numbers] (1), "beta":
// [numbers] (0), "eps": number (1e-5), "outside": whether eps is added to the deviation, not under the root (false)}.
"use strict";
touch.layernorm = (root, data, language) => {
  const say = (ko, en) => (language === "ko" ? ko : en), {element} = touch;
  const rows = (data.rows || data.vectors).map((row) => [...row]), width = rows[0].length;
  const names = data.tokens || rows.map((_, i) => String(i + 1)), features = rows[0].map((_, i) => String(i + 1));
  const gamma = [...(data.gamma || rows[0].map(() => 1))], beta = [...(data.beta || rows[0].map(() => 0))];
  const eps = data.eps === undefined ? 1e-5 : data.eps, state = {row: 0, added: 0, factor: 1};
  const shown = element("div"), sliders = element("div");
  const part = (title, table) => element("div", {}, element("h3", {}, title), table);

  const draw = () => {
    const x = rows.map((row, t) => (t === state.row ? row.map((v) => v * state.factor + state.added) : row));
    const found = x.map((row) => {
      const mean = row.reduce((a, b) => a + b, 0) / width, variance = row.reduce((a, v) => a + (v - mean) ** 2, 0) / width;
      return {mean, std: Math.sqrt(variance), by: data.outside ? Math.sqrt(variance) + eps : Math.sqrt(variance + eps)};
    });
    const n = x.map((row, t) => row.map((v) => (v - found[t].mean) / found[t].by));
    const y = n.map((row) => row.map((v, i) => gamma[i] * v + beta[i]));
    const style = {digits: 3, high: 2};
    shown.replaceChildren(
      part(say("입력 x, 평균과 표준편차", "Input x, mean and deviation"), touch.table(names, [...features, say("평균", "mean"), say("표준편차", "std")], x.map((row, t) => [...row, found[t].mean, found[t].std]), style)),
      part(say("정규화: (x - 평균) / 표준편차", "Normalised: (x - mean) / std"), touch.table(names, features, n, style)),
      part(say("출력: 감마 · 정규화 + 베타", "Output: gamma · normalised + beta"), touch.table(names, features, y, style)));
  };
  const choose = element("select", {"aria-label": say("행", "row")});
  names.forEach((name, t) => choose.append(element("option", {value: t}, name)));
  choose.addEventListener("change", () => { state.row = Number(choose.value); draw(); });
  const few = Math.min(width, 6);  // sliders of the first features
  for (let i = 0; i < few; ++i) {
    sliders.append(touch.slider(`${say("감마", "gamma")} ${i + 1}`, {min: -2, max: 3, step: 0.0001, value: gamma[i]}, (v) => { gamma[i] = v; draw(); }),
      touch.slider(`${say("베타", "beta")} ${i + 1}`, {min: -2, max: 2, step: 0.0001, value: beta[i]}, (v) => { beta[i] = v; draw(); }));
  }
  root.append(element("label", {}, say("이 행의 입력을 바꾸기", "Change the input of this row"), choose),
    touch.slider(say("모든 특성에 더하기", "add to all features"), {min: -5, max: 5, step: 0.1, value: 0}, (v) => { state.added = v; draw(); }),
    touch.slider(say("모든 특성에 곱하기", "multiply all features"), {min: 0, max: 5, step: 0.1, value: 1}, (v) => { state.factor = v; draw(); }), sliders, shown);
  draw();
};
