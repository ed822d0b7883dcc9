# redis.sh: a Redis of the harness's own, anew for each run; it is the only side
# that is no database of the cluster. Sourced by run.

# Sets $redis_server. Debian's redis-tools have the server, too: it is the same
# program as redis-check-rdb, which looks at the name that it is called by. So
# redis-server, which would start a service, need not be installed.
find_redis() {
	local program
	redis_server=
	program=$(command -v redis-server || command -v redis-check-rdb) || return 0
	ln -s "$program" "$work/redis-server"
	! "$work/redis-server" --version >/dev/null 2>&1 || redis_server=$work/redis-server
}

# Every command is on disk before it is answered, or, with synchronous_commit off,
# each second. The file is not written anew in between, so that its growth is
# what was logged.
start_redis() {
	stop_redis
	mkdir "$work/redis"
	(cd "$work/redis" && "$redis_server" --port 0 --unixsocket "$work/redis/socket" --save '' --appendonly yes --auto-aof-rewrite-percentage 0 \
		--appendfsync "$([[ $commit == on ]] && echo always || echo everysec)" --daemonize yes \
		--pidfile "$work/redis/pid" --logfile "$work/redis/log" >/dev/null)
	until [[ -S $work/redis/socket && -s $work/redis/pid ]] && redis-cli -s "$work/redis/socket" ping >/dev/null 2>&1; do sleep 0.05; done
}

stop_redis() {
	local pid
	[[ -s $work/redis/pid ]] || { rm -rf "$work/redis"; return 0; }
	pid=$(<"$work/redis/pid")
	kill "$pid" 2>/dev/null || true
	while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
	rm -rf "$work/redis"
}

redis_bytes() { du -sb "$work/redis/appendonlydir" | cut -f1; }
