// Values as texts. Numbers of 64 bits arrive as texts, and fields with their default value do not arrive.

import { h } from "./elements.js";

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export const number = (value) => Number(value ?? 0);

/** 12,345 */
export const count = (value) => whole.format(number(value));

/** "1 task", "2 tasks" */
export const counted = (value, noun) => `${count(value)} ${noun}${number(value) === 1 ? "" : "s"}`;

/** Four digits: 0.01234, 12.34, 1,234 */
export function figure(value) {
  const given = Number(value);
  if (!Number.isFinite(given)) return String(value);
  if (given === 0) return "0";
  const size = Math.abs(given);
  if (size >= 1e7 || size < 1e-4) return given.toExponential(3);
  return size >= 1000 ? whole.format(given) : given.toPrecision(4);
}

/** A rate, of which 0 was not measured. */
export function rate(value) {
  const given = number(value);
  if (!given) return "–";
  return given >= 100 ? whole.format(given) : given.toPrecision(3);
}

export function bytes(value) {
  const given = number(value);
  if (!given) return "–";
  if (given >= 2 ** 30) return `${(given / 2 ** 30).toFixed(1)} GiB`;
  return given >= 2 ** 20 ? `${Math.round(given / 2 ** 20)} MiB` : `${Math.max(1, Math.round(given / 2 ** 10))} KiB`;
}

/** The two largest units: "3 d 4 h", "12 s" */
export function duration(seconds) {
  const all = Math.max(0, Math.round(seconds));
  const units = [
    ["d", Math.floor(all / 86400)],
    ["h", Math.floor(all / 3600) % 24],
    ["min", Math.floor(all / 60) % 60],
    ["s", all % 60],
  ];
  const first = units.findIndex(([, amount]) => amount > 0);
  if (first < 0) return "0 s";
  return units
    .slice(first, first + 2)
    .filter(([, amount]) => amount > 0)
    .map(([unit, amount]) => `${amount} ${unit}`)
    .join(" ");
}

/** Milliseconds since 1970; null: not set. */
export const time = (text) => (text ? Date.parse(text) : null);

// The clock of the node, which has all times of a job: that of this machine may be wrong.
let ahead = 0;
const TOLERATED_MS = 5000;

/** Sets the clock by an answer that has just arrived; without its time, the clock stays. */
export function setClock(date) {
  const difference = Date.parse(date) - Date.now();
  if (!Number.isNaN(difference)) ahead = Math.abs(difference) > TOLERATED_MS ? difference : 0;
}

/** Milliseconds since 1970. */
export const present = () => Date.now() + ahead;

export const since = (text) => (time(text) === null ? "–" : duration((present() - time(text)) / 1000));

export function clock(text) {
  if (time(text) === null) return "–";
  const at = new Date(text);
  const today = new Date(present()).toDateString() === at.toDateString();
  const date = `${at.getFullYear()}-${String(at.getMonth() + 1).padStart(2, "0")}-${String(at.getDate()).padStart(2, "0")}`;
  return `${today ? "" : `${date} `}${at.toTimeString().slice(0, 8)}`;
}

export const short = (id) => (id ?? "").slice(0, 8);

/** The word of a value of an enum: JOB_STATE_RUNNING is "running"; a number is a value of a later version. */
export const word = (value, prefix) => (typeof value === "number" ? `unknown-${value}` : (value ?? "").replace(`${prefix}_`, "").replaceAll("_", "-").toLowerCase());

export const state = (job) => word(job.state, "JOB_STATE") || "pending";

export function stateText(job) {
  if (job.queue_position) return `queued (${job.queue_position})`;
  if (job.state === "JOB_STATE_ENDING" && job.outcome) return `ending (${word(job.outcome, "JOB_STATE")})`;
  return job.stop_requested && !job.finished_at ? "stopping" : state(job);
}

const SIGNS = { good: "●", wait: "◌", warn: "▲", bad: "✕", done: "✓", off: "■" };

/** A state as a word with a sign and a colour. */
export function pill(text, tone) {
  return h("span", { class: `pill ${tone}` }, h("span", { class: "sign", "aria-hidden": "true" }, SIGNS[tone]), text);
}

export function jobTone(job) {
  const tones = { running: "good", succeeded: "done", failed: "bad", unreadable: "bad", stopped: "off", restarting: "warn", ending: "wait" };
  return tones[state(job)] ?? "wait";
}

export const jobPill = (job) => pill(stateText(job), jobTone(job));

export const taskName = (task) => (task.role_name ? `${task.role_name} ${task.role_index ?? 0}` : `${word(task.role, "ROLE")} ${task.index ?? 0}`);

/** The text of an error in the style of a sentence. */
export const sentence = (text) => (/[.!?…]$/.test(text) ? text : `${text}.`);
