import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { endianness } from "node:os";

type Connection = Pick<Socket, "remoteAddress" | "remotePort" | "localAddress" | "localPort">;

/**
 * Whether a process of this process's own user holds the other end of a connection within this machine. Such a process
 * can read all files of this user anyway. Linux alone tells (proc_pid_net(5), `tcp` and `tcp6`); elsewhere `false`.
 */
export async function isOwnUser(connection: Connection): Promise<boolean> {
	const user = process.getuid?.();
	const { remoteAddress = "", remotePort = 0, localAddress = "", localPort = 0 } = connection;
	if (user === undefined || process.platform !== "linux" || endianness() !== "LE") return false;
	// The tables have a row for each end of a connection. That of the peer has our remote address as its own.
	const locals = entriesOf(remoteAddress, remotePort);
	const remotes = entriesOf(localAddress, localPort);
	const tables = await Promise.all(
		["tcp", "tcp6"].map((name) => readFile(`/proc/net/${name}`, "utf8").catch(() => "")),
	);
	return tables
		.join("\n")
		.split("\n")
		.some((line) => {
			const [, local = "", remote = "", state, , , , uid] = line.trim().split(/\s+/);
			// A connection that nobody holds any more belongs to user 0 there.
			return locals.includes(local) && remotes.includes(remote) && state === established && Number(uid) === user;
		});
}

const established = "01";

/** How an address of this machine alone is written there: words of 32 bits, the lowest byte first. None for any other. */
function entriesOf(address: string, port: number): string[] {
	const end = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
	if (address === "::1") return [`${"0".repeat(24)}01000000${end}`];
	const bytes = /^(?:::ffff:)?(127)\.(\d+)\.(\d+)\.(\d+)$/i.exec(address)?.slice(1).map(Number);
	if (bytes === undefined) return [];
	const word = Buffer.from(bytes.reverse()).toString("hex").toUpperCase();
	return [`${word}${end}`, `${"0".repeat(16)}FFFF0000${word}${end}`];
}
