// One training step of a reader's model: `tapegrad explain step`. Data: {"nodes": [{"op", "name", "inputs", "shape",
// "settings", "at"}], "values", "gradients": base64 of float32, "vocabulary": [texts], "loss", "own_loss",
// "loss_after", "optimizer": {"name", "lr", "eps", "weight_decay"}, "what"}. The page replays the operations.
"use strict";

// Each operation: forward(inputs' values, inputs' shapes, settings, ids, original inputs) -> values; then the formula,
// and how dy becomes the gradients of the inputs.
touch.stepOperations = (() => {
  const erf = (x) => {  // 2 / sqrt(pi) exp(-x^2) sum of 2^n x^(2n+1) / (2n+1)!!
    if (Math.abs(x) > 6) return Math.sign(x);
    let term = x, sum = x;
    for (let n = 1; n < 300 && Math.abs(term) > 1e-18 * Math.abs(sum); ++n) sum += term *= 2 * x * x / (2 * n + 1);
    return 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * sum;
  };
  const each = (f) => ([x]) => x.map(f);
  const sigmoid = (v) => 1 / (1 + Math.exp(-v));
  const rowsOf = (x, width, f) => {
    const y = new Float64Array(x.length);
    for (let r = 0; r < x.length; r += width) f(x.subarray(r, r + width), y.subarray(r, r + width));
    return y;
  };
  const largest = (row) => row.reduce((a, b) => Math.max(a, b), -Infinity);
  const softmax = (x, y) => {
    const most = largest(x);
    let sum = 0;
    for (let i = 0; i < x.length; ++i) sum += y[i] = most > -Infinity ? Math.exp(x[i] - most) : 0;
    for (let i = 0; i < x.length; ++i) y[i] /= sum || 1;
  };
  const logSoftmax = (x, y) => {
    const most = largest(x), log = most + Math.log(x.reduce((s, v) => s + Math.exp(v - most), 0));
    for (let i = 0; i < x.length; ++i) y[i] = x[i] - log;
  };
  const norm = (ofStd) => ([x, g, b], shapes, {eps}) => rowsOf(x, g.length, (row, y) => {
    const mean = row.reduce((s, v) => s + v, 0) / row.length;
    const variance = row.reduce((s, v) => s + (v - mean) ** 2, 0) / row.length;
    const by = ofStd ? Math.sqrt(variance) + eps : Math.sqrt(variance + eps);
    for (let i = 0; i < row.length; ++i) y[i] = (row[i] - mean) / by * g[i] + b[i];
  });
  // Per head: a [T, D] times b, [S, D] transposed or [D, S] as it is.
  const product = (transposed) => ([a, b], [[heads, T, D], of_b]) => {
    const S = transposed ? of_b[1] : of_b[2], y = new Float64Array(heads * T * S);
    for (let h = 0; h < heads; ++h) for (let t = 0; t < T; ++t) for (let s = 0; s < S; ++s) {
      let sum = 0;
      for (let d = 0; d < D; ++d) {
        const weight = a[(h * T + t) * D + d];
        if (weight !== 0) sum += weight * b[transposed ? (h * S + s) * D + d : (h * D + d) * S + s];
      }
      y[(h * T + t) * S + s] = sum;
    }
    return y;
  };
  const swap = (x, A, B, D) => {  // [A, B, D] -> [B, A, D]
    const y = new Float64Array(x.length);
    for (let a = 0; a < A; ++a) for (let b = 0; b < B; ++b) y.set(x.subarray((a * B + b) * D, (a * B + b + 1) * D), (b * A + a) * D);
    return y;
  };
  const linear = ([x, w, bias], [, [outputs, inputs]]) => {
    const T = x.length / inputs, y = new Float64Array(T * outputs);
    for (let t = 0; t < T; ++t) for (let o = 0; o < outputs; ++o) {
      let sum = 0;
      for (let i = 0; i < inputs; ++i) sum += x[t * inputs + i] * w[o * inputs + i];
      y[t * outputs + o] = sum + (bias ? bias[o] : 0);
    }
    return y;
  };
  const rows = ([table], [[, width]], {padding}, [, ids], [original]) => {
    const y = new Float64Array(ids.length * width);
    ids.forEach((id, t) => y.set((id === padding ? original : table).subarray(id * width, (id + 1) * width), t * width));
    return y;
  };
  const mask = ([x], [[heads, T, S]], {rule, hidden}, ids) => x.map((v, i) =>
    (rule === "causal" ? i % S > Math.floor(i / S) % T : ids[0][i % S] === hidden) ? -Infinity : v);
  const loss = ([logs], [[, V]], {form, ignored}, [, ids]) => {
    let sum = 0;
    ids.forEach((id, t) => {
      const row = logs.subarray(t * V, (t + 1) * V);
      if (id === ignored) return;
      sum -= form === "sum_eps" ? Math.log(Math.exp(row[id]) / row.reduce((s, v) => s + Math.exp(v), 0) + 1e-10) : row[id];
    });
    return Float64Array.of(form === "mean" ? sum / ids.length : sum);
  };
  const gelu = (v) => 0.5 * v * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (v + 0.044715 * v ** 3)));
  return {
    rows: [rows, "y[t] = table[token[t]]", "dtable[token[t]] += dy[t]"],
    first_rows: [([x], s, {count}) => x.slice(0, count * s[0][1]), "y[t] = table[t]", "dtable[t] += dy[t]"],
    add: [([a, b]) => a.map((v, i) => v + b[i]), "y = a + b", "da = dy, db = dy"],
    linear: [linear, "y = x W^T + b", "dx = dy W, dW = dy^T x, db = sum of dy over the rows"],
    norm_std: [norm(true), "y = gamma (x - mean) / (std + eps) + beta", "dn = dy gamma; dx = (dn - mean(dn) - (x - mean) / std * mean(dn * n)) / (std + eps), n = (x - mean) / (std + eps)"],
    norm: [norm(false), "y = scale (x - mean) / sqrt(var + eps) + shift", "dn = dy scale; dx = (dn - mean(dn) - n mean(dn n)) / sqrt(var + eps), n = (x - mean) / sqrt(var + eps)"],
    heads: [([x], [[T, C]], {count}) => swap(x, T, count, C / count), "y[h, t, d] = x[t, h D + d]", "dx[t, h D + d] = dy[h, t, d]"],
    join: [([x], [[H, T, D]]) => swap(x, H, T, D), "y[t, h D + d] = x[h, t, d]", "dx[h, t, d] = dy[t, h D + d]"],
    scores: [product(true), "y = q k^T", "dq = dy k, dk = dy^T q"],
    scale: [([x], s, {factor}) => x.map((v) => v * factor), "y = x / sqrt(D)", "dx = dy / sqrt(D)"],
    mask: [mask, "y = x, or -inf where the mask hides", "dx = dy, or 0 where the mask hides"],
    softmax: [([x], [s]) => rowsOf(x, s[s.length - 1], softmax), "y = exp(x) / sum(exp(x))", "dx = y (dy - sum(dy y))"],
    mix: [product(false), "y = weights v", "dweights = dy v^T, dv = weights^T dy"],
    log_softmax: [([x], [s]) => rowsOf(x, s[s.length - 1], logSoftmax), "y = x - log(sum(exp(x)))", "dx = dy - softmax(x) sum(dy)"],
    loss: [loss, "", "dx[t, target[t]] = -dy, over T for a mean; with 1e-10, softmax(x) enters once more"],
    relu: [each((v) => Math.max(v, 0)), "y = max(x, 0)", "dx = dy where x > 0, else 0"],
    gelu: [each((v) => 0.5 * v * (1 + erf(v / Math.SQRT2))), "y = x/2 (1 + erf(x / sqrt(2)))", "dx = dy (y / x + x exp(-x^2 / 2) / sqrt(2 pi))"],
    gelu_tanh: [each(gelu), "y = x/2 (1 + u), u = tanh(sqrt(2 / pi) (x + 0.044715 x^3))", "dx = dy ((1 + u) / 2 + x/2 (1 - u^2) sqrt(2 / pi) (1 + 0.134145 x^2))"],
    silu: [each((v) => v * sigmoid(v)), "y = x sigmoid(x)", "dx = dy sigmoid(x) (1 + x (1 - sigmoid(x)))"],
    tanh: [each(Math.tanh), "y = tanh(x)", "dx = dy (1 - y^2)"],
    sigmoid: [each(sigmoid), "y = sigmoid(x)", "dx = dy y (1 - y)"],
  };
})();

// The step with its numbers: nodes have `library` and `gradient`; values and ids are the page's.
touch.stepReplay = (data) => {
  const floats = (text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return Float64Array.from(new Float32Array(bytes.buffer));
  };
  const all = floats(data.values), gradients = floats(data.gradients);
  const nodes = data.nodes.map((node, index) => {
    const count = node.shape.reduce((a, b) => a * b, 1), tokens = node.op === "tokens";
    return {...node, index, library: tokens ? null : all.subarray(node.at, node.at + count),
            gradient: tokens ? null : gradients.subarray(node.at, node.at + count),
            given: node.inputs.length === 0};
  });
  const ids = nodes.map((node) => (node.op === "tokens" ? [...node.settings.ids] : null));
  // All values, where those of the `changed` nodes are in `from` already; what does not depend on them is kept.
  const run = (from, changed, original = from) => {
    const values = [...from], dirty = new Set(changed);
    for (const node of nodes) {
      const rule = node.settings.tokens;
      if (node.given || changed.has(node.index)) continue;
      if (!node.inputs.some((i) => dirty.has(i)) && !dirty.has(rule)) continue;
      dirty.add(node.index);
      values[node.index] = touch.stepOperations[node.op][0](node.inputs.map((i) => values[i]),
        node.inputs.map((i) => nodes[i].shape), node.settings,
        rule === undefined ? node.inputs.map((i) => ids[i]) : [ids[rule]], node.inputs.map((i) => original[i]));
    }
    return values;
  };
  const given = new Set(nodes.filter((node) => node.given).map((node) => node.index));
  const replay = {nodes, ids, values: null, last: nodes.length - 1};
  replay.restart = () => {
    nodes.forEach((node, i) => { if (ids[i]) ids[i] = [...node.settings.ids]; });
    replay.values = run(nodes.map((node) => (node.given && node.library ? node.library.slice() : null)), given);
  };
  replay.loss = (values = replay.values) => values[replay.last][0];
  // The values after some elements of a node have become others: `change` maps an array.
  replay.with = (index, change, original) => {
    const from = [...replay.values];
    from[index] = change(from[index].slice());
    return run(from, new Set([index]), original);
  };
  // The row of the padding token is not trained, so lookups of it do not count.
  replay.difference = (index, element) => {
    const h = 1e-5 * Math.max(1, Math.abs(replay.values[index][element]));
    const at = (by) => replay.loss(replay.with(index, (x) => { x[element] += by; return x; }, replay.values));
    return (at(h) - at(-h)) / (2 * h);
  };
  replay.set = (index, element, value) => {
    const changed = replay.with(index, (x) => { x[element] = value; return x; });
    replay.values = run(changed, new Set([index]), changed);
  };
  replay.setToken = (index, position, id) => {
    const changed = new Set([index]), {link} = nodes[index].settings;
    ids[index][position] = id;
    const follows = link && position + link.by;
    if (link && follows >= 0 && follows < ids[link.to].length) {
      ids[link.to][follows] = id;
      changed.add(link.to);
    }
    replay.values = run(replay.values, changed);
  };
  // The loss after one step of AdamW on all parameters, whose moments are 0 before it: m / sqrt(v) = g / |g|.
  replay.adam = (w, g, {lr, eps, weight_decay}) => w * (1 - lr * weight_decay) - lr * g / (Math.abs(g) + eps);
  replay.lossAfter = (rate) => {
    const parameters = nodes.filter((node) => node.op === "parameter");
    const from = [...replay.values];
    for (const node of parameters) from[node.index] = from[node.index].map((w, i) => replay.adam(w, node.gradient[i], rate));
    return replay.loss(run(from, new Set(parameters.map((node) => node.index))));
  };
  replay.restart();
  return replay;
};

// The place of a node's largest gradient.
touch.size = (v) => (Number.isFinite(v) ? Math.abs(v) : 0);
touch.steepest = ({gradient}) => gradient.reduce((best, g, i) => (touch.size(g) > touch.size(gradient[best]) ? i : best), 0);

// The largest difference to the library's values, relative above 1; and the checks of gradients, one by one.
touch.stepChecks = (replay) => {
  const trained = replay.nodes.filter((node) => node.op !== "tokens" && node.op !== "constant");
  let worst = 0, count = 0;
  for (const node of trained) node.library.forEach((v, i) => {
    const ours = replay.values[node.index][i];
    ++count;
    if (ours !== v) worst = Math.max(worst, Math.abs(ours - v) / Math.max(1, Math.abs(v)));
  });
  const tasks = trained.flatMap((node) => {
    const finite = (i) => Number.isFinite(node.library[i]);
    return [touch.steepest(node), (node.index * 7919) % node.library.length].filter(finite).map((element) => ({node, element}));
  });
  const check = ({node, element}) => {
    const g = node.gradient[element], found = replay.difference(node.index, element);
    return Math.abs(found - g) / Math.max(Math.abs(g), 1e-3 * node.gradient.reduce((m, v) => Math.max(m, touch.size(v)), 0), 1e-5);
  };
  return {worst, count, tasks, check};
};

touch.step = (root, data, language) => {
  const say = (ko, en) => (language === "ko" ? ko : en), {element} = touch;
  const replay = touch.stepReplay(data), {nodes} = replay;
  const text = (v) => (v === -Infinity ? "-inf" : Math.abs(v) >= 1e-3 && Math.abs(v) < 1e5 || v === 0 ? v.toFixed(6) : v.toExponential(4));
  const token = (id) => (data.vocabulary[id].trim() === "" ? JSON.stringify(data.vocabulary[id]) : data.vocabulary[id]);
  const listNamed = (name) => replay.ids[nodes.findIndex((node) => node.op === "tokens" && node.name === name)];
  const inspector = element("div", {class: "card inspector"}), summary = element("div", {class: "card"});
  const bars = element("div", {class: "strip"}), tokens = element("div"), forward = element("div"), backward = element("div", {class: "card"});
  const redraw = [];  // what is open shows the page's values
  const hint = say("아래 표의 수를 누르세요.", "Click a number in a table below.");

  const isChanged = () => Math.abs(replay.loss() - data.loss) > 1e-6 * Math.max(1, data.loss);
  const tell = () => {
    return [element("p", {}, `${data.what}`),
      element("p", {}, say("손실", "Loss"), `: ${text(data.loss)} (tapegrad), ${text(replay.loss())} (${say("이 페이지", "this page")})`,
        isChanged() ? say(" - 고친 뒤", " - after your changes") : "")];
  };
  const results = element("p", {class: "soft"});
  const reset = element("button", {type: "button"}, say("처음으로", "Reset"));

  // --- tables of numbers ---
  const labels = (node, axis, length) => {
    const cross = axis === 1 && node.name.includes("cross_attn");
    const list = listNamed(node.name.startsWith("encoder") || cross ? "source" : "read");
    const keys = axis === 0 || ["scores", "scale", "mask", "softmax"].includes(node.op);
    return (i) => (node.op !== "parameter" && keys && list && list.length === length ? `${i} ${token(list[i])}` : String(i));
  };
  const grid = (node, which) => {
    const shape = [1, 1, 1, ...node.shape].slice(-3), [heads, rows, columns] = shape, step = 24;
    const place = {head: 0, row: 0, column: 0}, box = element("div");
    const choose = (key, count, by, name) => {
      if (count <= by) return "";
      const select = element("select", {"aria-label": name});
      for (let i = 0; i < count; i += by) select.append(element("option", {value: i}, `${name} ${i}${by > 1 ? `-${Math.min(count, i + by) - 1}` : ""}`));
      select.addEventListener("change", () => { place[key] = Number(select.value); draw(); });
      return select;
    };
    const table = element("div", {class: "scroll"});
    const draw = () => {
      const array = which === "dy" ? node.gradient : replay.values[node.index];
      const finite = Array.from(array).filter(Number.isFinite), most = finite.reduce((m, v) => Math.max(m, Math.abs(v)), 1e-12);
      const nameRow = labels(node, 0, rows), nameColumn = labels(node, 1, columns);
      const range = (from, count) => Array.from({length: Math.min(step, count - from)}, (_, i) => from + i);
      const shown = range(place.row, rows), across = range(place.column, columns);
      const made = touch.table(shown.map(nameRow), across.map(nameColumn), shown.map((r) => across.map((c) =>
        array[(place.head * rows + r) * columns + c])), {digits: 4, high: most});
      [...made.querySelectorAll("td")].forEach((cell, i) => {
        const r = shown[Math.floor(i / across.length)], c = across[i % across.length];
        cell.dataset.i = (place.head * rows + r) * columns + c;
        cell.title = text(array[cell.dataset.i]);
      });
      made.addEventListener("click", (event) => {
        const cell = event.target.closest("td");
        if (!cell) return;
        root.querySelectorAll(".chosen").forEach((other) => other.classList.remove("chosen"));
        cell.classList.add("chosen");
        inspect(node, Number(cell.dataset.i));
      });
      table.replaceChildren(made);
    };
    box.append(choose("head", heads, 1, say("헤드", "head")), choose("row", rows, step, say("행", "rows")),
      choose("column", columns, step, say("열", "columns")), table);
    draw();
    return {box, draw};
  };
  const opened = (node, which, title) => {
    const part = element("details", {}, element("summary", {}, title));
    part.addEventListener("toggle", () => {
      if (!part.open || part.children.length > 1) return;
      const made = grid(node, which);
      part.append(made.box);
      redraw.push(made.draw);
    });
    return part;
  };
  const shapeOf = (node) => (node.shape.length ? `[${node.shape.join(", ")}]` : say("스칼라", "scalar"));
  const formulaOf = ({op, settings}) => (op !== "loss" ? touch.stepOperations[op][1] : settings.form === "mean"
    ? "y = mean of -log p(target)" : settings.form === "sum" ? "y = sum of -log p(target)" : "y = sum of -log(p(target) + 1e-10)");

  // --- one number ---
  const inspect = (node, i) => {
    const at = [], value = replay.values[node.index][i];
    for (let rest = i, axis = node.shape.length - 1; axis >= 0; rest = Math.floor(rest / node.shape[axis--])) at.unshift(rest % node.shape[axis]);
    const line = (name, ...shown) => element("tr", {}, element("th", {}, name), element("td", {}, ...shown));
    const rows = [line(say("값", "value"), `${text(value)} (tapegrad ${text(node.library[i])})`)];
    if (Number.isFinite(value) && node.op !== "constant") {
      const before = isChanged() ? say(", 고치기 전", ", before your changes") : "";
      rows.push(line(say(`기울기 (tapegrad${before})`, `gradient (tapegrad${before})`), text(node.gradient[i])),
        line(say("차분 (이 페이지)", "finite difference (this page)"), `(L(x + h) - L(x - h)) / 2h = ${text(replay.difference(node.index, i))}`));
    }
    inspector.replaceChildren(element("b", {}, `${node.name}[${at.join(", ")}]`), element("table", {}, ...rows));
    if (node.op !== "parameter") return;
    const update = element("div"), g = node.gradient[i];
    const rate = element("input", {type: "number", step: "any", value: data.optimizer.lr, "aria-label": "lr"});
    const tellUpdate = () => {
      const chosen = {...data.optimizer, lr: Number(rate.value)};
      const lossWith = (w) => text(replay.loss(replay.with(node.index, (x) => { x[i] = w; return x; })));
      const sgd = value - chosen.lr * g, adam = replay.adam(value, g, chosen);
      update.replaceChildren(element("table", {},
        line("w - lr g", `${text(sgd)}; ${say("손실", "loss")} ${lossWith(sgd)}`),
        line(say("AdamW의 첫 갱신", "AdamW's first update"), `w (1 - lr decay) - lr g / (|g| + eps) = ${text(adam)}; ${say("손실", "loss")} ${lossWith(adam)}`),
        line(say("모든 가중치를 갱신한 뒤의 손실", "loss after all weights are updated"),
          `${text(replay.lossAfter(chosen))} (tapegrad, lr ${data.optimizer.lr}: ${text(data.loss_after)})`)));
    };
    rate.addEventListener("change", tellUpdate);
    const edited = element("input", {type: "number", step: "any", value, "aria-label": say("새 값", "new value")});
    edited.addEventListener("change", () => { replay.set(node.index, i, Number(edited.value)); refresh(); inspect(node, i); });
    inspector.append(element("label", {}, say("고치기", "change it to"), edited),
      element("label", {}, say("학습률", "learning rate"), rate), update);
    tellUpdate();
  };

  // --- tokens ---
  const drawTokens = () => tokens.replaceChildren(...nodes.filter((node) => node.op === "tokens").map((node) =>
    element("div", {class: "tokens"}, element("b", {}, node.name), ...replay.ids[node.index].map((id, position) => {
      if (node.settings.fixed) return element("span", {}, token(id));
      const select = element("select", {"aria-label": `${node.name} ${position}`});
      data.vocabulary.forEach((_, other) => select.append(element("option", other === id ? {value: other, selected: ""} : {value: other}, token(other))));
      select.addEventListener("change", () => { replay.setToken(node.index, position, Number(select.value)); refresh(); inspector.replaceChildren(hint); });
      return select;
    }))));

  // --- forward: blocks of operations ---
  const blocks = [];
  const drawForward = () => {
    for (const node of nodes.filter((one) => one.inputs.length > 0)) {
      const name = (node.name.match(/^(\w+\.layers\.\d+|trf_blocks\.\d+|(en|de)coder\.embeddings|embeddings|(en|de)coder)/) || ["output"])[0];
      if (!blocks.length || blocks[blocks.length - 1].name !== name) blocks.push({name, nodes: [], part: element("details", {}, element("summary", {}, name))});
      const block = blocks[blocks.length - 1];
      block.nodes.push(node);
      const inside = element("details", {}, element("summary", {}, `${node.name} ${shapeOf(node)} `, element("span", {class: "soft"}, formulaOf(node))));
      const inputs = node.inputs.map((i) => (nodes[i].given && nodes[i].library
        ? opened(nodes[i], "y", `${nodes[i].name} ${shapeOf(nodes[i])}`) : element("div", {class: "soft"}, `${nodes[i].name} ${shapeOf(nodes[i])}`)));
      inside.append(...inputs, opened(node, "y", say("값 y", "values y")), opened(node, "dy", say("기울기 dy", "gradient dy")),
        element("div", {class: "soft"}, touch.stepOperations[node.op][2]));
      block.part.append(inside);
      block[node.index] = inside;
    }
    forward.append(...blocks.map((block) => block.part));
  };
  const refresh = () => {
    summary.replaceChildren(...tell(), results, reset);
    drawTokens();
    for (const block of blocks) {
      const changed = block.nodes.filter((node) => node.library.some((v, i) => {
        const ours = replay.values[node.index][i];
        return ours !== v && !(Math.abs(ours - v) <= 1e-6 * Math.max(1, Math.abs(v)));
      }));
      block.part.className = changed.length ? "changed" : "";
      for (const node of block.nodes) block[node.index].className = changed.includes(node) ? "changed" : "";
    }
    for (const draw of redraw) draw();
  };
  reset.addEventListener("click", () => {
    replay.restart();
    refresh();
    inspector.replaceChildren(hint);
    if (!waiting) later();  // goes on with the checks
  });

  // --- all operations: bars, by the largest gradient of each ---
  const largest = (node) => touch.size(node.gradient[touch.steepest(node)]);
  const openAt = (node) => {
    const block = blocks.find((one) => one.nodes.includes(node)), inside = block[node.index];
    block.part.open = inside.open = inside.querySelector("details:last-of-type").open = true;
    inside.scrollIntoView({block: "nearest"});
    inspect(node, touch.steepest(node));
  };
  const drawBars = () => {
    const all = nodes.filter((node) => node.inputs.length > 0), most = Math.max(...all.map(largest), 1e-30);
    bars.replaceChildren(...all.map((node) => {
      const told = `${node.name} (${node.op}) ${shapeOf(node)}: ${say("가장 큰 기울기", "largest gradient")} ${text(largest(node))}`;
      const high = Math.max(0, 1 + Math.log10(largest(node) / most + 1e-30) / 6);
      const bar = element("button", {type: "button", title: told, "aria-label": told, style: `height: ${Math.round(4 + 60 * high)}px`});
      bar.addEventListener("click", () => openAt(node));
      return bar;
    }));
  };

  // --- backward: the tape from its end ---
  const order = nodes.filter((node) => node.inputs.length > 0).reverse();
  const walk = (step) => {
    const node = order[step], button = (label, to) => {
      const made = element("button", {type: "button"}, label);
      made.disabled = to < 0 || to >= order.length;
      made.addEventListener("click", () => walk(to));
      return made;
    };
    const inputs = node.inputs.filter((i) => nodes[i].op !== "tokens" && nodes[i].op !== "constant").map((i) => {
      const users = nodes.filter((other) => other.inputs.includes(i)).length;
      return opened(nodes[i], "dy", `d ${nodes[i].name} ${shapeOf(nodes[i])}` + (users > 1 ? say(`: ${users} 연산에서 온 기울기의 합`, `: the sum from its ${users} uses`) : ""));
    });
    backward.replaceChildren(button("◀", step - 1), ` ${step + 1} / ${order.length} `, button("▶", step + 1),
      element("p", {}, element("b", {}, node.name), ` (${node.op}): ${touch.stepOperations[node.op][2]}`),
      opened(node, "dy", `dy ${shapeOf(node)}`), ...inputs);
  };

  // --- the checks ---
  const checks = touch.stepChecks(replay);
  let worst = 0, done = 0, waiting = false;
  const later = () => {
    waiting = false;
    if (isChanged()) return;  // the gradients are those of the values before the changes
    const until = Date.now() + 40;
    while (done < checks.tasks.length && Date.now() < until) worst = Math.max(worst, checks.check(checks.tasks[done++]));
    root.dataset.values = checks.worst;
    root.dataset.gradients = worst;
    root.dataset.checked = `${done}/${checks.tasks.length}`;
    results.textContent = say(
      `값 ${checks.count}개: tapegrad와 가장 큰 차이 ${checks.worst.toExponential(1)}. 기울기 ${checks.tasks.length}개${done < checks.tasks.length ? ` 가운데 지금까지 ${done}개` : ""}: 차분과 가장 큰 차이 ${worst.toExponential(1)}.`,
      `${checks.count} values: largest difference to tapegrad ${checks.worst.toExponential(1)}. ${done < checks.tasks.length ? `${done} of ` : ""}${checks.tasks.length} gradients${done < checks.tasks.length ? " so far" : ""}: largest difference to the finite difference ${worst.toExponential(1)}.`);
    waiting = done < checks.tasks.length;
    if (waiting) setTimeout(later, 0);
  };

  root.append(summary, element("p", {}, say("연산마다 막대 하나, 순전파의 차례로: 높이는 가장 큰 기울기의 로그입니다. 누르면 열립니다.",
    "One bar per operation, in forward order; its height is the logarithm of its largest gradient. A click opens it.")), bars, inspector,
    element("h2", {}, say("토큰", "Tokens")), tokens,
    element("h2", {}, say("순전파", "Forward")), forward, element("h2", {}, say("역전파: 테이프를 끝에서부터", "Backward: the tape from its end")), backward);
  drawForward();
  drawBars();
  walk(0);
  refresh();
  const first = nodes.filter((node) => node.op === "parameter").reduce((best, node) => (largest(node) > largest(best) ? node : best));
  inspect(first, touch.steepest(first));
  later();
};
