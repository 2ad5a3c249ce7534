// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Opens a file in speedscope itself: speedscope.js DIR PROFILE, DIR being the package's dist/release. Prints the
// profiles that its importer found, with their sums, the functions of the first one, and what went wrong.
"use strict";

const fs = require("fs");
const os = require("os");
const path = require("path");
const {Chromium, find} = require("../browser/chromium.js");

async function main(dir, profile) {
	const browser = await Chromium.start(find());
	const temp = fs.mkdtempSync(path.join(os.tmpdir(), "malloctrace-speedscope-")), script = path.join(temp, "profile.js");

	try {
		// the way in which its own command line hands a file over
		fs.writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(path.basename(profile))}, ${JSON.stringify(fs.readFileSync(profile).toString("base64"))})`);
		await browser.send("Page.navigate", {url: `file://${path.resolve(dir)}/index.html#localProfilePath=${script}`});
		await browser.until("document.body && / \\(\\d+\\/\\d+\\)/.test(document.body.innerText)");
		// a table of the functions, with what each holds; behind it are the profiles with their sums
		await browser.key("3");
		await browser.until("document.querySelectorAll('tr').length > 1");
		const rows = await browser.run(() => [...document.querySelectorAll("tr")].map((e) => e.innerText.replace(/\s+/g, " ").trim()));

		rows.filter((l) => /^\d+[a-z]+-[a-z]+[\d,.]+/.test(l)).forEach((l) => console.log("profile: " + l));
		rows.filter((l) => /^[\d.]+ [KMG]?B \(/.test(l)).forEach((l) => console.log("function: " + l));
		browser.complaints.filter((c) => c.startsWith("exception") || c.startsWith("dialog")).forEach((c) => console.log("complaint: " + c));
	} finally {
		await browser.stop();
		fs.rmSync(temp, {recursive: true});
	}
}

main(...process.argv.slice(2)).catch((e) => {
	console.error(e.message);
	process.exit(1);
});
