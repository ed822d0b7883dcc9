# measure.sh: one run of one side, by kind of question. Sourced by run. A run
# makes the side anew, does its work, and counts; it leaves its figures in
# $rate (messages/s), $cpu, $wal, $disk (of a message), $p50, $p99, $ms.

# $few, for --smoke, is how many transactions a client does; 0: as many as time allows.
#
# The point of a question at which is measured: defaults, then what its pairs say.
set_point() {
	local pair
	clients=1 batch=1 bytes=100 partitions=1 groups=1 spread=16 segment=100 messages=0 script='' retention=off
	[[ $kind != push ]] || groups=0
	for pair; do
		declare -g "$pair"
	done
	if ((messages > 0)); then
		pops=$((messages / batch)) fill=$messages
	else
		pops=$((few > 0 ? few : seconds * pops_a_second / (1 + batch / 200)))
		((groups <= 1 || few > 0)) || pops=$((pops / groups > 100 ? pops / groups : 100))
		fill_evenly
	fi
	pops=$(((pops + clients - 1) / clients))
	transactions_each=$((messages > 0 ? pops : few))
	warm=$((1 + clients / 32))
	point=
	for pair in clients batch bytes partitions groups spread segment messages pops fill seconds transactions_each warm; do
		point+="$pair=${!pair} "
	done
	export clients batch bytes partitions groups segment pops fill seconds transactions_each warm
}

# More than the pops take, in whole batches for each partition, so that all are
# full: also where several clients do not take evenly from all.
fill_evenly() {
	local unit=$((batch > 100 ? batch : 100)) taken=$((pops * batch))
	((clients == 1)) || taken=$((taken * 5 / 4))
	fill=$(((taken / spread / unit + 2) * unit * spread))
}

# Empty, then with what all kinds need.
begin_run() {
	rate=- cpu=- wal=- disk=- p50=- p99=- ms=- pushed=0 popped=0
	make_fresh
	in_sql "$side" || return 0
	run_sql prepare >/dev/null
	set_sample
}

set_sample() {
	sql -v batch="$batch" -v bytes="$bytes" -f "$root/bench/common.sql"
}

# Nothing is left to be written for what was prepared.
settle() { sql -c "VACUUM ANALYZE" -c CHECKPOINT; }

# Sets $rate from messages and seconds.
set_rate() { rate=$(calculate "$1 / $2"); }

measure_push() {
	local script=push
	((batch == 1)) || script=push-batch
	begin_run
	settle
	count_messages
	if ((transactions_each == 0)); then
		drive_warm $script "$clients"
	else
		start_meter
		drive $script "$clients" -t "$transactions_each"
		transactions_measured=$transactions
	fi
	stop_meter $((transactions_measured * batch))
	expect $((transactions * batch)) 0
	set_rate $((transactions_measured * batch)) "$seconds_taken"
}

measure_pop() {
	begin_run
	run_sql fill >/dev/null
	settle
	run_sql warm >/dev/null
	count_messages
	start_meter
	drive "${script:-pop}" "$clients" -t "$pops"
	stop_meter $((transactions * batch))
	expect 0 $((transactions * batch))
	set_rate $((transactions * batch)) "$seconds_taken"
}

# Batches are pushed once, then every group pops all of them, one consumer each.
# The rate is that of deliveries, pushing included. Node stops when time is up.
measure_fan() {
	local pushing fan=push-batch
	begin_run
	settle
	count_messages
	[[ -z $(file_of fan-push) ]] || fan=fan-push
	start_meter
	drive $fan 1 -t "$pops"
	pushing=$seconds_taken
	drive fan-pop "$groups" -t "$pops"
	stop_meter $((pops * batch * groups))
	expect $((pops * batch * ($([[ $side == plain ]] && say "$groups" || say 1)))) $((pops * batch * groups))
	set_rate $((pops * batch * groups)) "($pushing + $seconds_taken)"
}

# A batch is pushed and one popped, in turn; some are there before.
measure_mixed() {
	begin_run
	begin_mixed
	[[ $retention == off ]] || run_sql retention >/dev/null
	count_messages
	start_meter
	drive_mixed
	stop_meter $((transactions * batch))
	check_mixed
}

begin_mixed() {
	run_sql fill >/dev/null
	settle
	run_sql warm >/dev/null
}

drive_mixed() {
	drive mixed 1 $(limit)
	set_rate $((transactions * batch)) "$seconds_taken"
}

check_mixed() { expect $((transactions * batch)) $((transactions * batch)); }

# A file of SQL that measures itself and answers milliseconds.
measure_timed() {
	begin_run
	ms=$(run_sql "$script" | tail -n 1)
}

# All kinds of a side in Node: it prepares and says "ready", does its work when
# told to, answers with its figures, and counts.
measure_in_node() {
	local answer
	rate=- cpu=- wal=- disk=- p50=- p99=- ms=-
	make_fresh
	export kind side commit
	coproc NODE { run_node "$(engine_of "$side")" "$kind" 2>"$work/node.err"; }
	hear_node ready
	[[ $side == redis ]] || settle
	start_meter
	say go >&"${NODE[1]}"
	hear_node done
	read -r messages_done seconds_taken p50 p99 <<<"$answer"
	stop_meter "$messages_done"
	say check >&"${NODE[1]}"
	hear_node checked
	wait "$NODE_PID" 2>/dev/null || true
	set_rate "$messages_done" "$seconds_taken"
}

# Reads one line, "WORD answer"; sets $answer.
hear_node() {
	local word
	if ! read -r -t 600 -u "${NODE[0]}" word answer || [[ $word != "$1" ]]; then
		cat "$work/node.err" >&2
		die "$name: $side failed: ${word:-} ${answer:-}"
	fi
}

# One run of $side.
measure() {
	if in_sql "$side"; then
		"measure_$kind"
	else
		measure_in_node
	fi
	drop_side
}
