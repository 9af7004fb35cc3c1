// The page of one run: the verdict, what was asked, the topology with its loads, links over time.
const kShown = 4;  // links that are drawn until somebody chooses others
const chosen = new Set(figures.links.filter((link, i) => i < kShown || link.chosen)
    .map(link => link.name));
const colour = name => series(figures.links.findIndex(link => link.name === name));

function verdict() {
  const head = element(page, "header", {id: "decision"});
  element(head, "p", {class: "eyebrow"}, [figures.scenario, figures.fabric].filter(Boolean)
      .join(" \u00b7 "));
  element(head, "h1", figures.sentence.length > 110 ? {class: "long"} : {}, figures.sentence);
  const one = section(page, "The question", "question");
  const about = figures.about;
  question(one, [["Work", figures.work], ["Cluster", figures.cluster], ["Fabric", figures.fabric],
                 ["Took", figures.took], ["Scenario", about.scenario_file],
                 ["Seed", String(figures.seed)],
                 ["Simulated", [about.date, about.version].filter(Boolean).join(", ")]]);
}
function findings() {
  if (!figures.findings.length) return;
  const one = section(page, "Findings", "findings");
  const list = element(one, "ul");
  for (const finding of figures.findings) {
    const item = element(list, "li", {class: finding.severity});
    element(item, "span", {class: "tag"}, finding.severity);
    item.append(shownText(finding.sentence) + ".");
  }
}

// Shares that are too small to be seen are summed up.
function shares() {
  const sum = figures.shares.reduce((total, share) => total + share.ps, 0);
  if (!sum) return;
  const one = section(page, "Where the time went", "shares");
  const large = figures.shares.filter(share => share.ps * 100 >= sum).slice(0, 12);
  const rest = sum - large.reduce((total, share) => total + share.ps, 0);
  const parts = large.map(share => ({name: share.name, value: share.ps}));
  if (rest > 0) parts.push({name: "all else", value: rest});
  const text = ps => `${timeText(ps / 1e6)}, ${(100 * ps / sum).toFixed(1)} %`;
  for (const part of parts) part.text = text(part.value);
  stackedBars(one, [{name: "", text: timeText(sum / 1e6), parts}], "shares of the time");
  table(one, ["what", "time and share"], parts.map(part => [shownText(part.name), part.text]));
  element(one, "p", {class: "note"}, "The chain of waits that ended last, taken apart.");
}

// Of each training step, what a rank spent its time on.
function training() {
  if (!figures.training) return;
  const one = section(page, "Training", "training");
  for (const step of figures.training) {
    const sum = step.parts.reduce((total, part) => total + part.ps, 0);
    const parts = step.parts.map(part => ({
      name: part.name, value: part.ps,
      text: `${timeText(part.ps / 1e6)}, ${(100 * part.ps / sum).toFixed(1)} %`}));
    element(one, "p", {}, shownText(step.text));
    stackedBars(one, [{name: step.name, text: timeText(sum / 1e6), parts}],
                `what a rank of ${step.name} spent its time on`);
    table(one, ["what a rank did, on average", "time and share"],
          parts.map(part => [shownText(part.name), part.text]));
  }
}

// Where nodes stand: a row for each tier, hosts below; on a circle where there are no tiers.
function placed(graph) {
  const tiers = [...new Set(graph.nodes.map(node => node.tier))].sort((a, b) => b - a);
  const wide = 1060, gap = 110;
  const place = new Map();
  const inTier = tiers.map(tier => graph.nodes.filter(node => node.tier === tier));
  const switches = graph.nodes.filter(node => !node.host);
  const isFlat = switches.length > 6 && new Set(switches.map(node => node.tier)).size === 1;
  if (isFlat) {
    const radius = 210, high = 2 * radius + 110;
    const ring = (nodes, r) => nodes.forEach((node, i) => {
      const angle = 2 * Math.PI * i / nodes.length - Math.PI / 2;
      place.set(node.id, [wide / 2 + 1.6 * r * Math.cos(angle), high / 2 + r * Math.sin(angle)]);
    });
    ring(switches, radius - 40);
    ring(graph.nodes.filter(node => node.host), radius + 20);
    return {place, high, wide};
  }
  inTier.forEach((nodes, row) => nodes.forEach((node, i) =>
      place.set(node.id, [(i + 0.5) / nodes.length * wide, 24 + row * gap])));
  return {place, high: 48 + (tiers.length - 1) * gap, wide};
}
function loadColour(busy) {  // in thousandths; from the colour of lines to that of trouble
  const share = Math.min(busy, 1000) / 10;
  return `color-mix(in oklab, var(--bad) ${share.toFixed(0)}%, var(--line))`;
}
function topology() {
  const graph = figures.graph;
  const one = section(page, "Topology and load", "topology");
  if (!graph.nodes.length)
    return element(one, "p", {class: "note"}, "The fabric is too large to draw; the table of " +
                                              "links below has the busiest.");
  const {place, high, wide} = placed(graph);
  const svg = drawn(one, "svg", {viewBox: `0 0 ${wide} ${high}`, role: "img",
                                 "aria-label": "topology with loads", class: "chart"});
  for (const edge of [...graph.edges].sort((a, b) => a.busy - b.busy)) {
    const [x1, y1] = place.get(edge.a), [x2, y2] = place.get(edge.b);
    const line = drawn(svg, "line", {class: "cable", x1, y1, x2, y2, stroke: loadColour(edge.busy),
                                     "stroke-width": (1 + edge.busy / 1000 * 3).toFixed(2)});
    if (edge.paused >= 10) line.setAttribute("stroke-dasharray", "5 3");
    drawn(line, "title", {}, edge.title);
  }
  const count = graph.nodes.filter(node => node.host).length;
  for (const node of graph.nodes) {
    const [x, y] = place.get(node.id);
    const size = node.host ? 3.5 : 6;
    drawn(drawn(svg, "rect", {class: "node", x: x - size, y: y - size, width: 2 * size,
                              height: 2 * size, rx: node.host ? size : 2,
                              fill: node.host ? "var(--soft)" : "var(--accent)"}),
          "title", {}, node.name);
    const row = graph.nodes.filter(other => other.tier === node.tier).length;
    if (row <= 40)
      drawn(svg, "text", {x, y: node.host ? y + 18 : y - 11, "text-anchor": "middle"}, node.name);
  }
  element(one, "p", {class: "note"}, "Thicker and redder is busier, the busier direction of each " +
      "cable counts; dashes are cables held up for at least 1 % of the run. Hover for figures." +
      (graph.merged ? ` Hosts of a switch are drawn as one; there are ${figures.hosts}.` : ""));
}

function linkTable() {
  const one = section(page, "Links", "links");
  table(one, ["link", "busy", "flows", "deepest queue", figures.held_up_word, "marks", "lost"],
        figures.links.map(link => [link.name, `${link.busy / 10} %`, link.flows,
            bytesText(link.peak), timeText(link.paused_us), link.marks, link.lost]));
  if (figures.links_left_out)
    element(one, "p", {class: "note"}, `And ${figures.links_left_out} links more.`);
}

let charts = null;
function chart(parent, id, title, unit, key, word, base = 10) {
  const one = section(parent, title, id);
  const links = figures.links.filter(link => chosen.has(link.name) && link[key]);
  const most = Math.max(0, ...links.flatMap(link => link[key]));
  if (!most) return element(one, "p", {class: "note"}, "None on these links.");
  const x = linear(figures.length_us, timeText, 6), y = linear(most, word, 5, base);
  const svg = canvas(one, title, x, y, {x: "time", y: unit});
  for (const link of links)
    curve(svg, link.name, colour(link.name), link[key].map((v, i) =>
        [Math.min(1, x.at((i + 0.5) * figures.bin_us)), y.at(v)]));
}
function drawCharts() {
  charts.replaceChildren();
  chart(charts, "queue", "Queue", "bytes that wait", "queue", bytesText, 2);
  chart(charts, "paused", "Held up", "share of the time", "held", v => `${+(v / 10).toFixed(1)} %`);
  chart(charts, "marks", `Marks in ${timeText(figures.bin_us)}`, "packets", "marked", numberText);
  rates(charts);
}
function rates(parent) {
  const one = section(parent, "Rates of senders", "rates");
  if (!figures.rates.length)
    return element(one, "p", {class: "note"}, figures.rates_note);
  const names = figures.rates.map(rate => rate.name);
  const of = name => series(names.indexOf(name));
  const x = linear(figures.length_us, timeText, 6);
  const y = linear(Math.max(...figures.rates.flatMap(rate => rate.points.map(p => p[1]))), numberText);
  const svg = canvas(one, "rates of senders", x, y, {x: "time", y: "Gb/s"});
  for (const rate of figures.rates) {
    const steps = [];
    rate.points.forEach(([us, gbps], i) => {
      if (i) steps.push([x.at(us), y.at(rate.points[i - 1][1])]);
      steps.push([x.at(us), y.at(gbps)]);
    });
    curve(svg, rate.name, of(rate.name), steps);
  }
  legend(one, names, of);
  if (figures.rates_left_out)
    element(one, "p", {class: "note"},
            `Those that were slowed most; ${figures.rates_left_out} more are left out.`);
}
function overTime() {
  if (!figures.links.some(link => link.queue)) return;
  const one = section(page, "Over time, for these links", "choice");
  const list = element(one, "div", {class: "legend"});
  for (const link of figures.links.filter(link => link.queue)) {
    const item = element(list, "label");
    const box = element(item, "input", {type: "checkbox"});
    box.checked = chosen.has(link.name);
    box.addEventListener("change", () => {
      if (box.checked) chosen.add(link.name); else chosen.delete(link.name);
      drawCharts();
    });
    element(item, "i", {style: `background: ${colour(link.name)}`, class: "block"});
    item.append(shownText(link.name));
  }
  charts = element(page, "div", {class: "pair"});
  drawCharts();
}
function tables() {
  for (const shown of figures.tables) {
    const one = section(page, shown.title, shown.id);
    table(one, shown.head, shown.rows);
  }
}

verdict();
findings();
training();
shares();
topology();
overTime();
tables();
linkTable();
scenarioText(figures.about);
element(page, "footer", {}, `Simulated packet by packet by Tulle. Hash of the run: ${figures.hash}`);
