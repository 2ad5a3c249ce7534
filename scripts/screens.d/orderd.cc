// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * A small service that has run for a while when somebody looks at its heap, for the screens of docs/HEAP.md. It prints a
 * line when its past is over, and goes on until it is killed.
 *
 *	open_orders	a table of orders that are still to be delivered: held, no leak
 *	cancel()	takes an order out of the table and forgets to delete it: the order is lost, and its lines with it
 *	import()	read a catalogue and freed it again, in a thread: free memory that glibc keeps
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#define N_OPEN 60000
#define N_CANCELLED 20000
#define N_CATALOGUE 100000
#define N_BUSY 256		/* of the table: orders that come and go */
#define LINES_PER_ORDER 3
#define ORDERS_PER_SECOND 400

class Line {
public:
	explicit Line(Line *next) : next(next) { snprintf(article, sizeof(article), "article %d", rand()); }
	virtual ~Line() { delete next; }

private:
	Line *next;
	char article[48];
};

class Order {
public:
	Order()
	{
		for (int i = 0; i < LINES_PER_ORDER; i++)
			lines = new Line(lines);
	}
	virtual ~Order() { delete lines; }

private:
	Line *lines = nullptr;
	char customer[160] = {};
};

static Order *open_orders[N_OPEN];

static void place(unsigned int at)
{
	open_orders[at] = new Order;
}

/* the bug: delete open_orders[at] is missing */
static void cancel(unsigned int at)
{
	open_orders[at] = nullptr;
}

static void deliver(unsigned int at)
{
	delete open_orders[at];
	open_orders[at] = nullptr;
}

static void import()
{
	std::vector<std::string> catalogue;

	for (int i = 0; i < N_CATALOGUE; i++)
		catalogue.emplace_back(100 + i % 100, 'x');
}

/* One order in four is cancelled. */
static void serve()
{
	const timespec pause = { 0, 1000000000 / ORDERS_PER_SECOND };

	for (unsigned int i = 0;; i++) {
		if (i % 4)
			deliver(i % N_BUSY);
		else
			cancel(i % N_BUSY);
		place(i % N_BUSY);
		nanosleep(&pause, nullptr);
	}
}

int main()
{
	for (unsigned int i = 0; i < N_OPEN; i++)
		place(i);
	for (unsigned int i = 0; i < N_CANCELLED; i++) {
		cancel(i);
		place(i);
	}
	std::thread(import).join();
	puts("ready");
	fflush(stdout);
	serve();
}
