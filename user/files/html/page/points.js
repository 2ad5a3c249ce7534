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
