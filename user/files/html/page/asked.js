// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
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
