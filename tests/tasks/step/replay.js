// Replays the step of a page of `tapegrad explain step`, without a browser:
//   node replay.js TOUCH_FOLDER PAGE [MOST]    (checks about MOST gradients instead of all)
// Prints {"values": largest difference to the library's values, relative above 1, "gradients": largest relative
// difference of a checked gradient to its finite difference, "checked": how many, "loss", "after", "edited": [the loss
// after an edit of the first token list, after its undoing, after an edit of a weight]}; none without such a list.
"use strict";
const fs = require("fs"), vm = require("vm");
const [folder, file, most = Infinity] = process.argv.slice(2);
const script = (name) => fs.readFileSync(`${folder}/${name}.js`, "utf8");
vm.runInThisContext(script("common").replace("const touch", "var touch") + script("step"));
const data = JSON.parse(fs.readFileSync(file, "utf8").match(/application\/json">([\s\S]*?)<\/script>/)[1]);
const replay = touch.stepReplay(data), checks = touch.stepChecks(replay);
const every = Math.max(1, Math.floor(checks.tasks.length / most)), tasks = checks.tasks.filter((_, i) => i % every === 0);
const gradients = Math.max(...tasks.map(checks.check));
const after = replay.lossAfter(data.optimizer), loss = replay.loss(), edited = [];
const list = replay.nodes.findIndex((node) => node.name === "read" || node.name === "source");
if (list >= 0) {
  const was = replay.ids[list][0];
  for (const id of [was === 1 ? 2 : 1, was]) {
    replay.setToken(list, 0, id);
    edited.push(replay.loss());
  }
  const weight = replay.nodes.findIndex((node) => node.op === "parameter" && node.name.endsWith(".weight"));
  replay.set(weight, replay.ids[list][0] * replay.nodes[weight].shape[1], 2);
  edited.push(replay.loss());
}
console.log(JSON.stringify({values: checks.worst, gradients, checked: tasks.length, loss, after, edited}));
