// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
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
