// openapi.json -> a list of routes, each with a form to ask it.

import { element } from "./answers.js";

const { paths, components } = await fetch("openapi.json").then((answer) =>
  answer.json(),
);
const byTag = new Map();
for (const [path, { parameters = [], ...operations }] of Object.entries(paths)) {
  for (const [method, operation] of Object.entries(operations)) {
    const [tag] = operation.tags;
    const all = [...parameters, ...(operation.parameters ?? [])].map(resolve);
    const route = showRoute(method, path, operation, all);
    byTag.set(tag, [...(byTag.get(tag) ?? []), route]);
  }
}
for (const [tag, routes] of byTag)
  document.getElementById("routes").append(element("h2", "", tag), ...routes);

// Follows a $ref to another part of the document.
function resolve(value) {
  if (!value?.$ref) return value;
  const [, , kind, name] = value.$ref.split("/");
  return components[kind][name];
}

function showRoute(method, path, operation, parameters) {
  const content = resolve(operation.requestBody)?.content["application/json"];
  const inputs = parameters.map(({ name, description }) => {
    const input = element("input", "");
    Object.assign(input, { name, title: description ?? "", dir: "auto" });
    return input;
  });
  const body = element("textarea", "");
  body.value = JSON.stringify(content?.example ?? {}, null, 2);
  body.rows = body.value.split("\n").length;
  const answer = element("pre", "");
  answer.hidden = true;
  const form = element(
    "form",
    "",
    ...inputs.map((input) => element("label", "field", input.name, input)),
    ...(content ? [element("label", "field", "Body", body)] : []),
    element("button", "main", "Send"),
    answer,
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    answer.hidden = false;
    answer.textContent = await send(method, path, inputs, content && body.value);
  });
  const summary = element(
    "summary",
    "",
    element("code", "", `${method.toUpperCase()} ${path}`),
    ` ${operation.summary}`,
  );
  const about = operation.description
    ? [element("p", "hint", operation.description)]
    : [];
  const fields = content ? [fieldsOf(resolve(content.schema))] : [];
  return element("details", "route", summary, ...about, ...fields, form);
}

// A list of the fields of an object, and of the objects in its fields.
function fieldsOf({ properties = {}, required = [] }) {
  const items = Object.entries(properties).map(([name, reference]) => {
    const field = resolve(reference);
    const type = field.enum ?? field.type ?? field.oneOf?.map((x) => x.type);
    const words = [type ?? "any"].flat().map(String).join(" or ");
    const more = [required.includes(name) ? "required" : ""];
    if ("default" in field) more.push(`default ${JSON.stringify(field.default)}`);
    const notes = more.filter(Boolean).map((note) => `, ${note}`);
    return element(
      "li",
      "",
      element("code", "", name),
      ` ${words}${notes.join("")}. ${field.description ?? ""}`,
      ...(field.properties ? [fieldsOf(field)] : []),
    );
  });
  return element("ul", "", ...items);
}

async function send(method, path, inputs, body) {
  const query = new URLSearchParams();
  let url = `.${path}`;
  for (const { name, value } of inputs) {
    const inPath = url.includes(`{${name}}`);
    if (inPath) url = url.replace(`{${name}}`, encodeURIComponent(value));
    else if (value) query.set(name, value);
  }
  const key = document.getElementById("key").value;
  const headers = { "Content-Type": "application/json" };
  if (key) headers.Authorization = `Bearer ${key}`;
  const options = { method: method.toUpperCase(), headers, body };
  try {
    const answer = await fetch(`${url}${query.size ? `?${query}` : ""}`, options);
    return `${answer.status}\n${await answer.text()}`;
  } catch {
    return "The server did not answer; check that it runs.";
  }
}
