// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns where resident memory is, and how much of it live blocks explain: two bars on one scale. Above, what the kernel says
// of the mappings; below, under heap and large mappings, what malloctrace knows of the blocks in them.

function memorySum() {
	const list = shownProcesses().filter((p) => p.memory), sum = {};

	for (const p of list)
		for (const [key, n] of Object.entries(p.memory))
			sum[key] = (sum[key] || 0) + Number(n);
	return list.length ? {...sum, all: sum.sized_all === list.length, live: list.reduce((n, p) => n + counter(p.totals, "live_bytes"), 0),
		rss: list.reduce((n, p) => n + p.rss_bytes, 0), grew: list.reduce((n, p) => n + p.rss_bytes - p.rss_at_attach_bytes, 0),
		attached: list.every((p) => p.rss_at_attach_bytes)} : null;
}

// parts: [kind, words, bytes, more words]; those of nothing are not drawn.
function stackedBar(label, parts, scale) {
	const bars = parts.filter(([, , n]) => n > 0).map(([kind, words, n, more]) => {
		const part = el("span", {class: "mem-part mem-" + kind, title: `${words}: ${bytes(n)}${more ? ", " + more : ""}`}, n / scale > 0.09 ? el("span", null, `${words} ${bytes(n)}`) : null);

		part.style.width = n / scale * 100 + "%";
		return part;
	});

	return el("div", {class: "mem-row"}, el("span", {class: "mem-label quiet small"}, label), el("div", {class: "mem-bar", role: "img",
		"aria-label": `${label}: ` + parts.filter(([, , n]) => n > 0).map(([, words, n]) => `${words} ${bytes(n)}`).join(", ")}, bars));
}

function memoryLegend(parts) {
	return el("div", {class: "legend"}, parts.filter(([, , n]) => n > 0).map(([kind, words, n, more]) => el("span", null, el("i", {class: "swatch mem-" + kind}),
		`${words} `, el("b", null, bytes(n)), more ? ` ${more}` : "")));
}

function drawMemory() {
	const m = KNOWN.has("live_bytes") ? memorySum() : null;

	byId("memory-panel").hidden = !m;
	if (!m)
		return;
	const heap = m.heap_resident + m.large_resident, resident = heap + m.file_resident + m.stack_resident;
	// what the allocator sets aside beyond what was asked for, at the rate of the blocks that were looked at
	const overhead = m.sized_requested ? Math.round(Math.max(0, m.sized_usable - m.sized_requested) * (m.all ? 1 : m.live / m.sized_requested)) : 0;
	const inside = Math.min(m.live, heap), extra = Math.min(overhead, heap - inside), rest = heap - inside - extra;
	const scale = Math.max(resident, m.rss, 1);
	const mappings = [["heap", "heap", m.heap_resident, `of ${bytes(m.heap_mapped)} mapped${m.n_arenas ? `, ${plural(m.n_arenas, "arena")} beside it` : ""}`],
		["large", "large blocks and stacks", m.large_resident, `of ${bytes(m.large_mapped)} mapped`],
		["file", "code and files", m.file_resident], ["stack", "stack", m.stack_resident]];
	const blocks = [["live", "live blocks", inside], ["overhead", "allocator's overhead", extra, m.sized_blocks ? `(${share(overhead, m.live)}${m.all ? "" : ", of a sample"})` : ""],
		["rest", "free or unseen", rest, "freed and kept by the allocator, older than the trace, or not malloc's"]];

	byId("memory-said").textContent = m.attached && m.grew ? `RSS ${signed(m.grew, bytes)} since attach; live blocks, all allocated since, hold ${MARK}${bytes(m.live)}` : "";
	byId("memory").replaceChildren(stackedBar("Mappings", mappings, scale), memoryLegend(mappings), stackedBar("Blocks", blocks, scale), memoryLegend(blocks));
}
