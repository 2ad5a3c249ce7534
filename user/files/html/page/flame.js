// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
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
