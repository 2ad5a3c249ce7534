// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns which threads the flame graph can show alone: those of the processes that are shown, if sites were kept apart by
// thread (--by thread); and all that have one name, as of a pool, together.

const BY_THREAD = SITES.some((s) => s.tid);

// [{key, words, takes(site)}], the most calls first. A key is also that of a row of the table of threads.
function threadChoices() {
	const found = new Map(), names = new Map(), calls = (s) => counter(s.c, "alloc_calls");
	const add = (map, key, s, more) => {
		const choice = map.get(key) || {key, calls: 0, process: s.process, tids: new Set(), ...more};

		choice.calls += calls(s);
		choice.tids.add(s.tid);
		map.set(key, choice);
	};

	for (const s of SITES.filter((site) => site.tid && isShown(site.process))) {
		add(found, threadKey(s.process, s.tid, s.thread), s, {name: s.thread || "?", takes: (x) => x.process === s.process && x.tid === s.tid && x.thread === s.thread});
		if (s.thread)
			add(names, `${s.process} ${s.thread}`, s, {name: s.thread, takes: (x) => x.process === s.process && x.thread === s.thread});
	}
	const where = ({process}) => PROCESSES.length > 1 && shown.process < 0 ? `, ${processName(PROCESSES[process])}` : "";

	return [...found.values(), ...[...names.values()].filter(({tids}) => tids.size > 1)].sort((a, b) => b.calls - a.calls)
		.map(({key, name, tids, takes, ...more}) => ({key, takes, words: `${name} (${tids.size > 1 ? plural(tids.size, "thread") : [...tids][0]})${where(more)}`}));
}

// "3:1234:worker"; a process is its number among all, and a thread that was renamed has a key for each name.
function threadKey(process, tid, name) {
	return `${process}:${tid}:${name || ""}`;
}

// ---- the call tree

// Owns the call tree that the flame graph draws. Nodes are numbers into flat arrays; node 0 is the root, and a parent's
// number is always smaller than its children's, so that one walk backwards adds up all weights.

class CallTree {
	// folded: without the frames of libraries and runtimes; each stack keeps the one that it is named by
	constructor(sites, calleeFirst, folded) {
		this.fn = [-1];
		this.parent = [-1];
		this.depth = [0];
		this.frame = [-1];	// the first that was met: where its source is
		this.firstChild = [-1];
		this.nextSibling = [-1];
		this.sites = sites;
		this.leaf = new Int32Array(sites.length);	// the node of each site
		this.index = new Map();
		this.calleeFirst = calleeFirst;
		this.stackOf = folded ? (site) => site.stack.filter((f, i) => !IN_LIBRARY[f] || i === site.telling) : (site) => site.stack;
		if (calleeFirst)
			this.addReversed();
		else
			this.add();
		this.index = null;
		this.total = new Float64Array(this.fn.length);
		this.net = null;
		this.sorted = new Map();
		this.height = this.depth.reduce((a, b) => Math.max(a, b), 0) + 1;
	}

	get size() {
		return this.fn.length;
	}

	child(node, fn, frame) {
		const key = node * 4194304 + fn;	// fewer functions than 2^22, fewer nodes than 2^31: exact
		let found = this.index.get(key);

		if (found === undefined) {
			found = this.fn.push(fn) - 1;
			this.parent.push(node);
			this.depth.push(this.depth[node] + 1);
			this.frame.push(frame);
			this.firstChild.push(-1);
			this.nextSibling.push(this.firstChild[node]);
			this.firstChild[node] = found;
			this.index.set(key, found);
		}
		return found;
	}

	// What stands above a stack: the process, if there are several, and the kind of growth.
	rootOf(site) {
		let node = 0;

		if (PROCESSES.length > 1 && shown.process < 0)
			node = this.child(node, fnOf("p" + site.process, processName(PROCESSES[site.process]), -1), -1);
		if (DATA.growth)
			node = this.child(node, fnOf("k" + site.via, site.via, -1), -1);
		return node;
	}

	noStack(node, site) {
		return this.child(node, site.evicted_stacks ? fnOf("evicted", "(evicted)", -1) : fnOf("none", "[no stack]", -1), -1);
	}

	add() {
		const at = [];	// the node of each frame of the site before, from the root
		let last = null, before = [];

		this.sites.forEach((site, i) => {
			const stack = this.stackOf(site), n = stack.length;
			let k = 0;

			// what stands above differs by site
			if (last && last.process === site.process && !DATA.growth)
				while (k < n && k < before.length && stack[n - 1 - k] === before[before.length - 1 - k])
					k++;
			let node = k ? at[k - 1] : this.rootOf(site);

			for (; k < n; k++)
				at[k] = node = this.child(node, frameFn[stack[n - 1 - k]], stack[n - 1 - k]);
			this.leaf[i] = n ? node : this.noStack(node, site);
			last = site;
			before = stack;
		});
	}

	addReversed() {
		this.sites.forEach((site, i) => {
			let node = this.rootOf(site);

			for (const f of this.stackOf(site))
				node = this.child(node, frameFn[f], f);
			this.leaf[i] = site.stack.length ? node : this.noStack(node, site);
		});
	}

	// change: of what goes up and down, by how much; of() is its size then
	weigh(of, change) {
		this.sum(this.total, of);
		this.net = change ? this.sum(new Float64Array(this.size), change) : null;
		this.sorted.clear();
	}

	sum(into, of) {
		const {parent, leaf} = this;

		into.fill(0);
		this.sites.forEach((site, i) => into[leaf[i]] += of(site));
		for (let i = into.length - 1; i > 0; i--)
			into[parent[i]] += into[i];
		return into;
	}

	// Those that weigh something, the heaviest first. Sorted when they are first looked at: most never are.
	children(node) {
		let list = this.sorted.get(node);

		if (!list) {
			list = [];
			for (let c = this.firstChild[node]; c >= 0; c = this.nextSibling[c])
				if (this.total[c] > 0)
					list.push(c);
			list.sort((a, b) => this.total[b] - this.total[a] || (fnName[this.fn[a]] < fnName[this.fn[b]] ? -1 : 1));
			this.sorted.set(node, list);
		}
		return list;
	}

	self(node) {
		return this.children(node).reduce((n, c) => n - this.total[c], this.total[node]);
	}

	// From the root down to node.
	path(node) {
		const path = [];

		for (; node >= 0; node = this.parent[node])
			path.push(node);
		return path.reverse();
	}

	// What lies in or below functions that match, each byte once.
	matched(byFn) {
		const covered = new Uint8Array(this.size);
		let weight = 0, nodes = 0;

		for (let i = 1; i < this.size; i++) {
			const hit = byFn[this.fn[i]];

			covered[i] = covered[this.parent[i]] || hit;
			if (hit && this.total[i] > 0) {
				nodes++;
				if (!covered[this.parent[i]])
					weight += this.total[i];
			}
		}
		return {weight, nodes};
	}
}

// ---- the picture

// Owns the picture of a call tree on a canvas. What always holds: the canvas is no larger than what is seen of it, and
// only nodes that are seen are visited: what is narrower than half a pixel is not entered, what is scrolled away is not painted.

class FlamePicture {
	constructor(canvas, scroll, space) {
		this.canvas = canvas;
		this.scroll = scroll;
		this.space = space;
		this.context = canvas.getContext("2d");
		this.rowHeight = 20;
		this.tree = null;
		this.zoom = 0;
		this.chosen = 0;	// by the keyboard, or the last click
		this.hovered = -1;
		this.rootAtBottom = false;
		this.matches = null;	// by function
		this.rows = [];
		this.tall = false;	// on paper there is no scrolling
	}

	show(tree) {
		this.tree = tree;
		this.zoom = this.chosen = 0;
		this.hovered = -1;
		this.colours = null;
	}

	// ---- layout: for each depth the nodes that are wide enough, from the left: [node, x, width, node, ...]

	layout(width) {
		const {tree} = this, path = tree.path(this.zoom), rows = path.map((node) => [node, 0, width]);
		const least = 0.5;
		let row = rows[rows.length - 1];

		while (row.length) {
			const next = [];

			for (let i = 0; i < row.length; i += 3) {
				const node = row[i], scale = tree.total[node] ? row[i + 2] / tree.total[node] : 0;
				let x = row[i + 1];

				for (const c of tree.children(node)) {
					const w = tree.total[c] * scale;

					// the others are narrower still
					if (w < least)
						break;
					next.push(c, x, w);
					x += w;
				}
			}
			if (next.length)
				rows.push(next);
			row = next;
		}
		this.rows = rows;
		this.above = path.length - 1;	// rows of callers of what is zoomed to
	}

	get height() {
		return this.rows.length * this.rowHeight + 1;
	}

	rowTop(depth) {
		return (this.rootAtBottom ? this.rows.length - 1 - depth : depth) * this.rowHeight;
	}

	// ---- colours: a hue for each module, a shade for each function

	// The modules by weight get the hues that are told apart best.
	prepareColours() {
		const {tree} = this, weight = new Map(), dark = document.documentElement.dataset.theme === "dark";
		const hues = [28, 205, 140, 280, 48, 175, 335, 95, 235, 0];

		for (let i = 1; i < tree.size; i++) {
			const module = fnModule[tree.fn[i]];

			weight.set(module, (weight.get(module) || 0) + tree.total[i]);
		}
		this.modules = [...weight.keys()].filter((m) => m >= 0).sort((a, b) => weight.get(b) - weight.get(a));
		this.hue = new Map(this.modules.map((m, i) => [m, hues[i % hues.length]]));
		this.dark = dark;
		this.colours = new Array(fnName.length);
		this.changes = new Map();
		this.paint = {ink: dark ? "#f1f3f5" : "#1b1f24", panel: colour("panel"), line: colour("panel"), hit: colour("hit"), hitInk: colour("hit-ink"),
			dim: colour("dim"), dimInk: colour("quiet"), focus: colour("ink"), root: colour("root")};
	}

	moduleColour(module, shade, turn) {
		if (!this.hue.has(module))
			return this.paint.root;
		const hue = this.hue.get(module) + turn;

		return this.dark ? `hsl(${hue} 42% ${34 + shade}%)` : `hsl(${hue} 82% ${75 + shade}%)`;
	}

	colourOf(fn) {
		if (fn < 0)
			return this.paint.root;
		if (!this.colours[fn]) {
			let h = 0;

			for (const c of fnName[fn])
				h = (h * 31 + c.codePointAt(0)) | 0;
			this.colours[fn] = this.moduleColour(fnModule[fn], (h & 7) - 3, (h >> 3 & 15) - 8);
		}
		return this.colours[fn];
	}

	// What grew is red, what shrank is blue; what did both is paler, down to grey. part: -1 to 1; shade: 0 to 3
	changeColour(part, shade) {
		const step = Number.isFinite(part) ? Math.round(Math.max(-1, Math.min(1, part)) * 8) : 0, key = step * 4 + shade;
		const strength = Math.abs(step) / 8, hue = step < 0 ? 212 : 8;

		if (!this.changes.has(key))
			this.changes.set(key, this.dark ? `hsl(${hue} ${10 + 48 * strength}% ${31 + 8 * strength + shade * 1.4}%)` :
				`hsl(${hue} ${8 + 78 * strength}% ${88 - 13 * strength - shade * 1.6}%)`);
		return this.changes.get(key);
	}

	// ---- painting

	nameOf(node) {
		return node ? fnName[this.tree.fn[node]] : "all";
	}

	draw() {
		const {canvas, context: c, scroll, rowHeight} = this, ratio = window.devicePixelRatio || 1;
		let width = scroll.clientWidth;

		if (!this.colours)
			this.prepareColours();
		this.layout(width);
		this.space.style.height = this.height + "px";
		// a scroll bar may have come or gone
		if (scroll.clientWidth !== width) {
			width = scroll.clientWidth;
			this.layout(width);
		}
		const height = this.tall ? Math.min(this.height, 4000) : Math.min(this.height, Math.max(scroll.clientHeight, rowHeight));

		if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
			canvas.width = Math.round(width * ratio);
			canvas.height = Math.round(height * ratio);
			canvas.style.width = width + "px";
			canvas.style.height = height + "px";
		}
		this.top = this.tall ? 0 : scroll.scrollTop;
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		c.fillStyle = this.paint.panel;
		c.fillRect(0, 0, width, height);
		c.font = "12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";
		c.textBaseline = "middle";
		this.charWidth = c.measureText("0").width;
		this.rows.forEach((row, depth) => {
			const y = this.rowTop(depth) - this.top;

			if (y + rowHeight >= 0 && y <= height)
				this.drawRow(row, depth, y);
		});
	}

	drawRow(row, depth, y) {
		const {context: c, rowHeight, tree} = this;

		for (let i = 0; i < row.length; i += 3) {
			const node = row[i], x = row[i + 1], w = row[i + 2], fn = tree.fn[node];
			const hit = this.matches && fn >= 0 && this.matches[fn], dim = this.matches && !hit;

			c.globalAlpha = depth < this.above ? 0.55 : 1;
			c.fillStyle = hit ? this.paint.hit : dim ? this.paint.dim : tree.net ? this.changeColour(tree.net[node] / tree.total[node], fn & 3) : this.colourOf(fn);
			c.fillRect(x, y, Math.max(w - (w > 3 ? 1 : 0), 0.5), rowHeight - 1);
			c.globalAlpha = 1;
			if (w > 3 * this.charWidth) {
				c.fillStyle = hit ? this.paint.hitInk : dim ? this.paint.dimInk : this.paint.ink;
				this.drawName(this.nameOf(node), x + 4, y + rowHeight / 2, w - 9);
			}
			if (node === this.chosen && document.activeElement === this.canvas || node === this.hovered) {
				c.strokeStyle = this.paint.focus;
				c.lineWidth = node === this.hovered ? 1 : 2;
				c.strokeRect(x + 1, y + 1, Math.max(w - 3, 1), rowHeight - 3);
			}
		}
	}

	drawName(name, x, y, room) {
		const n = Math.floor(room / this.charWidth);

		if (n < 2)
			return;
		if (name.length > n)
			name = shortName(name);
		if (name.length > n)
			name = lastPart(name);
		const text = name.length <= n ? name : name.slice(0, n - 1) + "…";

		// other scripts are wider than the font's digits
		if (/^[\x20-\x7e…]*$/.test(text))
			this.context.fillText(text, x, y);
		else
			this.context.fillText(text, x, y, room);
	}

	// ---- finding

	// The node under a point of the canvas; -1: none.
	at(x, y) {
		const line = Math.floor((y + this.top) / this.rowHeight);
		const depth = this.rootAtBottom ? this.rows.length - 1 - line : line, row = this.rows[depth];

		for (let i = 0; row && i < row.length; i += 3)
			if (x >= row[i + 1] && x < row[i + 1] + row[i + 2])
				return row[i];
		return -1;
	}

	// Where a node is painted: {x, y, width} on the canvas; null: it is too narrow, or not part of what is zoomed to.
	placeOf(node) {
		const depth = this.tree.depth[node], row = this.rows[depth];

		for (let i = 0; row && i < row.length; i += 3)
			if (row[i] === node)
				return {x: row[i + 1], y: this.rowTop(depth) - this.top, width: row[i + 2]};
		return null;
	}

	neighbour(node, step) {
		const row = this.rows[this.tree.depth[node]] || [];

		for (let i = 0; i < row.length; i += 3)
			if (row[i] === node)
				return i + 3 * step >= 0 && i + 3 * step < row.length ? row[i + 3 * step] : node;
		return node;
	}

	// Scrolls so that the node can be seen.
	reveal(node) {
		const top = this.rowTop(this.tree.depth[node]), {scroll, rowHeight} = this;

		if (top < scroll.scrollTop)
			scroll.scrollTop = top;
		else if (top + rowHeight > scroll.scrollTop + scroll.clientHeight)
			scroll.scrollTop = top + rowHeight - scroll.clientHeight;
	}
}
