// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Other programs' pages that open our files.
"use strict";

const assert = require("assert");
const fs = require("fs");
const path = require("path");
const {Skip, browser, dir, test} = require("./harness.js");

const DH_VIEW = "/usr/libexec/valgrind/dh_view.html";

test("dh_view opens .dhat.json", async () => {
	if (!fs.existsSync(DH_VIEW))
		throw new Skip(`there is no ${DH_VIEW} (valgrind)`);
	const file = path.join(dir, "sample.dhat.json"), data = JSON.parse(fs.readFileSync(file, "utf8"));

	await browser.open(DH_VIEW);
	// what its file chooser does with a file
	const shown = await browser.run((content) => {
		gFilename = "sample.dhat.json";
		gData = JSON.parse(content);
		buildTree();
		displayTree(0, 0, 0);
		return document.querySelector(".error") ? "error: " + document.querySelector(".error").innerText : gMainDiv.innerText;
	}, JSON.stringify(data));
	const total = data.pps.reduce((n, p) => n + p.tb, 0);

	assert.ok(!shown.startsWith("error"), shown.slice(0, 400));
	assert.match(shown, new RegExp(`Total:\\s+${total.toLocaleString("en-US")} bytes`));
	// a function of the largest program point
	const largest = data.pps.reduce((a, b) => (b.tb > a.tb ? b : a)), frame = data.ftbl[largest.fs[1]];

	assert.ok(shown.includes(frame), `no ${frame} in ${shown.slice(0, 2000)}`);
	await browser.picture(path.join(dir, "dh_view.png"));
});

test("a_page_that_was_cut_says_so", async () => {
	const page = fs.readFileSync(path.join(dir, "big.html"), "utf8"), at = page.indexOf('id="data">') + 5000;

	fs.writeFileSync(path.join(dir, "cut.html"), page.slice(0, at) + page.slice(at + 40000));
	await browser.open(path.join(dir, "cut.html"));
	assert.match(await browser.run("document.querySelector('#main .losses').innerText"), /^The profile in this file cannot be read: it was changed, or is not whole \(.+\)\.$/);
});
