#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
# What bash offers for the last of some words, one a line:
#
#	complete.bash SCRIPT WORD...
#
# Words are those that readline makes: --mode=full is three.
. "$1" || exit 1
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_TYPE=63
_malloctrace
((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
