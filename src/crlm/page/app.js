/** The parts of the explorer and what happens between them. */

import { showCertificate } from "./certificate.js";
import { colourOf, follow } from "./colours.js";
import { Computer } from "./compute.js";
import { bindControls } from "./controls.js";
import { exportDialog } from "./dialogs.js";
import { count, grouped, h, number } from "./dom.js";
import { makeGallery } from "./gallery.js";
import { labelsOf } from "./greedy.js";
import { makeHistogram, nearest } from "./histogram.js";
import { HoverCard } from "./hover.js";
import { listenToKeys } from "./keys.js";
import { PointMap } from "./map.js";
import { Store, fromHash } from "./store.js";
import { makeTable } from "./table.js";
import { doubt, thinned } from "./words.js";

const SETTLED = 180; // milliseconds after the last move
const SLOW = 100; // after which what is shown is dimmed
const PAGE = 60; // rows of a selection shown at a time

const at = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));

export class App {
  /** @param {import("./api.js").Server} server @param {any} meta */
  constructor(server, meta) {
    this.server = server;
    this.meta = meta;
    const { names, excluded } = meta.notes;
    const begin = { settings: meta.start, names, excluded };
    this.store = new Store(fromHash(location.hash, begin, meta.n));
    this.computer = new Computer(server, meta);
    /** @type {import("./compute.js").Result} */
    this.result = { settings: meta.start, clusters: [], ms: 0, where: "server" };
    this.labels = new Int32Array(meta.n).fill(-1);
    /** @type {number[]} */
    this.slots = [];
    /** @type {number|null} */
    this.selected = null;
    /** @type {Set<number>} */
    this.marked = new Set();
    this.serial = 0;
    this.build();
  }

  get settings() {
    return this.store.state.settings;
  }

  get excluded() {
    return new Set(this.store.state.excluded);
  }

  // Starting

  build() {
    const { meta } = this;
    const { edges, counts, peaks } = meta.estimate;
    const reading = { edges, counts, peaks, stops: meta.stops, G: meta.G, limit: meta.limit };
    this.plot = makeHistogram(at("hist"), { ...reading, suggested: meta.suggested, plateau: meta.plateau }, {
      onInput: (index) => this.change({ sigma: meta.stops[index] }, "sigma"),
      onDone: () => this.store.settle(),
    });
    this.table = makeTable(at("table"), {
      onSelect: (label) => this.select(label === this.selected ? null : label),
      onName: (label, name) => this.rename(label, name),
    });
    this.gallery = makeGallery(at("gallery"), {
      load: (order, offset) => this.loadRows(order, offset),
      thumb: (row) => (meta.shows === "images" ? this.server.thumb(row) : null),
      onHover: (row) => this.point(row),
      onPick: (row) => this.toggle(row),
      marks: (row) => `${this.marked.has(row) ? "is-marked" : ""} ${this.excluded.has(row) ? "is-excluded" : ""}`,
      head: at("gallery-orders"),
    });
    this.hover = new HoverCard(at("hover"), this.server, meta);
    this.map = new PointMap(at("map"), {
      onHover: (row, x, y) => this.hover.show(row, x, y, this.labels[row] ?? -1),
      onPick: (row) => this.select(row < 0 || this.labels[row] < 0 ? null : this.labels[row]),
      onLasso: (rows) => this.mark(rows),
    });
    bindControls(this);
    listenToKeys(this);
  }

  async start() {
    const differs = ["minSize", "maxClusters", "alpha"].some((name) => this.settings[name] !== this.meta.start[name]);
    if (differs) this.refill();
    await Promise.all([this.computer.load(), this.loadPoints("clusters")]);
    await this.refresh();
    this.select(this.result.clusters.length ? 0 : null);
    document.documentElement.dataset.ready = "yes";
  }

  /** @param {string} view */
  async loadPoints(view) {
    const { arrays } = await this.server.points(view);
    const hidden = thinned(this.meta);
    this.map.show({ x: arrays.x, y: arrays.y, labels: this.labels, slots: this.slots, centers: [], hidden });
    this.map.fit();
    this.paint();
    at("map-note").textContent =
      (this.meta.d === 2 ? "The two columns." : "A two-dimensional shadow: rows that look close may be far apart.") +
      (hidden ? ` ${grouped(this.meta.maxDrawn)} of the background rows are drawn.` : "");
  }

  // Changing

  /** @param {Partial<import("./store.js").Settings>} change @param {string} kind */
  change(change, kind) {
    const before = this.settings;
    this.store.set({ settings: { ...before, ...change } }, kind);
    if (!("sigma" in change)) this.refill();
    return this.refresh();
  }

  /** Other settings, other answers at the stops. */
  refill() {
    this.computer.forget(this.settings);
    this.plot.curve(this.computer.curve());
    this.server.fill(this.settings).catch(() => {});
  }

  typed() {
    const sigma = Number(at("sigma").value.replace(",", "."));
    if (sigma > 0 && Number.isFinite(sigma)) this.change({ sigma }, "");
    else this.showSettings();
  }

  undo() {
    const before = this.settings;
    if (!this.store.undo()) return;
    const same = ["minSize", "maxClusters", "alpha"].every((name) => before[name] === this.settings[name]);
    if (!same) this.refill();
    this.keepNotes();
    this.refresh();
  }

  /** Clusters for the settings as they are now; what is asked last is shown. */
  async refresh() {
    const mine = ++this.serial;
    this.showSettings();
    const { settings } = this;
    const here = this.computer.here(settings);
    if (here) return this.show(here);
    const slow = setTimeout(() => this.dim(true), SLOW);
    try {
      const there = await this.computer.there(settings);
      if (mine === this.serial) this.show(there);
    } catch (error) {
      if (mine === this.serial && error.name !== "AbortError" && error.status !== 409) this.say(error.message);
    } finally {
      clearTimeout(slow);
      if (mine === this.serial) this.dim(false);
    }
  }

  /** @param {import("./compute.js").Result} result */
  show(result) {
    const slots = follow(this.labels, this.slots, result.clusters);
    const kept = this.selected === null ? undefined : this.slots[this.selected];
    this.result = result;
    this.labels = labelsOf(this.meta.n, result.clusters);
    this.slots = slots;
    const again = slots.indexOf(/** @type {number} */ (kept));
    this.selected = kept === undefined || again < 0 ? null : again;
    this.dim(false);
    this.paint();
    this.summarise();
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.settled(), SETTLED);
  }

  /** When nothing has moved for a moment. */
  settled() {
    history.replaceState(null, "", `#${this.store.hash()}`);
    this.showGallery();
    this.certify();
    const missing = this.result.where === "page" && this.result.clusters.some((cluster) => cluster.sigma === null);
    if (!missing) return;
    const mine = this.serial;
    this.computer.there(this.settings).then(
      (there) => mine === this.serial && this.show(there),
      () => {},
    );
  }

  // Showing

  paint() {
    const { clusters } = this.result;
    const marked = this.marked.size ? new Uint8Array(this.meta.n) : null;
    for (const row of this.marked) /** @type {Uint8Array} */ (marked)[row] = 1;
    const names = this.store.namesOf(this.labels, clusters.length);
    const { labels, slots, selected } = this;
    this.map.show({ labels, slots, selected, marked, centers: clusters.map((cluster) => cluster.center) });
    const background = this.meta.n - clusters.reduce((sum, { rows }) => sum + rows.length, 0);
    this.table.show({ clusters, slots, selected, names, background });
    at("exclude").disabled = !this.marked.size;
    this.gallery.remark();
    at("undo").disabled = !this.store.past.length;
  }

  redraw() {
    this.paint();
    this.showGalleryTitle();
  }

  summarise() {
    const { clusters, ms, where } = this.result;
    const rows = clusters.reduce((sum, cluster) => sum + cluster.rows.length, 0);
    const share = (100 * rows) / this.meta.n;
    const words = `${count(clusters.length, "cluster")} · ${share.toFixed(share < 10 ? 1 : 0)} % clustered`;
    at("status").textContent = words;
    at("status").title = `${where === "page" ? "in this page" : "by the server"}, ${ms.toFixed(1)} ms`;
    const { sigma } = this.settings;
    this.plot.set(nearest(this.meta.stops, sigma), `${number(sigma)}, ${count(clusters.length, "cluster")}`, sigma);
    at("table-hint").textContent = `refit ${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
    const said = doubt(this.result, this.meta);
    at("notice").hidden = !said;
    at("notice").textContent = said;
  }

  showSettings() {
    const { sigma, minSize, maxClusters, alpha } = this.settings;
    at("sigma").value = String(Number(sigma.toPrecision(5)));
    at("sigma").title = String(sigma);
    at("min-size").value = minSize;
    at("max-clusters").value = maxClusters ?? "";
    at("alpha").value = alpha === null ? "none" : String(alpha);
    const { plateau } = this.meta;
    at("stable").textContent = plateau && plateau[1] > plateau[0] ? `as good from ${number(plateau[0])} to ${number(plateau[1])}` : "";
    this.plot.set(nearest(this.meta.stops, sigma), number(sigma), sigma);
  }

  /** @param {boolean} stale */
  dim(stale) {
    for (const id of ["table", "status"]) at(id).classList.toggle("is-stale", stale);
  }

  /** @param {string} words */
  say(words) {
    at("status").textContent = words;
  }

  // Choosing

  /** @param {number|null} label */
  select(label) {
    this.selected = label !== null && label >= 0 && label < this.result.clusters.length ? label : null;
    if (this.marked.size) this.marked = new Set();
    this.paint();
    this.showGallery();
  }

  /** @param {ArrayLike<number>} rows */
  mark(rows) {
    this.marked = new Set(Array.from(rows));
    this.paint();
    this.showGallery();
    this.say(`${count(this.marked.size, "row")} selected`);
  }

  /** @param {number} row */
  toggle(row) {
    const marked = new Set(this.marked);
    if (!marked.delete(row)) marked.add(row);
    this.marked = marked;
    this.paint();
    this.say(`${count(marked.size, "row")} selected`);
  }

  clear() {
    this.hover.hide();
    this.select(null);
    this.summarise();
  }

  /** @param {number|null} row */
  point(row) {
    this.map.hovered = row ?? -1;
    this.map.draw();
  }

  /** Rows of the selection, or else of the chosen cluster. @returns {number[]} */
  chosenRows() {
    if (this.marked.size) return [...this.marked].sort((a, b) => a - b);
    return this.selected === null ? [] : Array.from(this.result.clusters[this.selected].rows);
  }

  /** @param {string} word */
  async find(word) {
    const { rows } = word.trim() ? await this.server.search(word) : { rows: [] };
    if (!rows.length) return this.say(`No row is called ${word}.`);
    this.mark(rows);
    this.point(rows[0]);
  }

  /** @param {string} tool */
  useTool(tool) {
    this.map.tool = tool;
    at("map").classList.toggle("is-lasso", tool === "lasso");
    for (const name of ["pan", "lasso"]) at(`tool-${name}`).setAttribute("aria-pressed", String(name === tool));
  }

  // Members

  showGalleryTitle() {
    const title = at("gallery-title");
    if (this.marked.size) return title.replaceChildren(`Selection · ${count(this.marked.size, "row")}`);
    if (this.selected === null) return title.replaceChildren("Members");
    const cluster = this.result.clusters[this.selected];
    const name = this.store.namesOf(this.labels, this.result.clusters.length)[this.selected];
    const swatch = h("span", { class: "swatch", "aria-hidden": "true" });
    swatch.style.background = colourOf(this.slots[this.selected]);
    title.replaceChildren(swatch, `Members of ${this.selected}${name ? ` “${name}”` : ""} · ${count(cluster.rows.length, "row")}`);
  }

  showGallery() {
    this.showGalleryTitle();
    const any = this.marked.size > 0 || this.selected !== null;
    this.gallery.setOrders(this.selected !== null && !this.marked.size);
    for (const id of ["select-members", "show-on-map"]) at(id).disabled = !any;
    this.gallery.refresh();
  }

  /** @param {string} order @param {number} offset */
  async loadRows(order, offset) {
    if (this.marked.size) {
      const rows = this.chosenRows();
      const part = rows.slice(offset, offset + PAGE);
      return { items: part.length ? (await this.server.named(part)).items : [], total: rows.length };
    }
    if (this.selected === null) return { items: [], total: 0 };
    return this.server.rows(this.settings, this.selected, order, offset);
  }

  // Keeping

  /** @param {number} label @param {string} name */
  rename(label, name) {
    this.store.rename(this.result.clusters[label], name);
    this.keepNotes();
    this.paint();
    this.showGalleryTitle();
  }

  exclude() {
    const excluded = new Set(this.store.state.excluded);
    const back = [...this.marked].every((row) => excluded.has(row));
    for (const row of this.marked) back ? excluded.delete(row) : excluded.add(row);
    this.store.set({ excluded: [...excluded].sort((a, b) => a - b) }, "");
    this.keepNotes();
    this.paint();
    this.say(`${count(this.marked.size, "row")} ${back ? "taken back in" : "excluded"}; ${count(excluded.size, "exclusion")} in exports`);
  }

  keepNotes() {
    const { names, excluded } = this.store.state;
    this.notesKept = this.server.keep({ names, excluded, sigma: this.settings.sigma }).catch((error) => this.say(error.message));
    history.replaceState(null, "", `#${this.store.hash()}`);
  }

  openExport() {
    exportDialog(at("dialog"), {
      folder: this.meta.folder,
      selected: this.marked.size,
      save: async (file, some, replace) => {
        await this.notesKept;
        return this.server.export({ file, replace, settings: this.settings, rows: some ? this.chosenRows() : null });
      },
    });
  }

  async certify() {
    if (!at("certificate").open) return;
    const mine = this.serial;
    try {
      const found = await this.server.certificate(this.settings);
      if (mine === this.serial) showCertificate(at("certificate-body"), found);
    } catch (error) {
      at("certificate-body").textContent = error.message;
    }
  }

  // What the server tells

  /** @param {any} record */
  learn(record) {
    this.computer.learn(record);
    this.drawing ??= requestAnimationFrame(() => {
      this.drawing = undefined;
      this.plot.curve(this.computer.curve());
    });
  }

  /** @param {any} settings */
  forget(settings) {
    this.computer.forget(settings);
  }
}
