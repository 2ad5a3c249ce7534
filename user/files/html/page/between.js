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
