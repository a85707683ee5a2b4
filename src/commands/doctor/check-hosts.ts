import { readFile } from "node:fs/promises";
import { hasServer } from "../../hosts/enter-server.ts";
import type { HostSurroundings } from "../../hosts/host.ts";
import { hosts } from "../../hosts/hosts.ts";
import { isWritable } from "../../hosts/is-writable.ts";
import type { Finding } from "./finding.ts";

/** Which hosts are on this machine, and which of them know the server. */
export async function checkHosts(where: HostSurroundings): Promise<Finding> {
	const states = await Promise.all(
		hosts.map(async (host) => {
			const file = host.file(where);
			const text = file === undefined ? undefined : await readFile(file, "utf8").catch(() => undefined);
			if (text === undefined) return undefined;
			try {
				const isIn = isWritable(host) ? hasServer(text, host) : text.includes("palimpsest");
				return { host: host.name, state: isIn ? "installed" : "not installed" };
			} catch {
				return { host: host.name, state: `its configuration cannot be read: ${file}` };
			}
		}),
	);
	const present = states.filter((state) => state !== undefined);
	const found = present.map(({ host, state }) => `${host}: ${state}`).join(", ");
	if (present.some(({ state }) => state === "installed")) return { name: "hosts", state: "ok", found };
	const [first] = present;
	return {
		name: "hosts",
		state: "warning",
		found: found || "no configuration of a host was found",
		advice: `palimpsest install ${first?.host ?? "HOST"} enters the server; palimpsest install lists the hosts.`,
	};
}
