// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
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
