// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
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
