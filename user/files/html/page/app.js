// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns the page as a whole: the first drawing, the choice of a process, light and dark, paper.

const app = (() => {
	const dark = matchMedia("(prefers-color-scheme: dark)");
	let wish = null;	// the reader's own choice, until the page is closed
	let width = 0, wasOpen = false;

	function setTheme(theme) {
		document.documentElement.dataset.theme = theme;
		byId("theme").setAttribute("aria-pressed", String(theme === "dark"));
	}

	function theme() {
		setTheme(wish || (dark.matches ? "dark" : "light"));
		if (!DATA.alone)
			flame.recolour();
	}

	function show() {
		drawSummary();
		heap.draw();
		if (DATA.alone)
			return;
		drawTop();
		drawMemory();
		timeline.show();
		flame.show();
		tables.show();
		drawHistograms();
		between.refresh();
	}

	function processes() {
		const select = byId("process");

		byId("process-label").hidden = PROCESSES.length < 2;
		select.append(el("option", {value: "-1"}, `all ${exact(PROCESSES.length)}`), ...PROCESSES.map((p, i) => el("option", {value: String(i)}, processName(p))));
		select.addEventListener("change", () => {
			shown.process = Number(select.value);
			show();
			announce(targetName());
		});
	}

	// As the choice on top does.
	function showProcess(i) {
		byId("process").value = String(i);
		byId("process").dispatchEvent(new Event("change"));
		scrollTo(0, 0);
	}

	// ---- paper is light, and nothing on it scrolls

	function paper(on) {
		if (on)
			setTheme("light");
		document.body.classList.toggle("paper", on);
		if (on)
			wasOpen = byId("conditions-more").open;
		byId("conditions-more").open = on || wasOpen;
		if (!DATA.alone) {
			flame.forPaper(on);
			timeline.draw();
		}
		if (!on)
			theme();
	}

	// What is drawn goes with the width. The height changes whenever something unfolds.
	function resized() {
		if (DATA.alone || byId("main").clientWidth === width)
			return;
		width = byId("main").clientWidth;
		timeline.draw();
		flame.redraw();
	}

	function shortcuts(event) {
		if (DATA.alone)
			return;
		// what has a use for the key has taken it
		if (event.key === "Escape" && between.stretch && !event.defaultPrevented && !(event.target.matches("input") && event.target.value)) {
			between.clear();
			event.preventDefault();
		}
		if (event.key !== "/" || event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, select, textarea"))
			return;
		byId("flame-search").focus();
		byId("flame-search").select();
		event.preventDefault();
	}

	// What a page of a trace has beside the heap.
	function traced() {
		for (const id of ["timeline-panel", "top-panel", "flame-panel", "tables-panel", "histograms"])
			byId(id).hidden = false;
		tables.build();
		flame.listen();
		timeline.listen();
		byId("lens").addEventListener("click", between.clear);
		addEventListener("hashchange", () => between.fromLink());
		addEventListener("resize", flame.redraw);
	}

	function start() {
		setTheme(dark.matches ? "dark" : "light");
		dark.addEventListener("change", theme);
		byId("theme").addEventListener("click", () => {
			wish = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
			theme();
		});
		processes();
		if (!DATA.alone)
			traced();
		show();
		if (!DATA.alone)
			between.fromLink();
		width = byId("main").clientWidth;
		new ResizeObserver(oncePerFrame(resized)).observe(byId("main"));
		addEventListener("beforeprint", () => paper(true));
		addEventListener("afterprint", () => paper(false));
		document.addEventListener("keydown", shortcuts);
		document.documentElement.dataset.ready = "yes";
	}

	return {start, showProcess};
})();

app.start();
