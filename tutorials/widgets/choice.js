// How the next word is chosen. Data: {"start": text, "words": [texts], "logits": [numbers], "next": [{"words",
// "logits"}] after each of them}. Without data: the tutorial's "나는 -> 학교에 / 집에 / 공원에 / 밥을".
"use strict";
touch.choice = (root, given, language) => {
  const say = (ko, en) => (language === "ko" ? ko : en), {element} = touch;
  const usual = {start: "나는", words: ["학교에", "집에", "공원에", "밥을"], logits: [0.45, 0.3, 0.15, 0.1].map(Math.log)};
  const data = given && given.words ? given : usual;
  const state = {temperature: 1, k: data.words.length, p: 1, beams: 2}, shown = element("div"), drawn = element("p");
  // Probabilities after temperature, top-k and top-p: words that are left out have 0.
  const shares = (logits, {temperature, k, p}) => {
    const weights = temperature > 0 ? touch.softmax(logits.map((v) => v / temperature)) : logits.map((v) => Number(v === Math.max(...logits)));
    const order = weights.map((_, i) => i).sort((a, b) => weights[b] - weights[a]);
    let sum = 0;
    const kept = new Set(order.filter((i, rank) => {
      const take = rank < k && (rank === 0 || sum < p - 1e-12);
      if (take) sum += weights[i];
      return take;
    }));
    return weights.map((w, i) => (kept.has(i) ? w / sum : 0));
  };
  const plain = touch.softmax(data.logits);
  const paths = data.words.flatMap((word, i) => {
    const next = (data.next || [])[i];
    if (!next) return [{words: [word], first: i, p: plain[i]}];
    return touch.softmax(next.logits).map((q, j) => ({words: [word, next.words[j]], first: i, p: plain[i] * q}));
  }).sort((a, b) => b.p - a.p);
  const sentence = (words) => [data.start, ...words].join(" ");
  const part = (title, ...inside) => element("div", {}, element("h3", {}, title), ...inside);

  const draw = () => {
    const now = shares(data.logits, state), greedy = plain.indexOf(Math.max(...plain));
    const after = paths.find((path) => path.first === greedy);
    const kept = [...plain.keys()].sort((a, b) => plain[b] - plain[a]).slice(0, state.beams);
    const beams = paths.filter((path) => kept.includes(path.first)).slice(0, state.beams);
    shown.replaceChildren(
      part(say("확률: 모델의 확률과, 온도, top-k, top-p를 적용한 확률", "Probabilities: the model's, and after temperature, top-k and top-p"),
        touch.table(data.words, [say("모델", "model"), say("적용한 뒤", "when drawn")], data.words.map((_, i) => [plain[i], now[i]]), {digits: 3})),
      part(say("탐욕적 디코딩", "Greedy"), element("p", {}, `${sentence(after.words)} (${after.p.toFixed(4)})`)),
      part(say(`빔 ${state.beams}개 (첫 단어: ${kept.map((i) => data.words[i]).join(", ")})`, `${state.beams} beams, from the first words ${kept.map((i) => data.words[i]).join(", ")}`),
        element("ol", {}, ...beams.map((path) => element("li", {}, `${sentence(path.words)} (${path.p.toFixed(4)})`)))));
  };
  const pick = (weights) => {
    let left = Math.random();
    const i = weights.findIndex((w) => (left -= w) < 0);
    return i < 0 ? weights.indexOf(Math.max(...weights)) : i;
  };
  const button = element("button", {type: "button"}, say("20번 뽑기", "Draw 20 times"));
  button.addEventListener("click", () => {
    const counts = new Map();
    for (let n = 0; n < 20; ++n) {
      const i = pick(shares(data.logits, state)), next = (data.next || [])[i];
      const text = sentence(next ? [data.words[i], next.words[pick(shares(next.logits, state))]] : [data.words[i]]);
      counts.set(text, (counts.get(text) || 0) + 1);
    }
    drawn.textContent = [...counts].sort((a, b) => b[1] - a[1]).map(([text, count]) => `${text} × ${count}`).join(", ");
  });
  const change = (key) => (v) => { state[key] = v; draw(); };
  const count = data.words.length;
  root.append(touch.slider(say("온도 (0: 가장 그럴듯한 단어)", "Temperature (0: the likeliest word)"), {min: 0, max: 3, step: 0.1, value: 1}, change("temperature")),
    touch.slider("top-k", {min: 1, max: count, step: 1, value: count}, change("k")),
    touch.slider("top-p", {min: 0.05, max: 1, step: 0.05, value: 1}, change("p")),
    touch.slider(say("빔", "Beams"), {min: 1, max: count, step: 1, value: Math.min(2, count)}, change("beams")), shown, button, drawn);
};
