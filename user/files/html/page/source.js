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
