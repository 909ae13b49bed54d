/**
 * Points on a canvas, without a GPU: pixels are written to one ImageData. Pan, zoom, hover,
 * lasso; a million points are drawn in a tenth of a second.
 */

import { colourOf, rgb, styled } from "./colours.js";
import { blend, disc, pack } from "./pixels.js";
import { attach } from "./gestures.js";

const FEW = 20_000; // up to here points are drawn larger

/**
 * @typedef {{left: number, top: number, scale: number}} View  page = (left, top) + scale * data
 *
 * @typedef {Object} Scene
 * @property {Float32Array} x
 * @property {Float32Array} y
 * @property {Int32Array} labels
 * @property {number[]} slots  colour slot of each cluster
 * @property {number[]} centers  row at the middle of each cluster
 * @property {number|null} [selected]  label whose cluster stands out
 * @property {Uint8Array|null} [marked]  rows of the lasso
 * @property {Uint8Array|null} [hidden]  background rows that are not drawn
 */

/** Where a scene is drawn and how. */
export class PointMap {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {{onHover?: (row: number, x: number, y: number) => void, onPick?: (row: number) => void,
   *          onLasso?: (rows: number[]) => void, wheel?: boolean}} [listeners]
   */
  constructor(canvas, listeners = {}) {
    this.canvas = canvas;
    this.listeners = listeners;
    /** @type {Scene|null} */
    this.scene = null;
    /** @type {View} */
    this.view = { left: 0, top: 0, scale: 1 };
    this.tool = "pan";
    this.hovered = -1;
    /** @type {[number, number][]} */
    this.outline = [];
    this.waiting = false;
    this.touched = false; // whether somebody has moved the view
    attach(this);
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  /** @param {Partial<Scene>} scene */
  show(scene) {
    const first = this.scene === null;
    this.scene = /** @type {Scene} */ ({ ...this.scene, ...scene });
    if (first) this.fit();
    this.draw();
  }

  get width() {
    return this.canvas.clientWidth;
  }

  get height() {
    return this.canvas.clientHeight;
  }

  resize() {
    if (this.scene && !this.touched) this.fit();
    this.draw();
  }

  /** Show all points. @param {ArrayLike<number>|null} [rows] or only these */
  fit(rows = null) {
    if (!this.scene || !this.width) return;
    const box = bounds(this.scene, rows);
    const pad = 26;
    const [w, t] = [Math.max(box.right - box.left, 1e-30), Math.max(box.top - box.bottom, 1e-30)];
    const scale = Math.min((this.width - 2 * pad) / w, (this.height - 2 * pad) / t);
    this.view = {
      scale,
      left: this.width / 2 - (scale * (box.left + box.right)) / 2,
      top: this.height / 2 + (scale * (box.top + box.bottom)) / 2,
    };
    this.fitted ??= scale;
    this.touched = rows !== null;
    this.draw();
  }

  /** @param {number} factor @param {number} x @param {number} y fixed point, in page pixels */
  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const { left, top, scale } = this.view;
    this.view = { scale: scale * factor, left: x - (x - left) * factor, top: y - (y - top) * factor };
    this.touched = true;
    this.draw();
  }

  /** @param {number} dx @param {number} dy */
  pan(dx, dy) {
    this.view = { ...this.view, left: this.view.left + dx, top: this.view.top + dy };
    this.touched = true;
    this.draw();
  }

  /** Where a row is, in page pixels. @param {number} row @returns {[number, number]} */
  place(row) {
    const { x, y } = /** @type {Scene} */ (this.scene);
    const { left, top, scale } = this.view;
    return [left + scale * x[row], top - scale * y[row]];
  }

  /** Row nearest to a place within some pixels, or -1. */
  rowAt(/** @type {number} */ px, /** @type {number} */ py, within = 12) {
    if (!this.scene) return -1;
    const { x, y, hidden, labels } = this.scene;
    const { left, top, scale } = this.view;
    let [best, least] = [-1, within * within];
    for (let i = 0; i < x.length; i++) {
      if (hidden && hidden[i] && labels[i] < 0) continue;
      const [dx, dy] = [left + scale * x[i] - px, top - scale * y[i] - py];
      // A point of a cluster is drawn above the background and is what was meant.
      const sq = (dx * dx + dy * dy) * (labels[i] < 0 ? 4 : 1);
      if (sq < least) [best, least] = [i, sq];
    }
    return best;
  }

  /** Rows inside the outline. @param {[number, number][]} outline @returns {number[]} */
  rowsInside(outline) {
    if (!this.scene) return [];
    const { x, y, hidden, labels } = this.scene;
    const { left, top, scale } = this.view;
    const rows = [];
    for (let i = 0; i < x.length; i++) {
      if (hidden && hidden[i] && labels[i] < 0) continue;
      if (inside(outline, left + scale * x[i], top - scale * y[i])) rows.push(i);
    }
    return rows;
  }

  /** Draw at the next frame. */
  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.paint();
    });
  }

  paint() {
    const ratio = Math.min(globalThis.devicePixelRatio || 1, 2);
    const [w, t] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    if (!this.scene || !w || !t) return;
    if (this.canvas.width !== w || this.canvas.height !== t) {
      [this.canvas.width, this.canvas.height] = [w, t];
      this.image = new ImageData(w, t);
    }
    this.image ??= new ImageData(w, t);
    const pen = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    this.paintPoints(new Uint32Array(this.image.data.buffer), w, t, ratio);
    pen.putImageData(this.image, 0, 0);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.paintCenters(pen);
    this.paintOutline(pen);
    this.canvas.dataset.painted = String(Number(this.canvas.dataset.painted ?? 0) + 1);
  }

  /** @param {Uint32Array} pixels @param {number} w @param {number} t @param {number} ratio */
  paintPoints(pixels, w, t, ratio) {
    const { x, y, labels, slots, selected, marked, hidden } = /** @type {Scene} */ (this.scene);
    const { left, top, scale } = this.view;
    pixels.fill(pack(rgb(styled("--map"))));
    const zoomed = Math.min(2.2, Math.max(1, Math.sqrt(scale / (this.fitted ?? scale))));
    const base = (x.length <= FEW ? 1.5 : x.length <= 200_000 ? 1.1 : 0.8) * ratio * zoomed;
    const faint = disc(base * 0.9, x.length <= FEW ? 0.55 : 0.4);
    const noise = rgb(styled("--noise"));
    const ink = rgb(styled("--mark"));
    const strong = slots.map((slot) => rgb(colourOf(slot)));
    const bright = disc(Math.max(1, base * 1.5), 0.95);
    const dim = disc(Math.max(1, base * 1.5), 0.22);
    for (const background of [true, false]) {
      for (let i = 0; i < x.length; i++) {
        const label = labels[i];
        if (label < 0 !== background || (background && hidden && hidden[i])) continue;
        const px = (left + scale * x[i]) * ratio;
        const py = (top - scale * y[i]) * ratio;
        if (px < 0 || py < 0 || px >= w || py >= t) continue;
        if (background) blend(pixels, w, t, px, py, faint, noise);
        else {
          const stamp = selected == null || selected === label ? bright : dim;
          blend(pixels, w, t, px, py, stamp, strong[label]);
        }
      }
    }
    if (!marked) return;
    const ring = disc(Math.max(1.5, base * 1.3), 0.9);
    for (let i = 0; i < x.length; i++) {
      if (!marked[i]) continue;
      const px = (left + scale * x[i]) * ratio;
      const py = (top - scale * y[i]) * ratio;
      if (px >= 0 && py >= 0 && px < w && py < t) blend(pixels, w, t, px, py, ring, ink);
    }
  }

  /** Discs in the colour of each cluster, with its number. @param {CanvasRenderingContext2D} pen */
  paintCenters(pen) {
    const { centers, slots, selected } = /** @type {Scene} */ (this.scene);
    const many = centers.length > 60;
    pen.font = "600 12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const [paper, ink] = [styled("--map"), styled("--text")];
    for (let j = centers.length - 1; j >= 0; j--) {
      if (many && selected !== j) continue;
      const [px, py] = this.place(centers[j]);
      const here = selected == null || selected === j;
      circle(pen, px, py, here ? 6.5 : 5, paper);
      circle(pen, px, py, here ? 5 : 3.5, colourOf(slots[j]));
      pen.lineWidth = 3.5;
      pen.lineJoin = "round";
      pen.strokeStyle = paper;
      pen.fillStyle = ink;
      pen.globalAlpha = here ? 1 : 0.5;
      pen.strokeText(String(j), px + 9, py - 8);
      pen.fillText(String(j), px + 9, py - 8);
      pen.globalAlpha = 1;
    }
    if (this.hovered >= 0) {
      const [px, py] = this.place(this.hovered);
      pen.strokeStyle = ink;
      pen.lineWidth = 1.5;
      pen.beginPath();
      pen.arc(px, py, 8, 0, 7);
      pen.stroke();
    }
  }

  /** The lasso as far as it is drawn. @param {CanvasRenderingContext2D} pen */
  paintOutline(pen) {
    if (this.outline.length < 2) return;
    pen.beginPath();
    for (const [x, y] of this.outline) pen.lineTo(x, y);
    pen.closePath();
    pen.globalAlpha = 0.12;
    pen.fillStyle = styled("--accent");
    pen.fill();
    pen.globalAlpha = 1;
    pen.setLineDash([5, 4]);
    pen.lineWidth = 1.5;
    pen.strokeStyle = styled("--accent");
    pen.stroke();
    pen.setLineDash([]);
  }
}

/** @param {CanvasRenderingContext2D} pen @param {number} x @param {number} y @param {number} r @param {string} colour */
function circle(pen, x, y, r, colour) {
  pen.fillStyle = colour;
  pen.beginPath();
  pen.arc(x, y, r, 0, 7);
  pen.fill();
}

/** @param {Scene} scene @param {ArrayLike<number>|null} rows */
function bounds({ x, y }, rows) {
  const box = { left: Infinity, right: -Infinity, bottom: Infinity, top: -Infinity };
  const n = rows ? rows.length : x.length;
  for (let r = 0; r < n; r++) {
    const i = rows ? rows[r] : r;
    if (x[i] < box.left) box.left = x[i];
    if (x[i] > box.right) box.right = x[i];
    if (y[i] < box.bottom) box.bottom = y[i];
    if (y[i] > box.top) box.top = y[i];
  }
  return box;
}

/** Whether a place is inside an outline: an odd number of its edges lie to the right. */
export function inside(
  /** @type {[number, number][]} */ outline,
  /** @type {number} */ x,
  /** @type {number} */ y,
) {
  let odd = false;
  for (let a = 0, b = outline.length - 1; a < outline.length; b = a++) {
    const [[ax, ay], [bx, by]] = [outline[a], outline[b]];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) odd = !odd;
  }
  return odd;
}
