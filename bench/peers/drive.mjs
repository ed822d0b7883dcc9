// Drives a system that has a client for Node: drive.mjs NAME KIND, or NAME
// template, which sets up its database. What to do is in the environment, as
// measure.sh puts it there. It prepares and prints "ready"; told "go" it does
// the work and prints "done MESSAGES SECONDS P50 P99" (milliseconds); told
// "check" it counts and prints "checked". Anything that is wrong ends it.
import { createInterface } from 'node:readline';

const [name, kind] = process.argv.slice(2);
const number = (key) => Number(process.env[key] ?? 0);
const task = {
	kind, clients: number('clients'), batch: number('batch'), bytes: number('bytes'),
	groups: Math.max(1, number('groups')), pops: number('pops') * number('clients'), fill: number('fill'),
	seconds: number('seconds'), warm: number('warm'), pushes: number('transactions_each') * number('clients'),
};
const system = await (await import(`./${name}.mjs`)).open(task);
const now = () => performance.now();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const fail = (why) => { console.error(why); process.exit(1); };

// An order of so many bytes, as payloads.sql makes them.
const digits = (n) => String(Math.floor(Math.random() * 10 ** n)).padStart(n, '0');
const order = () => {
	const body = { order: digits(8), customer: digits(6), sku: `X-${digits(4)}`, pieces: 1, price: `${digits(2)}.${digits(2)}`, at: '03-04T05:06:07' };
	const missing = task.bytes - JSON.stringify(body).length - 7;
	return missing > 0 ? { ...body, x: Array.from({ length: Math.ceil(missing / 8) }, () => digits(8)).join('').slice(0, missing) } : body;
};
const orders = (n) => Array.from({ length: n }, order);

// Every client repeats a step until there were enough or time is up; answers
// messages and seconds.
async function repeat(clients, step, wanted = Infinity, seconds = task.seconds) {
	const began = now(), end = began + seconds * 1000;
	let steps = 0, messages = 0;
	await Promise.all(Array.from({ length: clients }, async (_, client) => {
		while (steps < wanted && now() < end) {
			steps++;
			const n = await step(client);
			if (n === 0) break;
			messages += n;
		}
	}));
	return { messages, seconds: (now() - began) / 1000 };
}

const batch = orders(task.batch);
const push = (client) => system.push(batch, client).then(() => task.batch);

// Pops and acknowledges so many messages, or until time is up.
async function drain(clients, group, wanted) {
	if (system.consume) return system.consume(clients, task.batch, group, wanted, now() + task.seconds * 1000);
	return repeat(clients, (client) => system.pop(task.batch, group, client), wanted / task.batch);
}

async function fill() {
	const some = orders(100);
	for (let i = 0; i < task.fill; i += 100) await system.push(some, 0);
}

let expected = { pushed: 0, popped: 0 };
const kinds = {
	push: async () => {
		const done = await repeat(task.clients, push, task.pushes || Infinity);
		expected.pushed += done.messages;
		return done;
	},
	pop: async () => {
		const done = await drain(task.clients, 0, task.pops * task.batch);
		expected.popped += done.messages;
		return done;
	},
	// Of the time for pushing counts the share of what was handed out.
	fan: async () => {
		const pushed = await repeat(1, push, task.pops), began = now();
		const popped = await Promise.all(Array.from({ length: task.groups }, (_, g) => drain(1, g, pushed.messages)));
		const messages = popped.reduce((sum, p) => sum + p.messages, 0), share = messages / (pushed.messages * task.groups);
		expected.pushed += pushed.messages;
		expected.popped += messages;
		return { messages, seconds: pushed.seconds * share + (now() - began) / 1000 };
	},
	latency: async () => {
		const took = [];
		let received = 0;
		const stop = await system.follow((body) => { received++; if (body.sent) took.push(now() - body.sent); });
		const full = await repeat(task.clients, async (client) => (await system.push([order()], client), 1));
		const gap = 2000 * full.seconds / full.messages;
		while (received < full.messages) await sleep(5);
		const began = now(), rounds = Math.max(20, Math.floor(task.seconds * 1000 / gap)), pushes = [];
		for (let i = 0; i < rounds; i++) {
			while (now() < began + i * gap) await sleep(0);
			pushes.push(system.push([{ ...order(), sent: now() }], i % task.clients));
		}
		await Promise.all(pushes);
		while (received < full.messages + rounds) await sleep(5);
		const seconds = (now() - began) / 1000;
		await stop();
		took.sort((a, b) => a - b);
		expected.pushed += full.messages + rounds;
		expected.popped += full.messages + rounds;
		return { messages: rounds, seconds, p50: took[Math.floor(rounds * 0.5)], p99: took[Math.floor(rounds * 0.99)] };
	},
};

async function check(before) {
	const after = await system.count();
	for (const what of ['pushed', 'popped']) {
		const found = after[what] - before[what];
		if (found !== expected[what]) fail(`${found} messages ${what} by its own count, ${expected[what]} by ours`);
	}
}

if (kind === 'template') {
	await system.template?.();
	process.exit(0);
}
await system.prepare();
if (kind === 'pop') await fill();
if (kind === 'push' && task.pushes === 0) await repeat(task.clients, push, Infinity, task.warm);	// as drive_warm in sides.sh
const before = await system.count();
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const told = async (word) => { if ((await lines.next()).value !== word) process.exit(1); };
console.log('ready');
await told('go');
const done = await kinds[kind]();
console.log('done', done.messages, done.seconds, done.p50?.toFixed(3) ?? '-', done.p99?.toFixed(3) ?? '-');
await told('check');
await check(before);
console.log('checked');
process.exit(0);
