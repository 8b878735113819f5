// The charts of a comparison, an inspection and a trace, drawn from the JSON in the page by what charts.js has, and the rest of the page.
// No statistics are computed here. Without it the tables remain.

// ---- a comparison

const comparison = () => {
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

  // What each variant was tuned to, and the scores that the choice rests on.
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

  // A ladder: loss against compute with the law and the held-out sizes, and differences against size.
  const ladderSizes = c.ladder?.sizes.map(size => ({...size, x: Number(size.value), facet: c.facets.find(f => f.keys[c.ladder.key] === size.value)})) ?? [];
  const lawPicture = () => {
    if (!c.ladder || names.length > kMostTogether) return null;
    const law = c.ladder.law, at = (size, value) => size.facet.groups.find(g => g.value === value)?.at;
    const draw = (width, state) => {
      const shownVariants = c.ladder.variants.filter(v => !state.hidden.has(series.get(v.value)));
      const ys = shownVariants.flatMap(v => [
        ...ladderSizes.map(size => at(size, v.value)?.centre), ...v.predicted.flatMap(p => [p.interval.low, p.interval.high])
      ]).map(number).filter(isFinite);
      const plot = new Plot(
        `${c.metric} against compute`, width, {...axisFor(ladderSizes.map(size => size.flops), "log"), label: "training FLOPs"},
        zoomed({...axisFor(ys, state.y), label: c.metric}, state.zoom?.y), state.hidden, {height: 300, right: 18});
      c.ladder.variants.forEach((v, i) => plot.group(series.get(v.value), () => {
        if (law) {
          const [low, high] = [ladderSizes[0].flops, ladderSizes.at(-1).flops].map(Math.log);
          const curve = Array.from({length: 60}, (_, k) => low + (high - low) * k / 59);
          plot.line(curve.map(x => [Math.exp(x), law.floor + Math.exp(law.log_scale[i] - law.exponent * x)]), "t");
        }
        const heldOut = ladderSizes.filter(size => size.held_out);
        v.predicted.forEach((p, k) => plot.whisker(plot.px(heldOut[k].flops), number(p.interval.low), number(p.interval.high), "l", 5));
        for (const size of ladderSizes) {
          const loss = at(size, v.value);
          if (loss) plot.marker(
            shapeOf(series.get(v.value)), plot.px(size.flops), plot.py(loss.centre), 8,
            `${v.label} at ${c.names.keys[c.ladder.key]} ${size.value}: ${interval(loss)}${size.held_out ? ", held out" : ""}`, size.held_out);
        }
      }));
      return {plot};
    };
    return {
      id: "ladder-law",
      heading: "Loss against compute",
      legend,
      panels: [{draw}],
      y: "log",
      reading: `Marks: the ${centre} at each size; hollow: held out, with the interval that the law of the other sizes predicts.${
        law ? " Thin lines: the law of all sizes." : ""} ${c.ladder.no_projection ? `No projection: ${c.ladder.no_projection}.` : "The prediction held."}`,
      numbers: {
        headers: [by, "size", "training FLOPs", c.metric, "predicted"],
        rows: c.ladder.variants.flatMap(v => ladderSizes.map(size => {
          const p = size.held_out ? v.predicted[ladderSizes.filter(s => s.held_out).indexOf(size)] : null;
          return [v.label, size.value, size.flops, at(size, v.value)?.centre ?? "-", p ? `${shown(p.value)} [${shown(number(p.interval.low))}, ${shown(number(p.interval.high))}]` : "-"];
        }))
      }
    };
  };
  const differenceBySize = () => {
    if (!c.ladder || names.length > kMostTogether) return null;
    const points = ladderSizes.flatMap(size => size.facet.pairs.filter(pair => pair.reference === c.reference && pair.effect).map(pair => ({
      size, pair, series: series.get(pair.value), y: 100 * Math.expm1(number(pair.effect.value)),
      low: 100 * Math.expm1(number(pair.effect.interval.low)), high: 100 * Math.expm1(number(pair.effect.interval.high))
    })));
    if (!points.length) return null;
    const reference = names[series.get(c.reference)];
    const draw = (width, state) => {
      const visible = points.filter(p => !state.hidden.has(p.series)), ys = [0, ...visible.flatMap(p => [p.y, p.low, p.high])].filter(isFinite);
      const xs = ladderSizes.map(size => size.x);
      const plot = new Plot(
        `Differences from ${reference} against size`, width,
        {low: least(xs) / 1.1, high: most(xs) * 1.1, kind: "log", label: c.names.keys[c.ladder.key], ticks: () => ladderSizes.map(size => [size.x, size.value])},
        zoomed({...axisFor(ys, "lin"), label: `% of ${reference}`}, state.zoom?.y), state.hidden, {height: 260, right: 18});
      plot.segment(plot.left, plot.py(0), plot.right, plot.py(0), "zero");
      for (const one of new Set(visible.map(p => p.series))) plot.group(one, () => {
        const own = visible.filter(p => p.series === one);
        plot.line(own.map(p => [p.size.x, p.y]), "l");
        for (const p of own) {
          if (isFinite(p.low) && isFinite(p.high)) plot.whisker(plot.px(p.size.x), p.low, p.high);
          plot.marker(shapeOf(one), plot.px(p.size.x), plot.py(p.y), 8, `${names[one]} at ${p.size.value}: ${p.pair.text}, ${p.pair.verdict}`, p.size.held_out);
        }
      });
      return {plot};
    };
    return {
      id: "ladder-differences",
      heading: `Differences from ${reference} against size`,
      legend: legend.filter(([i]) => i !== series.get(c.reference)),
      panels: [{draw}],
      reading: `Each mark is the ${c.metric} of a variant in percent of ${reference}, with its ${level} interval; below 0 is better. Hollow: held out.`,
      numbers: {headers: [by, "size", "difference", "verdict"], rows: points.map(p => [names[p.series], p.size.value, p.pair.text, p.pair.verdict])}
    };
  };

  const curves = c.curves.map(learning).filter(figure => figure), answers = curves.find(figure => figure.id === "learning-curves-" + slug(c.metric));
  const picture = lawPicture() ?? (isTime ? reached() : answers ?? null), others = isTime ? curves : [reached(), ...curves.filter(figure => figure !== picture)];
  return [[differenceBySize() ?? effects(), picture], [c.ladder ? effects() : null, levels(), dots(), ...others, heatMap(), tuning(), cost(), interim(), ...surfaces(c.surfaces)]];
};

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

// ---- the page

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
const [first, others] = data.facets ? comparison() : data.outcomes ? trace() : data.blocks ? inspection() : [[], []];
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

// What `ffn-train watch` writes is loaded again every five seconds. What the reader has unfolded, hidden, switched and enlarged stays so.
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
