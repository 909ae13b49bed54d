
/**
 * The report with JavaScript: the bandwidth can be moved, the map too, and tables sort.
 * Without it everything is there, and stands still.
 */
(() => {
  const { unpack } = codec;
  const { makeGraph, replay, labelsOf } = greedy;
  const { follow, colourOf, themeNow } = colours;
  const { h, svg, number, grouped, count } = dom;
  const { makeHistogram } = histogram;
  const { PointMap } = map;
  const MOST_CHIPS = 60;

  const $ = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));
  const root = document.documentElement;
  root.classList.add("js");
  const data = JSON.parse($("data").textContent);

  const live = data.live;
  const home = live ? live.sigmas.indexOf(data.sigma) : -1;
  let at = home;
  const graph = live ? graphOf(live) : null;
  const saved = {
    labels: data.labels
      ? /** @type {Int32Array} */ (unpack(data.labels))
      : labelsOf(data.n, replay(graph, data.centers, home + 1)),
    centers: data.centers,
    slots: data.centers.map((/** @type {number} */ _, /** @type {number} */ j) => j),
  };
  let now = { ...saved };

  /** Neighbours of the rows that are ever a centre; others have none here. */
  function graphOf(/** @type {any} */ { n, owners, degrees, indices, reach }) {
    const indptr = new Int32Array(n + 1);
    const counts = unpack(degrees);
    unpack(owners).forEach((row, o) => (indptr[row + 1] = counts[o]));
    for (let i = 0; i < n; i++) indptr[i + 1] += indptr[i];
    return makeGraph({ n, indptr, indices: unpack(indices), reach: unpack(reach) });
  }

  // Theme

  $("theme").addEventListener("click", () => {
    root.dataset.theme = themeNow() === "dark" ? "light" : "dark";
    paint();
    chips();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    paint();
    chips();
  });

  // Copying

  function copy(/** @type {string} */ text, /** @type {HTMLElement} */ button) {
    const words = button.textContent;
    const done = () => {
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = words), 1500);
    };
    const byHand = () => {
      const box = h("textarea", { class: "sr", "aria-hidden": "true" });
      box.value = text;
      document.body.append(box);
      box.select();
      document.execCommand("copy");
      box.remove();
      done();
    };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, byHand);
    else byHand();
  }
  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", () => copy($(button.dataset.copy).textContent, button));
  }

  // Tables

  for (const table of document.querySelectorAll(".sortable")) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, c) => {
      if (head.classList.contains("no-sort")) return;
      const button = h("button", { type: "button", class: "sort", text: head.textContent });
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows].sort((a, b) => compare(a.cells[c], b.cells[c]));
        body.append(...(down ? rows.reverse() : rows));
      });
      head.replaceChildren(button);
    });
  }

  function compare(/** @type {HTMLElement} */ a, /** @type {HTMLElement} */ b) {
    const [x, y] = [a.dataset.value, b.dataset.value];
    if (x === undefined || y === undefined) return a.textContent.localeCompare(b.textContent);
    const value = (/** @type {string} */ text) => (text === "inf" ? Infinity : Number(text));
    return value(x) - value(y) || 0;
  }

  // Map

  const shown = data.shown ? unpack(data.shown) : Int32Array.from({ length: data.n }, (_, i) => i);
  const rows = data.rows ? unpack(data.rows) : shown;
  const place = new Int32Array(data.n).fill(-1);
  shown.forEach((row, at) => (place[row] = at));
  const places = { x: Float32Array.from(unpack(data.x)), y: Float32Array.from(unpack(data.y)) };
  const points = new PointMap($("points"), { onHover: tip, wheel: false });

  function paint() {
    points.show({
      x: places.x,
      y: places.y,
      labels: Int32Array.from(shown, (row) => now.labels[row]),
      slots: now.slots,
      centers: now.centers.map((/** @type {number} */ row) => place[row]),
    });
  }

  function tip(/** @type {number} */ at, /** @type {number} */ x, /** @type {number} */ y) {
    const box = $("tip");
    box.hidden = at < 0;
    if (at < 0) return;
    const label = now.labels[shown[at]];
    const title = data.titles?.[at];
    const where = label < 0 ? "background" : `cluster ${label}`;
    box.textContent = `row ${rows[at]} · ${where}${title ? ` · ${title}` : ""}`;
    const left = x > points.width / 2;
    box.style.left = left ? "" : `${x + 14}px`;
    box.style.right = left ? `${points.width - x + 14}px` : "";
    box.style.top = `${Math.max(4, y - 12)}px`;
  }

  $("zoom-in").addEventListener("click", () => points.zoom(1.5));
  $("zoom-out").addEventListener("click", () => points.zoom(1 / 1.5));
  $("zoom-all").addEventListener("click", () => points.fit());

  // Bandwidth

  function look(/** @type {number} */ index) {
    at = index;
    if (index === home) {
      now = { ...saved };
    } else {
      const { centers } = live.steps[index];
      const members = replay(graph, centers, index + 1);
      const clusters = members.map((/** @type {Int32Array} */ found) => ({ rows: found }));
      const slots = follow(now.labels, now.slots, clusters);
      now = { labels: labelsOf(data.n, members), slots, centers };
    }
    say();
    chips();
    paint();
    cursor();
  }

  function say() {
    const k = now.centers.length;
    const inside = now.labels.reduce((sum, label) => sum + (label >= 0 ? 1 : 0), 0);
    const share = `${((100 * inside) / data.n).toFixed(1)} %`;
    const words = `${count(k, "cluster")}, ${grouped(inside)} of ${grouped(data.n)} rows (${share})`;
    $("live-now").replaceChildren(
      "σ",
      h("sub", { text: "max" }),
      " ",
      h("strong", { text: number(live.sigmas[at]) }),
      ": ",
      h("strong", { text: words }),
      h("span", { class: "live-badge" }, badge()),
    );
    slider.set(at, `${number(live.sigmas[at])}, ${count(k, "cluster")}`);
    $("back").disabled = at === home;
  }

  function badge() {
    if (at === home) return h("span", { class: "badge is-clear", text: "saved result" });
    const same = now.labels.every((label, i) => label === saved.labels[i]);
    if (same) return h("span", { class: "badge is-clear", text: "same as the saved result" });
    return h("span", { class: "badge", text: "Preview: differs from the saved result" });
  }

  function chips() {
    if (!live) return;
    const { sizes } = live.steps[at];
    const shownChips = sizes.slice(0, MOST_CHIPS).map((/** @type {number} */ size, /** @type {number} */ j) => {
      const swatch = h("span", { class: "swatch", "aria-hidden": "true" });
      swatch.style.background = colourOf(now.slots[j]);
      return h("li", {}, swatch, h("strong", { text: j }), `${grouped(size)}`);
    });
    const more = sizes.length - shownChips.length;
    if (more > 0) shownChips.push(h("li", { text: `and ${grouped(more)} more` }));
    if (!sizes.length) shownChips.push(h("li", { text: "no cluster at this bandwidth" }));
    $("chips").replaceChildren(...shownChips);
  }

  /** The bins that the slider can reach; others would make them look small. */
  function near(/** @type {any} */ { edges, counts }, /** @type {number} */ last) {
    const beyond = edges.findIndex((/** @type {number} */ edge) => edge > last);
    const n = beyond < 0 ? counts.length : Math.max(1, beyond);
    return { edges: edges.slice(0, n + 1), counts: counts.slice(0, n) };
  }

  /** The same bandwidth on the stability curve. */
  function cursor() {
    const picture = document.querySelector("#curve svg");
    if (!picture) return;
    picture.querySelector(".cursor")?.remove();
    if (at === home) return;
    const [low, high] = [live.sigmas[0], live.sigmas[live.sigmas.length - 1]];
    const mark = picture.querySelector(".axis");
    const [left, right] = ["x1", "x2"].map((name) => Number(mark.getAttribute(name)));
    const x = left + ((right - left) * Math.log(live.sigmas[at] / low)) / Math.log(high / low);
    picture.append(svg("line", { class: "cursor", x1: x, x2: x, y1: 20, y2: mark.getAttribute("y1") }));
  }

  /** @type {any} */ let slider;
  if (live) {
    slider = makeHistogram(
      $("hist"),
      {
        ...near(data, live.sigmas[live.sigmas.length - 1]),
        stops: live.sigmas,
        G: data.G,
        suggested: data.suggested,
        plateau: data.plateau,
        peaks: data.peaks,
      },
      { onInput: look },
    );
    slider.curve(live.steps.map((/** @type {any} */ step) => step.centers.length));
    $("back").addEventListener("click", () => {
      slider.focus();
      look(home);
    });
    $("copy-command").addEventListener("click", () => {
      const other = data.command.replace("{sigma}", String(live.sigmas[at]));
      copy(at === home ? data.saved_command : other, $("copy-command"));
    });
    look(home);
  } else {
    for (const figure of document.querySelectorAll("#sigma .static")) figure.classList.remove("static");
    paint();
  }

  // For whoever wants the labels at some bandwidth in the console, and for tests.
  const centerOf = (/** @type {number} */ j) => points.place(place[now.centers[j]]);
  Object.assign(globalThis, {
    crlm: { look, labels: () => now.labels, place: centerOf, stops: live?.sigmas ?? [] },
  });
})();
