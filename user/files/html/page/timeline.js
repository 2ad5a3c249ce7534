// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns the points of a timeline: [{t, live, blocks, calls, rss, rate}], of one process as they were counted, of several
// processes as sums at even moments.

const timelinePoints = (() => {
	const GRID_POINTS = 500, FIELDS = ["t", "live", "blocks", "calls", "rss"];

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

	// The point that the rate at point i is counted from: the one before it, or, where that is much nearer than usual, as at
	// the end of a trace, one further back. A call that was counted a millisecond late would double the rate of two milliseconds.
	function rateFrom(points, i, least) {
		let k = Math.max(i - 1, 0);

		while (k && points[i].t - points[k].t < least)
			k--;
		return points[k];
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

	// Of these processes; none: nothing is known of them.
	return (processes) => {
		const lines = processes.filter((p) => p.timeline.length).map((p) => ({ended: p.ended, points: pointsOf(p)}));
		const points = lines.length === 1 ? lines[0].points : lines.length ? sum(lines) : [], least = usualGap([{points}]) / 2;

		points.forEach((p, i) => {
			const q = rateFrom(points, i, least);

			p.rate = p.t > q.t ? Math.max(0, p.calls - q.calls) * NS_PER_S / (p.t - q.t) : 0;
		});
		if (points.length > 1)
			points[0].rate = points[1].rate;
		return points;
	};
})();

// ---- bands

// Owns the bands of the timeline: live bytes, RSS and allocations a second, one below the other, over one axis of time and each with a
// scale of its own. On one scale, what leaks in an hour would be no wider than a line beside the RSS of a process that has run for months.
// What always holds: a scale that does not begin at 0 says so in its title, at its lowest label, and with a break in its axis.

const bands = (() => {
	const LEFT = 76, RIGHT = 12, TITLE = 18, GAP = 12;
	const FLAT = 1 << 20;	// RSS that moves by less is flat: a page more or less is no mountain

	// ---- scales: round numbers, four or so

	function upTo(max, step) {
		const out = [];

		for (let v = 0; v <= max * 1.0001; v += step)
			out.push(v);
		return out;
	}

	function ticks(max, n, base) {
		const raw = max / n || 1;
		const power = base === 1024 ? Math.pow(1024, Math.floor(Math.log(raw) / Math.log(1024))) : Math.pow(10, Math.floor(Math.log10(raw)));
		const steps = base === 1024 ? [1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128, 200, 256, 500, 512, 1024] : [1, 2, 5, 10];
		return upTo(max, steps.map((s) => s * power).find((s) => s >= raw) || raw);
	}

	function timeTicks(max) {
		const steps = [1e6, 5e6, 1e7, 5e7, 1e8, 5e8, 1e9, 2e9, 5e9, 1e10, 15e9, 3e10, 6e10, 12e10, 3e11, 6e11, 18e11, 36e11, 72e11,
			216e11, 432e11, 864e11];
		return upTo(max, steps.find((s) => max / s <= 8) || max / 8);
	}

	// {from, to, ticks: [[value, words]]}
	function fromZero(max, words, values) {
		return {from: 0, to: max, ticks: (values || ticks(max, 4, 1024)).map((v) => [v, words(v)])};
	}

	// From what it was at least, unless it has doubled: else there would be nothing to see. Labels say how much more than that: of
	// 8.0 GiB, a MiB more is 8.0 GiB.
	function rssScale(points) {
		const values = points.map((p) => p.rss).filter((n) => n > 0), least = Math.min(...values), most = Math.max(...values), span = Math.max(most - least, FLAT);

		if (least <= span)
			return fromZero(most, bytes, ticks(most, 2, 1024));
		return {from: least, to: least + span, ticks: [...ticks(span, 2, 1024).filter((v) => v < 0.8 * span), span].map((v) => [least + v, v ? signed(v, bytes) : bytes(least)])};
	}

	// What this trace has: [{name, title, height, of(point), scale, area}], from above
	function list(points, peak) {
		const live = KNOWN.has("live_bytes"), out = [], add = (band) => out.push({...band, from: band.scale.from});

		if (live)
			add({name: "live", title: "Live", height: 132, area: true, of: (p) => p.live, scale: fromZero(Math.max(peak, ...points.map((p) => p.live)) || 1, bytes)});
		if (points.some((p) => p.rss)) {
			const scale = rssScale(points);

			add({name: "rss", title: "RSS" + (scale.from ? `, from ${bytes(scale.from)} up, not from 0` : ""), height: live ? 78 : 150, of: (p) => p.rss, scale});
		}
		const rates = Math.max(...points.map((p) => p.rate)) || 1;

		add({name: "rate", title: "Allocations a second", height: 46, area: true, of: (p) => p.rate, scale: fromZero(rates, (v) => v ? count(Math.round(v)) + "/s" : "0", [0, rates])});
		return out;
	}

	// ---- drawing

	const text = (attributes, words) => {
		const e = svg("text", attributes);

		e.textContent = words;
		return e;
	};

	// Titles stand above their band; that of the first above what flags there are.
	function place(all, top, lane) {
		let y = top;

		all.forEach((band, i) => {
			band.titleY = y + TITLE - 5;
			band.top = y + TITLE + (i ? 0 : lane);
			band.bottom = band.top + band.height;
			band.y = (v) => band.bottom - band.height * (Math.min(v, band.scale.to) - band.scale.from) / (band.scale.to - band.scale.from || 1);
			y = band.bottom + GAP;
		});
	}

	function axis(g, band, width) {
		for (const [v, words] of band.scale.ticks)
			g.append(svg("line", {class: "grid", x1: LEFT, x2: width - RIGHT, y1: band.y(v), y2: band.y(v)}),
				text({class: "tick", x: LEFT - 10, y: band.y(v) + 4, "text-anchor": "end"}, words));
		if (band.from)
			g.append(svg("path", {class: "axis-break", d: `M${LEFT - 4},${band.bottom - 7}l8,-4M${LEFT - 4},${band.bottom - 3}l8,-4`}));
	}

	function line(points, band, xOf, close) {
		let d = "";

		// of a moment at which it was not looked at, nothing is known
		for (const p of points)
			if (band.name !== "rss" || p.rss)
				d += `${d ? "L" : "M"}${xOf(p.t).toFixed(1)},${band.y(band.of(p)).toFixed(1)}`;
		return close ? `${d}L${xOf(points[points.length - 1].t).toFixed(1)},${band.bottom}L${xOf(points[0].t).toFixed(1)},${band.bottom}Z` : d;
	}

	function draw(g, band, points, xOf) {
		if (band.area)
			g.append(svg("path", {class: "area-" + band.name, d: line(points, band, xOf, true)}));
		g.append(svg("path", {class: "line-" + band.name, d: line(points, band, xOf)}));
	}

	const title = (g, band) => g.append(text({class: "band-title " + band.name, x: LEFT, y: band.titleY}, band.title));

	return {LEFT, RIGHT, list, place, axis, draw, title, timeTicks, text};
})();

// ---- the timeline

// Owns the timeline: its bands over one axis of time. A stretch of it can be selected, with the mouse,
// with shift and the arrows, or by typing two moments: between.js says what changed in it. Moments that have a name are
// drawn with it: the peak and the baseline on the line, marks and what made this snapshot be taken in a lane above.

const timeline = (() => {
	const {LEFT, RIGHT, text} = bands, AXIS = 20, NEAR = 6, LABEL_CHARS = 44;
	let points = [], picture = null, named = [];
	let cursor = -1;	// a moment; below 0: none
	let anchor = -1;	// where a selection began that the keyboard or the mouse goes on with
	let lit = null;		// a site whose history is drawn, too

	const xOf = (t) => LEFT + (picture.width - LEFT - RIGHT) * (picture.end ? t / picture.end : 0);
	const tOf = (x) => Math.max(0, Math.min(picture.end, (x - LEFT) / (picture.width - LEFT - RIGHT) * picture.end));

	// ---- moments with a name: on the line, or in a lane above it

	// Each gets a label where there is room for one: marks and earlier snapshots in two rows, above them what ended a process or made this
	// snapshot be taken. Where there is none, the flag tells that something is there. A label that no line crosses is better than one below.
	function layLane(list) {
		const lane = list.filter((e) => e.kind !== "peak" && e.kind !== "baseline").map((e) => ({...e, x: xOf(e.t), row: -1}));
		const taken = [], lines = [];	// by row: [from, to] of labels, and where lines cross
		const free = (row, from, to, x, crossing) => (taken[row] || []).every(([p, q]) => to <= p || from >= q) &&
			(crossing || ((lines[row] || []).every((l) => l <= from || l >= to) && taken.slice(0, row).every((below) => below.every(([p, q]) => x <= p || x >= q))));

		const lay = (e, first, n) => {
			e.text = e.name.length > LABEL_CHARS ? e.name.slice(0, LABEL_CHARS - 1) + "…" : e.name;
			const width = e.text.length * 6.2 + 12;

			for (const crossing of [false, true])
				for (let row = first; row < first + n; row++)
					for (const left of [false, true]) {
						const from = left ? e.x - width : e.x, to = from + width;

						if (from < LEFT - 40 || to > picture.width || !free(row, from, to, e.x, crossing))
							continue;
						Object.assign(e, {row, left});
						(taken[row] = taken[row] || []).push([from, to]);
						for (let below = 0; below < row; below++)
							(lines[below] = lines[below] || []).push(e.x);
						return;
					}
		};

		const below = (e) => e.kind === "mark" || e.kind === "taken";

		lane.filter(below).forEach((e) => lay(e, 0, 2));
		const rows = taken.length;

		lane.filter((e) => !below(e)).reverse().forEach((e) => lay(e, rows, 2));
		return {lane, rows: lane.length ? Math.max(1, taken.length) : 0};
	}

	function drawLane(g, lane) {
		const rowY = (e) => picture.top - 9 - 15 * e.row;

		for (const e of lane) {
			// hundreds of lines would hide what they are about
			if (lane.length <= 60 || e.kind !== "mark")
				g.append(svg("line", {class: "event-line " + e.kind, x1: e.x, x2: e.x, y1: e.row < 0 ? picture.top - 6 : rowY(e), y2: picture.bottom}));
			g.append(svg("path", {class: "event-flag " + e.kind, d: `M${e.x - 3.5},${picture.top - 6}h7l-3.5,6z`}));
		}
		for (const e of lane.filter(({row}) => row >= 0))
			g.append(text({class: "event-name " + e.kind, x: e.x + (e.left ? -6 : 6), y: rowY(e), "text-anchor": e.left ? "end" : "start"}, e.text));
	}

	// The peak and the baseline are moments of what is live. above: there is room for a word over the band.
	function drawDots(g, list, above) {
		const {live: band} = picture;

		for (const {kind, t, live, name} of list) {
			if (!band || (kind !== "peak" && kind !== "baseline"))
				continue;
			const x = xOf(t), top = band.y(live === null ? points[nearest(t)].live : live), left = x < LEFT + 60;

			g.append(svg("line", {class: "mark-line", x1: x, x2: x, y1: top, y2: band.bottom}), svg("circle", {class: "mark-dot", cx: x, cy: top, r: 3}),
				text({class: "tick haloed", x: x + (left ? 6 : -6), y: Math.max(top - 6, above && !left ? band.top - 5 : band.top + 8), "text-anchor": left ? "start" : "end"}, name));
		}
	}

	function drawTimes(g, height) {
		for (const t of bands.timeTicks(picture.end))
			if (xOf(t) < picture.width - RIGHT - 8 || !t)
				g.append(text({class: "tick", x: xOf(t), y: height - 4, "text-anchor": t ? "middle" : "start"}, duration(t)));
	}

	function draw() {
		const box = byId("timeline");

		if (points.length < 2) {
			picture = null;
			box.replaceChildren(el("p", {class: "quiet empty"}, "Too short a trace for a line."));
			return;
		}
		picture = {width: Math.max(280, box.clientWidth), end: Math.max(DATA.duration_ns, points[points.length - 1].t)};
		named = events();
		const {lane, rows} = layLane(named), one = shownProcesses().length === 1 ? shownProcesses()[0] : null;
		const all = bands.list(points, one ? counter(one.totals, "peak_bytes") : 0);

		bands.place(all, 0, rows ? rows * 15 + 2 : 0);
		const {top} = all[0], {bottom} = all[all.length - 1], height = bottom + AXIS;
		const g = svg("svg", {width: picture.width, height, viewBox: `0 0 ${picture.width} ${height}`, tabindex: 0, role: "application",
			"aria-roledescription": "timeline", "aria-label": describe()});

		Object.assign(picture, {bands: all, live: all.find(({name}) => name === "live"), top, height, bottom});
		all.forEach((band) => bands.axis(g, band, picture.width));
		drawTimes(g, height);
		drawLane(g, lane);
		all.forEach((band) => bands.draw(g, band, points, xOf));
		picture.site = g.appendChild(svg("path", {class: "line-site"}));
		drawDots(g, named, !rows);
		// what is not chosen is behind a veil
		const veil = () => g.appendChild(svg("rect", {class: "veil", y: top, height: bottom - top, visibility: "hidden"}));
		const edge = () => g.appendChild(svg("line", {class: "edge", y1: top, y2: bottom, visibility: "hidden"}));

		Object.assign(picture, {veils: [veil(), veil()], edges: [edge(), edge()]});
		// but not what a band is called
		all.forEach((band) => bands.title(g, band));
		picture.hair = g.appendChild(svg("line", {class: "hair", y1: top, y2: bottom, visibility: "hidden"}));
		picture.dots = all.map(({name}) => g.appendChild(svg("circle", {class: "hair-dot " + name, r: 3.5, visibility: "hidden"})));
		listen(g);
		box.replaceChildren(g);
		mark();
	}

	function describe() {
		const a = points[0], b = points[points.length - 1];

		return `Timeline of ${duration(b.t)}: ` + (KNOWN.has("live_bytes") ? `live from ${bytes(a.live)} to ${bytes(b.live)}, ` : "") +
			`RSS from ${bytes(a.rss)} to ${bytes(b.rss)}` + (named.length ? `, ${plural(named.length, "named moment")}` : "") +
			". Arrows walk, shift and arrows select.";
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

	const place = (line, x) => ["x1", "x2"].forEach((side) => line.setAttribute(side, x));

	// Where the cursor meets the lines.
	function markPoint() {
		const p = cursor >= 0 ? points[nearest(cursor)] : null;

		picture.bands.forEach((band, i) => {
			const seen = p && (band.name !== "rss" || p.rss);

			picture.dots[i].setAttribute("visibility", seen ? "visible" : "hidden");
			picture.dots[i].setAttribute("cx", seen ? xOf(p.t) : 0);
			picture.dots[i].setAttribute("cy", seen ? band.y(band.of(p)) : 0);
		});
	}

	function mark() {
		const {stretch} = between;

		if (!picture)
			return;
		picture.hair.setAttribute("visibility", cursor >= 0 ? "visible" : "hidden");
		place(picture.hair, xOf(Math.max(cursor, 0)));
		markPoint();
		for (const part of [...picture.veils, ...picture.edges])
			part.setAttribute("visibility", stretch ? "visible" : "hidden");
		if (stretch) {
			const from = xOf(stretch.from), to = xOf(stretch.to);

			place(picture.edges[0], from);
			place(picture.edges[1], to);
			[[LEFT, from], [to, picture.width - RIGHT]].forEach(([x, end], i) => {
				picture.veils[i].setAttribute("x", x);
				picture.veils[i].setAttribute("width", Math.max(0, end - x));
			});
		}
		let d = "";

		for (let i = 0; lit && picture.live && i < lit.history.length; i += 2)
			d += `${i ? "L" : "M"}${xOf(lit.history[i]).toFixed(1)},${picture.live.y(lit.history[i + 1]).toFixed(1)}`;
		picture.site.setAttribute("d", d);
	}

	function pointWords(p) {
		return `${duration(p.t)}: ` + (KNOWN.has("live_bytes") ? `live ${MARK}${bytes(p.live)} in ${plural(p.blocks, "block")}, ` : "") +
			`RSS ${bytes(p.rss)}, ${count(Math.round(p.rate))} allocations a second`;
	}

	function cursorWords() {
		const here = named.filter((e) => Math.abs(xOf(e.t) - xOf(cursor)) <= NEAR).map((e) => e.full || e.name);

		return pointWords({...points[nearest(cursor)], t: cursor}) + (here.length ? `; ${here.slice(0, 4).join(", ")}${here.length > 4 ? ` and ${here.length - 4} more` : ""}` : "");
	}

	function changeWords(a, b) {
		const ns = b.t - a.t;

		return `${duration(a.t)} to ${duration(b.t)}: ` + (KNOWN.has("live_bytes") ?
			`live ${signed(b.live - a.live, bytes)} (${signed((b.live - a.live) * NS_PER_S / (ns || 1), bytes)}/s), ` +
			`blocks ${signed(b.blocks - a.blocks, exact)}, ` : "") +
			`RSS ${signed(b.rss - a.rss, bytes)}, ${plural(b.calls - a.calls, "allocation")} (${rate(b.calls - a.calls, ns)})`;
	}

	function tell() {
		const {stretch} = between;

		if (stretch) {
			const words = changeWords({...points[nearest(stretch.from)], t: stretch.from}, {...points[nearest(stretch.to)], t: stretch.to});

			byId("timeline-said").replaceChildren(el("b", null, words));
			return words;
		}
		const words = cursor >= 0 ? cursorWords() : "";

		byId("timeline-said").replaceChildren(words || el("span", {class: "quiet"}, points.length > 1 ?
			"Drag over a stretch of time, or name two moments: the page then shows what changed between them." : ""));
		return words;
	}

	// ---- choosing

	// The last point is the end: what is there then is known to the byte.
	const momentOf = (i) => i === points.length - 1 ? picture.end : points[i].t;

	// A moment with a name, if it is near; else a point.
	function snap(x) {
		const close = named.reduce((best, e) => Math.abs(xOf(e.t) - x) < Math.abs(best - x) ? xOf(e.t) : best, Infinity);
		const event = Math.abs(close - x) <= NEAR && named.find((e) => xOf(e.t) === close);

		return event ? event.t : momentOf(nearest(tOf(x)));
	}

	// The edge of what is chosen that is under the mouse: 0, 1, or -1.
	function edgeAt(x) {
		const {stretch} = between;

		return stretch ? [stretch.from, stretch.to].findIndex((t) => Math.abs(xOf(t) - x) <= NEAR) : -1;
	}

	function listen(g) {
		const at = (event) => event.clientX - g.getBoundingClientRect().left;
		let dragging = false;

		g.addEventListener("pointerdown", (event) => {
			if (event.button)
				return;
			const edge = edgeAt(at(event)), {stretch} = between;

			dragging = true;
			g.setPointerCapture(event.pointerId);
			cursor = snap(at(event));
			anchor = edge < 0 ? cursor : edge ? stretch.from : stretch.to;
			between.choose(anchor, cursor, true);
		});
		g.addEventListener("pointermove", (event) => {
			cursor = snap(at(event));
			g.style.cursor = dragging || edgeAt(at(event)) >= 0 ? "ew-resize" : "";
			if (dragging)
				between.choose(anchor, cursor, true);
			mark();
			if (!between.stretch)
				tell();
		});
		// where it ends may not have been told before
		const end = (moment) => {
			if (dragging)
				between.choose(anchor, moment, false);
			dragging = false;
		};

		g.addEventListener("pointerup", (event) => end(snap(at(event))));
		g.addEventListener("pointercancel", () => end(cursor));
		g.addEventListener("pointerleave", () => {
			if (dragging)
				return;
			cursor = -1;
			mark();
			tell();
		});
		g.addEventListener("keydown", keydown);
	}

	function keydown(event) {
		const step = {ArrowLeft: -1, ArrowRight: 1, Home: -points.length, End: points.length,
			PageUp: -Math.ceil(points.length / 10), PageDown: Math.ceil(points.length / 10)}[event.key];

		if (!step)
			return;
		const from = Math.max(cursor, 0);

		cursor = momentOf(Math.max(0, Math.min(points.length - 1, cursor < 0 && !event.shiftKey ? 0 : nearest(from) + step)));
		if (!event.shiftKey) {
			anchor = -1;
			between.clear();
		} else {
			anchor = between.stretch && anchor >= 0 ? anchor : from;
			between.choose(anchor, cursor, false);
		}
		mark();
		announce(tell() + (between.found && between.found.rows.length ? `. ${between.title()}: ${siteTitle(between.found.rows[0].site)}, ` +
			signed(between.found.rows[0].change, bytes) : ""));
		event.preventDefault();
	}

	// ---- by hand

	// The stretch of a tenth of the trace in which live bytes rose most; null: they never did.
	function largestRise() {
		const most = picture.end / 10, lows = [];	// points that none after them is lower than, within the stretch
		let first = 0, best = null, rise = 0;

		points.forEach((p, to) => {
			// the point before is always near enough
			while (first < lows.length - 1 && p.t - points[lows[first]].t > most)
				first++;
			if (first < lows.length && p.live - points[lows[first]].live > rise) {
				rise = p.live - points[lows[first]].live;
				best = [momentOf(lows[first]), momentOf(to)];
			}
			while (lows.length > first && points[lows[lows.length - 1]].live >= p.live)
				lows.pop();
			lows.push(to);
		});
		return best;
	}

	function controls() {
		const fields = ["between-from", "between-to"].map(byId), rise = byId("between-rise");

		for (const field of fields)
			field.addEventListener("change", () => {
				const ends = fields.map((f) => f.value.trim() ? readMoment(f.value) : null);

				fields.forEach((f, i) => f.setAttribute("aria-invalid", String(!!f.value.trim() && ends[i] === null)));
				if (fields.every((f) => !f.value.trim()))
					between.clear();
				else if (ends[0] !== null && ends[1] !== null && ends[0] !== ends[1]) {
					between.choose(ends[0], ends[1], false);
					announce(tell());
				}
			});
		rise.addEventListener("click", () => {
			const ends = largestRise();

			if (ends)
				between.choose(ends[0], ends[1], false);
			announce(ends ? tell() : "live bytes never rose");
		});
		byId("between-clear").addEventListener("click", between.clear);
	}

	function drawControls() {
		const {stretch} = between, ends = stretch ? [stretch.from, stretch.to] : [null, null];

		["between-from", "between-to"].map(byId).forEach((field, i) => {
			field.value = ends[i] === null ? "" : writeMoment(ends[i]);
			field.setAttribute("aria-invalid", "false");
		});
		byId("between-clear").disabled = !stretch;
	}

	function show() {
		points = timelinePoints(shownProcesses());
		cursor = -1;
		draw();
		tell();
		byId("between-tools").hidden = points.length < 2;
		byId("between-rise").hidden = !between.possible;
		byId("moments").replaceChildren(...["start", ...named.filter((e) => e.kind !== "trigger" && e.kind !== "death").slice(0, 100)
			.map((e) => e.name), "end"].map((value) => el("option", {value})));
	}

	return {
		show, draw, listen: controls,
		// between.js has another stretch, or none
		chosen() {
			mark();
			tell();
			drawControls();
		},
		// the history of a site, over the others; null: no longer
		light(site) {
			lit = site && site.history ? site : null;
			mark();
		},
	};
})();
