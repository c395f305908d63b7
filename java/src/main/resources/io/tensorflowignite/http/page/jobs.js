// The list of jobs: those that run or wait with their reasons, and a page of those that are over.

import { call, repeat } from "./calls.js";
import { h, table, update } from "./elements.js";
import { count, counted, duration, jobPill, number, short, since, time, word } from "./text.js";
import { attempt, progress, share, why } from "./why.js";

const SECONDS = 2;
// UNSPECIFIED: those of a later version.
const UNFINISHED = ["PENDING", "RESERVING", "STARTING", "RUNNING", "RESTARTING", "ENDING", "UNSPECIFIED"].map((name) => `JOB_STATE_${name}`);
const FINISHED = ["SUCCEEDED", "FAILED", "STOPPED", "UNREADABLE"].map((name) => `JOB_STATE_${name}`);
const MOST = 200;
const PAGE = 50;

export function showJobs(main, signal, report) {
  // The tokens of the pages up to the present one.
  let pages = [""];
  let states = FINISHED;
  const again = () => load().catch(report);

  const load = async () => {
    const page = pages.at(-1);
    const [present, past] = await Promise.all([
      call("ListJobs", { states: UNFINISHED, page_size: MOST }, signal),
      call("ListJobs", { states, page_size: PAGE, page_token: page }, signal),
    ]);
    if (signal.aborted || page !== pages.at(-1)) return;
    update(main, view(present, past));
  };

  const view = (present, past) => {
    const jobs = present.jobs ?? [];
    const over = past.jobs ?? [];
    const turn = (next) => {
      pages = next;
      again();
    };
    const choose = (event) => {
      states = event.target.value ? [event.target.value] : FINISHED;
      turn([""]);
    };
    return [
      h("h1", {}, "Jobs"),
      jobs.length || over.length ? h("p", { class: "summary" }, summary(jobs)) : "",
      h("section", { "aria-labelledby": "now" }, h("h2", { id: "now" }, "Running and waiting"), jobs.length ? presentTable(jobs) : nothing(over), present.next_page_token && h("p", {}, `Only the newest ${MOST}; more: tensorflow-ignite ps --limit 1000`)),
      h(
        "section",
        { "aria-labelledby": "past" },
        h(
          "div",
          { class: "head" },
          h("h2", { id: "past" }, "Finished"),
          h("label", {}, "State ", h("select", { onchange: choose }, h("option", { value: "" }, "all"), FINISHED.map((state) => h("option", { value: state }, word(state, "JOB_STATE"))))),
        ),
        over.length ? pastTable(over) : h("p", { class: "empty" }, "None."),
        h(
          "div",
          { class: "pager" },
          h("button", { type: "button", disabled: pages.length < 2, onclick: () => turn(pages.slice(0, -1)) }, "Newer"),
          h("button", { type: "button", disabled: !past.next_page_token, onclick: () => turn([...pages, past.next_page_token]) }, "Older"),
        ),
      ),
    ];
  };
  repeat(signal, SECONDS, load, report);
}

function summary(jobs) {
  const queued = jobs.filter((job) => job.queue_position).length;
  const running = jobs.filter((job) => job.state === "JOB_STATE_RUNNING").length;
  const later = jobs.filter((job) => typeof job.state === "number").length;
  const rest = jobs.length - queued - running - later;
  return [`${counted(running, "job")} ${running === 1 ? "runs" : "run"}`, queued && `${count(queued)} in the queue`, rest && `${count(rest)} ${rest === 1 ? "begins, restarts or ends" : "begin, restart or end"}`, later && `${count(later)} of a later version`].filter(Boolean).join(", ");
}

const nothing = (over) => h("p", { class: "empty" }, over.length ? "None." : "No jobs. Submit one: ", !over.length && h("code", {}, "tensorflow-ignite submit --cache NAME train.py"));

const link = (job) => h("a", { class: "name", href: `#/jobs/${encodeURIComponent(job.id)}` }, h("span", {}, job.spec?.name || job.spec?.script || "job"), " ", h("small", {}, short(job.id)));

const presentTable = (jobs) =>
  table(
    "Running and waiting jobs",
    [["State"], ["Job"], ["Progress", "bar-cell"], ["What it does", "text"], ["Attempt", "figure"], ["Age", "figure"]],
    jobs.map((job) => [jobPill(job), link(job), bar(job), why(job).text, count(attempt(job)?.number) === "0" ? "–" : count(attempt(job).number), since(job.created_at)]),
  );

const pastTable = (jobs) =>
  table(
    "Finished jobs",
    [["State"], ["Job"], ["Cause", "text"], ["Steps", "figure"], ["Attempts", "figure"], ["Took", "figure"], ["Ended", "figure"]],
    jobs.map((job) => [jobPill(job), link(job), job.cause || "–", steps(job), count(attempt(job)?.number), took(job), job.finished_at ? `${since(job.finished_at)} ago` : "–"]),
  );

const steps = (job) => count(Math.max(number(attempt(job)?.last_step), number(progress(job)?.step)));

const took = (job) => (job.finished_at ? duration((time(job.finished_at) - time(job.created_at)) / 1000) : "–");

function bar(job) {
  const done = share(job);
  const now = progress(job);
  if (!now) return "–";
  const text = number(now.total_steps) ? `${count(now.step)} / ${count(now.total_steps)}` : `step ${count(now.step)}`;
  return h("span", { class: "bar" }, h("span", { class: "track", "aria-hidden": "true" }, h("span", { class: "fill", place: { width: 100 * (done ?? 0) } })), h("span", { class: "steps" }, text));
}
