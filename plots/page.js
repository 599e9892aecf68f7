// SPDX-License-Identifier: Apache-2.0
// What a page does where scripts run: tables sort and filter, schemes go and come, and two sliders move latency and
// bandwidth between the networks that were played. It reads the block "data" (report/page_data.h) and asks nobody.
(() => {
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const F = data.factors, COLOURS = [/*colours*/], DASHES = ['', '6 4', '2 3', '8 3 2 3', '4 2 1 2 1 2'];
const now = {latency: 1, bandwidth: 1}, hidden = new Set();
let filter = '';
const all = (query, under = document) => [...under.querySelectorAll(query)];
const make = (name, attributes = {}, ...children) => {
  const svg = ['svg', 'g', 'path', 'rect', 'line', 'circle', 'text', 'title'].includes(name);
  const e = svg ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
};

// --- numbers: as the tables write them (base/units.c)
const scaled = (units, value) => {
  if (!(Math.abs(value) > 0)) return '0 ' + units.zero;
  let [name, size] = units.list[0];
  for (const [n, s] of units.list) if (Math.abs(value) / s >= 0.9995) [name, size] = [n, s];
  return Number((value / size).toPrecision(3)) + ' ' + name;
};
const TIMES = {zero: 's', list: [['ns', 1e-9], ['us', 1e-6], ['ms', 1e-3], ['s', 1], ['min', 60], ['h', 3600]]};
const RATES = {zero: 'bit/s', list: [['bit/s', 1], ['kbit/s', 1e3], ['Mbit/s', 1e6], ['Gbit/s', 1e9], ['Tbit/s', 1e12]]};
const SIZES = {B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, '%': 1, x: 1, '': 1};
for (const units of [TIMES, RATES]) for (const [name, size] of units.list) SIZES[name] = size;
const amount = text => {
  const found = /^(?:[^\d]*? )?([-+]?[\d.]+(?:e[-+]?\d+)?) ?([A-Za-z%/]*)/.exec(text);
  return found && found[2] in SIZES ? Number(found[1]) * SIZES[found[2]] : NaN;
};

// --- times between those that were played: planes over latency and the time of a byte
const SAME = 1e-5; // beyond the digits that are shown
const cost = {latency: k => F[k], bandwidth: k => 1 / F[k]};
const step = value => Math.min(F.length - 2, Math.max(0, F.findIndex((f, k) => value < F[k + 1])));
const place = axis => {
  if (F.includes(now[axis])) return {low: F.indexOf(now[axis]), share: 0};
  const low = step(now[axis]), x = axis === 'latency' ? now.latency : 1 / now.bandwidth;
  return {low, share: (x - cost[axis](low)) / (cost[axis](low + 1) - cost[axis](low))};
};
// Do three times in turn, with both ends of the step among them, lie on a line?
const straight = (axis, low, time) => [low - 1, low].some(k => {
  if (k < 0 || k + 2 >= F.length) return false;
  const x = cost[axis], share = (x(k + 1) - x(k)) / (x(k + 2) - x(k));
  return Math.abs(time(k + 1) - time(k) - share * (time(k + 2) - time(k))) <= SAME * time(k + 1);
});
// of all tensors together: each with the fastest of its own that is shown
const parts = cell => data.cells.filter(c => c.tensor !== '*' && elsewhere(c) === elsewhere(cell));
const elsewhere = c => c.places.filter(p => p.field !== 'tensor').map(p => p.value ?? p.text).join();
for (const c of data.cells) for (const row of c.rows) if (row.own) row.parts = parts(c);
const timeOfOwn = row => row.parts.map(c => c.rows.filter(r => r.fits && !hidden.has(r.label)).map(timeOf)
  .reduce((a, b) => b.s < a.s ? b : a, {s: Infinity, exact: true})).reduce((a, b) => ({s: a.s + b.s, exact: a.exact && b.exact}));
const timeOf = row => {
  if (row.own && !asGiven(row)) return timeOfOwn(row);
  if (!Array.isArray(row.times)) return {s: row.times, exact: true};
  const l = place('latency'), b = place('bandwidth'), t = (i, k) => row.times[l.low + i][b.low + k];
  const mix = (x, y, share) => share ? x + share * (y - x) : x;
  const sides = share => share ? [0, 1] : [0];
  const s = mix(mix(t(0, 0), sides(b.share)[1] ? t(0, 1) : 0, b.share),
    l.share ? mix(t(1, 0), sides(b.share)[1] ? t(1, 1) : 0, b.share) : 0, l.share);
  const lines = (!b.share || sides(l.share).every(i => straight('bandwidth', b.low, k => row.times[l.low + i][k]))) &&
    (!l.share || sides(b.share).every(k => straight('latency', l.low, i => row.times[i][b.low + k])));
  const flat = !l.share || !b.share || Math.abs(t(0, 0) + t(1, 1) - t(0, 1) - t(1, 0)) <= SAME * s;
  return {s, exact: lines && flat};
};
const asGiven = row => played() && !(row.own && hidden.size);
const played = () => now.latency === 1 && now.bandwidth === 1;
const shown = time => (time.exact ? '' : '\u2248 ') + scaled(TIMES, time.s);
const times = factor => '\u00d7 ' + Number(factor.toPrecision(3));

// --- tables
const tables = all('main table').filter(t => t.tBodies[0]).map(table => {
  const rows = [...table.tBodies[0].rows];
  rows.forEach((tr, i) => {
    if (i && tr.cells[0].textContent === '') tr.dataset.full = rows[i - 1].dataset.full || rows[i - 1].cells[0].textContent;
  });
  return {table, rows, sorted: null};
});
const cellTables = tables.filter(t => t.table.classList.contains('times')).slice(0, data.cells.length);
cellTables.forEach((t, i) => {
  t.cell = data.cells[i];
  const links = tables[tables.indexOf(t) + 1];
  if (links && links.table.classList.contains('links')) links.cell = t.cell;
  t.was = t.rows.map(tr => ({time: tr.cells[1].textContent, best: tr.classList.contains('best')}));
  t.words = make('p', {class: 'live', 'aria-live': 'polite'});
  t.table.parentElement.before(t.words);
});
const byLabel = t => t.rows.map((tr, i) => t.cell ? t.cell.rows[i].label : null);

const keyOf = (t, column) => {
  const texts = t.rows.map(tr => (column === 0 && tr.dataset.full) || tr.cells[column].textContent.trim());
  const numbers = t.was && column === 1 ? t.cell.rows.map(row => timeOf(row).s) : texts.map(amount);
  const numeric = texts.every((text, i) => text === '' || text === '-' || !isNaN(numbers[i]));
  return texts.map((text, i) => text === '' || text === '-' ? null : numeric ? numbers[i] : text);
};
const compare = (a, b) => a === null || b === null ? (a === null) - (b === null)
  : typeof a === 'number' ? a - b : a.localeCompare(b, undefined, {numeric: true});
const order = t => {
  const {column, down} = t.sorted || {column: -1};
  const keys = t.sorted ? keyOf(t, column) : t.rows.map((_, i) => i);
  const rank = t.rows.map((_, i) => i).sort((i, k) => {
    const c = compare(keys[i], keys[k]);
    return down && keys[i] !== null && keys[k] !== null ? -c : c;
  });
  t.table.tBodies[0].append(...rank.map(i => t.rows[i]));
  for (const tr of t.rows) if (tr.dataset.full) tr.cells[0].textContent = t.sorted ? tr.dataset.full : '';
  [...t.table.tHead.rows[0].cells].forEach((th, i) =>
    th.setAttribute('aria-sort', i !== column ? 'none' : down ? 'descending' : 'ascending'));
};
for (const t of tables) [...t.table.tHead.rows[0].cells].forEach((th, column) => {
  const button = make('button', {type: 'button', class: 'sort', title: 'sort by this'}, ...th.childNodes);
  button.onclick = () => {
    const s = t.sorted;
    t.sorted = !s || s.column !== column ? {column, down: false} : s.down ? null : {column, down: true};
    order(t);
  };
  th.append(button);
});

const sieve = () => {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  let left = 0, count = 0;
  for (const t of tables) {
    const labels = byLabel(t), about = t.cell ? t.cell.name : '';
    if (!t.cell && !t.table.closest('#answer')) continue;
    t.rows.forEach((tr, i) => {
      const text = (about + ' ' + (tr.dataset.full || '') + ' ' + tr.textContent).toLowerCase();
      const out = hidden.has(labels[i]) || !words.every(w => text.includes(w));
      tr.hidden = out;
      if (t.was) count++, left += !out;
    });
  }
  counted.textContent = left < count ? left + ' of ' + count + ' rows' : count + ' rows';
};

const fastest = t => {
  const found = t.cell.rows.map(row => ({label: row.label, fits: row.fits, ...timeOf(row)}))
    .filter(f => f.fits && f.s < Infinity && !hidden.has(f.label)).sort((a, b) => a.s - b.s);
  return found;
};
const told = t => {
  const [best, next] = fastest(t), c = t.cell;
  if (!best || played()) return '';
  const where = 'Latency ' + times(now.latency) + (c.latency_s ? ' (' + scaled(TIMES, c.latency_s * now.latency) + ')' : '') +
    ', bandwidth ' + times(now.bandwidth) + (c.bandwidth ? ' (' + scaled(RATES, 8 * c.bandwidth * now.bandwidth) + ')' : '');
  const then = !next ? '' : best.s > 0 ? '; ' + next.label + ' takes ' + (next.s / best.s).toFixed(2) + ' times as long' : '; then ' + next.label;
  return where + ', on numbers as given (no ranges): ' + best.label + ' is fastest, ' + shown(best) + then + '.';
};
const retime = () => {
  for (const t of cellTables) {
    const best = played() ? null : fastest(t)[0];
    t.rows.forEach((tr, i) => {
      const time = timeOf(t.cell.rows[i]);
      tr.cells[1].textContent = played() ? t.was[i].time : shown(time);
      tr.classList.toggle('best', played() ? t.was[i].best : best?.label === t.cell.rows[i].label);
      [...tr.cells].slice(2).forEach(td => td.classList.toggle('stale', !played()));
    });
    t.words.textContent = told(t);
    if (t.sorted && t.sorted.column === 1) order(t);
  }
  for (const e of all('.answer, #answer table, .warning')) e.classList.toggle('stale', !played());
  moved.hidden = played();
};

// --- the figure: bars, or lines over the number that varies
const cells = data.cells.some(c => c.tensor === '*') ? data.cells.filter(c => c.tensor === '*') : data.cells;
const numeric = cells.length ? cells[0].places.filter((p, i) => p.value !== null && new Set(cells.map(c => c.places[i].value)).size > 1) : [];
const axis = numeric.length === 1 ? cells[0].places.indexOf(numeric[0]) : -1;
const series = data.labels.filter(l => l.style > 0);
const figure = document.querySelector('#figures figure');
const live = figure && numeric.length < 2 && cells.length <= 60 && data.cells.length === cellTables.length;
const canvas = make('div', {class: 'live-figure'}), read = make('p', {class: 'hover', 'aria-live': 'polite'});
const colour = l => COLOURS[(l.style - 1) % COLOURS.length];
// as gnuplot's (style.gp): circle, square, triangle, diamond, triangle down, star, x, plus
const MARKS = ['M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z', 'M-3.5-3.5h7v7h-7z', 'M0-4.6L4.6 3.4H-4.6z', 'M0-5L5 0L0 5L-5 0z', 'M0 4.6L4.6-3.4H-4.6z',
  'M-4 0H4M0-4V4M-3-3L3 3M-3 3L3-3', 'M-3.5-3.5L3.5 3.5M-3.5 3.5L3.5-3.5', 'M-4.5 0H4.5M0-4.5V4.5'];
const markOf = (l, x, y) => make('path', {class: 'mark', d: MARKS[(l.style - 1) % 8], transform: `translate(${x} ${y})`, fill: colour(l), stroke: colour(l), 'stroke-width': 2});
const stroke = l => ({fill: 'none', stroke: colour(l), 'stroke-width': 1.8, 'stroke-dasharray': DASHES[(l.style - 1) % 5]});
const sign = (l, bars) => bars ? swatch(l)
  : make('svg', {width: 32, height: 12, viewBox: '-16 -6 32 12', 'aria-hidden': 'true'}, ...(axis < 0 ? [] : [make('path', {d: 'M-16 0H16', ...stroke(l)})]), markOf(l, 0, 0));
const swatch = l => {
  const e = make('span', {class: 'swatch'});
  e.hidden = !(l.style > 0);
  if (!e.hidden) e.style.background = colour(l);
  return e;
};
const otherText = c => c.places.filter((p, i) => i !== axis && !(p.field === 'tensor' && c.tensor === '*')).map(p => p.text).join(', ');
const panels = () => {
  if (axis < 0) return [{name: '', cells}];
  const names = [...new Set(cells.map(otherText))];
  return names.map(name => ({name, cells: cells.filter(c => otherText(c) === name)}));
};
const rowOf = (cell, label) => cell.rows.find(r => r.label === label);
const textOf = (cell, row) => {
  const tr = cellTables.find(x => x.cell === cell).rows[cell.rows.indexOf(row)];
  const ends = row.own && asGiven(row) && row.low !== null ? ' (' + scaled(TIMES, row.low) + ' to ' + scaled(TIMES, row.high) + ')' : '';
  return row.label + ': ' + (tr ? tr.cells[1].textContent : shown(timeOf(row)) + ends) + ' \u2013 ' + cell.name;
};
const ticks = (low, high, log) => {
  if (log) {
    const out = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e++)
      for (const m of high / low > 1e3 ? [1] : high / low > 10 ? [1, 3] : [1, 2, 5]) out.push(m * 10 ** e);
    return out.filter(v => v >= low && v <= high);
  }
  const raw = high / 4, size = 10 ** Math.floor(Math.log10(raw)), by = [1, 2, 5, 10].map(m => m * size).find(v => v >= raw);
  return Array.from({length: Math.floor(high / by) + 1}, (_, i) => i * by);
};
const draw = () => {
  if (!live) return;
  canvas.replaceChildren();
  const drawn = series.filter(l => !hidden.has(l.name)), found = panels().map(panel => marksOf(panel, drawn));
  const ends = found.flat().flatMap(range).filter(s => s !== null), low = Math.min(...ends), high = Math.max(...ends) || 1,
    least = Math.min(...found.flat().map(m => m.s));
  const log = low > 0 && high > data.spread * least, bars = axis < 0 && !log; // else points on a logarithmic axis
  panels().forEach((panel, i) => canvas.append(drawPanel(panel, drawn, found[i], {low, high, log, bars})));
  canvas.append(make('p', {class: 'legend'}, ...drawn.map(l => make('span', {class: 'scheme'}, sign(l, bars), l.name))));
};
const range = m => asGiven(m.row) && m.row.low !== null ? [m.row.low, m.row.high] : [m.s, m.s];
const marksOf = (panel, drawn) => drawn.flatMap(l => panel.cells.map((cell, i) => ({l, cell, i, row: rowOf(cell, l.name)})))
  .filter(m => m.row).map(m => ({...m, s: timeOf(m.row).s, x: axis < 0 ? m.i : m.cell.places[axis].value})).filter(m => m.s < Infinity);
const drawPanel = (panel, drawn, marks, y0) => {
  const W = Math.min(880, Math.max(280, canvas.clientWidth - 16)), L = 62, R = 12, T = 22, band = (W - L - R) / panel.cells.length, wide = 6.4;
  const names = panel.cells.map(c => axis < 0 ? otherText(c) || c.name : c.places[axis].text);
  const room = Math.floor((band - 6) / wide), longest = Math.min(axis < 0 ? Math.max(24, room) : Infinity, Math.max(...names.map(n => n.length)));
  const turned = axis < 0 && longest > room, B = turned ? 26 + 0.62 * wide * longest : 34, H = 266 + B; // as gnuplot's are
  const svg = make('svg', {viewBox: `0 0 ${W} ${H}`, width: W, height: H, role: 'img', 'aria-label': 'Times' + (panel.name ? ', ' + panel.name : '')});
  if (!marks.length) return svg;
  const {log, bars} = y0, low = log ? y0.low / 1.2 : 0, top = y0.high * (log ? 1.2 : 1.05);
  const y = s => log ? H - B - (H - B - T) * Math.log(s / low) / Math.log(top / low) : H - B - (H - B - T) * s / top;
  const xs = [...new Set(marks.map(m => m.x))].sort((a, b) => a - b), logX = axis >= 0 && xs[0] > 0 && (panel.cells[0].places[axis].field === 'ranks' || xs.at(-1) > data.spread * xs[0]);
  const u = v => xs.length < 2 ? 0.5 : logX ? Math.log(v / xs[0]) / Math.log(xs.at(-1) / xs[0]) : (v - xs[0]) / (xs.at(-1) - xs[0]);
  const thick = Math.min(bars ? 26 : 60, band * 0.8 / drawn.length);
  const x = m => axis < 0 ? L + band * (m.i + 0.5) + thick * (drawn.indexOf(m.l) - (drawn.length - 1) / 2) : L + 12 + (W - L - R - 24) * u(m.x);
  for (const v of ticks(low, top, log)) {
    svg.append(make('line', {x1: L, x2: W - R, y1: y(v), y2: y(v), class: 'grid'}));
    svg.append(make('text', {x: L - 6, y: y(v) + 4, 'text-anchor': 'end'}, scaled(TIMES, v)));
  }
  if (panel.name) svg.append(make('text', {x: L, y: 14}, panel.name));
  let free = 0;
  panel.cells.forEach((c, i) => {
    const m = marks.find(k => k.cell === c), name = names[i], middle = axis < 0 ? L + band * (i + 0.5) : m ? x(m) : 0;
    const fits = name.length > longest ? name.slice(0, longest - 1) + '\u2026' : name, half = fits.length * wide / 2;
    const at = axis < 0 ? middle : Math.min(Math.max(middle, L - 20 + half), W - half);
    if (axis >= 0 && at - half < free) return;
    free = at + half + 6;
    svg.append(make('text', turned ? {transform: `translate(${at + 4} ${H - B + 14}) rotate(-35)`, 'text-anchor': 'end', class: 'place'}
      : {x: at, y: H - B + 18, 'text-anchor': 'middle', class: 'place'}, fits, make('title', {}, name)));
  });
  for (const l of axis < 0 ? [] : drawn) {
    const own = marks.filter(m => m.l === l).sort((a, b) => a.x - b.x);
    svg.append(make('path', {d: own.map((m, i) => (i ? 'L' : 'M') + x(m) + ' ' + y(m.s)).join(''), ...stroke(l), 'data-label': l.name}));
  }
  for (const m of marks) {
    const e = bars ? make('rect', {x: x(m) - thick * 0.45, width: thick * 0.9, y: y(m.s), height: Math.max(0, y(0) - y(m.s)), fill: colour(m.l)})
      : markOf(m.l, x(m), y(m.s));
    e.setAttribute('data-label', m.l.name);
    e.append(make('title', {}, textOf(m.cell, m.row)));
    const [from, to] = range(m);
    svg.append(e);
    if (from < to) svg.append(make('line', {x1: x(m), x2: x(m), y1: y(from), y2: y(to), class: 'range', 'data-label': m.l.name}));
  }
  svg.onpointermove = event => {
    const box = svg.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top;
    const away = m => (x(m) - px) ** 2 + (axis < 0 ? 0 : (y(m.s) - py) ** 2);
    const near = marks.reduce((a, b) => away(b) < away(a) ? b : a);
    read.textContent = textOf(near.cell, near.row);
  };
  return svg;
};
if (live) {
  const pictures = all('.picture', figure);
  pictures[0].before(canvas, read);
  pictures.forEach(picture => picture.classList.add('static'));
}

// --- the controls
const slider = (name, axisName) => {
  const input = make('input', {type: 'range', min: -2, max: 2, step: 0.05, value: 0, id: 'slide-' + axisName});
  const output = make('output', {for: input.id}, times(1));
  input.oninput = () => {
    now[axisName] = 2 ** Number(input.value);
    output.textContent = times(now[axisName]);
    refresh();
  };
  input.back = () => { input.value = 0; now[axisName] = 1; output.textContent = times(1); };
  return [make('label', {class: 'slide'}, name + ' ', input, output), input];
};
const canSlide = data.cells.some(c => c.rows.some(r => Array.isArray(r.times)));
const [latency, latencyInput] = slider('Latency', 'latency'), [bandwidth, bandwidthInput] = slider('Bandwidth', 'bandwidth');
const search = make('input', {type: 'search', id: 'filter', placeholder: 'words of rows to keep', 'aria-label': 'keep rows with these words'});
const counted = make('output', {id: 'rows', for: 'filter'});
const moved = make('p', {class: 'note'}, 'The times in tables and figures are those of the slid network between nodes: kernels and links inside nodes stay. ' +
  'They were played at ' + F.map(times).join(', ') + ' of each; between those they are exact where they lie on one plane with their neighbours, ' +
  'and else marked \u2248. What is grey (the answer, ranges, other columns) is of the network as given.');
const boxes = data.labels.map(l => {
  const box = make('input', {type: 'checkbox'});
  box.checked = true;
  box.onchange = () => { hidden[box.checked ? 'delete' : 'add'](l.name); refresh(); };
  return make('label', {class: 'scheme'}, box, swatch(l), l.name);
});
const setAll = on => {
  all('.scheme input').forEach(box => { box.checked = on; });
  hidden.clear();
  if (!on) data.labels.forEach(l => hidden.add(l.name));
  refresh();
};
const button = (text, does) => { const b = make('button', {type: 'button'}, text); b.onclick = does; return b; };
search.oninput = () => { filter = search.value; sieve(); };
const schemes = make('details', {class: 'schemes'}, make('summary', {}, 'Schemes'), make('div', {class: 'boxes'},
  button('all', () => setAll(true)), button('none', () => setAll(false)), ...boxes));
schemes.open = boxes.length <= 8;
const play = make('div', {class: 'play', role: 'group', 'aria-label': 'Play with the numbers'}, ...(canSlide ? [bandwidth, latency] : []),
  make('label', {class: 'slide'}, 'Filter ', search, counted),
  button('as given', () => { latencyInput.back(); bandwidthInput.back(); search.value = filter = ''; setAll(true); }), schemes);
const figures = document.getElementById('figures');
figures.before(play, moved);
function refresh() {
  retime();
  sieve();
  for (const g of all('.picture svg g')) {
    const title = all(':scope > title', g)[0];
    if (title && data.labels.some(l => l.name === title.textContent)) g.style.display = hidden.has(title.textContent) ? 'none' : '';
  }
  draw();
}
refresh();
let width = canvas.clientWidth;
window.addEventListener('resize', () => { if (canvas.clientWidth !== width) { width = canvas.clientWidth; draw(); } });
})();
