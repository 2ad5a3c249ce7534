// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns the timeline: its bands (bands.js) over one axis of time. A stretch of it can be selected, with the mouse,
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
