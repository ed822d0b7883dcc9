# machine.sh: the cluster's settings, and what it runs on. Sourced by run.

settings() {
	cat <<-'EOT'
		shared_buffers = 1GB
		max_wal_size = 8GB
		checkpoint_timeout = 1h
		max_connections = 400
		queen.naptime = 1s
	EOT
	[[ $mode != smoke ]] || say "fsync = off"
}

# Sets $flush, what a flush of the disk costs, by the server's own test, and how
# many small pops may be done in a second then.
measure_flush() {
	flush=$(as_server "$bindir/pg_test_fsync" -s 1 -f "$work/bench/flush" 2>/dev/null |
		awk '/^ *fdatasync/ {print $(NF - 1); exit}')
	pops_a_second=$(calculate "int(1000000 / (${flush:-0} + 200))")
}

package_version() { sed -nE 's/^ *"version": *"([^"]*)".*/\1/p' "$node/node_modules/$1/package.json" | head -n 1; }

# One line for each side's version.
versions() {
	local package
	say "* PostgreSQL $(sql -c 'SHOW server_version'), queen $(sed -nE "s/^default_version = '(.*)'/\1/p" "$root/queen.control")"
	[[ " ${available[*]} " != *" pgq "* ]] || say "* PgQ $(sql -c "SELECT default_version FROM pg_available_extensions WHERE name = 'pgq'")"
	[[ -z $redis_server ]] || say "* Redis $("$redis_server" --version | sed -nE 's/.* v=([^ ]+).*/\1/p'), one append to the file flushed before each answer"
	[[ -n $node ]] || return 0
	say "* Node $(node --version)$(for package in pg pg-boss graphile-worker redis; do printf ', %s %s' "$package" "$(package_version "$package")"; done)"
}

describe_machine() {
	say "* processor: $(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1), $cpus of them;" \
		"memory: $(awk '/^MemTotal/ {printf "%.1f GB", $2 / 1048576}' /proc/meminfo); file system: $(df --output=fstype "$work" | tail -n 1)"
	say "* one fdatasync (pg_test_fsync): $flush µs"
	versions
	say "* fsync $(sql -c 'SHOW fsync'), shared_buffers $(sql -c 'SHOW shared_buffers'), max_wal_size $(sql -c 'SHOW max_wal_size')," \
		"checkpoint_timeout $(sql -c 'SHOW checkpoint_timeout'), the rest as installed"
	say "* load average at the start: $(load)"
}
