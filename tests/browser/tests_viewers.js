// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Other programs' pages that open our files.
"use strict";

const assert = require("assert");
const crypto = require("crypto");
const fs = require("fs");
const path = require("path");
const zlib = require("zlib");
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

// ---- our own data, as others read it

test("a_large_profile_is_packed", async () => {
	const page = fs.readFileSync(path.join(dir, "big.html"), "utf8"), packed = /id="data">\n([^<]*)<\/script>/.exec(page)[1];
	const text = zlib.gunzipSync(Buffer.from(packed, "base64")).toString();

	assert.match(text, /^\{\n"schema":"malloctrace\/2",/);
	assert.ok(page.length < text.length / 4, `${page.length} bytes for ${text.length}`);
	await browser.open(path.join(dir, "big.html"));
	assert.strictEqual(await browser.run(async () => [...new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(unpack(byId("data").textContent))))]
		.map((b) => b.toString(16).padStart(2, "0")).join("")), crypto.createHash("sha256").update(text).digest("hex"));
	assert.ok(await browser.run("document.getElementById('data').textContent.length") > 1e6);
});

// Every kind of block that deflate has; matches that reach into themselves, and as far back as they can.
test("unpacking", async () => {
	const noise = Buffer.from(crypto.createHash("shake256", {outputLength: 70000}).update("noise").digest().map((b) => b & 127)).toString("latin1");
	const texts = ["", "a", "a".repeat(100000), "é…𝄞\u2028".repeat(3000), noise, noise.slice(0, 32768) + noise.slice(0, 32768), JSON.stringify(Array.from({length: 20000}, (_, i) => i * i))];

	await browser.open(path.join(dir, "single.html"));
	for (const [i, text] of texts.entries())
		for (const how of [{level: 0}, {level: 1}, {level: 9}, {strategy: zlib.constants.Z_FIXED}, {strategy: zlib.constants.Z_HUFFMAN_ONLY}, {strategy: zlib.constants.Z_RLE}]) {
			const packed = zlib.gzipSync(text, how).toString("base64");

			assert.ok(await browser.run((p, want) => unpack(p) === want, packed, text), `${i} ${JSON.stringify(how)}`);
		}
	// what is not whole is not taken for it
	const half = zlib.gzipSync(texts[6]).subarray(0, 9000).toString("base64");

	assert.match(await browser.run((p) => {
		try {
			return unpack(p);
		} catch (e) {
			return e.message;
		}
	}, half), /not whole/);
});

test("a_page_that_was_cut_says_so", async () => {
	const page = fs.readFileSync(path.join(dir, "big.html"), "utf8"), at = page.indexOf('id="data">') + 5000;

	fs.writeFileSync(path.join(dir, "cut.html"), page.slice(0, at) + page.slice(at + 40000));
	await browser.open(path.join(dir, "cut.html"));
	assert.match(await browser.run("document.querySelector('#main .losses').innerText"), /^The profile in this file cannot be read: it was changed, or is not whole \(.+\)\.$/);
});
