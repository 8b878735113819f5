// The charts behind the answer of a comparison: single runs, two keys, tuning, cost, interim analyses. comparison.js has what they share.

// Every run a dot; runs of the same seed are joined.
const dots = () => {
  const kMostPairs = 60, kMostDots = 200, kDot = 6.6, notes = [], largest = most(groups.map(g => g.each?.length ?? 0));
  if (largest < 2) return null;
  const over = run => ["done", "diverged", "failed"].includes(run.state), runsOf = new Map();
  for (const g of groups) {
    if (!g.each) continue;
    const sorted = g.each.filter(run => run.value !== null).map(run => ({...run, value: number(run.value)})).sort((a, b) => a.value - b.value);
    const thin = runs => runs.length <= kMostDots ? runs : Array.from({length: kMostDots}, (_, i) => runs[Math.floor(i * (runs.length - 1) / (kMostDots - 1))]);
    runsOf.set(g, {having: thin(sorted), without: g.not_measured ? [] : thin(g.each.filter(run => run.value === null && over(run)))});
  }
  // Dots that would touch go to both sides in turn: no chance is in it.
  const swarm = half => {
    const placed = [], sides = Math.max(1, Math.floor(half / kDot));
    return y => {
      for (let k = 0; ; ++k) {
        const x = (k % 2 ? 1 : -1) * Math.ceil(k / 2) * kDot;
        if (k < 2 * sides && placed.some(p => Math.hypot(p[0] - x, p[1] - y) < kDot - 0.1)) continue;
        placed.push([x, y]);
        return x;
      }
    };
  };
  const panels = panelsOf(notes, (part, title) => {
    const columns = part.filter(g => runsOf.has(g)), anyLost = columns.some(g => runsOf.get(g).without.length);
    if (!columns.some(g => runsOf.get(g).having.length + runsOf.get(g).without.length)) return null;
    const draw = (width, state) => {
      const visible = columns.filter(g => !state.hidden.has(g.series)),
            all = visible.flatMap(g => [...runsOf.get(g).having.map(run => run.value), ...(g.at ? [g.at.centre, g.at.low, g.at.high] : [])]);
      const y = zoomed({...axisFor(all, state.y), whole: c.metric === "steps_to_target", label: c.metric}, state.zoom?.y), word = isTime ? "never" : "lost";
      const plot = new Plot(
        `${c.metric} of every run${title ? ", " + title : ""}`, width, {low: 0, high: Math.max(1, visible.length), label: ""}, y, state.hidden,
        {height: width > 420 ? 250 : 210, above: anyLost ? 22 : 0, xTicks: false, right: 4});
      const each = (plot.right - plot.left) / Math.max(1, visible.length), above = plot.top - 14;
      if (anyLost) plot.text(plot.left - 6, above + 4, word, "q", "end");
      const places = visible.map((g, i) => {
        const middle = plot.left + each * (i + 0.5), at = new Map(), put = swarm(each * 0.34), putLost = swarm(each * 0.34);
        for (const run of runsOf.get(g).having) { const py = plot.py(run.value); at.set(run.seed, [middle + put(py), py, run]); }
        for (const run of runsOf.get(g).without) at.set(run.seed, [middle + putLost(0), above, run]);
        return at;
      });
      places.slice(0, -1).forEach((here, i) => {
        if (here.size > kMostPairs || places[i + 1].size > kMostPairs) return;
        for (const [seed, [x1, y1]] of here) {
          const there = places[i + 1].get(seed);
          if (there) plot.segment(x1, y1, there[0], there[1], there[1] < y1 ? "pair up" : "pair");
        }
      });
      visible.forEach((g, i) => plot.group(g.series, () => {
        for (const [px, py, run] of places[i].values())
          plot.marker(
            run.value === null ? 4 : shapeOf(g.series), px, py, 4.8,
            `seed ${run.seed}: ${run.value === null ? `no value (${run.state})` : shown(run.value, 4)}`);
        const middle = plot.left + each * (i + 0.5), half = Math.min(each * 0.42, 60);
        if (g.at) {
          const at = isFinite(g.at.centre) ? plot.py(g.at.centre) : above;
          plot.segment(middle - half, at, middle + half, at, "centre");
          if (g.at.low < g.at.high) plot.whisker(middle, g.at.low, g.at.high, "centre", 5);
        }
        plot.text(middle, plot.bottom + 16, cutToWidth(nameOf(g), each - 4), "", "middle");
      }));
      return {plot};
    };
    return {title, draw};
  });
  if (!panels.length) return null;
  const joined = largest <= kMostPairs, all = [...runsOf.values()].flatMap(runs => runs.having.map(run => run.value));
  if (!joined) notes.push(`lines between runs of the same seed are left out, being more than ${kMostPairs}`);
  if (largest > kMostDots) notes.push(`at most ${kMostDots} runs of a variant are drawn, evenly by rank`);
  return {id: "distribution", heading: `Every run: ${c.metric}`, legend, panels, notes, y: spansDecades(all) ? "log" : "lin",
    reading: `Each mark is a run, spread sideways only where marks would touch; the long stroke is the ${estimateName}. ${joined ? "Runs of the same seed are joined between neighbours: a line that falls is solid, a line that rises is dashed. " : ""}${better} is better.`,
    numbers: {headers: [...groupHeaders, "runs with a value", "without", "lowest", centre, "highest"], rows: groups.filter(g => g.each).map(g => {
      const values = g.each.filter(run => run.value !== null).map(run => number(run.value));
      return [
        ...groupCells(g), values.length, runsOf.get(g).without.length, values.length ? least(values) : "-", g.at?.centre ?? "-",
        values.length ? most(values) : "-"
      ];
    })}};
};

// The metric over two swept keys: the compared one and the one that makes the facets.
const heatMap = () => {
  const key = widestKey(false), maps = new Map();
  if (!key || c.by === "variant" || c.by.startsWith("task.")) return null;
  for (const g of groups) {
    const title = titleWithout(g.facet, key), map = maps.get(title) ?? {rows: [], columns: [], cells: new Map()}, row = nameOf(g), column = g.facet.labels[key];
    maps.set(title, map);
    if (!map.rows.includes(row)) map.rows.push(row);
    if (!map.columns.includes(column)) map.columns.push(column);
    if (g.at && isFinite(g.at.centre) && !neverThere(g)) map.cells.set(row + "\n" + column, g);
  }
  const drawn = [...maps].filter(
    ([, map]) => map.cells.size && map.rows.length > 1 && map.columns.length > 1 && map.rows.length * map.columns.length <= 400 && map.columns.length <= 24);
  if (!drawn.length) return null;
  const all = drawn.flatMap(([, map]) => [...map.cells.values()].map(g => g.at.centre)), log = spansDecades(all), [low, high] = [least(all), most(all)];
  const [worst, best] = c.direction === "higher" ? [low, high] : [high, low], f = v => log ? Math.log(v) : v;
  const missing = drawn.some(([, map]) => map.cells.size < map.rows.length * map.columns.length), notes = [], name = c.names.keys[key];
  const panels = drawn.slice(0, kMostPanels).map(([title, map]) => {
    const leader = [...map.cells.values()].reduce((a, b) => b.place < a.place ? b : a), numbers = map.columns.map(asNumber), at = asNumber(leader.facet.labels[key]);
    if (map.columns.length > 2 && !numbers.some(Number.isNaN) && (at === least(numbers) || at === most(numbers)))
      notes.push(`the best cell${title ? ` (${title})` : ""} has the ${at === least(numbers) ? "lowest" : "highest"} ${name} that was tried: beyond it may be better`);
    const cells = map.rows.map(row => map.columns.map(column => {
      const g = map.cells.get(row + "\n" + column);
      return g ? {
        value: g.at.centre,
        level: best === worst ? 10 : Math.round(1 + 19 * (f(g.at.centre) - f(worst)) / (f(best) - f(worst))),
        best: g === leader,
        tip: `${row}, ${name} ${column}: ${interval(g.at)}`
      } :
                 null;
    }));
    return {
      title,
      draw: width => matrix({
        title: `${c.metric} by ${by} and ${name}`,
        width,
        rows: map.rows,
        columns: map.columns,
        rowLabel: by,
        columnLabel: name,
        cells,
        cellHeight: 34,
        widest: 110,
        bar: [1, 20, `${c.metric} ${shown(worst)}`, shown(best)]
      })
    };
  });
  return {id: "heat-map", heading: `${c.metric} by ${by} and ${name}`, panels, notes,
    reading: `Each cell is the ${centre} of its seeds; the stronger the shade, the better${log ? " (shades by the logarithm)" : ""}, and the best cell is outlined${missing ? `; hatched: ${isTime ? "no run got there" : "no value"}` : ""}.`,
    numbers: {headers: [...groupHeaders, "centre"], rows: groups.map(g => [...groupCells(g), g.at?.centre ?? "-"])}};
};

// The values that each variant was tuned to, and the scores that the choice rests on.
const tuning = () => {
  const t = c.tuning;
  if (!t?.variants.length) return null;
  const levelsOf = t.keys.map((_, k) => new Set(t.variants[0].curve.map(p => p.values[k]))),
        numeric = t.keys.map((_, k) => t.variants[0].curve.every(p => typeof p.values[k] === "number"));
  const axis = t.keys.reduce((best, _, k) => numeric[k] && levelsOf[k].size > (best < 0 ? 1 : levelsOf[best].size) ? k : best, -1);
  if (axis < 0) return null;
  const rest = p => t.short_keys.filter((_, k) => k !== axis).map((key, k) => `${key} ${p.values[k >= axis ? k + 1 : k]}`).join(", "), panels = [];
  for (const p of t.variants.flatMap(v => v.curve)) p.at = p.estimate && Object.fromEntries(Object.entries(p.estimate).map(([k, v]) => [k, number(v)]));
  for (let first = 0; first < t.variants.length; first += kMostInPanel) {
    const titles = [...new Set(t.variants.slice(first, first + kMostInPanel).flatMap(v => v.curve.map(rest)))];
    for (const title of titles)
      panels.push({
        title,
        curves: t.variants.slice(first, first + kMostInPanel)
                  .map((v, i) => [first + i, v.curve.filter(p => rest(p) === title).sort((a, b) => a.values[axis] - b.values[axis])])
      });
  }
  const tipOf = (v, p) => `${v.name} at ${t.short_keys.map((key, k) => `${key} ${p.values[k]}`).join(", ")}: ${p.at ? interval(p.at) : "no value"}${
    p.bad_runs ? `, ${p.bad_runs} bad runs` : ""}${p.chosen ? t.retune === "per_seed" ? `, chosen by ${p.chosen} seeds` : ", chosen" : ""}`;
  const draw = (panel, width, state) => {
    const points = panel.curves.filter(([v]) => !state.hidden.has(v)).flatMap(([, curve]) => curve), xs = points.map(p => p.values[axis]),
          kind = state.y === "log" ? "log" : "lin", f = v => kind === "log" ? Math.log(v) : v;
    const at = points.filter(p => p.at).map(p => p.at), centres = at.map(e => e.centre), apart = f(most(centres)) - f(least(centres));
    const shownValues = [...centres, ...at.filter(e => f(e.high) - f(e.low) <= apart).flatMap(e => [e.low, e.high])];
    const plot = new Plot(
      `Tuning of ${t.short_keys[axis]}`, width,
      zoomed({...axisFor(xs, least(xs) > 0 && most(xs) / least(xs) >= 8 ? "log" : "lin"), label: t.short_keys[axis]}, state.zoom?.x),
      zoomed({...axisFor(shownValues, kind), label: `${t.metric} of the tuning seeds`}, state.zoom?.y), state.hidden,
      {height: width > 420 ? 250 : 210, above: points.some(p => !p.at) ? 18 : 0});
    for (const [v, curve] of panel.curves)
      plot.group(v, () => plot.band(curve.filter(p => p.at && p.at.low < p.at.high).map(p => [p.values[axis], p.at.low, p.at.high])));
    for (const [v, curve] of panel.curves)
      plot.group(v, () => {
        plot.line(curve.map(p => [p.values[axis], p.at ? p.at.centre : NaN]), "l");
        curve.forEach((p, i) => {
          const x = plot.px(p.values[axis]), y = p.at ? plot.py(p.at.centre) : plot.top - 10, variant = t.variants[v];
          plot.marker(p.at ? shapeOf(v) : 4, x, y, 7, tipOf(variant, p));
          if (!p.chosen || !p.at) return;
          plot.into.append(svg("circle", {class: "ring", cx: x, cy: y, r: 9}));
          if (variant.edge.includes(t.keys[axis]) && (i === 0 || i === curve.length - 1))
            plot.text(x + (i ? -12 : 12), y - 10, i ? "at the edge: widen →" : "← at the edge: widen", "b", i ? "end" : "start");
        });
      });
    return {plot};
  };
  const centres = t.variants.flatMap(v => v.curve.filter(p => p.at).map(p => p.at.centre)), logs = t.variants.filter(v => v.logarithms).length;
  const kind = logs === 0      ? "mean" :
    logs === t.variants.length ? "geometric mean" :
                                 "mean, geometric where all values are positive,",
        banded = t.variants.some(v => v.curve.some(p => p.at && p.at.low < p.at.high));
  return {
    id: "tuning",
    heading: `Tuning: ${t.keys.join(" and ")}`,
    legend: t.variants.map((v, i) => [i, v.name]),
    panels: panels.map(panel => ({title: panel.title, draw: (width, state) => draw(panel, width, state)})),
    y: least(centres) > 0 ? spansDecades(centres) ? "log" : "lin" : undefined,
    reading: `Each line is a variant's ${t.metric} by ${t.keys.join(" and ")}: the ${kind} of the tuning runs that have it${
      t.by_ranks ?
        "; the choice is made by mean ranks, since a value has no logarithm" :
        ", by which the choice is made"}${banded ? `, with its ${level} interval (Student's t) as a band that may leave the picture` : ""}. A ring is ${
      t.retune === "per_seed" ? "what some seed chose" :
                                "the choice"}, with an arrow where it stands at the end of what was tried; ✕ above: no run had a value.`,
    numbers: {
      headers: ["variant", ...t.short_keys, t.metric, "centre", "low", "high", "bad runs", "chosen by seeds"],
      rows: t.variants.flatMap(
        v => v.curve.map(
          p =>
            [v.name, ...p.values, p.score ?? "-", p.at?.centre ?? "-", ...(p.at && p.at.low < p.at.high ? [p.at.low, p.at.high] : ["-", "-"]), p.bad_runs,
             p.chosen]))
    }
  };
};

// The metric against parameters, FLOPs and seconds.
const cost = () => {
  if (names.length > kMostTogether) return null;
  const beside = c.facets.length > 1 && facetKeys.length === 1 ? facetKeys[0] : null;
  const usable = groups.filter(g => g.at && isFinite(g.at.centre)), positive = usable.every(g => g.at.centre > 0);
  const beats = (a, b, key) => a[key] <= b[key] && a.place < b.place, overlap = (a, b) => c.direction === "higher" ? a.at.low <= b.at.high : a.at.high >= b.at.low;
  const standing = (g, all, key) => neverThere(g) ? 2 : most([0, ...all.filter(other => beats(other, g, key)).map(other => overlap(other, g) ? 1 : 2)]);
  const panels = [];
  for (const [key, title, label] of [
         ["parameters", "parameters", "parameters"], ["flops_per_token", "FLOPs per token", "forward FLOPs per token"],
         ["train_seconds", "seconds per run", "seconds per run"]]) {
    const all = usable.filter(g => g[key] > 0);
    if (new Set(all.map(g => g[key])).size < 2) continue;
    panels.push({title, draw: (width, state) => {
      let xs = all.map(g => g[key]);
      if (most(xs) < 1.25 * least(xs)) { const middle = Math.sqrt(least(xs) * most(xs)); xs = [middle / 1.12, middle * 1.12]; }
      const visible = all.filter(g => !state.hidden.has(g.series));
      const plot = new Plot(
        `${c.metric} against ${title}`, width, zoomed({...axisFor(xs, "log"), label}, state.zoom?.x),
        zoomed({...axisFor(visible.flatMap(g => [g.at.centre, g.at.low, g.at.high]), state.y === "log" ? "log" : "lin"), label: c.metric}, state.zoom?.y),
        state.hidden, {height: 210, right: 18});
      const stairs = [];
      for (const g of all.filter(g => standing(g, all, key) === 0).sort((a, b) => a[key] - b[key])) {
        if (stairs.length) stairs.push([g[key], stairs.at(-1)[1]]);
        stairs.push([g[key], g.at.centre]);
      }
      if (stairs.length) plot.line([...stairs, [plot.x.high, stairs.at(-1)[1]]], "stairs");
      const labelled = [];
      for (const g of visible) plot.group(g.series, () => {
        const x = plot.px(g[key]), y = plot.py(g.at.centre), stands = standing(g, all, key), text = beside ? g.facet.labels[beside] : "";
        if (stands === 2) plot.into.setAttribute("opacity", ".55");
        plot.whisker(x, g.at.low, g.at.high, "t", 0);
        plot.marker(
          shapeOf(g.series), x, y, 8, `${nameOf(g)}${g.facet.title ? ", " + g.facet.title : ""}: ${interval(g.at)} for ${shown(g[key])} ${title}`,
          stands > 0);
        if (!text || labelled.some(([a, b]) => Math.abs(a - x) < textWidth(text) + 8 && Math.abs(b - y) < 13)) return;
        plot.text(x + 7, y - 5, cutToWidth(text, 70), "q");
        labelled.push([x, y]);
      });
      return {plot};
    }});
  }
  if (!panels.length) return null;
  return {
    id: "cost",
    heading: `Cost against quality: ${c.metric}`,
    legend,
    panels,
    y: positive ? c.scale === "log_ratio" ? "log" : "lin" : undefined,
    reading: `Each mark is a variant${beside ? ` at the ${c.names.keys[beside]} written beside it` : ""}; further left is cheaper, ${
      better
        .toLowerCase()} is better. Filled marks, joined by the dashed line: no cheaper variant is better. Hollow marks: a cheaper one is better; faint: by more than both intervals.`,
    numbers: {
      headers: [...groupHeaders, c.metric, "parameters", "FLOPs per token", "seconds per run"],
      rows: groups.map(g => [...groupCells(g), g.at?.centre ?? "-", g.parameters, g.flops_per_token, g.train_seconds])
    }
  };
};

// How far a sequential design has come.
const interim = () => {
  if (!c.sequential?.looks.length) return null;
  const all = c.facets.flatMap(facet => facet.pairs.filter(pair => pair.sequential).map(pair => {
    const decided = pair.verdict === "no meaningful difference" ? pair.sequential.negligible_at :
      ["better", "worse"].includes(pair.verdict)                ? pair.sequential.different_at :
                                                                  null;
    return {
      pair,
      decided,
      series: series.get(pair.value),
      label:
        [facet.title, names[series.get(pair.value)] + (pair.reference === c.reference ? "" : ` against ${pair.reference_label}`)].filter(t => t).join(", ")
    };
  }));
  if (!all.length) return null;
  const rows = all.slice(0, 40), verdicts = 1.1 * most(rows.map(row => textWidth(row.pair.verdict))) + 12;
  const draw = (width, state) => {
    const plot = new Plot(
      "Interim analyses", width, {low: 0, high: c.sequential.maxima.at(-1) * 1.02, kind: "lin", whole: true, label: "seeds"},
      {low: 0, high: rows.length, label: "comparison"}, state.hidden, {
        height: 24 * rows.length,
        left: Math.min(most(rows.map(row => textWidth(row.label))), width * 0.4) + 12,
        right: Math.min(verdicts + 8, Math.max(96, width * 0.55)),
        yTicks: false
      });
    for (const end of c.sequential.maxima) plot.segment(plot.px(end), plot.top, plot.px(end), plot.bottom, "target");
    rows.forEach((row, i) => {
      const y = plot.top + 24 * (i + 0.5), {looked_at} = row.pair.sequential;
      plot.text(0, y + 4, cutToWidth(row.label, plot.left - 10));
      plot.group(row.series, () => {
        plot.segment(plot.left, y, plot.px(looked_at), y, "t");
        for (const seeds of c.sequential.looks.filter(n => n <= looked_at)) {
          if (seeds === row.decided)
            plot.marker(shapeOf(row.series), plot.px(seeds), y, 10, `${row.label}: ${row.pair.verdict} since the interim analysis at ${seeds} seeds`);
          else plot.segment(plot.px(seeds), y - 4, plot.px(seeds), y + 4, "t");
        }
      });
      plot.text(plot.right + 6, y + 4, cutToWidth(row.pair.verdict, (width - plot.right - 6) / 1.05), row.decided ? "b" : "q");
    });
    return {plot};
  };
  return {
    id: "interim-analyses",
    heading: "Interim analyses",
    panels: [{draw}],
    zooms: false,
    notes: all.length > 40 ? [`the first 40 of ${all.length} comparisons are drawn; the table has all`] : [],
    reading: "Upright strokes: interim analyses; the mark: where the verdict stood first; the dotted line: the declared maximum of seeds.",
    numbers: {
      headers: ["comparison", "seeds analysed", "verdict", "stands since"],
      rows: all.map(row => [row.label, row.pair.sequential.looked_at, row.pair.verdict, row.decided ?? "-"])
    }
  };
};

const comparison = () => {
  const curves = c.curves.map(learning).filter(figure => figure), answers = curves.find(figure => figure.id === "learning-curves-" + slug(c.metric));
  const picture = lawPicture() ?? (isTime ? reached() : answers ?? null), others = isTime ? curves : [reached(), ...curves.filter(figure => figure !== picture)];
  return [[differenceBySize() ?? effects(), picture], [c.ladder ? effects() : null, levels(), dots(), ...others, heatMap(), tuning(), cost(), interim(), ...surfaces(c.surfaces)]];
};
