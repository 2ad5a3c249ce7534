// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns where resident memory is, and how much of it live blocks explain: two bars on one scale. Above, the mappings; below,
// under each of them, what malloctrace knows of the blocks in it. The words are those of the text report.

const NOTABLE_BYTES = 1 << 20, NOTABLE_PART = 50;	// growth that is less than this, or one of so many parts of RSS, is not told

// Sums over the processes that run, or of the one that is shown; null: not known of all of them.
function memorySum() {
	const shownNow = shownProcesses(), list = shownNow.filter((p) => !p.ended || shownNow.length === 1), sum = {};

	if (!list.length || list.some((p) => !p.memory))
		return null;
	for (const p of list)
		for (const [key, n] of Object.entries(p.memory))
			sum[key] = (sum[key] || 0) + Number(n);
	const add = (of) => list.reduce((n, p) => n + of(p), 0);

	// when it was looked at: told of one that has ended
	return {...sum, seen: list.some((p) => p.ended) ? sum.seen_ns : null, all: sum.sized_all === list.length, live: add((p) => counter(p.totals, "live_bytes")), rss: add((p) => p.rss_bytes),
		first: list.every((p) => p.rss_at_attach_bytes) ? add((p) => p.rss_at_attach_bytes) : 0, older: list.some((p) => p.age_at_attach_ns),
		heap: list.length === 1 ? heapOf(PROCESSES.indexOf(list[0])) : null};
}

// A look at the heap of the one process that is shown tells what is free from what is older.
function restParts(m, n, mark) {
	const looked = m.heap && m.heap.older && m.heap.free ? Math.min(m.heap.free.resident_bytes, n) : null;

	if (looked !== null)
		return [["rest", "free", looked, "", mark], ["older", "older than the trace", n - looked, `(${plural(m.heap.older.blocks, "block")})`, mark]];
	return [["rest", DATA.partial_sizes || DATA.within ? "free, not recorded or older than the trace" : m.older ? "free or older than the trace" : "free", n, "", mark]];
}

// Of the heap and the other anonymous mappings: [[kind, words, bytes, more words, its mark]] that add up to what is resident of them.
function blockParts(m) {
	const anonymous = m.heap_resident + m.other_resident, mark = m.all ? "" : "~", heapMark = m.heap_estimated ? "~" : "", largeMark = m.other_estimated ? "~" : "";
	const freeMark = mark || heapMark;

	// another allocator than glibc: it is not known which mappings are its
	if (!m.sized_blocks)
		return [["live", "live blocks", Math.min(m.live, anonymous)], ["rest", "free, older than the trace, or not of malloc", Math.max(0, anonymous - m.live), "", heapMark || largeMark]];
	const apart = Math.min(m.sized_apart || 0, m.other_resident), used = m.sized_set_aside - Math.min(m.sized_apart || 0, m.sized_set_aside);
	const inside = Math.min(used, m.heap_resident), overhead = Math.min(inside, Math.max(0, m.sized_set_aside - m.sized_requested));

	return [["live", "live blocks", inside - overhead, used > m.heap_resident ? `${freeMark}${bytes(used - m.heap_resident)} more are not resident` : ""],
		["overhead", "overhead", overhead, `(${mark}${share(overhead, m.sized_requested)})`],
		...restParts(m, m.heap_resident - inside, heapMark),
		["live", "blocks in mappings of their own", apart], ["other", "not of malloc", m.other_resident - apart, "", largeMark]];
}

// Parts of nothing are not drawn; a name that has no room is in the legend alone.
function stackedBar(label, parts, scale) {
	const some = parts.filter(([, , n]) => n > 0), bars = some.map(([kind, words, n, more, mark = ""]) => {
		const part = el("span", {class: "mem-part mem-" + kind, title: `${words}: ${mark}${bytes(n)}${more ? ", " + more : ""}`}, n / scale > 0.09 ? el("span", null, `${words} ${mark}${bytes(n)}`) : null);

		part.style.width = n / scale * 100 + "%";
		return part;
	});

	return [el("div", {class: "mem-row"}, el("span", {class: "mem-label quiet small"}, label), el("div", {class: "mem-bar", role: "img",
		"aria-label": `${label}: ` + some.map(([, words, n, , mark = ""]) => `${words} ${mark}${bytes(n)}`).join(", ")}, bars)),
	el("div", {class: "legend"}, some.map(([kind, words, n, more, mark = ""]) => el("span", null, el("i", {class: "swatch mem-" + kind}), `${words} `, el("b", null, mark + bytes(n)), more ? ` ${more}` : "")))];
}

// "RSS grows, but what leaks?"
function grownWords(m) {
	const grown = m.rss - m.first, other = m.heap_mapped ? "other anonymous" : "anonymous";

	if (m.seen !== null)
		return `last seen at ${duration(m.seen)}`;
	if (!m.first || grown < Math.max(NOTABLE_BYTES, m.first / NOTABLE_PART))
		return "";
	const parts = [["heap", m.heap_grown, m.heap_estimated], [other, m.other_grown, m.other_estimated],
		["files", m.file_grown, m.heap_estimated || m.other_estimated]].filter(([, n]) => Math.abs(n || 0) >= grown / NOTABLE_PART);

	return `+${bytes(grown)} while traced, ` + (m.live > grown ? "less than the live blocks come to" : `${MARK}${percent(m.live, grown)} of it explained by live blocks`) +
		(parts.length ? `: ${parts.map(([name, n, estimated]) => `${name} ${estimated ? "~" : ""}${signed(n, bytes)}`).join(", ")}` : "");
}

function drawMemory() {
	const m = KNOWN.has("live_bytes") ? memorySum() : null;

	byId("memory-panel").hidden = !m;
	if (!m)
		return;
	const mappings = [["heap", "heap", m.heap_resident, `of ${bytes(m.heap_mapped)} mapped${m.arenas ? `, ${plural(m.arenas, "arena")} beside it` : ""}`, m.heap_estimated ? "~" : ""],
		["large", m.heap_mapped ? "other anonymous" : "anonymous", m.other_resident, `of ${bytes(m.other_mapped)} mapped`, m.other_estimated ? "~" : ""],
		["file", "files", m.file_resident, "", m.heap_estimated || m.other_estimated ? "~" : ""],
		["stack", "stack", m.stack_resident]];
	const scale = Math.max(mappings.reduce((n, part) => n + part[2], 0), m.rss, 1);

	byId("memory-said").textContent = grownWords(m);
	byId("memory").replaceChildren(...stackedBar("Mappings", mappings, scale),
		// what was live in the end is not what was live then
		...(m.seen === null ? stackedBar("Blocks", blockParts(m), scale) : []));
}
