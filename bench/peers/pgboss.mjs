// pg-boss: send and insert; fetch and complete; work, which looks twice a second,
// as often as it can be told to. A queue for each group, and a job in each, put
// there by one insert for all.
import PgBoss from 'pg-boss';

export async function open(task) {
	const boss = new PgBoss({ max: Math.max(task.clients, task.groups) + 2, supervise: false, schedule: false });
	boss.on('error', (error) => { throw error; });
	await boss.start();
	const queues = Array.from({ length: task.groups }, (_, g) => `g${g}`);

	return {
		template: () => boss.stop(),
		prepare: async () => { for (const queue of queues) await boss.createQueue(queue); },
		push: (bodies) => bodies.length === 1 && queues.length === 1
			? boss.send('g0', bodies[0])
			: boss.insert(queues.flatMap((name) => bodies.map((data) => ({ name, data })))),
		async pop(n, group) {
			const jobs = await boss.fetch(queues[group], { batchSize: n });
			if (jobs.length > 0) await boss.complete(queues[group], jobs.map((job) => job.id));
			return jobs.length;
		},
		async follow(onBody) {
			await boss.work('g0', { batchSize: 1000, pollingIntervalSeconds: 0.5 }, async (jobs) => { for (const job of jobs) onBody(job.data); });
			return () => boss.offWork('g0');
		},
		async count() {
			const { rows } = await boss.getDb().executeSql(`SELECT count(*)::int / ${queues.length} AS pushed,
				(count(*) FILTER (WHERE state IN ('active', 'completed')))::int AS popped FROM pgboss.job WHERE name ~ '^g[0-9]+$'`);
			return rows[0];
		},
	};
}
