// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns what a reader does to the flame graph: weigh by something else, zoom, search, walk with the keyboard, hover.

const flame = (() => {
	const picture = new FlamePicture(byId("flame"), byId("flame-scroll"), byId("flame-space"));
	const trees = new Map();
	const state = {metric: DATA.metric, calleeFirst: false, folded: true, search: "", thread: null};
	let tree = null, whole = 0, before = DATA.metric;

	const redraw = oncePerFrame(() => tree && picture.draw());
	const unit = () => DATA.metrics.find(([name]) => name === state.metric)[1];
	const weightWords = (n) => MARK + (unit() === "bytes" ? bytes(n) : plural(n, unit().slice(0, -1)));

	// Of a change: which way; what went both ways is told apart.
	function nodeWeight(node) {
		const total = tree.total[node];

		if (!tree.net)
			return weightWords(total);
		const net = tree.net[node], up = (total + net) / 2, down = (total - net) / 2;

		return MARK + signed(net, bytes) + (up && down ? ` (${signed(up, bytes)} and ${signed(-down, bytes)})` : "");
	}

	// ---- what is shown

	function treeNow() {
		const {thread} = state, key = `${shown.process} ${thread ? thread.key : ""} ${state.calleeFirst} ${state.folded}`;
		let found = trees.get(key);

		if (!found) {
			found = new CallTree(SITES.filter((s) => isShown(s.process) && (!thread || thread.takes(s))), state.calleeFirst, state.folded);
			trees.set(key, found);
		}
		return found;
	}

	// Other processes have other threads; one that is still there stays chosen.
	function listThreads() {
		const choices = BY_THREAD ? threadChoices() : [], select = byId("flame-thread");

		state.thread = state.thread && choices.find(({key}) => key === state.thread.key) || null;
		byId("flame-thread-label").hidden = !choices.length;
		select.replaceChildren(el("option", {value: ""}, "all"), ...choices.map(({key, words}) => el("option", {value: key}, words)));
		select.value = state.thread ? state.thread.key : "";
		select.onchange = () => {
			state.thread = choices.find(({key}) => key === select.value) || null;
			draw();
			announce(byId("flame-title").textContent);
		};
	}

	function show() {
		listThreads();
		draw();
	}

	function draw() {
		tree = treeNow();
		tree.weigh(WEIGHT[state.metric], CHANGE[state.metric]);
		whole = tree.total[0];
		picture.show(tree);
		byId("flame-title").textContent = (state.metric === "between" ? `Flame graph of the change, ${between.words()}` : "Flame graph of " + METRIC_WORDS[state.metric]) +
			(state.thread ? `, thread ${state.thread.words}` : "");
		search();
		zoomTo(0);
	}

	function zoomTo(node) {
		picture.zoom = picture.chosen = node;
		picture.draw();
		if (picture.rootAtBottom) {
			byId("flame-scroll").scrollTop = picture.height;
			picture.draw();
		}
		byId("flame-reset").disabled = !node;
		drawPath();
		drawLegend();
		said();
	}

	// The way from the root to what is zoomed to: each part leads back there.
	function drawPath() {
		const path = tree.path(picture.zoom), box = byId("flame-path");

		if (!picture.zoom) {
			box.replaceChildren(el("span", {class: "quiet"}, whole ? `${nodeWeight(0)} in all` :
				`Nothing to draw: no ${METRIC_WORDS[state.metric]}`));
			return;
		}
		const start = Math.max(0, path.length - 5);

		box.replaceChildren(...(start ? ["… "] : []), ...path.slice(start).flatMap((node, i) => [i ? " › " : "",
			el("button", {type: "button", class: "link name mono", onclick: () => zoomTo(node)}, picture.nameOf(node))]),
			` ${nodeWeight(picture.zoom)}, ${share(tree.total[picture.zoom], whole)}`);
	}

	// Of a change the colours mean something else.
	function drawLegend() {
		if (tree.net) {
			byId("flame-legend").replaceChildren(...[[1, "holds more"], [-1, "holds less"], [0, "as much of both"]].map(([part, words]) => {
				const swatch = el("i", {class: "swatch"});

				swatch.style.background = picture.changeColour(part, 1);
				return el("span", null, swatch, words);
			}));
			return;
		}
		byId("flame-legend").replaceChildren(...picture.modules.slice(0, 8).map((module) => {
			const swatch = el("i", {class: "swatch"});

			swatch.style.background = picture.moduleColour(module, 0, 0);
			return el("span", {class: "name", title: DATA.modules[module]}, swatch, basename(DATA.modules[module]));
		}), picture.modules.length > 8 ? `and ${picture.modules.length - 8} more` : "");
	}

	// ---- searching

	function search() {
		const text = state.search, input = byId("flame-search"), matches = text ? matcherOf(text) : null;

		input.setAttribute("aria-invalid", String(!!text && !matches));
		picture.matches = matches ? matchFunctions(matches) : null;
		if (text && !matches)
			return "this is no valid regular expression";
		if (!matches)
			return "";
		const {weight, nodes} = tree.matched(picture.matches);

		return nodes ? `${share(weight, whole)} of ${METRIC_WORDS[state.metric]} match: ${weightWords(weight)} in ${plural(nodes, "frame")}` :
			state.folded && FRAMES.some((frame, f) => IN_LIBRARY[f] && picture.matches[frameFn[f]]) ? "only folded functions match" : "no function matches";
	}

	function said() {
		const words = search();

		byId("flame-said").replaceChildren(words ? el("b", {class: "found"}, words) : "");
		return words;
	}

	// ---- details of a node

	function nodeLines(node) {
		const total = tree.total[node], frame = tree.frame[node], self = tree.self(node), lines = [];
		const zoomed = picture.zoom && tree.depth[node] > tree.depth[picture.zoom];

		lines.push(`${nodeWeight(node)}, ${share(total, whole)} of ${tree.net ? "all change" : "the whole"}` +
			(zoomed ? `, ${share(total, tree.total[picture.zoom])} of what is zoomed to` : ""));
		if (self > 0)
			lines.push(`${tree.net ? "±" : ""}${weightWords(self)} ${state.calleeFirst ? "with no further caller" : "allocated by itself"}`);
		if (frame >= 0) {
			const places = sourceOf(frame);

			if (places)
				lines.push(places);
			lines.push(moduleOf(frame) + (isInlined(frame) ? ", inlined" : ""));
		}
		return lines;
	}

	function tip(node, x, y) {
		const box = byId("tip");

		box.hidden = node < 0;
		if (node < 0)
			return;
		box.replaceChildren(el("div", {class: "name mono tip-name"}, picture.nameOf(node)),
			...nodeLines(node).map((line) => el("div", {class: "name"}, line)));
		const left = Math.max(8, Math.min(x + 14, document.documentElement.clientWidth - box.offsetWidth - 8));
		const below = y + 18 + box.offsetHeight < window.innerHeight;

		box.style.left = left + "px";
		box.style.top = (below ? y + 18 : Math.max(4, y - box.offsetHeight - 10)) + "px";
	}

	function choose(node) {
		picture.chosen = node;
		picture.reveal(node);
		picture.draw();
		announce(`${picture.nameOf(node)}, ${nodeLines(node)[0]}`);
		byId("flame-said").replaceChildren(el("span", {class: "name mono"}, picture.nameOf(node)), " " + nodeLines(node).join(" · "));
	}

	// ---- the keyboard: along the graph as it is drawn

	function move(key) {
		const node = picture.chosen, down = picture.rootAtBottom ? "ArrowUp" : "ArrowDown", up = picture.rootAtBottom ? "ArrowDown" : "ArrowUp";

		if (key === down)
			return tree.children(node)[0] ?? node;
		if (key === up)
			return Math.max(tree.parent[node], 0);
		if (key === "ArrowLeft")
			return picture.neighbour(node, -1);
		if (key === "ArrowRight")
			return picture.neighbour(node, 1);
		return key === "Home" ? picture.zoom : null;
	}

	function keydown(event) {
		const to = move(event.key);

		if (event.ctrlKey || event.altKey || event.metaKey)
			return;
		if (to !== null) {
			if (picture.zoom && tree.depth[to] < tree.depth[picture.zoom])
				zoomTo(to);
			choose(to);
		} else if (event.key === "Enter" || event.key === " ") {
			zoomTo(picture.chosen);
			choose(picture.zoom);
		} else if (picture.zoom && (event.key === "Escape" || event.key === "Backspace")) {
			zoomTo(event.key === "Escape" ? 0 : Math.max(tree.parent[picture.zoom], 0));
			announce("zoomed to " + picture.nameOf(picture.zoom));
		} else {
			return;
		}
		event.preventDefault();
	}

	// ---- wiring

	function listen() {
		const canvas = byId("flame"), scroll = byId("flame-scroll"), select = byId("flame-metric");
		const at = (event) => {
			const box = canvas.getBoundingClientRect();

			return picture.at(event.clientX - box.left, event.clientY - box.top);
		};

		select.append(...DATA.metrics.map(([name]) => el("option", {value: name}, METRIC_WORDS[name])));
		select.value = state.metric;
		select.addEventListener("change", () => {
			state.metric = select.value;
			show();
			announce(byId("flame-title").textContent);
		});
		byId("flame-fold").hidden = !WORDS.library.length;
		for (const [id, toggle] of [["flame-fold", () => state.folded = !state.folded], ["flame-reverse", () => state.calleeFirst = !state.calleeFirst],
			["flame-up", () => picture.rootAtBottom = !picture.rootAtBottom]])
			byId(id).addEventListener("click", (event) => {
				event.currentTarget.setAttribute("aria-pressed", String(toggle()));
				show();
			});
		byId("flame-reset").addEventListener("click", () => zoomTo(0));
		byId("flame-search").addEventListener("input", later((event) => {
			state.search = event.target.value;
			announce(said());
			picture.draw();
		}, 80));
		canvas.addEventListener("click", (event) => {
			const node = at(event);

			if (node >= 0)
				zoomTo(node);
		});
		canvas.addEventListener("pointermove", (event) => {
			const node = at(event);

			tip(node, event.clientX, event.clientY);
			if (node !== picture.hovered) {
				picture.hovered = node;
				redraw();
			}
		});
		canvas.addEventListener("pointerleave", () => {
			tip(-1);
			picture.hovered = -1;
			redraw();
		});
		canvas.addEventListener("keydown", keydown);
		canvas.addEventListener("focus", redraw);
		canvas.addEventListener("blur", redraw);
		scroll.addEventListener("scroll", () => {
			tip(-1);
			redraw();
		});
	}

	// A site's leaf, with the whole way to it.
	function showSite(site) {
		let i = tree.sites.indexOf(site);

		// it is another thread's
		if (i < 0 && state.thread) {
			state.thread = null;
			show();
			i = tree.sites.indexOf(site);
		}
		if (i < 0 || !tree.total[tree.leaf[i]])
			return;
		byId("flame-panel").scrollIntoView({block: "start"});
		zoomTo(tree.leaf[i]);
		byId("flame").focus({preventScroll: true});
		choose(tree.leaf[i]);
	}

	// The graph of one thread alone.
	function showThread(key) {
		byId("flame-thread").value = key;
		byId("flame-thread").onchange();
		byId("flame-panel").scrollIntoView({block: "start"});
		byId("flame").focus({preventScroll: true});
	}

	// What matches in the whole graph.
	function find(text) {
		byId("flame-search").value = state.search = text;
		zoomTo(0);
		if (state.folded && !tree.matched(picture.matches).nodes)
			byId("flame-fold").click();
		announce(said());
		byId("flame-panel").scrollIntoView({block: "start"});
		byId("flame-search").focus({preventScroll: true});
	}

	// What changed in a stretch of time takes the graph's place, and goes with it; null: no longer.
	function showChange(found) {
		const select = byId("flame-metric"), option = [...select.options].find((o) => o.value === "between");

		if (found && !option) {
			DATA.metrics.push(["between", "bytes"]);
			select.append(el("option", {value: "between"}, "change in the chosen time"));
			before = state.metric;
		}
		if (!found && option) {
			DATA.metrics.pop();
			option.remove();
		}
		if (found)
			state.metric = "between";
		else if (state.metric === "between")
			state.metric = before;
		else if (!option)
			return;
		select.value = state.metric;
		show();
	}

	return {
		listen, show, showSite, showChange, showThread, find,
		recolour() {
			picture.colours = null;
			redraw();
			if (tree)
				requestAnimationFrame(drawLegend);
		},
		redraw,
		forPaper(on) {
			picture.tall = on;
			picture.colours = null;
			picture.draw();
			drawLegend();
		},
		picture,
	};
})();
