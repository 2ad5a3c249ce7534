// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns the histograms: tables with bars in them, so that they are read aloud, copied and printed as what they are.

// Classes of the processes that are shown, added up: Map from the upper bound (Infinity: none) to an array of n figures.
function classes(key, n) {
	const sums = new Map();

	for (const p of shownProcesses())
		for (let i = 0; i < p[key].length; i += n + 1) {
			const below = p[key][i] === null ? Infinity : p[key][i], sum = sums.get(below) || new Array(n).fill(0);

			for (let k = 0; k < n; k++)
				sum[k] += p[key][i + 1 + k];
			sums.set(below, sum);
		}
	return [...sums].sort((a, b) => a[0] - b[0]);
}

// least: what the class of nothing at all is called
function histogram(box, rows, head, series, words, least, empty) {
	if (!rows.length) {
		box.replaceChildren(el("p", {class: "quiet empty"}, empty));
		return;
	}
	const whole = series.map((_, k) => rows.reduce((n, [, v]) => n + v[k], 0));
	const max = series.map((_, k) => Math.max(1, ...rows.map(([, v]) => v[k])));
	let last = 0;

	box.replaceChildren(el("table", {class: "histogram", "aria-labelledby": box.id + "-title"},
		el("thead", null, el("tr", null, el("th", {scope: "col", class: "num"}, head), series.flatMap(({label}) => [el("th", {scope: "col", class: "num"}, label),
			el("td")]))),
		el("tbody", null, rows.map(([below, values]) => {
			const label = below === Infinity ? `from ${words(last)}` : below === 1 ? least : `< ${words(below)}`;

			last = below;
			return el("tr", null, el("th", {scope: "row", class: "num"}, label), values.flatMap((v, k) => [
				el("td", {class: "num", title: `${exact(v)}, ${share(v, whole[k])}`}, v ? MARK + (series[k].words || count)(v) : "–"),
				el("td", {class: "bar-cell"}, bar(v / max[k], series[k].kind))]));
		}))));
}

// Bounds of classes may lie close together: a tick is 4ms, the next power of two 4.2ms.
function fineDuration(ns) {
	return ns >= 1e6 && ns < 1e8 ? Number((ns / 1e6).toFixed(1)) + "ms" : duration(ns);
}

// [[label, blocks, bytes]] of a flat array of classes: [below_ns, blocks, bytes, ...]
function ageRows(ages) {
	const rows = [];

	for (let i = 0; i < ages.length; i += 3)
		rows.push([ages[i] === null ? "older" : `< ${fineDuration(ages[i])}`, ages[i + 1], ages[i + 2]]);
	return rows;
}

// Of all sites that are shown.
function drawAges() {
	const sums = new Map(), some = SITES.filter((s) => s.ages && isShown(s.process));

	for (const {ages} of some)
		for (let i = 0; i < ages.length; i += 3) {
			const below = ages[i] === null ? Infinity : ages[i], sum = sums.get(below) || [0, 0];

			sums.set(below, [sum[0] + ages[i + 1], sum[1] + ages[i + 2]]);
		}
	byId("ages-panel").hidden = !some.length;
	byId("histograms").classList.toggle("three", !!some.length);
	histogram(byId("ages"), [...sums].sort((a, b) => a[0] - b[0]), "Age", [{label: "Blocks", kind: "rate"}, {label: "Bytes", kind: "live", words: bytes}], fineDuration, "none", "");
}

function drawHistograms() {
	const live = KNOWN.has("live_blocks");
	const sizes = classes("sizes", 2).map(([below, v]) => [below, live ? v : v.slice(0, 1)]);

	histogram(byId("sizes"), sizes, "Bytes", [{label: "Allocated", kind: "rate"}, ...(live ? [{label: "Live", kind: "live"}] : [])], bytes, "0 B",
		"No sizes were recorded.");
	histogram(byId("lifetimes"), KNOWN.has("free_calls") ? classes("lifetimes", 1) : [], "Lived", [{label: "Blocks", kind: "rss"}], fineDuration, "at once",
		KNOWN.has("free_calls") ? "No block was freed." : `Frees are not recorded in mode ${DATA.mode}.`);
	drawAges();
}
