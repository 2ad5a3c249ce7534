// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// The part about the heap as it is: beside a trace, and alone, as `malloctrace heap` writes it. Figures are those of tests/unit/heap_snapshot.c.
"use strict";

const assert = require("assert");
const path = require("path");
const {spawnSync} = require("child_process");
const {attribute, browser, dir, open, opens, quiet, test, text, texts} = require("./harness.js");

for (const name of ["heap", "heap-trace", "heap-two", "heap-other", "heap-census", "heap-quiet", "heap-interrupted", "heap-refused", "heap-large", "heap-hostile"])
	test("opens_quietly " + name, opens(name));

const visible = () => browser.run(() => [...document.querySelectorAll("main section, #histograms")].filter((e) => e.offsetHeight).map((e) => e.id || e.className));
const rows = (box) => browser.run((b) => [...document.querySelectorAll(`#${b} tbody tr`)].map((tr) => [...tr.querySelectorAll("th, td.num")].map((e) => e.innerText)), box);

async function show(tab) {
	await browser.run((name) => [...document.querySelectorAll("#heap-tabs [role=tab]")].find((e) => e.textContent.startsWith(name)).click(), tab);
	return browser.run(() => [...document.querySelectorAll("#heap-panels [role=tabpanel]:not([hidden]) tbody tr")].map((tr) => Object.fromEntries([...tr.querySelectorAll("td[data-label]")]
		.map((td) => [td.dataset.label, td.innerText.trim()]))));
}

// Widths of a picture's segments, as parts of the widest bar.
const widths = (box) => browser.run((b) => {
	const bars = [...document.querySelectorAll(`#${b} .seg-bar`)], full = bars[0].getBoundingClientRect().width;

	return bars.map((bar) => [...bar.children].map((e) => [e.className.slice(4), Math.round(e.getBoundingClientRect().width / full * 1000) / 1000]));
}, box);

test("a_heap_alone_is_a_whole_page", async () => {
	await open("heap");
	assert.deepStrictEqual(await visible(), ["cards", "panel conditions", "heap-panel"]);
	assert.strictEqual(await browser.run("document.title"), "redis-server (1432) – malloctrace");
	assert.deepStrictEqual(await texts("#cards .card-value"), ["64.6 MiB", "33.5 MiB", "20.6 MiB", "17.5 MiB", "95.5 MiB", "2 blocks"]);
	assert.match(await text("#conditions"), /^The memory of the process was read, 3d04h after its start, in 312ms, without stopping it\. This is a snapshot, not a trace: /);
	assert.deepStrictEqual(await texts(".heap-lines li"), ["64.6 MiB in 414,441 blocks are in use.", "Probably leaked, no pointer found in 3 scans: 40,674 blocks, 33.5 MiB. 40,074 are direct: nothing points to them. The other 600 are indirect: only leaked blocks point to them.",
		"21% of RSS is free memory that glibc keeps for later, 19.6 MiB: not a leak. malloc_trim(0), called by the program, would return 17.5 MiB. Most of it is in 3 arenas of threads: restarted with MALLOC_ARENA_MAX=2, the program has fewer and may keep less."]);
	assert.match(await text(".heap-look"), /^glibc, 4 arenas, read in 312ms, process not stopped; at most 2 blocks may be shown as in use though free, or the reverse: .*; 2\.0 MiB swapped out, not read; 4\.0 KiB without recognisable blocks\.$/);
	await browser.run("document.getElementById('conditions-more').open = true");
	assert.deepStrictEqual(await texts("#conditions-list dt"), ["When", "Program", "Machine"]);
	quiet();
});

test("what_is_in_use_by_size_and_type", async () => {
	await open("heap");
	assert.deepStrictEqual((await rows("heap-used")).slice(0, 4), [["1,032 B", "31,744", "31.2 MiB"], ["56 B", "210.4k", "11.2 MiB"], ["4–8 KiB", "1,204", "6.6 MiB"], ["1–2 MiB", "4", "5.3 MiB"]]);
	assert.strictEqual((await rows("heap-used")).length, 9);
	// half of the largest is a map, the other half something; 8 of 1,000 parts are less than a pixel can tell
	const found = await widths("heap-used"), near = (a, b) => Math.abs(a - b) < 0.008;

	assert.deepStrictEqual(found[0].map(([kind]) => kind), ["type-0", "look-other"]);
	assert.ok(found[0].every(([, width]) => near(width, 0.5)), JSON.stringify(found[0]));
	assert.deepStrictEqual(found[1].map(([kind]) => kind), ["type-1", "type-3"]);
	assert.ok(near(found[1][0][1], 11784248 * 0.98 / 32759808), JSON.stringify(found[1]));
	assert.deepStrictEqual(found[3].map(([kind]) => kind), ["look-unknown"]);
	const lost = await browser.run(() => [...document.querySelectorAll("#heap-used tr")].map((tr) => [tr.querySelector(".line-lost"), tr.querySelector(".seg-box")]).filter(([line]) => line)
		.map(([line, box]) => line.getBoundingClientRect().width / box.getBoundingClientRect().width));

	assert.ok(lost.length === 2 && near(lost[0], 32714400 / 32759808) && near(lost[1], 2369136 / 32759808), JSON.stringify(lost));
	assert.ok((await texts("#heap-used .legend > span")).includes("no pointer found 33.5 MiB"));
	quiet();
});

test("what_is_free_by_arena", async () => {
	await open("heap");
	assert.deepStrictEqual(await rows("heap-free"), [["main", "40.0 MiB", "7.2 MiB"], ["arena 2", "14.0 MiB", "4.2 MiB"], ["arena 3", "5.2 MiB", "2.1 MiB"], ["arena 4", "0 B", "7.1 MiB"]]);
	assert.deepStrictEqual(await texts("#heap-free .legend > span"), ["in use 59.2 MiB", "in caches of threads 112.0 KiB", "in bins 19.0 MiB", "at the top 1.5 MiB", "malloc_trim would return 17.5 MiB"]);
	// the thin line begins where what is free begins, and is what can be given back
	const [from, width] = await browser.run(() => {
		const row = document.querySelector("#heap-free tbody tr"), used = row.querySelector(".free-used").getBoundingClientRect(), line = row.querySelector(".line-trim").getBoundingClientRect();

		return [line.left - used.right, line.width / used.width];
	});

	assert.ok(Math.abs(from) < 2 && Math.abs(width - 5 / 40) < 0.01, `${from} ${width}`);
	quiet();
});

test("resident_memory_adds_up", async () => {
	await open("heap");
	assert.strictEqual(await attribute("#heap-rss .mem-bar", "aria-label"), "RSS: blocks in use, with headers 62.7 MiB, free, kept by glibc 19.6 MiB, stacks 148.0 KiB, global variables 192.0 KiB, thread-local 4.0 KiB, code 2.6 MiB, " +
		"files 2.0 MiB, shared 1.0 MiB, anonymous 7.2 MiB");
	assert.ok(await browser.run(() => {
		const box = document.querySelector("#heap-rss .mem-bar").getBoundingClientRect().width, parts = [...document.querySelectorAll("#heap-rss .mem-part")].reduce((n, e) => n + e.getBoundingClientRect().width, 0);

		return Math.abs(box - parts) < 4;
	}), "to the last page");
	assert.strictEqual(await text(".mem-beside"), "95.5 MiB in all. Not in RSS: page tables 340.0 KiB, swapped out 2.0 MiB.");
	quiet();
});

test("tables_of_a_heap", async () => {
	await open("heap");
	assert.deepStrictEqual(await texts("#heap-tabs [role=tab]"), ["Sizes9", "Types10", "Arenas5", "Held through4", "Resident14"]);
	const sizes = await show("Sizes");

	assert.deepStrictEqual(sizes[0], {Usable: "1,032 B", Blocks: "31,744", Bytes: "31.2 MiB", Share: "48.4%", Unreached: "31.2 MiB", Types: "50% std::map<std::string, std::vector<engine::Row> >, 50% other (2,000 examined)"});
	const types = await show("Types");

	assert.deepStrictEqual([types[2].Type, types[2].Bytes, types[2].Blocks, types[2]["Known by"]], ["app::Session", "~11.0 MiB", "~206,224", "class"]);
	assert.deepStrictEqual([types[0].Type, types[0].Unreached, types[0]["Known by"]], ["other", "~15.5 MiB", "look"]);
	const arenas = await show("Arenas");

	assert.deepStrictEqual([arenas[0].Arena, arenas[0].Free, arenas[0].Bins, arenas[0].Trimmable, arenas[4].Arena, arenas[4].Free], ["main", "7.2 MiB", "6.0 MiB", "5.0 MiB", "large blocks (mmap)", "–"]);
	const roots = await show("Held through");

	assert.deepStrictEqual([roots[0].Name, roots[0].Through, roots[0].Bytes, roots[0].Share], ["server redis-server", "global", "22.0 MiB", "34.1%"]);
	const parts = await show("Resident");

	assert.deepStrictEqual(parts.filter((p) => p.What === "stack").map((p) => [p.Whose, p.TID, p.Resident, p.Deepest]), [["redis-server", "1432", "132.0 KiB", "148.0 KiB"], ["bio_lazy_free", "1435", "16.0 KiB", "40.0 KiB"]]);
	quiet();
});

test("tables_of_a_heap_are_used_as_others", async () => {
	await open("heap");
	await browser.run("document.getElementById('heap-tab-0').focus()");
	await browser.key("ArrowRight");
	assert.strictEqual(await attribute("#heap-tab-1", "aria-selected"), "true");
	await browser.key("End");
	assert.strictEqual(await attribute("#heap-tab-4", "aria-selected"), "true");
	await browser.type("#heap-panel-4 input", "redis-server");
	assert.strictEqual(await browser.run("document.querySelectorAll('#heap-panel-4 tbody tr').length"), 4, "whose names or modules have it");
	await browser.key("Escape");
	await browser.click("#heap-tab-0");
	await browser.click("#heap-panel-0 th:nth-child(1) button");
	assert.strictEqual((await show("Sizes"))[0].Usable, "1–2 MiB", "as bytes, not as text");
	await browser.type("#heap-panel-0 input", "session");
	assert.deepStrictEqual((await show("Sizes")).map((r) => r.Usable), ["56 B"], "by the types that a size has");
	quiet();
});

test("a_trace_with_a_heap", async () => {
	await open("heap-trace");
	assert.match(await text("#conditions"), /from 3d04h after its start: 38\.2 MiB in 248,662 blocks are older\. Mode full/);
	assert.match((await texts(".heap-lines li"))[2], /^38\.2 MiB in 248,662 blocks are older than the trace, no pointer found to 8,974 of them\.$/);
	assert.match(await text(".heap-look"), /read 18\.0s after the trace began, in 312ms/);
	assert.strictEqual((await show("Sizes"))[0].Older, "19,046");
	// sites
	const heads = (await texts("#panel-0 thead th")).map((s) => s.replace(/\W+$/, ""));

	assert.ok(heads.includes("Unreachable"), heads.join());
	assert.deepStrictEqual((await texts(`#panel-0 tbody td:nth-child(${heads.indexOf("Unreachable") + 1})`)).slice(0, 2), ["31.0 MiB", "0 B"]);
	await browser.click("#panel-0 tbody tr:nth-child(1) .folder");
	assert.match(await text("#panel-0 .facts"), /no pointer found to 31,700 blocks, 31\.0 MiB[^]*made of 50% std::map<std::string, std::vector<engine::Row> >, 50% other/);
	await browser.click("#panel-0 tbody tr:nth-child(3) .folder");
	assert.match((await texts("#panel-0 .facts"))[1], /every block that was live at the look[^]*held through server/);
	// the flame graph
	await browser.run(() => {
		const select = document.getElementById("flame-metric");

		select.value = "unreached-bytes";
		select.dispatchEvent(new Event("change"));
	});
	assert.strictEqual(await text("#flame-title"), "Flame graph of bytes that no pointer reaches");
	assert.strictEqual(await text("#flame-path"), "31.0 MiB in all");
	quiet();
});

test("what_was_not_looked_for_is_not_shown", async () => {
	await open("heap-census");
	assert.match((await texts(".heap-lines li"))[1], /^It was not searched for blocks that no pointer reaches: --reachable\.$/);
	assert.deepStrictEqual((await texts("#cards .card-below"))[1], "not searched: --reachable");
	assert.deepStrictEqual(Object.keys((await show("Sizes"))[0]), ["Usable", "Blocks", "Bytes", "Share", "Types"]);
	assert.doesNotMatch(await text("#heap-used"), /no pointer/);
	await open("heap-quiet");
	assert.match((await texts(".heap-lines li"))[1], /^Every block that was searched is reachable \(3 scans\)\.$/);
	assert.strictEqual((await texts("#cards .card-value"))[1], "none");
	assert.strictEqual((await texts("#cards .card-below"))[1], "every block that was searched is reachable");
	await open("heap-interrupted");
	assert.strictEqual((await texts(".heap-lines li"))[1], "The search for pointers was interrupted: which blocks are unreachable is not known.");
	assert.deepStrictEqual([(await texts("#cards .card-value"))[1], (await texts("#cards .card-below"))[1]], ["–", "the search was interrupted"]);
	// the trace alone: no column, no metric, no part of the page
	await open("asked");
	assert.ok(await browser.run("document.getElementById('heap-panel').hidden"));
	assert.ok(!(await texts("#flame-metric option")).some((s) => /pointer/.test(s)));
	assert.ok(!(await texts("#panel-0 thead th")).some((s) => /Unreachable/.test(s)));
	await open("heap-refused");
	assert.deepStrictEqual(await texts(".heap-lines li"), ["heap layout not recognised: no arena in libjemalloc.so.2"]);
	assert.deepStrictEqual(await texts("#heap-tabs [role=tab]"), ["Resident14"]);
	assert.ok(await browser.run("document.getElementById('heap-pictures').hidden"));
	assert.strictEqual((await texts("#cards .card-value"))[0], "not known");
	quiet();
});

test("heaps_of_several_processes", async () => {
	await open("heap-two");
	assert.strictEqual(await text("#heap-title"), "Heap of redis-server (1432)");
	assert.deepStrictEqual(await texts("#heap-process option"), ["redis-server (1432)", "table?worker;1 (1501)"]);
	await browser.run(() => {
		const select = document.getElementById("heap-process");

		select.value = "1";
		select.dispatchEvent(new Event("change"));
	});
	assert.strictEqual(await text("#heap-title"), "Heap of table?worker;1 (1501)");
	assert.match(await text("#heap-said"), /^heap layout not recognised/);
	await browser.run("app.showProcess(0)");
	assert.strictEqual(await text("#heap-title"), "Heap of redis-server (1432)");
	assert.ok(await browser.run("document.getElementById('heap-process-label').hidden"));
	quiet();
});

// What the text says of the same file: free is told from older, and nothing is called unseen that was looked at.
test("what_is_older_is_told_everywhere", async () => {
	await open("heap-trace");
	const bars = await browser.run(() => [...document.querySelectorAll("#memory .mem-bar")].map((e) => e.getAttribute("aria-label")));

	assert.ok(bars.some((s) => /, free 19\.6 MiB, older than the trace 2\d\.\d MiB/.test(s)), bars.join("\n"));
	assert.ok(!bars.some((s) => /free or older/.test(s)), bars.join("\n"));
	assert.doesNotMatch(await browser.run("document.body.innerText"), /older blocks are unseen|older than that are unseen/);
	quiet();
});

test("blocks_of_another_allocator", async () => {
	await open("heap-other");
	assert.match((await texts(".heap-lines li"))[1], /^Probably leaked, no pointer found in 3 scans: .* Only traced blocks were searched: the others of jemalloc are not known\.$/);
	assert.ok(!Object.keys((await show("Held"))[0]).includes("Share"), "of what is not known there are no parts");
	quiet();
});

// What `report` says of a page's profile, as one line.
function reported(name) {
	const {stdout, status, stderr} = spawnSync(path.join(dir, "..", "malloctrace"), ["report", path.join(dir, name + ".json"), "--view", "heap"], {encoding: "utf8"});

	assert.strictEqual(status, 0, stderr);
	return stdout.replace(/\s+/g, " ");
}

test("free_memory_is_what_report_says", async () => {
	for (const name of ["heap", "heap-trace", "heap-large", "heap-free-tenth", "heap-free-pieces"]) {
		await open(name);
		const said = (await texts(".heap-lines li")).find((line) => /free memory/.test(line)), wanted = /\S+ of RSS is free memory [^]*? (?=in use |Probably leaked|They look like|A pointer )/.exec(reported(name));

		assert.ok(wanted, name);
		assert.strictEqual(said, wanted[0].trim(), name);
	}
	// what is little is no sentence, here as there
	for (const name of ["heap-free-little", "heap-free-below"]) {
		await open(name);
		assert.doesNotMatch(reported(name), /of RSS is free memory/, name);
		assert.doesNotMatch((await texts(".heap-lines li")).join(), /free memory/, name);
	}
	quiet();
});

test("what_is_older_is_told_of_several_processes", async () => {
	await open("heap-several");
	assert.match(await text("#conditions"), /; all processes ran before: 76\.4 MiB in 497,324 blocks are older/);
	assert.match(reported("heap-several"), /76\.4 MiB in 497,324 blocks are older/);
	quiet();
});

test("many_sizes_are_ranges_and_many_arenas_a_sum", async () => {
	await open("heap-large");
	const sizes = await rows("heap-used"), free = await rows("heap-free");

	assert.deepStrictEqual(sizes.map((r) => r[0]), ["16–32 B", "32–64 B", "64–128 B", "128–256 B", "256–512 B", "512 B–1 KiB", "1–2 KiB", "2–4 KiB"]);
	assert.deepStrictEqual([free[0][0], free[1][0], free.at(-1)[0], free.length], ["all 130", "arena 130", "120 others", 12]);
	assert.match((await texts(".heap-lines li"))[2], /in 129 arenas of threads: restarted with MALLOC_ARENA_MAX=2, the program has fewer and may keep less\.$/);
	assert.strictEqual((await show("Sizes")).length, 25, "a page of them");
	quiet();
});

test("hostile_names_in_a_heap_are_names", async () => {
	await open("heap-hostile");
	for (const tab of ["Sizes", "Types", "Arenas", "Held", "Resident", "Blocks"])
		await show(tab);
	await browser.run("document.getElementById('conditions-more').open = true");
	assert.strictEqual(await browser.run("document.querySelectorAll('img, iframe, object, embed').length"), 0);
	assert.strictEqual(await browser.run("document.querySelectorAll('script').length"), 3, "the two of data and the page's own");
	assert.doesNotMatch(await browser.run("document.title"), /^RAN/);
	assert.match(await text("#target"), /^<\/script><script>document\.title='RAN'<\/script><img src=x/);
	assert.match(await text("#heap-used .legend"), /<img src=x onerror="document\.title='RAN'">/);
	assert.match((await show("Blocks"))[0].Type, /^<img src=x/);
	assert.deepStrictEqual((await show("Blocks")).map((b) => [b.Address, b.Bytes, b.Unreached]), [["0xffff0000", "24", "direct"]]);
	assert.match(await text("#heap-panels [role=tabpanel]:not([hidden]) .note"), /^1 of 12 blocks\.$/);
	quiet();
});

test("words_on_the_parts_of_memory_stand_out", async () => {
	for (const dark of [false, true]) {
		await open("heap", {dark});
		const found = await browser.run(() => ["live", "rest", "older", "heap", "stack", "global", "tls", "code", "file", "shared", "large", "other"].map((kind) => {
			const e = document.querySelector("#heap-rss .mem-bar").appendChild(document.createElement("span")), style = getComputedStyle(e), numbers = (s) => s.match(/\d+/g).map(Number);

			e.className = "mem-part mem-" + kind;
			return [kind, numbers(style.color), numbers(style.backgroundColor)];
		}));
		const light = (rgb) => rgb.map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4)).reduce((n, v, i) => n + v * [0.2126, 0.7152, 0.0722][i], 0);

		for (const [kind, ink, paper] of found)
			assert.ok((Math.max(light(ink), light(paper)) + 0.05) / (Math.min(light(ink), light(paper)) + 0.05) >= 4.5, `${kind} in ${dark ? "dark" : "light"}`);
	}
});

test("a_heap_on_paper", async () => {
	await open("heap", {dark: true});
	const {data} = await browser.send("Page.printToPDF", {printBackground: true});

	assert.ok(Buffer.from(data, "base64").subarray(0, 5).equals(Buffer.from("%PDF-")));
	assert.strictEqual(await attribute("html", "data-theme"), "dark", "as before");
	quiet();
});
