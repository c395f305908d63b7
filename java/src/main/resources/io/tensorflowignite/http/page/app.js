// The page: its views, the login, and what the node refuses.

import { CallError, login } from "./calls.js";
import { h, update } from "./elements.js";
import { showJob } from "./job.js";
import { showJobs } from "./jobs.js";
import { showModels } from "./models.js";
import { showNodes } from "./nodes.js";

const VIEWS = [
  ["jobs", "Jobs", showJobs],
  ["nodes", "Nodes", showNodes],
  ["models", "Models", showModels],
];
const main = document.getElementById("main");
const problem = document.getElementById("problem");
let controller = new AbortController();
let shown = "";

function route() {
  const [, view = "", id = ""] = location.hash.split("/");
  return { view: VIEWS.some(([name]) => name === view) ? view : "jobs", id: decoded(id) };
}

/** A part of the address, which people may have typed. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Shows the view of the address; ends the calls of the one before. */
function show() {
  const { view, id } = route();
  const path = `${view}/${id}`;
  const isNew = path !== shown;
  controller.abort();
  controller = new AbortController();
  if (isNew) {
    main.replaceChildren(h("p", { class: "loading" }, "Loading…"));
    report(null);
    if (shown) main.focus();
    scrollTo(0, 0);
  }
  shown = path;
  update(
    document.getElementById("nav"),
    VIEWS.map(([name, title]) => h("a", { href: `#/${name}`, "aria-current": name === view ? (id ? "true" : "page") : null }, title)),
  );
  update(document.getElementById("session"), login.get() && h("button", { type: "button", onclick: logOut }, "Log out"));
  document.title = `${id || view} – tensorflow-ignite`;
  const own = controller;
  const reportOwn = (error) => own === controller && report(error);
  if (view === "jobs" && id) showJob(main, id, own.signal, reportOwn);
  else VIEWS.find(([name]) => name === view)[2](main, own.signal, reportOwn);
}

/** Shows why there is nothing new; null: all is well. */
function report(error) {
  if (error instanceof CallError && error.status === 401) {
    askLogin(login.get() ? error.message : "");
    return;
  }
  problem.hidden = error === null;
  problem.textContent = error === null ? "" : error.message;
  if (error !== null && main.querySelector(".loading")) main.replaceChildren(h("p", { class: "empty" }, "Nothing to show."));
  if (error !== null && !(error instanceof CallError)) console.error(error);
}

function logOut() {
  login.clear();
  shown = "";
  show();
}

function askLogin(refusal) {
  controller.abort();
  problem.hidden = true;
  shown = "login";
  const token = h("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false" });
  const user = h("input", { id: "user", type: "text", autocomplete: "username", spellcheck: "false" });
  const password = h("input", { id: "password", type: "password", autocomplete: "current-password" });
  const submit = (event) => {
    event.preventDefault();
    if (token.value) login.token(token.value.trim());
    else login.password(user.value, password.value);
    show();
  };
  main.replaceChildren(
    h(
      "form",
      { class: "login", onsubmit: submit },
      h("h1", {}, "Log in"),
      h("p", {}, "This cluster requires credentials: a token, or a user of Ignite with a password. They stay in this tab until it is closed."),
      refusal && h("p", { class: "refusal", role: "alert" }, refusal),
      h("label", { for: "token" }, "Token"),
      token,
      h("p", { class: "or" }, "or"),
      h("label", { for: "user" }, "User"),
      user,
      h("label", { for: "password" }, "Password"),
      password,
      h("button", { type: "submit", class: "primary" }, "Log in"),
    ),
  );
  document.title = "Log in – tensorflow-ignite";
  token.focus();
}

document.getElementById("skip").onclick = (event) => {
  event.preventDefault();
  main.focus();
};
addEventListener("hashchange", show);
// A browser has six connections to a node for all its tabs: a hidden tab keeps none.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) controller.abort();
  else if (shown !== "login") show();
});
show();
