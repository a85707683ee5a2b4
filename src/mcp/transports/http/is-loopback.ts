import { BlockList, isIP } from "node:net";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Whether a host is this machine and nothing else: localhost, 127.0.0.0/8 or ::1, the last with or without brackets. */
export function isLoopback(host: string): boolean {
	if (host === "localhost") return true;
	const address = host.replace(/^\[(.*)\]$/, "$1");
	const family = isIP(address);
	return family !== 0 && loopback.check(address, family === 6 ? "ipv6" : "ipv4");
}
