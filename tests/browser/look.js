// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Pictures of a report for a person to look at: node look.js FILE.html DIR
"use strict";

const path = require("path");
const {Chromium, find} = require("./chromium.js");

(async () => {
	const [file, dir] = process.argv.slice(2), name = path.basename(file, ".html");
	const browser = await Chromium.start(find());

	for (const [suffix, size] of [["light", {}], ["dark", {dark: true}], ["narrow", {width: 420, height: 900}], ["narrow-dark", {width: 420, height: 900, dark: true}],
		["large", {width: 1920, height: 1080}], ["large-dark", {width: 1920, height: 1080, dark: true}]]) {
		await browser.open(file, size);
		await browser.picture(path.join(dir, `${name}-${suffix}.png`));
		await browser.picture(path.join(dir, `${name}-${suffix}-whole.png`), {whole: true});
		for (const complaint of browser.complaints)
			console.log(complaint);
	}
	await browser.stop();
})();
