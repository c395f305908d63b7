// The nodes of the cluster: their agents and tasks, and what is wrong with them.

import { call, repeat } from "./calls.js";
import { h, table, update } from "./elements.js";
import { bytes, clock, count, counted, number, pill, short } from "./text.js";

const SECONDS = 3;

export function showNodes(main, signal, report) {
  const load = async () => {
    const { nodes = [] } = await call("ListNodes", {}, signal);
    if (!signal.aborted) update(main, view(nodes));
  };
  repeat(signal, SECONDS, load, report);
}

function view(nodes) {
  // The same for all nodes of an answer.
  const { lost_nodes: lost = [], missing_nodes: missing = [], losses = [] } = nodes[0] ?? {};
  const faults = [
    ...lost.map((node) => `Node ${short(node.id)} (${node.address}) has left without being stopped, at ${clock(node.lost_at)}.`),
    ...missing.map((node) => `Node ${node.consistent_id}${node.host ? ` (${node.host})` : ""} of the baseline is not in the cluster.`),
    ...nodes.filter((node) => node.is_outside_baseline).map((node) => `Node ${short(node.id)} (${node.consistent_id}) is outside of the baseline, and gets no partitions.`),
    ...losses.map((loss) => `${loss.is_of_service ? "The service's cache" : "Cache"} ${loss.cache} has lost all copies of ${counted(loss.partitions?.length, "partition")}.`),
    ...nodes.flatMap((node) => (node.quarantine ?? []).map((each) => `Node ${short(node.id)} is in quarantine: processes of attempt ${each.attempt} of job ${short(each.job_id)} may still run there.`)),
    ...nodes.flatMap((node) => (node.loops ?? []).map((loop) => `Node ${short(node.id)}: the loop "${loop.name}" ${loop.error ? `has failed: ${loop.error}` : "is silent"}.`)),
  ];
  const tasks = nodes.reduce((sum, node) => sum + number(node.tasks), 0);
  return [
    h("h1", {}, "Nodes"),
    h("p", { class: "summary" }, `${counted(nodes.length, "node")} ${nodes.length === 1 ? "runs" : "run"} the service, with ${counted(tasks, "task")} of jobs`),
    faults.length ? h("ul", { class: "faults" }, faults.map((text) => h("li", {}, text))) : "",
    table(
      "Nodes",
      [["Node"], ["State"], ["Tasks", "figure"], ["GPUs", "figure"], ["Spares", "figure"], ["Agent", "text"], ["Page"]],
      nodes.map((node) => [
        h("span", { title: `${node.id} ${node.consistent_id ?? ""}` }, short(node.id), " ", h("small", {}, node.address)),
        available(node),
        `${count(node.tasks)}${node.max_tasks ? ` / ${count(node.max_tasks)}` : ""}`,
        count(node.gpus?.length),
        node.agent?.warm_processes ? `${count(node.agent.warm_processes)}, ${bytes(node.agent.warm_bytes)}` : "0",
        agent(node.agent),
        node.http_address ? h("a", { href: `${location.protocol}//${node.http_address}/`, rel: "noreferrer" }, node.http_address) : "–",
      ]),
    ),
  ];
}

function available(node) {
  if (node.quarantine?.length) return pill("quarantine", "warn");
  if (node.availability === "NODE_AVAILABILITY_DRAINED") return pill("drained", "off");
  if (node.availability === "NODE_AVAILABILITY_STOPPING") return pill("stopping", "off");
  return number(node.agent?.pid) ? pill("ready", "good") : pill("no agent", "bad");
}

function agent(found) {
  if (!number(found?.pid)) return found?.error || "no agent runs";
  return `Python ${found.python_version}, ${found.tensorflow_version ? `TensorFlow ${found.tensorflow_version}` : "no TensorFlow"}`;
}
