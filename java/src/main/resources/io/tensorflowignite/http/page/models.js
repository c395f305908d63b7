// Models: which version answers, the versions with their labels, and the latencies of this node.

import { CallError, all, call, repeat } from "./calls.js";
import { content } from "./curves.js";
import { h, table, update } from "./elements.js";
import { bytes, count, counted, number, pill, short, since, word } from "./text.js";

const SECONDS = 3;
// Files change seldom, and take a call for each label.
const FILE_ROUNDS = 4;
const VERSIONS = 10;
const MODELS = 50;
const MOST_LABELS = 20;
const MOST_KNOWN = 1000;
const STATE_TONES = { serving: "good", loading: "wait", failed: "bad" };

// Metadata of versions, which never change.
const known = new Map();

export function showModels(main, signal, report) {
  let round = 0;
  let files = null;
  const load = async () => {
    const [served, latencies] = await Promise.all([call("ListDeployments", {}, signal), measured(signal)]);
    const deployed = (served.deployments ?? []).map((each) => each.name);
    const render = () => signal.aborted || update(main, view(served, files ?? { models: new Map(), refusal: "" }, latencies));
    // Which version answers does not wait for the files.
    if (files || deployed.length) render();
    if (round % FILE_ROUNDS === 0) {
      files = await stored(deployed, signal);
      render();
    }
    round += 1;
  };
  repeat(signal, SECONDS, load, report);
}

function view(served, files, latencies) {
  const deployments = new Map((served.deployments ?? []).map((each) => [each.name, each]));
  const nodes = served.nodes ?? [];
  const names = [...new Set([...deployments.keys(), ...files.models.keys()])].sort();
  return [
    h("h1", {}, "Models"),
    files.refusal ? h("p", { class: "summary" }, `Some versions and labels are not shown: ${files.refusal}`) : "",
    names.length ? "" : h("p", { class: "empty" }, "No models. Scripts make versions by tfi.train.export; then: ", h("code", {}, "tensorflow-ignite model deploy NAME")),
    names.slice(0, MODELS).map((name) => model(name, deployments.get(name), files.models.get(name), nodes, latencies)),
    names.length > MODELS ? h("p", {}, `The first ${MODELS} of ${count(names.length)}; all: tensorflow-ignite model ls`) : "",
  ];
}

function model(name, deployment, versions = { numbers: [], labels: new Map() }, nodes, latencies) {
  const processes = nodes.flatMap((node) => (node.models ?? []).filter((each) => each.key.name === name).map((each) => ({ ...each, node: node.node_id })));
  const numbers = [...new Set([...versions.numbers, ...processes.map((each) => number(each.key.number))])].sort((one, other) => other - one);
  const rows = numbers.slice(0, VERSIONS).map((version) => {
    const own = processes.filter((each) => number(each.key.number) === version);
    const labels = [...versions.labels].filter(([, labelled]) => labelled === version).map(([label]) => label);
    const metadata = known.get(`${name}/${version}`);
    const latency = latencies.get(`${name}/${version}`);
    return [
      h("strong", {}, String(version)),
      labels.length ? labels.map((label) => [h("span", { class: "label-chip" }, label), " "]) : "–",
      own.length ? processStates(own) : "–",
      latency ? count(latency.requests) : "–",
      latency ? quantile(latency, 0.5) : "–",
      latency ? quantile(latency, 0.99) : "–",
      metadata?.bytes ? bytes(metadata.bytes) : "–",
      metadata?.created_at ? `${since(metadata.created_at)} ago` : "–",
      metadata?.job ? h("a", { href: `#/jobs/${encodeURIComponent(metadata.job)}` }, short(metadata.job)) : "–",
    ];
  });
  const errors = processes.filter((each) => each.state === "MODEL_STATE_FAILED" && each.error).slice(0, 3);
  const answer = answers(name, deployment, versions, processes);
  return h(
    "section",
    {},
    h("h2", {}, name),
    h("p", { class: `why ${answer.tone}` }, h("span", {}, answer.text)),
    errors.length ? h("ul", { class: "faults" }, errors.map((each) => h("li", {}, `Version ${each.key.number} on node ${short(each.node)}: ${each.error}`))) : "",
    rows.length ? table(`Versions of ${name}`, [["Version", "figure"], ["Labels"], ["Processes"], ["Requests", "figure"], ["Half within", "figure"], ["99 % within", "figure"], ["Size", "figure"], ["Age", "figure"], ["Job"]], rows) : "",
    numbers.length > VERSIONS ? h("p", {}, `The newest ${VERSIONS} of ${count(numbers.length)} versions; all: tensorflow-ignite model ls ${name}`) : "",
    latencies.size ? h("p", { class: "note" }, "Requests and times are those of the node that serves this page.") : "",
  );
}

function processStates(own) {
  const states = [...new Set(own.map((each) => each.state))].sort();
  return states.map((state) => {
    const text = word(state, "MODEL_STATE");
    return [pill(`${text} on ${counted(own.filter((each) => each.state === state).length, "node")}`, STATE_TONES[text] ?? "wait"), " "];
  });
}

/** Which version answers a request for the name alone. */
function answers(name, deployment, versions, processes) {
  const current = number(deployment?.current);
  const serving = processes.filter((each) => number(each.key.number) === current && each.state === "MODEL_STATE_SERVING").length;
  const target = number(deployment?.target);
  const further = [
    target && ` Version ${target} is loaded, and answers when it serves on its nodes.`,
    number(deployment?.failed) && ` Version ${deployment.failed} could not be served: ${deployment.error}`,
    (deployment?.kept ?? []).length && ` By their numbers also: ${deployment.kept.join(", ")}.`,
  ]
    .filter(Boolean)
    .join("");
  if (current && serving) return { tone: "good", text: `Version ${current} answers, on ${counted(serving, "node")}.${further}` };
  if (current) return { tone: "bad", text: `Version ${current} should answer, and no process serves it now.${further}` };
  if (deployment) return { tone: "wait", text: `No version answers yet.${further}` };
  const meant = versions.labels.get("stable") ?? Math.max(0, ...versions.numbers);
  return { tone: "off", text: `No version answers: it is not deployed.${meant ? ` In bulk, ${name} means version ${meant}.` : ""}` };
}

/** Numbers and labels of the models that the caller may read, by name, and why some are missing. */
async function stored(deployed, signal) {
  const models = new Map();
  let refusal = "";
  const permitted = (work) =>
    work.catch((error) => {
      if (!(error instanceof CallError && error.status === 403)) throw error;
      refusal ||= error.message;
    });
  // A caller may read some models, and not the list of all.
  const names = (await permitted(listed(signal))) ?? deployed;
  for (const name of names.slice(0, MODELS)) {
    const found = await permitted(versionsOf(name, signal));
    if (found?.numbers.length) models.set(name, found);
  }
  return { models, refusal };
}

const listed = async (signal) => (await entries("/models", signal)).filter(({ path, kind }) => kind === "FILE_KIND_DIRECTORY" && !path.startsWith(".")).map(({ path }) => path);

async function versionsOf(name, signal) {
  const numbers = (await entries(`/models/${name}`, signal)).filter((each) => /^[1-9]\d*$/.test(each.path)).map((each) => number(each.path));
  const labels = new Map();
  for (const { path: label } of (await entries(`/models/${name}/.labels`, signal)).slice(0, MOST_LABELS)) labels.set(label, number(await text(`/models/${name}/.labels/${label}`, signal)));
  for (const version of numbers.sort((one, other) => other - one).slice(0, VERSIONS)) await learn(name, version, signal);
  return { numbers, labels };
}

async function learn(name, version, signal) {
  const key = `${name}/${version}`;
  if (known.has(key)) return;
  const found = await text(`/models/${key}/model.json`, signal);
  if (known.size >= MOST_KNOWN) known.clear();
  if (found) known.set(key, metadataOf(found));
}

/** A script may have written anything into this file. */
function metadataOf(json) {
  let found = null;
  try {
    found = JSON.parse(json);
  } catch {
    // The version is shown without its metadata.
  }
  const { bytes: size, created_at, job } = found ?? {};
  return { bytes: Number(size) || 0, created_at: Date.parse(created_at) ? created_at : null, job: typeof job === "string" ? job : "" };
}

/** The entries of a directory; none if it does not exist. */
const entries = (path, signal) => unlessMissing(all("ListDirectory", { path }, signal), []).then((answers) => answers.flatMap((answer) => answer.files ?? []));

const text = (path, signal) => unlessMissing(content(path, signal).then((data) => new TextDecoder().decode(data)), "");

async function unlessMissing(work, otherwise) {
  try {
    return await work;
  } catch (error) {
    if (error instanceof CallError && error.status === 404) return otherwise;
    throw error;
  }
}

/** The latencies of this node by model and version; none without the permission for metrics. */
async function measured(signal) {
  const found = new Map();
  let metrics;
  try {
    metrics = atob((await call("GetMetrics", {}, signal)).open_metrics ?? "");
  } catch (error) {
    if (error instanceof CallError && error.status === 403) return found;
    throw error;
  }
  for (const [, kind, labels, value] of metrics.matchAll(/^tensorflow_ignite_predict_seconds_(bucket|count)\{(.*)\} (\S+)/gm)) {
    const { model: name, version, le } = Object.fromEntries([...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, text]) => [label, text]));
    if (!name) continue;
    const each = found.get(`${name}/${version}`) ?? { requests: 0, buckets: [] };
    if (kind === "count") each.requests = Number(value);
    else each.buckets.push([le === "+Inf" ? Infinity : Number(le), Number(value)]);
    found.set(`${name}/${version}`, each);
  }
  return found;
}

/** The bound below which a share of requests was answered. */
function quantile({ requests, buckets }, share) {
  if (!requests) return "–";
  const [bound] = buckets.find(([, within]) => within >= share * requests) ?? [Infinity];
  return bound === Infinity ? "> 10 s" : bound < 1 ? `${Math.round(bound * 1000)} ms` : `${bound} s`;
}
