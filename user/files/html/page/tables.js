// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns which tables there are and what is in their rows. A column whose figures were not recorded is not there.

const tables = (() => {
	const several = PROCESSES.length > 1;
	const {figure, errorOf, processCell, processColumn, siteColumn, verdictColumn} = sites;
	const of = (name) => (s) => counter(s.c, name);
	const has = (...names) => names.every((name) => KNOWN.has(name));
	const quotient = (a, b) => b ? a / b : null;
	let all = [], tabs = [], now = 0, changed = -1;

	// ---- the tables

	const sitesWith = (weight, also) => () => SITES.filter((s) => isShown(s.process) && weight(s) > 0 && (!also || also(s)));

	function siteTable(name, weight, columns, empty, also) {
		return {name, empty, columns: [...columns, ...(several ? [processColumn] : []), siteColumn], rows: sitesWith(weight, also),
			filter: sites.filter, detail: sites.detail, title: siteTitle, sort: 0};
	}

	function shareColumn(weight, also) {
		let whole = 0;
		const sum = () => whole = sitesWith(weight, also)().reduce((n, s) => n + weight(s), 0);

		return {label: "Share", of: weight, refresh: sum, show: (s) => el("span", {class: "share"}, share(weight(s), whole || sum()), bar(weight(s) / (whole || sum())))};
	}

	function leaks() {
		const old = DATA.older_ns ? `Blocks older than ${duration(DATA.older_ns)} alone` : null;

		const table = siteTable("Leaks", liveBytes, [
			{label: "Live", title: old, of: liveBytes, show: (s) => figure(bytes(liveBytes(s)), errorOf(s, "live_bytes"), liveBytes(s))},
			shareColumn(liveBytes),
			{label: "Blocks", title: old, of: liveBlocks, show: (s) => figure(count(liveBlocks(s)), errorOf(s, "live_blocks"), liveBlocks(s))},
			...(has("free_calls") ? [{label: "Freed", title: "Of the blocks that it allocated", of: (s) => quotient(of("free_calls")(s), of("alloc_calls")(s)),
				show: (s) => percent(of("free_calls")(s), of("alloc_calls")(s))}] : []),
			{label: "Oldest", title: "Age of the oldest live block", of: (s) => s.oldest, show: (s) => s.oldest ? duration(s.oldest) : "–"},
			...(BASELINE ? [{label: "Δ", title: `Since ${BASELINE}`, of: (s) => s.sinceBaseline, show: (s) => signed(s.sinceBaseline, bytes)}] : []),
			...(SITES.some((s) => s.growth !== null) ? [{label: "Growth", of: (s) => s.growth, show: (s) => s.growth === null ? "–" : signed(s.growth, bytes) + "/s"}] : []),
			...(SITES.some((s) => s.verdict) ? [verdictColumn] : []),
		], "Nothing allocated while traced is live.");

		// what is gone changed most
		if (BASELINE)
			table.rows = () => SITES.filter((s) => isShown(s.process) && (liveBytes(s) > 0 || s.sinceBaseline < 0));
		if (DATA.baseline_name)
			table.sort = table.columns.findIndex((c) => c.label === "Δ");
		return table;
	}

	function allocations() {
		const calls = of("alloc_calls"), size = of("alloc_bytes");

		return siteTable("Allocations", calls, [
			{label: "Calls", of: calls, show: (s) => figure(count(calls(s)), errorOf(s, "alloc_calls"), calls(s))},
			shareColumn(calls),
			{label: "Rate", of: calls, show: (s) => rate(calls(s), DATA.duration_ns)},
			{label: "Bytes", of: size, show: (s) => figure(bytes(size(s)), errorOf(s, "alloc_bytes"), size(s))},
			{label: "Average", of: (s) => size(s) / calls(s), show: (s) => bytes(size(s) / calls(s))},
			...(has("temp_calls") ? [{label: "Temporary", title: "Freed by the same thread before its next allocation",
				of: (s) => quotient(of("temp_calls")(s), calls(s)), show: (s) => percent(of("temp_calls")(s), calls(s))}] : []),
			...(has("free_calls") ? [{label: "Lived", title: "Mean lifetime of freed blocks", of: (s) => s.lived, show: (s) => s.lived === null ? "–" : duration(s.lived)}] : []),
		], "Nothing was allocated while traced.");
	}

	function growth(name, also, empty) {
		const size = of("alloc_bytes");

		return siteTable(name, size, [
			{label: "Bytes", of: size, show: (s) => bytes(size(s))},
			shareColumn(size, also),
			{label: "Times", of: of("alloc_calls"), show: (s) => count(of("alloc_calls")(s))},
			{label: "By", kind: "text", of: (s) => s.via, show: (s) => s.via},
		], empty, also);
	}

	function threads() {
		const rows = PROCESSES.flatMap((p, process) => p.threads.map((t) => ({process, ...t})));
		const columns = [
			{label: "Calls", of: of("alloc_calls"), show: (t) => count(of("alloc_calls")(t))},
			{label: "Rate", of: of("alloc_calls"), show: (t) => rate(of("alloc_calls")(t), DATA.duration_ns)},
			{label: "Bytes", of: of("alloc_bytes"), show: (t) => bytes(of("alloc_bytes")(t))},
			...[["free_calls", "Frees"], ["temp_calls", "Temporary"], ["realloc_calls", "Reallocs"], ["failed_calls", "Failed"], ["unknown_frees", "Older frees"]]
				.filter(([name]) => has(name)).map(([name, label]) => ({label, of: of(name), show: (t) => count(of(name)(t))})),
			...(several ? [processColumn] : []),
			{label: "TID", of: (t) => t.tid, show: (t) => t.tid ? String(t.tid) : "–"},
			{label: "Thread", kind: "text", wide: true, of: (t) => t.comm || "", show: (t) => el("span", {class: "name"}, t.comm || "–",
				t.ended ? el("span", {class: "quiet small"}, " ended") : null)},
		];

		return {name: "Threads", columns, rows: () => rows.filter((t) => isShown(t.process)), sort: 0, empty: "No thread is known.",
			filter: (matches) => (t) => matches(t.comm || "") || matches(String(t.tid)) || matches(processName(PROCESSES[t.process]))};
	}

	function processDetail(p) {
		const parent = p.parent && PROCESSES.find((q) => q.id === p.parent);
		const rows = [["members ended", p.n_ended && `${exact(p.n_ended)} of ${exact(p.n_members)}`], ["program", p.exe], ["unit", p.unit], ["container", p.container], ["control group", p.cgroup],
			["pid in its container", p.container_pid && String(p.container_pid)], ["forked by", parent && processName(parent)],
			["started", p.wall_started_ms && wallTime(p.wall_started_ms)],
			[`since ${BASELINE}`, p.since_baseline_bytes !== null && signed(p.since_baseline_bytes, bytes)],
			["attached", p.age_at_attach_ns ? `${duration(p.age_at_attach_ns)} after its start: older blocks are unseen` : "from its first instruction"],
			["ended by", deathOf(p)], ["unseen at its start", p.unseen_ns && duration(p.unseen_ns)], ["RSS when attached", bytes(p.rss_at_attach_bytes)],
			["blocks lost", p.lost_blocks && exact(p.lost_blocks)], ["stacks lost", p.lost_stacks && exact(p.lost_stacks)],
			["frees not seen", p.missed_frees && exact(p.missed_frees)]];

		return el("div", {class: "unfolded"}, p.why ? el("p", {class: "why"}, verdictChip(p.verdict), " ", p.why) : null,
			el("div", {class: "facts"}, rows.filter(([, text]) => text).map(([name, text]) =>
				el("div", null, el("span", {class: "quiet"}, name), " ", el("span", {class: "name"}, text)))));
	}

	function processes() {
		const t = (name) => (p) => counter(p.totals, name);
		const columns = [
			...(has("live_bytes") ? [{label: "Live", of: t("live_bytes"), show: (p) => MARK + bytes(t("live_bytes")(p))},
				{label: "Blocks", of: t("live_blocks"), show: (p) => MARK + count(t("live_blocks")(p))}] : []),
			...(has("peak_bytes") ? [{label: "Peak", of: t("peak_bytes"), show: (p) => MARK + bytes(t("peak_bytes")(p))}] : []),
			...(PROCESSES.some((p) => p.growth_bytes_per_s !== null) ? [{label: "Growth", of: (p) => p.growth_bytes_per_s,
				show: (p) => p.growth_bytes_per_s === null ? "–" : signed(p.growth_bytes_per_s, bytes) + "/s"}] : []),
			{label: "RSS", of: (p) => p.rss_bytes, show: (p) => p.rss_bytes ? bytes(p.rss_bytes) : "–"},
			{label: "Calls", of: t("alloc_calls"), show: (p) => MARK + count(t("alloc_calls")(p))},
			{label: "Bytes", of: t("alloc_bytes"), show: (p) => MARK + bytes(t("alloc_bytes")(p))},
			...(PROCESSES.some((p) => p.lost_blocks || p.lost_stacks) ? [{label: "Lost", of: (p) => (p.lost_blocks || 0) + (p.lost_stacks || 0),
				show: (p) => el("span", {class: p.lost_blocks || p.lost_stacks ? "warn" : null}, exact((p.lost_blocks || 0) + (p.lost_stacks || 0)))}] : []),
			{label: "Attached", title: "How long after its start", of: (p) => p.age_at_attach_ns, show: (p) => p.age_at_attach_ns ? duration(p.age_at_attach_ns) : "start"},
			...(PROCESSES.some((p) => p.verdict) ? [verdictColumn] : []),
			{label: "Process", kind: "text", wide: true, of: (p) => p.comm, show: (p) => el("span", {class: "name"}, processName(p),
				deathOf(p) ? el("span", {class: "warn small"}, ` ${deathOf(p)}`) : p.ended ? el("span", {class: "quiet small"}, " ended") : null, p.unit ? el("span", {class: "quiet small"}, " " + p.unit) : null)},
		];

		return {name: "Processes", columns, rows: shownProcesses, sort: 0, empty: "No process was traced.", detail: processDetail, title: processName,
			filter: (matches) => (p) => [processName(p), p.exe, p.unit, p.container, p.cgroup].some((s) => s && matches(s))};
	}

	function specs() {
		const bySite = DATA.growth ? [growth("Resident", (s) => s.via === "page_fault", "No page fault while traced."),
			growth("Mapped", (s) => s.via !== "page_fault", "Neither brk nor mmap added memory while traced.")] :
			[...(has("live_bytes") ? [leaks()] : []), allocations()];

		return [...bySite, ...(PROCESSES.some((p) => p.threads.length) ? [threads()] : []), processes(), ...askedTables()];
	}

	// ---- tabs: those of what was chosen on the timeline are there as long as it is

	const visible = () => [...byId("tabs").children].filter((tab) => !tab.hidden);

	function choose(i, focus) {
		now = i;
		tabs.forEach((tab, k) => {
			tab.setAttribute("aria-selected", String(k === i));
			tab.tabIndex = k === i ? 0 : -1;
			byId("panel-" + k).hidden = k !== i;
		});
		if (focus)
			tabs[i].focus();
	}

	function tabKey(event) {
		const list = visible(), at = list.indexOf(tabs[now]);
		const to = {ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: list.length - 1}[event.key];

		if (to === undefined)
			return;
		choose(tabs.indexOf(list[(to + list.length) % list.length]), true);
		event.preventDefault();
	}

	function build() {
		all = specs().map((spec) => new Table(spec));
		tabs = all.map((table, i) => el("button", {type: "button", role: "tab", id: "tab-" + i, "aria-controls": "panel-" + i, onclick: () => choose(i),
			onkeydown: tabKey}, table.spec.name, el("span", {class: "tab-count"})));
		changed = all.findIndex((table) => table.spec.forChange);
		byId("tabs").replaceChildren(...tabs.filter((tab, i) => i === changed), ...tabs.filter((tab, i) => i !== changed));
		byId("tab-panels").replaceChildren(...all.map((table, i) => el("div", {role: "tabpanel", id: "panel-" + i, "aria-labelledby": "tab-" + i}, table.element)));
		if (changed >= 0)
			tabs[changed].hidden = true;
		choose(0);
	}

	function refresh(i) {
		for (const column of all[i].spec.columns)
			if (column.refresh)
				column.refresh();
		all[i].show();
		tabs[i].querySelector(".tab-count").textContent = count(all[i].all.length);
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
			tabs[changed].hidden = !found;
			refresh(changed);
			if (found)
				choose(changed);
			else if (now === changed)
				choose(0);
		},
		reveal(site) {
			const shows = (table) => table.spec.detail === sites.detail && table.all.includes(site);
			const i = shows(all[now]) ? now : all.findIndex(shows);

			if (i < 0)
				return;
			choose(i);
			all[i].reveal(site);
		},
		// a row of the table of changes
		revealChange(row) {
			choose(changed);
			all[changed].reveal(row);
		},
	};
})();
