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

// Rows are [label, figures]; series: [{label, kind, words}], one for each figure.
function histogram(box, rows, head, series, empty) {
	if (!rows.length) {
		box.replaceChildren(el("p", {class: "quiet empty"}, empty));
		return;
	}
	const whole = series.map((_, k) => rows.reduce((n, [, v]) => n + v[k], 0));
	const max = series.map((_, k) => Math.max(1, ...rows.map(([, v]) => v[k])));

	box.replaceChildren(el("table", {class: "histogram", "aria-labelledby": box.id + "-title"},
		el("thead", null, el("tr", null, el("th", {scope: "col", class: "num"}, head), series.flatMap(({label}) => [el("th", {scope: "col", class: "num"}, label),
			el("td")]))),
		el("tbody", null, rows.map(([label, values]) => el("tr", null, el("th", {scope: "row", class: "num"}, label), values.flatMap((v, k) => [
			el("td", {class: "num", title: `${exact(v)}, ${share(v, whole[k])}`}, v ? MARK + (series[k].words || count)(v) : "–"),
			el("td", {class: "bar-cell"}, bar(v / max[k], series[k].kind))]))))));
}

// Classes that follow each other need no more than where they end. least: what the class of nothing at all is called
function labelled(rows, words, least) {
	return rows.map(([below, values], i) => [below === Infinity ? `from ${words(i ? rows[i - 1][0] : 0)}` : below === 1 ? least : `< ${words(below)}`, values]);
}

// Bounds of classes may lie close together: a tick is 4ms, the next power of two 4.2ms.
function fineDuration(ns) {
	return ns >= 1e6 && ns < 1e8 ? Number((ns / 1e6).toFixed(1)) + "ms" : duration(ns);
}

// ---- ages: ranges, which need not follow each other, and those of processes that have ended may overlap

// [[label, [blocks, bytes]]], the youngest first, of several flat arrays: [from_ns, below_ns, blocks, bytes, ...]
function ageRows(lists) {
	const sums = new Map();

	for (const ages of lists)
		for (let i = 0; i < ages.length; i += 4) {
			const key = `${ages[i]} ${ages[i + 1]}`, sum = sums.get(key) || {from: ages[i], below: ages[i + 1] === null ? Infinity : ages[i + 1], figures: [0, 0]};

			sum.figures = [sum.figures[0] + ages[i + 2], sum.figures[1] + ages[i + 3]];
			sums.set(key, sum);
		}
	return [...sums.values()].sort((a, b) => a.below === b.below ? a.from - b.from : a.below - b.below).map(({from, below, figures}) =>
		[below === Infinity ? `from ${fineDuration(from)}` : below <= 1000 ? "just now" : from ? `${fineDuration(from)} to ${fineDuration(below)}` : `< ${fineDuration(below)}`, figures]);
}

function drawAges() {
	const lists = SITES.filter((s) => s.ages && isShown(s.process)).map((s) => s.ages);

	byId("ages-panel").hidden = !lists.length;
	byId("histograms").classList.toggle("three", !!lists.length);
	histogram(byId("ages"), ageRows(lists), "Age", [{label: "Blocks", kind: "rate"}, {label: "Bytes", kind: "live", words: bytes}], "Nothing is live.");
}

function drawHistograms() {
	const live = KNOWN.has("live_blocks") && FREES_SEEN;
	const sizes = classes("sizes", 2).map(([below, v]) => [below, live ? v : v.slice(0, 1)]);

	histogram(byId("sizes"), labelled(sizes, bytes, "0 B"), "Bytes", [{label: "Allocated", kind: "rate"}, ...(live ? [{label: "Live", kind: "live"}] : [])],
		"No sizes were recorded.");
	histogram(byId("lifetimes"), labelled(FREES_SEEN ? classes("lifetimes", 1) : [], fineDuration, "at once"), "Lived", [{label: "Blocks", kind: "rss"}],
		FREES_SEEN ? "No block was freed." : `${KNOWN.has("free_calls") ? "When blocks are freed is" : "Frees are"} not recorded in mode ${DATA.mode}.`);
	drawAges();
}
