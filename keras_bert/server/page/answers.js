// Shows answers of models. Each form of answer has a function that takes the
// answers to the instances of a request, the values of the fields by name, and
// the model. It returns nodes.
//
// A text of the user or of the server becomes a text node, never HTML.

// The outputs of each form -> its function. The first form is shown whose
// outputs are all in the answer.
const FORMS = [
  [["embedding"], showSimilarity],
  [["masks.pieces", "masks.probabilities"], showGuesses],
  [["entities.type", "entities.start", "entities.end"], showEntities],
  [["answer", "start", "end"], showSpan],
  [["choice", "scores"], showChoice],
  [["labels", "scores"], showLabels],
  [["label", "scores"], showLabel],
  [["score"], showNumber],
  [[], showJson],
];

export function showAnswers(answers, values, model) {
  const hasOutput = (name) => answers[0]?.[name] !== undefined;
  const [, show] = FORMS.find(([names]) => names.every(hasOutput));
  return [...show(answers, values, model), ...notes(answers)];
}

export function element(tag, className, ...children) {
  const node = document.createElement(tag);
  node.className = className;
  node.append(...children); // strings become text nodes
  return node;
}

function showLabel([{ label, scores }], values, { labels }) {
  return [result(label), labelBars(scores, labels, [label])];
}

function showLabels([{ labels: padded, scores }], values, { labels }) {
  const given = padded.filter((label) => label !== "");
  return [
    given.length ? result(given.join(", ")) : noResult("No label"),
    labelBars(scores, labels, given),
  ];
}

function showNumber([{ score }]) {
  return [result(score.toFixed(3))];
}

function showChoice([{ choice, scores }], values) {
  const texts = Object.values(values).find(Array.isArray);
  return [result(texts[choice]), bars(texts, scores, (i) => i === choice)];
}

function showSpan([{ answer, best_answer: best, start, end }], values) {
  const context = Object.values(values).at(-1);
  if (answer) {
    const marks = [{ start, end, className: "chosen" }];
    return [result(answer), textWithMarks(context, marks)];
  }
  const guess = best ? [element("p", "", `Best guess: “${best}”`)] : [];
  return [noResult("No answer in the text"), ...guess];
}

function showEntities([outputs], values, { labels }) {
  const [types, starts, ends] = ["type", "start", "end"].map(
    (name) => outputs[`entities.${name}`],
  );
  const marks = types
    .map((caption, i) => ({
      caption,
      start: starts[i],
      end: ends[i],
      className: classOfType(caption, labels),
    }))
    .filter(({ start, end }) => start < end); // the rest is padding
  const text = textWithMarks(Object.values(values)[0], marks);
  if (!marks.length) return [noResult("No entity in the text"), text];
  const found = marks.map(({ caption }) => caption);
  const legend = [...new Set(found)].map((type) => {
    const count = found.filter((other) => other === type).length;
    const sample = element("mark", classOfType(type, labels), type);
    return element("li", "", sample, ` ${count}`);
  });
  return [element("ul", "legend", ...legend), text];
}

function showGuesses([outputs], values, { mask }) {
  const shares = outputs["masks.probabilities"];
  // The rest is padding.
  const masks = outputs["masks.pieces"].filter(([best]) => best);
  if (!masks.length) return [noResult(`Write ${mask} where a word is missing`)];
  const [before, ...after] = Object.values(values)[0].split(mask);
  const filled = after.flatMap((text, i) => [
    masks[i] ? element("mark", "chosen", masks[i][0]) : mask,
    text,
  ]);
  const guesses = masks.flatMap((names, i) => [
    element("h3", "", `Guesses for ${mask} ${i + 1}`),
    bars(names, shares[i], (j) => j === 0),
  ]);
  return [element("p", "text", before, ...filled), ...guesses];
}

function showSimilarity(answers) {
  const [a, b] = answers.map(({ embedding }) => embedding);
  const dot = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0);
  const cosine = dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b)) || 0;
  return [
    result(cosine.toFixed(3)),
    track(cosine),
    element("p", "hint", "The cosine of both embeddings; 1 is the highest."),
  ];
}

function showJson([answer]) {
  return [element("pre", "", JSON.stringify(answer, null, 2))];
}

function notes(answers) {
  const all = (name) => answers.flatMap((outputs) => outputs?.[name] ?? []);
  const numTokens = all("num_tokens").reduce((sum, count) => sum + count, 0);
  const nodes = [];
  if (all("truncated").some(Boolean)) {
    const text =
      "The input is longer than the model reads; its end is cut off.";
    nodes.push(element("p", "warning", text));
  }
  if (numTokens) nodes.push(element("p", "hint", `Tokens read: ${numTokens}`));
  return nodes;
}

function result(text) {
  return element("p", "result", text);
}

function noResult(text) {
  return element("p", "result none", text);
}

function labelBars(scores, labels, chosen) {
  const order = scores.map((_, i) => i).sort((i, j) => scores[j] - scores[i]);
  const names = order.map((i) => labels[i]);
  const sorted = order.map((i) => scores[i]);
  return bars(names, sorted, (i) => chosen.includes(names[i]));
}

function bars(names, shares, isChosen) {
  const items = names.map((name, i) =>
    element(
      "li",
      isChosen(i) ? "chosen" : "",
      element("span", "name", name),
      element("span", "share", `${(100 * shares[i]).toFixed(1)} %`),
      track(shares[i]),
    ),
  );
  return element("ol", "bars", ...items);
}

function track(share) {
  const fill = element("div", "");
  fill.style.width = `${100 * Math.min(Math.max(share, 0), 1)}%`;
  return element("div", "track", fill);
}

// `start` and `end` count code points; a JavaScript string has UTF-16 units.
function textWithMarks(text, marks) {
  const characters = Array.from(text);
  const part = (start, end) => characters.slice(start, end).join("");
  const node = element("p", "text");
  let place = 0;
  for (const { start, end, className, caption } of marks) {
    const mark = element("mark", className, part(start, end));
    if (caption) mark.append(element("small", "", caption));
    node.append(part(place, start), mark);
    place = end;
  }
  node.append(part(place));
  return node;
}

const NUM_COLOURS = 8; // in page.css

function classOfType(type, labels) {
  const types = labels.map((label) => label.replace(/^[BI]-/, ""));
  const place = [...new Set(types)].indexOf(type) + 1; // 0 if unknown
  return `colour${place % NUM_COLOURS}`;
}
