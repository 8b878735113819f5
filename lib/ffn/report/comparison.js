// The charts that answer a comparison: differences, the share of runs at the target, learning curves, levels of a key. No statistics are
// computed here.

// Names and groups, for all charts of a comparison.
const shared = () => {
  const c = data, level = `${Number((100 * (1 - c.alpha)).toPrecision(4))} %`, better = c.direction === "higher" ? "Higher" : "Lower";
  const isTime = c.metric.endsWith("_to_target"), unit = c.metric === "flops_to_target" ? "FLOPs" : c.metric === "seconds_to_target" ? "seconds" : "steps";
  const by = c.names.keys[c.by], centre = c.names.centre, estimateName = `${centre} with its ${level} interval`;
  // The same variant has the same colour, dashes and marker everywhere; a bare number says nothing: "expansion 4".
  const series = new Map(), names = [];
  for (const facet of c.facets) for (const group of facet.groups) {
    if (series.has(group.value)) continue;
    series.set(group.value, names.length);
    names.push(!Number.isNaN(asNumber(group.label)) && group.label === group.value ? `${by} ${group.label}` : group.label);
  }
  let order = 0;
  const groups = c.facets.flatMap(facet => facet.groups.map(group => Object.assign(group, {facet, order: order++, series: series.get(group.value)})));
  for (const group of groups) group.at = group.estimate && Object.fromEntries(Object.entries(group.estimate).map(([k, v]) => [k, number(v)]));
  const nameOf = group => names[group.series], legend = names.map((name, i) => [i, name]);
  const facetKeys = Object.keys(c.facets[0]?.keys ?? {});
  const groupHeaders = [...facetKeys.map(key => c.names.keys[key]), by], groupCells = g => [...facetKeys.map(key => g.facet.labels[key]), g.label];
  const neverThere = g => isTime && g.hits === 0;
  // A panel for each facet; of more than twelve variants several, the reference in each.
  const panelsOf = (notes, make) => {
    const out = [];
    for (const facet of c.facets) {
      const parts = facet.groups.length <= kMostInPanel ?
        [facet.groups] :
        Array.from(
          {length: Math.ceil((facet.groups.length - 1) / (kMostInPanel - 1))},
          (_, i) => [facet.groups[0], ...facet.groups.slice(1 + i * (kMostInPanel - 1), 1 + (i + 1) * (kMostInPanel - 1))]);
      parts.forEach((part, i) => out.push([part, [facet.title, parts.length > 1 ? `part ${i + 1}` : ""].filter(t => t).join(", ")]));
    }
    if (out.length > kMostPanels) notes.push(`the first ${kMostPanels} of ${out.length} panels are drawn; the table has all`);
    return out.slice(0, kMostPanels).map(([part, title]) => make(part, title)).filter(panel => panel);
  };
  const widestKey = numeric => {
    let best = null, values = 1;
    for (const key of facetKeys) {
      const of = new Set(c.facets.map(f => f.keys[key]));
      if (of.size > values && (!numeric || [...of].every(v => !Number.isNaN(asNumber(v))))) { best = key; values = of.size; }
    }
    return best;
  };
  const titleWithout = (facet, key) => facetKeys.filter(k => k !== key).map(k => `${c.names.keys[k]} ${facet.labels[k]}`).join(", ");
  const spansDecades = values => least(values) > 0 && most(values) > 20 * least(values);
  return {
    c, level, better, isTime, unit, by, centre, estimateName, series, names, groups, nameOf,
    legend, facetKeys, groupHeaders, groupCells, neverThere, panelsOf, widestKey, titleWithout, spansDecades
  };
};
const {
  c, level, better, isTime, unit, by, centre, estimateName, series, names, groups, nameOf,
  legend, facetKeys, groupHeaders, groupCells, neverThere, panelsOf, widestKey, titleWithout, spansDecades
} = data.facets ? shared() : {};

// Differences from the reference, a row each.
const effects = () => {
  const reference = names[series.get(c.reference)] ?? c.names.reference;
  const rows = [], ratios = c.scale === "log_ratio";
  for (const facet of c.facets) {
    const pairs = facet.pairs.filter(pair => pair.reference === c.reference && pair.effect);
    if (pairs.length && c.facets.length > 1) rows.push({heading: facet.title});
    for (const pair of pairs)
      rows.push({
        pair,
        series: series.get(pair.value),
        low: number(pair.effect.interval.low),
        high: number(pair.effect.interval.high),
        size: number(pair.effect.value)
      });
  }
  if (!rows.some(row => row.pair)) return null;
  const kMostRows = 40, notes = rows.length > kMostRows ? [`the first ${kMostRows} rows are drawn; the table has all`] : [];
  const drawn = rows.slice(0, kMostRows), ends = [0, ...drawn.flatMap(row => row.pair ? [row.low, row.high, row.size] : [])];
  const finite = ends.filter(isFinite), hasNumbers = finite.some(x => x !== 0) || finite.length === ends.length;
  const axis = hasNumbers ? axisFor(finite, "lin", true) : {low: 0, high: 0, kind: "lin"}, room = axis.high > axis.low ? 0.2 * (axis.high - axis.low) : 1;
  if (ends.includes(-Infinity)) axis.low = Math.min(axis.low, -room);
  if (ends.includes(Infinity)) axis.high = Math.max(axis.high, room);
  if (axis.low === 0) axis.low = -0.04 * axis.high;
  if (axis.high === 0) axis.high = -0.04 * axis.low;
  const sign = x => (x > 0 ? "+" : "") + tickLabel(x);
  axis.ticks = (low, high, wanted) => {
    if (!hasNumbers) return [[0, "0"]];
    if (!ratios) return linearTicks(low, high, wanted).map(x => [x, sign(x)]);
    if (c.ratios_as === "percent")
      return linearTicks(100 * Math.expm1(low), 100 * Math.expm1(high), wanted)
        .filter(x => x > -100)
        .map(x => [Math.log1p(x / 100), sign(x) + (x ? " %" : "")]);
    return ticksOf({low: Math.exp(low), high: Math.exp(high), kind: "log"}, wanted)
      .filter(([, label]) => label)
      .map(([x]) => [Math.log(x), x < 1 ? "÷" + tickLabel(Number((1 / x).toPrecision(6))) : "×" + tickLabel(x)]);
  };
  axis.label = "";
  const margin = ratios ? Math.log1p(c.min_effect) : c.min_effect, decided = pair => ["better", "worse", "no meaningful difference"].includes(pair.verdict);
  const draw = (width, state) => {
    const wide = width > 560, height = wide ? 26 : 40, label = Math.min(Math.max(...drawn.map(row => row.pair ? textWidth(names[row.series]) : 0)) + 12, width * 0.34);
    const texts = wide ? Math.min(Math.max(...drawn.map(row => row.pair ? textWidth(row.pair.text) : 0)) + 18, width * 0.45) : 8;
    const plot = new Plot(
      `Differences from ${reference}`, width, axis, {low: 0, high: drawn.length, label: ""}, state.hidden,
      {height: height * drawn.length, left: label, right: texts, yTicks: false});
    plot.text(plot.left, 12, `← ${c.direction === "higher" ? "worse" : "better"}`, "q");
    plot.text(plot.right, 12, `${c.direction === "higher" ? "better" : "worse"} →`, "q", "end");
    if (margin > 0)
      plot.back.append(
        svg("rect", {class: "margin", x: plot.px(-margin), y: plot.top, width: plot.px(margin) - plot.px(-margin), height: plot.bottom - plot.top}));
    plot.segment(plot.px(0), plot.top, plot.px(0), plot.bottom, "zero");
    drawn.forEach((row, i) => {
      const top = plot.top + height * i, y = top + (wide ? height / 2 : 13);
      if (!row.pair) { plot.text(0, y + 4, cutToWidth(row.heading, plot.right), "b"); return; }
      if (plot.hidden.has(row.series)) return;
      plot.text(0, y + 4, cutToWidth(names[row.series], label - 6));
      plot.text(plot.right + (wide ? 10 : 0), wide ? y + 4 : top + 32, cutToWidth(row.pair.text, wide ? texts - 10 : width - label), wide ? "q" : "q halo", wide ? "start" : "end");
      plot.group(row.series, () => {
        const endless = !isFinite(row.size), low = endless && row.size > 0 ? Math.min(0, row.low) : row.low,
              high = endless && row.size < 0 ? Math.max(0, row.high) : row.high;
        const end = (v, way) => isFinite(v) ? plot.px(v) : way < 0 ? plot.left + 1 : plot.right - 1, [a, b] = [end(low, -1), end(high, 1)];
        const empty = !endless && (row.pair.effect.interval.empty || (low === -Infinity && high === Infinity)),
              cap = (x, v, way) => isFinite(v) ? `M${x} ${y - 5}v10` : `M${x - way * 5} ${y - 4}L${x} ${y}L${x - way * 5} ${y + 4}`;
        if (!empty) plot.path(`M${a} ${y}H${b}` + cap(a, low, -1) + cap(b, high, 1), "t");
        if (!endless)
          plot.marker(
            shapeOf(row.series), plot.px(row.size), y, 9,
            `${names[row.series]} against ${row.pair.reference_label}: ${row.pair.text}\n${row.pair.verdict}, ${row.pair.seeds} seeds`, !decided(row.pair));
      });
    });
    return {plot};
  };
  return {id: "effects", heading: `Differences from ${reference}: ${c.metric}`, panels: [{draw}], notes, widest: 900, zooms: false,
    reading: `Bar: the ${level} interval of the difference; mark: the estimate, hollow while undecided; upright line: no difference` + (margin > 0 ? "; shaded: too small to matter" : "") + "."};
};

// The share of runs that have reached the target over steps.
const reached = () => {
  const notes = [], lostBy = (g, t) => g.each.filter(run => "lost_at" in run && run.lost_at <= t).length;
  // For a reader a run is over at the step at which it gets there, and when it is lost.
  const underWay = (g, t) =>
    g.each.filter(run => "budget" in run && (run.hit !== null ? run.hit > t : run.budget >= t) && !("lost_at" in run && run.lost_at <= t)).length;
  const panels = panelsOf(notes, (part, title) => {
    const drawn = part.filter(g => g.reached);
    if (!drawn.length) return null;
    const steps = drawn.flatMap(g => g.reached.steps), times = steps.map(s => s.time), positive = times.filter(t => t > 0), first = least(positive);
    const allThere = drawn.every(g => g.reached.steps.length && g.reached.steps.at(-1).share >= 1), budget = most(drawn.map(g => g.reached.follow_up));
    const end = Math.max(allThere ? most(times) * 1.04 : budget, 1e-9);
    const begin = isFinite(first) && first > 0.4 * end ? Math.min(0.9 * first, first - 0.15 * (end - first)) : 0;
    const draw = (width, state) => {
      const log = state.x === "log" && isFinite(first);
      const x = zoomed(
        {
          ...(log ? {low: first / 1.3, high: Math.max(end, first * 2), kind: "log"} : {low: begin, high: end, kind: "lin"}),
          whole: unit === "steps",
          label: unit
        },
        state.zoom?.x);
      const shownGroups = drawn.filter(g => !state.hidden.has(g.series)), lost = shownGroups.filter(g => lostBy(g, Infinity));
      const rows = shownGroups.length + 1 + (lost.length ? lost.length + 1 : 0), left = Math.min(most(drawn.map(g => textWidth(nameOf(g)))) + 34, 150);
      const plot = new Plot(
        `Runs that have reached the target${title ? ", " + title : ""}`, width, x,
        zoomed({low: 0, high: 1.02, kind: "lin", label: "share of runs at the target"}, state.zoom?.y), state.hidden,
        {height: width > 420 ? 240 : 190, below: 15 * rows + 8, left});
      for (const g of drawn) plot.group(g.series, () => {
        const line = [[x.low, 0]], band = [[x.low, 0, 0]];
        let share = 0, low = 0, high = 0, open = true;
        for (const step of g.reached.steps) {
          line.push([step.time, share], [step.time, step.share]);
          if (open) band.push([step.time, low, high]);
          share = step.share;
          if (step.low === undefined) open = false;  // all are there: no interval
          else if (open) { low = step.low; high = step.high; band.push([step.time, low, high]); }
        }
        const last = Math.min(g.reached.follow_up, x.high);
        line.push([last, share]);
        if (open) band.push([last, low, high]);
        plot.band(band);
        plot.line(line, "l");
        const every = Math.max(1, Math.ceil(g.reached.steps.length / 5));
        g.reached.steps.forEach((step, i) => {
          if (i % every === 0 || i === g.reached.steps.length - 1)
            plot.marker(
              shapeOf(g.series), plot.px(step.time), plot.py(step.share), 7, `${nameOf(g)}: ${shown(100 * step.share)} % by ${tickLabel(step.time)} ${unit}`);
        });
        const at = t => g.reached.steps.filter(s => s.time <= t).at(-1)?.share ?? 0, crosses = new Map();
        for (const run of g.each) {
          if (run.hit === null && !("lost_at" in run) && "budget" in run)
            plot.segment(plot.px(run.budget), plot.py(share) - 4, plot.px(run.budget), plot.py(share) + 4, "t");
          if ("lost_at" in run) crosses.set(run.lost_at, (crosses.get(run.lost_at) ?? 0) + 1);
        }
        for (const [t, n] of crosses) plot.marker(4, plot.px(t), plot.py(at(t)), 7, `${nameOf(g)}: ${n} diverged or failed at ${tickLabel(t)} ${unit}`);
      });
      let y = plot.bottom + 50;
      const table = (heading, of, counted) => {
        plot.text(0, y, heading, "q");
        for (const g of of) {
          y += 15;
          plot.into = plot.over;
          plot.group(g.series, () => { plot.marker(shapeOf(g.series), 5, y - 4, 7); plot.text(14, y, cutToWidth(nameOf(g), plot.left - 28)); });
          for (const t of plot.marksX) plot.text(plot.px(t), y, String(counted(g, t)), "q risk", "middle");
        }
        y += 15;
      };
      table("still under way", shownGroups, underWay);
      if (lost.length) table("diverged or failed", lost, lostBy);
      return {plot};
    };
    return {title, draw};
  });
  if (!panels.length) return null;
  return {
    id: "steps-to-target",
    heading: `${unit.charAt(0).toUpperCase() + unit.slice(1)} to the target`,
    legend,
    panels,
    notes,
    x: "lin",
    reading: `A line climbs when runs reach the target: further left is sooner, and where it ends below 1 the rest never got there. Band: ${
      level} interval (Kaplan–Meier, log(−log)); upright strokes: runs that ended without it; ✕: runs that diverged or failed before.`,
    numbers: {
      headers: [...groupHeaders, "runs", "reached", "first", "median", "last"],
      rows: groups.filter(g => g.reached)
              .map(
                g =>
                  [...groupCells(g), g.each.filter(run => "budget" in run).length, g.hits, g.reached.steps[0]?.time, g.reached.median ?? "not reached",
                   g.reached.steps.at(-1)?.time])
    }
  };
};

const learning = set => {
  const steps = set.steps, last = steps.at(-1), notes = [...set.notes], [lowest, highest] = set.range.map(x => x === null ? NaN : number(x)),
        whole = isFinite(lowest) && isFinite(highest);
  const curves = set.groups.map(curve => ({centre: curve.centre.map(number), low: curve.low.map(number), high: curve.high.map(number), gone: curve.gone ?? [],
    runs: curve.runs.map(run => ({...run, values: run.values.map(number)}))}));
  const curveOf = g => curves[g.order], isLost = run => run.state === "diverged" || run.state === "failed",
        endOf = curve => curve.centre.findLastIndex(x => !Number.isNaN(x));
  if (curves.some(curve => curve.runs.some(isLost)))
    notes.push(
      "✕: a run diverged or failed" +
      (curves.some(curve => curve.gone.some(n => n)) ?
         ". From there the line, dotted, is the median and the band the quartiles of all runs, lost ones being worst, so that survivors do not flatter" :
         ""));
  const lostText = g => {
    const {runs, centre: values} = curveOf(g), lost = runs.filter(isLost), end = endOf(curveOf(g));
    if (!lost.length || end < 0 || (isFinite(values[end]) && (lost.length < runs.length || end === steps.length - 1))) return "";
    const kinds = new Set(lost.map(run => run.state));
    return ` (${lost.length < runs.length ? `${lost.length} of ${runs.length} ` : ""}${kinds.size > 1 ? "lost" : [...kinds][0]})`;
  };
  // The first percent of the steps, where a loss falls from its start, does not set the range, nor does one seed of a hundred; a share is shown whole.
  const valuesOf = (part, log) => {
    const begin = whole ? 0 : 0.01 * last, out = set.target === null ? [] : [set.target];
    for (const g of part) {
      const curve = curveOf(g),
            seeds = curve.runs.flatMap(run => run.values.filter((v, i) => isFinite(v) && steps[set.run_steps[i]] >= begin && (!log || v > 0)))
                      .sort((a, b) => a - b);
      if (seeds.length) out.push(quantile(seeds, whole ? 0 : 0.01), quantile(seeds, whole ? 1 : 0.99));
      curve.centre.forEach((v, i) => { if (steps[i] >= begin) out.push(v, curve.high[i], ...(whole ? [curve.low[i]] : [])); });
    }
    return out.filter(v => isFinite(v) && (!log || v > 0));
  };
  const axisY = (values, log) => {
    const axis = axisFor(values, log ? "log" : "lin"), margin = 0.04 * (highest - lowest);
    if (!log && whole) { axis.low = Math.max(axis.low, lowest - margin); axis.high = Math.min(axis.high, highest + margin); }
    return axis;
  };
  const parts = [], panels = panelsOf(notes, (part, title) => {
    const drawn = part.filter(g => curves[g.order]?.centre.some(x => !Number.isNaN(x)));
    if (!drawn.length) return null;
    parts.push(drawn);
    return {title, draw: (width, state) => draw(drawn, title, width, state)};
  });
  if (!panels.length) return null;
  // One y axis for all panels, so that they can be compared; none where a panel would have too little of it.
  const length = (values, log) => values.length ? log ? Math.log(most(values) / least(values)) : most(values) - least(values) : 0;
  const shared = log => {
    const all = parts.flatMap(part => valuesOf(part, log)), own = parts.map(part => length(valuesOf(part, log), log));
    return own.every(x => x === 0 || x >= 0.1 * length(all, log)) ? axisY(all, log) : null;
  };
  const sharedAxis = {lin: shared(false), log: shared(true)};
  if (!sharedAxis[set.log_y ? "log" : "lin"]) notes.push("the panels are too far apart for one y axis: each has its own");
  const draw = (part, title, width, state) => {
    const log = state.y === "log", first = steps.find(s => s > 0) ?? 1, wide = width > 500;
    const y = zoomed({...(sharedAxis[state.y] ?? axisY(valuesOf(part, log), log))}, state.zoom?.y);
    const x = zoomed(
      {
        ...(state.x === "log" ? {low: first, high: Math.max(2 * first, last), kind: "log"} : {low: 0, high: Math.max(1, last), kind: "lin"}),
        whole: true,
        label: "step"
      },
      state.zoom?.x);
    const shownCurves = part.map(curveOf), above = shownCurves.some(k => k.centre.some(v => isFinite(v) && v > y.high)),
          below = shownCurves.some(k => k.centre.some(v => isFinite(v) && v < y.low && (!log || v > 0)));
    y.label = set.metric + (state.zoom || !(above || below) ? "" : `; cut: lines begin ${above && below ? "beyond" : above ? "above" : "below"}`);
    const plot = new Plot(`Learning curves of ${set.metric}${title ? ", " + title : ""}`, width, x, y, state.hidden,
      {height: wide ? 270 : 210, right: wide ? Math.min(most(part.map(g => textWidth(nameOf(g) + lostText(g)))), 160) + 20 : 12});
    if (set.target !== null) plot.segment(plot.left, plot.py(set.target), plot.right, plot.py(set.target), "target");
    for (const g of part) plot.group(g.series, () => {
      for (const run of curveOf(g).runs) {
        plot.line(run.values.map((v, i) => [steps[set.run_steps[i]], v]).filter(([, v]) => isFinite(v)), "seed");
        const end = run.values.findLastIndex(isFinite);
        if (isLost(run) && end >= 0) plot.marker(4, plot.px(steps[set.run_steps[end]]), plot.py(run.values[end]), 7, `seed ${run.seed} ${run.state}`);
      }
    });
    for (const g of part) plot.group(g.series, () => {
      const curve = curveOf(g), gone = curve.gone.findIndex(n => n > 0), cut = gone < 0 ? steps.length : gone;
      plot.band(steps.map((s, i) => [s, curve.low[i], curve.high[i]]));
      plot.line(steps.slice(0, cut).map((s, i) => [s, curve.centre[i]]), "l");
      plot.line(steps.slice(cut).map((s, i) => [s, isFinite(curve.centre[cut + i]) ? curve.centre[cut + i] : NaN]), "l frag");
      let next = plot.left + 20 + 17 * (g.series % 4);
      steps.forEach((s, i) => {
        const at = plot.px(s);
        if (at >= next && isFinite(curve.centre[i])) {
          plot.marker(shapeOf(g.series), at, plot.py(curve.centre[i]), 7);
          next = at + 70;
        }
      });
    });
    if (wide) plot.endLabels(part.map(g => {
      const curve = curveOf(g), lost = lostText(g);
      return {series: g.series, name: nameOf(g) + lost, lost, y: lost ? (set.higher ? plot.bottom : plot.top) : plot.py(curve.centre[endOf(curve)])};
    }));
    const hover = steps.map((s, i) => [plot.px(s), () => [`step ${count(s)}`, ...part.filter(g => !state.hidden.has(g.series) && !Number.isNaN(curveOf(g).centre[i]))
      .map(g => `${nameOf(g)} ${interval({centre: curveOf(g).centre[i], low: curveOf(g).low[i], high: curveOf(g).high[i]})}`)].join("\n")]);
    return {plot, hover};
  };
  // All of it happens in the first tenth of the steps.
  const early = curves.every(curve => {
    const end = endOf(curve), from = curve.centre.findIndex(x => !Number.isNaN(x));
    return end < 0 ||
      curve.centre.every(
        (v, i) => !(steps[i] > last / 10) || Number.isNaN(v) || Math.abs(v - curve.centre[end]) <= Math.abs(curve.centre[from] - curve.centre[end]) / 10);
  });
  return {
    id: "learning-curves-" + slug(set.metric),
    heading: `Learning curves: ${set.metric}`,
    legend,
    panels,
    notes,
    x: early ? "log" : "lin",
    y: set.log_y ? "log" : "lin",
    reading: `Line: ${set.centre} over all seeds at that step; band: its ${level} interval; faint: single seeds. ${
      set.higher ? "Higher" : "Lower"} is better${set.target === null ? "" : "; the dotted line is the target"}${set.floor ? "; " + set.floor : ""}.`,
    numbers: {
      headers: [...groupHeaders, "step", "centre", "low", "high"],
      rows: groups.filter(g => curves[g.order] && endOf(curves[g.order]) >= 0).map(g => {
        const end = endOf(curveOf(g));
        return [...groupCells(g), steps[end], curveOf(g).centre[end], curveOf(g).low[end], curveOf(g).high[end]];
      })
    }
  };
};

// The metric over the levels of a numeric key: a facet's, or the compared one.
const levels = () => {
  const key = widestKey(true), values = [...series.keys()], panels = new Map();
  if (!key && !(values.length > 2 && values.every(v => !Number.isNaN(asNumber(v))))) return null;
  for (const g of groups) {
    if (!g.at || !isFinite(g.at.centre)) continue;
    const title = key ? titleWithout(g.facet, key) : g.facet.title, line = key ? g.series : 0;
    if (!panels.has(title)) panels.set(title, new Map());
    if (!panels.get(title).has(line)) panels.get(title).set(line, []);
    panels.get(title).get(line).push([asNumber(key ? g.facet.keys[key] : g.value), g]);
  }
  const drawn = [...panels].filter(([, lines]) => [...lines.values()].some(points => points.length > 1));
  if (!drawn.length || (key && names.length > kMostTogether)) return null;
  const name = c.names.keys[key ?? c.by], notes = drawn.length > kMostPanels ? [`the first ${kMostPanels} of ${drawn.length} panels are drawn; the table has all`] : [];
  const positive = groups.every(g => !g.at || g.at.centre > 0);
  const make = ([title, lines]) => ({title, draw: (width, state) => {
    for (const points of lines.values()) points.sort((a, b) => a[0] - b[0]);
    const xs = [...lines.values()].flat().map(([x]) => x),
          all = [...lines].filter(([s]) => !state.hidden.has(s)).flatMap(([, points]) => points.flatMap(([, g]) => [g.at.centre, g.at.low, g.at.high]));
    const x = {...axisFor(xs, least(xs) > 0 && most(xs) / least(xs) >= 8 ? "log2" : "lin"), label: name}, wide = width > 500 && lines.size > 1;
    const plot = new Plot(
      `${c.metric} by ${name}${title ? ", " + title : ""}`, width, zoomed(x, state.zoom?.x),
      zoomed({...axisFor(all, state.y === "log" ? "log" : "lin"), label: c.metric}, state.zoom?.y), state.hidden,
      {height: width > 420 ? 250 : 200, right: wide ? Math.min(most(names.map(n => textWidth(n))), 150) + 20 : 14});
    const ends = [];
    [...lines].forEach(([s, points], i) => plot.group(s, () => {
      const dodge = 4 * (i - (lines.size - 1) / 2), at = points.map(([v, g]) => [plot.px(v) + dodge, plot.py(g.at.centre)]);
      plot.path("M" + at.map(([a, b]) => `${a.toFixed(1)} ${b.toFixed(1)}`).join("L"), "l");
      points.forEach(([v, g], k) => {
        plot.whisker(at[k][0], g.at.low, g.at.high);
        plot.marker(shapeOf(s), ...at[k], 8, `${key ? names[s] + " at " : ""}${name} ${tickLabel(v)}: ${interval(g.at)}`);
      });
      ends.push({series: s, name: names[s], y: at.at(-1)[1]});
    }));
    if (wide) plot.endLabels(ends);
    return {plot};
  }});
  return {
    id: "effect-" + slug(name),
    heading: `Effect of ${name} on ${c.metric}`,
    legend: key ? legend : [],
    panels: drawn.slice(0, kMostPanels).map(make),
    notes,
    y: positive ? c.scale === "log_ratio" ? "log" : "lin" : undefined,
    reading: `Marks: the ${estimateName} at each value of ${name}, a little apart sideways; lines join neighbours. ${better} is better.`,
    numbers:
      {headers: [...groupHeaders, "centre", "low", "high"], rows: groups.filter(g => g.at).map(g => [...groupCells(g), g.at.centre, g.at.low, g.at.high])}
  };
};
