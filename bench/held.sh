# held.sh: the question of what a snapshot costs that is held for long. Sourced
# by run. All sides live at the same time and take turns of --seconds; after a
# first turn of each, a transaction with a snapshot stays open in each database.
# The figures are those of the turns up to each quarter of the time.

sleepers="FROM pg_stat_activity WHERE query ~ 'pg_sleep.100000' AND pid <> pg_backend_pid()"

# Opens a snapshot in the database of $side, kept until close_snapshots.
open_snapshot() {
	{
		say "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class;"
		say "SELECT pg_sleep(100000);"
	} | "$bindir/psql" -h "$work/bench" -U postgres -d "bench_$side" -X -q >/dev/null 2>&1 &
	snapshots+=($!)
	until [[ $(sql -c "SELECT count(*) $sleepers AND datname = current_database() AND backend_xmin IS NOT NULL") == 1 ]]; do sleep 0.1; done
}

close_snapshots() {
	database=postgres
	sql -c "SELECT pg_terminate_backend(pid) $sleepers" >/dev/null
	wait "${snapshots[@]}" 2>/dev/null || true
}

# One turn of each side for each synchronous_commit, recorded at x.
take_turns() {
	local x=$1 commit side
	for commit in $commits; do
		set_commit
		for side in "${sides[@]}"; do
			take_turn
			record "$x" $turn
		done
	done
	turn=$((turn + 1))
}

take_turn() {
	database=bench_$side pushed=${held_pushed[$side]} popped=${held_popped[$side]}
	drive_mixed
	check_mixed
	held_pushed[$side]=$pushed held_popped[$side]=$popped
}

ask_held() {
	local side began quarter turn=1 snapshots=()
	local -A held_pushed held_popped
	set_point $fixed
	transactions_each=$few
	for side in "${sides[@]}"; do
		begin_run
		begin_mixed
		count_messages
		held_pushed[$side]=$pushed held_popped[$side]=$popped
	done
	for ((quarter = 0; quarter < rounds; quarter++)); do take_turns 0; done
	for side in "${sides[@]}"; do
		database=bench_$side
		open_snapshot
	done
	began=$SECONDS
	for quarter in 1 2 3 4; do
		turn=1
		while ((SECONDS - began < held * quarter / 4 || turn == 1)); do
			take_turns "$(calculate "$held * $quarter / 4 / 60")"
		done
	done
	close_snapshots
	for side in "${sides[@]}"; do drop_side; done
}
