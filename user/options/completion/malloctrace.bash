# bash completion of malloctrace, made by: malloctrace --completion bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0

_malloctrace_options() {
	case $1 in
@OPTIONS
	esac
}

# What an option's value is: kind, words and list of the caller. False: it takes none.
_malloctrace_value() {
	case $1 in
@VALUES
	*) return 1 ;;
	esac
}

# The same of letters in one word: -fp. One that has its value behind it, as in -p12, takes none.
_malloctrace_letters() {
	local i
	for ((i = 1; i < ${#1}; i++)); do
		if _malloctrace_value "-${1:i:1}"; then
			((i == ${#1} - 1))
			return
		fi
	done
	return 1
}

# "PID NAME" of each process that has memory of its own.
_malloctrace_processes() {
	local dir name byte
	for dir in /proc/[0-9]*; do
		{ IFS= read -r -N 1 byte < "$dir/cmdline" && IFS= read -r name < "$dir/comm"; } 2>/dev/null || continue
		echo "${dir#/proc/} $name"
	done
}

# A pid with its name behind it, as long as there are several to choose from; a name stands for its pid.
_malloctrace_pids() {
	local before=$1 cur=$2 pid name
	while read -r pid name; do
		case $pid in "$cur"*) COMPREPLY+=("$before$pid ($name)"); continue ;; esac
		case $name in "$cur"*) COMPREPLY+=("$before$pid ($name)") ;; esac
	done < <(_malloctrace_processes)
	# 37: a menu goes through them, and would put the names into the line
	if ((${#COMPREPLY[@]} == 1)) || [ "${COMP_TYPE:-9}" = 37 ]; then
		COMPREPLY=("${COMPREPLY[@]%% (*}")
	fi
}

_malloctrace_comms() {
	local cur=$1 name
	while IFS= read -r name; do
		case $name in "$cur"*) COMPREPLY+=("$(printf %q "$name")") ;; esac
	done < <(_malloctrace_processes | cut -d ' ' -f 2- | sort -u)
}

_malloctrace_files() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$@" | sort -u)
}

# A path as /proc/PID/cgroup has it, or below /sys/fs/cgroup.
_malloctrace_cgroups() {
	local cur=$1 top=/sys/fs/cgroup
	compopt -o filenames -o nospace 2>/dev/null
	case $cur in
	"$top"*) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
	*) mapfile -t COMPREPLY < <(compgen -d -- "$top/${cur#/}" | sed "s|^$top||") ;;
	esac
}

# The first digits of ids, as engines show them.
_malloctrace_containers() {
	mapfile -t COMPREPLY < <(compgen -W "$(find /sys/fs/cgroup -type d 2>/dev/null |
		sed -nE -e '/-conmon-/d' -e 's/.*[-:\/]([0-9a-f]{12})[0-9a-f]{52}(\.scope)?$/\1/p' | sort -u)" -- "$1")
}

# NAMESPACE/NAME where the kubelet keeps logs, else uids.
_malloctrace_pods() {
	local pods
	pods=$(ls /var/log/pods 2>/dev/null | sed -nE 's/^([^_]+)_([^_]+)_[^_]+$/\1\/\2/p')
	[ -n "$pods" ] || pods=$(find /sys/fs/cgroup -type d 2>/dev/null | sed -nE 's/.*[-\/]pod([0-9a-f]{8}[-_0-9a-f]{24,28})(\.slice)?$/\1/p' | tr _ -)
	mapfile -t COMPREPLY < <(compgen -W "$(sort -u <<< "$pods")" -- "$1")
}

_malloctrace_complete_value() {
	local cur=$1 before=''
	if [ -n "$list" ] && [[ $cur == *,* ]]; then
		before=${cur%,*},
		cur=${cur##*,}
	fi
	case $kind in
	words) mapfile -t COMPREPLY < <(compgen -P "$before" -W "$words" -- "$cur") ;;
	files) _malloctrace_files -f -- "$cur" ;;
	pids) _malloctrace_pids "$before" "$cur" ;;
	comms) _malloctrace_comms "$cur" ;;
	cgroups) _malloctrace_cgroups "$cur" ;;
	containers) _malloctrace_containers "$cur" ;;
	pods) _malloctrace_pods "$cur" ;;
	esac
	[ -z "$list" ] || compopt -o nospace 2>/dev/null
}

# What comes behind --: a program, then what that one takes.
_malloctrace_program() {
	local at=$1 cur=${COMP_WORDS[COMP_CWORD]}
	if declare -F _command_offset >/dev/null; then
		_command_offset "$at"
	elif ((at == COMP_CWORD)) && [[ $cur != */* ]]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$cur" | sort -u)
	else
		_malloctrace_files -f -- "$cur"
	fi
}

_malloctrace() {
	local cur=${COMP_WORDS[COMP_CWORD]} i word command='' kind='' words='' list='' commands=' @COMMANDS '
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		case $word in
		--) _malloctrace_program $((i + 1)); return ;;
		# ... and of malloc=arena_alloc and libc.so.6:malloc
		= | :) i=$((i + 1)) ;;
		-*)
			kind='' words='' list=''
			case $word in
			--*) _malloctrace_value "$word" ;;
			*) _malloctrace_letters "$word" ;;
			esac || continue
			# readline makes three words of --mode=full
			i=$((i + 1))
			if [ "${COMP_WORDS[i]}" = = ]; then
				((i < COMP_CWORD)) && i=$((i + 1)) || cur=''
			fi
			if ((i == COMP_CWORD)); then
				_malloctrace_complete_value "$cur"
				return
			fi
			;;
		*)
			if [ -z "$command" ]; then
				command=trace
				case $commands in *" $word "*) command=$word ;; esac
			fi
			;;
		esac
	done
	case $cur in
	-*) mapfile -t COMPREPLY < <(compgen -W "$(_malloctrace_options "${command:-trace}")" -- "$cur") ;;
	*)
		case $command in
		'')
			# malloctrace 1234 is malloctrace -p 1234
			case $cur in
			[0-9]*) _malloctrace_pids '' "$cur" ;;
			*) mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur") ;;
			esac
			;;
		heap) _malloctrace_pids '' "$cur" ;;
		report | diff)
			_malloctrace_files -f -X '!*.json' -- "$cur"
			local files=("${COMPREPLY[@]}")
			mapfile -t COMPREPLY < <(compgen -d -- "$cur")
			COMPREPLY+=("${files[@]}")
			;;
		esac
		;;
	esac
}

complete -F _malloctrace malloctrace
