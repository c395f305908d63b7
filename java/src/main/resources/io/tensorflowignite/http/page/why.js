// One sentence about a job: how it progresses, or why it does not.

import { count, counted, duration, figure, present, rate, sentence, short, state, taskName, time, word, number } from "./text.js";

// A running job without a step for this time, and for ten of its steps, may not progress.
const SILENT_SECONDS = 60;
const SLOW_INPUT = 0.3;

export const attempt = (job) => job.attempts?.at(-1);

/** The tasks whose steps are steps of the job. */
export function scriptTasks(job) {
  const tasks = attempt(job)?.tasks ?? [];
  const clients = tasks.filter((task) => task.role === "ROLE_CLIENT");
  return clients.length ? clients : tasks.filter((task) => task.role !== "ROLE_EVALUATOR" && task.role !== "ROLE_PS");
}

/** The progress of the slowest task: a job has done the steps that all its tasks have done. */
export function progress(job) {
  const found = scriptTasks(job)
    .map((task) => task.status?.progress)
    .filter(Boolean);
  return found.reduce((least, each) => (least && number(least.step) <= number(each.step) ? least : each), null);
}

/** Seconds until the last step at the present speed; null: not known. */
export function secondsLeft(job) {
  const now = progress(job);
  const speed = now?.throughput?.steps_per_second;
  return now && speed && number(now.total_steps) ? Math.max(0, number(now.total_steps) - number(now.step)) / speed : null;
}

/** The share of steps that are done; null: not known. */
export function share(job) {
  const now = progress(job);
  return now && number(now.total_steps) ? Math.min(1, number(now.step) / number(now.total_steps)) : null;
}

/** Rows a second of all tasks. */
export const examples = (job) => sum((attempt(job)?.tasks ?? []).map((task) => task.status?.progress?.throughput?.examples_per_second));

const sum = (values) => values.reduce((total, each) => total + number(each), 0);

/** The answer, with its tone: good, wait, warn, bad, done, off. */
export function why(job, now = present()) {
  switch (state(job)) {
    case "unreadable":
      return bad(`The row of this job cannot be read: ${job.cause}`);
    case "succeeded":
      return { tone: "done", text: `It has succeeded after ${lasted(job)}${attempts(job)}.` };
    case "failed":
      return bad(`It has failed after ${lasted(job)}${attempts(job)}: ${job.cause || "no cause is known"}`);
    case "stopped":
      return { tone: "off", text: sentence(`It was stopped after ${lasted(job)}${job.cause ? `: ${job.cause}` : ""}`) };
    case "ending":
      return wait(`It ends (${word(job.outcome, "JOB_STATE")}): ${over(job)}. The nodes prove that no process is left`);
    case "restarting":
      return { tone: "warn", text: `It restarts${because(job)}. ${next(job, now)}` };
    case "reserving":
      return wait(`Attempt ${attempt(job)?.number} begins${because(job, -2)}: the nodes reserve ports and count rows`);
    case "starting":
      return wait(`Attempt ${attempt(job)?.number} starts${because(job, -2)}: ${inState(job, "RUNNING")} run${waiting(job)}`);
    case "running":
      return running(job, now);
    default:
      if (state(job).startsWith("unknown")) return wait(`A node of a later version has written its state (${state(job)}). This node leaves it alone; the page of that node shows more`);
      if (job.queue_position) return wait(`It is number ${job.queue_position} in the queue, and waits for ${job.waiting_for || "a place"}`);
      return wait(job.waiting_for ? `It waits for ${job.waiting_for}` : "It waits for its service, which places its tasks");
  }
}

const wait = (text) => ({ tone: "wait", text: sentence(text) });
const bad = (text) => ({ tone: "bad", text: sentence(text) });

function running(job, now) {
  if (job.stop_requested) return wait(`It is being stopped${job.save_requested ? ": its tasks save a checkpoint first" : ""}`);
  if (attempt(job)?.planned_end?.cause) return wait(`Its attempt ends as planned, after a checkpoint: ${attempt(job).planned_end.cause}`);
  if (job.waiting_for) return { tone: "warn", text: sentence(`It runs, and waits for ${job.waiting_for}`) };
  const reported = progress(job);
  if (!reported) {
    const began = time(attempt(job)?.running_at);
    const known = began === null ? "" : ` after ${duration((now - began) / 1000)}`;
    return wait(`All its tasks run; the script has reported no step${known}. It reports steps by tfi.train.report or CheckpointCallback`);
  }
  if (reported.waiting_for) return wait(`It waits for ${reported.waiting_for}, and then trains the next round`);
  const speed = number(reported.throughput?.steps_per_second);
  const silent = (now - (time(reported.reported_at) ?? now)) / 1000;
  if (silent > Math.max(SILENT_SECONDS, speed ? 10 / speed : 0)) return silence(job, reported, silent);
  const left = secondsLeft(job);
  const total = number(reported.total_steps);
  const parts = [`It progresses: step ${count(reported.step)}${total ? ` of ${count(total)} (${Math.floor((100 * number(reported.step)) / total)} %)` : ""}`];
  if (speed) parts.push(`${rate(speed)} steps/s`);
  if (left !== null) parts.push(`${duration(left)} left`);
  const input = slowInput(job);
  return { tone: "good", text: `${parts.join(", ")}.${input}${restarted(job)}` };
}

function silence(job, reported, seconds) {
  const limit = Number.parseFloat(job.spec?.timeouts?.stall ?? "0");
  const rule = limit ? ` After ${duration(limit)} (timeouts.stall) the job restarts.` : "";
  const slowest = scriptTasks(job).find((task) => task.status?.progress === reported);
  return { tone: "warn", text: `No step for ${duration(seconds)}: ${taskName(slowest)} on node ${short(slowest.node_id) || "?"} has reported step ${count(reported.step)} last.${rule}` };
}

function slowInput(job) {
  const shares = (attempt(job)?.tasks ?? []).map((task) => task.status?.progress?.throughput).filter((each) => each?.examples_per_second);
  const mean = shares.length ? sum(shares.map((each) => each.input_wait)) / shares.length : 0;
  return mean > SLOW_INPUT ? ` Its tasks wait for rows ${Math.round(100 * mean)} % of the time.` : "";
}

/** The last restart, while it is the reason why the job is behind. */
function restarted(job) {
  const last = job.attempts?.at(-2);
  const from = number(attempt(job)?.resumed_from_step);
  return last?.cause ? ` Before, it restarted since ${sentence(last.cause)}${from ? ` It went on from step ${count(from)}.` : ""}` : "";
}

function because(job, index = -1) {
  const cause = job.attempts?.at(index)?.cause;
  return cause ? `, since ${cause.replace(/\.$/, "")}` : "";
}

function next(job, now) {
  const pause = (time(job.not_before) ?? 0) - now;
  if (pause > 1000) return `The next attempt begins in ${duration(pause / 1000)} at the earliest${job.crashes ? `, after ${counted(job.crashes, "crash").replace("crashs", "crashes")}` : ""}.`;
  return job.waiting_for ? sentence(`The next attempt waits for ${job.waiting_for}`) : "The next attempt begins when the processes of the last one are proven gone.";
}

const waiting = (job) => (job.waiting_for ? `, and the job waits for ${job.waiting_for}` : "");

function inState(job, wanted) {
  const tasks = attempt(job)?.tasks ?? [];
  return `${tasks.filter((task) => task.status?.state === `TASK_STATE_${wanted}`).length} of ${counted(tasks.length, "task")}`;
}

function over(job) {
  const tasks = attempt(job)?.tasks ?? [];
  const left = tasks.filter((task) => !["SUCCEEDED", "FAILED", "STOPPED", "LOST"].includes(word(task.status?.state, "TASK_STATE").toUpperCase())).length;
  return left ? `${counted(left, "task")} still ${left === 1 ? "runs" : "run"}` : "all tasks have ended";
}

const lasted = (job) => (job.created_at && job.finished_at ? duration((time(job.finished_at) - time(job.created_at)) / 1000) : "some time");

function attempts(job) {
  const number = attempt(job)?.number ?? 0;
  return number > 1 ? `, in ${count(number)} attempts` : "";
}

/** The figures of a job that are known, as pairs of name and text. */
export function figures(job) {
  const now = progress(job);
  const left = secondsLeft(job);
  const tasks = attempt(job)?.tasks ?? [];
  const isRunning = state(job) === "running";
  const waits = tasks.map((task) => task.status?.progress?.throughput).filter((each) => each?.examples_per_second);
  return [
    ["step", now ? `${count(now.step)}${number(now.total_steps) ? ` / ${count(now.total_steps)}` : ""}` : "–"],
    ...Object.entries(now?.metrics ?? {})
      .sort()
      .slice(0, 6)
      .map(([name, value]) => [name, figure(value)]),
    ["steps/s", isRunning ? rate(now?.throughput?.steps_per_second) : "–"],
    ["examples/s", isRunning ? rate(examples(job)) : "–"],
    ["time left", isRunning && left !== null ? duration(left) : "–"],
    ["input wait", isRunning && waits.length ? `${Math.round((100 * sum(waits.map((each) => each.input_wait))) / waits.length)} %` : "–"],
    ["checkpoint", number(now?.checkpoint_step) ? `step ${count(now.checkpoint_step)}` : "none"],
  ].filter(([, value]) => value !== "–");
}
