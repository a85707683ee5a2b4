import { request } from "node:http";
import path from "node:path";
import { archivePlace } from "../archive/open.ts";
import { PalimpsestError } from "../errors.ts";
import { ownCommandLine, shellArgument } from "../hosts/own-command.ts";
import { isLoopback } from "../http/address.ts";
import { createOperatorLog, type LogKind } from "../mcp/http/logs.ts";
import { logLevels } from "../policy/names.ts";
import { defaultUpstreams, proxyPolicy } from "../proxy/defaults.ts";
import type { ProxyStatus } from "../proxy/ledger.ts";
import { apis, type Upstreams } from "../proxy/routes.ts";
import { startProxy } from "../proxy/server.ts";
import {
	type ArchiveCommandOptions,
	commandConfig,
	logToStderr,
	printJson,
	say,
	show,
	withArchive,
} from "./input-output.ts";
import { untilSignal } from "./processes.ts";
import { refuseUsage } from "./usage.ts";

interface ProxyCommandOptions extends ArchiveCommandOptions {
	readonly port?: number;
	readonly host?: string;
	/** `api=URL`, several with commas between. */
	readonly upstream?: readonly string[];
	readonly holdout?: number;
	readonly log?: LogKind;
}

const defaultPort = 8787;

/** `palimpsest proxy`: runs until a signal ends it. */
export async function proxy(options: ProxyCommandOptions): Promise<void> {
	const { host = "127.0.0.1", port = defaultPort, holdout, log: kind = "text" } = options;
	if (!isLoopback(host)) {
		const message = `Expected --host to be on loopback; got ${JSON.stringify(host)}. Beyond this machine a proxy needs TLS and a token, and this one has neither: put one that has both in front of it.`;
		throw new PalimpsestError("invalid_argument", message);
	}
	const upstreams = { ...defaultUpstreams, ...upstreamsOf(options.upstream ?? []) };
	const policy = proxyPolicy(await commandConfig(options));
	const level = () => policy.log_level;
	const { log, announce } = createOperatorLog({
		kind,
		isWanted: (of) => logLevels.indexOf(of) >= logLevels.indexOf(level()),
		inWords: logToStderr(level),
		say,
		write: (line) => void process.stderr.write(`${line}\n`),
	});
	await withArchive(options, policy, async (archive) => {
		const running = await startProxy({
			port,
			upstreams,
			policy,
			archive,
			recallCommand: recallCommandOf(options),
			holdout,
			log,
		});
		const url = `http://127.0.0.1:${running.port}`;
		// Before the announcement, whose readers may end the proxy.
		const ended = untilSignal();
		const data = { event: "listening", url, archive: archive?.location ?? "none" };
		announce({ level: "notice", message: `proxy at ${url}, live page at ${url}/palimpsest/`, data });
		await ended;
		await running.close();
	});
}

/** The agent's shell may stand in another folder, and does not know our options. */
function recallCommandOf({ archive, namespace }: ArchiveCommandOptions): string {
	const place = archive !== undefined && archivePlace(archive) === "folder" ? path.resolve(archive) : archive;
	const named = [
		...(place === undefined ? [] : ["--archive", place]),
		...(namespace ? ["--namespace", namespace] : []),
	];
	return [ownCommandLine(), "recall", ...named.map(shellArgument)].join(" ");
}

function upstreamsOf(given: readonly string[]): Upstreams {
	const named = given.flatMap((one) => one.split(","));
	return Object.fromEntries(
		named.map((one) => {
			const [, api = "", url = ""] = /^(\w+)=(.+)$/.exec(one) ?? [];
			if (apis.some((known) => known === api)) return [api, url];
			return refuseUsage(`expected --upstream as ${apis.join("|")}=URL`);
		}),
	);
}

/** `palimpsest proxy status` */
export async function proxyStatus({
	port = defaultPort,
	json,
}: {
	readonly port?: number;
	readonly json?: true;
}): Promise<void> {
	const status = JSON.parse(await textFrom(port)) as ProxyStatus;
	if (json) return printJson(status, 2);
	const { requests, faults, edited, held_out: heldOut, conversations } = status;
	const number = (value: number) => value.toLocaleString("en");
	const line = (name: string, one: typeof edited) =>
		`${name}: ${number(one.requests)} requests, tokens sent ${number(one.tokens_sent)}, left out ${number(one.tokens_left_out)}, billed ${number(one.billed)} of ${number(one.billed_unedited)} (${one.ratio} ×)`;
	const lines = [
		`${number(requests.requests)} requests, ${requests.edited} edited, ${requests.sent_again} sent again as they came, ${requests.left_alone} conversations left alone`,
		`faults: ${Object.entries(faults)
			.map(([kind, count]) => `${kind.replaceAll("_", " ")} ${count}`)
			.join(", ")}`,
		line("all", edited),
		...(heldOut.requests > 0 ? [line("held out", heldOut)] : []),
		...conversations.map((one) =>
			line(`${one.id.slice(0, 8)} (${one.model ?? one.api}, ${one.state.replaceAll("_", " ")})`, one),
		),
	];
	show(`${lines.join("\n")}\n`);
}

/** Not by `fetch`, which refuses some ports and follows a proxy of the environment. */
function textFrom(port: number): Promise<string> {
	return new Promise((resolve, reject) => {
		const asked = request({ host: "127.0.0.1", port, path: "/palimpsest/status" }, (response) => {
			let text = "";
			response.setEncoding("utf8").on("data", (piece: string) => {
				text += piece;
			});
			response.on("end", () => (response.statusCode === 200 ? resolve(text) : reject(noProxy(port))));
		});
		asked.on("error", () => reject(noProxy(port)));
		asked.end();
	});
}

function noProxy(port: number): PalimpsestError {
	const message = `No palimpsest proxy answers on port ${port}. Start one by \`palimpsest proxy\`, or name its port by --port.`;
	return new PalimpsestError("invalid_argument", message);
}
