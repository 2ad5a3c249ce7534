// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns the tables of what was asked for beside leaks and allocations: what changed in the chosen time, tags, marks, where
// blocks were freed, and what realloc did. One that has no rows in this trace is not there.

function askedTables() {
	const several = PROCESSES.length > 1, has = (name) => KNOWN.has(name);
	const {processCell, siteColumn, processColumn, verdictColumn} = sites;
	const quotient = (a, b) => b ? a / b : null;

	const shareOf = (rows, weight, kind) => {
		let whole = 0;
		const sum = () => whole = rows().reduce((n, r) => n + weight(r), 0);

		return {label: "Share", of: weight, refresh: sum, show: (r) => el("span", {class: "share"}, share(weight(r), whole || sum()),
			bar(weight(r) / (whole || sum()), kind && kind(r)))};
	};

	// A column of a site, for rows that have one.
	const ofSite = (column) => ({...column, of: (r) => column.of(r.site), show: (r) => column.show(r.site)});

	// ---- what changed in the chosen time

	function changed() {
		const rows = () => between.found ? between.found.rows : [];

		return {name: "Changed", forChange: true, rows, sort: 1, empty: "No site is known to hold more or less.", columns: [
			{label: "Change", of: (r) => r.change, show: (r) => el("b", {class: r.change < 0 ? "down" : "up"}, MARK + signed(r.change, bytes))},
			shareOf(rows, (r) => Math.abs(r.change), (r) => r.change < 0 ? "down" : "up"),
			{label: "From", of: (r) => r.before, show: (r) => MARK + bytes(r.before)},
			{label: "To", of: (r) => r.after, show: (r) => MARK + bytes(r.after)},
			...(SITES.some((s) => s.verdict) ? [ofSite(verdictColumn)] : []), ...(several ? [ofSite(processColumn)] : []), ofSite(siteColumn),
		], filter: (matches) => ((one) => (r) => one(r.site))(sites.filter(matches)), detail: (r) => sites.detail(r.site), title: (r) => siteTitle(r.site)};
	}

	// ---- tags

	function tagRows() {
		const rows = [{name: "", none: true, entered: null}, ...TAGS].map((tag) => ({...tag, sites: [], calls: 0, size: 0, live: 0, blocks: 0}));

		for (const s of SITES.filter((site) => isShown(site.process))) {
			const row = rows[s.tag];

			row.sites.push(s);
			row.calls += counter(s.c, "alloc_calls");
			row.size += counter(s.c, "alloc_bytes");
			row.live += counter(s.c, "live_bytes");
			row.blocks += counter(s.c, "live_blocks");
		}
		return rows.filter((row) => !row.none || row.sites.length);
	}

	function tagDetail(row) {
		const weigh = has("live_bytes") ? WEIGHT["live-bytes"] : WEIGHT["alloc-bytes"];
		const list = row.sites.filter((s) => weigh(s) > 0).sort((a, b) => weigh(b) - weigh(a));

		return el("div", {class: "unfolded"}, list.length ? siteList(list.slice(0, 10).map((s) => [s, MARK + bytes(weigh(s))])) : el("p", {class: "quiet"}, "It holds nothing."),
			list.length > 10 ? el("p", {class: "quiet small"}, `and ${plural(list.length - 10, "other site")}`) : null);
	}

	// Sites with a figure each; a click leads to the row of one.
	function siteList(list) {
		return el("table", {class: "stack", "aria-label": "Sites"}, el("tbody", null, list.map(([s, ...figures]) => el("tr", null, figures.map((f) => el("td", {class: "num"}, f)),
			el("td", null, el("button", {type: "button", class: "link name mono", onclick: () => tables.reveal(s)}, siteTitle(s))),
			el("td", {class: "quiet name"}, titleWays(s, 3).callers.map((n) => "← " + n).join(" "))))));
	}

	function tags() {
		const live = has("live_bytes"), entered = TAGS.some((tag) => tag.entered !== null), per = (of) => (r) => r.entered ? of(r) / r.entered : null;
		const perColumn = (label, title, of, words) => ({label, title, of: per(of), show: (r) => r.entered ? MARK + words(of(r) / r.entered) : "–"});
		const decimals = (n) => n < 10 ? String(Number(n.toFixed(1))) : count(n);

		return {name: "Tags", rows: tagRows, sort: 0, empty: "No tagged function allocated.", detail: tagDetail, title: (r) => r.none ? "without a tag" : r.name, columns: [
			...(live ? [{label: "Kept", title: "Live bytes", of: (r) => r.live, show: (r) => MARK + bytes(r.live)}, shareOf(tagRows, (r) => r.live),
				{label: "Blocks", of: (r) => r.blocks, show: (r) => MARK + count(r.blocks)}] : []),
			{label: "Allocations", of: (r) => r.calls, show: (r) => MARK + count(r.calls)},
			{label: "Bytes", of: (r) => r.size, show: (r) => MARK + bytes(r.size)},
			...(entered ? [{label: "Entered", title: "How often the function was called", of: (r) => r.entered, show: (r) => r.entered === null ? "–" : count(r.entered)},
				perColumn("Allocs a call", "Allocations for each call of the function", (r) => r.calls, decimals),
				perColumn("Bytes a call", "Bytes allocated for each call of the function", (r) => r.size, bytes),
				...(live ? [perColumn("Kept a call", "Live bytes for each call of the function", (r) => r.live, bytes)] : [])] : []),
			{label: "Tag", kind: "text", wide: true, of: (r) => r.none ? null : r.name, show: (r) => r.none ? el("span", {class: "quiet"}, "(none)") :
				el("span", {class: "name mono"}, r.name, r.thread ? el("span", {class: "quiet small"}, " thread") : null)},
		], filter: (matches) => (r) => matches(r.none ? "(none)" : r.name)};
	}

	// ---- marks: each with what happened since the one before it

	function marks() {
		let last = null;
		const rows = MARKS.map((m) => {
			const row = {...m, last: m.whole ? last : null};

			last = m.whole ? m : last;
			return row;
		});
		const since = (of) => (r) => r.last ? of(r) - of(r.last) : null;
		const sinceColumn = (label, of, words) => ({label, title: "Since the mark before", of: since(of), show: (r) => r.last ? MARK + words(of(r) - of(r.last)) : "–"});
		const compare = (r) => r.last && between.possible && r.last.t < r.t ? el("button", {type: "button", class: "link", title: `Show what changed since ${markName(r.last)}`,
			onclick: () => between.choose(r.last.t, r.t, false)}, "compare") : "";

		return {name: "Marks", rows: () => rows.filter((m) => isShown(m.process)), sort: 0, down: false, empty: "None of these functions was called.", columns: [
			{label: "At", of: (r) => r.t, show: (r) => duration(r.t)},
			...(has("live_bytes") ? [{label: "Live", title: "Of its process", of: (r) => r.live, show: (r) => MARK + bytes(r.live)},
				sinceColumn("Δ live", (r) => r.allLive, (n) => signed(n, bytes))] : []),
			sinceColumn("Allocations", (r) => r.calls, count), sinceColumn("Bytes", (r) => r.size, bytes),
			...(several ? [{...processColumn, show: (r) => processCell(r.process)}] : []),
			{label: "TID", of: (r) => r.tid, show: (r) => r.tid ? String(r.tid) : "–"},
			{label: "Since the one before", kind: "text", of: (r) => r.last ? 1 : null, show: compare},
			{label: "Mark", kind: "text", wide: true, of: (r) => r.name, show: (r) => el("span", null, el("span", {class: "name mono"}, r.name), ` #${r.number}`,
				r.whole ? null : el("span", {class: "quiet small", title: "It came before another snapshot was read to its end: counted, but its figures were not taken"}, " counted alone"))},
		], filter: (matches) => (r) => matches(markName(r))};
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
			el("h3", null, "Blocks of"), siteList(bySite.slice(0, 8).map(([s, [calls, size]]) => [s, count(calls), share(calls, where.calls), bytes(size)])),
			bySite.length > 8 ? el("p", {class: "quiet small"}, `and ${plural(bySite.length - 8, "other site")}`) : null,
			el("h3", null, "Stack"), el("table", {class: "stack", "aria-label": `Call stack of ${siteTitle(where)}`}, el("tbody", null, where.stack.length ? sites.frameRows(where) :
				el("tr", null, el("td", {class: "quiet"}, "[no stack]")))));
	}

	function frees() {
		const rows = () => FREE_SITES.filter((f) => isShown(f.process)), cross = (f) => freesAt.get(f).reduce((n, x) => n + x.cross, 0);
		const lived = (f) => quotient(freesAt.get(f).reduce((n, x) => n + x.lifetimeSum, 0), freesAt.get(f).reduce((n, x) => n + x.calls, 0));
		const names = (f) => [...new Set(freesAt.get(f).map((x) => x.thread).filter(Boolean))];
		const text = new Map(FREE_SITES.map((f) => [f, `${siteTitle(f)} ${f.via} ${names(f).join(" ")} ${[...new Set(freesAt.get(f).map((x) => siteTitle(x.site)))].join(" ")}`]));

		return {name: "Frees", rows, sort: 0, empty: "No block was freed.", detail: freeDetail, title: siteTitle, columns: [
			{label: "Frees", of: (f) => f.calls, show: (f) => count(f.calls)}, shareOf(rows, (f) => f.calls, () => "rss"),
			{label: "Bytes", of: (f) => f.size, show: (f) => bytes(f.size)},
			{label: "Others'", title: "Of blocks that another thread allocated", of: (f) => quotient(cross(f), f.calls), show: (f) => percent(cross(f), f.calls)},
			{label: "Lived", title: "How long the blocks had lived, on average", of: lived, show: (f) => lived(f) === null ? "–" : duration(lived(f))},
			{label: "Threads", kind: "text", of: (f) => names(f)[0] || null, show: (f) => el("span", {class: "name process-cell"}, names(f).slice(0, 3).join(", ") +
				(names(f).length > 3 ? ` and ${names(f).length - 3} more` : "") || "–")},
			...(several ? [processColumn] : []), {...siteColumn, label: "Freed at"},
		], filter: (matches) => ((hit) => (f) => matches(text.get(f)) || f.stack.some((frame) => hit[frame]))(matchFrames(matches))};
	}

	// ---- realloc

	function reallocs() {
		const moves = (name) => (s) => s.moves[name], small = (s) => quotient(s.moves.grown - s.moves.doubled, s.moves.grown);

		return {name: "Reallocs", rows: () => SITES.filter((s) => isShown(s.process) && s.moves), sort: 2, empty: "Nothing was reallocated.", detail: sites.detail, title: siteTitle,
			filter: sites.filter, columns: [
				{label: "Calls", of: moves("calls"), show: (s) => count(s.moves.calls)},
				{label: "Moved", title: "To another address: the block was copied", of: (s) => quotient(s.moves.moved, s.moves.calls), show: (s) => percent(s.moves.moved, s.moves.calls)},
				{label: "Copied", title: "Bytes, when it moved", of: moves("movedBytes"), show: (s) => bytes(s.moves.movedBytes)},
				{label: "Larger by", title: "On average, of the calls that make it larger", of: (s) => quotient(s.moves.grownBytes, s.moves.grown),
					show: (s) => s.moves.grown ? bytes(s.moves.grownBytes / s.moves.grown) : "–"},
				{label: "Small steps", title: "Of the calls that make it larger: to less than 1.5 times the size. A buffer that grows so is copied again and again",
					of: small, show: (s) => s.moves.grown ? el("span", {class: small(s) > 0.5 && s.moves.movedBytes > 16 * s.maxSize ? "warn" : null},
						percent(s.moves.grown - s.moves.doubled, s.moves.grown)) : "–"},
				{label: "Shrunk", of: (s) => quotient(s.moves.shrunk, s.moves.calls), show: (s) => percent(s.moves.shrunk, s.moves.calls)},
				{label: "Longest", title: "How often one block was passed on, at most", of: moves("longest"), show: (s) => (s.moves.longest >= LONGEST_MAX ? "≥ " : "") + count(s.moves.longest)},
				...(several ? [processColumn] : []), siteColumn]};
	}

	return [...(TAGS.length ? [tags()] : []), ...(DATA.with_marks ? [marks()] : []), ...(DATA.with_free_stacks ? [frees()] : []),
		...(SITES.some((s) => s.moves) ? [reallocs()] : []), ...(between.possible ? [changed()] : [])];
}
