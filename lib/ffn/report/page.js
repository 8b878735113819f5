// The rest of a page: which charts it has, and its tables. Without it the tables remain.

document.body.append(svg(
  "svg", {width: 0, height: 0, "aria-hidden": "true", class: "defs"},
  svg(
    "defs", {},
    svg(
      "pattern", {id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)"},
      svg("path", {class: "gr", "stroke-width": 3, d: "M0 0v6"})))));
// The table stands below the first chart where it fits into its column, and in several lines a row where it fits nowhere.
const table = document.getElementById("table"), charts = document.getElementById("charts"), left = html("div", {});
const placeTable = () => {
  const rows = table.querySelector("table"), columns = getComputedStyle(document.getElementById("first")).gridTemplateColumns.split(" ");
  rows.classList.remove("stacked");
  const fits = left.isConnected && columns.length > 1 && rows.scrollWidth <= parseFloat(columns[0]);
  if (fits !== left.contains(table)) fits ? left.append(table) : charts.before(table);
  rows.classList.toggle("stacked", rows.scrollWidth > rows.parentElement.clientWidth);
};
const [first, others] = data.front ? search() : data.facets ? comparison() : data.outcomes ? trace() : data.blocks ? inspection() : [[], []];
for (const [id, specs] of [["first", first], ["charts", others]]) {
  const into = document.getElementById(id);
  if (!into) continue;
  if (id === "first" && table && specs.every(spec => spec)) into.append(left);
  for (const spec of specs) if (spec) new Figure(spec, left.isConnected && !left.firstChild ? left : into);
}
if (table) { placeTable(); addEventListener("resize", placeTable); }

for (const head of document.querySelectorAll(".sortable th")) {
  const column = [...head.parentNode.children].indexOf(head), body = head.closest("table").querySelector("tbody");
  const button = html("button", {type: "button", class: "key"}, ...head.childNodes);
  head.append(button);
  button.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") !== "descending";
    for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = row => { const cell = row.children[column]; return "v" in cell.dataset ? Number(cell.dataset.v) : cell.textContent; };
    const order = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", {numeric: true});
    body.append(...[...body.children].sort((a, b) => (down ? -1 : 1) * order(value(a), value(b))));
  });
}

let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const part of closed) part.open = true;
});
addEventListener("afterprint", () => { for (const part of closed) part.open = false; });

// The page of `ffn-train watch` reloads every five seconds, and keeps what the reader has unfolded, hidden, switched and enlarged.
if (live) {
  const nameOf = part => (part.closest("[id]")?.id ?? "") + part.querySelector("summary").textContent;
  for (const part of document.querySelectorAll("details")) part.open = (kept.open ?? []).includes(nameOf(part));
  setInterval(() => {
    if (document.hidden) return;
    sessionStorage.setItem(location.pathname, JSON.stringify({open: [...document.querySelectorAll("details[open]")].map(nameOf),
      figures: Object.fromEntries(figures.map(({spec, state}) => [spec.id, {...state, hidden: [...state.hidden]}]))}));
    location.reload();
  }, 5000);
}
