// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns the part about the heap as it is: what is in use, by size and type; what is free, by arena; what else is resident. What always holds:
// a thin line below a bar is a part of what the bar shows: what no pointer reaches, what malloc_trim would return. The rows beside it are
// in heap_tables.js.

const heap = (() => {
	const ROWS_MAX = 12, CLASSES_MAX = 6;	// bars in a picture; C++ classes that have a colour
	const LOOKS = ["text", "pointers", "zeros", "other"];
	let chosen = null;	// the one that is looked at of several

	const inSight = () => HEAPS.filter((h) => isShown(h.index));
	const sum = (rows, of) => rows.reduce((n, row) => n + of(row), 0);
	const blocksWords = (n) => plural(n, "block");

	// Bounds of ranges are whole numbers of their unit: "64–128 KiB", "512 KiB–1 MiB"; what is no range is told to the byte.
	function sizeWords({usable, below}) {
		const short = (n) => bytes(n).replace(".0", "").split(NO_BREAK), [from, unit] = short(usable), [to, toUnit] = short(below || 0);

		if (below === undefined || below >= Number.MAX_SAFE_INTEGER)
			return below === undefined ? `${exact(usable)}${NO_BREAK}B` : `from ${from}${NO_BREAK}${unit}`;
		return `${from}${unit === toUnit ? "" : NO_BREAK + unit}–${to}${NO_BREAK}${toUnit}`;
	}

	const arenaWords = (h, a) => a.own ? "large blocks (mmap)" : a.main ? "main" : `arena ${h.arenas.indexOf(a) + 1}`;

	// Blocks with a mapping of their own are in no arena, and nothing of them is free.
	function arenasOf(h) {
		const own = {own: true, blocks: h.mapped_blocks, bytes: h.mapped_bytes, free_bytes: 0, tcache_bytes: 0, bins_bytes: 0, top_bytes: 0, trimmable_bytes: 0, largest_free_bytes: 0, mapped_bytes: h.mapped_bytes};

		return h.mapped_blocks ? [...h.arenas, own] : [...h.arenas];
	}

	// ---- pictures: tables with bars in them, so that they are read aloud, copied and printed as what they are

	function segment(kind, part, title) {
		const e = el("span", {class: "seg " + kind, title});

		e.style.width = part * 100 + "%";
		return e;
	}

	// Of a bar's segments: [[kind, bytes, words]]; line: [kind, from, bytes], the thin one below
	function segments(list, scale, line) {
		const below = el("span", {class: "seg-line"});

		if (line && line[2] > 0) {
			below.append(segment(line[0], Math.max(line[2] / scale, 0.004), null));
			below.firstChild.style.marginLeft = line[1] / scale * 100 + "%";
		}
		return el("div", {class: "seg-box", "aria-hidden": "true"}, el("span", {class: "seg-bar"}, list.filter(([, n]) => n > 0).map(([kind, n, words]) => segment(kind, n / scale, `${words}: ${bytes(n)}`))), below);
	}

	// rows: [[label, [figures], bar]]; apart: the first one is the sum of the others, on a scale of its own; spare: on a narrow screen
	// the first figure makes room for the bar
	function bars(box, heads, rows, {apart, spare}) {
		const kind = (i) => i === 1 && spare ? "num roomy" : "num";

		box.replaceChildren(el("table", {class: "histogram heap-bars" + (apart ? " apart" : ""), "aria-labelledby": box.id + "-title"},
			el("thead", null, el("tr", null, heads.map((head, i) => el("th", {scope: "col", class: kind(i)}, head)), el("td"))),
			el("tbody", null, rows.map(([label, figures, picture]) => el("tr", null, el("th", {scope: "row", class: "num"}, label), figures.map((f, i) => el("td", {class: kind(i + 1)}, f)), el("td", {class: "bar-cell"}, picture))))));
	}

	const legend = (items) => el("div", {class: "legend heap-legend"}, items.map(([kind, words, n, mark]) => el("span", null, el("i", {class: "swatch " + kind}), el("span", {class: "name"}, words), " ", n === null ? null : el("b", null, (mark || "") + bytes(n)))));

	// ---- in use, by size and type

	// The largest C++ classes have a colour each, what only looks like something one by its look.
	function colours(h) {
		const map = new Map(h.types.filter((t) => t.class).slice(0, CLASSES_MAX).map((t, i) => [t.name, `type-${i}`]));

		return ({name, class: is}) => is ? map.get(name) || "type-rest" : LOOKS.includes(name) ? `look-${name}` : "look-other";
	}

	// One of each colour: what has none of its own is one segment.
	function typeSegments(c, colour) {
		const parts = new Map(), add = (kind, n, words) => parts.set(kind, [kind, n + (parts.has(kind) ? parts.get(kind)[1] : 0), parts.has(kind) ? "other classes" : words]);

		for (const t of c.types || [])
			add(colour(t), t.share * c.bytes, t.name);
		const left = c.bytes - sum([...parts.values()], ([, n]) => n);

		if (left > c.bytes / 1000)
			add("look-unknown", left, "not examined");
		return [...parts.values()].sort((x, y) => y[1] - x[1]);
	}

	// Where there are many sizes, a row is all from one power of two to the next.
	function inRanges(list) {
		const ranges = new Map();

		for (const c of list) {
			const from = 2 ** Math.floor(Math.log2(Math.max(c.usable, 1))), r = ranges.get(from) || {usable: from, below: from * 2, blocks: 0, bytes: 0, unreached_bytes: 0, sums: new Map()};

			r.blocks += c.blocks;
			r.bytes += c.bytes;
			r.unreached_bytes += c.unreached_bytes || 0;
			for (const t of c.types || [])
				r.sums.set(`${t.class} ${t.name}`, {...t, bytes: t.share * c.bytes + (r.sums.get(`${t.class} ${t.name}`) || {bytes: 0}).bytes});
			ranges.set(from, r);
		}
		return [...ranges.values()].sort((x, y) => x.usable - y.usable).map((r) => ({...r, types: [...r.sums.values()].map((t) => ({...t, share: t.bytes / r.bytes}))}));
	}

	function drawUsed(h) {
		const colour = colours(h), rows = h.classes.length > ROWS_MAX ? inRanges(h.classes) : [...h.classes].sort((a, b) => b.bytes - a.bytes), scale = Math.max(1, ...rows.map((c) => c.bytes));
		const classed = h.types.filter((t) => t.class), others = classed.slice(CLASSES_MAX);
		const items = [...classed.slice(0, CLASSES_MAX).map((t) => [colour(t), t.name, t.bytes, t.estimated ? "~" : ""]),
			...(others.length ? [["type-rest", plural(others.length, "other class", "other classes"), sum(others, (t) => t.bytes), "~"]] : []),
			...h.types.filter((t) => !t.class).map((t) => [colour(t), t.name, t.bytes, t.estimated ? "~" : ""])];

		if (rows.some((c) => !c.types))
			items.push(["look-unknown", "not examined", null]);
		if (h.unreached && h.unreached.bytes)
			items.push(["line-lost", "no pointer found", h.unreached.bytes]);
		bars(byId("heap-used"), ["Usable", "Blocks", "Bytes"], rows.map((c) => [sizeWords(c), [count(c.blocks), bytes(c.bytes)],
			segments(typeSegments(c, colour), scale, ["line-lost", 0, c.unreached_bytes || 0])]), {spare: true});
		byId("heap-used").append(legend(items));
	}

	// ---- arenas

	const FREE = [["free-tcache", "tcache_bytes", "in caches of threads"], ["free-bins", "bins_bytes", "in bins"], ["free-top", "top_bytes", "at the top"]];
	const ARENA_SUMS = ["blocks", "bytes", "free_bytes", "tcache_bytes", "bins_bytes", "top_bytes", "trimmable_bytes", "mapped_bytes"];

	function sumOfArenas(list) {
		return Object.fromEntries(ARENA_SUMS.map((key) => [key, sum(list, (a) => a[key])]));
	}

	const arenaBar = (a, scale) => segments([["free-used", a.bytes, "in use"], ...FREE.map(([kind, key, words]) => [kind, a[key], words])], scale, ["line-trim", a.bytes, a.trimmable_bytes]);

	// Of many, all of them as a bar of their own, then the largest; the others have no bar: it would be one for several. Large blocks, which have
	// nothing free, would make the free memory of the others too small to be seen: they are in the table.
	function drawFree(h) {
		const size = (a) => a.bytes + a.free_bytes, all = [...h.arenas].sort((a, b) => size(b) - size(a)), shown = all.length > ROWS_MAX ? all.slice(0, ROWS_MAX - 2) : all, others = all.slice(shown.length);
		const scale = Math.max(1, ...shown.map(size)), row = (a, label, picture) => [label, [bytes(a.bytes), bytes(a.free_bytes)], picture], whole = sumOfArenas(all), rest = sumOfArenas(others);

		bars(byId("heap-free"), ["Arena", "In use", "Free"], [...(others.length ? [row(whole, `all ${exact(all.length)}`, arenaBar(whole, size(whole)))] : []), ...shown.map((a) => row(a, arenaWords(h, a), arenaBar(a, scale))),
			...(others.length ? [row(rest, plural(others.length, "other"), null)] : [])], {apart: others.length > 0});
		byId("heap-free").append(legend([["free-used", "in use", whole.bytes], ...FREE.map(([kind, key, words]) => [kind, words, h.free[key]]).filter(([, , n]) => n),
			["line-trim", "malloc_trim would return", h.free.trimmable_bytes]]));
	}

	// ---- resident memory

	const PARTS = {stack: "stacks", global: "global variables", tls: "thread-local", code: "code", file: "files", shared: "shared", anonymous: "anonymous", other: "other"};

	function drawResident(h) {
		const resident = (kind) => sum(h.parts.filter((p) => p.kind === kind), (p) => p.resident_bytes), own = resident("heap"), free = h.free ? Math.min(h.free.resident_bytes, own) : 0;
		const parts = [...(h.free ? [["live", "blocks in use, with headers", own - free], ["rest", `free, kept by ${h.allocator || "the allocator"}`, free]] : [["heap", "heap", own]]),
			...Object.entries(PARTS).map(([kind, words]) => [kind === "anonymous" ? "large" : kind, words, resident(kind)])];

		byId("heap-rss-box").hidden = !h.parts.length;
		byId("heap-rss").replaceChildren(...stackedBar("RSS", parts, Math.max(h.rss_bytes, sum(parts, ([, , n]) => n), 1)),
			el("p", {class: "quiet small mem-beside"}, `${bytes(h.rss_bytes)} in all. Not in RSS: page tables ${bytes(h.page_table_bytes)}, swapped out ${bytes(h.swap_bytes)}.`));
	}

	// ---- what is said of it

	const NOTABLE_PCT = 10, MANY_ARENAS = 3;

	// "62% of RSS is free memory that glibc keeps" is the most common false leak of all. Words and bounds are those of the text report (free_sentence()).
	function freeWords(h) {
		const {bytes: all, bins_bytes: bins, resident_bytes: resident} = h.free, who = h.allocator || "the allocator", beside = sum(h.arenas.filter((a) => !a.main), (a) => a.free_bytes);
		// what is not resident any more cannot be returned again
		const trim = Math.min(h.free.trimmable_bytes, resident), returns = trim >= Math.floor(resident / 4) ? `malloc_trim(0), called by the program, would return ${bytes(trim)}.` :
			`It lies ${bins > Math.floor(all / 2) ? "in pieces between blocks in use" : "at the ends of arenas"}: malloc_trim(0), called by the program, would return ${trim ? `only ${bytes(trim)}` : "nothing"}.`;

		if (resident < NOTABLE_BYTES || resident < Math.floor(h.rss_bytes / 100) * NOTABLE_PCT)
			return null;
		return [el("b", null, percent(resident, h.rss_bytes)), ` of RSS is free memory that ${who} keeps for later, `, el("b", null, bytes(resident)), `: not a leak. ${returns}`,
			h.arenas.length > MANY_ARENAS && beside > Math.floor(all / 2) ? ` Most of it is in ${exact(h.arenas.length - 1)} arenas of threads: restarted with MALLOC_ARENA_MAX=2, the program has fewer and may keep less.` : ""];
	}

	function directWords({blocks, direct_blocks: direct}) {
		const others = blocks - direct;

		return others > 0 ? ` ${exact(direct)} ${direct === 1 ? "is direct: nothing points to it" : "are direct: nothing points to them"}. The other ${others === 1 ? "one is" : exact(others) + " are"} indirect: only leaked blocks point to ${others === 1 ? "it" : "them"}.` : "";
	}

	function unreachedWords({unreached: u}) {
		if (!u)
			return [el("span", {class: "quiet"}, "It was not searched for blocks that no pointer reaches: "), el("code", null, "--reachable"), el("span", {class: "quiet"}, ".")];
		const how = u.registers && u.registers !== "read" ? `; registers ${u.registers}` : "";

		const partial = u.swapped_bytes || u.passed_over_bytes || u.unread_shared_bytes || u.async_io;

		return u.blocks ? [`${partial ? "Perhaps" : "Probably"} leaked, no pointer found in ${plural(u.scans, "scan")}: `, el("b", {class: "lost"}, `${blocksWords(u.blocks)}, ${bytes(u.bytes)}`), `${how}.${directWords(u)}${partial ? " Not all memory was searched: blocks to which only the rest points may be among them." : ""}`] :
			[`In ${plural(u.scans, "scan")} every block was reached by a pointer${how}.`];
	}

	function pastWords({older: o}) {
		return [el("b", null, bytes(o.bytes)), ` in ${blocksWords(o.blocks)} ${o.blocks === 1 ? "is" : "are"} older than the trace`, o.unsure_blocks ? ` (at most ${exact(o.unsure_blocks)} of them younger)` : "",
			o.unreached_blocks ? [", ", el("b", {class: "lost"}, `no pointer found to ${exact(o.unreached_blocks)} of them`)] : "", "."].flat();
	}

	function lookWords(h) {
		const skipped = h.skipped || {}, words = [`${h.allocator ? h.allocator + ", " : ""}${h.arenas.length ? plural(h.arenas.length, "arena") + ", " : ""}` +
			(h.at_ns ? `read ${duration(h.at_ns)} after the trace began, in ` : "read in ") + `${duration(h.looked_ns)}, ` + (h.paused_ns ? `process stopped for ${duration(h.paused_ns)}` : "process not stopped")];

		if (h.unsure_blocks)
			words.push(`at most ${blocksWords(h.unsure_blocks)} may be shown as in use though free, or the reverse: ${h.rested ? "nothing ran while it was read, and yet not all of it adds up" : "the heap changed while it was read"}`);
		if (skipped.swapped_bytes)
			words.push(`${bytes(skipped.swapped_bytes)} swapped out, not read`);
		if (skipped.broken_bytes)
			words.push(`${bytes(skipped.broken_bytes)} without recognisable blocks`);
		if (skipped.passed_over_bytes)
			words.push(`${bytes(skipped.passed_over_bytes)} of address space not looked at`);
		return [words.join("; ") + "."];
	}

	function drawSaid(h) {
		const lines = h.refused ? [[el("b", {class: "warn"}, h.refused)]] :
			[[el("b", null, bytes(h.in_use.bytes)), ` in ${blocksWords(h.in_use.blocks)} ${h.in_use.blocks === 1 ? "is" : "are"} in use.`], unreachedWords(h), ...(h.older ? [pastWords(h)] : []), freeWords(h)].filter(Boolean);

		if (h.refused && h.unreached)
			lines.push([...unreachedWords(h), ` Only traced blocks were searched: the others of ${h.allocator || "this allocator"} are not known.`]);
		byId("heap-said").replaceChildren(el("ul", {class: "plain heap-lines"}, lines.map((line) => el("li", {class: "name"}, line))), el("p", {class: "quiet small heap-look"}, lookWords(h)));
	}

	// ---- all of it

	function drawOne(h) {
		byId("heap-title").textContent = HEAPS.length > 1 || several ? `Heap of ${h.title}` : "Heap";
		drawSaid(h);
		byId("heap-pictures").hidden = !!h.refused;
		if (!h.refused) {
			drawUsed(h);
			drawFree(h);
		}
		drawResident(h);
		heapTables.show(h);
	}

	function draw() {
		const list = inSight(), select = byId("heap-process");

		byId("heap-panel").hidden = !list.length;
		if (!list.length)
			return;
		chosen = list.includes(chosen) ? chosen : list.reduce((a, b) => b.rss_bytes > a.rss_bytes ? b : a);
		byId("heap-process-label").hidden = list.length < 2;
		select.replaceChildren(...list.map((h, i) => el("option", {value: String(i)}, h.title)));
		select.value = String(list.indexOf(chosen));
		select.onchange = () => {
			chosen = list[Number(select.value)];
			drawOne(chosen);
			announce(byId("heap-title").textContent);
		};
		drawOne(chosen);
	}

	return {draw, arenasOf, arenaWords, sizeWords};
})();
