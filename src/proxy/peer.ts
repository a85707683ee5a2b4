import { readFile } from "node:fs/promises";
import { BlockList, type Socket } from "node:net";

type Connection = Pick<Socket, "remoteAddress" | "remotePort" | "localAddress" | "localPort">;

/**
 * Whether a process of this process's own user holds the other end of a connection within this machine. Such a process
 * can read all files of this user anyway. Linux alone tells (proc_pid_net(5), `tcp` and `tcp6`); elsewhere `false`.
 */
export async function isOwnUser(connection: Connection): Promise<boolean> {
	const user = process.getuid?.();
	const { remoteAddress: address = "", remotePort, localPort } = connection;
	if (user === undefined || process.platform !== "linux" || !loopback.check(address, familyOf(address))) return false;
	for (const table of ["/proc/net/tcp", "/proc/net/tcp6"]) {
		const text = await readFile(table, "utf8").catch(() => "");
		// Both ends of a connection within the machine stand in the table: the peer's has our port as its remote one.
		for (const line of text.split("\n").slice(1)) {
			const [, local = "", remote = "", state, , , , uid] = line.trim().split(/\s+/);
			const isPeer = portOf(local) === remotePort && portOf(remote) === localPort && [local, remote].every(isLoopback);
			// A connection that nobody holds any more belongs to user 0 there.
			if (isPeer) return state === established && Number(uid) === user;
		}
	}
	return false;
}

const established = "01";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

const familyOf = (address: string) => (address.includes(":") ? "ipv6" : "ipv4");

const portOf = (entry: string) => Number.parseInt(entry.split(":")[1] ?? "", 16);

/** An address of IPv4, of IPv4 within IPv6, or `::1`, as little-endian words of 32 bits. */
const isLoopback = (entry: string) => /^(?:(?:0{16}FFFF0000)?[0-9A-F]{6}7F|0{24}01000000):/.test(entry);
