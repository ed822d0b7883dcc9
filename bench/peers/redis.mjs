// Redis Streams: XADD, a batch of them in one pipeline; XREADGROUP and XACK, the
// acknowledgement of the batch before sent along with the next read.
import { createClient } from 'redis';

async function connect(n) {
	return Promise.all(Array.from({ length: n }, () => createClient({ socket: { path: process.env.REDIS_SOCKET } }).connect()));
}

export async function open(task) {
	const consumers = Math.max(task.clients, task.groups);
	const clients = await connect(task.clients), readers = await connect(consumers), [admin] = await connect(1);
	const unacked = Array.from({ length: consumers }, () => []);

	// Reads up to n of them, and acknowledges those of the last read.
	async function take(n, group, mine, options = {}) {
		const pending = unacked[mine], reading = readers[mine].xReadGroup(`g${group}`, `c${mine}`, { key: 'bench', id: '>' }, { COUNT: n, ...options });
		if (pending.length > 0) await readers[mine].xAck('bench', `g${group}`, pending);
		const messages = (await reading)?.[0].messages ?? [];
		unacked[mine] = messages.map((message) => message.id);
		return messages.map((message) => JSON.parse(message.message.m));
	}

	return {
		prepare: async () => { for (let g = 0; g < task.groups; g++) await admin.xGroupCreate('bench', `g${g}`, '0', { MKSTREAM: true }); },
		push: (bodies, client) => Promise.all(bodies.map((body) => clients[client].xAdd('bench', '*', { m: JSON.stringify(body) }))),
		pop: async (n, group, client) => (await take(n, group, task.groups > 1 ? group : client)).length,
		async follow(onBody) {
			let going = true;
			const loop = (async () => { while (going) for (const body of await take(100, 0, 0, { BLOCK: 100 })) onBody(body); })();
			return () => { going = false; return loop; };
		},
		async count() {
			const groups = await admin.xInfoGroups('bench');
			const read = groups.reduce((sum, group) => sum + Number(group['entries-read'] ?? 0), 0);
			return { pushed: await admin.xLen('bench'), popped: read };
		},
	};
}
