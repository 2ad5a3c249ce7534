// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns the bands of the timeline: live bytes, RSS and allocations a second, one below the other, over one axis of time and each with a
// scale of its own. On one scale, what leaks in an hour would be no wider than a line beside the RSS of a process that has run for months.
// What always holds: a scale that does not begin at 0 says so in its title, at its lowest label, and with a break in its axis.

const bands = (() => {
	const LEFT = 76, RIGHT = 12, TITLE = 18, GAP = 12;
	const FLAT = 1 << 20;	// RSS that moves by less is flat: a page more or less is no mountain

	// ---- scales: round numbers, four or so

	function ticks(max, n, base) {
		const raw = max / n || 1;
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
