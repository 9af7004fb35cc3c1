// The page of a comparison: the decision, the question, the reasons, then the figures.
const colour = fabric => series(figures.fabrics.indexOf(fabric));
// The first value of a sweep stands for all in the charts that show one run.
const shownRuns = () => figures.runs.filter(run => run.value === figures.values[0]);
const isSwept = figures.sweep_key !== "";
const atFirst = () => isSwept ? ` at ${placeOf(figures.values[0])}` : "";
const placeOf = value => figures.axes.map((axis, i) => `${axis.key} = ${value.split(", ")[i]}`)
    .join(", ");

const leading = () => figures.decision.sentences.slice(0, 3);

function decision() {
  const head = element(page, "header", {id: "decision"});
  element(head, "p", {class: "eyebrow"}, figures.scenario || "Fabrics compared");
  const headline = figures.decision.headline;
  const title = element(head, "h1", headline.length > 110 ? {class: "long"} : {});
  unbroken(title, headline, figures.fabrics);
  for (const sentence of leading()) element(head, "p", {class: "lead"}, sentence);
  if (figures.missing.length)
    element(head, "p", {class: "lead"}, `Missing: ${figures.missing.join(", ")}.`);
}
function asked() {
  const one = section(page, "The question", "question");
  const about = figures.about;
  question(one, [
    ["Work", figures.work], ["Cluster", figures.cluster], ["Fabrics", figures.fabrics.join(", ")],
    ["Varied", figures.axes.map(axis => `${axis.key}: ${axis.values.join(", ")}`).join("; ")],
    ["Seeds", figures.seeds > 1 ? `${figures.seeds}; the run with the median time is shown` : ""],
    ["Scenario", about.scenario_file], ["Prices", figures.prices_text],
    ["Simulated", [about.date, about.version].filter(Boolean).join(", ")]]);
}
function ranking() {
  if (isSwept) return;
  const runs = figures.tables[0].order.map(i => figures.runs[i]).filter(run => run.complete);
  if (runs.length < 2) return;
  const one = section(page, "Time to do the work, the shortest first", "ranking");
  bars(one, runs.map((run, i) => (
      {group: "", name: run.fabric, fill: colour(run.fabric), value: run.time_us, strong: i === 0,
       least: run.least_us, most: run.most_us,
       text: `${timeText(run.time_us)}${run.behind ? `, ${run.behind}` : ""}, ${run.limit} of the limit`})),
       "time of each fabric", 1060);
  if (figures.seeds > 1)
    element(one, "p", {class: "note"}, `The thin line is the spread over ${figures.seeds} seeds.`);
}
function reasons() {
  if (isSwept && figures.fabrics.length === 1) return;  // nothing to compare at a value
  const one = section(page, "Reasons", "verdict");
  for (const shown of figures.tables) {
    if (isSwept) element(one, "h3", {}, `At ${placeOf(shown.value)}`);
    const list = element(one, "ul");
    for (const claim of shown.claims) element(list, "li", {class: claim.kind}, claim.sentence + ".");
  }
}
function bestValues() {
  if (!figures.best_values.length) return;
  const one = section(page, "The best value on each fabric", "best");
  const list = element(one, "ul");
  for (const best of figures.best_values)
    element(list, "li", {class: best.value ? "found" : "note"}, best.sentence + ".");
}
function shares() {
  const runs = shownRuns().filter(run => run.shares && run.shares.length);
  if (!runs.length) return;
  const one = section(page, `Where the time went${atFirst()}`, "shares");
  const text = ps => timeText(ps / 1e6);
  stackedBars(one, runs.map(run => {
    const sum = run.shares.reduce((total, share) => total + share.ps, 0);
    return {name: run.fabric, text: text(sum), parts: run.shares.map(share => (
        {name: share.name, value: share.ps,
         text: `${text(share.ps)}, ${(100 * share.ps / Math.max(sum, 1)).toFixed(1)} %`}))};
  }), "shares of the time of each fabric");
  element(one, "p", {class: "note"},
          "The chain of waits that ended last, taken apart; hover for the figures.");
}
function advice(shown) {
  const one = section(page, `Which to choose${atFirst()}`, "rules");
  const list = element(one, "ul");
  const isSaid = rule => !isSwept && !rule.opinion && (rule.about === "speed" ||
      leading().includes(rule.sentence));  // at the top of the page
  for (const rule of shown.rules.filter(rule => !isSaid(rule))) {
    const item = element(list, "li", {class: rule.opinion ? "opinion" : "found"});
    element(item, "span", {class: "tag"}, rule.opinion ? `opinion, ${rule.about}` : rule.about);
    item.append(shownText(rule.sentence));
  }
}
function tables() {
  const one = section(page, "Figures", "figures");
  figures.tables.forEach((shown, i) => {
    const many = figures.tables.length > 1;
    const place = many ? element(one, "details", i ? {} : {open: ""}) : one;
    if (many) element(place, "summary", {}, placeOf(shown.value));
    table(place, ["", ...shown.fabrics], shown.rows);
  });
}

// Time against each value, one line a fabric; of a grid a map for each fabric.
function swept() {
  if (!isSwept) return;
  if (figures.axes.length > 1) return grids();
  const one = section(page, `Time against ${figures.sweep_key}`, "sweep");
  legend(one, figures.fabrics, colour);
  const done = figures.runs.filter(run => run.complete);
  const x = named(figures.values);
  const y = linear(Math.max(...done.map(run => run.most_us)), timeText);
  const svg = canvas(one, "time against each value", x, y, {x: figures.sweep_key, y: "time"});
  svg.classList.add("single");
  for (const fabric of figures.fabrics) {
    const runs = done.filter(run => run.fabric === fabric);
    for (const run of runs)
      if (run.most_us > run.least_us) {
        const at = inX(x.at(figures.values.indexOf(run.value)));
        drawn(svg, "line", {x1: at, x2: at, y1: inY(y.at(run.least_us)), y2: inY(y.at(run.most_us)),
                            stroke: colour(fabric), "stroke-width": 1.5, opacity: 0.7});
      }
    curve(svg, fabric, colour(fabric), runs.map(run =>
        [x.at(figures.values.indexOf(run.value)), y.at(run.time_us),
         `${run.value}: ${timeText(run.time_us)}`]), true);
  }
  if (figures.seeds > 1)
    element(one, "p", {class: "note"}, `Upright lines are the spread over ${figures.seeds} seeds.`);
}
function grids() {
  const one = section(page, `Time: ${figures.axes[0].key} down, ${figures.axes[1].key} across`,
                      "sweep");
  for (const fabric of figures.fabrics) {
    const best = (figures.best_values.find(b => b.fabric === fabric) || {}).value;
    element(one, "h3", {}, fabric);
    const value = (row, column) => `${figures.axes[0].values[row]}, ${figures.axes[1].values[column]}`;
    table(one, ["", ...figures.axes[1].values], figures.axes[0].values.map((name, row) =>
        [name, ...figures.axes[1].values.map((_, column) => {
          const run = figures.runs.find(r => r.fabric === fabric && r.value === value(row, column));
          return !run ? "missing" : run.complete ? timeText(run.time_us) : "failed";
        })]), (row, column) => column > 0 && value(row, column - 1) === best);
  }
  element(one, "p", {class: "note"}, "The best of each fabric stands out, if there is a clear one.");
}

// Bus bandwidth against size, one line a fabric and collective; bars where there is but one size.
function bandwidth(parent) {
  const curves = new Map();
  for (const run of figures.runs)
    for (const phase of run.collectives) {
      const key = JSON.stringify([run.fabric, phase.name]);
      if (!curves.has(key)) curves.set(key, []);
      curves.get(key).push([phase.bytes, phase.busbw]);
    }
  if (curves.size === 0) return;
  const sizes = new Set([...curves.values()].flat().map(point => point[0]));
  const isLine = [...curves.values()].some(points => new Set(points.map(p => p[0])).size > 1);
  const one = section(parent, isLine ? "Bus bandwidth against size" : "Bus bandwidth, GB/s",
                      "bandwidth");
  if (!isLine) return bars(one, [...curves].map(([key, points]) => {
    const [fabric, name] = JSON.parse(key);
    return {group: name, name: fabric, fill: colour(fabric), value: points[0][1],
            text: points[0][1].toFixed(1)};
  }), "bus bandwidth");
  legend(one, figures.fabrics, colour);
  const x = logarithmic([...sizes], bytesText, 4);
  const y = linear(Math.max(...[...curves.values()].flat().map(p => p[1])), v => String(+v.toFixed(3)));
  const svg = canvas(one, "bus bandwidth against size", x, y, {x: "size", y: "GB/s"});
  for (const [key, points] of curves) {
    const [fabric, name] = JSON.parse(key);
    points.sort((a, b) => a[0] - b[0]);
    curve(svg, `${fabric}, ${name}`, colour(fabric), points.map(([bytes, rate]) =>
        [x.at(bytes), y.at(rate), `${bytesText(bytes)}, ${rate} GB/s`]), true);
  }
}
function latency(parent) {
  const runs = shownRuns().filter(run => run.latency.length);
  if (!runs.length) return;
  const one = section(parent, `Message latency: share that arrived within${atFirst()}`, "latency");
  legend(one, runs.map(run => run.fabric), colour);
  const x = logarithmic(runs.flatMap(run => run.latency.map(p => p[0])), timeText, 10);
  const y = tail();
  const svg = canvas(one, "distribution of message latency", x, y,
                     {x: "latency", y: "share of messages"});
  for (const run of runs)
    curve(svg, run.fabric, colour(run.fabric),
          run.latency.filter(p => p[0] > 0).map(([us, share]) => [x.at(us), y.at(share)]));
}
function overTime(parent, id, title, unit, key, scale, word, base = 10) {
  const runs = shownRuns().filter(run => run.series);
  if (!runs.length) return;
  const one = section(parent, title + atFirst(), id);
  legend(one, runs.map(run => run.fabric), colour);
  const end = Math.max(...runs.map(run => run.series.bin_us * run.series[key].length));
  const longest = Math.max(...runs.map(run => run.series.length_us));
  const most = Math.max(...runs.flatMap(run => run.series[key])) * scale;
  const x = linear(end, timeText, 6), y = linear(most, word, 5, base);
  const svg = canvas(one, title, x, y, {x: "time", y: unit});
  for (const run of runs)
    curve(svg, run.fabric, colour(run.fabric),
          run.series[key].map((v, i) => [x.at((i + 0.5) * run.series.bin_us), y.at(v * scale)]));
  if (longest > end * 1.01)
    element(one, "p", {class: "note"}, `Cut off at ${timeText(end)}; the longest run ends at ${
        timeText(longest)}.`);
}
function linkLoad() {
  const runs = shownRuns().filter(run => run.load.length);
  if (!runs.length) return;
  const one = section(page, `Link load${atFirst()}: each switch a row, each of its ports a cell`, "load");
  one.classList.add("heat");
  const maps = element(one, "div", {class: "pair"});
  for (const run of runs) {
    const place = element(maps, "div");
    element(place, "h3", {}, run.fabric);
    const most = Math.max(...run.load.map(row => row.ports.length));
    const left = 64, high = 12, cell = Math.min(18, (kWide - left - 4) / most);
    const svg = drawn(place, "svg", {viewBox: `0 0 ${kWide} ${run.load.length * high + 2}`, role: "img",
                                   "aria-label": `link load of ${run.fabric}`, class: "chart"});
    run.load.forEach((row, y) => {
      drawn(svg, "text", {x: left - 8, y: y * high + 9, "text-anchor": "end"}, row.name);
      row.ports.forEach(([link, busy, paused], x) => {
        const mark = drawn(svg, "rect", {class: "cell", x: left + x * cell, y: y * high,
                                         width: Math.max(cell - 1, 1), height: high - 1, rx: 1.5,
                                         fill: `rgba(var(--heat), ${(0.06 + busy / 1064).toFixed(3)})`});
        if (paused >= 10) mark.setAttribute("stroke", "var(--bad)");
        drawn(mark, "title", {}, `${link}: ${busy / 10} % busy, ${paused / 10} % held up`);
      });
    });
  }
  element(one, "p", {class: "note"}, "The stronger the colour, the busier; a red edge is a port that was held up for " +
      "at least 1 % of the run. Hover for the link.");
}
function cost() {
  const one = section(page, `Parts and prices, ${figures.currency}${atFirst()}`, "cost");
  const groups = new Map();
  for (const run of shownRuns()) {
    const key = JSON.stringify(run.bill);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(run);
  }
  for (const runs of groups.values()) {
    const bill = runs[0].bill;
    element(one, "h3", {}, runs.map(run => run.fabric).join(", "));
    table(one, ["part", "count", "each", "together", "power"],
          [...bill.lines, ["sum", "", "", bill.price, bill.power]]);
  }
  element(one, "p", {class: "note"}, figures.prices_text + (figures.has_guesses
      ? "; * is a guess, for which no source is public." : "."));
  const without = shownRuns().filter(run => !run.bill.is_whole).map(run => run.fabric);
  if (without.length)
    element(one, "p", {class: "note"},
            `Parts of ${without.join(", ")} have no price, so not ranked by cost.`);
}
function heldUp() {
  const one = section(page, `What held each one up${atFirst()}`, "bottlenecks");
  const list = element(one, "ul");
  for (const run of shownRuns()) {
    const item = element(list, "li", {style: `border-left-color: ${colour(run.fabric)}`});
    element(item, "strong", {}, run.fabric);
    item.append(shownText(`: ${run.sentence}`));
  }
}

if (figures.runs.length) {
  decision();
  asked();
  ranking();
  bestValues();
  swept();
  reasons();
  shares();
  heldUp();
  advice(figures.tables[0]);
  tables();
  const first = element(page, "div", {class: "pair"});
  bandwidth(first);
  latency(first);
  const second = element(page, "div", {class: "pair"});
  overTime(second, "queue", "Deepest queue over time", "bytes that wait", "queue", 1, bytesText, 2);
  overTime(second, "paused", "Ports held up over time", "ports", "paused", 0.001,
           v => String(+v.toFixed(3)));
  linkLoad();
  cost();
} else {
  element(page, "h1", {}, figures.scenario || "Fabrics compared");
  element(page, "p", {}, `No run came to its end. Missing: ${figures.missing.join(", ")}.`);
}
scenarioText(figures.about);
element(page, "footer", {}, "Simulated packet by packet by Tulle. Hashes of the runs: " +
    figures.runs.map(run => run.hash).join(", "));
