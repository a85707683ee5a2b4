import { createHash } from "node:crypto";
import { PalimpsestError } from "../errors.ts";
import { objectOf, stringAt } from "../formats/json-text/value.ts";
import { type EnteredServer, enteredServers, unwrapServer, wrapServer } from "../hosts/gateway-entries.ts";
import type { ServerStart, WritableHost } from "../hosts/host.ts";
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
	// Another file may have an entry of the same name.
	const suffix = createHash("sha256").update(file).digest("hex").slice(0, 8);
	const wrap = (left: string, name: string) =>
		wrapServer(left, { host, name, start, options: ["--name", `${name}@${suffix}`, ...all] });
	return changeEach(text, { servers: chosen.filter(({ kind }) => kind === "command"), gateway, change: wrap });
}

/** The configuration of a host in which no server, or none of those that are named, starts behind the gateway. */
export function withoutGateways(text: string, { host, gateway }: Pick<Wrapping, "host" | "gateway">): string {
	const servers = chosenServers(enteredServers(text, host), gateway).filter(({ kind }) => kind === "gateway");
	return changeEach(text, { servers, gateway, change: (left, name) => unwrapServer(left, { host, name }) });
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
		readonly change: (text: string, name: string) => string;
	},
): string {
	return servers.reduce((left, { name }) => {
		try {
			return change(left, name);
		} catch (error) {
			if (gateway !== true || !(error instanceof PalimpsestError)) throw error;
			say(error.message);
			return left;
		}
	}, text);
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
