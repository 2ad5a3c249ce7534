// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns the timeline: live bytes and RSS above, allocations a second below. A stretch of it can be selected, with the mouse
// or with shift and the arrows; what changed in it is told, by site too where sites have a history.

const timeline = (() => {
	const HEIGHT = 210, RATE_HEIGHT = 58, GAP = 22, LEFT = 64, RIGHT = 12, TOP = 8, AXIS = 20, GRID_POINTS = 500;
	const FIELDS = ["t", "live", "blocks", "calls", "rss"];
	let points = [], picture = null, cursor = -1, selection = null;

	// ---- data

	function pointsOf(p) {
		const out = [];

		for (let i = 0; i < p.timeline.length; i += FIELDS.length)
			out.push({t: p.timeline[i], live: p.timeline[i + 1], blocks: p.timeline[i + 2], calls: p.timeline[i + 3],
				rss: p.timeline[i + 4]});
		return out;
	}

	// The usual time between two points: a process was first seen about so long before its first one.
	function usualGap(lines) {
		const gaps = lines.flatMap(({points: p}) => p.slice(1, 20).map((q, i) => q.t - p[i].t)).sort((x, y) => x - y);

		return gaps.length ? gaps[gaps.length >> 1] : DATA.duration_ns;
	}

	// Of several processes: the sum at even moments. Between its points a process is on the line from one to the next.
	function sum(lines) {
		const out = [], at = lines.map(() => 0), gap = usualGap(lines);

		for (let i = 0; i <= GRID_POINTS; i++) {
			const point = {t: DATA.duration_ns * i / GRID_POINTS, live: 0, blocks: 0, calls: 0, rss: 0};

			lines.forEach(({ended, points: p}, k) => {
				while (at[k] < p.length && p[at[k]].t <= point.t)
					at[k]++;
				const next = p[Math.min(at[k], p.length - 1)];
				const last = at[k] ? p[at[k] - 1] : {t: Math.max(0, next.t - 1.5 * gap), live: 0, blocks: 0, calls: 0, rss: next.rss};
				const part = next.t > last.t ? (point.t - last.t) / (next.t - last.t) : 1, gone = at[k] >= p.length;

				if (part < 0)
					return;
				for (const field of ["live", "blocks", "calls"])
					point[field] += last[field] + (next[field] - last[field]) * part;
				// what it leaked stays in the report, its memory went with it
				if (!ended || !gone)
					point.rss += last.rss + (next.rss - last.rss) * part;
			});
			out.push(point);
		}
		return out;
	}

	function load() {
		const lines = shownProcesses().filter((p) => p.timeline.length).map((p) => ({ended: p.ended, points: pointsOf(p)}));

		points = lines.length === 1 ? lines[0].points : lines.length ? sum(lines) : [];
		points.forEach((p, i) => {
			const q = points[Math.max(i - 1, 0)];

			p.rate = p.t > q.t ? Math.max(0, p.calls - q.calls) * NS_PER_S / (p.t - q.t) : 0;
		});
		if (points.length > 1)
			points[0].rate = points[1].rate;
	}

	// ---- scales: round numbers, four or so

	function ticks(max, base) {
		const raw = max / 4 || 1;
		const power = base === 1024 ? Math.pow(1024, Math.floor(Math.log(raw) / Math.log(1024))) : Math.pow(10, Math.floor(Math.log10(raw)));
		const steps = base === 1024 ? [1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128, 200, 256, 500, 512, 1024] : [1, 2, 5, 10];
		const step = steps.map((s) => s * power).find((s) => s >= raw) || raw;
		const out = [];

		for (let v = 0; v <= max * 1.0001; v += step)
			out.push(v);
		return out;
	}

	function timeTicks(max) {
		const steps = [1e6, 5e6, 1e7, 5e7, 1e8, 5e8, 1e9, 2e9, 5e9, 1e10, 15e9, 3e10, 6e10, 12e10, 3e11, 6e11, 18e11, 36e11, 72e11,
			216e11, 432e11, 864e11];
		const step = steps.find((s) => max / s <= 8) || max / 8;
		const out = [];

		for (let v = 0; v <= max * 1.0001; v += step)
			out.push(v);
		return out;
	}

	const xOf = (t) => LEFT + (picture.width - LEFT - RIGHT) * (picture.end ? t / picture.end : 0);
	const tOf = (x) => Math.max(0, Math.min(picture.end, (x - LEFT) / (picture.width - LEFT - RIGHT) * picture.end));

	function path(values, y, close) {
		let d = "";

		points.forEach((p, i) => d += `${i ? "L" : "M"}${xOf(p.t).toFixed(1)},${y(values(p)).toFixed(1)}`);
		return close ? `${d}L${xOf(points[points.length - 1].t).toFixed(1)},${y(0)}L${xOf(points[0].t).toFixed(1)},${y(0)}Z` : d;
	}

	// ---- the picture

	function axis(g, values, y, words) {
		for (const v of values) {
			g.append(svg("line", {class: "grid", x1: LEFT, x2: picture.width - RIGHT, y1: y(v), y2: y(v)}));
			const label = svg("text", {class: "tick", x: LEFT - 8, y: y(v) + 4, "text-anchor": "end"});

			label.textContent = words(v);
			g.append(label);
		}
	}

	// Moments worth a line: the peak, and what changes are counted from.
	function marks(g, y) {
		const p = shownProcesses(), list = [];

		if (p.length === 1 && KNOWN.has("peak_bytes") && p[0].peak_at_ns)
			list.push(["peak", p[0].peak_at_ns, p[0].totals[COUNTER.peak_bytes]]);
		if (BASELINE && !DATA.baseline_name && KNOWN.has("live_bytes"))
			list.push(["baseline", DATA.baseline_ns, points[nearest(DATA.baseline_ns)].live]);
		for (const [name, t, live] of list) {
			const x = xOf(t), top = y(Math.min(live, picture.max)), left = x < LEFT + 60;
			const label = svg("text", {class: "tick", x: x + (left ? 6 : -6), y: Math.max(top - 6, TOP + 8), "text-anchor": left ? "start" : "end"});

			label.textContent = name;
			g.append(svg("line", {class: "mark-line", x1: x, x2: x, y1: top, y2: TOP + HEIGHT}), svg("circle", {class: "mark-dot", cx: x, cy: top, r: 3}), label);
		}
	}

	function draw() {
		const box = byId("timeline"), live = KNOWN.has("live_bytes");

		if (points.length < 2) {
			picture = null;
			box.replaceChildren(el("p", {class: "quiet empty"}, "Too short a trace for a line."));
			byId("timeline-legend").replaceChildren();
			return;
		}
		picture = {width: Math.max(280, box.clientWidth), end: Math.max(DATA.duration_ns, points[points.length - 1].t)};
		const peak = shownProcesses().length === 1 && live ? shownProcesses()[0].totals[COUNTER.peak_bytes] : 0;
		const max = Math.max(peak, ...points.map((p) => Math.max(live ? p.live : 0, p.rss))) || 1;
		const maxRate = Math.max(...points.map((p) => p.rate)) || 1;
		const rateTop = TOP + HEIGHT + GAP;
		const y = (v) => TOP + HEIGHT * (1 - v / max), yRate = (v) => rateTop + RATE_HEIGHT * (1 - v / maxRate);
		const height = rateTop + RATE_HEIGHT + AXIS;
		const g = svg("svg", {width: picture.width, height, viewBox: `0 0 ${picture.width} ${height}`, tabindex: 0, role: "application",
			"aria-roledescription": "timeline", "aria-label": describe()});

		Object.assign(picture, {max, height, bottom: rateTop + RATE_HEIGHT});
		axis(g, ticks(max, 1024), y, bytes);
		axis(g, [0, maxRate], yRate, (v) => v ? count(Math.round(v)) + "/s" : "0");
		for (const t of timeTicks(picture.end)) {
			const label = svg("text", {class: "tick", x: xOf(t), y: height - 4, "text-anchor": t ? "middle" : "start"});

			label.textContent = duration(t);
			if (xOf(t) < picture.width - RIGHT - 8 || !t)
				g.append(label);
		}
		if (points.some((p) => p.rss))
			g.append(svg("path", {class: "line-rss", d: path((p) => p.rss, y)}));
		if (live)
			g.append(svg("path", {class: "area-live", d: path((p) => p.live, y, true)}), svg("path", {class: "line-live", d: path((p) => p.live, y)}));
		g.append(svg("path", {class: "area-rate", d: path((p) => p.rate, yRate, true)}), svg("path", {class: "line-rate", d: path((p) => p.rate, yRate)}));
		marks(g, y);
		picture.chosen = g.appendChild(svg("rect", {class: "chosen", y: TOP, height: picture.bottom - TOP, visibility: "hidden"}));
		picture.hair = g.appendChild(svg("line", {class: "hair", y1: TOP, y2: picture.bottom, visibility: "hidden"}));
		listen(g);
		box.replaceChildren(g);
		byId("timeline-legend").replaceChildren(...[live && ["live", "live"], ["rss", "RSS"], ["rate", "allocations a second"]].filter(Boolean)
			.map(([kind, words]) => el("span", null, el("i", {class: "swatch " + kind}), words)));
		mark();
	}

	function describe() {
		const a = points[0], b = points[points.length - 1];

		return `Timeline of ${duration(b.t)}: ` + (KNOWN.has("live_bytes") ? `live from ${bytes(a.live)} to ${bytes(b.live)}, ` : "") +
			`RSS from ${bytes(a.rss)} to ${bytes(b.rss)}. Arrows walk, shift and arrows select.`;
	}

	// ---- cursor and selection

	function nearest(t) {
		let low = 0, high = points.length - 1;

		while (low < high) {
			const middle = (low + high) >> 1;

			if (points[middle].t < t)
				low = middle + 1;
			else
				high = middle;
		}
		return low && t - points[low - 1].t < points[low].t - t ? low - 1 : low;
	}

	function mark() {
		if (!picture)
			return;
		picture.hair.setAttribute("visibility", cursor >= 0 ? "visible" : "hidden");
		if (cursor >= 0) {
			picture.hair.setAttribute("x1", xOf(points[cursor].t));
			picture.hair.setAttribute("x2", xOf(points[cursor].t));
		}
		picture.chosen.setAttribute("visibility", selection ? "visible" : "hidden");
		if (selection) {
			const [a, b] = ordered();

			picture.chosen.setAttribute("x", xOf(points[a].t));
			picture.chosen.setAttribute("width", Math.max(1, xOf(points[b].t) - xOf(points[a].t)));
		}
	}

	const ordered = () => selection[0] < selection[1] ? selection : [selection[1], selection[0]];

	function pointWords(p) {
		return `${duration(p.t)}: ` + (KNOWN.has("live_bytes") ? `live ${MARK}${bytes(p.live)} in ${plural(p.blocks, "block")}, ` : "") +
			`RSS ${bytes(p.rss)}, ${count(Math.round(p.rate))} allocations a second`;
	}

	function changeWords(a, b) {
		const ns = b.t - a.t;

		return `${duration(a.t)} to ${duration(b.t)}: ` + (KNOWN.has("live_bytes") ?
			`live ${signed(b.live - a.live, bytes)} (${signed((b.live - a.live) * NS_PER_S / (ns || 1), bytes)}/s), ` +
			`blocks ${signed(b.blocks - a.blocks, exact)}, ` : "") +
			`RSS ${signed(b.rss - a.rss, bytes)}, ${plural(b.calls - a.calls, "allocation")} (${rate(b.calls - a.calls, ns)})`;
	}

	// A site's live bytes at a moment: what its history said last.
	function liveAt(history, t) {
		let live = 0;

		for (let i = 0; i < history.length && history[i] <= t; i += 2)
			live = history[i + 1];
		return live;
	}

	function growers(from, to) {
		return SITES.filter((s) => s.history && isShown(s.process))
			.map((s) => ({s, grew: liveAt(s.history, to) - liveAt(s.history, from)}))
			.filter((g) => g.grew).sort((a, b) => Math.abs(b.grew) - Math.abs(a.grew)).slice(0, 5);
	}

	function tell() {
		const said = byId("timeline-said");

		if (selection && selection[0] !== selection[1]) {
			const [a, b] = ordered(), words = changeWords(points[a], points[b]), grew = growers(points[a].t, points[b].t);

			said.replaceChildren(el("b", null, words), " ", el("button", {type: "button", class: "link", onclick: clear}, "clear"),
				...(grew.length ? [el("ul", {class: "plain"}, grew.map((g) => el("li", null,
					el("button", {type: "button", class: "link name mono", onclick: () => tables.reveal(g.s)}, siteTitle(g.s)),
					" " + signed(g.grew, bytes))))] : []));
			return words;
		}
		const words = cursor >= 0 ? pointWords(points[cursor]) : "";

		said.replaceChildren(words || el("span", {class: "quiet"}, points.length > 1 ? "Drag to see what changed in a stretch of time." : ""));
		return words;
	}

	function clear() {
		selection = null;
		mark();
		tell();
	}

	function listen(g) {
		const at = (event) => nearest(tOf(event.clientX - g.getBoundingClientRect().left));
		let dragging = false;

		g.addEventListener("pointerdown", (event) => {
			if (event.button)
				return;
			dragging = true;
			g.setPointerCapture(event.pointerId);
			selection = [at(event), at(event)];
			cursor = selection[0];
			mark();
		});
		g.addEventListener("pointermove", (event) => {
			cursor = at(event);
			if (dragging)
				selection[1] = cursor;
			mark();
			tell();
		});
		g.addEventListener("pointerup", () => {
			dragging = false;
			if (selection && selection[0] === selection[1])
				selection = null;
			mark();
			tell();
		});
		g.addEventListener("pointerleave", () => {
			if (dragging)
				return;
			cursor = -1;
			mark();
			tell();
		});
		g.addEventListener("keydown", (event) => {
			const step = {ArrowLeft: -1, ArrowRight: 1, Home: -points.length, End: points.length,
				PageUp: -Math.ceil(points.length / 10), PageDown: Math.ceil(points.length / 10)}[event.key];

			if (event.key === "Escape") {
				cursor = -1;
				clear();
			} else if (step) {
				const from = Math.max(cursor, 0);

				cursor = Math.max(0, Math.min(points.length - 1, cursor < 0 && !event.shiftKey ? 0 : from + step));
				selection = event.shiftKey ? [selection ? selection[0] : from, cursor] : null;
				mark();
				announce(tell());
			} else {
				return;
			}
			event.preventDefault();
		});
	}

	return {
		show() {
			load();
			cursor = -1;
			selection = null;
			draw();
			tell();
		},
		draw,
	};
})();
