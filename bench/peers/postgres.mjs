// A connection for each client, and for nothing else; statements are prepared once.
import pg from 'pg';

pg.types.setTypeParser(20, Number);

export async function connect(n) {
	const clients = Array.from({ length: n }, () => new pg.Client());
	await Promise.all(clients.map((client) => client.connect()));
	return clients;
}

// Runs a statement that is prepared at its first use.
export async function run(client, name, text, values = []) {
	return (await client.query({ name, text, values })).rows;
}
