/** Pixels of an ImageData as whole numbers, and small soft discs drawn into them. */

/**
 * @typedef {{dx: Int8Array, dy: Int8Array, alpha: Float32Array}} Stamp
 */

/** @param {[number, number, number]} colour @returns {number} as little-endian RGBA */
export function pack([r, g, b]) {
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/**
 * A disc with a soft edge.
 *
 * @param {number} radius  in device pixels
 * @param {number} alpha  of its middle
 * @returns {Stamp}
 */
export function disc(radius, alpha) {
  const [dx, dy, weight] = [[], [], []];
  const reach = Math.ceil(radius);
  for (let y = -reach; y <= reach; y++) {
    for (let x = -reach; x <= reach; x++) {
      const cover = Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(x, y)));
      if (cover > 0.05) {
        dx.push(x);
        dy.push(y);
        weight.push(cover * alpha);
      }
    }
  }
  return { dx: Int8Array.from(dx), dy: Int8Array.from(dy), alpha: Float32Array.from(weight) };
}

/**
 * @param {Uint32Array} pixels
 * @param {number} width
 * @param {number} height
 * @param {number} px
 * @param {number} py
 * @param {Stamp} stamp
 * @param {[number, number, number]} colour
 */
export function blend(pixels, width, height, px, py, stamp, colour) {
  // No arrays are taken apart here: this runs for each of a million points.
  const { dx, dy, alpha } = stamp;
  const r = colour[0];
  const g = colour[1];
  const b = colour[2];
  const cx = px | 0;
  const cy = py | 0;
  for (let s = 0; s < dx.length; s++) {
    const x = cx + dx[s];
    const y = cy + dy[s];
    if (x < 0 || y < 0 || x >= width || y >= height) continue;
    const at = y * width + x;
    const old = pixels[at];
    const a = alpha[s];
    const red = (old & 255) + a * (r - (old & 255));
    const green = ((old >> 8) & 255) + a * (g - ((old >> 8) & 255));
    const blue = ((old >> 16) & 255) + a * (b - ((old >> 16) & 255));
    pixels[at] = ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  }
}
