// The plain table by node-postgres; a consumer that waits is woken by NOTIFY.
import { connect, run } from './postgres.mjs';

export async function open(task) {
	const clients = await connect(task.clients), [reader, admin] = await connect(2);
	const take = (n) => run(reader, 'pop', `DELETE FROM plain WHERE id IN (SELECT id FROM plain ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 100)
		RETURNING id, payload`);

	return {
		prepare: () => admin.query('SELECT'),
		push: (bodies, client) => run(clients[client], 'push', `WITH told AS (SELECT pg_notify('bench', '')) INSERT INTO plain (payload) SELECT $1 FROM told`, [JSON.stringify(bodies[0])]),
		async follow(onBody) {
			let going = true, wake = () => {};
			reader.on('notification', () => wake());
			await reader.query('LISTEN bench');
			const loop = (async () => {
				while (going) {
					const woken = new Promise((resolve) => { wake = resolve; setTimeout(resolve, 1000); });
					const rows = await take();
					for (const row of rows) onBody(row.payload);
					if (rows.length === 0) await woken;
				}
			})();
			return () => { going = false; wake(); return loop; };
		},
		async count() {
			const [row] = await run(admin, 'count', `SELECT coalesce(pg_sequence_last_value('plain_id_seq'), 0) AS pushed,
				coalesce(pg_sequence_last_value('plain_id_seq'), 0) - count(*) AS popped FROM plain`);
			return row;
		},
	};
}
