// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns what a column of a table shows. Which there are, how they are called and which fields of the profile they show is said by the
// table of views that reports and the live view draw, too (present/views.c); what is not a field, or more than its figure, is a
// cell here or beside its table, by the column's name. What is not known of a row is null, and "–".

const several = PROCESSES.length > 1;
const quotient = (a, b) => b ? a / b : null;

// A figure as text, by the kind that the column says.
const KINDS = {
	count, bytes, ns: duration, id: String,
	change: (n) => signed(n, bytes), growth: (n) => signed(n, bytes) + "/s", per_s: (n) => count(n) + "/s",
};

const known = (n, show) => n === null ? "–" : show(n);

// A site's row of the profile is beside what is made of it.
const fieldOf = (path) => (row) => path.reduce((at, key) => at && at[key], row.c || row) ?? null;

// "<1.6s" where no more is known than that none is older
const oldestWords = (c) => (c.oldest_at_most ? "<" : "") + duration(c.oldest_ns);

// "±12%" behind an estimate of a site
function errorWords(column, row, n) {
	const errors = row.c && !DATA.older_ns && row.c.standard_error, error = errors && errors[column.field[0]];

	return error === undefined || !errors ? null : el("span", {class: "quiet small"}, ` ±${n ? percent(error, n) : "0%"}`);
}

// What a column shows if it is a field, a share or a mean: {of, show}
function cellOf(column) {
	if (!column.field)
		return {of: () => null, show: () => ""};
	const mark = column.scaled ? MARK : "", field = fieldOf(DATA.older_ns && column.older || column.field), over = column.over && fieldOf(column.over);

	if (column.kind === "text")
		return {of: field, show: (row) => field(row) || ""};
	if (column.kind === "percent")
		return {of: (row) => quotient(field(row), over(row)), show: (row) => over(row) ? percent(field(row), over(row)) : "–"};
	const of = over ? (row) => quotient(field(row), over(row)) : column.since ? (row) => row.last ? field(row) - field(row.last) : null :
		column.kind === "id" ? (row) => field(row) || null : field;
	const words = (n) => mark + KINDS[column.kind](n), coloured = (n) => column.kind === "change" && n ? el("span", {class: n < 0 ? "down" : "up"}, words(n)) : words(n);
	const show = (row) => known(of(row), coloured);

	return {of, show: mark && !over && !column.since ? (row) => [show(row), errorWords(column, row, of(row))] : show};
}

// The part of all rows that the first figure of a row is. kind(row): the colour of its bar
function shareCell(rows, {of}, kind) {
	let whole = 0;
	const weight = (row) => Math.abs(of(row)), sum = () => whole = rows().reduce((n, row) => n + weight(row), 0);

	return {of: weight, refresh: sum, show: (row) => el("span", {class: "share"}, share(weight(row), whole || sum()), bar(weight(row) / (whole || sum()), kind && kind(row)))};
}

// Of any table; a table's own cells come before these.
const CELLS = {
	"calls-rate": ({of}) => ({show: (row) => MARK + rate(of(row), DATA.duration_ns)}),
	unreached: ({of}) => ({show: (s) => known(of(s), (n) => n ? el("span", {class: "lost"}, bytes(n)) : bytes(0))}),
	oldest: ({of}) => ({of: (s) => of(s) || null, show: (s) => of(s) ? oldestWords(s.c) : "–"}),
	lived: () => ({of: (s) => s.c.lifetime_mean_ns, show: (s) => known(s.c.lifetime_mean_ns, duration)}),
	process: () => ({hidden: !several, of: (row) => processName(PROCESSES[row.process]), show: (row) => sites.processCell(row.process)}),
	site: () => ({wide: true, of: siteTitle, show: sites.cell}),
	verdict: () => ({class: "verdict", of: (row) => row.verdict || null, show: sites.verdictCell}),
	"small-steps": ({of}) => ({of: (s) => known(of(s), (n) => 1 - n), show: (s) => sites.smallSteps(s.c.moves, s.c.max_size)}),
	longest: () => ({show: ({c: {moves: {longest}}}) => (longest >= LONGEST_MAX ? "≥ " : "") + count(longest)}),
};

// A view's table. more: what else a table has (table.js), {rows, cells, ...}; cells: {name: {of, show, ...}}
function tableOf(view, {cells, shareKind, ...more}) {
	const old = DATA.older_ns ? `Blocks older than ${duration(DATA.older_ns)} alone` : null, rows = more.rows();
	const columns = view.columns.map((column) => {
		const cell = cellOf(column), own = (cells || {})[column.name];

		return {name: column.name, label: column.label, title: column.older && old || column.tip, kind: column.kind === "text" ? "text" : "num", ...cell,
			...(own || CELLS[column.name]?.(cell))};
	});

	columns.forEach((c, i) => c.name === "share" && Object.assign(c, shareCell(more.rows, columns[i ? 0 : 1], shareKind)));
	// where nobody knows anything, there is no column
	const there = columns.filter((c) => !c.hidden && (!rows.length || rows.some((row) => c.of(row) !== null))), sort = there.findIndex((c) => c.name === (more.by || view.sort));

	return {name: view.title, empty: view.empty[0].toUpperCase() + view.empty.slice(1) + ".", columns: there, sort: Math.max(sort, 0), ...more};
}

// ---- what was asked for beside

// Owns the rows of what was asked for beside live blocks and allocations: what changed in the chosen time, tags, marks, where blocks
// were freed. What has no rows in this trace is not there.

const ASKED = (() => {
	// ---- what changed in the chosen time

	function changed() {
		const side = (r) => r.change < 0 ? "down" : "up", ofSite = (cell) => ({...cell, of: (r) => cell.of(r.site), show: (r) => cell.show(r.site)}), size = (of) => ({of, show: (r) => MARK + bytes(of(r))});

		return {forChange: true, rows: () => between.found ? between.found.rows : [], shareKind: side, cells: {
			change: {of: (r) => r.change, show: (r) => el("b", {class: side(r)}, MARK + signed(r.change, bytes))}, from: size((r) => r.before), to: size((r) => r.after),
			verdict: {...ofSite(CELLS.verdict()), hidden: !SITES.some((s) => s.verdict)}, process: ofSite(CELLS.process()), site: ofSite(CELLS.site()),
		}, filter: (matches) => ((one) => (r) => one(r.site))(sites.filter(matches)), detail: (r) => sites.detail(r.site), title: (r) => siteTitle(r.site)};
	}

	// ---- tags

	function tagRows() {
		const rows = [{name: "", none: true, entered: null}, ...TAGS].map((tag) => ({...tag, sites: [], totals: {alloc_calls: 0, alloc_bytes: 0, live_bytes: 0, live_blocks: 0}}));

		for (const s of SITES.filter((site) => isShown(site.process))) {
			const {sites: of, totals} = rows[s.tag];

			of.push(s);
			for (const name of Object.keys(totals))
				totals[name] += counter(s.c, name);
		}
		return rows.filter((row) => !row.none || row.sites.length);
	}

	function tagDetail(row) {
		const weigh = KNOWN.has("live_bytes") ? WEIGHT["live-bytes"] : WEIGHT["alloc-bytes"];
		const list = row.sites.filter((s) => weigh(s) > 0).sort((a, b) => weigh(b) - weigh(a));

		return el("div", {class: "unfolded"}, list.length ? sites.list(list.slice(0, 10).map((s) => [s, MARK + bytes(weigh(s))])) : el("p", {class: "quiet"}, "It holds nothing."),
			list.length > 10 ? el("p", {class: "quiet small"}, `and ${plural(list.length - 10, "other site")}`) : null);
	}

	function tags() {
		const decimals = (n) => n < 10 ? String(Number(n.toFixed(1))) : count(n);
		const each = (name, words) => ({of: (r) => quotient(r.totals[name], r.entered), show: (r) => r.entered ? MARK + words(r.totals[name] / r.entered) : "–"});

		return {rows: tagRows, cells: {
			entered: {of: (r) => r.entered, show: (r) => known(r.entered, count)},
			"allocs-each": each("alloc_calls", decimals), "bytes-each": each("alloc_bytes", bytes), "kept-each": each("live_bytes", bytes),
			tag: {wide: true, of: (r) => r.none ? null : r.name, show: (r) => r.none ? el("span", {class: "quiet"}, "(none)") :
				el("span", {class: "name mono"}, r.name, r.thread ? el("span", {class: "quiet small"}, " thread") : null)},
		}, detail: tagDetail, title: (r) => r.none ? "without a tag" : r.name, filter: (matches) => (r) => matches(r.none ? "(none)" : r.name)};
	}

	// ---- marks: each with what happened since the one before it

	function marks() {
		let last = null;
		const rows = MARKS.map((m) => {
			const row = {...m, last: m.whole ? last : null};

			last = m.whole ? m : last;
			return row;
		});
		const compare = (r) => r.last && between.possible && r.last.t < r.t ? el("button", {type: "button", class: "link", title: `Show what changed since ${markName(r.last)}`,
			onclick: () => between.choose(r.last.t, r.t, false)}, "compare") : "";

		return {rows: () => rows.filter((m) => isShown(m.process)), down: false, cells: {
			compare: {of: (r) => r.last ? 1 : null, show: compare},
			mark: {wide: true, of: (r) => r.name, show: (r) => el("span", null, el("span", {class: "name mono"}, r.name), ` #${r.number}`,
				r.whole ? null : el("span", {class: "quiet small", title: "It came before another snapshot was read to its end: counted, but its figures were not taken"}, " counted alone"))},
		}, filter: (matches) => (r) => matches(markName(r))};
	}

	// ---- where blocks were freed

	const freesAt = new Map(FREE_SITES.map((f) => [f, []]));

	for (const f of FREES)
		freesAt.get(f.where).push(f);

	// By the key of each, with the sums of its calls and bytes: the most calls first.
	function sums(list, key) {
		const out = new Map();

		for (const f of list) {
			const sum = out.get(key(f)) || [0, 0];

			out.set(key(f), [sum[0] + f.calls, sum[1] + f.size]);
		}
		return [...out].sort((a, b) => b[1][0] - a[1][0]);
	}

	function freeDetail(where) {
		const list = freesAt.get(where), bySite = sums(list, (f) => f.site), byThread = sums(list, (f) => f.thread ? `${f.thread} (${f.tid})` : f.tid ? String(f.tid) : "");
		return el("div", {class: "unfolded"},
			el("div", {class: "facts"}, el("div", null, el("span", {class: "quiet"}, "through"), " ", el("span", {class: "mono name"}, where.via)),
				byThread.filter(([name]) => name).slice(0, 8).map(([name, [calls]]) => el("div", null, el("span", {class: "quiet"}, "by"), " ", el("span", {class: "name"}, name),
					` ${share(calls, where.calls)}`))),
			el("h3", null, "Blocks of"), sites.list(bySite.slice(0, 8).map(([s, [calls, size]]) => [s, count(calls), share(calls, where.calls), bytes(size)])),
			bySite.length > 8 ? el("p", {class: "quiet small"}, `and ${plural(bySite.length - 8, "other site")}`) : null,
			el("h3", null, "Stack"), el("table", {class: "stack", "aria-label": `Call stack of ${siteTitle(where)}`}, el("tbody", null, where.stack.length ? sites.frameRows(where) :
				el("tr", null, el("td", {class: "quiet"}, "[no stack]")))));
	}

	function frees() {
		const cross = (f) => freesAt.get(f).reduce((n, x) => n + x.cross, 0);
		const lived = (f) => quotient(freesAt.get(f).reduce((n, x) => n + x.lifetimeSum, 0), freesAt.get(f).reduce((n, x) => n + x.calls, 0));
		const names = (f) => [...new Set(freesAt.get(f).map((x) => x.thread).filter(Boolean))];
		const text = new Map(FREE_SITES.map((f) => [f, `${siteTitle(f)} ${f.via} ${names(f).join(" ")} ${[...new Set(freesAt.get(f).map((x) => siteTitle(x.site)))].join(" ")}`]));

		return {rows: () => FREE_SITES.filter((f) => isShown(f.process)), shareKind: () => "rss", cells: {
			cross: {of: (f) => quotient(cross(f), f.calls), show: (f) => percent(cross(f), f.calls)},
			lived: {of: lived, show: (f) => known(lived(f), duration)},
			threads: {of: (f) => names(f)[0] || null, show: (f) => el("span", {class: "name process-cell"}, names(f).slice(0, 3).join(", ") +
				(names(f).length > 3 ? ` and ${names(f).length - 3} more` : "") || "–")},
		}, detail: freeDetail, title: siteTitle, filter: (matches) => ((hit) => (f) => matches(text.get(f)) || f.stack.some((frame) => hit[frame]))(matchFrames(matches))};
	}

	return {changed, tags: () => TAGS.length ? tags() : null, marks: () => DATA.with_marks ? marks() : null, frees};
})();

// ---- functions

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

// ---- the tables

// Owns the tables: a tab for each view that this trace has, and what rows are beside their columns.

const tables = (() => {
	let all = [], tabs = null, changed = -1;

	// ---- the tables

	// What a table of sites is beside its columns; which sites it shows is said beside the view.
	const ofSites = (i) => ({rows: () => SITES.filter((s) => isShown(s.process) && WORDS.shows[s.index] >> i & 1), filter: sites.filter, detail: sites.detail, title: siteTitle});

	// What is gone changed most.
	function live(i) {
		const table = ofSites(i), gone = () => SITES.filter((s) => isShown(s.process) && !(WORDS.shows[s.index] >> i & 1) && s.sinceBaseline < 0);

		return {...table, rows: () => [...table.rows(), ...gone()], last: (s) => PROCESSES[s.process].ended, by: DATA.baseline_name && "change", cells: {change: {hidden: !BASELINE, title: `Since ${BASELINE}`}}};
	}

	const withStacks = new Set(SITES.filter((s) => s.tid).map((s) => threadKey(s.process, s.tid, s.thread)));

	function flameOf({process, tid, comm}) {
		const key = threadKey(process, tid, comm);

		return withStacks.has(key) ? el("span", null, " ", el("button", {type: "button", class: "link small", onclick: () => flame.showThread(key)}, "flame graph")) : null;
	}

	function threads() {
		const rows = PROCESSES.flatMap((p, process) => p.threads.map((t) => ({...t, process})));

		return {rows: () => rows.filter((t) => isShown(t.process)), cells: {
			tid: {of: (t) => t.tid, show: (t) => t.tid ? String(t.tid) : "–"},
			thread: {wide: true, of: (t) => t.comm || "", show: (t) => el("span", null, el("span", {class: "name"}, t.comm || "–"), t.ended ? el("span", {class: "quiet small"}, " ended") : null, flameOf(t))},
		}, note: BY_THREAD ? null : ["The stacks of all threads are counted together here. For a flame graph of each thread, record with ", el("code", null, "--by thread"), "."], filter: (matches) => (t) => matches(t.comm || "") || matches(String(t.tid)) || matches(processName(PROCESSES[t.process]))};
	}

	function processDetail(p) {
		const parent = p.parent && PROCESSES.find((q) => q.id === p.parent);
		const rows = [["members ended", p.n_ended && `${exact(p.n_ended)} of ${exact(p.n_members)}`], ["program", p.exe], ["unit", p.unit], ["container", p.container], ["pod", p.pod], ["control group", p.cgroup],
			["pid in its container", p.container_pid && String(p.container_pid)], ["forked by", parent && processName(parent)],
			["started", p.wall_started_ms && wallTime(p.wall_started_ms)],
			[`since ${BASELINE}`, p.since_baseline_bytes !== null && signed(p.since_baseline_bytes, bytes)],
			["attached", p.age_at_attach_ns ? `${duration(p.age_at_attach_ns)} after its start: ${olderWords([p]) || "older blocks are unseen"}` : "from its first instruction"],
			["ended by", deathOf(p)], ["unseen at its start", p.unseen_ns && duration(p.unseen_ns)], ["RSS when attached", bytes(p.rss_at_attach_bytes)],
			["blocks lost", p.lost_blocks && exact(p.lost_blocks)], ["stacks lost", p.lost_stacks && exact(p.lost_stacks)],
			["frees not seen", p.missed_frees && exact(p.missed_frees)], ["heap not read", p.heaps_not_read && (p.n_members > 1 ? `of ${exact(p.heaps_not_read)} of them: what they freed may count as live` : "what it freed may count as live")],
			["blocks that may have been freed", p.live_unsure_blocks && `up to ${exact(p.live_unsure_blocks)}`]];

		return el("div", {class: "unfolded"}, p.why ? el("p", {class: "why"}, verdictChip(p.verdict), " ", p.why) : null,
			el("div", {class: "facts"}, rows.filter(([, text]) => text).map(([name, text]) =>
				el("div", null, el("span", {class: "quiet"}, name), " ", el("span", {class: "name"}, text)))),
			several && shown.process < 0 ? el("button", {type: "button", onclick: () => app.showProcess(PROCESSES.indexOf(p))}, "Show this process alone") : null);
	}

	// A page of its own, where whoever made this one makes others.
	function ownPage(p) {
		return WORDS.served && several ? el("span", null, " ", el("a", {class: "small", href: p.pid ? `?pid=${p.pid}` : `?comm=${encodeURIComponent(p.comm)}`}, "its own page")) : null;
	}

	function processes() {
		const lost = (p) => (p.lost_blocks || 0) + (p.lost_stacks || 0);

		return {rows: shownProcesses, last: (p) => p.ended, cells: {
			rss: {of: (p) => p.rss_bytes || null, show: (p) => p.rss_bytes ? bytes(p.rss_bytes) : "–"},
			lost: {hidden: !PROCESSES.some(lost), of: lost, show: (p) => el("span", {class: lost(p) ? "warn" : null}, exact(lost(p)))},
			attached: {of: (p) => p.age_at_attach_ns, show: (p) => p.age_at_attach_ns ? duration(p.age_at_attach_ns) : "start"},
			process: {wide: true, of: (p) => p.comm, show: (p) => el("span", {class: "name"}, processName(p),
				deathOf(p) ? el("span", {class: "warn small"}, ` ${deathOf(p)}`) : p.ended ? el("span", {class: "quiet small"}, " ended") : null, p.heaps_not_read ? el("span", {class: "warn small"}, p.n_members > 1 ? ` ${exact(p.heaps_not_read)} of the heaps not read` : " heap not read") : null, p.unit ? el("span", {class: "quiet small"}, " " + p.unit) : null, ownPage(p))},
		}, detail: processDetail, title: processName, filter: (matches) => (p) => [processName(p), p.exe, p.unit, p.container, p.pod, p.cgroup].some((s) => s && matches(s))};
	}

	// By the name of a view: its rows, and cells that are more than a figure; null: it would have no rows. All others are of sites.
	const ROWS = {live, processes, functions: functionTable, threads: () => PROCESSES.some((p) => p.threads.length) ? threads() : null, ...ASKED};

	// As the keys of the live view; a locale's order would put letters before digits, or signs before both.
	const byKey = (a, b) => a < b ? -1 : a > b ? 1 : 0;

	function specs() {
		return WORDS.views.map((view, i) => [view, (ROWS[view.name] || ofSites)(i)]).filter(([, more]) => more)
			.sort(([a], [b]) => byKey(a.key || "~", b.key || "~")).map(([view, more]) => tableOf(view, more));
	}

	// ---- tabs: that of what was chosen on the timeline is there as long as it is, and the first

	function build() {
		all = specs().map((spec) => new Table(spec));
		tabs = new Tabs(byId("tabs"), byId("tab-panels"), "", all);
		changed = all.findIndex((table) => table.spec.forChange);
		if (changed >= 0) {
			byId("tabs").prepend(tabs.tabs[changed]);
			tabs.tabs[changed].hidden = true;
		}
		tabs.choose(0);
	}

	function refresh(i) {
		for (const column of all[i].spec.columns)
			if (column.refresh)
				column.refresh();
		tabs.refresh(i);
	}

	return {
		build,
		show() {
			all.forEach((table, i) => refresh(i));
		},
		// what between.js found; null: nothing is chosen any more
		showChange(found) {
			if (changed < 0)
				return;
			tabs.tabs[changed].hidden = !found;
			refresh(changed);
			if (found)
				tabs.choose(changed);
			else if (tabs.now === changed)
				tabs.choose(0);
		},
		reveal(site) {
			const shows = (table) => table.spec.detail === sites.detail && table.all.includes(site);
			const i = shows(all[tabs.now]) ? tabs.now : all.findIndex(shows);

			if (i < 0)
				return;
			tabs.choose(i);
			all[i].reveal(site);
		},
		// a row of the table of changes
		revealChange(row) {
			tabs.choose(changed);
			all[changed].reveal(row);
		},
	};
})();

// ---- histograms

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
