// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns a table that sorts, filters, turns pages and unfolds rows. What always holds: no more rows than a page are in the
// document, however many there are. Roles are written out: on a narrow screen the style takes rows apart into blocks.

const PAGE_ROWS = 25;

// spec: {
//	name, rows(): all that may be shown, filter(matches): a test of a row, empty: words,
//	columns: [{label, title, of(row): what it sorts by, show(row): text or elements, kind: "num" or "text", wide, class}],
//	note: what is said above the rows, or nothing,
//	sort: index of the column at first, down: which way, if not as usual for it, detail(row): element, or nothing to unfold
// }
class Table {
	constructor(spec) {
		this.spec = spec;
		this.sort = spec.sort || 0;
		this.down = spec.down ?? this.isNumber(this.sort);
		this.page = 0;
		this.open = new Set();
		this.text = "";
		this.id = "t-" + spec.name.replace(/\W+/g, "-").toLowerCase();
		this.build();
	}

	isNumber(column) {
		return this.spec.columns[column].kind !== "text";
	}

	build() {
		this.input = el("input", {type: "search", class: "filter", placeholder: "Filter: text or /regex/", spellcheck: "false", autocomplete: "off",
			"aria-label": `Filter ${this.spec.name}`, oninput: later(() => this.refilter(), 80)});
		this.status = el("span", {class: "quiet", "aria-live": "polite"});
		this.heads = this.spec.columns.map((column, i) => el("th", {role: "columnheader", scope: "col", class: column.kind === "text" ? "text" : "num"},
			el("button", {type: "button", class: "sorter", title: column.title, onclick: () => this.sortBy(i)}, column.label,
				el("span", {class: "arrow", "aria-hidden": "true"}))));
		this.body = el("tbody", {role: "rowgroup", onclick: (event) => this.clicked(event), onkeydown: (event) => this.keydown(event)});
		this.before = el("button", {type: "button", "aria-label": "Page before", onclick: () => this.turn(-1)}, "‹");
		this.after = el("button", {type: "button", "aria-label": "Next page", onclick: () => this.turn(1)}, "›");
		this.table = el("table", {role: "table", class: "rows", "aria-label": this.spec.name}, el("thead", {role: "rowgroup"}, el("tr", {role: "row"},
			this.spec.detail ? el("th", {class: "fold"}, el("span", {class: "unseen"}, "Unfold")) : null, this.heads)), this.body);
		this.element = el("div", null,
			el("div", {class: "tools table-tools"}, this.input, this.status, el("span", {class: "pager"}, this.before, this.after)),
			this.spec.note ? el("p", {class: "quiet small note"}, this.spec.note) : null,
			el("div", {class: "table-scroll"}, this.table));
	}

	// Rows may have become others.
	show() {
		this.page = 0;
		this.open.clear();
		this.refilter();
	}

	refilter() {
		const text = this.input.value, matches = text ? matcherOf(text) : null;

		this.input.setAttribute("aria-invalid", String(!!text && !matches));
		this.all = this.spec.rows();
		this.found = matches ? this.all.filter(this.spec.filter(matches)) : this.all.slice();
		this.page = 0;
		this.order();
		this.draw();
	}

	order() {
		const {of} = this.spec.columns[this.sort], sign = this.down ? -1 : 1;
		const keys = new Map(this.found.map((row) => [row, of(row)]));
		// what is history comes after what goes on, until somebody chooses an order
		const last = !this.chosen && this.spec.last || (() => false);

		// what is not known is last, whichever way
		this.found.sort((a, b) => {
			const x = keys.get(a), y = keys.get(b), d = last(a) - last(b);

			if (d)
				return d;
			if (x === null || y === null)
				return (x === null) - (y === null);
			return x < y ? -sign : x > y ? sign : 0;
		});
	}

	sortBy(column) {
		this.down = column === this.sort ? !this.down : this.isNumber(column);
		this.sort = column;
		this.chosen = true;
		this.page = 0;
		this.order();
		this.draw();
		announce(`sorted by ${this.spec.columns[column].label}, ${this.down ? "descending" : "ascending"}`);
	}

	turn(step) {
		this.page += step;
		this.draw();
		this.table.scrollIntoView({block: "nearest"});
	}

	draw() {
		const n = this.found.length, from = this.page * PAGE_ROWS, rows = this.found.slice(from, from + PAGE_ROWS);

		this.heads.forEach((head, i) => {
			head.setAttribute("aria-sort", i !== this.sort ? "none" : this.down ? "descending" : "ascending");
			head.querySelector(".arrow").textContent = i !== this.sort ? "" : this.down ? "▼" : "▲";
		});
		this.body.replaceChildren(...rows.flatMap((row) => this.rowElements(row)));
		if (!n)
			this.body.append(el("tr", {role: "row"}, el("td", {role: "cell", colspan: this.width, class: "quiet empty wide"}, this.all.length ? "Nothing matches." : this.spec.empty)));
		this.status.textContent = (n ? `${exact(from + 1)}–${exact(from + rows.length)} of ${exact(n)}` : "0") +
			(n < this.all.length ? `, filtered from ${exact(this.all.length)}` : "");
		this.before.disabled = !this.page;
		this.after.disabled = from + PAGE_ROWS >= n;
	}

	get width() {
		return this.spec.columns.length + (this.spec.detail ? 1 : 0);
	}

	rowElements(row) {
		const open = this.open.has(row), line = el("tr", {role: "row", class: this.spec.detail ? "can-open" : null});

		line.row = row;
		if (this.spec.detail)
			line.append(el("td", {role: "cell", class: "fold"}, el("button", {type: "button", class: "folder", "aria-expanded": String(open),
				"aria-label": `Details of ${this.spec.title(row)}`})));
		for (const column of this.spec.columns)
			line.append(el("td", {role: "cell", class: (column.kind === "text" ? "text" : "num") + (column.wide ? " wide" : column.class ? " " + column.class : ""), "data-label": column.label},
				column.show(row)));
		return open ? [line, this.detailLine(row)] : [line];
	}

	detailLine(row) {
		return el("tr", {role: "row", class: "detail"}, el("td", {role: "cell", colspan: this.width}, this.spec.detail(row)));
	}

	toggle(line) {
		const open = !this.open.has(line.row);

		line.querySelector(".folder").setAttribute("aria-expanded", String(open));
		if (open) {
			this.open.add(line.row);
			line.after(this.detailLine(line.row));
		} else {
			this.open.delete(line.row);
			line.nextElementSibling.remove();
		}
	}

	clicked(event) {
		const line = event.target.closest("tr");

		// who selects text does not want it to move
		if (this.spec.detail && line && line.row && (event.target.closest(".folder") || !String(getSelection())))
			this.toggle(line);
	}

	keydown(event) {
		const step = {ArrowDown: 1, ArrowUp: -1}[event.key], folders = [...this.body.querySelectorAll(".folder")];
		const next = folders[folders.indexOf(event.target) + step];

		if (!step || !event.target.classList.contains("folder"))
			return;
		if (next)
			next.focus();
		event.preventDefault();
	}

	// Turns to the row, unfolds it and goes there.
	reveal(row) {
		let at = this.found.indexOf(row);

		if (at < 0) {
			this.input.value = "";
			this.refilter();
			at = this.found.indexOf(row);
		}
		if (at < 0)
			return;
		this.page = Math.floor(at / PAGE_ROWS);
		this.open.add(row);
		this.draw();
		const line = [...this.body.children].find((e) => e.row === row);

		line.scrollIntoView({block: "center"});
		line.querySelector(".folder").focus({preventScroll: true});
	}
}

// ---- tabs

// Owns tabs: one panel of several is shown, chosen by mouse or by the arrows. A tab may be hidden, and the first in line need not be the first.

class Tabs {
	// ids of tabs and panels begin with prefix; tables: what the panels are (table.js)
	constructor(box, panels, prefix, tables) {
		this.box = box;
		this.now = 0;
		this.tables = tables;
		this.tabs = tables.map((table, i) => el("button", {type: "button", role: "tab", id: `${prefix}tab-${i}`, "aria-controls": `${prefix}panel-${i}`, onclick: () => this.choose(i),
			onkeydown: (event) => this.key(event)}, table.spec.name, el("span", {class: "tab-count"})));
		this.panels = tables.map((table, i) => el("div", {role: "tabpanel", id: `${prefix}panel-${i}`, "aria-labelledby": `${prefix}tab-${i}`}, table.element));
		box.replaceChildren(...this.tabs);
		panels.replaceChildren(...this.panels);
	}

	choose(i, focus) {
		const {box} = this, tab = this.tabs[i];

		this.now = i;
		this.tabs.forEach((other, k) => {
			other.setAttribute("aria-selected", String(k === i));
			other.tabIndex = k === i ? 0 : -1;
			this.panels[k].hidden = k !== i;
		});
		// in view, where they have no room side by side
		if (tab.offsetLeft < box.scrollLeft + box.offsetLeft || tab.offsetLeft + tab.offsetWidth > box.scrollLeft + box.offsetLeft + box.clientWidth)
			box.scrollLeft = tab.offsetLeft - box.offsetLeft - (box.clientWidth - tab.offsetWidth) / 2;
		if (focus)
			tab.focus();
	}

	key(event) {
		const list = [...this.box.children].filter((tab) => !tab.hidden), at = list.indexOf(this.tabs[this.now]);
		const to = {ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: list.length - 1}[event.key];

		if (to === undefined)
			return;
		this.choose(this.tabs.indexOf(list[(to + list.length) % list.length]), true);
		event.preventDefault();
	}

	// Its rows may have become others.
	refresh(i) {
		this.tables[i].show();
		this.tabs[i].querySelector(".tab-count").textContent = count(this.tables[i].all.length);
	}
}
