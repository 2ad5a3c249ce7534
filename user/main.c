// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* malloctrace: parse, run, exit status. */
#include <locale.h>
#include <stdio.h>

#include "doctor.h"
#include "opts.h"
#include "session.h"
#include "util/log.h"

#define EXIT_USAGE 2

int main(int argc, char **argv)
{
	_cleanup_err_ struct err e = {};
	struct opts o;
	int status = 0, err;

	err = opts__parse(&o, argc, argv, &e);
	if (err) {
		say_error("%s", err_msg(&e));
		opts__done(&o);
		return EXIT_USAGE;
	}
	log_level = o.verbosity;
	switch (o.command) {
	case CMD_HELP:
		opts__help(stdout);
		break;
	case CMD_VERSION:
		puts("malloctrace " VERSION);
		break;
	case CMD_DOCTOR:
		err = doctor__run(stdout, &o, &status, &e);
		break;
	case CMD_TRACE:
		err = session__run(&o, &status, &e);
		break;
	}
	if (err)
		say_error("%s", err_msg(&e));
	if (err && !status)
		status = 1;
	opts__done(&o);
	return status;
}
