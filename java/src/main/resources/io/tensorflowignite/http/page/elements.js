// Elements of the page. Text of users becomes text nodes and attributes of a fixed list, and never markup.

const HANDLERS = ["onclick", "oninput", "onchange", "onsubmit", "onkeydown"];
const PROPERTIES = new Set([...HANDLERS, "value", "checked", "disabled"]);
const SVG = "http://www.w3.org/2000/svg";

/** An element. Its children are elements, texts, numbers or arrays of these; null, false and "" are left out. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "place") {
      // Numbers in percent, which the policy of the page does not allow as text of an attribute.
      for (const [side, percent] of Object.entries(value)) element.style.setProperty(side, `${percent}%`);
    } else if (PROPERTIES.has(name)) {
      element[name] = value;
    } else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== false && child !== undefined && child !== ""));
  return element;
}

/** Makes the children of an element equal to new ones. Equal ones stay, with their focus, selection and scroll position. */
export function update(element, ...children) {
  const wanted = document.createElement("div");
  wanted.append(...children.flat(Infinity).filter((child) => child !== null && child !== false && child !== undefined && child !== ""));
  equalChildren(element, wanted);
}

function equalChildren(old, wanted) {
  const news = [...wanted.childNodes];
  const keyed = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
  news.forEach((child, index) => {
    const known = child.id ? keyed.get(child.id) : undefined;
    if (known && old.childNodes[index] !== known) old.insertBefore(known, old.childNodes[index] ?? null);
    const present = old.childNodes[index];
    if (!present) old.append(child);
    else if (present.nodeName !== child.nodeName || (present.id ?? "") !== (child.id ?? "")) present.replaceWith(child);
    else equal(present, child);
  });
  while (old.childNodes.length > news.length) old.lastChild.remove();
}

function equal(old, wanted) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== wanted.data) old.data = wanted.data;
    return;
  }
  // An element with this mark belongs to its own code.
  if (old.hasAttribute("data-own")) return;
  for (const { name } of [...old.attributes]) if (!wanted.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  for (const { name, value } of [...wanted.attributes]) {
    if (name === "style") old.style.cssText = value;
    else if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const handler of HANDLERS) old[handler] = wanted[handler];
  if ("disabled" in old) old.disabled = wanted.disabled;
  equalChildren(old, wanted);
}

/** A table; a cell is a text or an element. Columns: [title, class]. Rows: arrays of cells. */
export function table(caption, columns, rows) {
  return h(
    "div",
    { class: "wide", tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, columns.map(([title, kind]) => h("th", { scope: "col", class: kind }, title)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, index) => h("td", { class: columns[index][1], "data-title": columns[index][0] }, cell))))),
    ),
  );
}

/** Names with their values; a pair without a value is left out. */
export function facts(pairs) {
  return h("dl", { class: "facts" }, pairs.filter(([, value]) => value).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

/** A button that copies a text. */
export function copy(text, title) {
  return h("button", { type: "button", title: text, onclick: (event) => copied(event.currentTarget, text) }, title);
}

async function copied(button, text) {
  const title = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
  } catch {
    // Browsers give the clipboard to encrypted and local pages alone.
    ask({ title: "Copy this command", text: "The browser does not let this page write to the clipboard.", code: text, yes: "Close" });
    return;
  }
  announce(`copied: ${text}`);
  setTimeout(() => (button.textContent = title), 1500);
}

/** For people who hear the page. */
export function announce(text) {
  document.getElementById("news").textContent = text;
}

/** Asks a question; gives whether the answer is yes. */
export function ask({ title, text, code = "", yes, no = "" }) {
  const dialog = document.getElementById("dialog");
  return new Promise((resolve) => {
    const form = h(
      "form",
      { method: "dialog", onsubmit: () => dialog.close("yes") },
      h("h2", { id: "dialog-title" }, title),
      h("p", {}, text),
      code && h("pre", { class: "code", tabindex: "0" }, code),
      h("div", { class: "buttons" }, no && h("button", { type: "button", onclick: () => dialog.close("no") }, no), h("button", { type: "button", class: no ? "danger" : "", onclick: () => dialog.close("yes") }, yes)),
    );
    dialog.replaceChildren(form);
    dialog.onclose = () => resolve(dialog.returnValue === "yes");
    dialog.returnValue = "no";
    dialog.showModal();
  });
}
