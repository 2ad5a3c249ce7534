// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
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
