import { existsSync } from "node:fs";
import { readIfThere } from "../hooks/change-file.ts";
import { hasServer } from "./enter-server.ts";
import type { Host, HostSurroundings } from "./host.ts";
import { isWritable } from "./is-writable.ts";

/** Whether a host knows the server by one of its files; `no file` where the host is not on this machine. */
export type HostState = "no file" | "installed" | "not installed" | "unreadable";

/**
 * The configuration files of a host's programs that are on this machine. Where none is known to be there, the first file:
 * the host may be installed later.
 */
export function presentFiles(host: Host, where: HostSurroundings): readonly string[] {
	const programs = host.programs?.(where) ?? [];
	const present = programs.filter(({ folder, file }) => existsSync(folder) || existsSync(file));
	if (present.length > 0) return present.map(({ file }) => file);
	const file = host.file(where);
	return file === undefined ? [] : [file];
}

/** Looks into each configuration file of a host's programs that are on this machine. */
export function hostStates(
	host: Host,
	where: HostSurroundings,
): Promise<readonly { readonly file: string; readonly state: HostState }[]> {
	return Promise.all(presentFiles(host, where).map(async (file) => ({ file, state: await stateOf(host, file) })));
}

async function stateOf(host: Host, file: string): Promise<HostState> {
	try {
		const text = (await readIfThere(file))?.toString("utf8");
		if (text === undefined) return "no file";
		const isThere = isWritable(host) ? hasServer(text, host) : text.includes("palimpsest");
		return isThere ? "installed" : "not installed";
	} catch {
		return "unreadable";
	}
}
