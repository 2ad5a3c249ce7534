// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns the data: the JSON profile (docs/REFERENCE.md) and the words that html.c puts beside it, read once and never changed.
// What always holds: no other script knows how the profile is made up; figures of processes and counters keep the names that they have there,
// and what is null is not known. A *frame* is a function at a return address, or one inlined there; a *function* is a name in a
// module, and what flame graphs and searches know.

// What a profile has not that is no trace: `malloctrace heap` looks at processes, and writes what it finds.
const NO_TRACE = {
	alone: true, mode: null, estimated: false, sample_bytes: 0, observed_share: 1, min_size: 0, max_size: null, baseline_ns: null, duration_ns: 0, by: "process", ended: true,
	sites: [], frames: [], modules: [], marks: [], probes: [], snapshots: [], totals: {}, losses: {total: 0}, edges: {}, stacks: {}, folded: {processes: 0, sites: 0}, overhead: {},
};
const NO_TRACE_OF = {totals: {}, threads: [], timeline: [], sizes: [], lifetimes: []};

// What cannot be read is said: else this page would be an empty one.
const PROFILE = (() => {
	try {
		const read = JSON.parse(byId("data").textContent);

		return read.sites ? read : {...NO_TRACE, ...read, processes: read.processes.map((p) => ({...NO_TRACE_OF, ...p}))};
	} catch (e) {
		byId("main").prepend(el("p", {class: "losses"}, `The profile in this file cannot be read: it was changed, or is not whole (${e.message}).`));
		throw e;
	}
})();
const WORDS = JSON.parse(byId("words").textContent);

// What has come to pass: [[name, sentence, how often]]
const happened = (counters) => Object.entries(counters).filter(([name, n]) => n && name !== "total").map(([name, n]) => [name, WORDS.says[name], n]);

// What holds for the whole.
const DATA = (() => {
	const {tool, host, overhead, folded, losses, edges, stacks, modules, snapshots, hidden, totals} = PROFILE;
	const names = ["mode", "size", "sample_bytes", "estimated", "observed_share", "by", "mmap", "min_size", "max_size", "within", "baseline_ns",
		"duration_ns", "paused_ns", "ended", "trigger", "started_on", "stopped_on", "waiting_for", "marks_seen", "marks_whole", "probes"];

	return {
		...Object.fromEntries(names.map((name) => [name, PROFILE[name]])), ...overhead, totals,
		version: tool.version, host: host.name, kernel: host.kernel, arch: host.arch,
		alone: !!PROFILE.alone, wall_start_ms: Date.parse(PROFILE.wall_start || PROFILE.wall_now), wall_now_ms: Date.parse(PROFILE.wall_now),
		// as json_read.c takes them
		growth: PROFILE.mode === "growth", partial_sizes: PROFILE.min_size > 0 || PROFILE.max_size !== null,
		// what this page was asked to show, not what was recorded
		older_ns: WORDS.older_ns,
		baseline_name: WORDS.baseline_name, metric: WORDS.metric, metrics: WORDS.metrics,
		losses_total: losses.total, losses: happened(losses), edges: happened(edges),
		ends: Object.entries(WORDS.ends).map(([name, says]) => [says, stacks[name]]),	// how stacks end: [words, distinct stacks], whole ones first
		n_folded_processes: folded.processes, n_folded_sites: folded.sites,
		hidden: hidden ? hidden.by : null, n_hidden_sites: hidden ? hidden.sites : 0,
		modules: modules.map((m) => m.path),
		taken: (snapshots || []).map(({t_ns: t, number, trigger: why}) => ({t, number, why})),	// before this one
		with_marks: PROFILE.marks_seen > 0 || PROFILE.marks.length > 0, with_free_stacks: !!PROFILE.free_sites,
	};
})();

const KNOWN = new Set(Object.keys(DATA.totals).filter((name) => DATA.totals[name] !== null));
const FREES_SEEN = KNOWN.has("free_calls") && PROFILE.mode !== "leak";	// each when it happened: lifetimes are known
const MARK = DATA.estimated ? "~" : "";

const basename = (path) => path.slice(path.lastIndexOf("/") + 1) || path;
const counter = (c, name) => c[name] || 0;

// Rows as one array: the values of these keys, row after row.
function flat(rows, ...keys) {
	const out = [];

	for (const row of rows)
		for (const key of keys)
			out.push(row[key]);
	return out;
}

// ---- processes

const PROCESSES = PROFILE.processes.map((p) => ({
	...p, n_members: p.members, n_ended: p.ended_members, wall_started_ms: p.started ? Date.parse(p.started) : 0,
	fault_bytes: p.growth ? p.growth.page_fault_bytes : 0,
	memory: p.memory && Object.fromEntries(Object.entries(p.memory).map(([key, n]) => [key.replace(/_bytes$/, ""), n])),
	blind: p.blind && !p.blind.idle ? p.blind : null,
	timeline: flat(p.timeline, "t_ns", "live_bytes", "live_blocks", "alloc_calls", "rss_bytes"),
	sizes: flat(p.sizes, "below", "alloc_calls", "live_blocks"),
	lifetimes: flat(p.lifetimes || [], "below_ns", "blocks"),
}));

const processById = new Map(PROCESSES.map((p, i) => [p.id, i]));

function processName(p) {
	// what was folded together has no name but what it is: "(399 others that ended)"
	return p.n_members && !p.comm.startsWith("(") ? `${p.comm} (${plural(p.n_members, "process", "processes")})` : p.pid ? `${p.comm} (${p.pid})` : p.comm;
}

// What the page shows: one process, or -1 for all.
const shown = {process: -1};
const isShown = (process) => shown.process < 0 || process === shown.process;
const shownProcesses = () => PROCESSES.filter((p, i) => isShown(i));
const shownTotals = () => shown.process < 0 ? DATA.totals : PROCESSES[shown.process].totals;
const shownErrors = () => shownTotals().standard_error || null;

// ---- functions and frames

const FRAMES = PROFILE.frames;
const PYTHON = "[python]";	// the module of all that is Python's
const fnName = [], fnModule = [], fnIndex = new Map();

function fnOf(key, name, module) {
	let fn = fnIndex.get(key);

	if (fn === undefined) {
		fn = fnName.push(name) - 1;
		fnModule.push(module);
		fnIndex.set(key, fn);
	}
	return fn;
}

const frameFn = (() => {
	// a frame has the build id of its module where the path is not enough
	const byPath = new Map(), key = (path, build) => build === undefined ? path : `${path}\n${build}`;

	PROFILE.modules.forEach(({path, build_id: build}, i) => [key(path), key(path, build)].forEach((k) => byPath.has(k) || byPath.set(k, i)));
	return Int32Array.from(FRAMES, ({function: name, module: path, build_id: build, offset, file}, f) => {
		const module = path === null ? -1 : byPath.get(key(path, build)) ?? -1;
		// of scripts each file has its "main" and its "<module>"
		const script = path === PYTHON ? file : "";

		return name ? fnOf(`${module} ${script} ${name}`, name, module) : fnOf("f" + f, path === null ? offset : basename(path) + "+" + offset, module);
	});
})();

// By frame: does it say how memory was got, rather than who wanted it?
const IN_LIBRARY = new Uint8Array(FRAMES.length);

for (const f of WORDS.library)
	IN_LIBRARY[f] = 1;

// The last two parts of a path say enough: "src/tracking.c".
function shortPath(path) {
	return path.split("/").filter((part) => part && part !== ".").slice(-2).join("/");
}

function sourceOf(frame) {
	const {file, line} = FRAMES[frame];

	return file ? file + (line ? ":" + line : "") : "";
}

function moduleOf(frame) {
	const {module, offset} = FRAMES[frame];

	return (module === null ? "" : module + "+") + offset;
}

const isInlined = (frame) => FRAMES[frame].inlined;

// Beside a site's name: its source; without one, the library that a named function is in. The program itself goes without saying.
function whereShort(site) {
	const frame = titleFrame(site), source = frame < 0 ? "" : sourceOf(frame), {function: name, module} = frame < 0 ? {} : FRAMES[frame];

	if (source || !name || !module || module === PROCESSES[site.process].exe || !basename(module).includes(".so"))
		return shortPath(source);
	return basename(module);
}

// A C++ name without its parameters, which say little and are long: "run(int) const" is "run".
function shortName(name) {
	const m = /\)( const| volatile| &| &&| noexcept| \[clone [^\]]*\])*$/.exec(name);
	let depth = 0;

	for (let i = m ? m.index : -1; i > 0; i--) {
		depth += name[i] === ")" ? 1 : name[i] === "(" ? -1 : 0;
		if (!depth)
			return name.slice(0, i).endsWith("operator") ? name : name.slice(0, i);
	}
	return name;
}

// What follows the last "::" outside of angle brackets and parentheses.
function lastPart(name) {
	let depth = 0;

	for (let i = name.length; i-- > 1;) {
		depth += ">)}".includes(name[i]) ? 1 : "<({".includes(name[i]) ? -1 : 0;
		if (!depth && name[i] === ":" && name[i - 1] === ":")
			return name.slice(i + 1);
	}
	return name;
}

// ---- tags and sites

const TAGS = (PROFILE.tags || []).filter((tag) => tag.name !== null).map(({name, thread, entered}) => ({name, thread, entered}));
const LONGEST_MAX = 65535;	// so often, or more

const SITES = (() => {
	const ends = Object.keys(WORDS.ends), tagKey = (name, thread) => (thread ? "t" : "f") + name;
	const tags = new Map(TAGS.map((tag, i) => [tagKey(tag.name, tag.thread), i + 1]).reverse());	// of two that are alike the first

	return PROFILE.sites.map((row, index) => ({
		index, process: processById.get(row.process), via: row.function || "", tid: row.tid, thread: row.thread || "", end: ends.indexOf(row.end),
		c: row, first: row.first_ns, last: row.last_ns, verdict: row.verdict || "", why: row.why || "", sinceBaseline: row.since_baseline_bytes || 0,
		tag: typeof row.tag === "string" ? tags.get(tagKey(row.tag, row.tag_is_thread)) : 0,	// 1, 2, ... of TAGS; 0: none
		ages: row.ages && row.ages.length ? flat(row.ages.filter((age) => age.blocks), "from_ns", "below_ns", "blocks", "bytes") : null,
		history: row.history && row.history.length ? flat(row.history, "t_ns", "live_bytes") : null,
		name: WORDS.names[index], telling: WORDS.telling[index],	// as everywhere, and which of its frames that is
		stack: row.stack,	// its frames, the caller of the allocation function first
	}));
})();

const liveBytes = (s) => counter(s.c, DATA.older_ns ? "older_bytes" : "live_bytes");
const liveBlocks = (s) => counter(s.c, DATA.older_ns ? "older_blocks" : "live_blocks");

// What a site weighs, by the name of a metric.
const WEIGHT = {
	...Object.fromEntries(WORDS.metrics.map(([name, , field]) => [name, (s) => counter(s.c, field)])),
	"grown-bytes": (s) => Math.max(0, s.sinceBaseline),
	"shrunk-bytes": (s) => Math.max(0, -s.sinceBaseline),
	"changed-bytes": (s) => Math.abs(s.sinceBaseline),
	"between": (s) => Math.abs(between.changeOf(s)),
};

// Of what goes up and down: the change itself. Its size is the width, its direction the colour.
const CHANGE = {
	"changed-bytes": (s) => s.sinceBaseline,
	"between": (s) => between.changeOf(s),
};

const METRIC_WORDS = {
	"live-bytes": "live bytes", "live-blocks": "live blocks", "alloc-bytes": "bytes allocated",
	"unreached-bytes": "bytes that no pointer reaches", "unreached-blocks": "blocks that no pointer reaches",
	"alloc-calls": "allocation calls", "peak-bytes": "bytes at the peak", "temp-calls": "temporary allocations",
	"grown-bytes": `growth since ${DATA.baseline_name || "the baseline"}`, "shrunk-bytes": `shrinkage since ${DATA.baseline_name || "the baseline"}`,
	"changed-bytes": `change since ${DATA.baseline_name || "the baseline"}`, "between": "change",
};

// A width is never negative: what grew and what shrank are two pictures, or one in two colours.
const BASELINE = DATA.baseline_ns === null ? null : DATA.baseline_name || `the baseline at ${duration(DATA.baseline_ns)}`;
if (BASELINE && KNOWN.has("live_bytes")) {
	DATA.metrics.push(["grown-bytes", "bytes"]);
	if (SITES.some((s) => s.sinceBaseline < 0))
		DATA.metrics.push(["shrunk-bytes", "bytes"]);
	DATA.metrics.push(["changed-bytes", "bytes"]);
	// a comparison is about nothing else
	if (DATA.baseline_name && DATA.metric === "live-bytes")
		DATA.metric = "changed-bytes";
}

// The frame that a row is named by. -1: no stack.
function titleFrame(site) {
	return site.stack.length ? site.stack[site.telling] : -1;
}

// The names on the way from that frame to the allocation function, and of its callers.
function titleWays(site, n) {
	const frames = site.stack, at = site.telling, names = (list) => list.map((f) => shortName(fnName[frameFn[f]]));

	return {through: names(frames.slice(0, at)).reverse(), callers: names(frames.slice(at + 1, at + 1 + n))};
}

// Whose it is, where that was kept: rows that differ in nothing else are told apart by it.
const threadWords = (site) => site.tid ? `thread ${site.thread || "?"} (${site.tid})` : "";

const siteTitle = (site) => site.name;

// ---- what was asked for beside

// Calls of marked functions; whole: with what was counted at that instant
const MARKS = PROFILE.marks.map((m, index) => ({...m, index, process: processById.get(m.process), t: m.t_ns}));

// Where blocks were freed: as a site has, a stack, and figures.
const FREE_SITES = (PROFILE.free_sites || []).map((row, index) => ({index, process: processById.get(row.process), via: row.function, calls: row.calls, bytes: row.bytes,
	stack: row.stack, name: WORDS.names_frees[index], telling: WORDS.telling_frees[index]}));
const FREES = (PROFILE.frees || []).map((row) => ({site: SITES[row.site], where: FREE_SITES[row.where], tid: row.tid, thread: row.thread || "", calls: row.calls,
	size: row.bytes, cross: row.cross_calls, lifetimeSum: (row.lifetime_mean_ns || 0) * row.calls}));
const freesBySite = new Map();

for (const f of FREES)
	freesBySite.set(f.site, [...(freesBySite.get(f.site) || []), f]);

function freesOf(site) {
	return (freesBySite.get(site) || []).sort((a, b) => b.calls - a.calls);
}

// ---- heaps: what a look at a process's memory found

// refused: why there is no census; unreached, older: null, if nobody looked for it
const HEAPS = (PROFILE.heap || []).map((h) => ({...h, index: processById.get(h.process), title: h.pid ? `${h.comm} (${h.pid})` : h.comm || ""}));
// of a row of several processes there is none: heaps are not added up
const heapOf = (process) => PROCESSES[process].n_members > 1 ? null : HEAPS.find((h) => h.index === process) || null;

// Of processes that ran before the trace: what is older than it, as far as somebody looked.
function olderWords(processes, heaps = HEAPS.filter((h) => h.older && processes.includes(PROCESSES[h.index]))) {
	const add = (of) => heaps.reduce((n, h) => n + of(h.older), 0), all = processes.reduce((n, p) => n + (p.n_members || 1), 0), mark = add((o) => o.unsure_blocks || 0) ? "~" : "";

	if (!heaps.length)
		return "";
	return `${mark}${bytes(add((o) => o.bytes))} in ${mark}${plural(add((o) => o.blocks), "block")} ${add((o) => o.blocks) === 1 ? "is" : "are"} older` + (heaps.length < all ? `, in the ${exact(heaps.length)} of ${exact(all)} that were looked at` : "");
}

// ---- searching

// Text, whatever its case, or /a regular expression/. null: it is not a valid one.
function matcherOf(text) {
	const m = /^\/(.*)\/([a-z]*)$/.exec(text);

	try {
		if (m) {
			const re = new RegExp(m[1], m[2].replace(/[gy]/g, ""));

			return (s) => re.test(s);
		}
	} catch {
		return null;
	}
	text = text.toLowerCase();
	return (s) => s.toLowerCase().includes(text);
}

// By function: does its name match?
function matchFunctions(matches) {
	return Uint8Array.from(fnName, (name) => matches(name) ? 1 : 0);
}

// By frame: does its name, its source file or its module match?
function matchFrames(matches) {
	const byFn = matchFunctions(matches), byFile = new Map(), byModule = DATA.modules.map(matches);

	return Uint8Array.from(FRAMES, ({file}, f) => {
		if (byFn[frameFn[f]] || byModule[fnModule[frameFn[f]]])
			return 1;
		if (file && !byFile.has(file))
			byFile.set(file, matches(file));
		// "file.c:12" as it stands in the table
		return file && (byFile.get(file) || matches(shortPath(sourceOf(f)))) ? 1 : 0;
	});
}

// ---- moments

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
