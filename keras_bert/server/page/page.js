// Makes a form for the inputs of a model, and sends its values to the server.

import { element, showAnswers } from "./answers.js";

const page = {};
for (const node of document.querySelectorAll("[id]")) page[node.id] = node;

let models = [];
let model; // the chosen model
let task; // what the form asks the model
const drafts = {}; // the last value of each field, by name
let apiKey = ""; // in memory only
let afterKey; // the action to repeat with a key
let running = new AbortController(); // aborts the last request

page.names.addEventListener("change", () =>
  chooseModel(models[page.names.selectedIndex]),
);
page.request.addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(askModel);
});
page.request.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  page.request.requestSubmit();
});
page.keyForm.addEventListener("submit", async (event) => {
  event.preventDefault();
  apiKey = page.key.value;
  await attempt(afterKey);
  if (page.keyForm.hidden) page.fields.querySelector("textarea")?.focus();
});
attempt(loadModels);

// ---- Requests.

async function loadModels(signal) {
  const list = await fetchJson("page/models", undefined, signal);
  const { models: found, loading } = list;
  if (loading.length) setTimeout(loadMore, 1000);
  else if (!found.length) throw new Error("No model here takes texts.");
  models = found;
  page.names.replaceChildren(
    ...models.map(({ name }) => {
      const option = new Option(name);
      option.selected = name === model?.name;
      return option;
    }),
  );
  if (!models.length) show(element("p", "hint", "The models are loading…"));
  else if (model) showName();
  else chooseModel(models[0]);
}

// The form stays as it is. Nothing that the user does ends this request.
function loadMore() {
  const { signal } = new AbortController();
  loadModels(signal).catch(() => setTimeout(loadMore, 1000));
}

async function askModel() {
  const values = readValues();
  const path = `v1/models/${encodeURIComponent(model.name)}:predict`;
  const { predictions } = await fetchJson(path, {
    signature_name: task.signature,
    instances: task.instances(values),
  });
  show(...showAnswers(predictions, values, model));
  page.answer.parentElement.scrollIntoView({ block: "nearest" });
}

async function fetchJson(path, body, signal = running.signal) {
  const headers = { "Content-Type": "application/json" };
  if (apiKey) headers.Authorization = `Bearer ${apiKey}`;
  const options = { headers, signal };
  if (body)
    Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  const response = await fetch(path, options).catch(() => {
    throw new Error("The server did not answer; check that it runs.");
  });
  page.keyForm.hidden = response.status !== 401;
  const answer = await response.json().catch(() => ({
    error: `The server answered with status ${response.status} and no JSON.`,
  }));
  if (answer.error) throw new Error(answer.error);
  return answer;
}

// A new attempt ends the previous attempt.
async function attempt(action) {
  running.abort();
  const { signal } = (running = new AbortController());
  setWaiting(true);
  try {
    await action();
  } catch (error) {
    if (signal.aborted) return;
    show(element("p", "error", error.message));
    if (page.keyForm.hidden) return;
    afterKey = action;
    page.key.focus();
  } finally {
    if (signal === running.signal) setWaiting(false);
  }
}

function setWaiting(isWaiting) {
  page.answer.ariaBusy = isWaiting;
  page.waiting.textContent = isWaiting ? "Waiting for the answer…" : "";
}

function show(...nodes) {
  page.answer.replaceChildren(...nodes);
}

// ---- Tasks: a signature, the fields of the form, and how their values
// ---- become instances. A field with isList holds a list of texts.

function tasksOf({ signatures, mask }) {
  const { serving_default: main, embed, fill_mask: fill } = signatures;
  const tasks = [];
  if (main && embed) {
    const [input] = Object.keys(main.inputs);
    tasks.push({
      title: "Compare two texts",
      signature: "serving_default",
      fields: [{ name: "first text" }, { name: "second text" }],
      instances: (values) =>
        Object.values(values).map((text) => ({ [input]: text })),
    });
  } else if (main) {
    tasks.push(plainTask("Answer", "serving_default", main));
  }
  if (fill) tasks.push(plainTask(`Fill in ${mask}`, "fill_mask", fill));
  return tasks;
}

function plainTask(title, signature, { inputs }) {
  const fields = Object.entries(inputs).map(([name, rank]) => ({
    name,
    isList: rank > 1,
  }));
  return { title, signature, fields, instances: (values) => [values] };
}

// ---- The form.

function chooseModel(chosen) {
  model = chosen;
  showName();
  const tasks = tasksOf(model);
  const choices = tasks.map((task, i) => {
    const radio = element("input", "");
    Object.assign(radio, { type: "radio", name: "task", checked: i === 0 });
    radio.addEventListener("change", () => chooseTask(task));
    return element("label", "", radio, task.title);
  });
  page.tasks.replaceChildren(page.tasks.firstElementChild, ...choices);
  page.tasks.hidden = tasks.length < 2;
  page.request.hidden = !tasks.length;
  if (tasks.length) chooseTask(tasks[0]);
  else show(element("p", "error", "This model does not take texts."));
}

function showName() {
  const isOne = models.length === 1;
  page.choose.hidden = isOne;
  const name = isOne ? model.name : "";
  page.about.textContent = `${name} version ${model.version}`;
  document.title = model.name;
}

function chooseTask(chosen) {
  running.abort();
  if (task) Object.assign(drafts, readValues());
  task = chosen;
  const nodes = task.fields.map(({ name, isList }) =>
    isList ? listField(name) : textField(name, titleOf(name), drafts[name]),
  );
  if (task.signature === "fill_mask") nodes.push(maskButton(model.mask));
  page.fields.replaceChildren(...nodes);
  show(element("p", "hint", "The answer appears here."));
}

function titleOf(name) {
  const words = name.replaceAll("_", " ").replace(/(\D)(\d+)$/, "$1 $2");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function textField(name, title, value = "") {
  const area = element("textarea", "");
  Object.assign(area, { name, value, rows: 1, required: true, dir: "auto" });
  return element("label", "field", title, area);
}

function listField(name) {
  const one = titleOf(name).replace(/s$/, ""); // Endings -> Ending
  const list = element(
    "fieldset",
    "list",
    element("legend", "", titleOf(name)),
  );
  const more = button(`Add another ${one.toLowerCase()}`, () =>
    add("").focus(),
  );
  const rows = list.getElementsByClassName("row");

  function add(value) {
    const remove = button("Remove", () => {
      const next = row.nextElementSibling;
      row.remove();
      numberRows();
      (next.querySelector("textarea") ?? next).focus();
    });
    const field = textField(name, element("span", "title"), value);
    const row = element("div", "row", field, remove);
    more.before(row);
    numberRows();
    return field.querySelector("textarea");
  }

  function numberRows() {
    [...rows].forEach((row, i) => {
      row.querySelector(".title").textContent = `${one} ${i + 1}`;
      row.querySelector("button").disabled = rows.length < 3;
      row.querySelector("button").ariaLabel = `Remove ${one} ${i + 1}`;
    });
  }

  list.append(more);
  for (const value of drafts[name] ?? ["", ""]) add(value);
  return list;
}

function maskButton(mask) {
  return button(`Insert ${mask}`, () => {
    const area = page.fields.querySelector("textarea");
    area.setRangeText(mask, area.selectionStart, area.selectionEnd, "end");
    area.focus();
  });
}

function button(text, act) {
  const node = element("button", "", text);
  node.type = "button";
  node.addEventListener("click", act);
  return node;
}

// Without FormData: some browsers change line breaks in it, and the offsets in
// an answer would then be wrong.
function readValues() {
  const areas = [...page.fields.querySelectorAll("textarea")];
  const read = ({ name, isList }) => {
    const texts = areas.filter((x) => x.name === name).map((x) => x.value);
    return [name, isList ? texts : texts[0]];
  };
  return Object.fromEntries(task.fields.map(read));
}
