// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns what stands on top: whose memory, how much, and under which conditions it was measured. Losses first of all.

function targetName() {
	const p = shownProcesses();

	if (p.length === 1)
		return processName(p[0]) + (deathOf(p[0]) ? ` [ended by ${deathOf(p[0])}]` : p[0].ended ? " [ended]" : "");
	return p.length ? `${exact(p.reduce((n, q) => n + (q.n_members || 1), 0))} processes` : "nothing traced";
}

// Processes that ran and of which no call was seen.
const BLIND = PROCESSES.filter((p) => p.blind);
// Those that grew by what was not seen.
const UNSEEN = PROCESSES.filter((p) => p.memory && p.memory.unexplained);

function unseenWords(m) {
	const grown = m.heap_grown + m.other_grown;

	return ` grew by ${bytes(grown)}, and the calls that were seen explain ${bytes(Math.max(0, grown - m.unexplained))} of it: at least ${bytes(m.unexplained)} of its heap came from unseen calls`;
}

function drawLosses() {
	const box = byId("losses");

	box.hidden = !DATA.losses_total && !BLIND.length && !UNSEEN.length;
	box.replaceChildren(...(DATA.losses_total ? [
		el("h2", null, `${exact(DATA.losses_total)} lost: these figures are not exact`),
		el("ul", null, DATA.losses.map(([name, says, n]) => el("li", null, el("b", null, exact(n)), " " + says))),
	] : []), ...(BLIND.length ? [
		el("h2", null, "No allocation call was seen"),
		el("ul", null, BLIND.map((p) => el("li", null, el("b", null, p.comm), ` probed: ${p.blind.probed}` +
			(p.blind.candidates ? `; possible allocator: ${p.blind.candidates}` : "")))),
	] : []), ...(UNSEEN.length ? [
		el("h2", null, "Memory grew by what was not seen"),
		el("ul", null, UNSEEN.map((p) => el("li", null, el("b", null, processName(p)), unseenWords(p.memory)))),
	] : []));
}

// ---- cards

function card(label, value, below, kind) {
	return el("div", {class: "card" + (kind ? " " + kind : ""), role: "group", "aria-label": label},
		el("div", {class: "card-label"}, label), el("div", {class: "card-value"}, value),
		el("div", {class: "card-below"}, below || "\u00a0"));
}

// null: see WORDS.unmet
function withError(text, error, words) {
	return DATA.estimated && error === null ? `~${text} ±?` : DATA.estimated && error ? `~${text} ±${words(error)}` : MARK + text;
}

// RSS counts neither swap nor pages of hugetlbfs: what goes there is not freed (process__used_bytes()).
const BESIDE_RSS = [["swap", "swap"], ["hugetlb", "huge pages"]];
const usedBytes = (p) => p.rss_bytes + BESIDE_RSS.reduce((n, [key]) => n + (p[key + "_bytes"] || 0), 0);
const usedAtAttach = (p) => p.rss_at_attach_bytes + BESIDE_RSS.reduce((n, [key]) => n + (p[key + "_at_attach_bytes"] || 0), 0);

function rssCard() {
	// of a process that has ended, RSS is history; a single one's is still worth telling
	const all = shownProcesses(), p = all.filter((q) => !q.ended || all.length === 1), sum = (of) => p.reduce((n, q) => n + of(q), 0);
	const now = sum((q) => q.rss_bytes), ended = p.length === 1 && p[0].ended, known = p.filter((q) => q.rss_bytes && q.rss_at_attach_bytes);
	const beside = BESIDE_RSS.map(([key, name]) => [sum((q) => q[key + "_bytes"] || 0), name]).filter(([n]) => n).map(([n, name]) => `${bytes(n)} in ${name}`);

	return card("Resident (RSS)", now ? bytes(now) : "–", !now ? "" : [...beside, ended ? "when last seen" :
		known.length && `${signed(known.reduce((n, q) => n + usedBytes(q) - usedAtAttach(q), 0), bytes)} while traced${usedNames(known)}`].filter(Boolean).join(", "));
}

function peakWords() {
	const p = shownProcesses();

	return p.length === 1 && p[0].peak_at_ns ? `at ${duration(p[0].peak_at_ns)}` :
		p.length > 1 ? "sum of each one's own" : "";
}

function growthCards() {
	const faults = shownProcesses().reduce((n, p) => n + (p.fault_bytes || 0), 0);

	return [card("Became resident", bytes(faults), "by page faults"),
		card("Mapped and resident", bytes(counter(shownTotals(), "alloc_bytes")), "page faults, brk and mmap")];
}

// Of a comparison, what it is about.
function changeWords() {
	const change = shownProcesses().reduce((n, p) => n + p.since_baseline_bytes, 0);

	return DATA.baseline_name ? `${signed(change, bytes)} since ${DATA.baseline_name}, ` : "";
}

// Of a comparison all figures of the whole are changes; of one process of several the earlier ones are not here.
function drawCards() {
	if (DATA.alone) {
		byId("cards").replaceChildren(...heapCards());
		return;
	}
	byId("cards").replaceChildren(...(DIFF && shown.process < 0 ? DIFF.cards() : figureCards()), lossCard());
}

// Of a look alone: what is there, what is lost, what is free, and what could not be read.
function heapCards() {
	const heaps = HEAPS.filter((h) => isShown(h.index)), read = heaps.filter((h) => !h.refused), searched = heaps.filter((h) => h.unreached);
	const sum = (list, of) => list.reduce((n, h) => n + of(h), 0), lost = sum(searched, (h) => h.unreached.blocks), skipped = sum(read, (h) => h.skipped.swapped_bytes + h.skipped.broken_bytes + h.skipped.passed_over_bytes);
	const free = sum(read, (h) => h.free.bytes), inRam = sum(read, (h) => h.free.resident_bytes), used = sum(read, (h) => h.in_use.bytes), wrong = sum(read, (h) => h.unsure_blocks);

	return [read.length ? card("In use", bytes(used), plural(sum(read, (h) => h.in_use.blocks), "block"), "main") : card("In use", "not known", "the heap's layout was not recognised", "bad"),
		searched.length ? card("Probably leaked", lost ? bytes(sum(searched, (h) => h.unreached.bytes)) : "none", (lost ? `no pointer to ${plural(lost, "block")}` : "every block that was searched is reachable") +
			(searched.length < heaps.length ? `; ${exact(searched.length)} of ${exact(heaps.length)} processes searched` : ""), lost ? "bad" : searched.length < heaps.length ? "" : "good") :
			card("Probably leaked", "–", heaps.some((h) => h.search_interrupted) ? "the search was interrupted" : "not searched: --reachable"),
		...(read.length ? [card("Free", bytes(free), `${bytes(inRam)} of it in RAM`), card("malloc_trim would return", bytes(sum(read, (h) => Math.min(h.free.trimmable_bytes, h.free.resident_bytes))), "if the program called it")] : []),
		card("Resident (RSS)", bytes(sum(heaps, (h) => h.rss_bytes)), heaps.length > 1 ? `of ${exact(heaps.length)} processes` : ""),
		...(read.length ? [card("Uncertain", wrong ? plural(wrong, "block") : "none", skipped ? `${bytes(skipped)} not read` : "all memory was read", wrong || skipped ? "" : "good")] : [])];
}

function lossCard() {
	return BLIND.length && !DATA.losses_total ? card("Losses", "not known", "no allocation call was seen", "bad") :
		card("Losses", DATA.losses_total ? exact(DATA.losses_total) : "none", DATA.losses_total ? "figures are not exact" : "nothing went uncounted", DATA.losses_total ? "bad" : "good");
}

function endedLive() {
	const sum = (of) => PROCESSES.reduce((n, p) => n + of(p), 0);

	return {bytes: sum((p) => p.ended ? counter(p.totals, "live_bytes") : p.ended_live_bytes || 0),
		blocks: sum((p) => p.ended ? counter(p.totals, "live_blocks") : p.ended_live_blocks || 0)};
}

function figureCards() {
	const t = shownTotals(), e = shownErrors() || {}, of = (name) => counter(t, name);
	const cards = [];

	if (KNOWN.has("live_bytes")) {
		// what processes held that have ended is said beside it
		const past = shown.process < 0 && WORDS.ended ? endedLive() : {bytes: 0, blocks: 0}, blocks = of("live_blocks") - past.blocks;

		cards.push(card("Live", MARK + bytes(of("live_bytes") - past.bytes), changeWords() +
			`${withError(exact(blocks), e.live_blocks, count)} ${blocks === 1 ? "block" : "blocks"}`, "main"));
	}
	if (KNOWN.has("peak_bytes"))
		cards.push(card("Peak", MARK + bytes(of("peak_bytes")), peakWords()));
	cards.push(rssCard());
	if (DATA.growth)
		cards.push(...growthCards());
	else
		cards.push(card("Allocated", MARK + bytes(of("alloc_bytes")), `${MARK}${count(of("alloc_calls"))} calls, ` +
			rate(of("alloc_calls"), DATA.duration_ns)));
	if (KNOWN.has("free_calls"))
		cards.push(card("Freed", MARK + bytes(of("free_bytes")), `${MARK}${count(of("free_calls"))} calls, ` +
			`${percent(of("free_calls"), of("alloc_calls"))} of them`));
	return cards;
}

// ---- conditions

function attachWords() {
	const p = shownProcesses();

	if (p.length === 1 && p[0].age_at_attach_ns)
		return [`, from ${duration(p[0].age_at_attach_ns)} after its start: ${olderWords(p) || "blocks older than that are unseen"}`];
	if (p.length === 1)
		return [", from its first instruction"];
	const before = p.filter((q) => q.age_at_attach_ns), late = before.length;

	return late ? [`; ${late === p.length ? "all" : `${exact(late)} of ${exact(p.length)}`} processes ran before: ` +
		(olderWords(before) || "their older blocks are unseen")] : [", every process from its first instruction"];
}

function sizeWords() {
	if (!DATA.partial_sizes)
		return "";
	return DATA.max_size === null ? `, only blocks of ${bytes(DATA.min_size)} and more` :
		`, only blocks of ${bytes(DATA.min_size)} to ${bytes(DATA.max_size)}`;
}

function estimateWords() {
	const words = [];

	if (DATA.sample_bytes)
		words.push(`one sample per ${bytes(DATA.sample_bytes)} on average`);
	words.push(...[WORDS.observed, WORDS.watched, WORDS.unmet].filter(Boolean));
	return words.join(", ");
}

function endWords() {
	const all = DATA.ends.reduce((n, [, k]) => n + k, 0);
	const early = DATA.ends.slice(1).filter(([, n]) => n);

	if (!early.length)
		return `all ${exact(all)} are whole`;
	return `${exact(early.reduce((n, [, k]) => n + k, 0))} of ${exact(all)} are truncated: ` +
		early.map(([says, n]) => `${says} (${exact(n)})`).join(", ");
}

function overheadWords() {
	const words = [`${count(DATA.probe_hits)} probe hits`];

	if (DATA.probe_ns_estimate && DATA.target_cpu_ns)
		words.push(`about ${share(DATA.probe_ns_estimate, DATA.target_cpu_ns)} of the targets' ${duration(DATA.target_cpu_ns)} of CPU time`);
	if (DATA.tool_cpu_ns)
		words.push(`malloctrace itself used ${duration(DATA.tool_cpu_ns)}`);
	return words.join(", ");
}

function conditionRows() {
	const t = shownTotals(), rows = [];
	const row = (name, text) => text && rows.push([name, text]);

	row("When", DATA.alone ? wallTime(DATA.wall_now_ms) : `${wallTime(DATA.wall_start_ms)} to ${wallTime(DATA.wall_now_ms)}` + (DATA.ended ? "" : ", tracing went on"));
	for (const p of shownProcesses().length === 1 ? shownProcesses() : []) {
		row("Program", p.exe);
		row("Unit", p.unit);
		row("Container", p.container);
		row("Pod", p.pod);
		row("Control group", p.cgroup);
		row("Started", p.wall_started_ms ? wallTime(p.wall_started_ms) : "");
		row("Unseen at its start", p.unseen_ns ? duration(p.unseen_ns) : "");
		row("Trend", p.verdict ? `${p.verdict}: ${p.why || ""}` : "");
	}
	row("Marks", DATA.with_marks ? `${exact(DATA.marks_seen)}, with figures of ${exact(DATA.marks_whole)}` +
		(DATA.marks_seen > MARKS.length ? `; the newest ${exact(MARKS.length)} are here` : "") + (WORDS.mark_reading ? `; ${WORDS.mark_reading}` : "") : "");
	row("Left out", DATA.hidden ? `${plural(DATA.n_hidden_sites, "site")} by ${DATA.hidden}: these are in the totals alone` : "");
	row("Baseline", !BASELINE ? "" : `changes count from ${DATA.baseline_name || duration(DATA.baseline_ns)}`);
	row("Rows", DATA.by === "process" ? "" : `put together by ${DATA.by}`);
	row("Estimated", estimateWords() && estimateWords() + "; ± is one standard error");
	row("Older frees", KNOWN.has("unknown_frees") && counter(t, "unknown_frees") ?
		`${plural(counter(t, "unknown_frees"), "free")} of blocks older than the trace` : "");
	row("Failed calls", KNOWN.has("failed_calls") && counter(t, "failed_calls") ? exact(counter(t, "failed_calls")) : "");
	row("Stacks", DATA.alone ? "" : endWords());
	row("Cut off by attaching and detaching", DATA.edges.map(([, says, n]) => `${exact(n)} ${says}`).join("; "));
	row("Folded together", DATA.n_folded_processes || DATA.n_folded_sites ?
		`${exact(DATA.n_folded_processes)} ended processes, ${exact(DATA.n_folded_sites)} stacks that held nothing, or of others: kept as sums, (evicted)` : "");
	row("Cost", DATA.alone ? "" : overheadWords());
	for (const p of DATA.probes)
		row("Probed", `${p.object}: ${p.functions.join(", ")}` + (p.size ? ` (${p.size} sizes)` : "") +
			(p.build_id ? `; build id ${p.build_id}` : ""));
	row("Machine", `${DATA.host ? DATA.host + ", " : ""}Linux ${DATA.kernel}, ${DATA.arch}; malloctrace ${DATA.version}`);
	return rows;
}

function exactWords() {
	return DATA.mode === "full" && !DATA.partial_sizes && !DATA.within && !DATA.waiting_for && !DATA.losses_total && !BLIND.length ? "Every allocation and free was counted. " : "";
}

// Nothing was traced: what is there was looked at.
function lookedWords() {
	const p = shownProcesses(), age = p.length === 1 ? p[0].age_at_attach_ns : 0, heaps = HEAPS.filter((h) => isShown(h.index)), paused = heaps.reduce((n, h) => n + h.paused_ns, 0);

	return ["The memory of ", el("b", null, p.length === 1 ? "the process" : plural(p.length, "process", "processes")), ` was read${age ? `, ${duration(age)} after its start` : ""}, in `,
		el("b", null, duration(heaps.reduce((n, h) => n + h.looked_ns, 0))), paused ? `; it was stopped for ${duration(paused)}. ` : ", without stopping it. ",
		"This is a snapshot, not a trace: it shows what is in memory, not which code allocated it. Sizes are usable sizes (malloc_usable_size), a little more than was asked for."];
}

function drawConditions() {
	const estimate = estimateWords();

	if (DATA.alone)
		byId("conditions").replaceChildren(el("p", null, lookedWords()));
	else
		drawTraced(estimate);
	byId("conditions-list").replaceChildren(...conditionRows().flatMap(([name, text]) =>
		[el("dt", null, name), el("dd", {class: "name"}, text)]));
}

function drawTraced(estimate) {
	byId("conditions").replaceChildren(...(DIFF ? DIFF.conditions() : []), el("p", null, ...(DIFF ? [el("span", {class: "name"}, DIFF.after), ": traced "] : ["Traced "]), el("b", null, duration(DATA.duration_ns)), ...attachWords(), ". Mode ", el("b", null, DATA.mode),
		`, ${DATA.size} sizes${DATA.probes.filter((p) => p.size).map((p) => `, ${p.size} sizes of ${basename(p.object)}`).join("")}${sizeWords()}${DATA.mmap ? ", with what it maps itself (--mmap)" : ""}. `,
		...[["Began when ", DATA.started_on, " was called. "], ["Ended when ", DATA.stopped_on, " was called. "], ["Nothing is recorded yet: ", DATA.waiting_for, " was not called. "]]
			.flatMap(([before, name, after]) => name ? [before, el("b", {class: "name mono"}, name), after] : []),
		...(DATA.within ? ["Only what was allocated within ", el("b", {class: "name mono"}, DATA.within), ". "] : []),
		...(DATA.trigger ? ["Taken at ", el("b", {class: "name"}, DATA.trigger), ". "] : []),
		DATA.paused_ns ? el("b", {class: "warn"}, `Nothing was recorded for ${duration(DATA.paused_ns)} of it, while an emulator (valgrind, qemu) ran. `) : "",
		WORDS.runtimes.flatMap(([title, says]) => [el("b", null, title), `: ${says}. `]),
		DATA.hidden ? `${plural(DATA.n_hidden_sites, "site")} left out by ${DATA.hidden}. ` : "",
		WORDS.reading ? `What is live was found out from its heap: ${WORDS.reading}. ` : "",
		estimate ? el("b", {class: "warn"}, `Estimated: ${estimate}. `) : exactWords(),
		DATA.older_ns ? `Live blocks are those older than ${duration(DATA.older_ns)}. ` : "",
		WORDS.unfollowed ? el("b", {class: "warn"}, `${WORDS.unfollowed}. `) : "",
		shown.process < 0 && WORDS.ended ? ["Processes that ended: ", el("b", {class: "name"}, WORDS.ended), ". "] : [],
		WORDS.memory ? ["Memory of the machine: ", el("b", null, WORDS.memory), "."] : []));
}

function drawSummary() {
	const title = !DIFF ? targetName() : DIFF.title() + (shown.process < 0 ? "" : `, ${targetName()}`);

	byId("target").textContent = title;
	byId("target").title = DIFF ? DIFF.hint : "";
	document.title = `${title} – malloctrace`;
	if (DIFF)
		[["timeline-title", "Over time, in "], ["conditions-title", "About this file: "]].forEach(([id, words]) => byId(id).textContent = words + DIFF.after);
	byId("footer").textContent = `malloctrace ${DATA.version}, ${wallTime(DATA.wall_now_ms)}. Self-contained: it loads nothing from the network.`;
	// it is about all processes
	byId("sentence").hidden = !WORDS.sentence || shown.process >= 0;
	byId("sentence").textContent = WORDS.sentence;
	drawLosses();
	drawCards();
	drawConditions();
}

// ---- who holds the most: the answer before the figures

function verdictChip(verdict) {
	return verdict ? el("span", {class: "chip verdict-" + verdict.replace(/[^a-z]/g, "")}, verdict) : null;
}

// below: words of a line each; a site's history is drawn over the timeline as long as its row is looked at.
function topRow(s, value, part, kind, below, onclick) {
	const dim = () => timeline.light(null), light = () => timeline.light(s);

	return el("li", null, el("button", {type: "button", class: "top-row", onclick, onpointerenter: light, onpointerleave: dim, onfocus: light, onblur: dim},
		el("span", {class: "top-line"}, el("span", {class: "name mono top-name"}, siteTitle(s)), verdictChip(s.verdict),
			el("b", {class: "num" + (kind ? " " + kind : "")}, value), el("span", {class: "num quiet top-share"}, part[0])),
		bar(part[1], kind), below.filter(Boolean).map((words) => el("span", {class: "quiet small name"}, words))));
}

const callerWords = (s) => ["", ...titleWays(s, 3).callers].join(" ← ").trim();
// What gives no cause to ask needs no reason here: the table has it.
const reasonWords = (s) => /^(leak|suspect|growing)$/.test(s.verdict) ? s.why : "";

function drawHolders() {
	const live = KNOWN.has("live_bytes"), weigh = live ? liveBytes : WEIGHT["alloc-bytes"];
	const sites = SITES.filter((s) => isShown(s.process) && weigh(s) > 0);
	const whole = sites.reduce((n, s) => n + weigh(s), 0);
	// what processes held that have ended is history
	const past = (s) => live && PROCESSES[s.process].ended, top = sites.sort((a, b) => past(a) - past(b) || weigh(b) - weigh(a)).slice(0, 6);

	byId("top-title").textContent = !live ? "Who allocates" : DATA.older_ns ? `Who holds what is older than ${duration(DATA.older_ns)}` : "Top holders";
	byId("top-said").hidden = true;
	byId("top").replaceChildren(...top.map((s) => {
		return topRow(s, MARK + bytes(weigh(s)), [share(weigh(s), whole), weigh(s) / whole], "", [reasonWords(s),
			[threadWords(s), whereShort(s), live ? plural(liveBlocks(s), "block") : `${count(counter(s.c, "alloc_calls"))} calls`,
				live && KNOWN.has("free_calls") ? `${percent(counter(s.c, "free_calls"), counter(s.c, "alloc_calls"))} freed` : "", callerWords(s)].filter(Boolean).join(" · ")],
		() => tables.reveal(s));
	}));
	if (!top.length)
		byId("top").append(el("li", {class: "quiet"}, live ? "No live blocks from this trace." : "Nothing was allocated while traced."));
}

// Through the lens of a stretch of time: who made the change.
function drawChangers() {
	const {rows, up, down} = between.found;

	byId("top-title").textContent = between.title();
	byId("top-said").hidden = false;
	byId("top-said").textContent = between.told();
	byId("top").replaceChildren(...rows.slice(0, 6).map((r) => topRow(r.site, MARK + signed(r.change, bytes),
		[share(Math.abs(r.change), up + down), Math.abs(r.change) / (up + down)], r.change < 0 ? "down" : "up",
		[`from ${MARK}${bytes(r.before)} to ${MARK}${bytes(r.after)}`, [whereShort(r.site), callerWords(r.site)].filter(Boolean).join(" · ")],
		() => tables.revealChange(r))));
}

function drawTop() {
	timeline.light(null);
	if (between.found)
		drawChangers();
	else if (DIFF)
		DIFF.drawTop();
	else
		drawHolders();
}

// ---- resident memory

// Owns where resident memory is, and how much of it live blocks explain: two bars on one scale. Above, the mappings; below,
// under each of them, what malloctrace knows of the blocks in it. The words are those of the text report.

const NOTABLE_BYTES = 1 << 20, NOTABLE_PART = 50;	// growth that is less than this, or one of so many parts of RSS, is not told

// " (RSS and swap)", as rss_trend__name() says it; "": RSS alone
function usedNames(list) {
	const names = BESIDE_RSS.filter(([key]) => list.some((p) => p[key + "_bytes"] || p[key + "_at_attach_bytes"])).map(([, name]) => name);

	return names.length ? ` (${["RSS", ...names].join(", ").replace(/, ([^,]*)$/, " and $1")})` : "";
}

// Sums over the processes that run, or of the one that is shown; null: not known of all of them.
function memorySum() {
	const shownNow = shownProcesses(), list = shownNow.filter((p) => !p.ended || shownNow.length === 1), sum = {};

	if (!list.length || list.some((p) => !p.memory))
		return null;
	for (const p of list)
		for (const [key, n] of Object.entries(p.memory))
			sum[key] = (sum[key] || 0) + Number(n);
	const add = (of) => list.reduce((n, p) => n + of(p), 0);

	// when it was looked at: told of one that has ended
	return {...sum, seen: list.some((p) => p.ended) ? sum.seen_ns : null, all: sum.sized_all === list.length, live: add((p) => counter(p.totals, "live_bytes")), rss: add((p) => p.rss_bytes),
		grown: list.every((p) => p.rss_at_attach_bytes) ? add(usedBytes) - add(usedAtAttach) : 0, first: add(usedAtAttach), beside: usedNames(list), swapped: add((p) => (p.swap_bytes || 0) - (p.swap_at_attach_bytes || 0)), older: list.some((p) => p.age_at_attach_ns),
		heap: list.length === 1 ? heapOf(PROCESSES.indexOf(list[0])) : null};
}

// A look at the heap of the one process that is shown tells what is free from what is older.
function restParts(m, n, mark) {
	const looked = m.heap && m.heap.older && m.heap.free ? Math.min(m.heap.free.resident_bytes, n) : null;

	if (looked !== null)
		return [["rest", "free", looked, "", mark], ["older", "older than the trace", n - looked, `(${plural(m.heap.older.blocks, "block")})`, mark]];
	return [["rest", DATA.partial_sizes || DATA.within ? "free, not recorded or older than the trace" : m.older ? "free or older than the trace" : "free", n, "", mark]];
}

// Of the heap and the other anonymous mappings: [[kind, words, bytes, more words, its mark]] that add up to what is resident of them.
function blockParts(m) {
	const anonymous = m.heap_resident + m.other_resident, mark = m.all ? "" : "~", heapMark = m.heap_estimated ? "~" : "", largeMark = m.other_estimated ? "~" : "";
	const freeMark = mark || heapMark;

	// another allocator than glibc: it is not known which mappings are its
	if (!m.sized_blocks)
		return [["live", "live blocks", Math.min(m.live, anonymous)], ["rest", "free, older than the trace, or not of malloc", Math.max(0, anonymous - m.live), "", heapMark || largeMark]];
	const apart = Math.min(m.sized_apart || 0, m.other_resident), used = m.sized_set_aside - Math.min(m.sized_apart || 0, m.sized_set_aside);
	const inside = Math.min(used, m.heap_resident), overhead = Math.min(inside, Math.max(0, m.sized_set_aside - m.sized_requested));

	return [["live", "live blocks", inside - overhead, used > m.heap_resident ? `${freeMark}${bytes(used - m.heap_resident)} more are not resident` : ""],
		["overhead", "overhead", overhead, `(${mark}${share(overhead, m.sized_requested)})`],
		...restParts(m, m.heap_resident - inside, heapMark),
		["live", "blocks in mappings of their own", apart], ["other", "not of malloc", m.other_resident - apart, "", largeMark]];
}

// Parts of nothing are not drawn; a name that has no room is in the legend alone.
function stackedBar(label, parts, scale) {
	const some = parts.filter(([, , n]) => n > 0), bars = some.map(([kind, words, n, more, mark = ""]) => {
		const part = el("span", {class: "mem-part mem-" + kind, title: `${words}: ${mark}${bytes(n)}${more ? ", " + more : ""}`}, n / scale > 0.09 ? el("span", null, `${words} ${mark}${bytes(n)}`) : null);

		part.style.width = n / scale * 100 + "%";
		return part;
	});

	return [el("div", {class: "mem-row"}, el("span", {class: "mem-label quiet small"}, label), el("div", {class: "mem-bar", role: "img",
		"aria-label": `${label}: ` + some.map(([, words, n, , mark = ""]) => `${words} ${mark}${bytes(n)}`).join(", ")}, bars)),
	el("div", {class: "legend"}, some.map(([kind, words, n, more, mark = ""]) => el("span", null, el("i", {class: "swatch mem-" + kind}), `${words} `, el("b", null, mark + bytes(n)), more ? ` ${more}` : "")))];
}

// "RSS grows, but what leaks?"
function grownWords(m) {
	const {grown} = m, other = m.heap_mapped ? "other anonymous" : "anonymous";

	if (m.seen !== null)
		return `last seen at ${duration(m.seen)}`;
	if (grown < Math.max(NOTABLE_BYTES, m.first / NOTABLE_PART))
		return "";
	const parts = [["heap", m.heap_grown, m.heap_estimated], [other, m.other_grown, m.other_estimated],
		["files", m.file_grown, m.heap_estimated || m.other_estimated], ["swap", m.swapped]].filter(([, n]) => Math.abs(n || 0) >= grown / NOTABLE_PART);

	return `+${bytes(grown)} while traced${m.beside}, ` + (m.live > grown ? "less than the live blocks come to" : `${MARK}${percent(m.live, grown)} of it explained by live blocks`) +
		(parts.length ? `: ${parts.map(([name, n, estimated]) => `${name} ${estimated ? "~" : ""}${signed(n, bytes)}`).join(", ")}` : "");
}

function drawMemory() {
	const m = KNOWN.has("live_bytes") ? memorySum() : null;

	byId("memory-panel").hidden = !m;
	if (!m)
		return;
	const mappings = [["heap", "heap", m.heap_resident, `of ${bytes(m.heap_mapped)} mapped${m.arenas ? `, ${plural(m.arenas, "arena")} beside it` : ""}`, m.heap_estimated ? "~" : ""],
		["large", m.heap_mapped ? "other anonymous" : "anonymous", m.other_resident, `of ${bytes(m.other_mapped)} mapped`, m.other_estimated ? "~" : ""],
		["file", "files", m.file_resident, "", m.heap_estimated || m.other_estimated ? "~" : ""],
		["stack", "stack", m.stack_resident]];
	const scale = Math.max(mappings.reduce((n, part) => n + part[2], 0), m.rss, 1);

	byId("memory-said").textContent = grownWords(m);
	byId("memory").replaceChildren(...stackedBar("Mappings", mappings, scale),
		// what was live in the end is not what was live then
		...(m.seen === null ? stackedBar("Blocks", blockParts(m), scale) : []));
}
