#compdef malloctrace
# zsh completion of malloctrace, made by: malloctrace --completion zsh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0

# "PID NAME" of each process that has memory of its own.
_malloctrace_processes() {
	local dir name byte
	for dir in /proc/<->(N); do
		{ read -u 0 -k 1 byte < $dir/cmdline && IFS= read -r name < $dir/comm } 2>/dev/null && print -r -- "${dir:t} $name"
	done
}

_malloctrace_pids() {
	local -a pids shown
	local line
	_malloctrace_processes | while IFS= read -r line; do
		pids+=("${line%% *}")
		shown+=("$line")
	done
	compadd "$@" -l -d shown -a pids
}

_malloctrace_comms() {
	local -aU names
	names=("${(@)${(@f)$(_malloctrace_processes)}#* }")
	compadd "$@" -a names
}

# A path as /proc/PID/cgroup has it, or below /sys/fs/cgroup.
_malloctrace_cgroups() {
	if [[ $PREFIX == /sys/* ]]; then
		_files -/
	else
		compset -P /
		_files -W /sys/fs/cgroup -P / -/
	fi
}

# The first digits of ids, as engines show them.
_malloctrace_containers() {
	local -aU ids
	ids=(${(f)"$(find /sys/fs/cgroup -type d 2>/dev/null | sed -nE -e '/-conmon-/d' -e 's/.*[-:\/]([0-9a-f]{12})[0-9a-f]{52}(\.scope)?$/\1/p')"})
	compadd "$@" -a ids
}

# NAMESPACE/NAME where the kubelet keeps logs, else uids.
_malloctrace_pods() {
	local -aU pods
	pods=(${(f)"$(ls /var/log/pods 2>/dev/null | sed -nE 's/^([^_]+)_([^_]+)_[^_]+$/\1\/\2/p')"})
	(( $#pods )) || pods=(${(f)"$(find /sys/fs/cgroup -type d 2>/dev/null | sed -nE 's/.*[-\/]pod([0-9a-f]{8}[-_0-9a-f]{24,28})(\.slice)?$/\1/p' | tr _ -)"})
	compadd "$@" -a pods
}

_malloctrace() {
	local curcontext=$curcontext word command='' skip='' i
	local -a options commands valued
	commands=(@COMMANDS)
	valued=(@VALUED)
	for ((i = 2; i < CURRENT; i++)); do
		word=$words[i]
		if [[ -n $skip ]]; then
			skip=''
		elif [[ $word == -- ]]; then
			shift i words
			((CURRENT -= i))
			_normal
			return
		elif (( $valued[(Ie)$word] )); then
			skip=1
		elif [[ $word != -* && -z $command ]]; then
			command=trace
			(( $commands[(Ie)$word] )) && command=$word
		fi
	done
	case ${command:-trace} in
@OPTIONS
	esac
	case $command in
	report | diff) options+=('*:command or profile:_files -g "*.json(-.)"') ;;
	heap) options+=('*:process:_malloctrace_pids') ;;
	# malloctrace 1234 is malloctrace -p 1234
	'')
		if [[ $PREFIX == <->* ]]; then
			options+=('1:process:_malloctrace_pids')
		else
			options+=("1:command, a process, or an interval in seconds:($commands)")
		fi
		;;
	*) options+=('*: : ') ;;
	esac
	_arguments -s : $options
}

# as a file of $fpath it is called; from `source` it makes itself known
if [[ $funcstack[1] == _malloctrace ]]; then
	_malloctrace "$@"
else
	compdef _malloctrace malloctrace
fi
