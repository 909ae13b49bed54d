/** Mouse, touch and keys on a map. */

const CLICK = 4; // pixels that a hand may tremble
const LASSO = "lasso";

/** @param {import("./map.js").PointMap} map */
export function attach(map) {
  const { canvas } = map;
  /** @type {Map<number, [number, number]>} */
  const fingers = new Map();
  let [from, moved, lasso] = [[0, 0], false, false];

  const place = (/** @type {MouseEvent} */ event) => {
    const box = canvas.getBoundingClientRect();
    return /** @type {[number, number]} */ ([event.clientX - box.left, event.clientY - box.top]);
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, place(event));
    [from, moved] = [place(event), false];
    lasso = fingers.size === 1 && (event.shiftKey || map.tool === LASSO);
    map.outline = lasso ? [place(event)] : [];
  });

  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    const last = fingers.get(event.pointerId);
    if (!last) return hover(map, x, y);
    moved ||= Math.hypot(x - from[0], y - from[1]) > CLICK;
    if (lasso) {
      map.outline.push([x, y]);
      map.draw();
    } else if (fingers.size === 2) pinch(map, fingers, event.pointerId, [x, y]);
    else if (moved) map.pan(x - last[0], y - last[1]);
    if (moved || lasso) fingers.set(event.pointerId, [x, y]);
  });

  const up = (/** @type {PointerEvent} */ event) => {
    if (!fingers.delete(event.pointerId) || event.type === "pointercancel") return;
    const [x, y] = place(event);
    if (!moved) map.listeners.onPick?.(map.rowAt(x, y));
    else if (lasso) map.listeners.onLasso?.(map.rowsInside(map.outline));
    map.outline = [];
    lasso = false;
    map.draw();
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => hover(map, -1e9, -1e9));
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (map.listeners.wheel === false && !event.ctrlKey) return;
      event.preventDefault();
      map.zoom(2 ** (-event.deltaY / 300), ...place(event));
    },
    { passive: false },
  );
  canvas.addEventListener("keydown", (event) => key(map, event));
}

/** @param {import("./map.js").PointMap} map @param {number} x @param {number} y */
function hover(map, x, y) {
  if (map.waiting) return;
  const row = x < -1e8 ? -1 : map.rowAt(x, y);
  if (row === map.hovered) return;
  map.hovered = row;
  map.listeners.onHover?.(row, x, y);
  map.draw();
}

/**
 * @param {import("./map.js").PointMap} map
 * @param {Map<number, [number, number]>} fingers
 * @param {number} id
 * @param {[number, number]} to
 */
function pinch(map, fingers, id, to) {
  const from = /** @type {[number, number]} */ (fingers.get(id));
  const [, still] = /** @type {[number, [number, number]]} */ ([...fingers].find(([f]) => f !== id));
  const before = Math.hypot(from[0] - still[0], from[1] - still[1]);
  const after = Math.hypot(to[0] - still[0], to[1] - still[1]);
  if (before > 0) map.zoom(after / before, still[0], still[1]);
  fingers.set(id, to);
}

/** @param {import("./map.js").PointMap} map @param {KeyboardEvent} event */
function key(map, event) {
  const pans = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key in pans) map.pan(...pans[event.key]);
  else if (event.key === "+" || event.key === "=") map.zoom(1.4);
  else if (event.key === "-") map.zoom(1 / 1.4);
  else if (event.key === "0") {
    map.touched = false;
    map.fit();
  } else return;
  event.preventDefault();
  event.stopPropagation();
}
