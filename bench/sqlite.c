// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * A program on sqlite3, for bench/programs.c: a database in memory is made,
 * filled, read and dropped. Owns a ledger of all that sqlite3 allocates, which
 * is all that the process does: its own code reads and writes through system
 * calls (target.c says why).
 *
 * Orders are those of target.c; each of ORDER_PAIRS is one load with n_pairs rows.
 */
#include <sqlite3.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "bench/target.h"

static struct answer ledger;
static sqlite3_mem_methods real;

static void *counted_malloc(int n)
{
	void *p = real.xMalloc(n);

	ledger.n_mallocs += p != NULL;
	return p;
}

static void counted_free(void *p)
{
	ledger.n_frees += p != NULL;
	real.xFree(p);
}

static void *counted_realloc(void *old, int n)
{
	void *p = real.xRealloc(old, n);

	if (p) {
		ledger.n_mallocs++;
		ledger.n_frees += old != NULL;
	}
	return p;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void run(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		abort();
}

static void insert(sqlite3 *db, uint64_t n_rows)
{
	sqlite3_stmt *stmt;
	uint32_t seed = 1;

	if (sqlite3_prepare_v2(db, "INSERT INTO t(k, name, note) VALUES (?, printf('name %d', ?1), hex(zeroblob(?1 % 40)))", -1, &stmt,
			       NULL))
		abort();
	for (uint64_t i = 0; i < n_rows; i++) {
		seed = seed * 1664525u + 1013904223u;
		sqlite3_bind_int(stmt, 1, seed >> 16);
		if (sqlite3_step(stmt) != SQLITE_DONE || sqlite3_reset(stmt))
			abort();
	}
	sqlite3_finalize(stmt);
}

static void load(uint64_t n_rows)
{
	sqlite3 *db;

	if (sqlite3_open(":memory:", &db))
		abort();
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, k INTEGER, name TEXT, note TEXT); CREATE INDEX by_k ON t(k); BEGIN");
	insert(db, n_rows);
	run(db, "COMMIT");
	run(db, "SELECT upper(name) || note, count(*) FROM t GROUP BY 1 ORDER BY 2, 1 LIMIT 10");
	run(db, "SELECT a.id, group_concat(b.name) FROM t a JOIN t b ON b.k = a.k GROUP BY a.id");
	run(db, "UPDATE t SET note = note || name WHERE k % 3 = 0; DELETE FROM t WHERE k % 5 = 0");
	sqlite3_close(db);
}

int main(void)
{
	sqlite3_mem_methods counted;
	struct order order;

	if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real))
		return 1;
	counted = real;
	counted.xMalloc = counted_malloc;
	counted.xFree = counted_free;
	counted.xRealloc = counted_realloc;
	if (sqlite3_config(SQLITE_CONFIG_MALLOC, &counted) || sqlite3_initialize())
		return 1;
	load(100);	/* what is made once, and kept */
	ledger = (struct answer){ 0 };
	if (write(STDOUT_FILENO, "", 1) != 1)
		return 1;
	while (read(STDIN_FILENO, &order, sizeof(order)) == sizeof(order)) {
		uint64_t since_ns = cpu_ns();

		load(order.n_pairs);
		ledger.cpu_ns = cpu_ns() - since_ns;
		ledger.n_pairs = 1;
		if (write(STDOUT_FILENO, &ledger, sizeof(ledger)) != sizeof(ledger))
			return 1;
	}
	_exit(0);
}
