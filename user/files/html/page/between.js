// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns what changed between two moments, and that stretch of time as the lens through which the whole page is looked at:
// the timeline, who made the change, the flame graph and a table of its own. The arithmetic is that of `report --between`:
// a figure is one that was counted, at the look nearest to its moment, nothing is interpolated; a site that had not
// allocated yet held nothing, one that never freed and does not allocate any more what it holds now; another that was not looked at within half the time between the moments is counted as unknown.

const between = (() => {
	const possible = KNOWN.has("live_bytes") && !DATA.growth;
	let stretch = null;	// {from, to} in ns, from < to
	let found = null;	// what changes() gave
	let bySite = null;	// Float64Array: the change of each site

	// ---- the arithmetic

	// Of a flat array whose rows of `width` begin with a time: the row nearest to t, the earlier of two; -1: there is none.
	function nearestRow(v, width, t) {
		let low = 0, high = v.length / width;

		while (low < high) {
			const middle = (low + high) >> 1;

			if (v[middle * width] < t)
				low = middle + 1;
			else
				high = middle;
		}
		if (low === v.length / width || (low && t - v[(low - 1) * width] <= v[low * width] - t))
			low--;
		return low * width;
	}

	// {live, off}: how far from the moment that was counted; null: not known.
	function siteAt(s, t, most) {
		if (t >= DATA.duration_ns)
			return {live: counter(s.c, "live_bytes"), off: 0};
		if (!counter(s.c, "alloc_calls") || s.first > t)
			return {live: 0, off: 0};
		// nothing was freed ever, and nothing was added since: no look is needed to know
		if (!counter(s.c, "free_calls") && s.last <= t)
			return {live: counter(s.c, "live_bytes"), off: 0};
		const at = s.history ? nearestRow(s.history, 2, t) : -1;

		if (at < 0 || Math.abs(s.history[at] - t) > most)
			return null;
		return {live: s.history[at + 1], off: Math.abs(s.history[at] - t)};
	}

	function processAt(p, t, most) {
		if (t >= DATA.duration_ns)
			return counter(p.totals, "live_bytes");
		const at = p.timeline.length ? nearestRow(p.timeline, 5, t) : -1;

		// of one that came later; those that have ended keep what they had
		return at >= 0 && (p.timeline[at] <= t || p.timeline[at] - t <= most) ? p.timeline[at + 1] : 0;
	}

	// {rows: [{site, before, after, change}], the largest first, unknown, sites, before, after, off, up, down}
	function changes(from, to) {
		const most = Math.floor((to - from) / 2), rows = [], sites = SITES.filter((s) => isShown(s.process));
		const out = {rows, unknown: 0, sites: sites.length, before: 0, after: 0, off: 0, up: 0, down: 0};

		for (const site of sites) {
			const a = siteAt(site, from, most), b = siteAt(site, to, most);

			if (!a || !b) {
				out.unknown++;
				continue;
			}
			if (a.live === b.live)
				continue;
			out.off = Math.max(out.off, a.off, b.off);
			rows.push({site, before: a.live, after: b.live, change: b.live - a.live});
			if (b.live > a.live)
				out.up += b.live - a.live;
			else
				out.down += a.live - b.live;
		}
		for (const p of shownProcesses()) {
			out.before += processAt(p, from, most);
			out.after += processAt(p, to, most);
		}
		rows.sort((x, y) => Math.abs(y.change) - Math.abs(x.change) || counter(y.site.c, "alloc_bytes") - counter(x.site.c, "alloc_bytes"));
		return out;
	}

	// ---- words

	const words = () => `${duration(stretch.from)} to ${duration(stretch.to)}`;

	function title() {
		const net = found.after - found.before;

		return `${net > 0 ? "What made it rise" : net < 0 ? "What made it fall" : "What changed"}, ${words()}`;
	}

	// What a reader should know before the rows.
	function told() {
		const parts = [], n = (up) => found.rows.filter((r) => r.change > 0 === up).length;

		if (n(true))
			parts.push(`${plural(n(true), "site")} hold${n(true) === 1 ? "s" : ""} ${MARK}${bytes(found.up)} more`);
		if (n(false))
			parts.push(`${plural(n(false), "site")} hold${n(false) === 1 ? "s" : ""} ${MARK}${bytes(found.down)} less`);
		if (!parts.length)
			parts.push("No site is known to hold more or less");
		return parts.join(", ") + "." + (found.unknown ? ` No history of ${exact(found.unknown)} of ${plural(found.sites, "site")}.` : "") +
			(found.off ? ` Looked at up to ${duration(found.off)} off the moments.` : "");
	}

	// ---- the lens

	function drawChip() {
		const chip = byId("lens"), net = found ? found.after - found.before : 0;

		chip.hidden = !found;
		chip.replaceChildren(...(found ? [words(), " ", el("b", {class: net < 0 ? "down" : "up"}, MARK + signed(net, bytes)), el("span", {"aria-hidden": "true"}, " ✕"),
			el("span", {class: "unseen"}, ": show all of the time again")] : []));
	}

	function link() {
		const hash = stretch ? `#between=${writeMoment(stretch.from)},${writeMoment(stretch.to)}` : "";

		if (location.hash !== hash)
			history.replaceState(null, "", hash || location.pathname + location.search);
	}

	// live: still being dragged, which moves what is cheap to draw
	function apply(live) {
		found = stretch && possible ? changes(stretch.from, stretch.to) : null;
		bySite = found ? new Float64Array(SITES.length) : null;
		for (const row of found ? found.rows : [])
			bySite[row.site.index] = row.change;
		drawChip();
		drawTop();
		if (live)
			return;
		flame.showChange(found);
		tables.showChange(found);
		link();
	}

	const applyLive = oncePerFrame(() => apply(true));

	return {
		possible, title, told, words,
		get stretch() {
			return stretch;
		},
		get found() {
			return found;
		},
		changeOf: (s) => bySite ? bySite[s.index] : 0,
		// from and to in any order; the same moment twice is no stretch
		choose(a, b, live) {
			stretch = a === b ? null : {from: Math.min(a, b), to: Math.max(a, b)};
			timeline.chosen();
			if (live)
				applyLive();
			else
				apply(false);
		},
		clear() {
			if (!stretch)
				return;
			stretch = null;
			timeline.chosen();
			apply(false);
			announce("all of the time is shown again");
		},
		// other processes are shown
		refresh() {
			if (stretch)
				apply(false);
		},
		// "#between=10s,25s", "#between=handle#1,handle#2"
		fromLink() {
			const m = /^#between=([^]*),([^]*)$/.exec(location.hash);
			let ends = null;

			try {
				ends = m && [readMoment(decodeURIComponent(m[1])), readMoment(decodeURIComponent(m[2]))];
			} catch {
				// not a link of ours
			}
			if (ends && ends[0] !== null && ends[1] !== null && ends[0] !== ends[1])
				this.choose(ends[0], ends[1], false);
		},
	};
})();

// ---- a diff

// Owns what a page of a diff says on top: which two profiles are compared, and what changed from the one to the other. Everywhere on such a
// page a figure with a sign is a change, red of what grew and blue of what shrank; what has no sign is of the later profile.

const DIFF = (() => {
	if (!WORDS.diff)
		return null;
	const {before, after} = WORDS.diff, short = basename(before.file) !== basename(after.file), name = ({file}) => short ? basename(file) : file;
	const target = ({processes, comm, pid}) => comm === null ? plural(processes, "process", "processes") : pid ? `${comm} (${pid})` : comm;

	const later = short ? basename(after.file) : "the later file";	// in a sentence

	// ---- rows: sites that hold more or less

	const was = (s) => counter(s.c, "live_bytes") - s.sinceBaseline;
	const kindOf = (s) => s.sinceBaseline > 0 ? was(s) ? "grew" : "new" : s.sinceBaseline < 0 ? counter(s.c, "live_bytes") ? "shrank" : "gone" : "same";

	function wayWords(s) {
		return {new: "new", gone: `gone, it held ${MARK}${bytes(was(s))}`}[kindOf(s)] || `from ${MARK}${bytes(was(s))} to ${MARK}${bytes(counter(s.c, "live_bytes"))}`;
	}

	function drawTop() {
		const rows = SITES.filter((s) => isShown(s.process) && s.sinceBaseline).sort((a, b) => Math.abs(b.sinceBaseline) - Math.abs(a.sinceBaseline));
		const all = rows.reduce((n, s) => n + Math.abs(s.sinceBaseline), 0), sum = (sign) => rows.reduce((n, s) => n + Math.max(0, sign * s.sinceBaseline), 0);

		byId("top-title").textContent = "What changed";
		byId("top-said").hidden = !rows.length;
		byId("top-said").textContent = `Stacks that hold more: ${MARK}+${bytes(sum(1))}. That hold less: ${MARK}${bytes(-sum(-1))}.`;
		byId("top").replaceChildren(...rows.slice(0, 6).map((s) => topRow(s, MARK + signed(s.sinceBaseline, bytes), [share(Math.abs(s.sinceBaseline), all), Math.abs(s.sinceBaseline) / all],
			s.sinceBaseline < 0 ? "down" : "up", [wayWords(s), [whereShort(s), callerWords(s)].filter(Boolean).join(" · ")], () => tables.reveal(s))));
		if (!rows.length)
			byId("top").append(el("li", {class: "quiet"}, "No stack holds more or less than it did."));
	}

	// ---- cards: changes; below, from what to what

	function changeCard(label, from, to, words, more) {
		const change = to - from;

		return card(label, change ? MARK + signed(change, words) : "no change", el("span", null, `${MARK}${words(from)} → ${MARK}${words(to)}`, more ? `, ${more}` : ""), change > 0 ? "grew" : change < 0 ? "shrank" : "same");
	}

	function cards() {
		const of = (name) => [counter(before.totals, name), counter(after.totals, name)], out = [];

		if (KNOWN.has("live_bytes"))
			out.push(changeCard("Live", ...of("live_bytes"), bytes), changeCard("Live blocks", ...of("live_blocks"), exact));
		if (KNOWN.has("peak_bytes"))
			out.push(changeCard("Peak", ...of("peak_bytes"), bytes));
		if (before.rss_bytes && after.rss_bytes)
			out.push(changeCard("Resident (RSS)", before.rss_bytes, after.rss_bytes, bytes));
		out.push(changeCard("Allocated", ...of("alloc_bytes"), bytes), changeCard("Calls", ...of("alloc_calls"), count));
		return out;
	}

	// ---- words

	function profileLine(label, p) {
		return el("p", null, el("span", {class: "quiet"}, label, " "), el("b", {class: "name"}, p.file), `: ${target(p)}, traced ${duration(p.duration_ns)} until ${wallTime(p.wall_now_ms)}, ` +
			(p.losses ? `${exact(p.losses)} lost` : "no losses"));
	}

	function countWords() {
		const n = (kind) => SITES.filter((s) => isShown(s.process) && kindOf(s) === kind).length;

		return ["grew", "shrank", "new", "gone"].map((kind) => `${exact(n(kind))} ${kind}`).join(", ");
	}

	// What adds up over time grows with it.
	const unlike = () => Math.abs(before.duration_ns - after.duration_ns) > 0.1 * Math.max(before.duration_ns, after.duration_ns) ?
		" The two were traced for different lengths of time: the longer one has more allocations for that alone." : "";
	const turned = () => after.wall_now_ms < before.wall_now_ms ? ` ${short ? basename(before.file) : "The first file"} was recorded after ${later}: are they in the order that you want?` : "";

	function conditions() {
		const swatch = (kind) => el("i", {class: "swatch " + kind});

		return [profileLine("Before", before), profileLine("After", after),
			el("p", {class: "diff-key"}, "Stacks: ", el("b", null, countWords()), ". Figures with a sign are changes: ", swatch("up"), el("span", {class: "up"}, "+ grew"), ", ", swatch("down"), el("span", {class: "down"}, "- shrank"),
				`. Figures without one, and the timeline, are of ${later}.${unlike()}${turned()}`)];
	}

	return {
		cards, conditions, drawTop, after: later,
		title: () => `diff: ${name(before)} → ${name(after)}`, hint: `${before.file} → ${after.file}`,
	};
})();
