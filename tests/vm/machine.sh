# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
# shellcheck shell=bash
#
# Virtual machines for scripts that source this file from the top directory:
# Debian's kernels in qemu, without KVM, and an initramfs with the static
# malloctrace, the tests, their fixtures and what the dynamic ones load.
#
# Packages are fetched with apt into $XDG_CACHE_HOME/malloctrace or build/vm-cache
# and never installed. Functions write what went wrong to standard error. A machine
# ends by itself, after LIMIT seconds, or when it has said nothing for SILENCE
# seconds, and never outlives its script.

vm_limit=${LIMIT:-3600}
# more than the longest test may take, which says nothing while it is at work
vm_silence=${SILENCE:-420}
vm_cache=${XDG_CACHE_HOME:+$XDG_CACHE_HOME/malloctrace}
vm_cache=$(realpath -m "${vm_cache:-build/vm-cache}")
vm_work=build/vm
vm_series='6.12 6.1'	# newest first
# A shell and a C library, which the demo needs. Then what dynamic fixtures load, a server to be put under load, and a
# Python. "a|b": the first that the release has.
vm_packages_demo='busybox-static libc6'
vm_packages_tests="$vm_packages_demo libgcc-s1 libstdc++6 libjemalloc2 libtcmalloc-minimal4|libtcmalloc-minimal4t64
	libmimalloc2.0|libmimalloc3 musl redis-server redis-tools libatomic1 liblzf1 libssl3|libssl3t64 libsystemd0 libcap2
	libgcrypt20 libgpg-error0 liblz4-1 liblzma5 libzstd1 python3-minimal python3.11-minimal|python3.13-minimal
	libpython3.11-minimal|libpython3.13-minimal libpython3.11-stdlib|libpython3.13-stdlib libexpat1 libffi8 zlib1g libbz2-1.0 libcrypt1"

case $(uname -m) in
x86_64) vm_own=amd64 ;;
*) vm_own=arm64 ;;
esac

vm_init() {
	if ! command -v apt-get >/dev/null; then
		echo "kernels come from apt-get, which is not here" >&2
		return 1
	fi
	mkdir -p "$vm_cache" "$vm_work" && rm -f "$vm_work/refreshed"
}

# ---- packages

# The lists may be missing, or older than what the server still has: made new at most once.
vm_refresh() {
	[ ! -e "$vm_work/refreshed" ] && [ "$(id -u)" -eq 0 ] || return 1
	: > "$vm_work/refreshed"
	[ "$1" = "$vm_own" ] || dpkg --add-architecture "$1"
	apt-get -qq update >&2
}

# Name and version of what apt would install, of all that are asked for: each question takes it a second.
vm_offered() {
	apt-cache show --no-all-versions "$@" 2>/dev/null |
		awk '$1 == "Package:" { name = $2 } $1 == "Version:" && !seen[name]++ { print name, $2 }'
}

# The file of a package in the cache, downloaded if apt offers a newer one or none is there.
vm_package() {
	local name=$1 arch=$2 version file
	version=$(awk -v name="$name" '$1 == name { print $2; exit }' "$vm_work/versions-$arch" 2>/dev/null)
	[ -n "$version" ] || version=$(vm_offered "$name:$arch" | awk '{ print $2 }')
	if [ -n "$version" ]; then
		file=$vm_cache/${name}_${version//:/%3a}_$arch.deb
		if [ ! -s "$file" ]; then
			echo "fetching $name $version for $arch" >&2
			# apt's own user may not be allowed to write here
			(cd "$vm_cache" && apt-get -qq -o APT::Sandbox::User=root download "$name:$arch=$version") >&2
		fi
	fi
	# what was there before is better than nothing
	[ -s "${file:-}" ] || file=$(ls -t "$vm_cache/${name}"_*_"$arch.deb" 2>/dev/null | head -n 1)
	[ -s "$file" ] && echo "$file"
}

# The newest kernel of a series: a package that depends on it has its name.
vm_kernel_name() {
	local series=$1 arch=$2 meta name
	# the name without a series is 6.1's in Debian 12, 6.12's in Debian 13
	for meta in "linux-image-$series-cloud-$arch" "linux-image-cloud-$arch"; do
		name=$(apt-cache depends "$meta:$arch" 2>/dev/null | awk '$1 ~ /Depends:/ { print $2; exit }')
		name=${name%%:*}
		case $name in linux-image-"$series".*)
			echo "$name"
			return 0
			;;
		esac
	done
	# what an earlier run fetched will do
	name=$(ls -t "$vm_cache/linux-image-$series."*"-cloud-${arch}_"*.deb 2>/dev/null | head -n 1)
	name=$(basename "${name%%_*}")
	[ -n "$name" ] && echo "$name"
}

# Path of the kernel's image.
vm_kernel() {
	local series=$1 arch=$2 name file dir
	name=$(vm_kernel_name "$series" "$arch")
	if [ -z "$name" ] && vm_refresh "$arch"; then
		name=$(vm_kernel_name "$series" "$arch")
	fi
	if [ -z "$name" ]; then
		echo "apt offers no cloud kernel $series for $arch" >&2
		return 1
	fi
	if ! file=$(vm_package "$name" "$arch"); then
		vm_refresh "$arch"
		name=$(vm_kernel_name "$series" "$arch")
		file=$(vm_package "$name" "$arch") || {
			echo "$name for $arch could not be fetched" >&2
			return 1
		}
	fi
	dir=$vm_cache/$(basename "$file" .deb)
	if [ ! -e "$dir/done" ]; then
		rm -rf "$dir"
		mkdir -p "$dir" && dpkg-deb --fsys-tarfile "$file" | tar -xf - -C "$dir" --wildcards './boot/vmlinuz-*' &&
			touch "$dir/done" || return 1
	fi
	echo "$dir"/boot/vmlinuz-*
}

# ---- the image: an archive of packages and one of programs, one behind the other, as the kernel takes them

vm_dir_of() {
	if [ "$1" = "$vm_own" ]; then echo build; else echo "build/cross-$1"; fi
}

# vm_build ARCH TARGET: builds for this architecture, or for the other one with its compiler.
vm_build() {
	local arch=$1 cross=
	case $arch in
	"$vm_own") ;;
	amd64) cross=x86_64-linux-gnu- ;;
	arm64) cross=aarch64-linux-gnu- ;;
	esac
	env -u MAKEFLAGS -u MFLAGS -u MAKEOVERRIDES -u ARCH -u TEST -u KERNEL \
		make --no-print-directory -j "$(nproc)" B="$(vm_dir_of "$arch")" CROSS="$cross" "$2"
}

vm_archive() {
	(cd "$1" && find . -mindepth 1 -print0 | sort -z | cpio -o -0 -H newc -R 0:0 --quiet)
}

# vm_packages_archive ARCH FILE PACKAGE...: what packages bring, in a tree as distributions of today have it, where /lib
# and /bin are links into /usr.
vm_packages_archive() {
	local arch=$1 ret=$2 root=$2.d alternatives name file files=() missing=() of
	shift 2
	vm_offered $(printf "%s:$arch\n" ${@//|/ }) > "$vm_work/versions-$arch"
	if [ ! -s "$vm_work/versions-$arch" ] && vm_refresh "$arch"; then
		vm_offered $(printf "%s:$arch\n" ${@//|/ }) > "$vm_work/versions-$arch"
	fi
	# all that are missing at once: each call takes apt seconds
	while read -r name file; do
		[ -s "$vm_cache/${name}_${file//:/%3a}_$arch.deb" ] || missing+=("$name:$arch=$file")
	done < "$vm_work/versions-$arch"
	((${#missing[@]} == 0)) || (cd "$vm_cache" && apt-get -qq -o APT::Sandbox::User=root download "${missing[@]}") \
		>>"$vm_work/fetch-$arch.log" 2>&1
	for alternatives in "$@"; do
		file=
		for name in ${alternatives//|/ }; do
			file=$(vm_package "$name" "$arch" 2>>"$vm_work/fetch-$arch.log") && break
		done
		if [ -n "$file" ]; then
			files+=("$file")
		else
			echo "no package ${alternatives%%|*} for $arch: what needs it cannot run" >&2
		fi
	done
	# made again only of other packages, or in another way
	of="${files[*]} $(cksum < tests/vm/machine.sh)"
	[ ! -e "$ret" ] || [ "$(cat "$ret.of" 2>/dev/null)" != "$of" ] || return 0
	rm -rf "$root" "$ret.of"
	mkdir -p "$root"/{usr/{bin,sbin,lib},dev,proc,sys,tmp,etc,vm} || return 1
	for name in bin sbin lib; do ln -s "usr/$name" "$root/$name"; done
	case $arch in amd64) mkdir "$root/usr/lib64" && ln -s usr/lib64 "$root/lib64" ;; esac
	for file in "${files[@]}"; do
		# through tar, which keeps the links that /lib and /bin are
		dpkg-deb --fsys-tarfile "$file" | tar -xf - -C "$root" --keep-directory-symlink --exclude './usr/share' \
			--exclude '*/gconv' --exclude './usr/lib/systemd' --exclude './etc/*' || return 1
	done
	for name in sh cat sleep grep id head true; do
		[ -e "$root/usr/bin/$name" ] || [ ! -e "$root/usr/bin/busybox" ] || ln -s busybox "$root/usr/bin/$name"
	done
	printf 'root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n' > "$root/etc/passwd"
	printf 'root:x:0:\nnogroup:x:65534:\n' > "$root/etc/group"
	vm_archive "$root" > "$ret" && echo "$of" > "$ret.of"
	rm -rf "$root"
}

# vm_image tests|demo|bare ARCH: build/vm/image-WHAT-ARCH, of what vm_build has built.
vm_image() {
	local what=$1 arch=$2 b root=$vm_work/programs-$1-$2 packages=$vm_work/packages-$1-$2.cpio list=vm_packages_$1
	b=$(vm_dir_of "$arch")
	rm -rf "$root"
	mkdir -p "$root"/usr/bin "$root"/vm && cp "$b/vm-init" "$root/init" || return 1
	case $what in
	tests)
		cp "$b/live-tests" tests/vm/tests "$root/vm/" && cp -a "$b/fixtures" "$root/vm/fixtures" || return 1
		[ ! -d "$b/libcs" ] || cp -a "$b/libcs" "$root/vm/libcs" || return 1
		# tests run in the top directory there, as here
		mkdir -p "$root/tests/golden" && cp -a tests/golden/first-screen "$root/tests/golden/" || return 1
		;;
	demo)
		cp "$b/demo/sessiond" scripts/demo "$root/vm/" || return 1
		;;
	bare)	# nothing but the program, a target, and the init that compares
		rm -rf "$root/usr" "$root/vm"
		cp "$b/malloctrace.static" "$root/malloctrace" && cp "$b/fixtures/basic.static" "$root/target" || return 1
		packages=/dev/null
		;;
	esac
	if [ "$what" != bare ]; then
		cp "$b/malloctrace.static" "$root/usr/bin/malloctrace" &&
			vm_packages_archive "$arch" "$packages" ${!list} || return 1
	fi
	{ cat "$packages" && vm_archive "$root"; } > "$vm_work/image-$what-$arch" || return 1
	rm -rf "$root"
}

# ---- one machine

vm_machine() {
	case $1 in
	arm64) echo "qemu-system-aarch64 -M virt,gic-version=3 -cpu cortex-a57" ;;
	# one thread: the memory of amd64 is ordered more strictly than other hosts'
	amd64) echo "qemu-system-x86_64 -M q35 -cpu max -accel tcg,thread=single" ;;
	esac
}

# vm_boot ARCH VMLINUZ IMAGE CONSOLE [NAME=VALUE...]: what the kernel does not know it gives to init, as environment.
# 0: it went off by itself. 1: qemu failed. 124: too long, or silent too long.
vm_boot() {
	local arch=$1 vmlinuz=$2 image=$3 console=$4 tty=ttyAMA0 status=0 start=$SECONDS size seen=0 heard=$SECONDS pid
	shift 4
	[ "$arch" = arm64 ] || tty=ttyS0
	: > "$console"
	# written by qemu itself: all that the machine said is there when it is killed, and can be followed before
	# shellcheck disable=SC2046
	$(vm_machine "$arch") -smp 2 -m 2G -display none -monitor none -nodefaults -no-reboot \
		-serial "file:$console" -kernel "$vmlinuz" -initrd "$image" \
		-append "console=$tty quiet panic=-1 $*" </dev/null 2>"$console.qemu" &
	pid=$!
	# whoever ends this shell ends its machine
	trap 'kill "$pid" 2>/dev/null' EXIT
	trap 'exit 1' INT TERM HUP
	# ... and $$ is the script, which may have been killed
	while kill -0 "$pid" 2>/dev/null && kill -0 $$; do
		size=$(stat -c %s "$console")
		if ((size != seen)); then
			seen=$size heard=$SECONDS
		fi
		if ((SECONDS - start >= vm_limit || SECONDS - heard >= vm_silence)); then
			kill "$pid"
			status=124
			break
		fi
		sleep 0.5
	done
	kill -0 $$ || kill "$pid"
	wait "$pid" || ((status)) || status=1
	trap - EXIT INT TERM HUP
	sed -i 's/\r//g' "$console"
	cat "$console.qemu" >> "$console"
	rm -f "$console.qemu"
	return $status
}
