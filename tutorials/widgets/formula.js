// Results of formulas, with sliders for what is in them. Data: {"inputs": [{"key", "name", "min", "max", "step", "value",
// "power": true if 2 to the power of the slider is meant}], "results": [{"name", "formula"}], "digits": 0}. A formula is a
// number, the key of an input, or [operation, formula ...].
"use strict";
touch.formula = (root, data, language) => {
  const values = {}, shown = touch.element("div");
  const operations = {"+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b, "^": (a, b) => a ** b,
    min: (a, b) => Math.min(a, b), log: Math.log, log2: Math.log2, sqrt: Math.sqrt};
  const valueOf = (formula) => {
    if (typeof formula === "number") return formula;
    if (typeof formula === "string") return values[formula];
    const [name, ...parts] = formula, [first, ...more] = parts.map(valueOf);
    return more.length ? more.reduce(operations[name], first) : operations[name](first);
  };
  const draw = () => {
    if (data.inputs.some(({key}) => !(key in values))) return;
    const results = data.results.map(({formula}) => valueOf(formula));
    shown.replaceChildren(touch.table(data.results.map(({name}) => name), [language === "ko" ? "값" : "value"],
      results.map((v) => [v]), {digits: data.digits || 0, high: Math.max(1e-9, ...results)}));
  };
  root.append(...data.inputs.map(({key, name, power, ...slider}) => touch.slider(name, slider, (v) => {
    values[key] = power ? 2 ** v : v;
    draw();
  })), shown);
};
