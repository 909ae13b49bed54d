/**
 * Typed arrays in and out of text and of one binary answer.
 *
 * In JSON an array is {dtype: "i4", data: "<base64>"}, little-endian, as `crlm.page.encode`
 * writes it.
 *
 * @typedef {{dtype: string, data: string}} Packed
 * @typedef {Uint8Array|Uint16Array|Int32Array|Float32Array|Float64Array} Numbers
 */

const TYPES = {
  u1: Uint8Array,
  u2: Uint16Array,
  i4: Int32Array,
  f4: Float32Array,
  f8: Float64Array,
};

/**
 * @param {Packed} packed
 * @returns {Numbers}
 */
export function unpack(packed) {
  const type = TYPES[packed.dtype];
  if (!type) throw new TypeError(`unknown dtype ${packed.dtype}`);
  const text = atob(packed.data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new type(bytes.buffer);
}

/**
 * A binary answer: length of the JSON (u4), the JSON, padding to 8 bytes, then the arrays that
 * its field "arrays" names as [name, dtype, length], each padded to 8 bytes.
 *
 * @param {ArrayBuffer} buffer
 * @returns {{head: any, arrays: Object<string, Numbers>}}
 */
export function openAnswer(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  /** @type {Object<string, Numbers>} */
  const arrays = {};
  let at = padded(4 + length);
  for (const [name, dtype, count] of head.arrays) {
    const type = TYPES[dtype];
    arrays[name] = new type(buffer, at, count);
    at = padded(at + count * type.BYTES_PER_ELEMENT);
  }
  return { head, arrays };
}

/** @param {number} at */
function padded(at) {
  return Math.ceil(at / 8) * 8;
}
