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
