// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns the list of tests, and a reader's eyes: what a test of a report asks for again and again. The browser is there
// before a file of tests is read.
"use strict";

const assert = require("assert");
const path = require("path");

const dir = process.argv[2];
const tests = [];
const harness = {browser: null};

class Skip extends Error {}

function test(name, f) {
	tests.push({name, f});
}

const open = (name, size) => harness.browser.open(path.join(dir, name + ".html"), size);
const text = (selector) => harness.browser.run((s) => document.querySelector(s).innerText.trim(), selector);
const texts = (selector) => harness.browser.run((s) => [...document.querySelectorAll(s)].map((e) => e.innerText.trim()), selector);
const attribute = (selector, name) => harness.browser.run((s, n) => document.querySelector(s).getAttribute(n), selector, name);
const quiet = () => assert.deepStrictEqual([harness.browser.complaints, harness.browser.requests], [[], []], "the page complains, or asks for something");

// The middle of a function on the canvas, in the window.
function whereIs(name) {
	return harness.browser.run((wanted) => {
		document.getElementById("flame-panel").scrollIntoView();
		const {picture} = flame, {tree} = picture, box = picture.canvas.getBoundingClientRect();
		const node = tree.fn.findIndex((fn, i) => fn >= 0 && fnName[fn] === wanted && picture.placeOf(i));
		const place = picture.placeOf(node);

		return {x: box.x + place.x + place.width / 2, y: box.y + place.y + picture.rowHeight / 2, width: place.width};
	}, name);
}

const pixel = (at) => harness.browser.run(({x, y}) => {
	const box = flame.picture.canvas.getBoundingClientRect();

	return [...flame.picture.context.getImageData(x - box.x, y - box.y, 1, 1).data].slice(0, 3).join(" ");
}, at);

async function hoverAway() {
	await harness.browser.mouse("mouseMoved", 2, 2);
	await harness.browser.frame();
}

const column = (n, panel = 0) => texts(`#panel-${panel} tbody tr:not(.detail) > td:nth-child(${n})`);

const opens = (name) => async () => {
	for (const dark of [false, true]) {
		await open(name, {dark});
		assert.strictEqual(await attribute("html", "data-ready"), "yes");
		assert.strictEqual(await attribute("html", "data-theme"), dark ? "dark" : "light");
		await harness.browser.picture(path.join(dir, `${name}-${dark ? "dark" : "light"}.png`));
		assert.deepStrictEqual(await cut(), []);
		quiet();
		for (const [size, width, height] of [["narrow", 420, 900], ["large", 1920, 1080]]) {
			await open(name, {dark, width, height});
			assert.ok(await harness.browser.run((w) => document.documentElement.scrollWidth <= w, width), `wider than a ${size} window`);
			await harness.browser.picture(path.join(dir, `${name}-${size}-${dark ? "dark" : "light"}.png`));
			assert.deepStrictEqual(await cut(), [], `cut in a ${size} window`);
			quiet();
		}
	}
};

// Words that must be whole: figures of the whole, titles, buttons.
const cut = () => harness.browser.run(() => [...document.querySelectorAll(".card-value, .card-below, h2, button:not(.top-row):not(.site-name), .tick")]
	.filter((e) => e.clientWidth && e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent));

Object.assign(harness, {tests, attribute, column, dir, hoverAway, open, opens, pixel, quiet, Skip, test, text, texts, whereIs});
module.exports = harness;
