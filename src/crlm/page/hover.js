/** A small card beside the pointer: what the row under it is. */

import { h, number } from "./dom.js";

const PAUSE = 70; // milliseconds, so that a sweep over the map asks nothing

export class HoverCard {
  /** @param {HTMLElement} root @param {import("./api.js").Server} server @param {any} meta */
  constructor(root, server, meta) {
    this.root = root;
    this.server = server;
    this.meta = meta;
    this.row = -1;
  }

  hide() {
    this.show(-1, 0, 0, -1);
  }

  /** @param {number} row @param {number} x @param {number} y @param {number} label */
  show(row, x, y, label) {
    this.row = row;
    clearTimeout(this.timer);
    if (row < 0) {
      this.root.hidden = true;
      return;
    }
    this.timer = setTimeout(async () => {
      const { items } = await this.server.named([row]).catch(() => ({ items: [] }));
      if (this.row === row && items.length) this.fill(items[0], x, y, label);
    }, PAUSE);
  }

  /** @param {import("./gallery.js").Item} item @param {number} x @param {number} y @param {number} label */
  fill(item, x, y, label) {
    const where = label < 0 ? "background" : `cluster ${label}`;
    const far = item.distance == null ? "" : ` · ${number(item.distance)} R`;
    const words = h("div", {}, h("strong", { text: item.title }), h("span", { text: where + far }), h("span", { text: item.text ?? "" }));
    const picture = this.meta.shows === "images" ? h("img", { src: this.server.thumb(item.row), alt: "" }) : null;
    picture?.addEventListener("error", () => picture.remove());
    this.root.replaceChildren(...[picture, words].filter(Boolean));
    this.root.hidden = false;
    const frame = /** @type {HTMLElement} */ (this.root.parentElement);
    this.root.style.left = `${Math.max(4, Math.min(x + 14, frame.clientWidth - this.root.offsetWidth - 6))}px`;
    this.root.style.top = `${Math.max(4, Math.min(y + 14, frame.clientHeight - this.root.offsetHeight - 6))}px`;
  }
}
