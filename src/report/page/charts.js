// What all pages draw with: elements, axes, curves, bars, tables.
const page = document.getElementById("page");
const kSvg = "http://www.w3.org/2000/svg";
const series = i => `var(--s${i % 8})`;

// "s4[3] -> s1" must not break within its arrow.
const shownText = text => text.replaceAll("->", "\u2192");

function element(parent, name, attributes = {}, text = "") {
  const one = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
  if (text !== "") one.textContent = name === "pre" ? text : shownText(text);
  parent.append(one);
  return one;
}
function drawn(parent, name, attributes = {}, text = "") {
  const one = document.createElementNS(kSvg, name);
  for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
  if (text !== "") one.textContent = shownText(text);
  parent.append(one);
  return one;
}
// A text in which names stay in one line, although they have dashes.
function unbroken(parent, text, names) {
  const longest = [...names].sort((a, b) => b.length - a.length);
  while (text) {
    const found = longest.map(name => [text.indexOf(name), name]).filter(([at]) => at >= 0)
        .sort((a, b) => a[0] - b[0])[0];
    parent.append(shownText(found ? text.slice(0, found[0]) : text));
    if (!found) return;
    element(parent, "span", {class: "whole"}, found[1]);
    text = text.slice(found[0] + found[1].length);
  }
}
function section(parent, title, id) {
  const one = element(parent, "section", {id});
  element(one, "h2", {}, title);
  return one;
}

function timeText(us) {
  const units = [[1e6, "s"], [1e3, "ms"], [1, "us"], [1e-3, "ns"]];
  const [size, name] = units.find(([size]) => us >= size) || units[3];
  return `${+(us / size).toPrecision(3)} ${name}`;
}
function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < 3) { bytes /= 1024; ++unit; }
  return `${+bytes.toPrecision(3)} ${units[unit]}`;
}
const numberText = v => String(+v.toPrecision(3));

// Axes: `at` puts a value between 0 and 1, `ticks` are values with a word each.
function linear(most, word, count = 5, base = 10) {
  most = most > 0 ? most : 1;
  const rough = most / count;
  const power = base ** Math.floor(Math.log(rough) / Math.log(base) + 1e-9);
  const step = (base === 10 ? [1, 2, 5, 10] : [1, 2]).map(m => m * power).find(s => s >= rough);
  const top = Math.ceil(most / step - 1e-9) * step;
  const ticks = [];
  for (let i = 0; i * step <= top * 1.0001; ++i) ticks.push([i * step, word(i * step)]);
  return {at: v => v / top, ticks};
}
function logarithmic(values, word, base) {
  const known = values.filter(v => v > 0);
  const low = Math.floor(Math.log(Math.min(...known)) / Math.log(base) + 1e-9);
  let high = Math.ceil(Math.log(Math.max(...known)) / Math.log(base) - 1e-9);
  if (high <= low) high = low + 1;
  const step = Math.ceil((high - low) / 8);
  const ticks = [];
  for (let i = low; i <= high; i += step) ticks.push([base ** i, word(base ** i)]);
  return {at: v => (Math.log(v) / Math.log(base) - low) / (high - low), ticks};
}
// Words side by side, in the order given.
function named(words) {
  const at = i => (i + 0.5) / words.length;
  return {at, ticks: words.map((word, i) => [i, word])};
}
// The tail of a distribution has as much room as its head.
function tail() {
  const at = share => Math.min(-Math.log10(1 - Math.min(share, 0.99999)), 4) / 4;
  return {at, ticks: [[0, "0"], [0.5, "50 %"], [0.9, "90 %"], [0.99, "99 %"], [0.999, "99.9 %"],
                      [0.9999, "99.99 %"]]};
}

const kWide = 520, kHigh = 262, kLeft = 62, kBottom = 40, kTop = 20, kRight = 12;
const inX = share => kLeft + share * (kWide - kLeft - kRight);
const inY = share => kHigh - kBottom - share * (kHigh - kBottom - kTop);

// `titles` are what the axes show: {x: "message size", y: "GB/s"}.
function canvas(parent, label, x, y, titles = {}) {
  const svg = drawn(parent, "svg", {viewBox: `0 0 ${kWide} ${kHigh}`, role: "img",
                                    "aria-label": label, class: "chart"});
  for (const [value, word] of y.ticks) {
    drawn(svg, "line", {class: "grid", x1: kLeft, x2: kWide - kRight, y1: inY(y.at(value)),
                        y2: inY(y.at(value))});
    drawn(svg, "text", {x: kLeft - 6, y: inY(y.at(value)) + 4, "text-anchor": "end"}, word);
  }
  for (const [value, word] of x.ticks)
    drawn(svg, "text", {x: inX(x.at(value)), y: kHigh - kBottom + 16, "text-anchor": "middle"},
          word);
  drawn(svg, "line", {class: "axis", x1: kLeft, x2: kWide - kRight, y1: inY(0), y2: inY(0)});
  if (titles.y) drawn(svg, "text", {class: "title", x: 0, y: 8}, titles.y);
  if (titles.x)
    drawn(svg, "text", {class: "title", x: kWide - kRight, y: kHigh - 6, "text-anchor": "end"},
          titles.x);
  return svg;
}
function curve(svg, name, stroke, points, dotted) {
  const path = points.map(([x, y], i) => `${i ? "L" : "M"}${inX(x).toFixed(1)} ${
      inY(y).toFixed(1)}`).join("");
  const one = drawn(svg, "path", {class: "mark", d: path, stroke});
  drawn(one, "title", {}, name);
  if (dotted)
    for (const [x, y, text] of points)
      drawn(drawn(svg, "circle", {class: "dot", cx: inX(x), cy: inY(y), r: 3.5, fill: stroke}),
            "title", {}, `${name}: ${text}`);
}
// Names with the colour of each.
function legend(parent, names, colourOf, block = false) {
  const one = element(parent, "div", {class: "legend"});
  for (const name of names) {
    const item = element(one, "span");
    element(item, "i", {style: `background: ${colourOf(name)}`, class: block ? "block" : "line"});
    item.append(name);
  }
  return one;
}

function table(parent, head, rows, best = () => false) {
  const one = element(element(parent, "div", {class: "scroll"}), "table");
  const top = element(element(one, "thead"), "tr");
  for (const word of head) element(top, "th", {scope: "col"}, word);
  const body = element(one, "tbody");
  rows.forEach((cells, r) => {
    const kind = String(cells[0]).startsWith("  ") ? "part" : cells[0] === "sum" ? "sum" : "";
    const row = element(body, "tr", kind ? {class: kind} : {});
    cells.forEach((cell, c) => element(row, "td", best(r, c) ? {class: "best"} : {},
                                       String(cell).trim()));
  });
  return one;
}

// Bars with a name before each and a text behind it; groups have a head.
function bars(parent, all, label = "bars", wide = kWide) {
  const groups = [...new Set(all.map(bar => bar.group))];
  const most = Math.max(...all.map(bar => bar.value), 1e-9);
  const longest = Math.max(...all.map(bar => bar.name.length));
  const left = Math.min(wide * 0.4, Math.max(90, longest * 6.3 + 12));
  const behind = Math.max(...all.map(bar => bar.text.length)) * 5.8 + 12, step = 24;
  const height = all.length * step + groups.filter(g => g).length * 24 + 4;
  const svg = drawn(parent, "svg", {viewBox: `0 0 ${wide} ${height}`, role: "img",
                                    "aria-label": label, class: "chart"});
  let y = 0;
  for (const group of groups) {
    if (group) {
      drawn(svg, "text", {class: "strong", x: 0, y: y + 16}, group);
      y += 24;
    }
    for (const bar of all.filter(bar => bar.group === group)) {
      drawn(svg, "text", {class: bar.strong ? "strong" : "name", x: left - 8, y: y + 15,
                          "text-anchor": "end"}, bar.name);
      const room = wide - left - behind;
      const width = Math.max(1, bar.value / most * room);
      drawn(drawn(svg, "rect", {class: "dot", x: left, y: y + 4, width, height: step - 9, rx: 2.5,
                                fill: bar.fill}), "title", {}, `${bar.name}: ${bar.text}`);
      if (bar.least !== undefined && bar.most > bar.least)  // a line over the spread
        drawn(svg, "path", {d: `M${left + bar.least / most * room} ${y + 11.5}H${
            left + bar.most / most * room}`, stroke: "var(--ink)", "stroke-width": 1.5});
      drawn(svg, "text", {class: bar.strong ? "strong" : "", x: left + Math.max(width,
          (bar.most || 0) / most * room) + 6, y: y + 15}, bar.text);
      y += step;
    }
  }
}

// Each row is a sum of parts: {name, text, parts: [{name, value, text}]}. Parts of one name have one
// colour, and all rows one scale.
function stackedBars(parent, rows, label) {
  const sums = rows.map(row => row.parts.reduce((sum, part) => sum + part.value, 0));
  const most = Math.max(...sums, 1e-9);
  const weight = new Map();
  for (const row of rows)
    for (const part of row.parts)
      weight.set(part.name, (weight.get(part.name) || 0) + part.value);
  const names = [...weight.keys()].sort((a, b) => weight.get(b) - weight.get(a));
  const colourOf = name => {
    const i = names.indexOf(name);
    return i < 8 ? series(i) : `color-mix(in srgb, ${series(i)} 55%, var(--card))`;
  };
  legend(parent, names.filter(name => weight.get(name) > 0), colourOf, true);
  const wide = 1060, step = 30;
  const left = Math.min(320, Math.max(...rows.map(row => row.name.length)) * 6.3 + 14);
  const behind = Math.max(...rows.map(row => row.text.length)) * 5.8 + 14;
  const svg = drawn(parent, "svg", {viewBox: `0 0 ${wide} ${rows.length * step + 2}`, role: "img",
                                    "aria-label": label, class: "chart"});
  rows.forEach((row, i) => {
    let x = left;
    drawn(svg, "text", {class: "name", x: left - 8, y: i * step + 19, "text-anchor": "end"},
          row.name);
    for (const part of row.parts) {
      const width = part.value / most * (wide - left - behind);
      if (width <= 0) continue;
      drawn(drawn(svg, "rect", {class: "share", x, y: i * step + 5, width: Math.max(width - 0.6, 0.3),
                                height: step - 10, fill: colourOf(part.name)}),
            "title", {}, `${row.name}: ${part.name}, ${part.text}`);
      x += width;
    }
    drawn(svg, "text", {x: x + 6, y: i * step + 19}, row.text);
  });
}

// What was asked: pairs of a word and a text.
function question(parent, rows) {
  const list = element(parent, "dl", {class: "question"});
  for (const [word, text] of rows) {
    if (!text) continue;
    element(list, "dt", {}, word);
    element(list, "dd", {}, text);
  }
}
function scenarioText(about) {
  if (!about || !about.scenario_text) return;
  const one = section(page, "The scenario, as it was run", "scenario");
  const place = element(one, "details");
  element(place, "summary", {}, about.scenario_file || "scenario");
  element(place, "pre", {}, about.scenario_text);
  if (about.command) element(one, "p", {class: "note"}, `Again: ${about.command}`);
}
addEventListener("beforeprint", () => document.querySelectorAll("details")
    .forEach(one => one.setAttribute("open", "")));
