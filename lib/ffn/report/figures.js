// Figures with a legend, switches and a table of their numbers, and cells of numbers.

const live = document.querySelector("main[data-live]") !== null;
const kept = live ? JSON.parse(sessionStorage.getItem(location.pathname) ?? "{}") : {};
const figures = [];
const kMostInPanel = 12, kMostPanels = 24, kMostTogether = 20;

// {id, heading, reading, legend: [[series, name]], panels: [{title, draw(width, state) → {plot, hover} | <svg>}], x, y: "lin" | "log" at first,
//  undefined without a switch; notes, numbers: {headers, rows}, zooms}
class Figure {
  constructor(spec, into) {
    this.spec = spec;
    const before = kept.figures?.[spec.id] ?? {};
    this.state = {x: spec.x && (before.x ?? spec.x), y: spec.y && (before.y ?? spec.y), hidden: new Set(before.hidden ?? []), zoom: before.zoom ?? {}};
    this.node = html("figure", {id: spec.id, class: "chart" + (spec.panels.length > 1 ? " many" : "")});
    this.node.append(html("h2", {}, spec.heading), html("p", {class: "reading"}, spec.reading));
    const switches = html("div", {class: "switches"});
    for (const axis of ["x", "y"]) {
      if (!spec[axis]) continue;
      const box = html("input", {type: "checkbox", "data-axis": axis});
      box.checked = this.state[axis] === "log";
      box.addEventListener("change", () => { this.state[axis] = box.checked ? "log" : "lin"; this.state.zoom = {}; this.draw(); });
      switches.append(html("label", {}, box, ` logarithmic ${axis} axis`));
    }
    this.whole = html("button", {type: "button", class: "whole"}, "whole picture");
    this.whole.addEventListener("click", () => { this.state.zoom = {}; this.draw(); });
    switches.append(this.whole);
    this.panels = html("div", {class: "panels"});
    this.node.append(html("div", {class: "controls"}, spec.legend?.length > 1 && spec.legend.length <= kMostTogether ? this.legend() : null, switches), this.panels);
    for (const note of spec.notes ?? []) this.node.append(html("p", {class: "note"}, note.charAt(0).toUpperCase() + note.slice(1) + "."));
    if (spec.numbers?.rows.length) this.node.append(html("details", {}, html("summary", {}, "The numbers"), numbersTable(spec.numbers)));
    into.append(this.node);
    this.draw();
    let width = this.node.clientWidth;
    new ResizeObserver(() => { if (Math.abs(this.node.clientWidth - width) > 1) { width = this.node.clientWidth; this.draw(); } }).observe(this.node);
    figures.push(this);
  }
  legend() {
    const out = html("div", {class: "legend"});
    for (const [series, name] of this.spec.legend) {
      const swatch = svg("svg", {width: 30, height: 14, "aria-hidden": "true"}), plot = {into: svg("g", {class: seriesClass(series)}), path: Plot.prototype.path};
      plot.path("M0 7H30", "l");
      Plot.prototype.marker.call(plot, shapeOf(series), 15, 7, 8);
      swatch.append(plot.into);
      const key = html(
        "button", {type: "button", class: "key", "data-series": series, "aria-pressed": String(!this.state.hidden.has(series)), title: "show or hide"}, swatch,
        name);
      key.addEventListener("click", () => {
        const hidden = this.state.hidden;
        if (!hidden.delete(series)) hidden.add(series);
        key.setAttribute("aria-pressed", String(!hidden.has(series)));
        this.draw();
      });
      out.append(key);
    }
    return out;
  }
  draw() {
    const {spec, state} = this, room = this.node.clientWidth || 600;
    for (const axis of ["x", "y"]) if (spec[axis]) this.node.dataset[axis] = state[axis];
    this.whole.hidden = !Object.keys(state.zoom).length;
    const columns = spec.panels.length === 1 ? 1 : Math.max(1, Math.min(spec.panels.length, 4, Math.floor((room + 20) / (spec.least ?? 300))));
    const width = Math.floor(Math.min((room - 20 * (columns - 1)) / columns, spec.widest ?? 760));
    this.panels.replaceChildren(...spec.panels.slice(0, kMostPanels).map((panel, i) => {
      const made = panel.draw(width, {...state, zoom: state.zoom[i]}), node = made.plot?.node ?? made;
      listen(made.plot ?? made, made.hover, made.plot&& spec.zooms !== false ? zoom => {
        if (zoom) state.zoom[i] = zoom;
        else delete state.zoom[i];
        this.draw();
      } : null);
      return html("div", {class: "panel"}, panel.title ? html("h3", {}, panel.title) : null, node);
    }));
  }
}
const numbersTable = ({headers, rows}) => {
  const numeric = headers.map((_, k) => rows.some(row => typeof row[k] === "number"));
  const cell = (value, k) => html(
    "td", {class: numeric[k] ? "n" : null},
    typeof value !== "number" ? value ?? "-" :
      Number.isInteger(value) ? count(value).replace("-", "−") :
                                shown(value, 4));
  return html(
    "div", {class: "scroll"},
    html(
      "table", {class: "numbers"}, html("thead", {}, html("tr", {}, ...headers.map((h, k) => html("th", {scope: "col", class: numeric[k] ? "n" : null}, h)))),
      html("tbody", {}, ...rows.map(row => html("tr", {}, ...row.map(cell))))));
};
const zoomed = (axis, range) => range ? {...axis, low: range[0], high: range[1]} : axis;

// ---- cells of numbers: {title, width, rows, columns (names; may be fewer than numColumns), cells: [[{value, level, tip, best} | null]], bar: [from, to, low, high]}

const matrix = m => {
  const columns = m.numColumns ?? m.columns.length, label = m.rows.length ? Math.min(most([m.rowLabel ?? "", ...m.rows].map(t => textWidth(t))), m.width * 0.3) + 10 : 0;
  const each = Math.min((m.width - label - 2) / columns, m.widest ?? 46), height = m.cellHeight ?? Math.max(m.square ? Math.min(each, 46) : 18, 3),
        top = m.columns.length ? 42 :
    m.columnLabel              ? 20 :
                                 4;
  const bottom = top + height * m.cells.length,
        node = svg("svg", {role: "img", width: m.width, height: bottom + 30, viewBox: `0 0 ${m.width} ${bottom + 30}`, "aria-label": m.title});
  const text = (x, y, words, cls, anchor) => {
    const t = svg("text", {x: x.toFixed(1), y: y.toFixed(1), class: cls, "text-anchor": anchor});
    t.textContent = words;
    node.append(t);
  };
  if (m.rowLabel && m.columns.length) text(label - 8, top - 8, cutToWidth(m.rowLabel, label - 8), "q", "end");
  if (m.columnLabel) text(label, 12, m.columnLabel, "q", "start");
  const skip = Math.max(1, Math.ceil(26 / each));
  m.columns.forEach((name, k) => { if (each > 60 || k % skip === 0) text(label + each * (k + 0.5), top - 8, cutToWidth(name, each * skip - 2), "", "middle"); });
  const skipRows = Math.ceil(13 / height);
  m.cells.forEach((row, r) => {
    const y = top + height * r, gap = height > 8 && each > 8 ? 1 : 0;
    if (m.rows[r] !== undefined && r % skipRows === 0) text(label - 8, y + height / 2 + 4, cutToWidth(m.rows[r], label - 8), "", "end");
    row.forEach((cell, k) => {
      const x = label + each * k, box = {
        x: (x + gap).toFixed(1),
        y: (y + gap).toFixed(1),
        width: Math.max(0.5, each - 2 * gap).toFixed(1),
        height: Math.max(0.5, height - 2 * gap).toFixed(1)
      };
      if (!cell) {
        node.append(svg("rect", {class: "none", ...box}));
        return;
      }
      const shade = (cell.level < 0 ? "n" : "p") + Math.abs(cell.level);
      if (cell.level || cell.tip) node.append(svg("rect", {class: shade, "data-tip": cell.tip, ...box}));
      const digits = [3, 2, 1].find(n => textWidth(shown(cell.value, n), 11) <= each - 4);
      if (digits && height > 14 && each > 24) text(x + each / 2, y + height / 2 + 4, shown(cell.value, digits), "in " + shade, "middle");
      if (cell.best) node.append(svg("rect", {class: "best", x: x + 2.5, y: y + 2.5, width: each - 5, height: height - 5}));
    });
  });
  const [from, to, low, high] = m.bar, start = textWidth(low) + 6;
  text(0, bottom + 21, low, "q", "start");
  for (let l = from; l <= to; ++l)
    node.append(svg("rect", {
      class: (l < 0 ? "n" : "p") + Math.abs(l),
      x: start + 100 * (l - from) / (to - from + 1),
      y: bottom + 11,
      width: 100 / (to - from + 1) + 0.5,
      height: 12
    }));
  text(start + 106, bottom + 21, high, "q", "start");
  return node;
};
// Above 0 in blue, below in orange, the stronger the further from it.
const signed = (title, values, numColumns, {rows = [], columns = [], names = [], peak, ...more}) => {
  const all = values.map(number), largest = peak ?? Math.max(...all.filter(isFinite).map(Math.abs), 1e-300), below = all.some(v => v < 0);
  const cells = Array.from({length: all.length / numColumns}, (_, r) => all.slice(r * numColumns, (r + 1) * numColumns).map((value, k) => Number.isFinite(value)
    ? {value, level: Math.round(20 * Math.max(-1, Math.min(1, value / largest))), tip: `${rows[r] ?? r}, ${columns[k] ?? names[k] ?? k}: ${shown(value)}`} : null));
  return width => matrix({title, width, rows, columns, numColumns, cells, bar: [below ? -20 : 0, 20, below ? shown(-largest) : "0", shown(largest)], ...more});
};
