# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
# For the scripts beside it: where they work, when "now" is, how a tarball is made that is the same each time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
here=scripts/package
work=build/package
export LC_ALL=C TZ=UTC
umask 022

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

# The time of the last commit; in a source tarball all files have it.
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
	SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y Makefile)
fi
export SOURCE_DATE_EPOCH

# tarball FILE DIR NAME...: what is in DIR
tarball() {
	local file=$1 dir=$2
	shift 2
	tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw --format=gnu -C "$dir" -cf - "$@" | gzip -9n > "$file.tmp"
	mv "$file.tmp" "$file"
}

# fill FILE KEY=VALUE...: the file with each @KEY@ replaced
fill() {
	local text pair
	text=$(cat "$1")
	shift
	for pair in "$@"; do
		text=${text//@${pair%%=*}@/"${pair#*=}"}
	done
	! grep -o '@[A-Z_]\+@' <<<"$text" >&2 || die "nothing for what is named above"
	printf '%s\n' "$text"
}

# Who answers for a package; as Debian's tools have it.
maintainer="${DEBFULLNAME:-malloctrace maintainers} <${DEBEMAIL:-malloctrace@example.org}>"
