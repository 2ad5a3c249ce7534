// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns the table of functions: what each allocates itself, which is what `report --view functions` shows, and what all stacks that it is
// in allocate. What always holds: itself is the stacks that are named by it, so these columns add up to the whole; in a total a stack
// counts once, however often the function is in it.

const functionTable = (() => {
	const FIGURES = ["live_bytes", "live_blocks", "alloc_calls", "alloc_bytes", "free_calls"], MOST_SITES = 10;
	const NONE = "[no stack]", names = [], modules = [], rowOfFrame = new Int32Array(FRAMES.length);
	let made = null;	// {process, rows}

	// ---- rows are the functions of the report: what has no name is one row of its module

	{
		const known = new Map([["\n", names.push(NONE) - 1]]);

		modules.push("");
		FRAMES.forEach(({function: name, module}, f) => {
			const key = `${module || ""}\n${name ?? "[no name]"}`;

			if (!known.has(key)) {
				known.set(key, names.push(name ?? "[no name]") - 1);
				modules.push(module || "");
			}
			rowOfFrame[f] = known.get(key);
		});
	}

	const selfOf = (site) => site.stack.length ? rowOfFrame[titleFrame(site)] : 0;
	const isIn = (number, site) => site.stack.length ? site.stack.some((f) => rowOfFrame[f] === number) : number === 0;

	// By row: the sums of FIGURES, and of the change since the baseline.
	function sums() {
		const n = FIGURES.length + 1, self = new Float64Array(names.length * n), all = new Float64Array(names.length * n);

		return {self, all, add: (to, row, figures) => {
			for (let k = 0; k < n; k++)
				to[row * n + k] += figures[k];
		}, of: (from, row) => ({change: from[row * n + n - 1], ...Object.fromEntries(FIGURES.map((name, k) => [name, from[row * n + k]]))})};
	}

	function make(shows) {
		const {self, all, add, of} = sums(), seen = new Int32Array(names.length).fill(-1), stacks = new Int32Array(names.length);

		for (const site of SITES) {
			const here = shows(site);

			// what is gone is in a comparison
			if (!isShown(site.process) || !(here || site.sinceBaseline))
				continue;
			const figures = [...FIGURES.map((name) => counter(site.c, name)), site.sinceBaseline], own = selfOf(site);

			add(self, own, figures);
			stacks[own] += here;
			for (let i = site.stack.length ? 0 : -1; i < site.stack.length; i++) {
				const row = i < 0 ? 0 : rowOfFrame[site.stack[i]];

				if (seen[row] !== site.index)
					add(all, row, figures);
				seen[row] = site.index;
			}
		}
		const rows = names.map((name, number) => ({number, name, module: modules[number], stacks: stacks[number], totals: of(self, number), all: of(all, number)}));

		// of those that are alike by what rows are sorted by, the one with the larger total comes first
		return rows.filter(({number}) => seen[number] >= 0).sort((x, y) => y.all.live_bytes - x.all.live_bytes || y.all.alloc_bytes - x.all.alloc_bytes);
	}

	// ---- cells

	// As a search of the flame graph finds it: what has no name is called by its address there.
	function pattern({name, module}) {
		const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

		return name === "[no name]" ? `/^${escaped(basename(module))}${module ? "\\+" : ""}0x/` : `/^${escaped(name)}$/`;
	}

	function detail(row) {
		const live = KNOWN.has("live_bytes"), weigh = live ? WEIGHT["live-bytes"] : WEIGHT["alloc-bytes"], find = () => flame.find(pattern(row));
		const list = SITES.filter((s) => isShown(s.process) && weigh(s) > 0 && isIn(row.number, s)).sort((a, b) => weigh(b) - weigh(a));

		return el("div", {class: "unfolded"},
			el("div", {class: "facts"}, el("div", null, el("span", {class: "quiet"}, "module"), " ", el("span", {class: "name mono"}, row.module || "–"))),
			el("h3", null, live ? "Stacks that it is in, by live bytes" : "Stacks that it is in, by bytes allocated"),
			list.length ? sites.list(list.slice(0, MOST_SITES).map((s) => [s, MARK + bytes(weigh(s)), selfOf(s) === row.number ? "self" : ""])) : el("p", {class: "quiet"}, "They hold nothing."),
			list.length > MOST_SITES ? el("p", {class: "quiet small"}, `and ${plural(list.length - MOST_SITES, "other stack")}`) : null,
			el("button", {type: "button", onclick: find}, "Find it in the flame graph"));
	}

	function nameCell(row) {
		const find = (event) => {
			event.stopPropagation();
			flame.find(pattern(row));
		};

		return el("div", {class: "site"}, el("button", {type: "button", class: "link name mono site-name", title: "Find it in the flame graph", onclick: find}, row.name),
			el("div", {class: "callers quiet small name"}, basename(row.module)));
	}

	return (i) => {
		const shows = (site) => WORDS.shows[site.index] >> i & 1, figure = (of, words) => ({of, show: (row) => MARK + words(of(row))});
		const change = (of) => ({hidden: !BASELINE, title: `Since ${BASELINE}`, of, show: (row) => el("span", {class: of(row) > 0 ? "up" : of(row) < 0 ? "down" : null}, MARK + signed(of(row), bytes))});
		const rows = () => {
			if (!made || made.process !== shown.process)
				made = {process: shown.process, rows: make(shows)};
			return made.rows;
		};

		return {rows, by: DATA.baseline_name && "change", cells: {
			"live-total": figure((row) => row.all.live_bytes, bytes), "blocks-total": figure((row) => row.all.live_blocks, count), "calls-total": figure((row) => row.all.alloc_calls, count),
			stacks: {of: (row) => row.stacks, show: (row) => exact(row.stacks)}, change: change((row) => row.totals.change), "change-total": change((row) => row.all.change),
			function: {wide: true, of: (row) => row.name, show: nameCell},
		}, detail, title: (row) => row.name, filter: (matches) => (row) => matches(row.name) || matches(row.module)};
	};
})();
