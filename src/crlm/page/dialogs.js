/** Windows over the page: export, code, help. */

import { count, h } from "./dom.js";

/** @param {HTMLDialogElement} dialog @param {string} title @param {...Node} parts */
function open(dialog, title, ...parts) {
  const close = h("button", { type: "button", class: "button", text: "Close", onclick: () => dialog.close() });
  dialog.replaceChildren(h("h2", { id: "dialog-title", text: title }), ...parts, h("div", { class: "dialog-foot" }, close));
  if (!dialog.open) dialog.showModal();
}

/**
 * @param {HTMLDialogElement} dialog
 * @param {{folder: string, selected: number,
 *          save: (file: string, some: boolean, replace: boolean) => Promise<{file: string, folder: string, rows: number}>}} how
 */
export function exportDialog(dialog, { folder, selected, save }) {
  const name = h("input", { id: "export-name", type: "text", value: "labels", autocomplete: "off", size: 18 });
  const format = h(
    "select",
    { id: "export-format", "aria-label": "Format" },
    ...[".csv", ".npy", ".parquet"].map((suffix) => h("option", { value: suffix, text: suffix })),
  );
  const some = h("input", { type: "checkbox", id: "export-some", disabled: selected === 0 });
  const said = h("p", { class: "said", role: "status", id: "export-said" });
  const go = h("button", { type: "submit", class: "button is-first", text: "Export" });

  async function run(replace = false) {
    go.disabled = true;
    try {
      const done = await save(name.value.trim() + format.value, some.checked, replace);
      said.className = "said is-good";
      said.replaceChildren(`Wrote ${count(done.rows, "label")} to ${done.file}`);
    } catch (error) {
      said.className = "said is-bad";
      said.replaceChildren(error.message, ...(error.status === 409 ? [" ", again()] : []));
    }
    go.disabled = false;
  }

  function again() {
    return h("button", { type: "button", class: "button is-small", text: "Replace it", onclick: () => run(true) });
  }

  const form = h(
    "form",
    { onsubmit: (/** @type {Event} */ event) => (event.preventDefault(), run()) },
    h("p", { text: `A label for each row, −1 for background, into the folder ${folder}.` }),
    h("div", { class: "row" }, h("label", { for: "export-name", text: "file" }), name, format, go),
    h("label", { class: "row" }, some, selected ? `only the ${count(selected, "selected row")}` : "only selected rows (none)"),
    h("p", { class: "hint", text: "Tables hold the labels as fitted, and again after your exclusions, with your names. .npy holds the labels as fitted." }),
    said,
  );
  open(dialog, "Export labels", form);
  name.focus();
  name.select();
}

/** @param {HTMLDialogElement} dialog @param {{shell: string, python: string}} code */
export function codeDialog(dialog, { shell, python }) {
  open(
    dialog,
    "The same, as code",
    h("p", { class: "hint", text: "Gives exactly these clusters." }),
    snippet("In a shell", shell),
    snippet("In Python", python),
  );
}

/** @param {string} title @param {string} text */
function snippet(title, text) {
  const button = h("button", { type: "button", class: "button is-small", text: "Copy" });
  const code = h("pre", { tabindex: 0, "aria-label": title }, h("code", { text }));
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection()?.selectAllChildren(code);
      button.textContent = "Press Ctrl+C";
    }
  });
  return h("div", { class: "snippet" }, h("div", { class: "row" }, h("h3", { text: title }), h("span", { class: "grow" }), button), code);
}

const KEYS = [
  ["← →, Page Up, Page Down, Home, End", "move σ, when its marker has the focus"],
  ["s", "focus the marker of σ"],
  ["1 … 9, 0", "choose cluster 1 … 9, 0"],
  ["g", "go to the members; arrows go from one to the next"],
  ["/", "find a row"],
  ["Shift + drag", "lasso on the map; wheel or + and − zoom"],
  ["Ctrl + Z", "undo"],
  ["Esc", "choose nothing"],
];

/** @param {HTMLDialogElement} dialog @param {string} version */
export function helpDialog(dialog, version) {
  const rows = KEYS.map(([key, words]) => h("tr", {}, h("th", { scope: "row" }, h("kbd", { text: key })), h("td", { text: words })));
  open(
    dialog,
    "Keys and help",
    h("table", { class: "keys" }, h("tbody", {}, ...rows)),
    h("p", { text: "Drag the marker: every position is exact, the same as a fit with that σ for all clusters. (Without a σ of yours, CRLM then gives each cluster one of its own.) The shaded band holds the values that serve as well as the suggested one, marked by the green arrow; rings are the spreads of clusters; the line below counts clusters." }),
    h("p", { class: "hint", text: `crlm ${version}. Nothing leaves this machine.` }),
  );
}
