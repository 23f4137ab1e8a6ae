// What a reader points at in a chart, or has gone to with the arrow keys, stands below it: all that the table of its points has
// of one. Without this script each point has its sum as a title, and the table stays.
for (const chart of document.querySelectorAll('[data-chart]')) {
  const plot = chart.querySelector('svg');
  const reading = chart.querySelector('.reading');
  const points = [...plot.querySelectorAll('.hits path')];
  // The newest row comes first.
  const rows = [...document.querySelectorAll('[data-points] tbody tr')].toReversed();
  const heads = [...document.querySelectorAll('[data-points] thead th')];
  if (points.length === 0 || rows.length !== points.length) continue;
  const wordsOf = ({ cells: [name, ...values] }) => {
    const known = values.flatMap((cell, i) => {
      const value = cell.textContent.trim();
      return value === '' || value === '0' ? [] : [`${heads[i + 1].textContent.trim()} ${value}`];
    });
    return `${name.textContent.trim()}: ${known.length === 0 ? 'none' : known.join('; ')}`;
  };
  let at = points.length - 1;
  const show = (index) => {
    points[at].classList.remove('at');
    at = Math.min(points.length - 1, Math.max(0, index));
    points[at].classList.add('at');
    const words = wordsOf(rows[at]);
    reading.textContent = words;
    plot.setAttribute('aria-valuenow', at + 1);
    plot.setAttribute('aria-valuetext', words);
  };
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, Home: -1e6, End: 1e6 };
  plot.setAttribute('role', 'slider');
  plot.setAttribute('tabindex', '0');
  plot.setAttribute('aria-valuemin', 1);
  plot.setAttribute('aria-valuemax', points.length);
  show(at);
  plot.addEventListener('keydown', (event) => {
    const step = steps[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    show(at + step);
  });
  for (const [index, point] of points.entries()) {
    point.addEventListener('pointerenter', () => show(index));
  }
}
