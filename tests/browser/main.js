// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Runs the tests: node main.js DIR; TEST= is a regular expression for those whose name matches.
"use strict";

const {Chromium, find} = require("./chromium.js");
const harness = require("./harness.js");

const FILES = ["./tests.js", "./tests_asked.js", "./tests_diff.js", "./tests_heap.js", "./tests_tables.js", "./tests_viewers.js"];

(async () => {
	const only = process.env.TEST ? new RegExp(process.env.TEST) : null;
	let passed = 0, failed = 0, skipped = 0;

	harness.browser = await Chromium.start(find());
	for (const file of FILES)
		require(file);
	for (const {name, f} of harness.tests) {
		if (only && !only.test(name))
			continue;
		try {
			await f();
			passed++;
			console.log("ok   " + name);
		} catch (e) {
			if (e instanceof harness.Skip) {
				skipped++;
				console.log(`skip ${name}: ${e.message}`);
				continue;
			}
			failed++;
			console.log(`FAIL ${name}\n     ${String(e.stack || e).split("\n").slice(0, 12).join("\n     ")}`);
		}
	}
	await harness.browser.stop();
	console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
	process.exit(failed ? 1 : 0);
})();
