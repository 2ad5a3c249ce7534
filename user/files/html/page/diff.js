// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
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
