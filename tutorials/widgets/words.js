// Word vectors -> scores -> softmax -> contexts. Data: {"tokens": [texts], "vectors": [[numbers]], "query": row (0),
// "scale": whether scores are divided by the root of d (true)}, and, where they differ from the vectors, "queries",
// "keys" and "values" [[numbers]]. Sliders move the vectors, or the queries and keys.
"use strict";
touch.words = (root, data, language) => {
  const say = (ko, en) => (language === "ko" ? ko : en), {element} = touch;
  const tokens = data.tokens || data.words || data.vectors.map((_, i) => String(i));
  const copy = (rows) => rows.map((row) => [...row]);
  const vectors = copy(data.vectors || data.keys), queries = data.queries ? copy(data.queries) : vectors;
  const keys = data.keys ? copy(data.keys) : vectors, values = data.values ? copy(data.values) : vectors;
  const state = {query: data.query || 0, scale: data.scale !== false, temperature: 1};
  const most = Math.max(1, ...[...queries, ...keys].flat().map((v) => Math.ceil(Math.abs(v))));
  const sliders = element("div"), shown = element("div"), numbers = (rows) => rows[0].map((_, i) => String(i + 1));

  const draw = () => {
    const d = queries[0].length, by = (state.scale ? Math.sqrt(d) : 1);
    const scores = queries.map((q) => keys.map((k) => q.reduce((sum, v, i) => sum + v * k[i], 0) / by));
    const weights = scores.map((row) => touch.softmax(row.map((v) => v / state.temperature)));
    const contexts = weights.map((row) => values[0].map((_, i) => row.reduce((sum, w, j) => sum + w * values[j][i], 0)));
    const highest = Math.max(1e-9, ...scores.flat().map(Math.abs));
    const part = (title, table) => element("div", {}, element("h3", {}, title), table);
    const {query} = state, [name] = [tokens[query]];
    shown.replaceChildren(
      part(say(`"${name}"의 문맥 벡터`, `Context of "${name}"`), touch.table([name], numbers(contexts), [contexts[query]], {digits: 4})),
      part(state.scale ? say("점수 q·k / √d", "Scores q·k / √d") : say("점수 q·k", "Scores q·k"), touch.table(tokens, tokens, scores, {digits: 3, high: highest})),
      part(say("가중치: 각 행의 합은 1", "Weights: each row adds up to 1"), touch.table(tokens, tokens, weights, {digits: 3})),
      part(say("문맥 벡터", "Contexts"), touch.table(tokens, numbers(contexts), contexts, {digits: 3, high: most})));
  };
  const drawSliders = () => {
    const {query} = state, own = (rows, label) => rows[query].map((value, i) =>
      touch.slider(`${tokens[query]} ${label}${i + 1}`, {min: -2 * most, max: 2 * most, step: 0.0001, value}, (v) => {
        rows[query][i] = v;
        draw();
      }));
    sliders.replaceChildren(...(queries === keys ? own(vectors, "") : [...own(queries, "q"), ...own(keys, "k")]));
  };

  const choose = element("select", {"aria-label": say("단어", "word")});
  tokens.forEach((text, i) => choose.append(element("option", i === state.query ? {value: i, selected: ""} : {value: i}, text)));
  choose.addEventListener("change", () => { state.query = Number(choose.value); drawSliders(); draw(); });
  const root_d = element("input", state.scale ? {type: "checkbox", checked: ""} : {type: "checkbox"});
  root_d.addEventListener("change", () => { state.scale = root_d.checked; draw(); });
  root.append(element("label", {}, say("단어", "Word"), choose), sliders,
    element("label", {}, root_d, say("√d로 나누기", "divide by √d")),
    touch.slider(say("온도", "Temperature"), {min: 0.1, max: 5, step: 0.1, value: 1}, (v) => { state.temperature = v; draw(); }), shown);
  drawSliders();
  draw();
};
