// queen by node-postgres: push, push_batch; pop with ack of the lease before;
// pop with wait. Checks that each partition goes on where it ended.
import { connect, run } from './postgres.mjs';

export async function open(task) {
	const consumers = Math.max(task.clients, task.groups);
	const clients = await connect(task.clients), readers = await connect(consumers), [admin] = await connect(1);
	const leases = Array.from({ length: consumers }, () => []);
	const next = new Map();

	function inOrder(group, rows) {
		for (const { partition, message_offset: offset } of rows) {
			const lane = `${group} ${partition}`, wanted = next.get(lane) ?? 0;
			if (offset !== wanted) throw new Error(`partition ${partition}: offset ${offset} came where ${wanted} was due`);
			next.set(lane, offset + 1);
		}
	}

	return {
		prepare: () => admin.query(`SELECT queen.create_queue('bench'); SELECT queen.subscribe('bench', 'g' || g) FROM generate_series(0, ${task.groups - 1}) g`),
		push: (bodies, client) => bodies.length === 1
			? run(clients[client], 'push', `SELECT queen.push('bench', $1, 'p')`, [JSON.stringify(bodies[0])])
			: run(clients[client], 'push-batch', `SELECT queen.push_batch('bench', $1, 'p')`, [JSON.stringify(bodies)]),
		async pop(n, group, client) {
			const mine = task.groups > 1 ? group : client;
			const rows = await run(readers[mine], 'pop', `SELECT partition, message_offset, payload, lease
				FROM queen.pop('bench', $1, $2, ack => $3::uuid[])`, [`g${group}`, n, leases[mine]]);
			leases[mine] = [...new Set(rows.map((row) => row.lease))];
			inOrder(group, rows);
			return rows.length;
		},
		async follow(onBody) {
			let going = true;
			const loop = (async () => {
				while (going) {
					const rows = await run(readers[0], 'follow', `SELECT partition, message_offset, payload
						FROM queen.pop('bench', 'g0', 100, auto_ack => true, wait => '1 s')`);
					inOrder(0, rows);
					for (const row of rows) onBody(row.payload);
				}
			})();
			return () => { going = false; return loop; };
		},
		async count() {
			const [row] = await run(admin, 'count', `SELECT (SELECT coalesce(sum(next_offset), 0)::bigint FROM queen.partitions) AS pushed,
				(SELECT coalesce(sum((SELECT coalesce(sum(next_offset), 0) FROM queen.partitions) - behind + leased), 0)::bigint FROM queen.consumer_groups) AS popped`);
			return row;
		},
	};
}
