// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// What a reader asks for beside the totals: what changed between two moments, moments with names, tags, marks, frees,
// realloc, resident memory, ages. Figures are those of tests/unit/asked_snapshot.c.
"use strict";

const assert = require("assert");
const path = require("path");
const {spawnSync} = require("child_process");
const {attribute, browser, column, dir, open, opens, pixel, quiet, test, text, texts, whereIs} = require("./harness.js");

const CHANGED = 9;	// the number of that table's panel in asked.html
const link = (hash) => browser.run((h) => new Promise((done) => {
	addEventListener("hashchange", () => requestAnimationFrame(done), {once: true});
	location.hash = h;
}), hash);
const svgTexts = (selector) => browser.run((s) => [...document.querySelectorAll(s)].map((e) => e.textContent), selector);

async function show(tab) {
	await browser.run((name) => [...document.querySelectorAll("[role=tab]")].find((e) => e.textContent.startsWith(name)).click(), tab);
	return Number((await browser.run("document.querySelector('[role=tab][aria-selected=true]').id")).slice(4));
}

// Where time begins and ends in the picture.
const sides = () => browser.run("({left: bands.LEFT, right: bands.RIGHT})");

async function drag(from, to) {
	const box = await browser.place("#timeline svg"), y = box.y + 120, {left, right} = await sides(), x = (t) => box.x + left + (box.width - left - right) * t / 30;

	await browser.mouse("mouseMoved", x(from), y);
	await browser.mouse("mousePressed", x(from), y);
	await browser.mouse("mouseMoved", x((from + to) / 2), y, {buttons: 1});
	await browser.mouse("mouseMoved", x(to), y, {buttons: 1});
	await browser.mouse("mouseReleased", x(to), y);
	await browser.mouse("mouseMoved", 2, 2);
	await browser.frame();
}

test("opens_quietly asked", opens("asked"));
test("opens_quietly killed", opens("killed"));

// Every column of every view is drawn, but for those of which nothing is known here: one process, no baseline, nothing lost.
test("tables_are_the_views", async () => {
	await open("asked");
	const {views, heads} = await browser.run(() => ({views: WORDS.views.map(({title, columns}) => [title, columns.map((c) => c.label)]),
		heads: [...document.querySelectorAll("#tab-panels table.rows")].map((table) => [table.getAttribute("aria-label"), [...table.querySelectorAll("th.num, th.text")].map((th) => th.innerText.replace(/[▲▼]/, "").trim())])}));

	assert.deepStrictEqual(heads.map(([title]) => title).sort(), views.map(([title]) => title).sort());
	for (const [title, labels] of views) {
		const shown = heads.find(([name]) => name === title)[1];

		assert.deepStrictEqual(shown.filter((label) => !labels.includes(label)), []);
		assert.deepStrictEqual(labels.filter((label) => !shown.includes(label) && !["Process", "Δ", "Δ self", "Δ total", "Growth", "Lost", "Verdict"].includes(label)), [], title);
	}
	quiet();
});

// ---- between two moments

// [change, share, from, to] of each row, and what is not known
function reported(range) {
	const {stdout, status, stderr} = spawnSync(path.join(dir, "..", "malloctrace"), ["report", path.join(dir, "asked.json"), "--between", range, "-T", "100"], {encoding: "utf8"});

	assert.strictEqual(status, 0, stderr);
	return {rows: [...stdout.matchAll(/^ *\d+\. +([+-]\S+ \S+) +(\S+) +from +(\S+ \S+) to +(\S+ \S+) /gm)].map((m) => m.slice(1)), unknown: (/no history of (\S+) of/.exec(stdout) || [])[1] || "0"};
}

test("between_is_what_report_says", async () => {
	let n = 0;

	await open("asked");
	for (const range of ["10s,25s", "11695ms,14238ms", "0s,30s", "2s,2500ms", "12100ms,12200ms", "20s,100s", "500ms,29s"]) {
		const want = reported(range);

		await link("between=" + range);
		const rows = (await Promise.all([2, 3, 4, 5].map((i) => column(i, CHANGED)))), got = rows[0].map((_, i) => rows.map((c) => c[i]));

		assert.deepStrictEqual(want.rows.length ? got : [], want.rows, range);
		assert.strictEqual((/No history of (\S+) of/.exec(await text("#top-said")) || [])[1] || "0", want.unknown, range);
		n += want.rows.length;
	}
	assert.ok(n > 10, "there was something to compare");
	quiet();
});

test("a_stretch_is_a_lens", async () => {
	await open("asked");
	await drag(10, 25);
	assert.match(await text("#timeline-said"), /^\d+\.\ds to \d+\.\ds: live \+\d+\.\d MiB \(\+\d\.\d MiB\/s\), blocks \+[\d,]+, RSS \+\d+\.\d MiB, [\d,]+ allocations/);
	assert.match(await text("#top-title"), /^What made it rise, /);
	assert.deepStrictEqual(await texts("#top .top-name"), ["raxGenericInsert", "_dictExpand", "libtable-engine.so.2.14.0+0x6120"]);
	assert.match(await text("#top-said"), /^2 sites hold 21\.\d MiB more, 1 site holds 3\.0 MiB less\.$/);
	assert.match(await text("#lens"), /^\d+\.\ds to \d+\.\ds \+18\.\d MiB/);
	assert.strictEqual(await attribute(`#tab-${CHANGED}`, "aria-selected"), "true");
	assert.match(await text("#flame-title"), /^Flame graph of the change, /);
	assert.match(await text("#flame-path"), /^\+18\.\d MiB \(\+21\.\d MiB and -3\.0 MiB\) in all$/);
	assert.match(await browser.run("location.hash"), /^#between=\d+(\.\d+)?s,\d+(\.\d+)?s$/);
	// what grew is red, what shrank is blue
	const grew = await whereIs("_dictExpand"), shrank = await whereIs("libtable-engine.so.2.14.0+0x6120");
	const channels = async (at) => (await pixel({x: at.x + at.width / 2 - 3, y: at.y})).split(" ").map(Number);
	const [red, , redBlue] = await channels(grew), [blueRed, , blue] = await channels(shrank);

	assert.ok(red > redBlue + 60 && blue > blueRed + 60, `${red} ${redBlue} ${blueRed} ${blue}`);
	await browser.mouse("mouseMoved", shrank.x, shrank.y);
	await browser.frame();
	assert.match(await text("#tip"), /^libtable-engine\.so\.2\.14\.0\+0x6120\n-3\.0 MiB, 12\.\d% of all change\n/);
	// a row leads to its line in the table of changes
	await browser.click("#top li:nth-child(3) button");
	assert.match(await browser.run("document.activeElement.getAttribute('aria-label')"), /libtable-engine/);
	assert.strictEqual((await texts(`#panel-${CHANGED} .detail`)).length, 1);
	// and everything is as before
	await browser.key("Escape");
	assert.strictEqual(await text("#top-title"), "Top holders");
	assert.strictEqual(await text("#flame-path"), "38.0 MiB in all");
	assert.ok(await browser.run("document.getElementById('lens').hidden"));
	assert.strictEqual(await attribute("#tab-0", "aria-selected"), "true");
	assert.ok(await browser.run((id) => document.getElementById(id).hidden, `tab-${CHANGED}`));
	assert.strictEqual(await browser.run("location.hash"), "");
	assert.deepStrictEqual(await browser.run("[...document.getElementById('flame-metric').options].map((o) => o.value).includes('between')"), false);
	quiet();
});

test("edges_can_be_dragged", async () => {
	await open("asked");
	await drag(10, 20);
	await drag(20, 25);	// the right one, on
	assert.match(await text("#lens"), /^10\.\ds to 2[45]\.\ds/);
	await drag(10, 5);
	assert.match(await text("#lens"), /^[45]\.\ds to 2[45]\.\ds/);
	await drag(28, 28);	// a click chooses nothing
	assert.ok(await browser.run("document.getElementById('lens').hidden"));
	quiet();
});

test("a_stretch_by_name", async () => {
	await open("asked");
	await browser.type("#between-from", "flushAll#2");
	await browser.type("#between-to", "flushAll #3");
	await browser.key("Enter");
	assert.match(await text("#lens"), /^9\.0s to 15\.0s/);
	await browser.type("#between-to", "1m");
	await browser.key("Enter");
	assert.match(await text("#lens"), /^9\.0s to 30\.0s/, "no later than the end");
	assert.strictEqual(await browser.run("location.hash"), "#between=9s,end");
	await browser.type("#between-from", "yesterday");
	await browser.key("Enter");
	assert.strictEqual(await attribute("#between-from", "aria-invalid"), "true");
	assert.match(await text("#lens"), /^9\.0s to 30\.0s/, "what cannot be read changes nothing");
	for (const [hash, words] of [["between=reloadConfig%231,peak", /^12\.0s to 21\.3s/], ["between=25,start", /^0s to 25\.0s/],
		["between=peak", /^0s to 25\.0s/], ["between=%,5s", /^0s to 25\.0s/]]) {
		await link(hash);
		assert.match(await text("#lens"), words, hash);
	}
	await browser.click("#between-rise");
	assert.match(await text("#lens"), /^11\.7s to 14\.2s \+8\.6 MiB/);
	await browser.click("#between-clear");
	assert.strictEqual(await text("#top-title"), "Top holders");
	quiet();
});

test("a_link_opens_it", async () => {
	await browser.open(path.join(dir, "asked.html"), {hash: "#between=10s,25s"});
	assert.match(await text("#lens"), /^10\.0s to 25\.0s \+18\.\d MiB/);
	assert.strictEqual(await attribute("#between-from", "aria-invalid"), "false");
	assert.strictEqual(await browser.run("document.getElementById('between-from').value"), "10s");
	quiet();
});

test("a_stretch_by_keyboard", async () => {
	await open("asked");
	await browser.run("document.querySelector('#timeline svg').focus()");
	await browser.key("Home");
	await browser.key("End", {shift: true});
	assert.match(await text("#live"), /^0s to 30\.0s: live \+38\.0 MiB.*What made it rise, 0s to 30\.0s: raxGenericInsert, \+31\.0 MiB$/);
	await browser.key("Escape");
	assert.ok(await browser.run("document.getElementById('lens').hidden"));
	quiet();
});

// ---- moments with a name

test("moments_have_names", async () => {
	await open("asked");
	const names = await svgTexts("#timeline .event-name");

	for (const name of ["flushAll #1", "flushAll #2", "reloadConfig #1", "flushAll #4", "snapshot 1", "live>24M", "rss>90M: redis-server (1432) has 96.0 MiB"])
		assert.ok(names.includes(name), name);
	assert.strictEqual(await browser.run("document.querySelectorAll('#timeline .event-flag.mark').length"), 6, "each mark, be there room for its name or not");
	assert.match(await text("#conditions"), /Taken at rss>90M: redis-server \(1432\) has 96\.0 MiB\./);
	// no label lies upon another
	const boxes = await browser.run("[...document.querySelectorAll('#timeline .event-name')].map((e) => e.getBBox()).map(({x, y, width, height}) => ({x, y, width, height}))");

	for (const [i, a] of boxes.entries())
		for (const b of boxes.slice(i + 1))
			assert.ok(a.x + a.width <= b.x || b.x + b.width <= a.x || Math.abs(a.y - b.y) >= 12, JSON.stringify([a, b]));
	await browser.run("document.getElementById('conditions-more').open = true");
	assert.match(await text("#conditions-list"), /1,006, with figures of 5; the newest 6 are here/);
	assert.ok(!names.some((name) => /^mark /.test(name)), "a mark's snapshot is the mark");
	const at = await browser.place("#timeline svg"), {left, right} = await sides();

	await browser.mouse("mouseMoved", at.x + left + (at.width - left - right) * 9 / 30, at.y + 150);
	await browser.frame();
	assert.match(await text("#timeline-said"), /^9\.0s: live .*; flushAll #2$/);
	await browser.mouse("mouseMoved", at.x + left + (at.width - left - right) * 22 / 30, at.y + 150);
	await browser.frame();
	assert.match(await text("#timeline-said"), /; live>24M: redis-server \(1432\) has 24\.1 MiB live: snapshot 3$/);
	quiet();
});

test("a_death_is_told", async () => {
	await open("killed");
	assert.strictEqual(await text("#target"), "redis-server (1432) [ended by SIGKILL: out of memory]");
	assert.ok((await svgTexts("#timeline .event-name.death")).includes("SIGKILL: out of memory"));
	assert.match(await text("#conditions"), /Began when aeMain was called\. Ended when exitFromChild was called\. Only what was allocated within processCommand\./);
	assert.match(await text("#conditions"), /requested sizes, with what it maps itself \(--mmap\)\./);
	assert.match(await text("#conditions"), /Python: seen: objects larger than 512 bytes, .*; not seen: objects of up to 512 bytes, .*PYTHONMALLOC=malloc.*/);
	// nothing here is a frame of Python, so there is nothing that it would change
	assert.doesNotMatch(await text("#conditions"), /--python off/);
	assert.doesNotMatch(await text("#conditions"), /Every allocation/);
	// as the live view names it: a wrapper is passed over
	assert.strictEqual((await texts("#top .top-name"))[0], "raxTryInsert");
	await show("Processes");
	assert.match(await text("[role=tabpanel]:not([hidden]) tbody"), /SIGKILL: out of memory/);
	quiet();
});

// ---- tables

test("verdicts_have_their_reasons", async () => {
	await open("asked");
	assert.strictEqual(await text("#panel-0 tbody tr:first-child .judged"), "leak\n0 of 31,744 blocks freed, +1.0 MiB/s for 29.9s, oldest 29.9s");
	assert.match(await text("#top li:first-child"), /0 of 31,744 blocks freed, \+1\.0 MiB\/s for 29\.9s/);
});

test("tags", async () => {
	await open("asked");
	const panel = await show("Tags");

	assert.deepStrictEqual(await column(10 + 1, panel), ["processCommand", "redis-server:_dictExpand", "(none)", "bio_lazy_free thread"]);
	assert.deepStrictEqual(await column(2, panel), ["31.0 MiB", "6.0 MiB", "1.0 MiB", "1.2 KiB"]);
	assert.deepStrictEqual(await column(5, panel), ["2.13M", "61,204", "940", "12"]);
	assert.deepStrictEqual(await column(7, panel), ["31,744", "12", "–", "–"]);
	assert.deepStrictEqual(await column(8, panel), ["67", "5,100", "–", "–"]);
	assert.deepStrictEqual(await column(10, panel), ["1.0 KiB", "512.0 KiB", "–", "–"]);
	await browser.click(`#panel-${panel} .folder`);
	await browser.click(`#panel-${panel} .detail button.link`);
	assert.match(await browser.run("document.activeElement.getAttribute('aria-label')"), /raxGenericInsert/);
	await browser.type("#panel-0 input", "_dictExpand");
	assert.strictEqual((await column(2)).length, 1, "a tag is found, too");
	quiet();
});

test("marks", async () => {
	await open("asked");
	const panel = await show("Marks");

	assert.deepStrictEqual(await column(1, panel), ["3.0s", "9.0s", "12.0s", "12.0s", "15.0s", "27.0s"]);
	assert.deepStrictEqual(await column(3, panel), ["–", "+7.2 MiB", "+3.0 MiB", "–", "+11.0 MiB", "+10.0 MiB"]);
	assert.deepStrictEqual(await column(4, panel), ["–", "420.0k", "240.0k", "–", "240.0k", "800.0k"]);
	assert.strictEqual((await column(8, panel))[3], "reloadConfig #2 counted alone");
	await browser.click(`#panel-${panel} tbody tr:nth-child(5) button.link`);
	assert.match(await text("#lens"), /^12\.0s to 15\.0s/);
	quiet();
});

test("where_blocks_were_freed", async () => {
	await open("asked");
	const panel = await show("Frees");

	assert.deepStrictEqual(await column(2, panel), ["2.14M", "20,000", "936"]);
	assert.deepStrictEqual(await column(5, panel), ["0%", "100%", "0%"]);
	assert.deepStrictEqual(await column(6, panel), ["4ms", "60ms", "100ms"]);
	assert.deepStrictEqual(await column(7, panel), ["redis-server", "bio_lazy_free", "–"]);
	await browser.click(`#panel-${panel} .folder`);
	assert.match(await text(`#panel-${panel} .detail`), /2\.10M\s+98\.1%\s+96\.1 MiB\s+textbuild[^]*40,000\s+1\.9%\s+200\.0 MiB\s+_dictExpand/);
	await show("Live");
	await browser.click("#panel-0 tbody tr:nth-child(2) .folder");
	assert.match(await text("#panel-0 .freed-at"), /40,000\s+66\.7%\s+call[^]*by redis-server, after 30ms[^]*20,000\s+33\.3%\s+_dictExpand[^]*by bio_lazy_free, 100% of another thread's, after 60ms/);
	quiet();
});

test("reallocs", async () => {
	await open("asked");
	const panel = await show("Realloc");

	assert.deepStrictEqual(await browser.run((id) => [...document.querySelectorAll(`#panel-${id} tbody td.num`)].map((e) => e.innerText), panel),
		["936", "13%", "31.0 MiB", "16 B", "99%", "1%", "417"]);
	await browser.click(`#panel-${panel} .folder`);
	assert.match(await text(`#panel-${panel} .facts`), /reallocations 936, 13% of them moved and copied 31\.0 MiB; larger by 16 B at a time, up to 417 times in a row/);
	quiet();
});

// ---- memory and ages

test("resident_memory", async () => {
	await open("asked");
	assert.deepStrictEqual(await browser.run("[...document.querySelectorAll('#memory .mem-bar')].map((e) => e.getAttribute('aria-label'))"),
		["Mappings: heap 79.0 MiB, other anonymous 10.0 MiB, files 6.9 MiB, stack 132.0 KiB",
			"Blocks: live blocks 32.0 MiB, overhead 2.0 MiB, free or older than the trace 45.0 MiB, blocks in mappings of their own 6.0 MiB, not of malloc 4.0 MiB"]);
	assert.strictEqual(await text("#memory-said"), "+32.0 MiB while traced, less than the live blocks come to: heap +30.0 MiB, other anonymous +2.0 MiB");
	const width = (kind) => browser.run((k) => document.querySelector(".mem-part.mem-" + k).getBoundingClientRect().width, kind);

	assert.ok(Math.abs(await width("live") / await width("heap") - 32 / 79) < 0.01, "one scale for both bars");
	await open("single");
	assert.ok(await browser.run("document.getElementById('memory-panel').hidden"), "what is not known is not drawn");
	quiet();
});

// Memory that goes to swap is not freed: the page says of it what the sentence says.
test("memory_in_swap", async () => {
	await open("swapped");
	assert.strictEqual(await text("[aria-label='Resident (RSS)'] .card-below"), "76.0 MiB in swap, +80.0 MiB while traced (RSS and swap)");
	assert.strictEqual(await text("#memory-said"), "+80.0 MiB while traced (RSS and swap), 48% of it explained by live blocks: heap +30.0 MiB, other anonymous +2.0 MiB, swap +76.0 MiB");
	quiet();
});

// What is extrapolated has its mark wherever it stands, and nothing else has.
test("resident_memory_of_huge_mappings", async () => {
	await open("huge");
	assert.deepStrictEqual(await browser.run("[...document.querySelectorAll('#memory .mem-bar')].map((e) => e.getAttribute('aria-label'))"),
		["Mappings: heap 79.0 MiB, other anonymous ~10.0 MiB, files ~6.9 MiB, stack 132.0 KiB",
			"Blocks: live blocks 32.0 MiB, overhead 2.0 MiB, free or older than the trace 45.0 MiB, blocks in mappings of their own 6.0 MiB, not of malloc ~4.0 MiB"]);
	assert.match(await text("#memory .legend"), /other anonymous ~10\.0 MiB of 5\.0 GiB mapped/);
	assert.match(await text("#memory-said"), /: heap \+30\.0 MiB, other anonymous ~\+2\.0 MiB$/);
	quiet();
});

// Of a process that has ended: what was seen last, and when; not beside blocks of a later moment.
test("resident_memory_that_was", async () => {
	await open("killed");
	assert.strictEqual(await text("#memory-said"), "last seen at 27.5s");
	assert.deepStrictEqual(await browser.run("[...document.querySelectorAll('#memory .mem-bar')].map((e) => e.getAttribute('aria-label'))"),
		["Mappings: heap 79.0 MiB, other anonymous 10.0 MiB, files 6.9 MiB, stack 132.0 KiB"]);
	quiet();
});

test("ages", async () => {
	await open("asked");
	assert.deepStrictEqual(await texts("#ages tbody th"), ["just now", "700ms to 1.0s", "1.5s to 2.0s", "3.0s to 5.0s", "7.0s to 10.0s", "15.0s to 20.0s", "20.0s to 30.0s", "from 30.0s"]);
	assert.deepStrictEqual(await texts("#ages tbody td:nth-child(2)"), ["4", "744", "1,000", "2,000", "4,200", "9,000", "15,000", "1,000"]);
	await browser.click("#panel-0 .folder");
	assert.match(await attribute("#panel-0 .age-bars", "aria-label"), /^Live blocks by age: 700ms to 1\.0s: 744 blocks, 744\.0 KiB; .*20\.0s to 30\.0s: 15,000 blocks, 14\.6 MiB$/);
	await open("single");
	assert.ok(await browser.run("document.getElementById('ages-panel').hidden"));
	quiet();
});

// ---- size: shares of the page's own time

test("a_stretch_of_ten_thousand_sites", async () => {
	await open("big");
	const ms = await browser.run(async () => {
		const median = (v) => v.sort((a, b) => a - b)[v.length >> 1], choose = [], drag = [];
		const [{responseEnd, domInteractive}] = performance.getEntriesByType("navigation");

		for (let i = 0; i < 11; i++) {
			const from = (10 + i) * 1e9, start = performance.now();

			between.choose(from, from + 300e9, false);
			choose.push(performance.now() - start);
			await new Promise(requestAnimationFrame);
			const again = performance.now();

			between.choose(from, from + 301e9, true);
			await new Promise(requestAnimationFrame);
			drag.push(performance.now() - again);
		}
		return {open: domInteractive - responseEnd, choose: median(choose), drag: median(drag), rows: between.found.rows.length};
	});
	const words = `open ${ms.open.toFixed(1)} ms, choose ${ms.choose.toFixed(1)} ms, drag ${ms.drag.toFixed(1)} ms a frame`;

	console.log("     " + words);
	assert.ok(ms.rows >= 1000, "as many sites as have a history changed");
	assert.ok(ms.choose < ms.open && ms.drag < ms.open / 2, words);
	quiet();
});
