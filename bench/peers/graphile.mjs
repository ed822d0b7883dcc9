// graphile-worker: addJob and addJobs; its own runner, which takes so many jobs at
// once into a local queue as the batch says. A task for each group, and a job for each.
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';

const silent = new Logger(() => () => {});

export async function open(task) {
	const pool = new pg.Pool({ max: Math.max(task.clients, task.groups) + 4 });
	const utils = await makeWorkerUtils({ pgPool: pool, logger: silent });
	const tasks = Array.from({ length: task.groups }, (_, g) => `g${g}`);
	let done = 0;

	// Runs tasks until told to stop.
	const start = (name, clients, batch, onBody) => run({
		pgPool: pool, noHandleSignals: true, logger: silent, concurrency: Math.max(clients, batch), taskList: { [name]: (body) => { done++; onBody(body); } },
		preset: { worker: { pollInterval: 1000, completeJobBatchDelay: 0, failJobBatchDelay: 0, localQueue: { size: Math.max(clients, batch) } } },
	});

	return {
		template: () => utils.migrate(),
		prepare: () => utils.migrate(),
		push: (bodies) => bodies.length === 1 && tasks.length === 1
			? utils.addJob('g0', bodies[0])
			: utils.addJobs(tasks.flatMap((identifier) => bodies.map((payload) => ({ identifier, payload })))),
		async consume(clients, batch, group, wanted, end) {
			const began = performance.now();
			let messages = 0, finish;
			const enough = new Promise((resolve) => { finish = resolve; });
			const runner = await start(tasks[group], clients, batch, () => { if (++messages === wanted) finish(); });
			const timer = setTimeout(finish, end - performance.now());
			await enough;
			clearTimeout(timer);
			await runner.stop();
			return { messages, seconds: (performance.now() - began) / 1000 };
		},
		async follow(onBody) {
			const runner = await start('g0', 1, 10, onBody);
			return () => runner.stop();
		},
		async count() {
			const { rows: [{ left }] } = await pool.query('SELECT count(*)::int AS left FROM graphile_worker.jobs');
			return { pushed: (left + done) / tasks.length, popped: done };
		},
	};
}
