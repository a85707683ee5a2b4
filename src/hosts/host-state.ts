import { readFile } from "node:fs/promises";
import { hasServer } from "./enter-server.ts";
import type { Host, HostSurroundings } from "./host.ts";
import { isWritable } from "./is-writable.ts";

/** Whether a host knows the server; `no file` where it has no configuration, or is not on this machine. */
export type HostState = "no file" | "installed" | "not installed" | "unreadable";

/** Looks into a host's configuration. */
export async function hostState(host: Host, where: HostSurroundings): Promise<HostState> {
	const file = host.file(where);
	const text = file === undefined ? undefined : await readFile(file, "utf8").catch(() => undefined);
	if (text === undefined) return "no file";
	try {
		const isThere = isWritable(host) ? hasServer(text, host) : text.includes("palimpsest");
		return isThere ? "installed" : "not installed";
	} catch {
		return "unreadable";
	}
}
