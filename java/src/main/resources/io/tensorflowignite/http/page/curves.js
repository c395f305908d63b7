// The figures of a job by step: stored ones from its event files, then those of each report.

import { all, call } from "./calls.js";
import { number } from "./text.js";
import { progress, scriptTasks } from "./why.js";

const MOST_POINTS = 1500;
const MOST_NAMES = 50;
const MOST_BYTES = 4 << 20;
const HEADER = 12;
const CHECKSUM = 4;

/** Points of curves. Each has a bounded number: of a longer curve, every second point is left out. */
export class Curves {
  #points = new Map();

  /** Of the curves that have points. */
  names() {
    return [...this.#points.keys()].filter((name) => this.#points.get(name).length);
  }

  points(name) {
    return this.#points.get(name) ?? [];
  }

  /** Adds a point to each curve. An earlier step than before replaces the points from there on: the job has resumed. */
  add(x, values) {
    for (const [name, text] of values) {
      const value = Number(text);
      if (!Number.isFinite(value) || (!this.#points.has(name) && this.#points.size >= MOST_NAMES)) continue;
      const points = this.#points.get(name) ?? [];
      while (points.length && points.at(-1)[0] >= x) points.pop();
      points.push([x, value]);
      this.#points.set(name, points.length > MOST_POINTS ? points.filter((_, index) => index % 2 === 0 || index === points.length - 1) : points);
    }
  }

  /** Forgets the points from a step on. */
  cut(x) {
    for (const points of this.#points.values()) while (points.length && points.at(-1)[0] >= x) points.pop();
  }

  /** Puts the points of other curves before these. */
  before(other) {
    const later = this.#points;
    this.#points = other.#points;
    for (const [name, points] of later) for (const [x, value] of points) this.add(x, [[name, value]]);
  }

  /** The progress of the task whose figures are stored: the first that runs the script. */
  chief(job) {
    return scriptTasks(job)[0]?.status?.progress ?? progress(job);
  }
}

/** The curves that the chief of a job has written. */
export async function stored(id, signal) {
  const folder = `/jobs/${id}/tensorboard/report`;
  const files = (await all("ListDirectory", { path: folder }, signal)).flatMap((answer) => answer.files ?? []);
  const chosen = [];
  let bytes = 0;
  // Names are in the order of attempts; old ones are left out if they are too large together.
  for (const file of files.filter((each) => each.kind === "FILE_KIND_REGULAR").reverse()) {
    bytes += number(file.bytes);
    if (bytes > MOST_BYTES) break;
    chosen.unshift(file.path);
  }
  const curves = new Curves();
  for (const name of chosen) addRecords(await content(`${folder}/${name.split("/").at(-1)}`, signal), curves);
  return curves;
}

/** The bytes of a file of the cluster; none of a large one. */
export async function content(path, signal) {
  const { file } = await call("GetFile", { path }, signal);
  if (number(file.bytes) > MOST_BYTES) return new Uint8Array();
  const parts = [];
  for (const extent of file.extents ?? []) {
    const blocks = Math.ceil(number(extent.bytes) / extent.block_bytes);
    const answers = await all("ReadBlocks", { extent_id: extent.id, numbers: [...Array(blocks).keys()] }, signal);
    let left = number(extent.bytes);
    for (const answer of answers) {
      const block = Uint8Array.from(atob(answer.data ?? ""), (character) => character.charCodeAt(0)).subarray(0, left);
      left -= block.length;
      parts.push(block);
    }
  }
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let position = 0;
  for (const part of parts) {
    whole.set(part, position);
    position += part.length;
  }
  return whole;
}

/** Reads records of TensorFlow's event files: length, checksum, event, checksum. */
export function addRecords(data, curves) {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  let position = 0;
  while (position + HEADER <= data.length) {
    const length = view.getUint32(position, true);
    const end = position + HEADER + length;
    if (end + CHECKSUM > data.length) return;
    addEvent(fields(data.subarray(position + HEADER, end)), curves);
    position = end + CHECKSUM;
  }
}

const [STEP, SUMMARY, SESSION_LOG] = [2, 5, 7];
const decoder = new TextDecoder();

function addEvent(event, curves) {
  const step = event.find(([field]) => field === STEP)?.[1] ?? 0;
  for (const [field, value] of event) {
    if (field === SESSION_LOG) curves.cut(step);
    if (field !== SUMMARY) continue;
    for (const [, point] of fields(value)) {
      const parts = new Map(fields(point));
      if (typeof parts.get(2) === "number") curves.add(step, [[decoder.decode(parts.get(1)), parts.get(2)]]);
    }
  }
}

/** The fields of a message of protobuf: numbers of wire types 0, 1 and 5, bytes of type 2. */
function fields(data) {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const found = [];
  let position = 0;
  const varint = () => {
    let value = 0;
    for (let shift = 1; position < data.length; shift *= 128) {
      const byte = data[position++];
      value += (byte & 127) * shift;
      if (byte < 128) break;
    }
    return value;
  };
  while (position < data.length) {
    const tag = varint();
    const [field, type] = [Math.floor(tag / 8), tag % 8];
    if (type === 0) {
      found.push([field, varint()]);
    } else if (type === 1) {
      found.push([field, view.getFloat64(position, true)]);
      position += 8;
    } else if (type === 5) {
      found.push([field, view.getFloat32(position, true)]);
      position += 4;
    } else if (type === 2) {
      const length = varint();
      found.push([field, data.subarray(position, position + length)]);
      position += length;
    } else {
      return found;
    }
  }
  return found;
}
