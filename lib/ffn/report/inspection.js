// The charts of an inspection, a trace, and of networks over all of their input.

// ---- networks over all of their input: planes of up to three seeds beside each other, curves over each other

const surfaces = of => {
  const out = [];
  for (const kind of ["classes", "numbers", "curve"]) {
    const panels = (of?.panels ?? []).filter(panel => panel.surfaces[0].kind === kind);
    if (!panels.length) continue;
    const curve = kind === "curve", inputs = panels[0].surfaces[0].inputs.join(" and "), seeds = Math.max(...panels.map(panel => panel.surfaces.length)),
          zeros = panels.some(panel => panel.surfaces.some(s => s.zeros.length));
    const kinds = panels.flatMap(panel => panel.surfaces.map(s => s.kinds)).reduce((a, b) => b.length > a.length ? b : a, []),
          widest = panels.reduce((a, b) => b.names.length > a.names.length ? b : a).names;
    const marks = "illed points are training examples, hollow points validation examples";
    out.push({
      id: curve            ? "fitted-curve" :
        kind === "classes" ? "decision-regions" :
                             "output-plane",
      heading: (curve                ? "Fitted curve over " :
                  kind === "classes" ? "Decision regions over " :
                                       "Output over ") +
        inputs,
      legend: (curve ? widest : kinds).map((name, i) => [i, name]),
      panels: panels.map(panel => ({title: panel.title, draw: (width, state) => curve ? drawCurves(panel, width, state) : drawPlanes(panel, width)})),
      notes: out.length ? [] : of.notes,
      reading: (seeds > 1 ? `A ${curve ? "line" : "square"} for each of the first ${seeds} seeds that left weights. ` : "") +
        (curve ? `F${marks}${seeds > 1 ? " of the first seed" : ""}.` :
                 `${
                   kind === "classes" ? "The colour is the predicted class, the stronger the more probable." :
                                        "The colour is the sign of the output, the stronger the further from 0."} F${marks}, in the colour of their ${
                   kind === "classes" ? "class" : "target's sign"}.`) +
        (zeros ? curve ? " Strokes on the axis mark where a hidden unit of the first layer changes sign." :
                         " Thin lines mark where a hidden unit of the first layer changes sign." :
                 "")
    });
  }
  return out;
};
const drawCurves = (panel, width, state) => {
  const first = panel.surfaces[0], places = s => s.values.map((v, k) => [s.low[0] + (s.high[0] - s.low[0]) * (k + 0.5) / s.values.length, number(v)]);
  const all = [...(first.marks ?? []).map(mark => mark[1]), ...panel.surfaces.flatMap(s => s.values.map(number))];
  const plot = new Plot(
    `Network over ${first.inputs[0]}`, width, zoomed({low: first.low[0], high: first.high[0], kind: "lin", label: first.inputs[0]}, state.zoom?.x),
    zoomed({...axisFor(all), label: "target"}, state.zoom?.y), state.hidden);
  plot.group(null, () => { for (const [x, y, , trained] of first.marks ?? []) plot.marker(0, plot.px(x), plot.py(y), 4, null, !trained); });
  panel.surfaces.forEach((s, i) => plot.group(i, () => {
    plot.line(places(s), "l");
    for (const zero of s.zeros) plot.segment(plot.px(zero[0][0]), plot.bottom - 7, plot.px(zero[0][0]), plot.bottom, "t");
  }));
  return {plot};
};
const drawPlanes = (panel, width) => {
  const gap = 12, left = 34, top = 36, n = panel.surfaces.length, size = Math.min((width - left - gap * (n - 1)) / n, 420), first = panel.surfaces[0];
  const node = svg("svg", {
    role: "img",
    width,
    height: top + size + 38,
    viewBox: `0 0 ${width} ${top + size + 38}`,
    "aria-label": `Network over ${first.inputs.join(" and ")}${panel.title ? ", " + panel.title : ""}`
  });
  const plot = {into: node, path: Plot.prototype.path, marker: Plot.prototype.marker}, text = (...words) => Plot.prototype.text.call({over: node}, ...words);
  text(0, 12, cutToWidth(first.inputs[1], width), "q");
  panel.surfaces.forEach((s, i) => {
    const x0 = left + (size + gap) * i, px = v => x0 + size * (v - s.low[0]) / (s.high[0] - s.low[0]),
          py = v => top + size - size * (v - s.low[1]) / (s.high[1] - s.low[1]);
    const {side, runs} = s.cells, paths = new Map();
    for (let at = 0, k = 0; k < runs.length; k += 2)
      for (let rest = runs[k + 1]; rest > 0;) {  // rows from below, a run may go on in the next
        const column = at % side, length = Math.min(rest, side - column);
        if (runs[k] >= 0 && runs[k] % 9) paths.set(runs[k], (paths.get(runs[k]) ?? "") + `M${column} ${side - 1 - Math.floor(at / side)}.5h${length}`);
        at += length;
        rest -= length;
      }
    const cells = svg("g", {class: "cells", transform: `translate(${x0.toFixed(1)} ${top})scale(${(size / side).toFixed(4)})`, "shape-rendering": "crispEdges"});
    for (const [code, d] of paths)
      cells.append(svg("path", {class: seriesClass(Math.floor(code / 9)), stroke: "currentColor", opacity: (0.56 * (code % 9) / 8).toFixed(2), d}));
    node.append(cells, svg("rect", {class: "frame", x: x0, y: top, width: size, height: size}));
    for (const line of s.zeros)
      if (line.length === 2)
        plot.path(`M${px(line[0][0]).toFixed(1)} ${py(line[0][1]).toFixed(1)}L${px(line[1][0]).toFixed(1)} ${py(line[1][1]).toFixed(1)}`, "pair");
    for (const [x, y, kind, trained] of s.marks ?? []) {
      if (x < s.low[0] || x > s.high[0] || y < s.low[1] || y > s.high[1]) continue;
      plot.into = node.appendChild(svg("g", {class: seriesClass(kind)}));
      plot.marker(shapeOf(kind), px(x), py(y), size > 200 ? 5 : 3.2, null, !trained);
      plot.into = node;
    }
    text(x0 + size / 2, top - 6, cutToWidth(panel.names[i], size), "q", "middle");
    for (const v of linearTicks(s.low[0], s.high[0], size > 200 ? 5 : 3)) text(px(v), top + size + 14, tickLabel(v), "q", "middle");
    if (i === 0)
      for (const v of linearTicks(s.low[1], s.high[1], size > 200 ? 5 : 3)) text(left - 5, py(v) + 4, tickLabel(v), "q", "end");
  });
  text(left + n * (size + gap) - gap, top + size + 32, first.inputs[0], "q", "end");
  return node;
};

// ---- an inspection, and a trace

const inspection = () => {
  const parts = data.blocks.flatMap((block, b) => block.hidden.map((hidden, e) => [`Block ${b}${block.routing ? `, expert ${e}` : ""}`, hidden])),
        routers = data.blocks.map((block, b) => [`Block ${b}`, block.routing]).filter(([, r]) => r?.each);
  const bars = (title, bars, axisX, label, even) => ({title, draw: (width, state) => {
    const plot = new Plot(`${label}, ${title}`, width, axisX, {...axisFor([...bars.map(bar => bar.height), even ?? 0], "lin", true), label}, state.hidden, {height: 150});
    for (const bar of bars) {
      const [x, y] = [plot.px(bar.from) + 1, plot.py(bar.height)];
      plot.group(
        0,
        () => plot.into.append(
          svg("rect", {x, y, width: plot.px(bar.to) - x - 1, height: Math.max(0, plot.bottom - y), fill: "currentColor", "data-tip": bar.tip})));
    }
    if (even) plot.segment(plot.left, plot.py(even), plot.right, plot.py(even), "zero");
    return {plot};
  }});
  const figure = (id, heading, reading, panels, more = {}) => panels.length ? {id, heading, reading, panels, zooms: false, widest: 480,
    notes: panels.length > kMostPanels ? [`the first ${kMostPanels} of ${panels.length} panels are drawn; --json has the numbers of all`] : [], ...more} : null;
  const mean = parts.filter(([, hidden]) => hidden.patterns.inputs.length);
  return [
    surfaces(data.surfaces).concat([
      figure(
        "loads", "How much each expert gets", "Bars are shares of all (token, choice) pairs; the line is an even share.",
        routers.map(
          ([title, r]) => bars(
            title, r.each.map((e, i) => ({from: i - 0.4, to: i + 0.4, height: 100 * e.load, tip: `expert ${i}: ${shown(100 * e.load)} %`})),
            {low: -0.5, high: r.each.length - 0.5, whole: true, label: "expert"}, "share of assignments, %", 100 / r.each.length))),
    ]),
    [
      figure(
        "positions", "Which positions go to which expert",
        "A row is an expert, a column a position in the window; the stronger the shade, the larger the share of the position's tokens that goes to that expert.",
        routers.filter(([, r]) => r.each[0].by_position.length > 1)
          .map(([title, r]) => ({
                 title,
                 draw: signed(
                   title, r.each.flatMap(e => e.by_position), r.each[0].by_position.length,
                   {rows: r.each.map((_, i) => String(i)), rowLabel: "expert", columnLabel: "position"})
               }))),
      figure(
        "together", "Which experts go together", "A cell is the share of tokens that go to both experts; on the diagonal, to that one.",
        routers.some(([, r]) => r.top_k > 1) ?
          routers.map(([title, r]) => ({
                        title,
                        draw: signed(
                          title, r.together, r.each.length,
                          {rows: r.each.map((_, i) => String(i)), columns: r.each.map((_, i) => String(i)), rowLabel: "expert", columnLabel: "expert"})
                      })) :
          []),
      figure(
        "rates", "How often neurons fire",
        "Bars count neurons by the share of tokens on which their pre-activation (the gate's in a gated layer) is above 0; those far left are all but dead, those far right all but linear.",
        parts.filter(([, h]) => h.rates && h.tokens)
          .map(
            ([title, h]) => bars(
              title, h.rates.map((n, i) => ({
                                   from: 100 * i / h.rates.length,
                                   to: 100 * (i + 1) / h.rates.length,
                                   height: n,
                                   tip: `${count(n)} neurons fire on ${100 * i / h.rates.length} to ${100 * (i + 1) / h.rates.length} % of tokens`
                                 })),
              {low: 0, high: 100, label: "share of tokens, %"}, "neurons")),
        {
          numbers: {
            headers: ["", "from", "to", "neurons"],
            rows: parts.filter(([, h]) => h.rates && h.tokens).flatMap(([title,
                                                                         h]) => h.rates.map((n, i) => [title, i / h.rates.length, (i + 1) / h.rates.length, n]))
          }
        }),
      figure(
        "patterns", "Input × neuron",
        `A row is ${
          data
            .pattern_rows}, a column a neuron, a cell the neuron's mean activation there: blue above 0, orange below. Neurons stand by the row on which they are strongest.` +
          (mean.some(([, h]) => data.kinds > h.patterns.inputs.length) ? ` Drawn are the ${mean[0][1].patterns.inputs.length} most frequent rows.` : ""),
        mean.map(([title, h]) => ({
                   title,
                   draw: signed(`Mean activations, ${title}`, h.patterns.mean, h.patterns.neurons.length, {
                     rows: h.patterns.inputs,
                     names: h.patterns.neurons.map(n => `neuron ${n}`),
                     columns: h.patterns.neurons.length <= 24 ? h.patterns.neurons.map(String) : [],
                     columnLabel: h.patterns.neurons.length === h.neurons ? "neuron" : `neuron, the ${h.patterns.neurons.length} that differ most between rows`
                   })
                 })),
        {widest: 900}),
      figure(
        "attention", "Attention", "Mean weights over the inputs: a row is a position that looks, a column one that it looks at.",
        data.blocks.flatMap(
          (block, b) => (block.attention ?? []).map((head, h) => ({
                                                      title: `Block ${b}, head ${h}`,
                                                      draw: signed(
                                                        `Block ${b}, head ${h}, mean attention`, head.mean_map, Math.round(Math.sqrt(head.mean_map.length)),
                                                        {square: true, columnLabel: "position looked at →"})
                                                    })))),
    ]
  ];
};
const trace = () =>
  [data.blocks.flatMap((block, b) => {
    const of = data.blocks.length > 1 ? ` of block ${b}` : "",
          steps = block.steps.map(step => ({
                                    title: `${step.meaning}: ${step.name}  (${step.rows.length}, ${step.width})`,
                                    draw: signed(step.name, step.values, step.width, {rows: step.rows})
                                  }));
    const heads = block.attention.map(
      head => ({title: head.name, draw: signed(`Attention, ${head.name}`, head.values, head.rows.length, {rows: head.rows, columns: head.rows, peak: 1})}));
    return [
      steps.length ? {
        id: `steps-${b}`,
        heading: of ? `Block ${b}` : "Step by step",
        panels: steps,
        widest: 480,
        reading: `Each row is a token and goes its way by itself; blue is above 0, orange below, the stronger the further from it, on a scale for each step.${
          block.routes.length ? ` ${block.routes.join("; ")}.` : ""}`,
        numbers: {
          headers: ["step", "row", "values"],
          rows: block.steps.flatMap(
            step => step.rows.map((row, r) => [step.name, row, step.values.slice(r * step.width, (r + 1) * step.width).map(v => shown(number(v))).join(" ")]))
        }
      } :
                      null,
      heads.length ? {
         id: `heads-${b}`,
        heading: `Attention${of}`,
        panels: heads,
        widest: 480,
        reading: "A row is a token that looks, a column one that it looks at, a cell how much; each row adds up to 1."
      } :
                      null
    ];
  }),
   []];
