// One job: why it progresses or does not, its figures and curves, attempts, tasks, partitions, output and events.

import { CallError, call, repeat, stream } from "./calls.js";
import { chart } from "./chart.js";
import { Curves, stored } from "./curves.js";
import { announce, ask, copy, facts, h, svg, table, update } from "./elements.js";
import { showOutput } from "./output.js";
import { bytes, clock, count, counted, duration, jobPill, number, pill, present, rate, short, since, stateText, taskName, time, word } from "./text.js";
import { attempt, figures, scriptTasks, why } from "./why.js";

const ATTEMPTS = 20;
const EVENTS = 20;
const CHARTS = 6;
// The first curves; the names of figures of speed are shorter on the page.
const FIRST = ["loss", "throughput/examples_per_second", "throughput/steps_per_second", "throughput/input_wait"];
const NAMES = new Map([
  ["throughput/examples_per_second", "examples/s"],
  ["throughput/steps_per_second", "steps/s"],
  ["throughput/input_wait", "input wait"],
]);
// The clocks of the page go on while nothing changes.
const CLOCK_MS = 2000;
const TASK_TONES = { running: "good", succeeded: "done", failed: "bad", lost: "bad", stopped: "off" };

export function showJob(main, id, signal, report) {
  const curves = new Curves();
  let job = null;
  let said = "";
  let output = null;

  const render = () => {
    if (signal.aborted || !job) return;
    const answer = why(job);
    update(main, view(job, answer, curves, () => stop(job)));
    const state = `${stateText(job)}, attempt ${attempt(job)?.number ?? 0}`;
    if (said && said !== state) announce(`Job ${short(job.id)}: ${answer.text}`);
    said = state;
    document.title = `${stateText(job)}: ${job.spec?.name || short(job.id)} – tensorflow-ignite`;
    if (!output) output = showOutput(document.getElementById("output"), job.id, signal);
    output.job(job);
  };

  const seen = (found) => {
    job = found;
    const now = curves.chief(job);
    if (now) {
      const speed = Object.entries(now.throughput ?? {}).map(([name, value]) => [`throughput/${name}`, value]);
      curves.add(number(now.step), [...Object.entries(now.metrics ?? {}), ...speed]);
    }
    render();
  };

  const watch = async () => {
    for await (const each of stream("WatchJob", { job_id: id }, signal)) {
      report(null);
      seen(each.job);
    }
    return true;
  };

  const begin = async () => {
    // With all attempts that an answer has room for; then the changes.
    seen((await call("GetJob", { job_id: id }, signal)).job);
    stored(job.id, signal).then(
      (found) => (curves.before(found), render()),
      // Without the permission to read the job's files, or without files: the curves begin now.
      () => {},
    );
    return job.finished_at ? true : watch();
  };

  const timer = setInterval(render, CLOCK_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
  repeat(signal, 1, begin, report);
}

async function stop(job) {
  const sure = await ask({
    title: `Stop job ${short(job.id)}?`,
    text: `The tasks of ${job.spec?.name || "the job"} end, and the job does not go on. With a checkpoint before the end: tensorflow-ignite stop --save ${short(job.id)}`,
    yes: "Stop the job",
    no: "Cancel",
  });
  if (!sure) return;
  try {
    await call("StopJob", { job_id: job.id });
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    // A dialog, which stays; a problem of the page is over with the next report of the job.
    await ask({ title: "The job was not stopped", text: error.message, yes: "Close" });
  }
}

function view(job, answer, curves, onStop) {
  const isOver = Boolean(job.finished_at);
  return [
    h("p", { class: "back" }, h("a", { href: "#/jobs" }, "← Jobs")),
    h(
      "div",
      { class: "head" },
      h("h1", {}, job.spec?.name || job.spec?.script || "job", " ", h("small", {}, job.id)),
      h(
        "div",
        { class: "buttons" },
        copy(`tensorflow-ignite tensorboard ${short(job.id)}`, "Copy command for TensorBoard"),
        !isOver && h("button", { type: "button", id: "stop", class: "danger", disabled: Boolean(job.stop_requested), onclick: onStop }, "Stop"),
      ),
    ),
    h("p", { id: "why", class: `why ${answer.tone}` }, jobPill(job), h("span", {}, answer.text)),
    h("div", { class: "figures" }, figures(job).map(([name, value]) => h("div", {}, h("span", { class: "label" }, name), h("span", { class: "value" }, value)))),
    charts(curves, job),
    attempts(job),
    tasks(job),
    partitions(job),
    h("section", { id: "output", "data-own": "", "aria-labelledby": "output-title" }),
    job.traceback && h("section", {}, h("h2", {}, "Traceback of the first failure"), h("pre", { class: "code", tabindex: "0", "aria-label": "Traceback" }, job.traceback)),
    events(job),
    h("section", {}, h("h2", {}, "Facts"), facts(pairs(job))),
  ];
}

const pairs = (job) => [
  ["owner", job.owner],
  ["kind", word(job.spec?.strategy?.kind, "JOB_KIND")],
  ["cache", job.spec?.cache],
  ["script", [job.spec?.script, ...(job.spec?.args ?? [])].join(" ")],
  ["checkpoints", job.spec?.checkpoint_directory],
  ["created", clock(job.created_at)],
  ["finished", job.finished_at && `${clock(job.finished_at)}, exit code ${job.exit_code ?? 0}`],
  ["crashes", number(job.crashes) && `${job.crashes} of ${job.spec?.restart?.max_crashes ?? 3} (max_crashes) since it was last healthy`],
  ["restarts", number(job.idle_restarts) && `${job.idle_restarts} in a row without a further step`],
  ["node failures", number(job.node_failures) && `${job.node_failures} in a row; after 5 the job fails`],
  ["data lost", job.lost_partitions?.length && `all copies of ${counted(job.lost_partitions.length, "partition")}`],
  ["service on", !job.finished_at && short(job.service_node_id)],
  ["kept until", job.kept_until && clock(job.kept_until)],
  ["TensorBoard", `tensorflow-ignite tensorboard ${short(job.id)} runs it on your machine, on the job's files in the cluster`],
];

function charts(curves, job) {
  const order = (name) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
  const names = curves.names().sort((one, other) => order(one) - order(other) || (one < other ? -1 : 1));
  const drawn = names.slice(0, CHARTS).map((name) => chart(NAMES.get(name) ?? name, curves.points(name), (step) => `step ${count(step)}`, NAMES.has(name) && `of ${taskName(scriptTasks(job)[0] ?? {})}`));
  return drawn.length ? h("section", { "aria-label": "Curves", class: "charts" }, drawn) : "";
}

function attempts(job) {
  const all = job.attempts ?? [];
  if (!all.length) return "";
  const shown = all.slice(-ATTEMPTS);
  const from = time(shown[0].started_at) ?? present();
  const to = Math.max(from + 1000, job.finished_at ? time(job.finished_at) : present());
  const rest = number(job.earlier_attempts) + all.length - shown.length;
  const at = (text, otherwise) => (100 * ((time(text) ?? otherwise) - from)) / (to - from);
  const rows = shown.map((each) => {
    const isNewest = each === all.at(-1);
    const end = at(each.finished_at, isNewest && !job.finished_at ? to : (time(each.ending_at) ?? to));
    const begin = at(each.started_at, from);
    const running = at(each.running_at, from + (end * (to - from)) / 100);
    const tone = each.cause_kind ? { DONE: "done", STOP_REQUEST: "off", PLANNED: "off" }[word(each.cause_kind, "CAUSE_KIND").toUpperCase().replace("-", "_")] ?? "warn" : "good";
    const length = duration((((end - begin) / 100) * (to - from)) / 1000);
    return h(
      "li",
      {},
      h("span", { class: "number" }, `Attempt ${each.number}`),
      h("span", { class: "line", "aria-hidden": "true" }, h("span", { class: "start", place: { left: begin, width: Math.max(0.4, running - begin) } }), h("span", { class: `run ${tone}`, place: { left: running, width: Math.max(0, end - running) } })),
      h("span", { class: "took" }, length),
      h("span", { class: "cause" }, each.cause_kind ? pill(word(each.cause_kind, "CAUSE_KIND"), tone) : pill(isNewest ? stateText(job) : "over", isNewest && !job.finished_at ? "good" : "off"), " ", each.cause || steps(each)),
    );
  });
  return h(
    "section",
    { "aria-labelledby": "attempts" },
    h("h2", { id: "attempts" }, "Attempts", rest ? h("small", {}, ` and ${count(rest)} before`) : ""),
    h("ol", { class: "timeline" }, rows),
    h("p", { class: "axis", "aria-hidden": "true" }, h("span", {}, clock(shown[0].started_at)), h("span", {}, job.finished_at ? clock(job.finished_at) : "now")),
  );
}

function steps(each) {
  const from = number(each.resumed_from_step);
  const last = Math.max(number(each.last_step), ...(each.tasks ?? []).map((task) => number(task.status?.progress?.step)));
  return [from ? `resumed from step ${count(from)}` : "", last ? `to step ${count(last)}` : ""].filter(Boolean).join(", ");
}

function tasks(job) {
  const all = attempt(job)?.tasks ?? [];
  if (!all.length) return "";
  return h(
    "section",
    { "aria-labelledby": "tasks" },
    h("h2", { id: "tasks" }, `Tasks of attempt ${attempt(job).number}`),
    table(
      "Tasks",
      [["Task"], ["Node"], ["State"], ["Step", "figure"], ["Steps/s", "figure"], ["Rows/s", "figure"], ["Memory", "figure"], ["Last report", "figure"], ["Error", "text"]],
      all.map((task) => {
        const status = task.status ?? {};
        const state = word(status.state, "TASK_STATE") || "placed";
        const speed = state === "running" ? status.progress?.throughput : null;
        return [
          taskName(task) + (task.incarnation ? ` (incarnation ${task.incarnation})` : ""),
          h("span", { title: `${task.node_id} ${task.node_address ?? ""}` }, short(task.node_id)),
          pill(status.stalled ? "stalled" : state, TASK_TONES[state] ?? "wait"),
          status.progress ? count(status.progress.step) : "–",
          rate(speed?.steps_per_second),
          rate(speed?.examples_per_second),
          state === "running" ? bytes(status.memory_bytes) : "–",
          state === "running" && status.progress ? `${since(status.progress.reported_at)} ago` : "–",
          status.error || "–",
        ];
      }),
    ),
  );
}

function partitions(job) {
  const readers = (attempt(job)?.tasks ?? []).filter((task) => task.partitions?.length);
  if (!readers.length) return "";
  const size = 1 + readers.reduce((most, task) => task.partitions.reduce((more, each) => Math.max(more, each), most), 0);
  return h(
    "section",
    { "aria-labelledby": "partitions" },
    h("h2", { id: "partitions" }, "Partitions ", h("small", {}, `of ${job.spec?.cache ?? "the cache"}, by the task that reads them`)),
    h(
      "ul",
      { class: "partitions" },
      readers.map((task) =>
        h(
          "li",
          {},
          h("span", { class: "number" }, taskName(task)),
          svg("svg", { viewBox: `0 0 ${size} 1`, preserveAspectRatio: "none", role: "img", "aria-label": `${taskName(task)} reads partitions ${runs(task.partitions).map(([first, last]) => (first === last ? first : `${first} to ${last}`)).join(", ")}` }, runs(task.partitions).map(([first, last]) => svg("rect", { x: first, y: 0, width: last - first + 1, height: 1 }))),
          h("span", { class: "took" }, `${count(task.partitions.length)} of ${count(size)}`),
          h("span", { class: "cause" }, task.status?.rows ? `${count(task.status.rows)} rows, on node ${short(task.node_id)}` : `on node ${short(task.node_id)}`),
        ),
      ),
    ),
  );
}

/** The first and the last number of each gapless run. */
function runs(numbers) {
  const found = [];
  for (const each of [...numbers].sort((one, other) => one - other)) {
    if (found.length && found.at(-1)[1] === each - 1) found.at(-1)[1] = each;
    else found.push([each, each]);
  }
  return found;
}

function events(job) {
  const all = job.events ?? [];
  if (!all.length) return "";
  const shown = all.slice(-EVENTS).reverse();
  return h(
    "section",
    { "aria-labelledby": "events" },
    h("h2", { id: "events" }, "Events ", all.length > shown.length && h("small", {}, `the newest ${EVENTS} of ${count(all.length)}; all: tensorflow-ignite events ${short(job.id)}`)),
    h("ol", { class: "events" }, shown.map((event) => h("li", {}, h("time", {}, clock(event.at)), h("span", { class: "state" }, word(event.state, "JOB_STATE")), h("span", {}, event.text)))),
  );
}
