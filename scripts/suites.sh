# suites.sh: what ./test and the checks beside it share: the suites, and the
# counting. Sourced after lib.sh, not run.

passed=0
failed=0
summary=()

# Adds to the totals: suite, passed, failed.
count() {
	passed=$((passed + $2))
	failed=$((failed + $3))
	summary+=("$(printf '%-10s %d of %d passed' "$1" "$2" $(($2 + $3)))")
}

# Counts what a command counted itself and told as "N passed, N failed"; no such
# line, or an exit status that none of its failures explains, is a failure: suite,
# output, status.
count_closing() {
	local good bad
	read -r good bad < <(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed.*/\1 \2/p' "$2" | tail -n 1) || good=0 bad=1
	(($3 == 0 || bad > 0)) || bad=1
	count "$1" "$good" "$bad"
}

matches() { grep -cE "$1" "$2" || true; }

# Counts what pg_regress or its isolation twin printed, in the form of 15 or
# the TAP form of later ones. A run that broke off, or a server that crashed,
# counts as one more failure.
count_regress() {
	local suite=$1 output=$2 good bad
	good=$(matches '^(test .*\.\.\. ok|ok [0-9]+)' "$output")
	bad=$(matches '^(test .*\.\.\. FAILED|not ok [0-9]+)' "$output")
	if ! grep -qE '(All [0-9]+ tests passed|[0-9]+ of [0-9]+ tests failed)' "$output"; then
		say "FAILED: $suite broke off before its last test"
		bad=$((bad + 1))
	fi
	if grep -E 'PANIC|TRAP: |terminated by signal' "$work/$suite/log"; then
		say "FAILED: the server crashed during $suite"
		bad=$((bad + 1))
	fi
	count "$suite" "$good" "$bad"
}

# What the drivers say besides, on 15 and later; the differences are shown anyway.
noise='/^((# )?(\+\+\+|using|The diff|A copy)|\(using|file "|summary|====|make|1\.\.|SET$|(CREATE|DROP|ALTER) [A-Z]+$|$)/d'

# Runs one of PGXS's installcheck drivers on a cluster of its own.
run_driver() {
	local suite=$1 diffs=$2 output=$work/$1.out
	shift 2
	say "== $suite"
	start_cluster "$suite" <"$work/queen/sql-tests/test.conf"
	run_make installcheck EXTRA_REGRESS_OPTS="--host=$work/$suite --user=postgres" "$@" 2>&1 |
		tee "$output" | sed -uE "$noise" ||
		cat "$work/build/$diffs" 2>/dev/null || true
	stop_cluster "$suite" || true
	count_regress "$suite" "$output"
}

# Counts whether the library exports foreign symbols.
run_symbols() {
	say "== symbols"
	if "$root/scripts/check-symbols" "$work/build/queen.so"; then
		count symbols 1 0
	else
		count symbols 0 1
	fi
}

# Counts whether the documentation knows all SQLSTATEs.
run_sqlstates() {
	say "== sqlstates"
	if "$root/scripts/check-sqlstates"; then
		count sqlstates 1 0
	else
		count sqlstates 0 1
	fi
}

run_regress() {
	run_driver regress regression.diffs ISOLATION= TAP_TESTS= ${1:+"REGRESS=$*"}
}

run_isolation() {
	run_driver isolation output_iso/regression.diffs REGRESS= TAP_TESTS= ${1:+"ISOLATION=$*"}
}

# TAP tests start servers themselves, so they run as the server's user.
run_tap() {
	local files=("$@") output=$work/tap.out good skipped
	((${#files[@]})) || mapfile -t files < <(cd "$root" && ls sql-tests/t/*.pl 2>/dev/null)
	say "== tap"
	if ((${#files[@]} == 0)); then
		say "WARNING: there are no TAP tests"
		return
	fi
	as_server mkdir "$work/tap"
	say "$load_settings" >"$work/tap.conf"
	in_dir=$work/tap TEMP_CONFIG=$work/tap.conf as_server \
		make -s -f ../queen/Makefile PG_CONFIG="$PG_CONFIG" installcheck \
		REGRESS= ISOLATION= PROVE_TESTS="${files[*]}" 2>&1 |
		tee "$output" | sed -uE '/^(\+\+\+|make)/d' || true
	good=$(matches '\.pl \.+ ok$' "$output")
	skipped=$(matches '\.pl \.+ skipped' "$output")
	((skipped == 0)) || say "WARNING: $skipped TAP files were skipped"
	((good == ${#files[@]})) || show_tap_logs
	count tap "$good" $((${#files[@]} - good - skipped))
}

# The end of the logs of the tests that failed.
show_tap_logs() {
	local log
	for log in "$work"/tap/tmp_check/log/regress_log_*; do
		grep -qE 'not ok|died at|error running|Bail out|timed out' "$log" 2>/dev/null || continue
		say "-- ${log##*/}"
		tail -n 40 "$log"
	done
}

# The fuzz script needs no server and closes with its own "N passed, N failed".
run_fuzz() {
	local output=$work/fuzz.out status=0
	say "== fuzz"
	if [[ ! -x $work/queen/sql-tests/fuzz/run ]]; then
		say "WARNING: there is no fuzz script"
		return
	fi
	"$work/queen/sql-tests/fuzz/run" 2>&1 | tee "$output" || status=$?
	count_closing fuzz "$output" "$status"
}

finish() {
	local line
	say "== summary"
	for line in "${summary[@]}"; do
		say "$line"
	done
	say "$passed passed, $failed failed"
	((failed == 0 && passed > 0)) || exit 1
}
