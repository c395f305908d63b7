// A curve, with its smallest and largest value and its newest one.

import { h, svg } from "./elements.js";
import { figure } from "./text.js";

const [WIDTH, HEIGHT, MARGIN] = [400, 100, 4];

/** A chart of points [x, value]; `x` gives the text of a position, `note` stands beside the newest value. */
export function chart(name, points, x, note = "") {
  const values = points.map(([, value]) => value);
  const low = Math.min(...values);
  const high = Math.max(...values);
  const [first, last] = [points[0][0], points.at(-1)[0]];
  const place = ([at, value]) => {
    const left = last > first ? ((at - first) / (last - first)) * WIDTH : WIDTH / 2;
    const top = high > low ? MARGIN + (1 - (value - low) / (high - low)) * (HEIGHT - 2 * MARGIN) : HEIGHT / 2;
    return `${left.toFixed(1)},${top.toFixed(1)}`;
  };
  const newest = figure(values.at(-1));
  return h(
    "figure",
    { class: "chart" },
    h("figcaption", {}, h("span", { class: "label" }, name), h("span", { class: "value" }, newest), note && h("span", { class: "note" }, note)),
    h(
      "div",
      { class: "plot" },
      h("span", { class: "high", "aria-hidden": "true" }, figure(high)),
      h("span", { class: "low", "aria-hidden": "true" }, figure(low)),
      svg(
        "svg",
        { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": `${name}: ${figure(values[0])} at ${x(first)}, ${newest} at ${x(last)}, between ${figure(low)} and ${figure(high)}` },
        svg("path", { class: "grid", d: `M0,${MARGIN}H${WIDTH}M0,${HEIGHT - MARGIN}H${WIDTH}` }),
        svg("polyline", { class: "curve", points: points.map(place).join(" ") }),
      ),
    ),
    h("div", { class: "axis", "aria-hidden": "true" }, h("span", {}, x(first)), h("span", {}, x(last))),
  );
}
