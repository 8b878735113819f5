// The charts of a search: differences of the judged layers on every task, and the family tree of the layers that raced.

const search = () => {
  const judged = data.front.map(row => row.layer).filter(layer => layer !== data.reference);
  const points =
      data.judgement.flatMap(task => task.layers.filter(row => row.ratio).map(row => ({...row, task: task.task, seen: task.seen})));
  const percent = ratio => 100 * (ratio - 1), tasks = data.judgement.map(task => task.task);
  const differences = {
    id: 'search-differences',
    heading: `Loss against ${data.reference} on fresh seeds`,
    reading:
        'Each mark is a judged layer on a task, in percent of the reference, with its interval; below 0 is better. Hollow: no layer raced there.',
    legend: judged.map((layer, i) => [i, layer]),
    panels: [{
      draw: (width, state) => {
        const shownPoints = points.filter(p => !state.hidden.has(judged.indexOf(p.layer)));
        const plot = new Plot(
            'differences', width, {low: -0.5, high: tasks.length - 0.5, label: 'task', ticks: () => tasks.map((task, i) => [i, task])},
            zoomed({...axisFor([0, ...shownPoints.flatMap(p => p.interval.map(percent))]), label: `% of ${data.reference}`}, state.zoom?.y),
            state.hidden, {height: 280});
        plot.segment(plot.left, plot.py(0), plot.right, plot.py(0), 'zero');
        judged.forEach((layer, i) => plot.group(i, () => {
          for (const p of shownPoints.filter(point => point.layer === layer)) {
            const x = plot.px(tasks.indexOf(p.task) + 0.7 * ((i + 0.5) / judged.length - 0.5));
            plot.whisker(x, ...p.interval.map(percent));
            plot.marker(
                shapeOf(i), x, plot.py(percent(p.ratio)), 8, `${layer} on ${p.task}: ${shown(percent(p.ratio))} %, ${p.verdict}`, !p.seen);
          }
        }));
        return {plot};
      }
    }],
    numbers: {
      headers: ['layer', 'task', '% of the reference', 'from', 'to', 'verdict'],
      rows: points.map(p => [p.layer, p.task, percent(p.ratio), ...p.interval.map(percent), p.verdict])
    }
  };
  return [points.length ? [differences] : [], [familyTree()]];
};
// Generations from left to right; a layer's line goes to the layer that it came from. Judged layers have their names.
const familyTree = () => {
  const judged = new Set(data.front.map(row => row.layer)), generations = most(data.layers.map(layer => layer.generation));
  const rows = [], place = data.layers.map(layer => rows[layer.generation] = (rows[layer.generation] ?? -1) + 1);
  const height = most(rows) + 1;
  const isKin = new Set();
  data.layers.forEach((layer, i) => {
    if (judged.has(layer.layer))
      for (let k = i; k !== null && !isKin.has(k); k = data.layers[k].parent) isKin.add(k);
  });
  return {
    id: 'search-family',
    heading: 'The family tree',
    reading:
        'Each mark is a layer that raced; a larger one ended its race. Lines lead from the judged layers back to those they came from.',
    panels: [{
      draw: width => {
        const plot = new Plot(
            'family tree', width,
            {low: -0.5, high: generations + 0.5, whole: true, label: 'generation', ticks: () => rows.map((_, i) => [i, String(i + 1)])},
            {low: -1, high: height, label: ''}, new Set(), {height: Math.min(640, 60 + 12 * height), right: 90, yTicks: false});
        const at = i => [plot.px(data.layers[i].generation), plot.py(height - 1 - place[i])];
        plot.group(null, () => {
          for (const i of isKin)
            if (data.layers[i].parent !== null) plot.segment(...at(i), ...at(data.layers[i].parent), 'zero');
        });
        const last = most(data.layers.map(layer => layer.rounds));
        data.layers.forEach((layer, i) => plot.group(judged.has(layer.layer) ? 1 : 0, () => {
          plot.marker(
              judged.has(layer.layer) ? 1 : 0, ...at(i), layer.rounds === last ? 8 : 4,
              `${layer.layer}${layer.change ? `: ${layer.change}` : ''}`, !isKin.has(i));
          if (judged.has(layer.layer)) plot.text(at(i)[0] + 8, at(i)[1] + 4, cutToWidth(layer.layer, 150));
        }));
        return {plot};
      }
    }],
    zooms: false
  };
};
