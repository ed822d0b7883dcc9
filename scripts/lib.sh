# lib.sh: what ./demo, ./test and scripts/check-* share: tools, build, throwaway clusters.
# Sourced, not run. The caller sets $root to the checkout.
#
# All that a run makes lies in one directory, $work, that belongs to the user
# who runs the server: the caller, or postgres where the caller is root, as a
# server refuses to run as root. Nobody else can look into it, so its clusters
# trust every connection. Nothing is installed for the machine's own servers.

umask 022
unset PGHOST PGHOSTADDR PGPORT PGUSER PGPASSWORD PGPASSFILE PGDATABASE PGDATA PGSERVICE PGOPTIONS
unset MAKEFLAGS MAKELEVEL

say() { printf '%s\n' "$*"; }
die() { printf '%s\n' "$*" >&2; exit 1; }
usage() { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
have() { command -v "$1" >/dev/null; }

as_root() {
	if ((EUID == 0)); then
		"$@" </dev/null
	else
		have sudo || die "this needs root, and there is no sudo: $*"
		sudo "$@"
	fi
}

# Runs a command as the user who owns the clusters, from a directory he can read.
# A server that it starts shall not hold the caller's lock (lock_cache, 9) on.
as_server() {
	if ((EUID == 0)); then
		(cd "${in_dir:-/}" && HOME=$work runuser -u postgres -- "$@") 9>&-
	else
		(cd "${in_dir:-/}" && "$@") 9>&-
	fi
}

# ---------------------------------------------------------------------------
# Tools
# ---------------------------------------------------------------------------

# Chooses the server: PG_CONFIG, else PG_MAJOR, else the newest one installed,
# else 15, the one that Debian 12 has.
find_server() {
	local found
	if [[ -z ${PG_CONFIG:-} ]]; then
		found=$(compgen -G "/usr/lib/postgresql/*/bin/postgres" | cut -d/ -f5 | sort -n | tail -n 1) || true
		debian_major=${PG_MAJOR:-${found:-15}}
		PG_CONFIG=/usr/lib/postgresql/$debian_major/bin/pg_config
	fi
	export PG_CONFIG
}

# Debian has PGXS in the client's package, but the headers and pg_regress in the
# development one.
server_is_complete() {
	[[ -x $PG_CONFIG ]] || return
	local bin pgxs
	bin=$("$PG_CONFIG" --bindir)
	pgxs=$("$PG_CONFIG" --pgxs)
	[[ -x $bin/postgres && -x $bin/psql && -f $pgxs && -x ${pgxs%/makefiles/pgxs.mk}/test/regress/pg_regress &&
		-f $("$PG_CONFIG" --includedir-server)/postgres.h ]]
}

has_libfuzzer() {
	compgen -G '/usr/lib/llvm-*/bin/clang' >/dev/null &&
		compgen -G '/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*' >/dev/null
}

# Installs the Debian packages of what is not here; arguments name more tools:
# tap, fuzz, or packages that the caller misses. Does nothing, and needs no
# rights, where all is here. NO_APT=1 only warns.
install_missing() {
	local packages=() tool
	have gcc || packages+=(gcc libc6-dev)
	have make || packages+=(make)
	# All at once, so that they come in one patch level.
	server_is_complete || packages+=("postgresql-${debian_major:-}" "postgresql-client-${debian_major:-}"
		"postgresql-server-dev-${debian_major:-}")
	for tool; do
		case $tool in
			tap) perl -MIPC::Run -MTest::More -e 1 2>/dev/null && have prove || packages+=(perl libipc-run-perl) ;;
			fuzz) has_libfuzzer || packages+=(clang libclang-rt-dev) ;;
			*) packages+=("$tool") ;;
		esac
	done
	((${#packages[@]})) || return 0
	if [[ -n ${NO_APT:-} ]]; then
		say "WARNING: missing, and not installed: ${packages[*]}"
		return
	fi

	[[ ${packages[*]} != *postgresql-\ * ]] || die "$PG_CONFIG is no complete PostgreSQL with PGXS"
	have apt-get || die "missing, and no apt-get to install it: ${packages[*]}"
	say "installing ${packages[*]}"
	as_root apt-get -qq update
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 \
		install --no-install-recommends "${packages[@]}" >/dev/null
	server_is_complete || die "$PG_CONFIG is still not complete"
}

# ---------------------------------------------------------------------------
# Work directory, build
# ---------------------------------------------------------------------------

# /tmp and not TMPDIR: root's own may be closed to postgres, and a socket's
# path must be short. A signal ends the caller by way of its exit trap; without a
# trap of its own a second one, as timeout sends, would break off that.
make_work() {
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	work=$(mktemp -d "/tmp/queen-$1.XXXXXX")
	((EUID != 0)) || chown postgres: "$work"
}

# Ends every server that runs below $work and removes all of it.
remove_work() {
	local pid_file
	[[ -n ${work:-} && -d $work ]] || return 0
	trap '' HUP INT TERM
	find "$work" -name postmaster.pid | while read -r pid_file; do
		as_server "$bindir/pg_ctl" -D "${pid_file%/*}" -m immediate -s stop || true
	done
	if [[ -n ${KEEP:-} ]]; then
		say "kept: $work" >&2
	else
		rm -rf "$work"
	fi
}

# Runs make in $work/build; targets and variables are the caller's.
run_make() {
	make -s --no-print-directory -C "$work/build" -f ../queen/Makefile PG_CONFIG="$PG_CONFIG" with_llvm=no "$@"
}

# Builds a copy of the sources, as the server's user may not read the checkout,
# and installs it below $work. It is a VPATH build, so those stay tried. Answers
# false where it does not compile; arguments are make's.
build() {
	mkdir "$work/queen" "$work/build"
	tar -C "$root" --mode=go+rX --exclude='*.o' --exclude='*.bc' --exclude='*.so' -cf - \
		Makefile queen.control META.json CHANGELOG.md sql src sql-tests expected examples |
		tar -C "$work/queen" --no-same-owner -xf - || die "the sources cannot be copied"
	bindir=$("$PG_CONFIG" --bindir)
	find_load_settings
	run_make -j"$(nproc)" "$@" all && run_make DESTDIR="$dest" install
}

# Sets $dest, where to install, and $load_settings, which make a server load
# queen from there. Debian's servers up to 17 and every 18 can do that; others
# load extensions from their own directories only.
find_load_settings() {
	local known
	known=$("$bindir/postgres" --describe-config | cut -f1)
	dest=$work/dest
	load_settings="dynamic_library_path = '$dest$("$PG_CONFIG" --pkglibdir):\$libdir'"$'\n'
	if grep -qx extension_control_path <<<"$known"; then
		load_settings+="extension_control_path = '$dest$("$PG_CONFIG" --sharedir):\$system'"
	elif grep -qx extension_destdir <<<"$known"; then
		load_settings+="extension_destdir = '$dest'"
	else
		say "this server loads extensions from its own directories only: installing there"
		dest=
		load_settings=
	fi
}

# ---------------------------------------------------------------------------
# Clusters
# ---------------------------------------------------------------------------

# Starts a cluster in $work/NAME, its socket there too; settings on stdin. It
# runs $server_program in place of postgres where that is set.
start_cluster() {
	local dir=$work/$1
	as_server mkdir "$dir"
	as_server "$bindir/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --no-locale -N >"$dir/initdb.log" 2>&1 ||
		{ cat "$dir/initdb.log"; die "initdb failed"; }
	{
		say "listen_addresses = ''"
		say "unix_socket_directories = '$dir'"
		say "$load_settings"
		cat
	} >>"$dir/data/postgresql.conf"
	as_server "$bindir/pg_ctl" -D "$dir/data" -l "$dir/log" ${server_program:+-p "$server_program"} -s -w start >/dev/null ||
		{ cat "$dir/log"; die "the server did not start"; }
}

stop_cluster() {
	as_server "$bindir/pg_ctl" -D "$work/$1/data" -m fast -s -w stop >/dev/null
}
