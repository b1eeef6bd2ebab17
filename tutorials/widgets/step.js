// One training step of a reader's model: `tapegrad explain step`. Data: {"nodes": [{"op", "name", "inputs", "shape",
// "settings", "tensors", "at"}], "values", "gradients": base64 of float32, "vocabulary": [texts], "loss", "own_loss",
// "loss_after", "optimizer": {"lr", "eps", "weight_decay"}, "what"}. The page replays the operations, which have
// the names of the tape. An input of -1 is left out; "tensors" are settings that are nodes.
"use strict";

// Each operation: forward(inputs' values, settings, {shapes, named: shapes of settings, shape, original inputs}) ->
// values; then the formula, or a function of the settings, and how dy becomes the gradients of the inputs.
touch.stepOperations = (() => {
  const erf = (x) => {  // 2 / sqrt(pi) exp(-x^2) sum of 2^n x^(2n+1) / (2n+1)!!
    if (Math.abs(x) > 6) return Math.sign(x);
    let term = x, sum = x;
    for (let n = 1; n < 300 && Math.abs(term) > 1e-18 * Math.abs(sum); ++n) sum += term *= 2 * x * x / (2 * n + 1);
    return 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * sum;
  };
  const sigmoid = (v) => 1 / (1 + Math.exp(-v));
  const geluTanh = (v) => 0.5 * v * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (v + 0.044715 * v ** 3)));
  // --- shapes ---
  const sizeOf = (shape) => shape.reduce((a, b) => a * b, 1);
  const stepsOf = (shape) => shape.map((_, axis) => sizeOf(shape.slice(axis + 1)));
  const known = new Map();
  const places = (sizes, steps, first = 0) => {  // of the elements in row-major order
    const key = `${sizes};${steps};${first}`;
    if (!known.has(key)) known.set(key, Int32Array.from(sizes.reduce((at, size, axis) =>
      at.flatMap((place) => Array.from({length: size}, (_, i) => place + i * steps[axis])), [first])));
    return known.get(key);
  };
  const take = (x, at) => {
    const y = new Float64Array(at.length);
    for (let i = 0; i < at.length; ++i) y[i] = x[at[i]];
    return y;
  };
  const broadcastSteps = (from, shape) => {
    const steps = stepsOf(from), lead = shape.length - from.length;
    return shape.map((_, axis) => (axis < lead || from[axis - lead] === 1 ? 0 : steps[axis - lead]));
  };
  const broadcast = (x, from, shape) => (x.length === sizeOf(shape) ? x : take(x, places(shape, broadcastSteps(from, shape))));
  const replaced = (list, at, value) => list.map((v, i) => (i === at ? value : v));
  const ahead = (axis, shape) => (axis < 0 ? axis + shape.length : axis);
  // --- elementwise ---
  const each = (f) => ([x]) => x.map(f);
  const pair = (f) => (x, {number, added, first, a: left = first}, {shapes, shape}) => {
    if (added !== undefined) return x[0].map((v) => v + added);
    if (x.length === 1) return x[0].map(left === undefined ? (v) => f(v, number) : (v) => f(left, v));
    const [a, b] = x.map((v, i) => broadcast(v, shapes[i], shape));
    return a.map((v, i) => f(v, b[i]));
  };
  const written = (sign) => ({number, added, first, a: left = first}) => (number !== undefined ? `y = x ${sign} ${number}`
    : added !== undefined ? `y = x + ${added}` : left !== undefined ? `y = ${left} ${sign} x` : `y = a ${sign} b`);
  const choose = (x, {condition, number: chosen, otherwise}, {shapes, named, shape}) => {
    const at = broadcast(condition, named.condition, shape), [a, b] = x.map((v, i) => broadcast(v, shapes[i], shape));
    if (otherwise !== undefined) return a.map((v, i) => (at[i] ? v : otherwise));
    return a.map((v, i) => (b ? (at[i] ? v : b[i]) : at[i] ? chosen : v));
  };
  // --- rows ---
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
  const onRows = (f) => ([x], s, {shape}) => rowsOf(x, shape[shape.length - 1], f);
  const norm = (centred, root) => ([x, g, b], {eps, size}) => rowsOf(x, size, (row, y) => {
    const mean = centred ? row.reduce((s, v) => s + v, 0) / row.length : 0;
    const by = root(row.reduce((s, v) => s + (v - mean) ** 2, 0) / row.length, eps);
    for (let i = 0; i < row.length; ++i) y[i] = (row[i] - mean) / by * (g ? g[i] : 1) + (b ? b[i] : 0);
  });
  const ofVariance = (variance, eps) => Math.sqrt(variance + eps), ofStd = (variance, eps) => Math.sqrt(variance) + eps;
  const lossOf = (logs, {target, weight, ignored, mean, smoothing = 0}, V, shape) => {
    const at = (t, c) => -logs[t * V + c] * (weight ? weight[c] : 1);
    const losses = target.map((id, t) => {
      if (id === ignored) return 0;
      let even = 0;
      if (smoothing > 0) for (let c = 0; c < V; ++c) even += at(t, c);
      return (1 - smoothing) * at(t, id) + smoothing / V * even;
    });
    if (shape.length > 0) return losses;
    const counted = target.reduce((s, id) => s + (id === ignored ? 0 : weight ? weight[id] : 1), 0);
    return Float64Array.of(losses.reduce((s, v) => s + v, 0) / (mean ? counted : 1));
  };
  const reduce = (start, f, end) => ([x], {axes}, {shapes: [from], shape}) => {
    const gone = axes.length ? axes.map((axis) => ahead(axis, from)) : from.map((_, axis) => axis);
    const steps = stepsOf(from.map((size, axis) => (gone.includes(axis) ? 1 : size)));
    const to = places(from, steps.map((step, axis) => (gone.includes(axis) ? 0 : step)));
    const y = new Float64Array(sizeOf(shape)).fill(start);
    for (let i = 0; i < x.length; ++i) y[to[i]] = f(y[to[i]], x[i]);
    return end ? y.map((v) => end(v, x, y, to)) : y;
  };
  const logSumExp = (x, s, c) => {
    const most = reduce(-Infinity, Math.max)(x, s, c);
    const shifted = x[0].map((v) => Math.exp(v - largest(most)));
    return reduce(0, (a, b) => a + b)([shifted], s, c).map((v) => Math.log(v) + largest(most));
  };
  // --- products ---
  const linear = ([x, w, bias], s, {shapes: [, [outputs, inputs]]}) => {
    const T = x.length / inputs, y = new Float64Array(T * outputs);
    for (let t = 0; t < T; ++t) for (let o = 0; o < outputs; ++o) {
      let sum = 0;
      for (let i = 0; i < inputs; ++i) sum += x[t * inputs + i] * w[o * inputs + i];
      y[t * outputs + o] = sum + (bias ? bias[o] : 0);
    }
    return y;
  };
  const matmul = ([a, b], s, {shapes: [ofA, ofB], shape}) => {
    const K = ofA[ofA.length - 1], M = ofA.length > 1 ? ofA[ofA.length - 2] : 1, N = ofB.length > 1 ? ofB[ofB.length - 1] : 1;
    const lead = shape.slice(0, shape.length - (ofA.length > 1 ? 1 : 0) - (ofB.length > 1 ? 1 : 0));
    const [fromA, fromB] = [ofA, ofB].map((of) => places(lead, broadcastSteps(of.slice(0, -2), lead)));
    const y = new Float64Array(sizeOf(shape));
    fromA.forEach((matrix, i) => {
      for (let m = 0; m < M; ++m) for (let k = 0; k < K; ++k) {
        const factor = a[(matrix * M + m) * K + k], row = (fromB[i] * K + k) * N, to = (i * M + m) * N;
        if (factor !== 0) for (let n = 0; n < N; ++n) y[to + n] += factor * b[row + n];
      }
    });
    return y;
  };
  const convolution = ([x, w, bias], {stride, padding, dilation}, {shapes: [ofX, ofW], shape}) => {
    const axes = ofW.length - 2, grid = (of) => (axes === 1 ? [1, of[of.length - 1]] : of.slice(-2));
    const [H, W] = grid(ofX), [KH, KW] = grid(ofW), [YH, YW] = grid(shape), [outputs, inputs] = ofW;
    const channels = ofX[ofX.length - axes - 1], y = new Float64Array(sizeOf(shape)), share = outputs * inputs / channels;
    for (let i = 0; i < y.length; ++i) {
      const plane = Math.floor(i / (YH * YW)), o = plane % outputs, n = Math.floor(plane / outputs);
      const top = Math.floor(i / YW) % YH * stride[0] - padding[0], left = i % YW * stride[1] - padding[1];
      let sum = bias ? bias[o] : 0;
      for (let c = 0; c < inputs; ++c) for (let p = 0; p < KH; ++p) for (let q = 0; q < KW; ++q) {
        const row = top + p * dilation[0], column = left + q * dilation[1], channel = Math.floor(o / share) * inputs + c;
        if (row < 0 || row >= H || column < 0 || column >= W) continue;
        sum += w[((o * inputs + c) * KH + p) * KW + q] * x[((n * channels + channel) * H + row) * W + column];
      }
      y[i] = sum;
    }
    return y;
  };
  // --- views, and reading by index ---
  const same = ([x]) => x.slice();
  const transpose = ([x], {from: i, to: j}, {shapes: [from], shape}) => {
    const steps = stepsOf(from);
    return take(x, places(shape, replaced(replaced(steps, i, steps[j]), j, steps[i])));
  };
  const permute = ([x], {inverse}, {shapes: [from], shape}) => {
    const steps = stepsOf(from);
    return take(x, places(shape, shape.map((_, axis) => steps[inverse.indexOf(axis)])));
  };
  const slice = ([x], {axis, start, step}, {shapes: [from], shape}) => {
    const steps = stepsOf(from);
    return take(x, places(shape, replaced(steps, axis, steps[axis] * step), start * steps[axis]));
  };
  const select = ([x], {axis, index}, {shapes: [from], shape}) => {
    const steps = stepsOf(from);
    return take(x, places(shape, steps.filter((_, i) => i !== axis), index * steps[axis]));
  };
  const cat = (x, {axis}, {shapes, shape}) => {
    const y = new Float64Array(sizeOf(shape)), inner = sizeOf(shape.slice(axis + 1)), outer = sizeOf(shape.slice(0, axis));
    for (let o = 0, to = 0; o < outer; ++o) x.forEach((part, i) => {
      const count = shapes[i][axis] * inner;
      y.set(part.subarray(o * count, (o + 1) * count), to);
      to += count;
    });
    return y;
  };
  const embedding = ([table], {ids, padding}, {shapes: [[, width]], original}) => {
    const y = new Float64Array(ids.length * width);
    ids.forEach((id, t) => y.set((id === padding ? original[0] : table).subarray(id * width, (id + 1) * width), t * width));
    return y;
  };
  // The leading axes of ids may be 1.
  const gather = ([x], {axis, ids}, {shapes: [from], shape}) => {
    const steps = stepsOf(from), i = ahead(axis, from);
    return take(x, places(shape, replaced(steps, i, 0)).map((place, k) => place + ids[k % ids.length] * steps[i]));
  };
  // The places in x of the slices `ids` of an axis, which has their number in `shape`.
  const slices = ({axis, ids}, from, shape) => {
    const steps = stepsOf(from), along = places(shape, shape.map((_, i) => (i === axis ? 1 : 0)));
    return places(shape, replaced(steps, axis, 0)).map((place, k) => place + ids[along[k]] * steps[axis]);
  };
  const indexAdd = ([x, source], s, {shapes: [from, of]}) => {
    const y = x.slice();
    slices(s, from, of).forEach((place, k) => { y[place] += source[k]; });
    return y;
  };
  const gathered = "dx[place of y[i]] += dy[i]", moved = "dx = dy, moved back";
  return {
    embedding: [embedding, "y[t] = table[token[t]]", "dtable[token[t]] += dy[t]"],
    visible: [([ids], {hidden}) => ids.map((id) => (id === hidden ? 0 : 1)), "y = token is not padding", ""],
    add: [pair((a, b) => a + b), written("+"), "da = dy, db = dy; summed over axes that were repeated"],
    sub: [pair((a, b) => a - b), written("-"), "da = dy, db = -dy; summed over axes that were repeated"],
    mul: [pair((a, b) => a * b), written("*"), "da = dy b, db = dy a; summed over axes that were repeated"],
    div: [pair((a, b) => a / b), written("/"), "da = dy / b, db = -dy a / b^2; summed over axes that were repeated"],
    neg: [each((v) => -v), "y = -x", "dx = -dy"],
    linear: [linear, "y = x W^T + b", "dx = dy W, dW = dy^T x, db = sum of dy over the rows"],
    matmul: [matmul, "y = a b", "da = dy b^T, db = a^T dy"],
    layer_norm_std: [norm(true, ofStd), "y = gamma (x - mean) / (std + eps) + beta", "dn = dy gamma; dx = (dn - mean(dn) - (x - mean) / std * mean(dn * n)) / (std + eps), n = (x - mean) / (std + eps)"],
    layer_norm: [norm(true, ofVariance), "y = scale (x - mean) / sqrt(var + eps) + shift", "dn = dy scale; dx = (dn - mean(dn) - n mean(dn n)) / sqrt(var + eps), n = (x - mean) / sqrt(var + eps)"],
    rms_norm: [norm(false, ofVariance), "y = scale x / sqrt(mean(x^2) + eps)", "dn = dy scale; dx = (dn - n mean(dn n)) / sqrt(mean(x^2) + eps), n = x / sqrt(mean(x^2) + eps)"],
    conv1d: [convolution, "y[o, i] = b[o] + sum of w[o, c, p] x[c, i stride + p dilation - padding]", "dx: dy times w, added where it was read; dw: sum of dy x"],
    conv2d: [convolution, "y[o, i, j] = b[o] + sum of w[o, c, p, q] x[c, i stride + p dilation - padding, ...]", "dx: dy times w, added where it was read; dw: sum of dy x"],
    reshape: [same, "y = x in another shape", "dx = dy in the shape of x"],
    unsqueeze: [same, "y = x with one axis more", "dx = dy"],
    squeeze: [same, "y = x with one axis less", "dx = dy"],
    contiguous: [same, "y = x", "dx = dy"],
    to: [same, "y = x", "dx = dy"],
    transpose: [transpose, "y = x with two axes exchanged", "dx = dy with the axes exchanged"],
    permute: [permute, "y = x with its axes in another order", moved],
    expand: [([x], s, {shapes: [from], shape}) => broadcast(x, from, shape).slice(), "y = x, repeated", "dx = sum of dy over the repetitions"],
    slice: [slice, ({axis, start, step}) => `y = x[${start}, ${start + step}, ... of axis ${axis}]`, "dx = dy there, else 0"],
    select: [select, ({axis, index}) => `y = x[${index} of axis ${axis}]`, "dx = dy there, else 0"],
    cat: [cat, "y = the inputs side by side", "each input: its part of dy"],
    gather: [gather, "y[t] = x[t, index[t]]", gathered],
    topk: [gather, "y = the largest of x", gathered],
    index_select: [([x], s, {shapes: [from], shape}) => take(x, slices(s, from, shape)), "y[i] = x[index[i]]", gathered],
    index_add: [indexAdd, "y = x, y[index[i]] += source[i]", "dx = dy, dsource[i] = dy[index[i]]"],
    where: [choose, "y = a where the condition is true, else b", "da = dy where it is true, else 0; db the reverse"],
    masked_fill: [choose, "y = x, or a number where the mask is true", "dx = dy, or 0 where the mask is true"],
    sum: [reduce(0, (a, b) => a + b), "y = sum(x)", "dx = dy, repeated"],
    mean: [reduce(0, (a, b) => a + b, (v, x, y) => v * y.length / x.length), "y = mean(x)", "dx = dy / n, repeated"],
    logsumexp: [logSumExp, "y = log(sum(exp(x)))", "dx = dy exp(x - y)"],
    softmax: [onRows(softmax), "y = exp(x) / sum(exp(x))", "dx = y (dy - sum(dy y))"],
    log_softmax: [onRows(logSoftmax), "y = x - log(sum(exp(x)))", "dx = dy - softmax(x) sum(dy)"],
    nll_loss: [([x], s, {shapes: [of], shape}) => lossOf(x, s, of[of.length - 1], shape), ({mean}) => `y = ${mean ? "mean" : "sum"} of -log p(target)`, "dx[t, target[t]] = -dy, over T for a mean"],
    cross_entropy: [([x], s, {shapes: [of], shape}) => lossOf(rowsOf(x, of[of.length - 1], logSoftmax), s, of[of.length - 1], shape), ({mean}) => `y = ${mean ? "mean" : "sum"} of log(sum(exp(x))) - x[target]`, "dx = dy (softmax(x) - 1 at the target), over T for a mean"],
    exp: [each(Math.exp), "y = exp(x)", "dx = dy y"],
    log: [each(Math.log), "y = log(x)", "dx = dy / x"],
    sqrt: [each(Math.sqrt), "y = sqrt(x)", "dx = dy / (2 y)"],
    square: [each((v) => v * v), "y = x^2", "dx = 2 x dy"],
    relu: [each((v) => Math.max(v, 0)), "y = max(x, 0)", "dx = dy where x > 0, else 0"],
    gelu: [([x], {form}) => x.map(form ? geluTanh : (v) => 0.5 * v * (1 + erf(v / Math.SQRT2))), ({form}) => (form ? "y = x/2 (1 + u), u = tanh(sqrt(2 / pi) (x + 0.044715 x^3))" : "y = x/2 (1 + erf(x / sqrt(2)))"), "dx = dy (P(X < x) + x p(x)), X standard normal, or the derivative of the form with tanh"],
    silu: [each((v) => v * sigmoid(v)), "y = x sigmoid(x)", "dx = dy sigmoid(x) (1 + x (1 - sigmoid(x)))"],
    leaky_relu: [([x], {a}) => x.map((v) => (v > 0 ? v : a * v)), ({a}) => `y = max(x, 0) + ${a} min(x, 0)`, "dx = dy (x > 0 ? 1 : slope)"],
    elu: [([x], {a}) => x.map((v) => (v > 0 ? v : a * Math.expm1(v))), ({a}) => `y = x > 0 ? x : ${a} (exp(x) - 1)`, "dx = dy (x > 0 ? 1 : alpha exp(x))"],
    tanh: [each(Math.tanh), "y = tanh(x)", "dx = dy (1 - y^2)"],
    sigmoid: [each(sigmoid), "y = sigmoid(x)", "dx = dy y (1 - y)"],
  };
})();

// The formulas and rules that have words, in Korean.
touch.stepKorean = {
  "y = token is not padding": "y = 토큰이 패딩이 아님",
  "da = dy, db = dy; summed over axes that were repeated": "da = dy, db = dy. 되풀이된 축에서는 더한 것",
  "da = dy, db = -dy; summed over axes that were repeated": "da = dy, db = -dy. 되풀이된 축에서는 더한 것",
  "da = dy b, db = dy a; summed over axes that were repeated": "da = dy b, db = dy a. 되풀이된 축에서는 더한 것",
  "da = dy / b, db = -dy a / b^2; summed over axes that were repeated": "da = dy / b, db = -dy a / b^2. 되풀이된 축에서는 더한 것",
  "dx = dy W, dW = dy^T x, db = sum of dy over the rows": "dx = dy W, dW = dy^T x, db = 모든 행에 걸친 dy의 합",
  "y[o, i] = b[o] + sum of w[o, c, p] x[c, i stride + p dilation - padding]": "y[o, i] = b[o] + w[o, c, p] x[c, i stride + p dilation - padding]의 합",
  "y[o, i, j] = b[o] + sum of w[o, c, p, q] x[c, i stride + p dilation - padding, ...]": "y[o, i, j] = b[o] + w[o, c, p, q] x[c, i stride + p dilation - padding, ...]의 합",
  "dx: dy times w, added where it was read; dw: sum of dy x": "dx: dy와 w의 곱을 읽은 자리에 더한 것, dw: dy x의 합",
  "y = x in another shape": "y = 모양을 바꾼 x", "dx = dy in the shape of x": "dx = x의 모양으로 되돌린 dy",
  "y = x with one axis more": "y = 축을 하나 더한 x", "y = x with one axis less": "y = 축을 하나 뺀 x",
  "y = x with two axes exchanged": "y = 두 축을 맞바꾼 x", "dx = dy with the axes exchanged": "dx = 축을 다시 맞바꾼 dy",
  "y = x with its axes in another order": "y = 축의 순서를 바꾼 x", "dx = dy, moved back": "dx = 순서를 되돌린 dy",
  "y = x, repeated": "y = 되풀이한 x", "dx = sum of dy over the repetitions": "dx = 되풀이한 것에 걸친 dy의 합",
  "dx = dy there, else 0": "그 자리에서 dx = dy, 나머지는 0", "y = the inputs side by side": "y = 입력을 이어 붙인 것",
  "each input: its part of dy": "입력마다 dy에서 그 입력에 해당하는 부분", "dx[place of y[i]] += dy[i]": "dx[y[i]의 자리] += dy[i]",
  "y = the largest of x": "y = x에서 가장 큰 값들", "y = a where the condition is true, else b": "조건이 참이면 y = a, 아니면 b",
  "da = dy where it is true, else 0; db the reverse": "조건이 참이면 da = dy, 아니면 0. db는 반대",
  "y = x, or a number where the mask is true": "y = x, 마스크가 참인 자리는 정한 수",
  "dx = dy, or 0 where the mask is true": "dx = dy, 마스크가 참인 자리는 0", "dx = dy, repeated": "dx = 되풀이한 dy",
  "dx = dy / n, repeated": "dx = 되풀이한 dy / n", "y = mean of -log p(target)": "y = -log p(정답)의 평균",
  "y = sum of -log p(target)": "y = -log p(정답)의 합",
  "dx[t, target[t]] = -dy, over T for a mean": "dx[t, target[t]] = -dy, 평균이면 T로 나눔",
  "y = mean of log(sum(exp(x))) - x[target]": "y = log(sum(exp(x))) - x[정답]의 평균",
  "y = sum of log(sum(exp(x))) - x[target]": "y = log(sum(exp(x))) - x[정답]의 합",
  "dx = dy (softmax(x) - 1 at the target), over T for a mean": "dx = dy (softmax(x), 정답에서는 1을 뺌), 평균이면 T로 나눔",
  "dx = dy where x > 0, else 0": "x > 0이면 dx = dy, 아니면 0",
  "dx = dy (P(X < x) + x p(x)), X standard normal, or the derivative of the form with tanh": "dx = dy (P(X < x) + x p(x)), X는 표준 정규 분포. tanh 식이면 그 미분",
};

// The token list that each axis of a node goes along, by its index; null for others. Operations pass them on.
touch.stepAxes = ({op, shape, index, inputs, tensors, settings}, nodes) => {
  const none = shape.map(() => null), of = (i) => nodes[i].axes, last = shape.length - 1;
  if (op === "tokens") return none.map((_, axis) => (axis === last ? index : null));
  if (op === "embedding") return [...of(tensors.ids), null];
  if (inputs.length === 0 || inputs[0] < 0) return none;
  const x = of(inputs[0]), from = nodes[inputs[0]].shape;
  if (op === "transpose") return x.map((_, axis) => x[axis === settings.from ? settings.to : axis === settings.to ? settings.from : axis]);
  if (op === "permute") return x.map((_, axis) => x[settings.inverse.indexOf(axis)]);
  if (op === "linear") return [...x.slice(0, -1), null];
  if (op === "matmul") return none.map((_, axis) => (axis === last ? of(inputs[1])[of(inputs[1]).length - 1] : x[axis - last + x.length - 1]) ?? null);
  if (["reshape", "unsqueeze", "squeeze"].includes(op)) {  // an axis of the same size after as many elements
    const before = (sizes, axis) => sizes.slice(0, axis).reduce((a, b) => a * b, 1);
    return none.map((_, axis) => x.find((list, i) => list !== null && from[i] === shape[axis] && before(from, i) === before(shape, axis)) ?? null);
  }
  return none.map((_, axis) => inputs.filter((i) => i >= 0).map((i) => ({lists: of(i), at: axis - last - 1, size: shape[axis], sizes: nodes[i].shape}))
    .map(({lists, at, size, sizes}) => (sizes[sizes.length + at] === size ? lists[lists.length + at] : null)).find((list) => list != null) ?? null);
};

// The step with its numbers: nodes have `library` and `gradient`; values and ids are the page's.
touch.stepReplay = (data) => {
  const floats = (text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return Float64Array.from(new Float32Array(bytes.buffer));
  };
  const all = floats(data.values), gradients = floats(data.gradients), nodes = [];
  for (const given of data.nodes) {
    const count = given.shape.reduce((a, b) => a * b, 1), {tensors = {}, inputs} = given;
    const settings = Object.fromEntries(Object.entries(given.settings).map(([key, v]) => [key, typeof v === "string" ? Number(v) : v]));
    const node = {...given, settings, tensors, index: nodes.length, given: inputs.length === 0,
      library: all.subarray(given.at, given.at + count), gradient: gradients.subarray(given.at, given.at + count),
      trained: given.op === "parameter" || inputs.some((i) => nodes[i]?.trained), reads: [...inputs, ...Object.values(tensors)]};
    node.shapes = {shape: node.shape, shapes: inputs.map((i) => nodes[i]?.shape),
      named: Object.fromEntries(Object.entries(tensors).map(([key, i]) => [key, nodes[i].shape]))};
    node.axes = touch.stepAxes(node, nodes);
    nodes.push(node);
  }
  const ids = nodes.map((node) => (node.op === "tokens" ? [...node.library] : null));
  // All values, where those of the `changed` nodes are in `from` already; what does not depend on them is kept.
  const run = (from, changed, original = from) => {
    const values = [...from], dirty = new Set(changed);
    for (const node of nodes) {
      if (node.given || changed.has(node.index) || !node.reads.some((i) => dirty.has(i))) continue;
      dirty.add(node.index);
      const settings = {...node.settings};
      for (const [key, i] of Object.entries(node.tensors)) settings[key] = values[i];
      values[node.index] = touch.stepOperations[node.op][0](node.inputs.map((i) => values[i]), settings,
        {...node.shapes, original: node.inputs.map((i) => original[i])});
    }
    return values;
  };
  const given = new Set(nodes.filter((node) => node.given).map((node) => node.index));
  const replay = {nodes, ids, values: null, last: nodes.length - 1};
  replay.restart = () => {
    nodes.forEach((node, i) => { if (ids[i]) ids[i] = [...node.library]; });
    replay.values = run(nodes.map((node) => (node.given ? node.library.slice() : null)), given);
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
    const changed = new Set([index]), {link} = nodes[index].settings, from = [...replay.values];
    ids[index][position] = id;
    const follows = link && position + link.by;
    if (link && follows >= 0 && follows < ids[link.to].length) {
      ids[link.to][follows] = id;
      changed.add(link.to);
    }
    for (const list of changed) from[list] = Float64Array.from(ids[list]);
    replay.values = run(from, changed);
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
  const trained = replay.nodes.filter((node) => node.trained);
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
  const inWords = (rule) => (language === "ko" ? touch.stepKorean[rule] || rule.replace(" of axis ", ", 축 ") : rule);
  const replay = touch.stepReplay(data), {nodes} = replay;
  const text = (v) => (v === -Infinity ? "-inf" : Math.abs(v) >= 1e-3 && Math.abs(v) < 1e5 || v === 0 ? v.toFixed(6) : v.toExponential(4));
  const token = (id) => (data.vocabulary[id].trim() === "" ? JSON.stringify(data.vocabulary[id]) : data.vocabulary[id]);
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
    const list = node.op === "parameter" ? undefined : replay.ids[node.axes[node.axes.length - 2 + axis]];
    return (i) => (list && list.length === length ? `${i} ${token(list[i])}` : String(i));
  };
  const grid = (node, which) => {
    const [rows, columns] = [1, 1, ...node.shape].slice(-2), heads = node.library.length / rows / columns, step = 24;
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
  const formulaOf = ({op, settings}) => {
    const formula = touch.stepOperations[op][1];
    return inWords(typeof formula === "function" ? formula(settings) : formula);
  };

  // --- one number ---
  const inspect = (node, i) => {
    const at = [], value = replay.values[node.index][i];
    for (let rest = i, axis = node.shape.length - 1; axis >= 0; rest = Math.floor(rest / node.shape[axis--])) at.unshift(rest % node.shape[axis]);
    const line = (name, ...shown) => element("tr", {}, element("th", {}, name), element("td", {}, ...shown));
    const rows = [line(say("값", "value"), `${text(value)} (tapegrad ${text(node.library[i])})`)];
    if (Number.isFinite(value) && node.trained) {
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
  const blockOf = (path) => {  // the outermost element of a list of modules, or a module
    const parts = path.split("."), number = parts.findIndex((part) => /^\d+$/.test(part));
    return parts.slice(0, number >= 0 ? number + 1 : Math.min(2, parts.length - 1)).join(".") || "output";
  };
  const drawForward = () => {
    for (const node of nodes.filter((one) => one.inputs.length > 0)) {
      const name = blockOf(node.name);
      if (!blocks.length || blocks[blocks.length - 1].name !== name) blocks.push({name, nodes: [], part: element("details", {}, element("summary", {}, name))});
      const block = blocks[blocks.length - 1];
      block.nodes.push(node);
      const inside = element("details", {}, element("summary", {}, `${node.name} ${shapeOf(node)} `, element("span", {class: "soft"}, formulaOf(node))));
      const inputs = node.reads.filter((i) => i >= 0).map((i) => (nodes[i].given && nodes[i].op !== "tokens"
        ? opened(nodes[i], "y", `${nodes[i].name} ${shapeOf(nodes[i])}`) : element("div", {class: "soft"}, `${nodes[i].name} ${shapeOf(nodes[i])}`)));
      inside.append(...inputs, opened(node, "y", say("값 y", "values y")), opened(node, "dy", say("기울기 dy", "gradient dy")),
        element("div", {class: "soft"}, inWords(touch.stepOperations[node.op][2])));
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
  const order = nodes.filter((node) => node.inputs.length > 0 && node.trained).reverse();
  const walk = (step) => {
    const node = order[step], button = (label, to) => {
      const made = element("button", {type: "button"}, label);
      made.disabled = to < 0 || to >= order.length;
      made.addEventListener("click", () => walk(to));
      return made;
    };
    const inputs = node.inputs.filter((i) => nodes[i]?.trained).map((i) => {
      const users = nodes.filter((other) => other.inputs.includes(i)).length;
      return opened(nodes[i], "dy", `d ${nodes[i].name} ${shapeOf(nodes[i])}` + (users > 1 ? say(`: ${users} 연산에서 온 기울기의 합`, `: the sum from its ${users} uses`) : ""));
    });
    backward.replaceChildren(button("◀", step - 1), ` ${step + 1} / ${order.length} `, button("▶", step + 1),
      element("p", {}, element("b", {}, node.name), ` (${node.op}): ${inWords(touch.stepOperations[node.op][2])}`),
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

  root.append(summary, element("p", {}, say("막대 하나가 연산 하나이며 순전파의 순서로 놓았습니다. 높이는 가장 큰 기울기의 로그입니다. 누르면 열립니다.",
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
