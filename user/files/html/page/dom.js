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

// ---- figures as text

// Owns figures as text, in the words of the plain report: never "0%" for something, never "100%" for less than all.

const NS_PER_S = 1e9;

function exact(n) {
	return Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

const NO_BREAK = "\u00a0";	// a unit stays with its number

// As a report writes them: "1.0 MiB", not "1008 KiB".
function bytes(n) {
	const sign = n < 0 ? "-" : "";
	let unit = -1;

	n = Math.abs(n);
	if (n < 1024)
		return sign + Math.round(n) + NO_BREAK + "B";
	do {
		n /= 1024;
		unit++;
	} while (n >= 999.95 && unit < 5);
	return sign + n.toFixed(1) + NO_BREAK + "KMGTPE"[unit] + "iB";
}

function count(n) {
	let unit = -1;

	if (n < 100000)
		return exact(n);
	do {
		n /= 1000;
		unit++;
	} while (n >= 999.95 && unit < 5);
	return n.toFixed(n < 9.995 ? 2 : 1) + "kMGTPE"[unit];
}

const SPANS = [	// below, big unit, its sign, small unit, its sign
	[1e3, 1, "ns"], [1e6, 1e3, "µs"], [1e9, 1e6, "ms"], [60e9, 1e9, "s", 1e8],
	[3600e9, 60e9, "m", 1e9, "s"], [86400e9, 3600e9, "h", 60e9, "m"], [Infinity, 86400e9, "d", 3600e9, "h"],
];

function duration(ns) {
	if (!ns)
		return "0s";
	for (const [below, big, sign, small, smallSign] of SPANS) {
		const v = Math.round(ns / (small || big)) * (small || big);

		if (v >= below)
			continue;
		if (!small)
			return v / big + sign;
		if (!smallSign)
			return (v / big).toFixed(1) + sign;
		return Math.floor(v / big) + sign + String(Math.round(v % big / small)).padStart(2, "0") + smallSign;
	}
}

// words(part): of what is neither nothing nor all
function partWords(part, whole, words) {
	return !part || !whole ? "0%" : part >= whole ? "100%" : words(part / whole);
}

const share = (part, whole) => partWords(part, whole, (x) => {
	const tenths = Math.min(Math.round(x * 1000), 999);

	return tenths ? (tenths / 10).toFixed(1) + "%" : "<0.1%";
});

const percent = (part, whole) => partWords(part, whole, (x) => {
	const n = Math.round(x * 100);

	return n < 1 ? "<1%" : n > 99 ? ">99%" : n + "%";
});

function rate(n, ns) {
	if (!ns)
		return "–";
	const r = n * NS_PER_S / ns;
	return r >= 10 ? count(Math.round(r)) + "/s" : r >= 0.05 || !n ? r.toFixed(1) + "/s" : "<0.1/s";
}

function plural(n, word, many) {
	return exact(n) + " " + (n === 1 ? word : many || word + "s");
}

function signed(n, words) {
	return (n > 0 ? "+" : "") + words(n);
}

// "2026-11-14 23:59:02", in the reader's time zone
function wallTime(ms) {
	const d = new Date(ms), two = (n) => String(n).padStart(2, "0");

	return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ` +
		`${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}
