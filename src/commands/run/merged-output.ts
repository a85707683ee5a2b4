import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

/** One end to write to, which a process takes as its standard output and as its standard error, and one to read from. */
export interface MergedOutput {
	readonly writable: Socket;
	readonly readable: Socket;
}

/**
 * Two connected sockets: where both of a process's outputs go into one, they come out in the order that they were written
 * in, as in a terminal. `undefined` where the system gives none.
 */
export async function openMergedOutput(): Promise<MergedOutput | undefined> {
	// A process of Windows cannot take a socket for an output.
	if (process.platform === "win32") return undefined;
	const address = path.join(tmpdir(), `.palimpsest-${randomUUID().slice(0, 8)}.sock`);
	const server = createServer();
	try {
		await new Promise<void>((resolve, reject) => server.once("error", reject).listen(address, resolve));
		const accepted = new Promise<Socket>((resolve) => server.once("connection", resolve));
		const writable = connect(address);
		await new Promise<void>((resolve, reject) => writable.once("error", reject).once("connect", resolve));
		// Whoever reads hears of it by the end of what came.
		writable.on("error", () => {});
		return { writable, readable: await accepted };
	} catch {
		return undefined;
	} finally {
		server.close();
		await rm(address, { force: true }).catch(() => {});
	}
}
