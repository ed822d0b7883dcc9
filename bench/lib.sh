# lib.sh: what bench/run and the scripts beside it share: a cluster of their own,
# SQL, pgbench, medians, the machine. Sourced; the caller sets $root.
#
# $database is where sql and run_pgbench go.

. "$root/scripts/lib.sh"

cpus=$(nproc)
database=postgres

# Builds queen and starts a cluster that knows it; settings on stdin. Arguments
# are packages that the caller needs besides.
begin_bench() {
	find_server
	install_missing "$@" >&2
	make_work bench
	trap remove_work EXIT
	build >"$work/build.log" 2>&1 || { cat "$work/build.log" >&2; die "queen does not compile"; }
	[[ -x $bindir/pgbench ]] || die "there is no pgbench in $bindir"
	start_cluster bench < <(say "shared_preload_libraries = 'queen'"; cat)
}

sql() { "$bindir/psql" -h "$work/bench" -U postgres -d "$database" -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }
progress() { say "$*" >&2; }
median() { sort -g | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
calculate() { awk "BEGIN {print $1}"; }
load() { cut -d' ' -f1-3 /proc/loadavg; }

# Runs a script file; sets $transactions, $tps and $seconds_taken, all without
# the time to connect. Arguments: file, clients, then pgbench's.
run_pgbench() {
	local script=$1 clients=$2 output
	shift 2
	output=$("$bindir/pgbench" -h "$work/bench" -U postgres -n -M prepared -f "$script" -c "$clients" \
		-j "$((clients < cpus ? clients : cpus))" "$@" "$database" 2>"$work/pgbench.err") ||
		{ cat "$work/pgbench.err" >&2; die "${script##*/} failed"; }
	! grep WARNING "$work/pgbench.err" >&2 || die "${script##*/} warned"
	transactions=$(sed -nE 's/^number of transactions actually processed: ([0-9]+).*/\1/p' <<<"$output")
	tps=$(sed -nE 's/^tps = ([0-9.]+) \(without.*/\1/p' <<<"$output")
	seconds_taken=$(calculate "$transactions / $tps")
}
