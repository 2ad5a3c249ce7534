# fish completion of malloctrace, made by: malloctrace --completion fish
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0

# The command that the line has so far; trace without any, program behind --
function __malloctrace_command
	set -l skip 0
	set -l command none
	for word in (commandline -opc)[2..-1]
		if test $skip = 1
			set skip 0
		else if test "$word" = --
			echo program
			return
		else if contains -- $word @VALUED
			set skip 1
		else if not string match -q -- '-*' $word; and test $command = none
			set command trace
			contains -- $word @COMMANDS; and set command $word
		end
	end
	echo $command
end

# Is it one of these?
function __malloctrace_is
	set -l command (__malloctrace_command)
	test $command = none; and set command trace
	contains -- $command $argv
end

# A pid and its name, of each process that has memory of its own.
function __malloctrace_pids
	for dir in (string match -r '^/proc/[0-9]+$' /proc/*)
		test -r $dir/cmdline; or continue
		set -l byte
		set -l name
		read -n 1 byte < $dir/cmdline 2>/dev/null; and test -n "$byte"; or continue
		read name < $dir/comm 2>/dev/null; and printf '%s\t%s\n' (string replace /proc/ '' $dir) $name
	end
end

function __malloctrace_comms
	__malloctrace_pids | string replace -r '^[^\t]*\t' '' | sort -u
end

# A path as /proc/PID/cgroup has it, or below /sys/fs/cgroup.
function __malloctrace_cgroups
	set -l path (commandline -ct | string replace -r '^--cgroup=' '')
	if string match -q -- '/sys/*' $path
		__fish_complete_directories $path
	else
		__fish_complete_directories /sys/fs/cgroup/(string replace -r '^/' '' -- $path) | string replace -r '^/sys/fs/cgroup' ''
	end
end

# The first digits of ids, as engines show them.
function __malloctrace_containers
	find /sys/fs/cgroup -type d 2>/dev/null | sed -nE -e '/-conmon-/d' -e 's/.*[-:\/]([0-9a-f]{12})[0-9a-f]{52}(\.scope)?$/\1/p' | sort -u
end

# NAMESPACE/NAME where the kubelet keeps logs, else uids.
function __malloctrace_pods
	set -l pods (ls /var/log/pods 2>/dev/null | sed -nE 's/^([^_]+)_([^_]+)_[^_]+$/\1\/\2/p')
	test (count $pods) -gt 0; or set pods (find /sys/fs/cgroup -type d 2>/dev/null | sed -nE 's/.*[-\/]pod([0-9a-f]{8}[-_0-9a-f]{24,28})(\.slice)?$/\1/p' | tr _ - | sort -u)
	test (count $pods) -gt 0; and printf '%s\n' $pods
end

# What a program that is started takes.
function __malloctrace_program
	set -l words (commandline -opc)
	set -l at (contains -i -- -- $words)
	complete -C (string join ' ' -- (string escape -- $words[(math $at + 1)..-1]) (commandline -ct))
end

complete -c malloctrace -f
complete -c malloctrace -n '__malloctrace_is program' -a '(__malloctrace_program)'
complete -c malloctrace -n 'test (__malloctrace_command) = none' -a '@COMMANDS'
# malloctrace 1234 is malloctrace -p 1234
complete -c malloctrace -n 'test (__malloctrace_command) = none; and string match -qr "^[0-9]" -- (commandline -ct)' -a '(__malloctrace_pids)'
complete -c malloctrace -n '__malloctrace_is heap' -a '(__malloctrace_pids)'
complete -c malloctrace -n '__malloctrace_is report diff' -k -a '(__fish_complete_suffix .json)'
@OPTIONS
