// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns the moments of a trace that have a name, and how a moment is read and written. A moment is nanoseconds since the
// trace's start; the start and the end have names in every trace.

const SIGNALS = ["", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM", "STKFLT", "CHLD",
	"CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS"];

const markName = (m) => `${m.name} #${m.number}`;

// "SIGSEGV", "SIGKILL: out of memory"; nothing of a process that ended by itself, or goes on.
function deathOf(p) {
	const signal = p.exit_signal ? "SIG" + (SIGNALS[p.exit_signal] || p.exit_signal) : "";

	return p.oom_killed ? (signal || "killed") + ": out of memory" : signal;
}

// What a timeline shows, in order of time: [{t, name, kind, live, full}]; live: on the line there, else null;
// full: more words for who points at it.
function events() {
	const list = [], shownNow = shownProcesses(), one = shownNow.length === 1 ? shownNow[0] : null;

	if (one && KNOWN.has("peak_bytes") && one.peak_at_ns)
		list.push({t: one.peak_at_ns, name: "peak", kind: "peak", live: counter(one.totals, "peak_bytes")});
	if (BASELINE && !DATA.baseline_name && KNOWN.has("live_bytes"))
		list.push({t: DATA.baseline_ns, name: "baseline", kind: "baseline", live: null});
	for (const m of MARKS)
		if (isShown(m.process))
			list.push({t: m.t, name: markName(m), kind: "mark", live: null});
	for (const p of shownNow)
		if (deathOf(p))
			list.push({t: p.timeline.length ? p.timeline[p.timeline.length - 5] : DATA.duration_ns,
				name: deathOf(p) + (one ? "" : ` ${processName(p)}`), kind: "death", live: null});
	// a mark that made a snapshot be taken is there already
	for (const {t, number, why} of DATA.taken)
		if (!why || !/^mark /.test(why))
			list.push({t, name: why ? why.split(": ")[0] : number ? `snapshot ${number}` : "snapshot", kind: "taken", live: null,
				full: why ? `${why}${number ? `: snapshot ${number}` : ""}` : null});
	if (DATA.trigger && !/^mark /.test(DATA.trigger))
		list.push({t: DATA.duration_ns, name: DATA.trigger, kind: "trigger", live: null});
	return list.sort((a, b) => a.t - b.t);
}

// ---- reading and writing

const UNITS = {ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9, m: 60e9, h: 3600e9, d: 86400e9};

// "12.5s", "1m05s", seconds without a unit, "start", "end", "peak", "baseline", "mark:3", "NAME#3". null: none of them.
function readMoment(text) {
	const plain = text.trim(), small = plain.toLowerCase(), mark = /^mark:(\d+)$/.exec(small);

	if (small === "start" || small === "end")
		return small === "start" ? 0 : DATA.duration_ns;
	// which is meant is clear only where there are marks of one name
	if (mark) {
		const found = MARKS.every((m) => m.name === MARKS[0].name) && MARKS.find((m) => m.number === Number(mark[1]));

		return found ? found.t : null;
	}
	if (/^[\d.]+$/.test(small))
		return Number.isNaN(Number(small)) ? null : Math.min(Number(small) * NS_PER_S, DATA.duration_ns);
	if (/^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h|d))+$/.test(small)) {
		const parts = small.match(/[\d.]+[a-zµ]+/g).map((part) => parseFloat(part) * UNITS[part.replace(/[\d.]+/, "")]);

		return Math.min(parts.reduce((a, b) => a + b), DATA.duration_ns);
	}
	const squeezed = plain.replace(/\s+#/, "#");
	const named = events().find((e) => e.name.replace(" #", "#") === squeezed || (e.kind === small && e.kind !== "mark"));

	return named ? named.t : null;
}

// As readMoment() takes it; a thousandth of a second is enough to find the same points again.
function writeMoment(t) {
	return t >= DATA.duration_ns ? "end" : t <= 0 ? "0s" : Number((t / NS_PER_S).toFixed(3)) + "s";
}
