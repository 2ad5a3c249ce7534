// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns the lines of source that the profile carries (--embed-source): below a frame, those around it, each with what the stacks
// hold and allocated that go through it in this function. A stack that goes through a line twice counts once.

const source = (() => {
	const AROUND = 4, ranges = new Map(), key = ({file, dir}) => `${dir || ""}\n${file}`;

	for (const range of PROFILE.sources || [])
		ranges.set(key(range), (ranges.get(key(range)) || []).concat(range));

	function textOf(frame, line) {
		const range = (ranges.get(key(frame)) || []).find((r) => line >= r.from && line < r.from + r.lines.length);

		return range && range.lines[line - range.from];
	}

	const has = (f) => textOf(FRAMES[f], FRAMES[f].line) !== undefined;

	// line → {live, blocks, calls}
	function charges(f) {
		const sums = new Map(), same = (g) => frameFn[g] === frameFn[f] && key(FRAMES[g]) === key(FRAMES[f]);

		for (const s of SITES.filter((site) => isShown(site.process)))
			for (const line of new Set(s.stack.filter(same).map((g) => FRAMES[g].line))) {
				const sum = sums.get(line) || {live: 0, blocks: 0, calls: 0};

				sums.set(line, {live: sum.live + counter(s.c, "live_bytes"), blocks: sum.blocks + counter(s.c, "live_blocks"), calls: sum.calls + counter(s.c, "alloc_calls")});
			}
		return sums;
	}

	function lines(f) {
		const frame = FRAMES[f], sums = charges(f), live = KNOWN.has("live_bytes"), newer = (ranges.get(key(frame)) || []).some((r) => r.newer), rows = [];

		for (let line = frame.line - AROUND; line <= frame.line + AROUND; line++) {
			const text = textOf(frame, line), sum = sums.get(line), figure = (words, n) => el("td", {class: "num"}, sum && n ? MARK + words(n) : "");

			if (text !== undefined)
				rows.push(el("tr", {class: line === frame.line ? "here" : null}, live ? [figure(bytes, sum && sum.live), figure(count, sum && sum.blocks)] : null,
					figure(count, sum && sum.calls), el("td", {class: "num quiet"}, line), el("td", {class: "code mono"}, text)));
		}
		return el("div", {class: "source"}, newer ? el("p", {class: "quiet small"}, "The source is newer than the program: lines may have moved.") : null,
			el("table", {"aria-label": `Source of ${fnName[frameFn[f]]}`}, el("thead", null, el("tr", null, [...(live ? ["Live", "Blocks"] : []), "Calls", "Line"].map((name) => el("th", {class: "num"}, name)), el("th", null, ""))),
				el("tbody", null, rows)));
	}

	return {has, lines};
})();

// ---- sites

// Owns how a site is shown in a row, and what unfolds under it: why it was judged so, its figures, its history, the ages of
// its blocks, where they were freed, its stack. What was not recorded is not told.

const sites = (() => {
	const has = (...names) => names.every((name) => KNOWN.has(name));

	// ---- parts of rows

	function siteCell(s) {
		const {through, callers} = titleWays(s, 4);

		return el("div", {class: "site"},
			el("span", {class: "site-name"}, el("span", {class: "name mono"}, siteTitle(s)), " ",
				el("span", {class: "quiet small name"}, [threadWords(s), whereShort(s), through.length ? "via " + through.join(" → ") : ""].filter(Boolean).join("  "))),
			el("div", {class: "callers quiet small name"}, callers.length ? "← " + callers.join(" ← ") : s.via));
	}

	function processCell(p) {
		return el("span", {class: "name process-cell"}, processName(PROCESSES[p]), PROCESSES[p].ended ? el("span", {class: "quiet small"}, " ended") : null);
	}

	const verdictCell = ({verdict, why}) => verdict ? el("div", {class: "judged"}, verdictChip(verdict), why ? el("span", {class: "quiet small because"}, why) : null) : "";

	// Calls that make a block hardly larger; what was copied for them is worth a word.
	function smallSteps({grown_calls: grown, doubled_calls: doubled, moved_bytes: moved}, largest) {
		return grown ? el("span", {class: (grown - doubled) / grown > 0.5 && moved > 16 * largest ? "warn" : null}, percent(grown - doubled, grown)) : "–";
	}

	// ---- what unfolds under a site

	// A frame whose source is there: its name unfolds it.
	function frameName(f) {
		const unfold = (event) => {
			const row = event.target.closest("tr"), below = row.nextElementSibling, open = below && below.classList.contains("source-row");

			event.stopPropagation();
			event.target.setAttribute("aria-expanded", String(!open));
			if (open)
				below.remove();
			else
				row.after(el("tr", {class: "source-row"}, el("td", {colspan: 3}, source.lines(f))));
		};

		return source.has(f) ? el("button", {type: "button", class: "link name mono", title: "Its source", "aria-expanded": "false", onclick: unfold}, fnName[frameFn[f]]) : fnName[frameFn[f]];
	}

	function frameRows(s) {
		return s.stack.map((f) => el("tr", null,
			el("td", {class: "name mono"}, frameName(f), isInlined(f) ? el("span", {class: "quiet"}, " inlined") : null),
			el("td", {class: "quiet name"}, sourceOf(f)), el("td", {class: "quiet name mono"}, basename(moduleOf(f)))));
	}

	// "940, 12% of them moved and copied 3.1 MiB; larger by 4.3 KiB at a time, up to 17 times in a row"
	function moveWords(m) {
		return exact(m.calls) + (m.moved_calls ? `, ${percent(m.moved_calls, m.calls)} of them moved and copied ${bytes(m.moved_bytes)}` : ", none moved") +
			(m.grown_calls ? `; larger by ${bytes(m.grown_bytes / m.grown_calls)} at a time` : "") + (m.longest > 1 ? `, up to ${exact(m.longest)} times${m.longest >= LONGEST_MAX ? " or more" : ""} in a row` : "");
	}

	// Where its blocks were freed, and by whom: the largest first.
	function freedAt(s) {
		const list = freesOf(s), all = list.reduce((n, f) => n + f.calls, 0);

		if (!list.length)
			return null;
		return el("div", {class: "freed-at"}, el("h3", null, "Freed at"), el("table", {class: "stack", "aria-label": `Where blocks of ${siteTitle(s)} were freed`},
			el("tbody", null, list.slice(0, 6).map((f) => el("tr", null, el("td", {class: "num"}, count(f.calls)), el("td", {class: "num"}, share(f.calls, all)),
				el("td", {class: "name mono"}, siteTitle(f.where)), el("td", {class: "quiet name"}, titleWays(f.where, 3).callers.map((n) => "← " + n).join(" ") || f.where.via),
				el("td", {class: "quiet name"}, [f.thread ? `by ${f.thread}` : "", f.cross ? `${percent(f.cross, f.calls)} of another thread's` : "",
					f.calls ? `after ${duration(f.lifetimeSum / f.calls)}` : ""].filter(Boolean).join(", ")))))),
			list.length > 6 ? el("p", {class: "quiet small"}, `and ${plural(list.length - 6, "other place")}`) : null);
	}

	const HELD_BY = {stack: "the stack of ", thread: "thread-locals or registers of "};

	function facts(s) {
		const c = (name) => counter(s.c, name), list = [];
		const add = (name, text) => list.push(el("div", null, el("span", {class: "quiet"}, name), " ", text));

		add("through", el("span", {class: "mono name"}, s.via));
		if (several)
			add("in", processCell(s.process));
		if (s.tid)
			add("thread", el("span", {class: "name"}, `${s.thread || ""} (${s.tid})`.trim()));
		if (has("live_bytes"))
			add("live", `${MARK}${bytes(c("live_bytes"))} in ${plural(c("live_blocks"), "block")}` + (c("oldest_ns") ? `, the oldest ${oldestWords(s.c)}` : ""));
		if (s.c.unreached_blocks)
			add("no pointer found to", el("b", {class: "lost"}, `${plural(s.c.unreached_blocks, "block")}, ${bytes(s.c.unreached_bytes)}`));
		else if (s.c.unreached_blocks === 0 && c("live_blocks"))
			add("reached", "every block that was live at the look");
		if (s.c.held)
			add("held through", el("span", null, HELD_BY[s.c.held.kind] || "", el("span", {class: "name mono"}, s.c.held.name || "")));
		if (s.c.types && s.c.types.length)
			add("made of", el("span", {class: "name"}, s.c.types.slice(0, 6).map((t) => `${percent(t.share, 1)} ${t.name}`).join(", ")));
		if (has("peak_bytes"))
			add("at the peak", MARK + bytes(c("at_peak_bytes")));
		add("allocated", `${MARK}${bytes(c("alloc_bytes"))} in ${plural(c("alloc_calls"), "call")}, ${rate(c("alloc_calls"), DATA.duration_ns)}`);
		if (has("free_calls"))
			add("freed", `${percent(c("free_calls"), c("alloc_calls"))}` + (c("lifetime_mean_ns") ? `, after ${duration(c("lifetime_mean_ns"))} on average` : "") +
				(c("cross_frees") ? `, ${exact(c("cross_frees"))} by other threads` : ""));
		if (has("temp_calls") && c("temp_calls"))
			add("temporary", percent(c("temp_calls"), c("alloc_calls")));
		add("sizes", c("min_size") === c("max_size") ? bytes(c("min_size")) : `${bytes(c("min_size"))} to ${bytes(c("max_size"))}`);
		add("seen", s.first === s.last ? `at ${duration(s.first)}` : `from ${duration(s.first)} to ${duration(s.last)}`);
		if (s.tag)
			add("tag", el("span", {class: "name mono"}, TAGS[s.tag - 1].name));
		if (s.c.moves)
			add("reallocations", moveWords(s.c.moves));
		else if (c("realloc_calls"))
			add("reallocations", exact(c("realloc_calls")));
		if (c("failed_calls"))
			add("failed", exact(c("failed_calls")));
		return list;
	}

	function detail(s) {
		const early = s.end ? `… truncated: ${DATA.ends[s.end][0]}` : "";

		return el("div", {class: "unfolded"},
			s.why ? el("p", {class: "why"}, verdictChip(s.verdict), " ", s.why) : null,
			el("div", {class: "facts"}, facts(s)),
			el("div", {class: "pictures"}, s.history && s.history.length > 2 ? sparkline(s.history) : null,
				s.ages && s.ages.length ? ageBars(s.ages) : null),
			freedAt(s), freesOf(s).length ? el("h3", null, "Stack") : null,
			el("table", {class: "stack", "aria-label": `Call stack of ${siteTitle(s)}`}, el("tbody", null, s.stack.length ? frameRows(s) :
				el("tr", null, el("td", {class: "quiet"}, "[no stack]")))),
			early ? el("p", {class: "quiet"}, early) : null,
			el("button", {type: "button", onclick: () => flame.showSite(s)}, "Show in the flame graph"));
	}

	function sparkline(history) {
		const w = 240, h = 36, end = history[history.length - 2] || 1;
		let max = 1, d = "";

		for (let i = 1; i < history.length; i += 2)
			max = Math.max(max, history[i]);
		for (let i = 0; i < history.length; i += 2)
			d += `${i ? "L" : "M"}${(history[i] / end * w).toFixed(1)},${(h - 2 - history[i + 1] / max * (h - 4)).toFixed(1)}`;
		return el("div", {class: "spark"}, svg("svg", {width: w, height: h, role: "img", "aria-label": `live bytes over time, up to ${bytes(max)}`},
			svg("path", {class: "line-live", d})), el("span", {class: "quiet small"}, `live, up to ${bytes(max)}`));
	}

	// Live blocks by age, the youngest first; bars by bytes.
	function ageBars(ages) {
		const rows = ageRows([ages]), max = Math.max(1, ...rows.map(([, [, size]]) => size)), words = ([label, [blocks, size]]) => `${label}: ${plural(blocks, "block")}, ${bytes(size)}`;
		const columns = rows.map((row) => {
			const column = el("i", {title: words(row)});

			column.style.height = Math.max(2, row[1][1] / max * 36) + "px";
			return column;
		});

		return el("div", {class: "spark"}, el("div", {class: "age-bars", role: "img", "aria-label": "Live blocks by age: " + rows.map(words).join("; ")}, columns),
			el("span", {class: "quiet small"}, `live blocks by age: ${rows[0][0]}${rows.length > 1 ? ` … ${rows[rows.length - 1][0]}` : ""}`));
	}

	// Sites with a figure each; a click leads to the row of one.
	function siteList(list) {
		return el("table", {class: "stack", "aria-label": "Sites"}, el("tbody", null, list.map(([s, ...figures]) => el("tr", null, figures.map((f) => el("td", {class: "num"}, f)),
			el("td", null, el("button", {type: "button", class: "link name mono", onclick: () => tables.reveal(s)}, siteTitle(s))),
			el("td", {class: "quiet name"}, titleWays(s, 3).callers.map((n) => "← " + n).join(" "))))));
	}

	// ---- filters

	function filter(matches) {
		const hit = matchFrames(matches), comms = PROCESSES.map((p) => several && matches(processName(p))), vias = new Map();

		return (s) => {
			if (!vias.has(s.via))
				vias.set(s.via, matches(s.via));
			return vias.get(s.via) || comms[s.process] || (s.verdict && matches(s.verdict)) || (s.tag && matches(TAGS[s.tag - 1].name)) || (s.thread && matches(s.thread)) || s.stack.some((f) => hit[f]);
		};
	}

	return {cell: siteCell, processCell, verdictCell, smallSteps, detail, filter, frameRows, list: siteList};
})();
