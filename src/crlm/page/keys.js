/** Keys that work anywhere in the explorer, unless something is being typed. */

/** @param {import("./app.js").App} app */
export function listenToKeys(app) {
  const at = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));
  const act = {
    s: () => app.plot.focus(),
    g: () => (at("gallery-orders").querySelector(".tab") ?? at("select-members")).focus(),
    "/": () => at("find").focus(),
    "?": () => at("help").click(),
    Escape: () => app.clear(),
  };
  document.addEventListener("keydown", (event) => {
    const typing = /** @type {HTMLElement} */ (event.target).closest("input, select, textarea, dialog");
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z" && !typing) {
      event.preventDefault();
      app.undo();
      return;
    }
    if (event.key === "Escape" && typing && !typing.matches("dialog")) return typing.blur();
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^[0-9]$/.test(event.key)) {
      app.select(Number(event.key));
      app.table.focus(Number(event.key));
    } else if (event.key in act) act[event.key]();
    else return;
    event.preventDefault();
  });
}
