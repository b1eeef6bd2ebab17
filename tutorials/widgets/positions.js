// A sentence to shuffle, with and without positions; and the sine waves of single dimensions. Data: {"tokens": [texts],
// "vectors": [[numbers]] of the words in their first order, "positions": [[numbers]] added to the places (sinusoidal)}.
// Without tokens only the waves are shown; "dim" is their model width (the vectors', or 8), "length" their places (40).
"use strict";
touch.positions = (root, data, language) => {
  const say = (ko, en) => (language === "ko" ? ko : en), {element} = touch;
  const vectors = data.vectors || [], tokens = data.tokens || [], dim = data.dim || (vectors[0] || {length: 8}).length;
  const wave = (place, i) => {
    const angle = place / 10000 ** (2 * Math.floor(i / 2) / dim);
    return i % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
  };
  const added = data.positions || tokens.map((_, place) => Array.from({length: dim}, (__, i) => wave(place, i)));
  let order = tokens.map((_, i) => i), chosen = -1, on = false;
  const sentence = element("div", {class: "words"}), shown = element("div");
  sentence.style = "display: flex; flex-wrap: wrap; gap: 6px; margin: 6px 0";
  const contextsOf = (places) => {
    const x = places.map((word, place) => vectors[word].map((v, i) => v + (on ? added[place][i] : 0)));
    const dot = (a, b) => a.reduce((sum, v, i) => sum + v * b[i], 0) / Math.sqrt(a.length);
    return x.map((q) => touch.softmax(x.map((k) => dot(q, k)))).map((w) => x[0].map((_, i) => w.reduce((sum, p, j) => sum + p * x[j][i], 0)));
  };
  const swap = (place) => {
    if (chosen < 0) {
      chosen = place;
    } else {
      [order[chosen], order[place]] = [order[place], order[chosen]];
      chosen = -1;
    }
    draw();
  };
  const draw = () => {
    sentence.replaceChildren(...order.map((word, place) => {
      const button = element("button", {type: "button", "aria-pressed": String(place === chosen), draggable: "true"}, tokens[word]);
      if (place === chosen) button.style = "outline: 2px solid var(--heat)";
      button.addEventListener("click", () => swap(place));
      button.addEventListener("dragstart", (event) => { event.dataTransfer.setData("text/plain", String(place)); });
      button.addEventListener("dragover", (event) => event.preventDefault());
      button.addEventListener("drop", (event) => {
        event.preventDefault();
        chosen = Number(event.dataTransfer.getData("text/plain"));
        swap(place);
      });
      return button;
    }));
    const first = contextsOf(tokens.map((_, i) => i)), now = contextsOf(order);
    const moved = order.map((word, place) => Math.max(...now[place].map((v, i) => Math.abs(v - first[word][i]))));
    const columns = [...now[0].map((_, i) => String(i + 1)), say("달라진 크기", "change")];
    shown.replaceChildren(element("h3", {}, say("각 단어의 문맥 벡터와, 처음 순서일 때와의 차이", "Context of each word, and its change from the first order")),
      touch.table(order.map((word) => tokens[word]), columns, now.map((row, t) => [...row, moved[t]]), {digits: 3, high: 2}),
      element("p", {}, Math.max(...moved) < 1e-9
        ? say("어느 단어의 벡터도 달라지지 않았습니다.", "No word's vector has changed.")
        : say(`가장 큰 차이: ${Math.max(...moved).toFixed(3)}`, `Largest change: ${Math.max(...moved).toFixed(3)}`)));
  };
  const waves = () => {
    const length = data.length || 40, canvas = element("div"), state = {i: 0, shift: 0};
    const drawWaves = () => {
      const point = (p, i) => `${(p / (length - 1) * 300).toFixed(1)},${(40 - 34 * wave(p + state.shift, i)).toFixed(1)}`;
      const steps = Array.from({length: (length - 1) * 4 + 1}, (_, k) => k / 4);
      const period = 2 * Math.PI * 10000 ** (2 * Math.floor(state.i / 2) / dim);
      const line = (i, dash) => `<polyline fill="none" stroke="var(--heat)" stroke-width="2" ${dash} points="${steps.map((p) => point(p, i)).join(" ")}"/>`;
      canvas.innerHTML = `<svg viewBox="0 0 300 80" role="img" style="min-width: 0; width: 100%; max-width: 620px"><line x1="0" x2="300" y1="40" y2="40" stroke="var(--edge)"/>${line(state.i, "")}${line(state.i ^ 1, 'stroke-dasharray="4 3"')}</svg>`;
      canvas.append(element("p", {}, say(`차원 ${state.i} (점선: 짝 ${state.i ^ 1}), 주기 ${period.toFixed(1)}칸. 위치 ${state.shift}의 값 ${wave(state.shift, state.i).toFixed(4)}`,
        `Dimension ${state.i} (dashed: its pair ${state.i ^ 1}), period ${period.toFixed(1)} places. Value at place ${state.shift}: ${wave(state.shift, state.i).toFixed(4)}`)));
    };
    root.append(element("h3", {}, say("차원마다 다른 파동", "One wave per dimension")),
      touch.slider(say("차원", "Dimension"), {min: 0, max: dim - 1, step: 1, value: 0}, (v) => { state.i = v; drawWaves(); }),
      touch.slider(say("첫 위치", "First place"), {min: 0, max: 200, step: 1, value: 0}, (v) => { state.shift = v; drawWaves(); }), canvas);
  };
  if (tokens.length) {
    const box = element("input", {type: "checkbox"}), shuffle = element("button", {type: "button"}, say("섞기", "Shuffle"));
    const reset = element("button", {type: "button"}, say("처음 순서", "First order"));
    box.addEventListener("change", () => { on = box.checked; draw(); });
    shuffle.addEventListener("click", () => {
      for (let i = order.length - 1; i > 0; --i) {
        const j = Math.floor(Math.random() * (i + 1));
        [order[i], order[j]] = [order[j], order[i]];
      }
      chosen = -1;
      draw();
    });
    reset.addEventListener("click", () => { order = tokens.map((_, i) => i); chosen = -1; draw(); });
    root.append(element("p", {}, say("두 단어를 차례로 누르면 자리가 바뀝니다.", "Click two words to exchange them.")), sentence, shuffle, " ", reset,
      element("label", {}, box, say("위치 더하기", "add positions")), shown);
    draw();
  }
  waves();
};
