// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// A page of a diff: that it says what it is, which files it is of, and the figures that `diff` prints.
"use strict";

const assert = require("assert");
const path = require("path");
const {spawnSync} = require("child_process");
const {browser, dir, open, quiet, test, text, texts} = require("./harness.js");

const TOOL = path.resolve(dir, "..", "malloctrace");

function tool(...args) {
	const {stdout, status, stderr} = spawnSync(TOOL, args, {encoding: "utf8", cwd: dir});

	assert.strictEqual(status, 0, stderr);
	return stdout;
}

test("a_diff_says_what_it_is", async () => {
	await open("diff");
	assert.strictEqual(await browser.run("document.title"), "diff: before.json → after.json – malloctrace");
	assert.strictEqual(await text("#target"), "diff: before.json → after.json");
	assert.match(await text("#conditions"), /^Before before\.json: redis-server \(1432\), traced 30\.0s until 20\d\d-.*, no losses\s+After after\.json: redis-server \(1432\), traced 30\.0s until /);
	assert.match(await text("#conditions"), /Figures with a sign are changes: \+ grew, - shrank\. Figures without one, and the timeline, are of after\.json\./);
	assert.strictEqual(await text("#timeline-title"), "Over time, in after.json");
	assert.strictEqual(await text("#flame-title"), "Flame graph of change since before.json");
	assert.deepStrictEqual(await texts("#flame-legend > span"), ["holds more", "holds less", "as much of both"]);
	assert.strictEqual(await text("#top-title"), "What changed");
	assert.deepStrictEqual(await texts("#top .top-line .num:not(.quiet)"), ["-6.0 MiB", "+1.0 MiB"]);
	assert.match(await text("#top li:first-child"), /gone, it held 6\.0 MiB/);
	assert.match(await text("#top li:last-child"), /from 31\.0 MiB to 32\.0 MiB/);
	quiet();
});

// The page that the command writes: names of both files, and the figures of the text.
test("a_diff_is_what_diff_prints", async () => {
	const page = path.resolve(dir, "written-diff.html"), words = tool("diff", "before.json", "after.json", "-o", page);
	const [, was, is, change] = /live bytes +(\S+ \S+) -> (\S+ \S+): (\S+ \S+)\n/.exec(words.replace("live-bytes", "live bytes")), [, stacks] = /stacks +(.*), \d+ same/.exec(words);

	await browser.open(page);
	assert.strictEqual(await browser.run("document.title"), "diff: before.json → after.json – malloctrace");
	assert.strictEqual((await texts("#cards .card-value"))[0], change);
	assert.strictEqual((await texts("#cards .card-below"))[0], `${was} → ${is}`);
	assert.ok((await text("#conditions")).includes(`Stacks: ${stacks}.`), stacks);
	// rows: change, kind, before and after of each stack that changed
	const rows = [...words.matchAll(/^ *\d+\. +([+-]\S+ \S+) +(\w+) +(\S+ \S+) -> +(\S+ \S+)$/gm)].map((m) => m.slice(1));

	assert.ok(rows.length >= 2);
	assert.deepStrictEqual(await texts("#top .top-line .num:not(.quiet)"), rows.map(([n]) => n));
	quiet();
});

test("files_of_one_name_are_told_apart", async () => {
	const page = path.resolve(dir, "same-name.html"), first = path.resolve(dir, "before.json");

	tool("diff", "-q", first, "./before.json", "-o", page);
	await browser.open(page);
	assert.strictEqual(await text("#target"), `diff: ${first} → ./before.json`);
	assert.match(await text("#top"), /^No stack holds more or less than it did\.$/);
	assert.strictEqual((await texts("#cards .card-value"))[0], "no change");
	quiet();
});

// A report of a file that was recorded with --older shows all that is live as the text does.
test("older_ones_are_not_all", async () => {
	const json = path.join(__dirname, "..", "golden", "sample-partial-losses.json"), page = path.join(dir, "older.html");
	const report = (...args) => spawnSync(TOOL, ["report", json, ...args], {encoding: "utf8"}).stdout;

	const stdout = report("-T", "100", "--full"), [, table] = /\n[A-Z]+ by (?:live )?bytes ([^]*?)(?:\n\n[A-Z]+[ :]|$)/.exec(stdout);

	report("-q", "-o", page);
	await browser.open(page);
	assert.match(await text("#top-title"), /Top holders/);
	const shown = await texts("#panel-0 tbody tr:not(.detail) > td:nth-child(2)"), want = [...table.matchAll(/^ *\d+\. +(\S+ \S+) /gm)].map((m) => m[1]);

	assert.ok(want.length > 2, stdout);
	assert.deepStrictEqual(shown.map((s) => s.split("±")[0].trim()), want);
	quiet();
});
