// Draws the pages that `ffn-train report`, `watch` and `inspect -o` write: axes, a Plot (one panel), hover
// and zoom. The other scripts follow in the same function (html.cpp).
const data = JSON.parse(document.getElementById("data").textContent);

// ---- helpers

const NS = "http://www.w3.org/2000/svg";
const element = (node, attributes, children) => {
  for (const [name, value] of Object.entries(attributes ?? {})) if (value !== undefined && value !== null) node.setAttribute(name, value);
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
};
const html = (tag, attributes, ...children) => element(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => element(document.createElementNS(NS, tag), attributes, children);
const number = x => x === null || x === undefined || x === "nan" ? NaN : x === "inf" ? Infinity : x === "-inf" ? -Infinity : x;
const slug = text => text.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-+|-+$/g, "");
const seriesClass = i => `s s${i % 10} d${i % 4}`;
const shapeOf = i => (i + Math.floor(i / 5)) % 5;  // five colours and five shapes would repeat together
const least = values => values.reduce((a, b) => b < a ? b : a, Infinity), most = values => values.reduce((a, b) => b > a ? b : a, -Infinity);
const pen = document.createElement("canvas").getContext("2d");
pen.font = '100px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif';
const textWidth = (text, size = 12) => pen.measureText(text).width * size / 100;
const cutToWidth = (text, width, size = 12) => {
  const letters = [...text];
  while (letters.length > 1 && textWidth(letters.join("") + (letters.length < text.length ? "…" : ""), size) > width) letters.pop();
  return letters.join("") + (letters.length < [...text].length ? "…" : "");
};
const asNumber = text => text !== "" && isFinite(text) ? Number(text) : NaN;
const superscript = n => String(n).replace(/[-0-9]/g, c => c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]);
const count = n => Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ",");

// "0.0123", "1.50", "2.8·10⁻⁷"; − is U+2212.
const shown = (x, digits = 3) => {
  if (Number.isNaN(x)) return "-";
  if (!isFinite(x)) return x > 0 ? "∞" : "−∞";
  if (x === 0) return "0";
  const size = Math.abs(x), power = Math.floor(Math.log10(Number(size.toPrecision(digits))));
  const text = power < -4 || power > 8 ? `${(size / 10 ** power).toFixed(digits - 1)}·10${superscript(power)}`
    : size.toFixed(Math.max(0, digits - 1 - power));
  return (x < 0 ? "−" : "") + text;
};
const interval = e => {
  const [centre, low, high] = [e.centre, e.low, e.high].map(number);
  return low === high || Number.isNaN(low) ? shown(centre) : `${shown(centre)} [${shown(low)}, ${shown(high)}]`;
};
const tickLabel = x => {
  const size = Math.abs(x), plain = v => String(Number(v.toPrecision(6)));
  if (x === 0) return "0";
  let text = plain(size);
  if (size < 1e-3 || size >= 1e12) {
    const power = Math.floor(Math.log10(size) + 1e-9), factor = plain(size / 10 ** power);
    text = (factor === "1" ? "" : factor + "·") + "10" + superscript(power);
  } else for (const [unit, name] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]]) if (size >= unit) { text = plain(size / (name === "k" ? 1e3 : unit)) + name; break; }
  return (x < 0 ? "−" : "") + text;
};

// ---- axes: {low, high, kind: "lin" | "log" | "log2", whole}

// 1, 2 or 5 times a power of ten apart: the rule of D3 (d3-array, src/ticks.js). Integers times the step, so that 0.3 is 0.3.
const linearTicks = (low, high, wanted) => {
  const rough = (high - low) / wanted;
  if (!(rough > 1e-300) || !isFinite(rough)) return [low];
  const power = Math.floor(Math.log10(rough)), error = rough / 10 ** power;
  const factor = error >= Math.sqrt(50) ? 10 : error >= Math.sqrt(10) ? 5 : error >= Math.sqrt(2) ? 2 : 1;
  const step = power >= 0 ? 10 ** power * factor : 1, inverse = power < 0 ? 10 ** -power / factor : 1;
  const out = [], last = Math.floor(high / step * inverse + 1e-9);
  for (let i = Math.ceil(low / step * inverse - 1e-9); i <= last && out.length < 50; ++i) out.push(i * step / inverse);
  return out;
};
// [value, label]; an empty label is a stroke alone.
const ticksOf = (axis, wanted) => {
  if (axis.ticks) return axis.ticks(axis.low, axis.high, wanted);
  const decades = Math.log10(axis.high / axis.low), out = [];
  if (axis.kind === "log2") {
    const from = Math.ceil(Math.log2(axis.low) - 1e-9), to = Math.floor(Math.log2(axis.high) + 1e-9), every = Math.ceil((to - from + 1) / wanted);
    for (let k = from; k <= to; k += every) out.push([2 ** k, tickLabel(2 ** k)]);
    return out;
  }
  if (axis.kind !== "log" || decades < 0.9) return linearTicks(axis.low, axis.high, wanted).filter(x => !axis.whole || x === Math.round(x)).map(x => [x, tickLabel(x)]);
  const every = Math.max(1, Math.ceil(decades / wanted));
  for (let k = Math.floor(Math.log10(axis.low)); k <= Math.log10(axis.high); ++k) {
    for (let m = 1; m < 10; ++m) {
      const x = Number((m * 10 ** k).toPrecision(12));
      if (x < axis.low * (1 - 1e-9) || x > axis.high * (1 + 1e-9)) continue;
      const labelled = decades < 2 ? m === 1 || m === 2 || m === 5 : m === 1 && k % every === 0;
      if (labelled || every === 1) out.push([x, labelled ? tickLabel(x) : ""]);
    }
  }
  return out;
};
// A little wider than the values, and never of no length.
const axisFor = (values, kind = "lin", withZero = false) => {
  const usable = values.filter(x => isFinite(x) && (kind === "lin" || x > 0));
  if (withZero && kind === "lin") usable.push(0);
  if (!usable.length) usable.push(kind === "lin" ? 0 : 1);
  const low = least(usable), high = most(usable), alike = high - low <= 1e-9 * Math.max(Math.abs(low), Math.abs(high));
  if (kind !== "lin") { const margin = alike ? 2 : (high / low) ** 0.04; return {low: low / margin, high: high * margin, kind}; }
  const margin = alike ? Math.max(0.5, Math.abs(low) / 2) : (high - low) * 0.04;
  return {low: low === 0 && !alike ? 0 : low - margin, high: high + margin, kind};
};
const quantile = (sorted, p) => {
  const at = p * (sorted.length - 1), below = Math.floor(at), above = Math.min(sorted.length - 1, below + 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - below);
};

// ---- a panel's picture: axes, and what charts draw with. Series that are hidden draw nothing.

const kTickRoom = 58;
class Plot {
  // layout: {height, left, right, above, below, xTicks, yTicks}; x and y: axes with a label.
  constructor(title, width, x, y, hidden, layout = {}) {
    Object.assign(this, {width, x, y, hidden, title});
    this.left = Math.max(layout.left ?? 0, layout.yTicks === false ? 8 : 46);
    this.right = width - (layout.right ?? 14);
    this.top = 22 + (layout.above ?? 0);
    this.bottom = this.top + (layout.height ?? 240);
    const height = this.bottom + 38 + (layout.below ?? 0);
    this.node = svg("svg", {role: "img", width, height, viewBox: `0 0 ${width} ${height}`, "aria-label": title});
    const clip = `clip-${Plot.made = (Plot.made ?? 0) + 1}`;
    this.node.append(svg("clipPath", {id: clip}, svg("rect", {x: this.left, y: this.top - (layout.above ?? 0) - 3, width: this.right - this.left,
      height: this.bottom - this.top + (layout.above ?? 0) + 6})));
    this.back = this.node.appendChild(svg("g"));
    this.inside = this.node.appendChild(svg("g", {"clip-path": `url(#${clip})`}));
    this.over = this.node.appendChild(svg("g"));
    this.into = this.inside;
    if (layout.xTicks !== false) this.drawTicksX();
    if (layout.yTicks !== false) this.drawTicksY();
    const frame = [`M${this.left} ${this.bottom}H${this.right}`, layout.yTicks !== false ? `M${this.left} ${this.top}V${this.bottom}` : ""].join("");
    this.back.append(svg("path", {class: "ax", d: frame}));
    this.text(0, 12, y.label + (y.kind === "log" ? " (logarithmic)" : ""), "q", "start", this.back);
    this.text(this.right, this.bottom + 32, x.label + (x.kind && x.kind !== "lin" ? " (logarithmic)" : ""), "q", "end", this.back);
  }
  share(axis, v) {
    if (!axis.kind || axis.kind === "lin") return (v - axis.low) / (axis.high - axis.low);
    return Math.log(Math.max(v, axis.low * 1e-3) / axis.low) / Math.log(axis.high / axis.low);
  }
  px(v) { return Math.max(-9e4, Math.min(9e4, this.left + this.share(this.x, v) * (this.right - this.left))); }
  py(v) {
    return v === Infinity ? this.top - 9 :
      v === -Infinity     ? this.bottom + 9 :
                            Math.max(-9e4, Math.min(9e4, this.bottom - this.share(this.y, v) * (this.bottom - this.top)));
  }
  value(axis, share) { return !axis.kind || axis.kind === "lin" ? axis.low + share * (axis.high - axis.low) : axis.low * (axis.high / axis.low) ** share; }
  drawTicksX() {
    let free = -Infinity;
    this.marksX = [];
    for (const [v, label] of ticksOf(this.x, Math.max(2, Math.floor((this.right - this.left) / kTickRoom)))) {
      const at = this.px(v), half = textWidth(label) / 2 + 3, middle = Math.min(at, this.width - half + 2);
      this.back.append(svg("path", {class: label ? "gr" : "ax", d: `M${at.toFixed(1)} ${label ? this.top : this.bottom}V${this.bottom + 4}`}));
      if (!label || middle - half < free) continue;
      this.text(middle, this.bottom + 16, label, "q tx", "middle", this.back);
      this.marksX.push(v);
      free = middle + half;
    }
  }
  drawTicksY() {
    for (const [v, label] of ticksOf(this.y, Math.max(2, Math.floor((this.bottom - this.top) / 44)))) {
      const at = this.py(v).toFixed(1);
      if (label) this.back.append(svg("path", {class: "gr", d: `M${this.left} ${at}H${this.right}`}));
      this.text(this.left - 6, Number(at) + 4, label, "q ty", "end", this.back);
    }
  }
  group(series, draw) {
    if (series !== null && this.hidden.has(series)) return;
    const outer = this.into;
    this.into = svg("g", series === null ? {} : {class: seriesClass(series)});
    draw();
    if (this.into.childNodes.length) outer.append(this.into);
    this.into = outer;
  }
  text(x, y, text, cls = "", anchor = "start", into = this.over) {
    const node = svg("text", {x: x.toFixed(1), y: y.toFixed(1), class: cls || null, "text-anchor": anchor === "start" ? null : anchor});
    node.textContent = text;
    into.append(node);
    return node;
  }
  path(d, cls, attributes = {}) { if (d) this.into.append(svg("path", {class: cls, d, ...attributes})); }
  // Through points [x, y] of values, with gaps where one is none.
  line(points, cls) {
    let d = "", pen = "M";
    for (const [x, y] of points) {
      if (Number.isNaN(x) || Number.isNaN(y)) { pen = "M"; continue; }
      d += pen + this.px(x).toFixed(1) + " " + this.py(y).toFixed(1);
      pen = "L";
    }
    this.path(d, cls);
  }
  // Between points [x, low, high].
  band(points) {
    const usable = points.filter(([, low, high]) => !Number.isNaN(low) && !Number.isNaN(high)), at = (x, y) => this.px(x).toFixed(1) + " " + this.py(y).toFixed(1);
    if (usable.length > 1) this.path("M" + [...usable.map(([x, , high]) => at(x, high)), ...usable.reverse().map(([x, low]) => at(x, low))].join("L") + "z", "band");
  }
  segment(x1, y1, x2, y2, cls) { this.path(`M${x1.toFixed(1)} ${y1.toFixed(1)}L${x2.toFixed(1)} ${y2.toFixed(1)}`, cls); }
  // An upright interval with caps, in pixels sideways.
  whisker(x, low, high, cls = "t", cap = 3) {
    const [a, b] = [this.py(low), this.py(high)];
    this.path(
      `M${x.toFixed(1)} ${a.toFixed(1)}V${b.toFixed(1)}M${(x - cap).toFixed(1)} ${a.toFixed(1)}h${2 * cap}M${(x - cap).toFixed(1)} ${b.toFixed(1)}h${2 * cap}`,
      cls);
  }
  // One of ● ■ ▲ ◆ ✕, which differ without colour, at pixels.
  marker(shape, x, y, size, tip, hollow = false) {
    const r = size / 2, n = v => v.toFixed(1);
    const shapes = [() => `M${n(x - r)} ${n(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
      () => `M${n(x - r)} ${n(y - r)}h${2 * r}v${2 * r}h${-2 * r}z`, () => `M${n(x)} ${n(y - 1.2 * r)}l${n(1.2 * r)} ${n(2.1 * r)}h${n(-2.4 * r)}z`,
      () => `M${n(x)} ${n(y - 1.3 * r)}l${n(1.3 * r)} ${n(1.3 * r)}l${n(-1.3 * r)} ${n(1.3 * r)}l${n(-1.3 * r)} ${n(-1.3 * r)}z`,
      () => `M${n(x - r)} ${n(y - r)}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`];
    this.path(shapes[shape](), "m" + (shape === 4 ? " x" : hollow ? " h" : ""), tip ? {"data-tip": tip} : {});
  }
  // Names at the ends of lines, moved apart: [{series, name, y (pixels), lost}].
  endLabels(ends) {
    const apart = 14, order = ends.filter(e => !this.hidden.has(e.series)).sort((a, b) => a.y - b.y);
    let free = this.top + 6;
    for (const end of order) { end.at = Math.max(free, Math.min(end.y + 4, this.bottom + 4)); free = end.at + apart; }
    let limit = this.bottom + 4;
    for (const end of [...order].reverse()) { end.at = Math.min(end.at, limit); limit = end.at - apart; }
    this.into = this.over;
    for (const end of order) this.group(end.series, () => {
      this.marker(end.lost ? 4 : shapeOf(end.series), this.right + 8, end.at - 4, 7);
      this.text(this.right + 15, end.at, cutToWidth(end.name, this.width - this.right - 17), "", "start", this.into);
    });
    this.into = this.inside;
  }
}

// ---- what lies under the pointer

const tip = html("div", {id: "tip"});
tip.hidden = true;
document.body.append(tip);
const showTip = (text, event) => {
  tip.textContent = text;
  tip.hidden = false;
  const room = document.documentElement.clientWidth - tip.offsetWidth - 8, below = event.clientY + 18 + tip.offsetHeight < innerHeight;
  tip.style.left = Math.max(4, Math.min(event.clientX + 14, room)) + scrollX + "px";
  tip.style.top = event.clientY + scrollY + (below ? 18 : -tip.offsetHeight - 10) + "px";
};
const listen = (plot, hover, zoom) => {
  const node = plot.node ?? plot, marks = [...node.querySelectorAll("[data-tip]")];
  const cursor = svg("path", {class: "ax", visibility: "hidden"}), frame = svg("rect", {class: "zoom", visibility: "hidden"});
  node.append(cursor, frame);
  const place = event => {
    const box = node.getBoundingClientRect(), scale = node.viewBox.baseVal.width / box.width;
    return [(event.clientX - box.x) * scale, (event.clientY - box.y) * scale];
  };
  let from = null;
  const inFrame = ([x, y]) => plot.node && x >= plot.left && x <= plot.right && y >= plot.top && y <= plot.bottom;
  node.addEventListener("pointermove", event => {
    const at = place(event);
    if (from) {
      const clamp = (v, low, high) => Math.max(low, Math.min(high, v)), to = [clamp(at[0], plot.left, plot.right), clamp(at[1], plot.top, plot.bottom)];
      element(
        frame,
        {visibility: "visible", x: Math.min(from[0], to[0]), y: Math.min(from[1], to[1]), width: Math.abs(to[0] - from[0]), height: Math.abs(to[1] - from[1])},
        []);
      tip.hidden = true;
      return;
    }
    let best = null, away = 18;
    for (const mark of marks) {
      const box = mark.getBoundingClientRect();
      const outside = mark.tagName === "rect" ?
        Math.hypot(Math.max(box.left - event.clientX, 0, event.clientX - box.right), Math.max(box.top - event.clientY, 0, event.clientY - box.bottom)) :
        Math.hypot(event.clientX - box.x - box.width / 2, event.clientY - box.y - box.height / 2);
      if (outside < away) { best = mark; away = outside; }
    }
    cursor.setAttribute("visibility", "hidden");
    if (best) return showTip(best.dataset.tip, event);
    if (!hover?.length || !inFrame(at)) { tip.hidden = true; return; }
    const near = hover.reduce((a, b) => Math.abs(a[0] - at[0]) <= Math.abs(b[0] - at[0]) ? a : b);
    element(cursor, {visibility: "visible", d: `M${near[0].toFixed(1)} ${plot.top}V${plot.bottom}`}, []);
    showTip(near[1](), event);
  });
  node.addEventListener("pointerleave", () => { tip.hidden = true; cursor.setAttribute("visibility", "hidden"); });
  if (!zoom) return;
  node.addEventListener("pointerdown", event => {
    if (event.pointerType !== "mouse" || event.button !== 0 || !inFrame(place(event))) return;
    from = place(event);
    node.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  node.addEventListener("pointerup", event => {
    if (!from) return;
    const [a, b] = [from, place(event)];
    from = null;
    frame.setAttribute("visibility", "hidden");
    const across = (p, q, low, high, axis) => [p, q].map(v => Math.max(0, Math.min(1, (v - low) / (high - low)))).sort((u, v) => u - v).map(s => plot.value(axis, s));
    if (Math.abs(a[0] - b[0]) > 6 && Math.abs(a[1] - b[1]) > 6)
      zoom({x: across(a[0], b[0], plot.left, plot.right, plot.x), y: across(a[1], b[1], plot.bottom, plot.top, plot.y)});
  });
  node.addEventListener("dblclick", () => zoom(null));
};
