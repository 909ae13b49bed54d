/** How far an answer can be trusted: the conditions and their margins. */

import { h, number } from "./dom.js";

/**
 * @param {HTMLElement} root
 * @param {{verdict: string, theorem_d: string, talk: string[],
 *          conditions: {name: string, verdict: string, margin: number|null, meaning: string,
 *                       estimate: boolean, fix: string|null}[]}} found
 */
export function showCertificate(root, { verdict, theorem_d, conditions, talk }) {
  const kind = { holds: "is-clear", fails: "is-weak" }[theorem_d] ?? "";
  const rows = conditions.map(({ name, verdict: said, margin, meaning, estimate, fix }) =>
    h(
      "tr",
      { title: fix ? `Try ${fix}` : null },
      h("th", { scope: "row", text: name }),
      h("td", {}, h("span", { class: `badge ${{ holds: "is-clear", fails: "is-weak" }[said] ?? ""}`, text: said })),
      h("td", { class: "is-number", text: margin === null ? "∞" : number(margin) }),
      h("td", { text: meaning + (estimate ? " (estimate)" : "") }),
    ),
  );
  const head = ["condition", "verdict", "margin", "meaning"].map((text) => h("th", { scope: "col", text }));
  const table = h("table", { class: "conditions" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows));
  root.replaceChildren(
    h("p", { class: `verdict ${kind}`, text: verdict }),
    ...(rows.length ? [h("div", { class: "scroll-x", tabindex: 0, role: "region", "aria-label": "Conditions" }, table)] : []),
    ...talk.map((text) => h("p", { class: "hint", text })),
  );
}
