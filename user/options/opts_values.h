/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What turns a value's text into a field of struct opts, by the kind of value: for rows of the table of options. */
#ifndef MT_OPTS_VALUES_H
#define MT_OPTS_VALUES_H

#include "options/opts_table.h"

int take_flag(struct opts *o, const struct given *g, struct err *e);
int take_string(struct opts *o, const struct given *g, struct err *e);
int take_list(struct opts *o, const struct given *g, struct err *e);
int take_size(struct opts *o, const struct given *g, struct err *e);
int take_room(struct opts *o, const struct given *g, struct err *e);
int take_number(struct opts *o, const struct given *g, struct err *e);
int take_keep(struct opts *o, const struct given *g, struct err *e);
int take_age(struct opts *o, const struct given *g, struct err *e);
int take_between(struct opts *o, const struct given *g, struct err *e);
int take_duration(struct opts *o, const struct given *g, struct err *e);
int take_percent(struct opts *o, const struct given *g, struct err *e);
int take_pace(struct opts *o, const struct given *g, struct err *e);
int take_choice(struct opts *o, const struct given *g, struct err *e);
int take_words(struct opts *o, const struct given *g, struct err *e);
int take_enum(struct opts *o, const struct given *g, struct err *e);
int take_threshold(struct opts *o, const struct given *g, struct err *e);
int take_regex(struct opts *o, const struct given *g, struct err *e);
int take_pids(struct opts *o, const struct given *g, struct err *e);
int take_when(struct opts *o, const struct given *g, struct err *e);
int take_sym(struct opts *o, const struct given *g, struct err *e);
int take_function(struct opts *o, const struct given *g, struct err *e);
int take_tag(struct opts *o, const struct given *g, struct err *e);
int take_output(struct opts *o, const struct given *g, struct err *e);
int take_views(struct opts *o, const struct given *g, struct err *e);
int take_verbosity(struct opts *o, const struct given *g, struct err *e);
int take_command(struct opts *o, const struct given *g, struct err *e);
int take_completion(struct opts *o, const struct given *g, struct err *e);

#endif
