import { PalimpsestError } from "../errors.ts";
import { objectOf, stringAt } from "../formats/json-text/value.ts";
import { type EnteredServer, enteredServers, ownOptions, unwrapServer, wrapServer } from "../hosts/gateway-entries.ts";
import type { ServerStart, WritableHost } from "../hosts/host.ts";
import { unwrapRemote, wasRemote, wrapRemote } from "../hosts/remote-entries.ts";
import { nameOfFile } from "./gateway-config.ts";
import { say } from "./input-output.ts";
import { listOfNames, refuseUnknown } from "./usage.ts";

/** The servers that `--gateway` names; `true`: all. */
export type GatewayOption = true | readonly string[];

interface Wrapping {
	readonly host: WritableHost;
	readonly gateway: GatewayOption;
	readonly start: ServerStart;
	/** Options of `palimpsest gateway`. */
	readonly options: readonly string[];
	/** The host's configuration, by a name that is the same wherever a project is. */
	readonly file: string;
}

/** The configuration of a host in which servers start behind the gateway. */
export function withGateways(text: string, { host, gateway, start, options, file }: Wrapping): string {
	const servers = enteredServers(text, host);
	const chosen = chosenServers(servers, gateway);
	for (const { name, kind } of chosen) if (kind in unwrappable) say(`left ${name} unchanged: ${unwrappable[kind]}`);
	const own = servers.find(({ kind }) => kind === "own");
	const all = [...(own ? ownServerOptions(own, options) : []), ...options];
	const wrap = (left: string, { name, kind, entry }: EnteredServer) => {
		const before = kind === "gateway" ? unwrapped(left, { host, name, entry }) : left;
		const own = kind === "gateway" ? ownOptions(entry) : [];
		const named = own.includes("--name") ? [] : ["--name", `${name}@${nameOfFile(file)}`];
		const isRemote = kind === "remote" || (kind === "gateway" && wasRemote(entry));
		return (isRemote ? wrapRemote : wrapServer)(before, { host, name, start, options: [...named, ...own, ...all] });
	};
	return changeEach(text, { servers: chosen.filter(({ kind }) => !(kind in unwrappable)), gateway, change: wrap });
}

/** The configuration of a host in which no server, or none of those that are named, starts behind the gateway. */
export function withoutGateways(text: string, { host, gateway }: Pick<Wrapping, "host" | "gateway">): string {
	const servers = chosenServers(enteredServers(text, host), gateway).filter(({ kind }) => kind === "gateway");
	return changeEach(text, { servers, gateway, change: (left, server) => unwrapped(left, { host, ...server }) });
}

function unwrapped(
	text: string,
	{ host, name, entry }: Pick<EnteredServer, "name" | "entry"> & { readonly host: WritableHost },
) {
	return (wasRemote(entry) ? unwrapRemote : unwrapServer)(text, { host, name });
}

/** An entry that cannot be changed is refused if it is named; else it stays, and the others are changed. */
function changeEach(
	text: string,
	{
		servers,
		gateway,
		change,
	}: {
		readonly servers: readonly EnteredServer[];
		readonly gateway: GatewayOption;
		readonly change: (text: string, server: EnteredServer) => string;
	},
): string {
	return servers.reduce((left, server) => {
		try {
			return change(left, server);
		} catch (error) {
			if (gateway !== true || !(error instanceof PalimpsestError)) throw error;
			say(error.message);
			return left;
		}
	}, text);
}

const unwrappable: Partial<Record<EnteredServer["kind"], string>> = {
	unknown: "it has no command",
	own: "it is Palimpsest itself",
};

function chosenServers(servers: readonly EnteredServer[], gateway: GatewayOption): readonly EnteredServer[] {
	if (gateway === true) return servers.filter(({ kind }) => kind !== "own");
	const known = servers.map(({ name }) => name);
	for (const name of gateway) if (!known.includes(name)) refuseUnknown("server", name, known);
	return servers.filter(({ name }) => gateway.includes(name));
}

/** Our own server in the host reads the originals, if it offers that and has the same archive. */
function ownServerOptions({ entry }: EnteredServer, options: readonly string[]): readonly string[] {
	const variables = objectOf(entry.env ?? entry.environment);
	const archive = stringAt(variables, "PALIMPSEST_ARCHIVE") ?? "files";
	const tools = listOfNames(stringAt(variables, "PALIMPSEST_TOOLS"));
	const offersRecall = archive !== "none" && (tools.length === 0 || tools.includes("recall_original"));
	if (!offersRecall || options.includes("--archive")) return [];
	return ["--recall", "server", ...(archive === "files" ? [] : ["--archive", archive])];
}
