// Calls to the node: POST api/METHOD with the request of the method as JSON.

import { setClock } from "./text.js";

const KEY = "tensorflow-ignite authorization";
// Of a line of a stream.
const MOST_CHARACTERS = 32 << 20;

/** An error with the status of HTTP; 0: the node has not answered. */
export class CallError extends Error {
  constructor(status, text) {
    super(text.replace(/ ?\[code=\w+\]$/, ""));
    this.status = status;
  }
}

/** The credentials of this tab, until it is closed. They are sent by this file alone, and not by the browser itself. */
export const login = {
  get: () => sessionStorage.getItem(KEY),
  token: (token) => sessionStorage.setItem(KEY, `Bearer ${token}`),
  password: (user, password) => sessionStorage.setItem(KEY, `Basic ${base64(`${user}:${password}`)}`),
  clear: () => sessionStorage.removeItem(KEY),
};

function base64(text) {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}

/** The response of a method with one response. */
export async function call(method, request = {}, signal = undefined) {
  return (await send(method, request, signal)).json();
}

/** The responses of a method with several, one by one. Ends without an error when the signal aborts. */
export async function* stream(method, request, signal) {
  const answer = await send(method, request, signal);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error) => {
        throw new CallError(0, `The connection to the node was lost: ${error.message}`);
      });
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      if (rest.length > MOST_CHARACTERS) throw new CallError(0, `A line of ${method} has more than ${MOST_CHARACTERS} characters`);
      for (const line of lines) {
        if (!line) continue;
        const message = JSON.parse(line);
        if (typeof message.error === "string") throw new CallError(500, message.error);
        yield message;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** All responses of a method with several. */
export async function all(method, request, signal) {
  const found = [];
  for await (const each of stream(method, request, signal)) found.push(each);
  return found;
}

async function send(method, request, signal) {
  const headers = { "Content-Type": "application/json" };
  if (login.get()) headers.Authorization = login.get();
  // A browser does not send such a header, and gives no reason.
  if (/[^\x20-\x7e]/.test(headers.Authorization)) throw new CallError(401, "The token has characters that no token has, such as blanks of a text program. Copy it again.");
  let answer;
  try {
    // With the certificate of the browser, which some clusters require.
    answer = await fetch(`api/${method}`, { method: "POST", body: JSON.stringify(request), headers, signal, credentials: "same-origin", cache: "no-store", redirect: "error" });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new CallError(0, "The node does not answer. It may be over; the page tries again. Other nodes have the same page.");
  }
  setClock(answer.headers.get("Date"));
  if (answer.ok) return answer;
  const body = await answer.json().catch(() => ({}));
  throw new CallError(answer.status, body.error ?? `The node answers ${method} with the status ${answer.status}.`);
}

/** Repeats work until the signal aborts. It waits between the repetitions, and longer after errors, which it reports. */
export async function repeat(signal, seconds, work, report) {
  let failures = 0;
  while (!signal.aborted) {
    let isOver = false;
    try {
      isOver = await work();
      failures = 0;
      report(null);
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      report(error);
      if (error instanceof CallError && [400, 401, 403, 404].includes(error.status)) return;
    }
    if (isOver) return;
    await pause(Math.min(15, seconds * (failures ? 2 ** Math.min(failures - 1, 3) : 1)), signal);
  }
}

function pause(seconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, seconds * 1000);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
