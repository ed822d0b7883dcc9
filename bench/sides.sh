# sides.sh: what is compared, and how a side is driven (peers/README says what
# a peer's files are). Sourced by run.
#
# A side is a directory of SQL below peers/, run by pgbench, or a module for
# Node, which peers/drive.mjs runs; NAME-node is NAME in Node. $point holds what
# a run is asked for: clients, batch, bytes, partitions, ..., also exported.

peers=$root/bench/peers
all_sides="queen fused plain pgq queen-node plain-node pgq-node pgboss graphile redis"

in_sql() { [[ -d $peers/$1 ]]; }

# The system that a side is made of; its template database is t_ENGINE.
engine_of() {
	case $1 in
		fused) say queen ;;
		*) say "${1%-node}" ;;
	esac
}

# ---------------------------------------------------------------------------
# Which are there
# ---------------------------------------------------------------------------

# Why a side cannot run here, or nothing.
missing_for() {
	if ! in_sql "$1" && [[ -z $node ]]; then
		say "Node with its packages is not there"
	elif [[ $1 == redis && -z $redis_server ]]; then
		say "Redis is not there"
	elif [[ $1 == pgq* ]] && [[ $(sql -c "SELECT count(*) FROM pg_available_extensions WHERE name = 'pgq'") == 0 ]]; then
		say "PgQ is not there"
	fi
}

# Sets $node to the directory with the packages of package.json, kept for the
# next run in the cache; to nothing where they cannot be had.
find_node() {
	node=
	have node || return 0
	cache=${QUEEN_CACHE:-/var/tmp/queen-cache.$EUID}/bench
	mkdir -p "$cache"
	[[ -O $cache ]] || die "$cache belongs to somebody else: name another directory by QUEEN_CACHE"
	if ! cmp -s "$root/bench/package.json" "$cache/installed.json"; then
		rm -rf "$cache/installed.json" "$cache/node_modules"
		cp "$root/bench/package.json" "$cache/package.json"
		(cd "$cache" && npm install --package-lock=false --no-audit --no-fund) >"$work/npm.log" 2>&1 ||
			{ cat "$work/npm.log" >&2; return 0; }
		cp "$root/bench/package.json" "$cache/installed.json"
	fi
	mkdir "$work/node"
	cp -r "$peers"/*.mjs "$cache/node_modules" "$work/node"
	node=$work/node
}

# Installs what peers need, each by itself, as none of them must be there.
install_peers() {
	[[ -z ${NO_APT:-} ]] || return 0
	have node && have npm || (install_missing nodejs npm) >&2 || true
	have redis-check-rdb || (install_missing redis-tools) >&2 || true
	[[ -z ${debian_major:-} || -f $("$PG_CONFIG" --sharedir)/extension/pgq.control ]] ||
		(install_missing "postgresql-$debian_major-pgq3") >&2 || true
}

# Sets $available; warns of each side that is left out. An engine gets a
# template, from which every run starts anew.
find_sides() {
	local why engine done_=' '
	find_node
	find_redis
	available=()
	for side in $1; do
		why=$(missing_for "$side")
		engine=$(engine_of "$side")
		if [[ -z $why && $engine != redis && $done_ != *" $engine "* ]]; then
			make_template "$engine" || why="its database cannot be made"
			done_+="$engine "
		fi
		if [[ -z $why ]]; then
			available+=("$side")
		else
			say "WARNING: $side is left out: $why"
		fi
	done
}

make_template() {
	local database=t_$1
	"$bindir/createdb" -h "$work/bench" -U postgres "$database"
	if [[ -f $peers/$1/template.sql ]]; then
		sql -f "$root/bench/payloads.sql" -f "$peers/$1/template.sql" >/dev/null
	else
		run_node "$1" template >"$work/template.log" 2>&1 || { cat "$work/template.log" >&2; return 1; }
	fi
}

# ---------------------------------------------------------------------------
# A run's steps, for the side $side
# ---------------------------------------------------------------------------

# An empty system; later steps go there.
make_fresh() {
	if [[ $side == redis ]]; then
		start_redis
		return
	fi
	drop_side
	sql -c "CREATE DATABASE \"bench_$side\" TEMPLATE t_$(engine_of "$side")"
	database=bench_$side
}

drop_side() {
	database=postgres
	if [[ $side == redis ]]; then
		stop_redis
	else
		sql -c "SET client_min_messages = warning" -c "DROP DATABASE IF EXISTS \"bench_$side\" WITH (FORCE)"
	fi
}

# Where a side's file for something is: its own, or its engine's.
file_of() {
	local dir
	for dir in "$side" "$(engine_of "$side")"; do
		[[ ! -f $peers/$dir/$1.sql ]] || { say "$peers/$dir/$1.sql"; return; }
	done
}

# Runs one of a side's files by psql, where there is one; all of $point are variables.
run_sql() {
	local file variables=() pair
	file=$(file_of "$1")
	[[ -n $file ]] || return 0
	for pair in $point; do
		variables+=(-v "$pair")
	done
	sql "${variables[@]}" -f "$file"
}

# pgbench's script: numbers are written into it, so that they are planned as they
# would be in a client's code; partitions are chosen at random.
make_script() {
	local file
	file=$(file_of "$1")
	[[ -n $file ]] || die "$side has no $1.sql"
	{
		[[ $1 == pop* || $1 == fan-pop ]] || cat "$root/bench/sample.sql"
		sed -E "s/:batch\b/$batch/; s/:groups\b/$groups/; s/:partitions\b/$partitions/" "$file"
	} >"$work/$side-$1.sql"
}

# Runs a script with so many clients for --seconds, or so many transactions of
# each; sets $transactions and $seconds_taken.
drive() {
	make_script "$1"
	run_pgbench "$work/$side-$1.sql" "$2" "${@:3}" -D fresh=1 -D lease=00000000-0000-0000-0000-000000000000
}

# Runs a script with so many clients for --seconds after the first $warm, in which
# sessions fill their caches: 64 of them take the processor for longer than a
# short run lasts. Meter, $transactions_measured and $seconds_taken are of the time
# after those; $transactions is of all.
drive_warm() {
	local reader
	rm -f "$work/meter"
	: >"$work/pgbench.err"
	meter_when_warm &
	reader=$!
	drive "$1" "$2" -T $((warm + seconds)) -P 1
	[[ -f $work/meter ]] || sleep 0.1
	kill $reader 2>/dev/null || true
	wait $reader 2>/dev/null || true
	[[ -f $work/meter ]] || die "$name: $side was not warm in $((warm + seconds)) s"
	meter=$(<"$work/meter")
	# "progress: 1.0 s, 4711.0 tps, ...", each second; the last part of one is not told.
	read -r transactions_measured seconds_taken < <(sed -nE 's/^progress: ([0-9.]+) s, ([0-9.]+) tps.*/\1 \2/p' "$work/pgbench.err" |
		awk -v warm=$(warm_from) -v all="$transactions" '
			{n = $2 * ($1 - at); at = $1}
			!is_warm {before += n; is_warm = at >= warm; next}
			{told += n; seconds += n / $2}
			END {if (told) printf "%d %f\n", all - before, seconds * (all - before) / told}') ||
		die "$name: $side told of no progress once it was warm"
}

# From which time on, as pgbench tells it, sessions count as warm: it may be a little early.
warm_from() { say "$((warm - 1)).9"; }

# Reads the meter into a file when they are. Busy clients may keep pgbench from
# telling each second.
meter_when_warm() {
	until awk -v warm=$(warm_from) '$1 == "progress:" && $2 >= warm {is_warm = 1} END {exit !is_warm}' "$work/pgbench.err"; do
		sleep 0.02
	done
	read_meter >"$work/meter.new"
	mv "$work/meter.new" "$work/meter"
}

# How long: --seconds, or what the question fixes.
limit() { ((transactions_each == 0)) && say "-T $seconds" || say "-t $transactions_each"; }

# Sets $pushed and $popped to what the side holds by its own count.
count_messages() {
	IFS='|' read -r pushed popped < <(run_sql count)
}

# Stops where the counts since the last count are not so many, pushed and popped.
expect() {
	local pushed_before=$pushed popped_before=$popped wrong
	count_messages
	((pushed - pushed_before == $1)) || die "$name: $side holds $((pushed - pushed_before)) new messages where $1 were pushed"
	((popped - popped_before == $2)) || die "$name: $side handed out $((popped - popped_before)) messages where $2 were popped"
	wrong=$(run_sql order)
	((${wrong:-0} == 0)) || die "$name: $side has $wrong messages out of order"
}

run_node() {
	(cd "$node" && PGHOST=$work/bench PGUSER=postgres PGDATABASE=$database REDIS_SOCKET=$work/redis/socket exec node drive.mjs "$@")
}
