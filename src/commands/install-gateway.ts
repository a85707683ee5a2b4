import { type EnteredServer, enteredServers, unwrapServer, wrapServer } from "../hosts/gateway-entries.ts";
import type { ServerStart, WritableHost } from "../hosts/host.ts";
import { objectOf, stringAt } from "../json-text/value.ts";
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
}

/** The configuration of a host in which servers start behind the gateway. */
export function withGateways(text: string, { host, gateway, start, options }: Wrapping): string {
	const servers = enteredServers(text, host);
	const chosen = chosenServers(servers, gateway);
	for (const { name, kind } of chosen) if (kind in unwrappable) say(`left ${name} unchanged: ${unwrappable[kind]}`);
	const own = servers.find(({ kind }) => kind === "own");
	const all = [...(own ? ownServerOptions(own, options) : []), ...options];
	return chosen
		.filter(({ kind }) => kind === "command")
		.reduce((left, { name }) => wrapServer(left, { host, name, start, options: all }), text);
}

/** The configuration of a host in which no server, or none of those that are named, starts behind the gateway. */
export function withoutGateways(text: string, { host, gateway }: Pick<Wrapping, "host" | "gateway">): string {
	return chosenServers(enteredServers(text, host), gateway)
		.filter(({ kind }) => kind === "gateway")
		.reduce((left, { name }) => unwrapServer(left, { host, name }), text);
}

const unwrappable: Partial<Record<EnteredServer["kind"], string>> = {
	remote: "it is an address, and its sign-in belongs to the host",
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
