// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns the data: read once, put into flat arrays, and never changed. A *place* is a return address; its *frames* are the
// function there and those inlined into it; a *function* is a name in a module, and what flame graphs and searches know.

const DATA = JSON.parse(byId("data").textContent);
const COUNTER = Object.fromEntries(DATA.counters.map((name, i) => [name, i]));
const KNOWN = new Set(DATA.known);
const MARK = DATA.estimated ? "~" : "";

const basename = (path) => path.slice(path.lastIndexOf("/") + 1) || path;

// ---- functions and frames

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

const placeFirst = new Int32Array(DATA.places.length + 1);	// of its frames, innermost first
const N_FRAMES = DATA.places.reduce((n, p) => n + (p.length - 2) / 4, 0);
const frameFn = new Int32Array(N_FRAMES), frameFile = new Int32Array(N_FRAMES), frameLine = new Int32Array(N_FRAMES);
const frameInlined = new Uint8Array(N_FRAMES), framePlace = new Int32Array(N_FRAMES);

(() => {
	let n = 0;

	DATA.places.forEach((place, i) => {
		const [module, offset] = place;

		for (let k = 2; k < place.length; k += 4, n++) {
			const unnamed = module < 0 ? "0x" + offset : basename(DATA.modules[module]) + "+0x" + offset;

			frameFn[n] = place[k] < 0 || !DATA.strings[place[k]] ? fnOf(i + ".", unnamed, module) :
				fnOf(place[k] * (DATA.modules.length + 1) + module, DATA.strings[place[k]], module);
			frameFile[n] = place[k + 1];
			frameLine[n] = place[k + 2];
			frameInlined[n] = place[k + 3];
			framePlace[n] = i;
		}
		placeFirst[i + 1] = n;
	});
})();

// The last two parts of a path say enough: "src/tracking.c".
function shortPath(path) {
	return path.split("/").filter((part) => part && part !== ".").slice(-2).join("/");
}

function sourceOf(frame) {
	if (frameFile[frame] < 0)
		return "";
	return DATA.strings[frameFile[frame]] + (frameLine[frame] ? ":" + frameLine[frame] : "");
}

function moduleOf(frame) {
	const place = DATA.places[framePlace[frame]];

	return (place[0] < 0 ? "" : DATA.modules[place[0]] + "+") + "0x" + place[1];
}

// Where a frame is, in a few characters: source, or module and offset; nothing if that is its name already.
function whereShort(frame) {
	const source = sourceOf(frame), at = basename(moduleOf(frame));

	return source ? shortPath(source) : at === fnName[frameFn[frame]] ? "" : at;
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

// ---- sites

const LONGEST_MAX = 65535;	// so often, or more
const MOVES = ["calls", "moved", "movedBytes", "grown", "grownBytes", "shrunk", "doubled", "longest"];

const SITES = (() => {
	const at = Object.fromEntries(DATA.site_columns.map((name, i) => [name, i]));
	const text = (n) => n < 0 ? "" : DATA.strings[n];
	let last = [];

	return DATA.sites.map((row, index) => {
		const stack = row[at.stack];
		const places = last.slice(0, stack[0]);

		for (let i = 1; i < stack.length; i++)
			places.push(stack[i]);
		last = places;
		return {
			index, process: row[at.process], via: text(row[at.function]), tid: row[at.tid], end: row[at.end],
			c: row[at.counters], error: row[at.error] || null, atPeak: row[at.at_peak_bytes],
			minSize: row[at.min_size], maxSize: row[at.max_size], first: row[at.first_ns], last: row[at.last_ns],
			oldest: row[at.oldest_ns], lifetimeSum: row[at.lifetime_sum_ns],
			olderBlocks: row[at.older_blocks], olderBytes: row[at.older_bytes], crossFrees: row[at.cross_frees],
			verdict: text(row[at.verdict]), why: text(row[at.why]), growth: row[at.growth_bytes_per_s],
			thread: text(row[at.thread]), sinceBaseline: row[at.since_baseline_bytes],
			tag: row[at.tag],	// 1, 2, ... of TAGS; 0: none
			moves: row[at.moves] ? Object.fromEntries(MOVES.map((name, i) => [name, row[at.moves][i]])) : null,
			ages: row[at.ages] || null,	// [from_ns, below_ns, blocks, bytes, ...]
			history: row[at.history] || null,
			telling: row[at.telling],	// which of its frames names it
			places,		// from the root
			shared: stack[0],	// with the site before
		};
	});
})();
DATA.sites = null;	// as large as all the rest, and not needed twice

const counter = (c, name) => c[COUNTER[name]];
const liveBytes = (s) => DATA.older_ns ? s.olderBytes : counter(s.c, "live_bytes");
const liveBlocks = (s) => DATA.older_ns ? s.olderBlocks : counter(s.c, "live_blocks");

// What a site weighs, by the name of a metric.
const WEIGHT = {
	"live-bytes": (s) => counter(s.c, "live_bytes"),
	"live-blocks": (s) => counter(s.c, "live_blocks"),
	"alloc-bytes": (s) => counter(s.c, "alloc_bytes"),
	"alloc-calls": (s) => counter(s.c, "alloc_calls"),
	"peak-bytes": (s) => s.atPeak,
	"temp-calls": (s) => counter(s.c, "temp_calls"),
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
	"alloc-calls": "allocation calls", "peak-bytes": "bytes at the peak", "temp-calls": "temporary allocations",
	"grown-bytes": "growth since the baseline", "shrunk-bytes": "shrinkage since the baseline",
	"changed-bytes": "change since the baseline", "between": "change",
};

// A width is never negative: what grew and what shrank are two pictures, or one in two colours.
const BASELINE = DATA.baseline_ns === undefined ? null : DATA.baseline_name || `the baseline at ${duration(DATA.baseline_ns)}`;
if (BASELINE && KNOWN.has("live_bytes")) {
	DATA.metrics.push(["grown-bytes", "bytes"]);
	if (SITES.some((s) => s.sinceBaseline < 0))
		DATA.metrics.push(["shrunk-bytes", "bytes"]);
	DATA.metrics.push(["changed-bytes", "bytes"]);
	// a comparison is about nothing else
	if (DATA.baseline_name && DATA.metric === "live-bytes")
		DATA.metric = "changed-bytes";
}

// The frames of a site, the caller of the allocation function first.
function framesOf(site) {
	const frames = [];

	for (let i = site.places.length; i--;)
		for (let f = placeFirst[site.places[i]]; f < placeFirst[site.places[i] + 1]; f++)
			frames.push(f);
	return frames;
}

// The frame that a row is named by. -1: no stack.
function titleFrame(site) {
	return site.places.length ? framesOf(site)[site.telling] : -1;
}

// The names on the way from that frame to the allocation function, and of its callers.
function titleWays(site, n) {
	const frames = framesOf(site), at = frames.indexOf(titleFrame(site)), names = (list) => list.map((f) => shortName(fnName[frameFn[f]]));

	return {through: names(frames.slice(0, Math.max(at, 0))).reverse(), callers: names(frames.slice(at + 1, at + 1 + n))};
}

function siteTitle(site) {
	const frame = titleFrame(site);

	return frame < 0 ? "[no stack]" : shortName(fnName[frameFn[frame]]);
}

// ---- what was asked for beside

const TAGS = (DATA.tags || []).map(([name, thread, entered]) => ({name: DATA.strings[name], thread: !!thread, entered}));

// Where blocks were freed: as a site has, a stack, and figures.
const FREE_SITES = (DATA.free_sites || []).map(([process, via, calls, size, end, places, telling], index) =>
	({index, process, via: DATA.strings[via], calls, size, end, places, telling}));
const FREES = (DATA.frees || []).map(([site, where, tid, thread, calls, size, cross, lifetimeSum]) =>
	({site: SITES[site], where: FREE_SITES[where], tid, thread: thread < 0 ? "" : DATA.strings[thread], calls, size, cross, lifetimeSum}));
const freesBySite = new Map();

for (const f of FREES)
	freesBySite.set(f.site, [...(freesBySite.get(f.site) || []), f]);

function freesOf(site) {
	return (freesBySite.get(site) || []).sort((a, b) => b.calls - a.calls);
}

// ---- processes

const PROCESSES = DATA.processes;

function processName(p) {
	// what was folded together has no name but what it is: "(399 others that ended)"
	return p.n_members && !p.comm.startsWith("(") ? `${p.comm} (${plural(p.n_members, "process", "processes")})` : p.pid ? `${p.comm} (${p.pid})` : p.comm;
}

// What the page shows: one process, or -1 for all.
const shown = {process: -1};
const isShown = (process) => shown.process < 0 || process === shown.process;
const shownProcesses = () => PROCESSES.filter((p, i) => isShown(i));
const shownTotals = () => shown.process < 0 ? DATA.totals : PROCESSES[shown.process].totals;
const shownErrors = () => (shown.process < 0 ? DATA.error : PROCESSES[shown.process].error) || null;

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

// By place: does a name, a source file or the module match?
function matchPlaces(matches) {
	const byFn = matchFunctions(matches), byString = new Map(), byModule = DATA.modules.map(matches);
	const found = new Uint8Array(DATA.places.length);

	for (let f = 0; f < N_FRAMES; f++) {
		const file = frameFile[f], module = DATA.places[framePlace[f]][0];
		let hit = byFn[frameFn[f]] || (module >= 0 && byModule[module]);

		if (!hit && file >= 0) {
			hit = byString.get(file);
			if (hit === undefined)
				byString.set(file, hit = matches(DATA.strings[file]));
			// "file.c:12" as it stands in the table
			hit = hit || matches(shortPath(sourceOf(f)));
		}
		if (hit)
			found[framePlace[f]] = 1;
	}
	return found;
}
