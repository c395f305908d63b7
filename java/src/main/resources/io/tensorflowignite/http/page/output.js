// The output of a job's tasks: the newest lines, with search and follow.

import { repeat, stream } from "./calls.js";
import { h, update } from "./elements.js";
import { count, short, taskName } from "./text.js";
import { attempt } from "./why.js";

const MOST_LINES = 5000;
const MOST_CHARACTERS = 2000;
const MOST_REST = 1 << 16;
const COLOURS = /\x1b\[[0-9;]*[A-Za-z]/g;
const NEAR_END = 40;

export function showOutput(root, id, signal) {
  let lines = [];
  let dropped = 0;
  let job = null;
  let requested = null;
  let controller = new AbortController();
  signal.addEventListener("abort", () => controller.abort());
  let frame = 0;
  let fresh = [];

  const search = h("input", { type: "search", id: "search", placeholder: "Search", "aria-label": "Search the output", oninput: () => rebuild() });
  const task = h("select", { "aria-label": "Task", onchange: () => rebuild() });
  const number = h("select", { "aria-label": "Attempt", onchange: () => restart() });
  const follow = h("input", { type: "checkbox", id: "follow", checked: true, onchange: () => scroll() });
  const status = h("span", { class: "status" });
  const log = h("div", { class: "log", role: "log", tabindex: "0", "aria-label": "Output", "aria-live": "off" });
  log.addEventListener("scroll", () => {
    const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_END;
    if (!isAtEnd) follow.checked = false;
  });
  root.replaceChildren(
    h("div", { class: "head" }, h("h2", { id: "output-title" }, "Output"), h("div", { class: "buttons" }, task, number, search, h("label", { class: "check" }, follow, " Follow"))),
    log,
    h("p", { class: "axis" }, status),
  );
  task.append(h("option", { value: "" }, "all tasks"));

  const isShown = (line) => (!task.value || line.task === task.value) && (!search.value || line.text.toLowerCase().includes(search.value.toLowerCase()));
  const element = (line) => h("div", { class: line.isGap ? "gap" : null }, h("span", { class: "task" }, line.isAttemptShown ? `${line.attempt} ${line.task}` : line.task), line.text);

  const rebuild = () => {
    log.replaceChildren(...lines.filter(isShown).map(element));
    describe();
    scroll();
  };
  const describe = () => {
    const found = search.value ? `${count(log.childElementCount)} of ` : "";
    status.textContent = lines.length ? `${found}${count(lines.length)} lines${dropped ? `, the newest of ${count(lines.length + dropped)}; all: tensorflow-ignite logs ${short(id)}` : ""}` : "No output yet.";
  };
  const scroll = () => {
    if (follow.checked) log.scrollTop = log.scrollHeight;
  };
  const add = (line) => {
    fresh.push(line);
    if (fresh.length > MOST_LINES) {
      fresh.shift();
      dropped += 1;
    }
    frame ||= requestAnimationFrame(flush);
  };
  const flush = () => {
    frame = 0;
    const removed = Math.max(0, lines.length + fresh.length - MOST_LINES);
    const gone = lines.slice(0, removed).filter(isShown).length;
    lines = lines.concat(fresh).slice(-MOST_LINES);
    dropped += removed;
    for (let index = 0; index < gone; index++) log.firstChild?.remove();
    log.append(...fresh.filter(isShown).map(element));
    fresh = [];
    describe();
    scroll();
  };

  const restart = () => {
    controller.abort();
    controller = new AbortController();
    const own = controller.signal;
    repeat(own, 2, () => read(own), (error) => error && (status.textContent = error.message));
  };

  const read = async (own) => {
    const chosen = number.value === "newest" ? (attempt(job)?.number ?? 0) : Number(number.value);
    requested = chosen;
    lines = [];
    fresh = [];
    dropped = 0;
    rebuild();
    const readers = new Map();
    for await (const piece of stream("StreamLogs", { job_id: id, follow: true, attempt: chosen }, own)) {
      const key = `${piece.attempt} ${piece.role} ${piece.index} ${piece.incarnation}`;
      if (!readers.has(key)) readers.set(key, new Lines(nameOf(piece), piece.attempt ?? 0, chosen === 0, add));
      readers.get(key).take(piece);
    }
    for (const reader of readers.values()) reader.end();
    return true;
  };

  /** The name of a task of an attempt; a custom job has names of its own. */
  const nameOf = (piece) => {
    const tasks = job?.attempts?.find((each) => each.number === piece.attempt)?.tasks ?? [];
    const known = tasks.find((each) => each.role === piece.role && (each.index ?? 0) === (piece.index ?? 0));
    return taskName(known ?? piece);
  };

  return {
    /** The job has changed: it may have another attempt, and other tasks. */
    job(found) {
      job = found;
      const newest = attempt(job)?.number ?? 0;
      const chosen = number.value || "newest";
      const numbers = (job.attempts ?? []).map((each) => String(each.number)).reverse();
      update(number, ["newest", "0", ...numbers].map((value) => h("option", { value }, value === "newest" ? "newest attempt" : value === "0" ? "all attempts" : `attempt ${value}`)));
      number.value = ["newest", "0", ...numbers].includes(chosen) ? chosen : "newest";
      const names = [...new Set((job.attempts ?? []).flatMap((each) => each.tasks ?? []).map(taskName))].slice(0, 200);
      const before = task.value;
      update(task, ["", ...names].map((value) => h("option", { value }, value || "all tasks")));
      task.value = names.includes(before) ? before : "";
      if (requested === null || (number.value === "newest" && requested !== newest)) {
        requested = newest;
        restart();
      }
    },
  };
}

/** Cuts the output of one process into lines. */
class Lines {
  #decoder = new TextDecoder();
  #rest = "";

  constructor(task, attempt, isAttemptShown, add) {
    this.task = task;
    this.attempt = attempt;
    this.isAttemptShown = isAttemptShown;
    this.add = add;
  }

  take(piece) {
    if (Number(piece.dropped_bytes ?? 0)) this.#line(`(here ${count(piece.dropped_bytes)} bytes of output were dropped or lost)`, true);
    const bytes = Uint8Array.from(atob(piece.data ?? ""), (character) => character.charCodeAt(0));
    const parts = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split("\n");
    this.#rest = parts.pop();
    parts.forEach((text) => this.#line(text));
    if (this.#rest.length > MOST_REST) this.end();
  }

  end() {
    if (this.#rest) this.#line(this.#rest);
    this.#rest = "";
  }

  #line(given, isGap = false) {
    // A terminal shows what follows the last carriage return.
    const plain = given.replace(/\r+$/, "").split("\r").at(-1).replace(COLOURS, "");
    const text = plain.length > MOST_CHARACTERS ? `${plain.slice(0, MOST_CHARACTERS)}…` : plain;
    this.add({ text, task: this.task, attempt: this.attempt, isAttemptShown: this.isAttemptShown, isGap });
  }
}
