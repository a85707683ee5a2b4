import type { JsonObject } from "../../engine/conversation/json.ts";
import type { Policy, PolicyLayer } from "../../engine/policy/schema.ts";
import type { CallEnd, Log, OnCallEnd } from "../../log.ts";
import type { ArchiveSource } from "../../storage/archive/open.ts";
import { createCutPlanner } from "./cut-planner.ts";
import { createKnownTools } from "./known-tools.ts";
import type { Asked, ReadLine, RequestId } from "./messages.ts";
import { createOpenRequests, type OpenRequest } from "./open-requests.ts";
import type { HostOutput } from "./output.ts";
import { seenChars, showsStructure, sizesOf } from "./result-texts.ts";
import { createTasks } from "./tasks.ts";
import type { Deferral, ToolChoice } from "./tool-list.ts";

/** Names of the added tools; the other one if the server has a tool of the usual name. */
export const recallNames = { usual: "recall_original", otherwise: "palimpsest_recall_original" } as const;
export const moreNames = { usual: "more_tools", otherwise: "palimpsest_more_tools" } as const;

export interface GatewayOptions {
	readonly policy: Policy;
	readonly layers: readonly PolicyLayer[];
	readonly maxTokens?: number | undefined;
	readonly archive: ArchiveSource | undefined;
	/** A name of the server, the same in every run: its originals are archived under it. */
	readonly owner: string;
	/** With several servers: the same for the one that has a tool. */
	readonly ownerOf?: ((tool: string) => string) | undefined;
	/** With several servers: those of all. */
	readonly owners?: readonly string[] | undefined;
	readonly choice: ToolChoice;
	/** Which tools a host sees by a line alone. */
	readonly deferral?: Deferral | undefined;
	/** Whether tools are deferred, and not only remembered. */
	readonly defers?: boolean | undefined;
	/**
	 * How a model reads an original: by a tool that the gateway adds, by the tool of our own server, which the host has too, or
	 * by a command.
	 */
	readonly recall: "tool" | "server" | "command";
	/** `palimpsest recall`, with the archive's name. */
	readonly recallCommand: string;
	readonly toHost: HostOutput;
	/** `read` are the messages of the line; absent if it is not JSON. */
	readonly toServer: (line: Buffer, read?: ReadLine) => void;
	readonly log: Log;
	/** Absent if it has no reader. */
	readonly onCallEnd?: OnCallEnd | undefined;
	/** Gets the characters of a result that is cut, as far as the model sees them. */
	readonly onCut?: ((chars: { readonly before: number; readonly after: number }) => void) | undefined;
}

/** All that a gateway remembers of one connection. */
export interface GatewayState {
	readonly options: GatewayOptions;
	/** Requests of the host, and of the gateway itself, that the server has not answered. */
	readonly open: ReturnType<typeof createOpenRequests>;
	/** Calls of the added tools. */
	readonly own: ReturnType<typeof createOpenRequests>;
	readonly tasks: ReturnType<typeof createTasks<OpenRequest>>;
	readonly tools: ReturnType<typeof createKnownTools>;
	readonly planOf: ReturnType<typeof createCutPlanner>;
	/** Whether the host has sent what is not read here, so that an answer with any id may be for it. */
	hasUnread: boolean;
	/** The `_meta` of the host's last request, in revision 2026-07-28. */
	lastMeta: JsonObject | undefined;
	/** The name that the host gives itself. */
	host: string;
	/** The names of the added tools. */
	recallName: string;
	moreName: string;
	/** Whether the host has seen the tool that reads originals. */
	isAdded: boolean;
}

/** `askServer` asks in the name of the host, which does not get the answer. */
export function createGatewayState(
	options: GatewayOptions,
	askServer: (method: string, params: JsonObject) => Promise<JsonObject | undefined>,
): GatewayState {
	const tools = createKnownTools((page) => askServer("tools/list", page));
	return {
		options,
		open: createOpenRequests(),
		own: createOpenRequests(),
		tasks: createTasks<OpenRequest>(),
		tools,
		planOf: createCutPlanner({ ...options, tools }),
		hasUnread: false,
		lastMeta: undefined,
		host: "",
		recallName: recallNames.usual,
		moreName: moreNames.usual,
		isAdded: false,
	};
}

export const addsRecall = ({ options }: GatewayState): boolean =>
	options.recall === "tool" && options.archive !== undefined;

/** Claude Code defers tools itself, as it does those of every server. */
export const defersTools = ({ options, host }: GatewayState): boolean =>
	options.defers === true && options.deferral !== undefined && !/^claude-code/.test(host);

export const nameOf = (asked: Asked) => (asked.kind === "call" ? asked.tool : "resources/read");

export const outcomeOf = ({ isError }: JsonObject) => (isError === true ? "error" : "ok");

/** How a call ended, as far as it is known where it ends. */
export interface End extends Pick<CallEnd, "outcome" | "code" | "report" | "bytesOut"> {
	/** A result that passes unchanged. */
	readonly result?: JsonObject | undefined;
}

const longestName = 128;

export function note(
	{ options: { onCallEnd }, host }: GatewayState,
	{ id, asked, startedAt, bytes }: OpenRequest,
	{ result, ...end }: End,
): void {
	if (onCallEnd === undefined || asked.kind === "other" || asked.kind === "tool_list") return;
	const how = { showsStructure: showsStructure(host), hasFailed: end.outcome === "error" };
	const chars = result && seenChars(sizesOf(result), how);
	onCallEnd({
		tool: nameOf(asked).slice(0, longestName),
		request: id,
		milliseconds: performance.now() - startedAt,
		bytesIn: bytes,
		...(chars !== undefined && { report: { chars: { before: chars, after: chars } } }),
		...end,
	});
}

/** As the SDKs number it. */
const connectionClosed = -32_000;

/** Answers a request for the server, which will not. `data` is for the host. */
export function fail(
	{ options }: GatewayState,
	{ id, onAnswer }: OpenRequest,
	{ code = connectionClosed, ...error }: { readonly code?: number; readonly message: string; readonly data?: unknown },
): void {
	if (onAnswer) onAnswer(undefined);
	else options.toHost.line(errorLine(id, { code, ...error }));
}

export function errorLine(
	id: RequestId,
	error: { readonly code: number; readonly message: string; readonly data?: unknown },
): Buffer {
	return Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, error }));
}
