# meter.sh: what a run costs the server: processor time, WAL, disk. Sourced by run.

# Processor time of a process and its children, living and gone, in clock ticks.
ticks_of() {
	cat /proc/[0-9]*/stat 2>/dev/null |
		awk -v p="$1" '$1 == p {t += $14 + $15 + $16 + $17} $4 == p {t += $14 + $15} END {print t + 0}'
}

# Three numbers: clock ticks, bytes of WAL, bytes on disk.
read_meter() {
	if [[ $side == redis ]]; then
		say "$(ticks_of "$(<"$work/redis/pid")") $(redis_bytes) $(redis_bytes)"
	else
		say "$(ticks_of "$(head -n 1 "$work/bench/data/postmaster.pid")")" \
			"$(sql -F ' ' -c "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0'), pg_database_size(current_database())")"
	fi
}

start_meter() { meter=$(read_meter); }

# Sets $cpu (µs), $wal and $disk (bytes), each for one of so many messages.
stop_meter() {
	read -r cpu wal disk < <(awk -v n="$1" -v hz="$(getconf CLK_TCK)" -v a="$meter" -v b="$(read_meter)" 'BEGIN {
		split(a, x, " "); split(b, y, " ")
		print (y[1] - x[1]) * 1e6 / hz / n, (y[2] - x[2]) / n, (y[3] - x[3]) / n}')
}
