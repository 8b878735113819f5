// The charts of a ladder: loss against compute with the law and the held-out sizes, and differences against size.

const ladderSizes =
    c?.ladder?.sizes.map(size => ({...size, x: Number(size.value), facet: c.facets.find(f => f.keys[c.ladder.key] === size.value)})) ?? [];
const lawPicture = () => {
  if (!c.ladder || names.length > kMostTogether) return null;
  const law = c.ladder.law, at = (size, value) => size.facet.groups.find(g => g.value === value)?.at;
  const draw = (width, state) => {
    const shownVariants = c.ladder.variants.filter(v => !state.hidden.has(series.get(v.value)));
    const ys =
        shownVariants
            .flatMap(
                v =>
                    [...ladderSizes.map(size => at(size, v.value)?.centre), ...v.predicted.flatMap(p => [p.interval.low, p.interval.high])])
            .map(number)
            .filter(isFinite);
    const plot = new Plot(
        `${c.metric} against compute`, width, {...axisFor(ladderSizes.map(size => size.flops), 'log'), label: 'training FLOPs'},
        zoomed({...axisFor(ys, state.y), label: c.metric}, state.zoom?.y), state.hidden, {height: 300, right: 18});
    c.ladder.variants.forEach((v, i) => plot.group(series.get(v.value), () => {
      if (law) {
        const [low, high] = [ladderSizes[0].flops, ladderSizes.at(-1).flops].map(Math.log);
        const curve = Array.from({length: 60}, (_, k) => low + (high - low) * k / 59);
        plot.line(curve.map(x => [Math.exp(x), law.floor + Math.exp(law.log_scale[i] - law.exponent * x)]), 't');
      }
      const heldOut = ladderSizes.filter(size => size.held_out);
      v.predicted.forEach((p, k) => plot.whisker(plot.px(heldOut[k].flops), number(p.interval.low), number(p.interval.high), 'l', 5));
      for (const size of ladderSizes) {
        const loss = at(size, v.value);
        if (loss)
          plot.marker(
              shapeOf(series.get(v.value)), plot.px(size.flops), plot.py(loss.centre), 8,
              `${v.label} at ${c.names.keys[c.ladder.key]} ${size.value}: ${interval(loss)}${size.held_out ? ', held out' : ''}`,
              size.held_out);
      }
    }));
    return {plot};
  };
  return {
    id: 'ladder-law',
    heading: 'Loss against compute',
    legend,
    panels: [{draw}],
    y: 'log',
    reading: `Marks: the ${centre} at each size; hollow: held out, with the interval that the law of the other sizes predicts.${
        law ? ' Thin lines: the law of all sizes.' :
              ''} ${c.ladder.no_projection ? `No projection: ${c.ladder.no_projection}.` : 'The prediction held.'}`,
    numbers: {
      headers: [by, 'size', 'training FLOPs', c.metric, 'predicted'],
      rows: c.ladder.variants.flatMap(v => ladderSizes.map(size => {
        const p = size.held_out ? v.predicted[ladderSizes.filter(s => s.held_out).indexOf(size)] : null;
        return [
          v.label, size.value, size.flops, at(size, v.value)?.centre ?? '-',
          p ? `${shown(p.value)} [${shown(number(p.interval.low))}, ${shown(number(p.interval.high))}]` : '-'
        ];
      }))
    }
  };
};
const differenceBySize = () => {
  if (!c.ladder || names.length > kMostTogether) return null;
  const points = ladderSizes.flatMap(
      size => size.facet.pairs.filter(pair => pair.reference === c.reference && pair.effect)
                  .map(pair => ({
                         size,
                         pair,
                         series: series.get(pair.value),
                         y: 100 * Math.expm1(number(pair.effect.value)),
                         low: 100 * Math.expm1(number(pair.effect.interval.low)),
                         high: 100 * Math.expm1(number(pair.effect.interval.high))
                       })));
  if (!points.length) return null;
  const reference = names[series.get(c.reference)];
  const draw = (width, state) => {
    const visible = points.filter(p => !state.hidden.has(p.series)),
          ys = [0, ...visible.flatMap(p => [p.y, p.low, p.high])].filter(isFinite);
    const xs = ladderSizes.map(size => size.x);
    const plot = new Plot(
        `Differences from ${reference} against size`, width, {
          low: least(xs) / 1.1,
          high: most(xs) * 1.1,
          kind: 'log',
          label: c.names.keys[c.ladder.key],
          ticks: () => ladderSizes.map(size => [size.x, size.value])
        },
        zoomed({...axisFor(ys, 'lin'), label: `% of ${reference}`}, state.zoom?.y), state.hidden, {height: 260, right: 18});
    plot.segment(plot.left, plot.py(0), plot.right, plot.py(0), 'zero');
    for (const one of new Set(visible.map(p => p.series)))
      plot.group(one, () => {
        const own = visible.filter(p => p.series === one);
        plot.line(own.map(p => [p.size.x, p.y]), 'l');
        for (const p of own) {
          if (isFinite(p.low) && isFinite(p.high)) plot.whisker(plot.px(p.size.x), p.low, p.high);
          plot.marker(
              shapeOf(one), plot.px(p.size.x), plot.py(p.y), 8, `${names[one]} at ${p.size.value}: ${p.pair.text}, ${p.pair.verdict}`,
              p.size.held_out);
        }
      });
    return {plot};
  };
  return {
    id: 'ladder-differences',
    heading: `Differences from ${reference} against size`,
    legend: legend.filter(([i]) => i !== series.get(c.reference)),
    panels: [{draw}],
    reading: `Each mark is the ${c.metric} of a variant in percent of ${reference}, with its ${
        level} interval; below 0 is better. Hollow: held out.`,
    numbers: {
      headers: [by, 'size', 'difference', 'verdict'],
      rows: points.map(p => [names[p.series], p.size.value, p.pair.text, p.pair.verdict])
    }
  };
};
