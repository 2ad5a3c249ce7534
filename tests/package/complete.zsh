#!/usr/bin/env zsh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
# What zsh offers for lines, with the directory of _malloctrace in $fpath:
#
#	complete.zsh DIR LINE...
#
# Each line, then what its last word could be completed to, one a line. zsh completes on a terminal only: it gets one,
# and what would be added to its list goes into a pipe.
zmodload zsh/zpty || exit 1
dir=${1:a}
shift
work=$(mktemp -d) || exit 1
trap 'rm -rf $work' EXIT
mkfifo $work/hits || exit 1
cat > $work/.zshrc <<'END'
PROMPT= RPROMPT=
exec 9<>$HITS
fpath=($COMPLETIONS $fpath)
autoload -Uz compinit && compinit -u -D
# -O, -A and -D: only asks what matches
compadd() {
	if [[ -z ${(M)@[1,(i)(-|--)]:#-[OAD]*} ]]; then
		local -a hits
		builtin compadd -A hits "$@"
		print -rl -u 9 -- $IPREFIX$^hits
	fi
	builtin compadd "$@"
}
dump() { _main_complete; compstate[insert]= compstate[list]=; print -u 9 @@ end }
zle -C dump complete-word dump
bindkey '^I' dump
bindkey '^U' kill-whole-line
print -u 9 @@ end
END
exec 8<>$work/hits
zpty z env TERM=dumb ZDOTDIR=$work HITS=$work/hits COMPLETIONS=$dir zsh -d -i

# Up to the end of one answer; ten seconds for each.
answer() {
	local hit rest
	while true; do
		IFS= read -r -t 10 -u 8 hit || { print -r -- "no answer"; return 1; }
		[[ $hit == '@@ end' ]] && return
		print -r -- $hit
	done
}
answer > /dev/null || { while zpty -r -t z rest; do print -r -- "$rest"; done; exit 1; }
for line; do
	print -r -- "== $line"
	zpty -w -n z "$line"$'\t'
	answer | sed '/^$/d' | LC_ALL=C sort -u
	zpty -w -n z $'\x15'
	while zpty -r -t z rest; do :; done
done
zpty -d z
