/** Buttons and fields of the explorer, and what each does. */

import { codeDialog, helpDialog } from "./dialogs.js";
import { h, number } from "./dom.js";

const LEVELS = [0.001, 0.01, 0.05];

const at = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));

/** @param {import("./app.js").App} app */
export function bindControls(app) {
  const { meta } = app;
  at("evidence").textContent = `evidence: ${meta.estimate.evidence}`;
  at("evidence").className = `badge is-${meta.estimate.evidence}`;
  const levels = [...new Set([...LEVELS, ...(meta.start.alpha ? [meta.start.alpha] : [])])].sort((a, b) => a - b);
  at("alpha").replaceChildren(
    ...levels.map((level) => h("option", { value: level, text: `α = ${level}` })),
    h("option", { value: "none", text: "none: every ball" }),
  );
  at("suggest").title = `σ ${number(meta.suggested)}`;
  at("suggest").onclick = () => app.change({ sigma: meta.suggested }, "");
  at("sigma").onchange = () => app.typed();
  at("min-size").onchange = () => app.change({ minSize: Math.max(2, Math.round(Number(at("min-size").value)) || 2) }, "");
  at("max-clusters").onchange = () => {
    const most = Math.round(Number(at("max-clusters").value));
    app.change({ maxClusters: most >= 1 ? most : null }, "");
  };
  at("alpha").onchange = () => app.change({ alpha: at("alpha").value === "none" ? null : Number(at("alpha").value) }, "");
  at("undo").onclick = () => app.undo();
  at("view").onchange = () => app.loadPoints(at("view").value);
  at("find").onchange = () => app.find(at("find").value);
  at("fit-map").onclick = () => app.map.fit();
  at("tool-pan").onclick = () => app.useTool("pan");
  at("tool-lasso").onclick = () => app.useTool("lasso");
  at("select-members").onclick = () => app.mark(app.chosenRows());
  at("show-on-map").onclick = () => app.map.fit(app.chosenRows());
  at("exclude").onclick = () => app.exclude();
  at("help").onclick = () => helpDialog(at("dialog"), meta.version);
  at("code").onclick = async () => codeDialog(at("dialog"), await app.server.code(app.settings));
  at("export").onclick = () => app.openExport();
  at("export").disabled = meta.readOnly;
  at("certificate").ontoggle = () => app.certify();
}
