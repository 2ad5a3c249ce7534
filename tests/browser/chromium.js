// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns a headless Chromium and one page in it, over the DevTools protocol on a pair of pipes: JSON messages that end
// in a zero byte. Nothing but node's own modules is needed. What always holds: everything that the page says on its
// console, every exception and every request for another file is kept for the test to look at.
"use strict";

const {spawn, spawnSync} = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const ANSWER_MS = 60000;	// a browser that says nothing for so long is dead

function find() {
	const wanted = process.env.CHROMIUM ? [process.env.CHROMIUM] : NAMES;

	return wanted.find((name) => spawnSync(name, ["--version"], {stdio: "ignore"}).status === 0) || null;
}

// As it is read: a blank that breaks no line is a blank.
function plain(value) {
	if (typeof value === "string")
		return value.replace(/\u00a0/g, " ");
	return Array.isArray(value) ? value.map(plain) : value && typeof value === "object" ? Object.fromEntries(Object.entries(value).map(([k, v]) => [k, plain(v)])) : value;
}

class Chromium {
	static async start(program) {
		const browser = new Chromium();

		browser.dir = fs.mkdtempSync(path.join(os.tmpdir(), "malloctrace-browser-"));
		// its own sandbox cannot be had by root, nor in most containers; it opens our files only
		browser.child = spawn(program, ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
			"--hide-scrollbars", "--force-color-profile=srgb", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe",
			"--user-data-dir=" + browser.dir, "about:blank"], {stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"]});
		browser.waiting = new Map();
		browser.listeners = new Map();
		browser.n = 0;
		browser.rest = "";
		browser.child.stdio[4].setEncoding("utf8");
		browser.child.stdio[4].on("data", (text) => browser.received(text));
		browser.child.on("exit", () => browser.gone());
		browser.child.on("error", () => browser.gone());
		const {targetInfos} = await browser.send("Target.getTargets");
		const page = targetInfos.find((t) => t.type === "page");

		browser.session = (await browser.send("Target.attachToTarget", {targetId: page.targetId, flatten: true})).sessionId;
		for (const domain of ["Page", "Runtime", "Network", "Log"])
			await browser.send(domain + ".enable");
		browser.watch();
		return browser;
	}

	received(text) {
		const messages = (this.rest + text).split("\0");

		this.rest = messages.pop();
		for (const message of messages.map((m) => JSON.parse(m))) {
			const answer = this.waiting.get(message.id);

			if (answer) {
				this.waiting.delete(message.id);
				clearTimeout(answer.timer);
				if (message.error)
					answer.reject(new Error(`${answer.method}: ${message.error.message}`));
				else
					answer.resolve(message.result);
			} else if (message.method) {
				for (const f of this.listeners.get(message.method) || [])
					f(message.params);
			}
		}
	}

	gone() {
		for (const answer of this.waiting.values())
			answer.reject(new Error(`${answer.method}: the browser has ended`));
		this.waiting.clear();
	}

	send(method, params) {
		const id = ++this.n;

		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => reject(new Error(`${method}: no answer from the browser`)), ANSWER_MS);

			this.waiting.set(id, {resolve, reject, method, timer});
			this.child.stdio[3].write(JSON.stringify({id, method, params, sessionId: this.session}) + "\0");
		});
	}

	on(method, f) {
		this.listeners.set(method, [...(this.listeners.get(method) || []), f]);
	}

	once(method) {
		return new Promise((resolve) => this.on(method, resolve));
	}

	// ---- what a page does that it should not

	watch() {
		this.complaints = [];
		this.requests = [];
		this.on("Runtime.consoleAPICalled", (e) => this.complaints.push(`console.${e.type}: ${e.args.map((a) => a.value).join(" ")}`));
		this.on("Runtime.exceptionThrown", (e) => this.complaints.push("exception: " +
			(e.exceptionDetails.exception && e.exceptionDetails.exception.description || e.exceptionDetails.text)));
		// that pixels are read is the test's doing, not the page's
		this.on("Log.entryAdded", (e) => e.entry.text.includes("getImageData") || this.complaints.push(`${e.entry.source}: ${e.entry.text}`));
		this.on("Page.javascriptDialogOpening", (e) => this.complaints.push("dialog: " + e.message));
		const asked = new Map();

		this.on("Network.requestWillBeSent", (e) => {
			asked.set(e.requestId, e.request.url);
			this.requests.push(e.request.url);
		});
		// what the page's policy stops has never gone out
		this.on("Network.loadingFailed", (e) => {
			if (e.blockedReason === "csp")
				this.requests = this.requests.filter((url) => url !== asked.get(e.requestId));
		});
	}

	async open(file, {width = 1280, height = 800, dark = false, hash = ""} = {}) {
		const url = "file://" + path.resolve(file) + hash;

		await this.send("Emulation.setDeviceMetricsOverride", {width, height, deviceScaleFactor: 1, mobile: false});
		await this.colours(dark);
		// the same file with another hash would not be loaded again
		await this.load("about:blank");
		this.complaints = [];
		this.requests = [];
		await this.load(url);
		await this.frame();
		this.requests = this.requests.filter((r) => r !== "file://" + path.resolve(file));
	}

	async load(url) {
		const loaded = this.once("Page.loadEventFired");

		await this.send("Page.navigate", {url});
		await loaded;
	}

	colours(dark) {
		return this.send("Emulation.setEmulatedMedia", {features: [{name: "prefers-color-scheme", value: dark ? "dark" : "light"}]});
	}

	// The value of an expression in the page; a function is called with the arguments, which are copied.
	async run(what, ...args) {
		const expression = typeof what === "function" ? `(${what})(${args.map((a) => JSON.stringify(a)).join(", ")})` : what;
		const {result, exceptionDetails} = await this.send("Runtime.evaluate", {expression, awaitPromise: true, returnByValue: true});

		if (exceptionDetails)
			throw new Error(exceptionDetails.exception ? exceptionDetails.exception.description : exceptionDetails.text);
		return plain(result.value);
	}

	// What was asked for has been drawn.
	frame() {
		return this.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))");
	}

	// Until an expression is true; the page's own frames are the clock.
	async until(expression) {
		const came = await this.run(`new Promise((done) => { let n = 0; const look = () => (${expression}) ? done(true) :
			++n > 600 ? done(false) : requestAnimationFrame(look); look(); })`);

		if (!came)
			throw new Error("never true: " + expression);
	}

	// ---- a reader's hands

	async place(selector) {
		return this.run((s) => {
			const e = document.querySelector(s);

			if (!e)
				throw new Error("no " + s);
			e.scrollIntoView({block: "center"});
			const b = e.getBoundingClientRect();

			return {x: b.x, y: b.y, width: b.width, height: b.height};
		}, selector);
	}

	async mouse(type, x, y, more) {
		await this.send("Input.dispatchMouseEvent", {type, x, y, button: type === "mouseMoved" && !(more && more.buttons) ? "none" : "left",
			clickCount: type === "mouseMoved" ? 0 : 1, ...more});
	}

	async clickAt(x, y) {
		await this.mouse("mouseMoved", x, y);
		await this.mouse("mousePressed", x, y);
		await this.mouse("mouseReleased", x, y);
		await this.frame();
	}

	async click(selector) {
		const b = await this.place(selector);

		await this.clickAt(b.x + b.width / 2, b.y + b.height / 2);
	}

	async key(key, {shift = false} = {}) {
		const text = key === "Enter" ? "\r" : key.length === 1 ? key : undefined;
		const code = {Enter: 13, Escape: 27, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40, Home: 36, End: 35, Tab: 9, Backspace: 8}[key] ||
			key.toUpperCase().charCodeAt(0);

		await this.send("Input.dispatchKeyEvent", {type: "keyDown", key, text, windowsVirtualKeyCode: code, modifiers: shift ? 8 : 0});
		await this.send("Input.dispatchKeyEvent", {type: "keyUp", key, windowsVirtualKeyCode: code});
		await this.frame();
	}

	async type(selector, text) {
		await this.run((s) => {
			const e = document.querySelector(s);

			e.focus();
			e.select();
		}, selector);
		if (text)
			await this.send("Input.insertText", {text});
		else
			await this.key("Backspace");
		// the page waits until nothing is typed any more
		await this.run("new Promise((done) => setTimeout(done, 160))");
		await this.frame();
	}

	async picture(file, {whole = false} = {}) {
		const {data} = await this.send("Page.captureScreenshot", {format: "png", captureBeyondViewport: whole});

		fs.writeFileSync(file, Buffer.from(data, "base64"));
	}

	async stop() {
		const ended = new Promise((resolve) => this.child.exitCode === null ? this.child.on("exit", resolve) : resolve());

		this.session = undefined;
		await this.send("Browser.close").catch(() => this.child.kill());
		await ended;
		fs.rmSync(this.dir, {recursive: true, force: true, maxRetries: 5, retryDelay: 100});
	}
}

module.exports = {Chromium, find};
