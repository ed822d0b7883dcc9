// PgQ by node-postgres: events are inserted one by one; every 10 ms, ten times as
// often as its daemon does at best, comes a tick, and the consumer looks.
import { connect, run } from './postgres.mjs';

export async function open(task) {
	const clients = await connect(task.clients), [reader, admin] = await connect(2);
	let done = 0;

	async function takeBatch(onBody) {
		const [{ batch }] = await run(reader, 'next', `SELECT pgq.next_batch('bench', 'g0') AS batch`);
		if (batch === null) return false;
		const rows = await run(reader, 'events', 'SELECT ev_data FROM pgq.get_batch_events($1)', [batch]);
		await run(reader, 'finish', 'SELECT pgq.finish_batch($1)', [batch]);
		for (const row of rows) onBody(JSON.parse(row.ev_data));
		done += rows.length;
		return true;
	}

	return {
		prepare: () => admin.query(`SELECT pgq.create_queue('bench'); SELECT pgq.set_queue_config('bench', 'ticker_max_count', '1'),
			pgq.set_queue_config('bench', 'ticker_max_lag', '0 s'); SELECT pgq.register_consumer('bench', 'g0')`),
		push: (bodies, client) => run(clients[client], 'push', `SELECT pgq.insert_event('bench', 'order', $1)`, [JSON.stringify(bodies[0])]),
		async follow(onBody) {
			let going = true;
			const loop = (async () => {
				while (going) {
					await new Promise((resolve) => setTimeout(resolve, 10));
					await run(reader, 'tick', `SELECT pgq.ticker('bench')`);
					while (await takeBatch(onBody));
				}
			})();
			return () => { going = false; return loop; };
		},
		async count() {
			const [row] = await run(admin, 'count', 'SELECT count(*) AS pushed FROM pgq.event_1');
			return { ...row, popped: done };
		},
	};
}
