# held.sh: the question of what a snapshot costs that is held for long. Sourced
# by run. All sides live at the same time and take turns of --seconds; after a
# first turn of each, a transaction with a snapshot stays open in each database.
# The figures are those of the turns up to each quarter of the time.

# Opens a snapshot in the database of $side, kept until close_snapshots.
open_snapshot() {
	{
		say "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class;"
		say "SELECT pg_sleep(100000);"
	} | "$bindir/psql" -h "$work/bench" -U postgres -d "bench_$side" -X -q >/dev/null 2>&1 &
	snapshots+=($!)
	until [[ $(sql -c "SELECT count(*) FROM pg_stat_activity WHERE datname = 'bench_$side' AND backend_xmin IS NOT NULL AND query ~ 'pg_sleep.100000'  AND pid <> pg_backend_pid()") == 1 ]]; do sleep 0.1; done
}

close_snapshots() {
	database=postgres
	sql -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ~ 'pg_sleep.100000' AND pid <> pg_backend_pid()" >/dev/null
	wait "${snapshots[@]}" 2>/dev/null || true
}

# One turn of each side, recorded at x.
take_turns() {
	local x=$1 side
	for side in "${sides[@]}"; do
		database=bench_$side pushed=${held_pushed[$side]} popped=${held_popped[$side]}
		drive_mixed
		check_mixed
		held_pushed[$side]=$pushed held_popped[$side]=$popped
		record "$x" $turn
	done
	turn=$((turn + 1))
}

ask_held() {
	local side began quarter turn=1 snapshots=() commit=on
	local -A held_pushed held_popped
	set_commit
	set_point $fixed
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
