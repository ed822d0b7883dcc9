# checks.sh: what the scripts/check-* share besides lib.sh and suites.sh: a cache,
# servers that run under a tool, and the proof that the tool finds faults.
# Sourced after these two, not run.

# Sets $cache, the directory where what takes long to make is kept for the next
# run: QUEEN_CACHE, else one below /var/tmp. Root runs what lies in it, so
# nobody else may own it.
find_cache() {
	cache=${QUEEN_CACHE:-/var/tmp/queen-cache.$EUID}
	mkdir -p "$cache"
	cache=$(realpath "$cache")
	[[ -O $cache ]] || die "$cache belongs to somebody else: name another directory by QUEEN_CACHE"
}

# Keeps other runs away from one thing in the cache until this one ends.
lock_cache() {
	exec 9>"$cache/$1.lock"
	flock -n 9 || { say "waiting for another run that uses $cache/$1"; flock 9; }
}

# What this machine's apt gets packages from, a line each: "LABEL URI SUITE".
apt_sources() {
	apt-get indextargets --format '$(LABEL) $(REPO_URI) $(CODENAME)' 'Created-By: Packages' | sort -u
}

# Sets $suites to those that the caller names, else to the defaults: KNOWN,
# DEFAULTS, NAME ...
choose_suites() {
	local known=$1 defaults=$2 name
	shift 2
	for name; do
		[[ " $known " == *" $name "* ]] || usage
	done
	read -ra suites <<<"${*:-$defaults}"
}

run_suites() {
	local name
	for name in "${suites[@]}"; do
		"run_$name"
	done
}

# Makes clusters run "COMMAND... postgres ARGUMENTS" in place of postgres.
wrap_server() {
	server_program=$work/server
	{
		say '#!/bin/sh'
		say "exec $* '$bindir/postgres' \"\$@\""
	} >"$server_program"
	chmod 755 "$server_program"
}

# Makes $work/reports, into which the tool's reports go, one file for a process.
make_reports() {
	as_server mkdir "$work/reports"
}

# Adds what UBSan said: beside ASan it writes to the server's log only.
gather_reports() {
	grep -rh 'runtime error: ' "$work"/*/log >"$work/reports/report.log" || true
}

# Counts the reports as one test more, and shows those that there are.
count_reports() {
	local report bad=0
	gather_reports
	for report in "$work"/reports/*; do
		[[ -s $report ]] || continue
		bad=$((bad + 1))
		say "-- report: ${report##*.}"
		head -n 200 "$report"
	done
	say "== reports: $bad"
	count reports $((bad == 0)) $((bad > 0))
	rm -f "$work"/reports/*
}

# Commits a fault of canary.c on a cluster like those of the tests, and counts
# whether the tool tells, in its reports or else in the server's log: FAULT, what
# it tells, flags for the compiler.
run_canary() {
	local fault=$1 words=$2 told=$work/reports
	shift 2
	[[ -d $told ]] || told=$work/canary-$fault/log
	say "== canary: $fault"
	$("$PG_CONFIG" --cc) $("$PG_CONFIG" --cppflags) -I"$("$PG_CONFIG" --includedir-server)" \
		-O1 -fPIC -shared "$@" -o "$work/canary-$fault.so" "$root/scripts/canary.c"
	start_cluster "canary-$fault" <"$work/queen/sql-tests/test.conf"
	"$bindir/psql" -X -q -h "$work/canary-$fault" -U postgres -d postgres >/dev/null 2>&1 <<-EOF || true
		CREATE FUNCTION canary(text) RETURNS void LANGUAGE c AS '$work/canary-$fault';
		SELECT canary('$fault');
	EOF
	stop_cluster "canary-$fault" || true
	[[ ! -d $told ]] || gather_reports
	if grep -rhE -m 1 "$words" "$told"; then
		count canary 1 0
	else
		say "FAILED: this check does not find faults"
		count canary 0 1
	fi
}
