// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns the part about the heap as it is: what is in use, by size and type; what is free, by arena; what else is resident. What always holds:
// a thin line below a bar is a part of what the bar shows: what no pointer reaches, what malloc_trim would return.

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

	function unreachedWords({unreached: u, search_interrupted: interrupted}) {
		if (!u && interrupted)
			return ["The search for pointers was interrupted: which blocks are unreachable is not known."];
		if (!u)
			return [el("span", {class: "quiet"}, "It was not searched for blocks that no pointer reaches: "), el("code", null, "--reachable"), el("span", {class: "quiet"}, ".")];
		const how = u.registers && u.registers !== "read" ? `; registers ${u.registers}` : "";

		const partial = u.swapped_bytes || u.passed_over_bytes || u.unread_shared_bytes || u.async_io ||
			u.kept_in_part || u.unread_threads || u.registers === "not read";

		return u.blocks ? [`${partial ? "Perhaps" : "Probably"} leaked, no pointer found in ${plural(u.scans, "scan")}: `, el("b", {class: "lost"}, `${blocksWords(u.blocks)}, ${bytes(u.bytes)}`), `${how}.${directWords(u)}${partial ? " Not all memory was searched: blocks to which only the rest points may be among them." : ""}`] :
			[`Every block that was searched is reachable (${plural(u.scans, "scan")}${how}).`];
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

		if (h.refused && h.search_interrupted)
			lines.push(unreachedWords(h));
		else if (h.refused && h.unreached)
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

// ---- tables of a heap

// Owns the tables of a heap: sizes, types, arenas, what holds blocks, the parts of resident memory, and single blocks where they are listed. A column
// of which nothing is known, or nothing is there, is left out.

const heapTables = (() => {
	let tabs = null, wanted = "";

	const num = (label, of, words, more) => ({label, of, show: (row) => known(of(row), words), ...more});
	const name = (label, of, more) => ({label, kind: "text", of, show: (row) => el("span", {class: "name mono"}, of(row) || "–"), ...more});
	const part = (label, of, whole, kind) => ({label, of: (row) => whole ? of(row) : null, show: (row) => el("span", {class: "share"}, share(of(row), whole), bar(whole ? of(row) / whole : 0, kind))});
	const lost = (of) => num("Unreached", of, (n) => n ? el("span", {class: "lost"}, bytes(n)) : bytes(0), {title: "Bytes of these blocks that no pointer was found to, in all scans: probably leaked. Pointers that the program hides (XORed, compressed) cannot be seen"});
	// what most rows have not is left blank
	const rare = (label, of, words, more) => ({label, of: (row) => of(row) || null, show: (row) => of(row) ? words(of(row)) : "", ...more});
	const word = (label, of) => ({label, kind: "text", of, show: of});

	// "98% app::Session", each on its own
	const typeShares = (types) => (types || []).flatMap((t, i) => [i ? ", " : "", el("span", {class: "num"}, percent(t.share, 1) + " "), el("span", {class: "name mono" + (t.class ? "" : " quiet")}, t.name)]);

	function sizes(h) {
		const older = new Map(((h.older || {}).classes || []).map((c) => [c.usable, c.blocks])), out = {title: (c) => heap.sizeWords(c), empty: "No block is in use."};

		return {...out, name: "Sizes", rows: () => h.classes, sort: 2, filter: (matches) => (c) => matches(heap.sizeWords(c)) || (c.types || []).some((t) => matches(t.name)), columns: [
			{label: "Usable", title: "What malloc_usable_size says; large blocks are in ranges", of: (c) => c.usable, show: heap.sizeWords},
			num("Blocks", (c) => c.blocks, exact), num("Bytes", (c) => c.bytes, bytes), part("Share", (c) => c.bytes, h.in_use.bytes),
			num("Older", (c) => h.older ? older.get(c.usable) || 0 : null, count, {title: "Blocks of these that are older than the trace"}), lost((c) => h.unreached ? c.unreached_bytes : null),
			{label: "Types", title: "C++ classes, or what bytes look like: shares of the blocks that were looked at", kind: "text", wide: true, of: (c) => c.types && c.types.length ? c.types[0].name : "", show: (c) => el("span", null, c.types && c.types.length ? typeShares(c.types) : el("span", {class: "quiet"}, "not examined"),
				c.sampled && c.sampled < c.blocks ? el("span", {class: "quiet small"}, ` (${exact(c.sampled)} examined)`) : null)}]};
	}

	function types(h) {
		const key = (t) => `${t.class} ${t.name}`, of = (list) => new Map((list || []).map((t) => [key(t), t])), gone = of((h.unreached || {}).types), older = of((h.older || {}).types);
		const mark = (words) => (t) => (t.estimated ? "~" : "") + words(t), none = {blocks: 0, bytes: 0};
		// Two estimates of one thing: a part is no more than the whole.
		const partOf = (map, t, what) => Math.min((map.get(key(t)) || none)[what], t[what]), marked = (map, t) => t.estimated && map.has(key(t)) || (map.get(key(t)) || none).estimated ? "~" : "";

		return {name: "Types", rows: () => h.types, sort: 0, empty: "No block was looked at.", filter: (matches) => (t) => matches(t.name), columns: [
			{label: "Bytes", of: (t) => t.bytes, show: mark((t) => bytes(t.bytes))}, part("Share", (t) => t.bytes, h.in_use.bytes), {label: "Blocks", of: (t) => t.blocks, show: mark((t) => exact(t.blocks))},
			{label: "Older", title: "Blocks of these that are older than the trace", of: (t) => h.older ? partOf(older, t, "blocks") : null, show: (t) => marked(older, t) + count(partOf(older, t, "blocks"))},
			{...lost(), of: (t) => h.unreached ? partOf(gone, t, "bytes") : null, show: (t) => partOf(gone, t, "bytes") ? el("span", {class: "lost"}, marked(gone, t) + bytes(partOf(gone, t, "bytes"))) : bytes(0)},
			{...word("Known by", (t) => t.class ? "class" : "look"), title: "The vtable that a block begins with, or what its bytes look like"},
			name("Type", (t) => t.name, {wide: true})]};
	}

	function arenas(h) {
		const size = (label, key, title) => num(label, (a) => a.own && key !== "bytes" ? null : a[key], bytes, {title});

		return {name: "Arenas", rows: () => heap.arenasOf(h), sort: 3, empty: "There is no arena.", filter: (matches) => (a) => matches(heap.arenaWords(h, a)), columns: [
			word("Arena", (a) => heap.arenaWords(h, a)), size("In use", "bytes"), num("Blocks", (a) => a.blocks, exact), size("Free", "free_bytes", "All of the next three"), size("Tcaches", "tcache_bytes", "In caches of threads"),
			size("Bins", "bins_bytes"), size("Top", "top_bytes", "At the end of the arena"), size("Trimmable", "trimmable_bytes", "Whole pages, which malloc_trim returns to the kernel"),
			size("Largest", "largest_free_bytes", "The largest free piece"), size("Mapped", "mapped_bytes", "What it has from the kernel")]};
	}

	function parts(h) {
		return {name: "Resident", rows: () => h.parts, sort: 0, empty: "Nothing is resident.", filter: (matches) => (p) => [p.kind, p.name, p.module].some((s) => s && matches(s)), columns: [
			num("Resident", (p) => p.resident_bytes, bytes), part("Share", (p) => p.resident_bytes, h.rss_bytes, "rss"), num("Mapped", (p) => p.mapped_bytes, bytes), rare("Swapped", (p) => p.swapped_bytes, bytes),
			rare("Deepest", (p) => p.deepest_bytes, bytes, {title: "Of a stack: how much was ever used, by its touched pages"}), rare("TID", (p) => p.tid, String),
			word("What", (p) => p.kind), {label: "Whose", kind: "text", wide: true, of: (p) => p.name || "", show: (p) => el("span", {class: "name mono"}, p.name || "–", p.module ? el("span", {class: "quiet small name"}, " " + basename(p.module)) : null)}]};
	}

	// What is a thread's beside its stack.
	const THROUGH = {thread: "thread-locals, registers"};

	function roots(h) {
		return {name: "Held through", rows: () => h.roots || [], sort: 0, empty: "Nothing is reached.", filter: (matches) => (r) => [r.kind, r.name, r.module].some((s) => s && matches(s)), columns: [
			num("Bytes", (r) => r.bytes, bytes), part("Share", (r) => r.bytes, h.in_use ? h.in_use.bytes : 0), num("Blocks", (r) => r.blocks, exact), word("Through", (r) => THROUGH[r.kind] || r.kind),
			{label: "Name", title: "From where blocks are first reached. A stack may have old copies of pointers", kind: "text", wide: true, of: (r) => r.name || "", show: (r) => el("span", {class: "name mono"}, r.name || "–", r.module ? el("span", {class: "quiet small name"}, " " + basename(r.module)) : null)}]};
	}

	// What a pointer was found to has no word.
	const UNREACHED = {unreached: "direct", indirect: "indirect"};

	function blocks(h) {
		const site = (b) => typeof b.site === "number" ? SITES[b.site] : null;

		return {name: "Blocks", rows: () => h.blocks || [], sort: 1, empty: "No block is listed.", note: h.blocks && h.blocks_of > h.blocks.length ? `${exact(h.blocks.length)} of ${exact(h.blocks_of)} blocks.` : null,
			filter: (matches) => (b) => [b.address, b.type, UNREACHED[b.reach], site(b) && siteTitle(site(b))].some((s) => s && matches(String(s))), columns: [
				name("Address", (b) => String(b.address)), num("Bytes", (b) => b.bytes, exact), num("Age", (b) => b.age_ns, duration), num("TID", (b) => b.tid, String), name("Type", (b) => b.type),
				{label: "Unreached", title: "No pointer was found to it: direct, or indirect, if other unreached blocks alone point to it", kind: "text", of: (b) => UNREACHED[b.reach] || "", show: (b) => UNREACHED[b.reach] ? el("span", {class: "lost"}, UNREACHED[b.reach]) : "–"},
				{label: "Site", kind: "text", wide: true, of: (b) => site(b) ? siteTitle(site(b)) : "", show: (b) => el("span", {class: "name mono"}, site(b) ? siteTitle(site(b)) : "–")}]};
	}

	// What nobody knows has no column, what there is none of no table.
	function tableOf(spec) {
		const rows = spec.rows(), sorted = spec.columns[spec.sort], columns = spec.columns.filter((c) => c === sorted || rows.some((row) => (c.of(row) ?? "") !== ""));

		return new Table({...spec, columns, sort: columns.indexOf(sorted)});
	}

	function show(h) {
		const specs = [...(h.refused ? [] : [sizes(h), types(h), arenas(h)]), roots(h), parts(h), blocks(h)].filter((spec) => spec.rows().length);

		wanted = tabs && tabs.tables.length ? tabs.tables[tabs.now].spec.name : wanted;
		tabs = new Tabs(byId("heap-tabs"), byId("heap-panels"), "heap-", specs.map(tableOf));
		byId("heap-tabs").hidden = !specs.length;
		specs.forEach((spec, i) => tabs.refresh(i));
		if (specs.length)
			tabs.choose(Math.max(0, specs.findIndex((spec) => spec.name === wanted)));
	}

	return {show};
})();
