/**
 * The histogram of distances, whose marker is the slider of sigma_max: mouse, touch, keyboard.
 *
 * One scale for both, logarithmic; counts are logarithmic, too, because the pairs inside
 * clusters are few beside those of the background. The slider moves between stops, at which
 * the answer is known exactly.
 */

import { h, number, svg } from "./dom.js";

/**
 * @typedef {Object} Reading  what is drawn
 * @property {number[]} edges  of the bins, distance / sqrt(2 d)
 * @property {number[]} counts  pairs in each
 * @property {number[]} stops  bandwidths, ascending
 * @property {number} G
 * @property {number|null} [suggested]
 * @property {[number, number]|null} [plateau]  bandwidths that serve as well
 * @property {number[]} [peaks]  sigmas of clusters
 * @property {number|null} [limit]  bandwidth up to which pairs are stored
 *
 * @typedef {Object} Plot
 * @property {(index: number, text: string, sigma?: number) => void} set  move the marker, say
 *   what it means; `sigma` is for a bandwidth between two stops
 * @property {(k: (number|null)[]) => void} curve  clusters at each stop, null where unknown
 * @property {() => number} index
 * @property {() => void} focus
 */

const PLOT = 132; // height of the bars
const STRIP = 34; // of the curve of k below them
const AXIS = 18;
const SIDE = 14;
const PAGE = 10; // stops for Page Up and Page Down

/**
 * @param {HTMLElement} root  emptied and filled
 * @param {Reading} reading
 * @param {{onInput: (index: number) => void, onDone?: (index: number) => void}} listeners
 * @returns {Plot}
 */
export function makeHistogram(root, reading, { onInput, onDone = () => {} }) {
  const { stops } = reading;
  const [low, high] = range(reading);
  let [index, sigma, width, text] = [0, stops[0], 600, ""];
  /** @type {(number|null)[]} */
  let k = [];
  const picture = svg("svg", { class: "hist-picture", "aria-hidden": "true" });
  const bubble = h("span", { class: "hist-bubble" });
  const handle = h(
    "div",
    {
      class: "hist-handle",
      role: "slider",
      tabindex: 0,
      "aria-label": "sigma_max",
      "aria-valuemin": stops[0],
      "aria-valuemax": stops[stops.length - 1],
    },
    h("span", { class: "hist-line" }),
    bubble,
    h("span", { class: "hist-grip" }),
  );
  root.classList.add("hist");
  root.replaceChildren(picture, handle);
  root.style.height = `${PLOT + STRIP + AXIS}px`;

  const x = (/** @type {number} */ sigma) =>
    SIDE + ((width - 2 * SIDE) * Math.log(sigma / low)) / Math.log(high / low);
  const at = (/** @type {number} */ px) =>
    low * (high / low) ** ((px - SIDE) / (width - 2 * SIDE));

  function draw() {
    width = root.clientWidth || 600;
    picture.setAttribute("viewBox", `0 0 ${width} ${PLOT + STRIP + AXIS}`);
    picture.replaceChildren(
      ...bars(reading, x, sigma, width),
      ...notes(reading, x, width),
      ...strip(k, stops, x),
    );
    place();
  }

  function place() {
    const px = Math.min(width - 2, Math.max(2, x(sigma)));
    handle.style.transform = `translateX(${px}px)`;
    bubble.textContent = `σ ${number(sigma)}`;
    bubble.classList.toggle("is-left", px > width - 90);
    handle.setAttribute("aria-valuenow", String(sigma));
    handle.setAttribute("aria-valuetext", text || number(sigma));
    const reach = sigma * Math.sqrt(reading.G / 2);
    for (const bar of picture.querySelectorAll(".bar")) {
      bar.classList.toggle("is-near", Number(bar.getAttribute("data-at")) < reach);
    }
  }

  function move(/** @type {number} */ to, done = false) {
    const next = Math.max(0, Math.min(stops.length - 1, to));
    if (stops[next] !== sigma) {
      index = next;
      sigma = stops[index];
      text = "";
      place();
      onInput(index);
    }
    if (done) onDone(index);
  }

  listen(root, handle, {
    drag: (px, done) => move(nearest(stops, at(px)), done),
    step: (by) => move(index + by, true),
    end: (last) => move(last ? stops.length - 1 : 0, true),
  });
  new ResizeObserver(() => draw()).observe(root);
  draw();
  return {
    set(to, words, exactly = stops[to]) {
      [index, text, sigma] = [to, words, exactly];
      place();
    },
    curve(counts) {
      k = counts;
      draw();
    },
    index: () => index,
    focus: () => handle.focus(),
  };
}

/** Number of the stop nearest in ratio. */
export function nearest(/** @type {ArrayLike<number>} */ stops, /** @type {number} */ sigma) {
  let best = 0;
  for (let i = 1; i < stops.length; i++) {
    if (Math.abs(Math.log(stops[i] / sigma)) < Math.abs(Math.log(stops[best] / sigma))) best = i;
  }
  return best;
}

/**
 * What to draw: all stops, the pairs near them, and the onset of the background, which is where
 * a hundredth of all pairs lie below.
 *
 * @param {Reading} reading
 */
function range({ stops, edges, counts }) {
  const first = Math.max(0, counts.findIndex((pairs) => pairs > 0));
  const low = Math.min(stops[0], edges[first] ?? stops[0]);
  const last = stops[stops.length - 1];
  const all = counts.reduce((sum, pairs) => sum + pairs, 0);
  let below = 0;
  const onset = counts.findIndex((pairs) => (below += pairs) > all / 100);
  const high = Math.max(last * 1.02, Math.min(edges[onset + 1] ?? last, last * 1.5));
  return [Math.max(low, stops[0] / 4), high];
}

/**
 * @param {Reading} reading
 * @param {(sigma: number) => number} x
 * @param {number} sigma
 * @param {number} width
 */
function bars({ edges, counts, G }, x, sigma, width) {
  const shown = counts.filter((_, b) => x(edges[b + 1]) > 0 && x(edges[b]) < width);
  const top = Math.log1p(Math.max(1, ...shown));
  return counts.flatMap((pairs, b) => {
    const [left, right] = [Math.max(x(edges[b]), 0), x(edges[b + 1])];
    if (pairs <= 0 || right <= left) return [];
    const height = Math.max(2, ((PLOT - 26) * Math.log1p(pairs)) / top);
    const near = edges[b] < sigma * Math.sqrt(G / 2);
    return svg("rect", {
      class: near ? "bar is-near" : "bar",
      "data-at": edges[b],
      x: left + 0.5,
      y: PLOT - height,
      width: Math.max(1, right - left - 1),
      height,
      rx: 1,
    });
  });
}

/** Axis, plateau, suggestion, and the end of what is stored. */
function notes(
  /** @type {Reading} */ { suggested, plateau, peaks = [], limit, stops },
  /** @type {(sigma: number) => number} */ x,
  /** @type {number} */ width,
) {
  const out = [svg("line", { class: "axis", x1: 0, x2: width, y1: PLOT, y2: PLOT })];
  if (plateau) {
    const [left, right] = plateau.map(x);
    out.push(svg("rect", { class: "plateau", x: left, y: 0, width: Math.max(3, right - left), height: PLOT }));
  }
  for (const peak of peaks) out.push(svg("circle", { class: "peak", cx: x(peak), cy: PLOT, r: 3 }));
  if (suggested) {
    const px = x(suggested);
    out.push(svg("path", { class: "suggested", d: `M${px - 5} ${PLOT + 8}l5-7 5 7z` }));
  }
  if (limit && limit < stops[stops.length - 1]) {
    out.push(svg("rect", { class: "beyond", x: x(limit), y: 0, width: width - x(limit), height: PLOT }));
  }
  for (const tick of ticks(stops[0], stops[stops.length - 1], width)) {
    out.push(svg("text", { class: "tick", x: x(tick), y: PLOT + STRIP + AXIS - 4, text: String(tick) }));
  }
  return out;
}

/** Round numbers, some 70 pixels apart. */
export function ticks(
  /** @type {number} */ low,
  /** @type {number} */ high,
  /** @type {number} */ width,
) {
  const all = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    for (const lead of [1, 2, 3, 5, 7]) all.push(Number((lead * 10 ** power).toPrecision(1)));
  }
  const inside = all.filter((tick) => tick >= low && tick <= high);
  const room = (70 * Math.log(high / low)) / width;
  return inside.filter(
    ((last) => (tick) => {
      if (Math.log(tick / last) < room) return false;
      last = tick;
      return true;
    })(low / Math.exp(room)),
  );
}

/** The number of clusters at each stop, as steps. */
function strip(
  /** @type {(number|null)[]} */ k,
  /** @type {number[]} */ stops,
  /** @type {(sigma: number) => number} */ x,
) {
  const known = k.filter((value) => value !== null);
  if (!known.length) return [];
  const top = Math.log1p(Math.max(1, .../** @type {number[]} */ (known)));
  const y = (/** @type {number} */ value) => PLOT + STRIP - 2 - ((STRIP - 14) * Math.log1p(value)) / top;
  let path = "";
  let open = false;
  stops.forEach((sigma, i) => {
    const value = k[i];
    if (value === null || value === undefined) open = false;
    else {
      path += open ? `H${x(sigma)}V${y(value)}` : `M${x(sigma)} ${y(value)}`;
      open = true;
    }
  });
  const words = svg("text", { class: "tick is-left", x: 0, y: PLOT + 13, text: "clusters" });
  return [svg("path", { class: "curve", d: path }), words];
}

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} handle
 * @param {{drag: (px: number, done: boolean) => void, step: (by: number) => void,
 *          end: (last: boolean) => void}} act
 */
function listen(root, handle, act) {
  let dragging = false;
  const px = (/** @type {PointerEvent} */ event) => event.clientX - root.getBoundingClientRect().left;
  root.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    dragging = true;
    root.setPointerCapture(event.pointerId);
    handle.focus({ preventScroll: true });
    event.preventDefault();
    act.drag(px(event), false);
  });
  root.addEventListener("pointermove", (event) => {
    if (dragging) act.drag(px(event), false);
  });
  const drop = (/** @type {PointerEvent} */ event) => {
    if (dragging) act.drag(px(event), true);
    dragging = false;
  };
  root.addEventListener("pointerup", drop);
  root.addEventListener("pointercancel", () => (dragging = false));
  handle.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: PAGE, PageDown: -PAGE };
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key in by) act.step(by[event.key]);
    else if (event.key === "Home" || event.key === "End") act.end(event.key === "End");
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}
