// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns how the page is built. What always holds: elements are made from tag names and text, never from markup, so
// that a name which looks like markup stays a name.
"use strict";

const byId = (id) => document.getElementById(id);

// el("td", {class: "num", title: "x", onclick: f}, "text", otherElement, null)
function el(tag, props, ...children) {
	const e = document.createElement(tag);

	for (const [key, value] of Object.entries(props || {})) {
		if (value === null || value === undefined || value === false)
			continue;
		if (key.startsWith("on"))
			e.addEventListener(key.slice(2), value);
		else
			e.setAttribute(key, value === true ? "" : value);
	}
	e.append(...children.flat().filter((c) => c !== null && c !== undefined));
	return e;
}

function svg(tag, attributes, ...children) {
	const e = document.createElementNS("http://www.w3.org/2000/svg", tag);

	for (const [key, value] of Object.entries(attributes || {}))
		e.setAttribute(key, value);
	e.append(...children);
	return e;
}

// A bar that fills `share` of its cell. By the object model: the policy forbids style attributes.
function bar(share, kind) {
	const fill = el("span", {class: "bar-fill" + (kind ? " " + kind : "")});

	fill.style.width = Math.max(share > 0 ? 1 : 0, Math.min(100, share * 100)) + "%";
	return el("span", {class: "bar-track", "aria-hidden": "true"}, fill);
}

// What a screen reader should say now.
function announce(text) {
	byId("live").textContent = text;
}

// A colour of the style sheet, for what is painted.
function colour(name) {
	return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

// Calls f at most once a frame.
function oncePerFrame(f) {
	let asked = false;

	return () => {
		if (asked)
			return;
		asked = true;
		requestAnimationFrame(() => {
			asked = false;
			f();
		});
	};
}

function later(f, ms) {
	let timer = 0;

	return (...args) => {
		clearTimeout(timer);
		timer = setTimeout(() => f(...args), ms);
	};
}
