// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Tables that are made of several sites, and what leads from them to the flame graph: functions, threads, processes.
"use strict";

const assert = require("assert");
const path = require("path");
const {spawnSync} = require("child_process");
const {attribute, browser, dir, open, opens, quiet, test, text, texts} = require("./harness.js");

async function show(tab) {
	await browser.run((name) => [...document.querySelectorAll("[role=tab]")].find((e) => e.textContent.startsWith(name)).click(), tab);
	return "#" + await browser.run("document.querySelector('[role=tabpanel]:not([hidden])').id");
}

const rowsOf = (panel) => browser.run((p) => [...document.querySelectorAll(`${p} tbody tr:not(.detail)`)].map((tr) => Object.fromEntries([...tr.querySelectorAll("td[data-label]")]
	.map((td) => [td.dataset.label, td.innerText.trim()]))), panel);

// ---- functions

// The rows of `report --view functions`: [live, total, blocks, freed, function]
function reported(file) {
	const {stdout, status, stderr} = spawnSync(path.join(dir, "..", "malloctrace"), ["report", path.join(dir, file), "--view", "functions", "-T", "100"], {encoding: "utf8", env: {...process.env, COLUMNS: "80"}});

	assert.strictEqual(status, 0, stderr);
	return [...stdout.slice(stdout.indexOf("FUNCTIONS")).matchAll(/^ *(\S+ (?:B|KiB|MiB)) +(\S+ (?:B|KiB|MiB)) +(?:-|\S+ (?:B|KiB|MiB)) +(\S+) +(\S+) +\S+ +(\S+(?: \S+)*?)(?:  .*)?$/gm)].map((m) => m.slice(1));
}

test("functions_are_what_report_says", async () => {
	await open("asked");
	const rows = await rowsOf(await show("Functions")), want = reported("asked.json");

	assert.ok(want.length >= 5);
	assert.deepStrictEqual(rows.filter((r) => r.Stacks !== "0").map((r) => [r["Live self"], r["Live total"], r["Blocks self"], r.Freed, r.Function.split("\n")[0]]), want);
	// who only calls others has nothing of its own
	assert.deepStrictEqual(rows.filter((r) => /^call\n/.test(r.Function)).map((r) => [r["Live self"], r["Live total"], r["Blocks total"], r["Calls total"]]), [["0 B", "37.0 MiB", "32,949", "2.19M"]]);
	quiet();
});

// Each stack once: main is in nearly all of them, and a function that calls itself is in its stack twice.
test("totals_count_a_stack_once", async () => {
	await open("recursive");
	const rows = await rowsOf(await show("Functions")), of = (name) => rows.find((r) => r.Function.startsWith(name + "\n"));

	assert.strictEqual(of("call")["Live total"], "37.0 MiB", "it is in one of these stacks three times");
	assert.strictEqual(of("call")["Live self"], "0 B");
	quiet();
});

test("a_function_leads_to_the_flame_graph", async () => {
	await open("asked");
	const panel = await show("Functions");

	await browser.run((p) => [...document.querySelectorAll(`${p} button.link`)].find((e) => e.innerText === "call").click(), panel);
	assert.strictEqual(await browser.run("document.getElementById('flame-search').value"), "/^call$/");
	assert.match(await text("#flame-said"), /^97\.\d% of live bytes match: 37\.0 MiB in \d frames?$/);
	assert.strictEqual((await texts(`${panel} .detail`)).length, 0, "and unfolds nothing");
	await browser.type(`${panel} input`, "redis-server");
	assert.strictEqual((await rowsOf(panel)).every((r) => r.Function.endsWith("redis-server")), true, "the module is found, too");
	await browser.type(`${panel} input`, "_dictExpand");
	await browser.click(`${panel} .folder`);
	assert.match(await text(`${panel} .detail`), /6\.0 MiB\s+self\s+_dictExpand/);
	// what has no name is called by its address there
	await browser.run((p) => [...document.querySelectorAll(`${p} input`)].forEach((e) => e.value = ""), panel);
	await browser.type(`${panel} input`, "[no name]");
	await browser.click(`${panel} button.link`);
	assert.match(await text("#flame-said"), /match: 1\.0 MiB in 1 frame$/);
	quiet();
});

test("functions_of_one_process", async () => {
	await open("sample");
	const panel = await show("Functions"), all = (await rowsOf(panel)).length;

	await browser.run("app.showProcess(1)");
	const rows = await rowsOf(panel);

	assert.ok(rows.length < all);
	assert.deepStrictEqual(rows.filter((r) => r["Live self"] === "1.2 MiB").length, 1);
	quiet();
});

// ---- threads

test("opens_quietly threads", opens("threads"));

test("a_thread_has_its_own_flame_graph", async () => {
	await open("threads");
	assert.match(await text("#panel-0 tbody tr:first-child"), /raxGenericInsert thread redis-server \(1432\)/, "a row says whose it is");
	assert.deepStrictEqual(await texts("#flame-thread option"), ["all", "bio_lazy_free (2 threads)", "bio_lazy_free (1440)", "bio_lazy_free (1441)", "redis-server (1432)"]);
	const panel = await show("Threads");

	assert.strictEqual(await browser.run((p) => !document.querySelector(`${p} .note`), panel), true);
	await browser.run((p) => [...document.querySelectorAll(`${p} tbody tr`)].find((e) => /\b1432\b/.test(e.innerText)).querySelector("button.link").click(), panel);
	assert.strictEqual(await text("#flame-title"), "Flame graph of live bytes, thread redis-server (1432)");
	assert.strictEqual(await text("#flame-path"), "31.0 MiB in all");
	assert.strictEqual(await browser.run("document.getElementById('flame-thread').value"), "0:1432:redis-server");
	await browser.run(() => {
		const select = document.getElementById("flame-thread");

		select.value = select.options[1].value;
		select.dispatchEvent(new Event("change"));
	});
	assert.strictEqual(await text("#flame-title"), "Flame graph of live bytes, thread bio_lazy_free (2 threads)");
	assert.strictEqual(await text("#flame-path"), "7.0 MiB in all", "38.0 MiB less those of the first");
	// a site of another thread leaves it
	await browser.click("#top li:first-child button");
	await browser.click(".unfolded > button");
	assert.strictEqual(await text("#flame-title"), "Flame graph of live bytes");
	assert.match(await text("#flame-path"), /raxGenericInsert 31\.0 MiB, 81\.\d%$/);
	quiet();
});

test("without_threads_it_is_said_how", async () => {
	await open("asked");
	const panel = await show("Threads");

	assert.ok(await browser.run("document.getElementById('flame-thread-label').hidden"));
	assert.strictEqual(await text(`${panel} .note`), "The stacks of all threads are counted together here. For a flame graph of each thread, record with --by thread.");
	quiet();
});

test("a_process_alone_from_its_row", async () => {
	await open("sample");
	const panel = await show("Processes");

	await browser.click(`${panel} tbody tr:nth-child(2) .folder`);
	await browser.click(`${panel} .unfolded > button`);
	assert.strictEqual(await text("#target"), "table?worker;1 (1501) [ended]");
	assert.strictEqual(await text("#flame-path"), "1.2 MiB in all");
	assert.strictEqual(await attribute("#tab-2", "aria-selected"), "true");
	quiet();
});

// ---- source

test("a_frame_unfolds_its_source", async () => {
	await open("source");
	await browser.click("#top li:first-child button");
	const frame = await browser.run(() => [...document.querySelectorAll(".stack button.link")].map((e) => e.innerText));

	assert.deepStrictEqual(frame, ["call"], "the only one whose source is there");
	await browser.click(".stack button.link");
	assert.deepStrictEqual(await texts(".source tbody td.code"), ["void call(client *c)", "{", 'if (c->n < 2 && "</script><b>x</b>")', "c->cmd->proc(c);", "}"]);
	assert.deepStrictEqual(await browser.run(() => [...document.querySelectorAll(".source tr.here td")].map((e) => e.innerText.trim())), ["37.0 MiB", "32,949", "2.19M", "3560", "c->cmd->proc(c);"]);
	await browser.click(".stack button.link");
	assert.strictEqual((await texts(".source")).length, 0, "and folds it");
	quiet();
});

// ---- a whole machine

// What lives is apart from what was held at an end.
test("machine_tells_who_ended", async () => {
	await open("machine");
	assert.strictEqual((await texts("#cards .card-value"))[0], "115.4 MiB");
	assert.match(await text("#conditions"), /Processes that ended: 15, held 1\.2 MiB at exit/);
	const panel = await show("Processes");

	await browser.type(`${panel} input`, "nginx.service");
	await browser.click(`${panel} .folder`);
	assert.match(await text(`${panel} .facts`), /control group \/system\.slice\/nginx\.service/);
	await browser.click(`${panel} .unfolded > button`);
	quiet();
});
