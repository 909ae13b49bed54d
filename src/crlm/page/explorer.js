/** The explorer: wait until the data are there, then put the parts together. */

import { App } from "./app.js";
import { Server } from "./api.js";
import { themeNow } from "./colours.js";
import { grouped } from "./dom.js";

const at = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));
const server = new Server();
/** @type {App|null} */
let app = null;
/** @type {any[]} */
const early = []; // what was told before the page was there

theme(localStorage.getItem("crlm-theme"));
at("theme").addEventListener("click", () => {
  const next = themeNow() === "dark" ? "light" : "dark";
  localStorage.setItem("crlm-theme", next);
  theme(next);
  app?.redraw();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => app?.redraw());
at("cancel").addEventListener("click", () => server.cancel());

const listeners = {
  phase: (/** @type {any} */ phase) => enter(phase),
  step: (/** @type {any} */ record) => (app ? app.learn(record) : early.push(record)),
  stops: (/** @type {any} */ record) => (app ? app.forget(record.settings) : early.splice(0)),
  gone: () => banner("The server does not answer. Start crlm explore again; names and exclusions are kept."),
  back: () => banner(""),
};
server.meta().then(
  (meta) => {
    about(meta);
    server.listen(listeners);
  },
  (error) => banner(error.message),
);

/** @param {string|null} name */
function theme(name) {
  if (name) document.documentElement.dataset.theme = name;
}

/** @param {string} words  none to hide it */
function banner(words) {
  at("banner").hidden = !words;
  at("banner").textContent = words;
}

/** @param {any} meta */
function about(meta) {
  document.title = `${meta.name} – crlm`;
  at("about").textContent = `${meta.name}  ${grouped(meta.n)} × ${grouped(meta.d)}${meta.readOnly ? " · read-only" : ""}`;
}

/** Loading, ready, failed or cancelled. @param {any} phase */
async function enter({ phase, done, total, message }) {
  if (phase === "ready") return start();
  at("loading").hidden = false;
  at("main").hidden = true;
  const bar = at("loading-bar");
  bar.hidden = phase !== "loading";
  if (total) bar.value = done / total;
  else bar.removeAttribute("value");
  at("cancel").hidden = phase !== "loading";
  const words = {
    loading: ["Measuring distances …", "Once this is done, every answer is immediate."],
    cancelled: ["Cancelled", "Start crlm explore again, perhaps with fewer rows."],
    failed: ["That did not work", message],
  };
  [at("loading-title").textContent, at("loading-note").textContent] = words[phase];
}

async function start() {
  if (app) return;
  const meta = await server.meta();
  if (app) return;
  app = new App(server, meta);
  for (const record of early) app.learn(record);
  at("loading").hidden = true;
  at("main").hidden = false;
  try {
    await app.start();
  } catch (error) {
    banner(`The page could not start: ${error.message}`);
  }
  // For those who want to look behind the page, and for its tests.
  Object.assign(globalThis, { crlm: app });
}

