// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns what a column of a table shows. Which there are, how they are called and which fields of the profile they show is said by the
// table of views that reports and the live view draw, too (present/views.c); what is not a field, or more than its figure, is a
// cell here or beside its table, by the column's name. What is not known of a row is null, and "–".

const several = PROCESSES.length > 1;
const quotient = (a, b) => b ? a / b : null;

// A figure as text, by the kind that the column says.
const KINDS = {
	count, bytes, ns: duration, id: String,
	change: (n) => signed(n, bytes), growth: (n) => signed(n, bytes) + "/s", per_s: (n) => count(n) + "/s",
};

const known = (n, show) => n === null ? "–" : show(n);

// A site's row of the profile is beside what is made of it.
const fieldOf = (path) => (row) => path.reduce((at, key) => at && at[key], row.c || row) ?? null;

// "<1.6s" where no more is known than that none is older
const oldestWords = (c) => (c.oldest_at_most ? "<" : "") + duration(c.oldest_ns);

// "±12%" behind an estimate of a site
function errorWords(column, row, n) {
	const errors = row.c && !DATA.older_ns && row.c.standard_error, error = errors && errors[column.field[0]];

	return error === undefined || !errors ? null : el("span", {class: "quiet small"}, ` ±${n ? percent(error, n) : "0%"}`);
}

// What a column shows if it is a field, a share or a mean: {of, show}
function cellOf(column) {
	if (!column.field)
		return {of: () => null, show: () => ""};
	const mark = column.scaled ? MARK : "", field = fieldOf(DATA.older_ns && column.older || column.field), over = column.over && fieldOf(column.over);

	if (column.kind === "text")
		return {of: field, show: (row) => field(row) || ""};
	if (column.kind === "percent")
		return {of: (row) => quotient(field(row), over(row)), show: (row) => over(row) ? percent(field(row), over(row)) : "–"};
	const of = over ? (row) => quotient(field(row), over(row)) : column.since ? (row) => row.last ? field(row) - field(row.last) : null :
		column.kind === "id" ? (row) => field(row) || null : field;
	const words = (n) => mark + KINDS[column.kind](n), coloured = (n) => column.kind === "change" && n ? el("span", {class: n < 0 ? "down" : "up"}, words(n)) : words(n);
	const show = (row) => known(of(row), coloured);

	return {of, show: mark && !over && !column.since ? (row) => [show(row), errorWords(column, row, of(row))] : show};
}

// The part of all rows that the first figure of a row is. kind(row): the colour of its bar
function shareCell(rows, {of}, kind) {
	let whole = 0;
	const weight = (row) => Math.abs(of(row)), sum = () => whole = rows().reduce((n, row) => n + weight(row), 0);

	return {of: weight, refresh: sum, show: (row) => el("span", {class: "share"}, share(weight(row), whole || sum()), bar(weight(row) / (whole || sum()), kind && kind(row)))};
}

// Of any table; a table's own cells come before these.
const CELLS = {
	"calls-rate": ({of}) => ({show: (row) => MARK + rate(of(row), DATA.duration_ns)}),
	unreached: ({of}) => ({show: (s) => known(of(s), (n) => n ? el("span", {class: "lost"}, bytes(n)) : bytes(0))}),
	oldest: ({of}) => ({of: (s) => of(s) || null, show: (s) => of(s) ? oldestWords(s.c) : "–"}),
	lived: () => ({of: (s) => s.c.lifetime_mean_ns, show: (s) => known(s.c.lifetime_mean_ns, duration)}),
	process: () => ({hidden: !several, of: (row) => processName(PROCESSES[row.process]), show: (row) => sites.processCell(row.process)}),
	site: () => ({wide: true, of: siteTitle, show: sites.cell}),
	verdict: () => ({class: "verdict", of: (row) => row.verdict || null, show: sites.verdictCell}),
	"small-steps": ({of}) => ({of: (s) => known(of(s), (n) => 1 - n), show: (s) => sites.smallSteps(s.c.moves, s.c.max_size)}),
	longest: () => ({show: ({c: {moves: {longest}}}) => (longest >= LONGEST_MAX ? "≥ " : "") + count(longest)}),
};

// A view's table. more: what else a table has (table.js), {rows, cells, ...}; cells: {name: {of, show, ...}}
function tableOf(view, {cells, shareKind, ...more}) {
	const old = DATA.older_ns ? `Blocks older than ${duration(DATA.older_ns)} alone` : null, rows = more.rows();
	const columns = view.columns.map((column) => {
		const cell = cellOf(column), own = (cells || {})[column.name];

		return {name: column.name, label: column.label, title: column.older && old || column.tip, kind: column.kind === "text" ? "text" : "num", ...cell,
			...(own || CELLS[column.name]?.(cell))};
	});

	columns.forEach((c, i) => c.name === "share" && Object.assign(c, shareCell(more.rows, columns[i ? 0 : 1], shareKind)));
	// where nobody knows anything, there is no column
	const there = columns.filter((c) => !c.hidden && (!rows.length || rows.some((row) => c.of(row) !== null))), sort = there.findIndex((c) => c.name === (more.by || view.sort));

	return {name: view.title, empty: view.empty[0].toUpperCase() + view.empty.slice(1) + ".", columns: there, sort: Math.max(sort, 0), ...more};
}
