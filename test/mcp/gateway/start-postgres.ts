import path from "node:path";
import { pathToFileURL } from "node:url";

const modules = path.join(import.meta.dirname, "servers/node_modules/@electric-sql");
const load = (name: string) => import(pathToFileURL(path.join(modules, name, "dist/index.js")).href);

/** PostgreSQL, built for WebAssembly, on a free port of the loopback address: nothing of the system is needed. */
export async function startPostgres(script: string): Promise<{ readonly url: string; close(): Promise<void> }> {
	const [{ PGlite }, { PGLiteSocketServer }] = await Promise.all([load("pglite"), load("pglite-socket")]);
	const database = await PGlite.create();
	await database.exec(script);
	const server = new PGLiteSocketServer({ db: database, port: 0, host: "127.0.0.1", maxConnections: 10 });
	const listening = new Promise<number>((resolve) => {
		server.addEventListener("listening", ({ detail }: CustomEvent<{ port: number }>) => resolve(detail.port));
	});
	await server.start();
	return {
		url: `postgresql://postgres:postgres@127.0.0.1:${await listening}/postgres`,
		async close() {
			await server.stop();
			await database.close();
		},
	};
}
