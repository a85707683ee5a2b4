import { fileURLToPath } from "node:url";
import type { CallToolResult, RequestId, Tool as ToolDefinition } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { describePolicy } from "../engine/policy/reference.ts";
import type { Policy, PolicyLayer } from "../engine/policy/schema.ts";
import type { Log, OnCallEnd } from "../log.ts";
import type { CompactionSource } from "../operations/config/compaction.ts";
import type { PolicySource } from "../operations/config/config.ts";
import type { ArchiveLocation, ArchiveSource } from "../storage/archive/open.ts";
import { createFileAccess, createSpill, type Spill } from "../storage/files/access.ts";
import { version } from "../version.ts";
import { invalidParams, RequestError } from "./answer.ts";
import { belongsInPool } from "./body.ts";
import type { CallPool } from "./pool/pool.ts";
import { callRecorder, runTool, type Tool, type ToolContext } from "./tool.ts";
import { recallOriginal, shortenResult, tools } from "./tools.ts";

export interface ServerOptions {
	readonly policySource: PolicySource;
	/** The operator's log. It gets each event that the client's log gets. */
	readonly log: Log;
	readonly archive?: ArchiveSource | undefined;
	/** Whether hooks of the host may call `shorten_result`, which is not listed. */
	readonly answersHooks?: boolean | undefined;
	/** The offered tools, by default all; `recall_original` only with an archive. */
	readonly tools?: readonly Tool[] | undefined;
	readonly compaction?: Pick<CompactionSource, "endpoint" | "loadStrategy"> | undefined;
	/** Aborted, with the error of a closed connection, when the client can send nothing more. */
	readonly clientGone?: AbortSignal | undefined;
	readonly allowedPaths?: readonly string[] | undefined;
	/** Whether the client runs on this machine: its roots are allowed too, and large answers go into files. */
	readonly sharesFiles?: boolean | undefined;
	readonly pool?: CallPool | undefined;
	/** The place of `archive`, which the threads of the pool open themselves. */
	readonly archiveLocation?: ArchiveLocation | undefined;
	readonly principal?: string | undefined;
	/** Whether only answers reach the client: it then gets neither a log nor news of the policy. */
	readonly onlyAnswers?: boolean | undefined;
	readonly onCallEnd?: OnCallEnd | undefined;
	/** The address of a proxy on this machine; absent where clients are elsewhere. */
	readonly findProxy?: ToolContext["findProxy"];
}

/** The tools, resources and prompts of a server, in every era of the protocol. Only the binder of an era uses an SDK. */
export function createOffer(options: ServerOptions) {
	const { policySource, archive, compaction, allowedPaths = [], sharesFiles } = options;
	const offered = (options.tools ?? tools).filter((tool) => archive || tool !== recallOriginal);
	return {
		serverInfo: { name: "palimpsest", title: "Palimpsest", version },
		instructions: instructions(policySource.current(), offered),
		tools: offered,
		unlisted: options.answersHooks ? [shortenResult] : [],
		spill: sharesFiles ? createSpill() : undefined,
		/** The context of a call, with the parts of its client. */
		contextOf({ roots, ...client }: ClientSide): ToolContext {
			return {
				...client,
				layers: layersFor(offered, policySource),
				// Clients over HTTP may run on other machines, so their folders are not ours.
				files: createFileAccess({
					workingDirectory: process.cwd(),
					folders: allowedPaths,
					roots: sharesFiles ? roots : async () => [],
				}),
				findProxy: options.findProxy,
				endpoint: compaction?.endpoint,
				loadStrategy: compaction?.loadStrategy,
			};
		},
	};
}

type ClientSide = Pick<ToolContext, "log" | "signal" | "onProgress" | "clientModel"> & {
	/** The folders that the client offers. */
	readonly roots: () => Promise<readonly string[]>;
};

/** Neither a placeholder nor an answer may name a tool that is not offered. */
function layersFor(offered: readonly Tool[], policySource: PolicySource): readonly PolicyLayer[] {
	const layers: PolicyLayer[] = [];
	if (!offered.includes(recallOriginal)) layers.push({ archive: { recall_hint: false } });
	if (!offered.some(({ name }) => name === "compact_conversation")) {
		// No caller could send the summary that is asked for.
		const { answered_by: ways } = policySource.current().compaction;
		layers.push({ compaction: { answered_by: [...ways.filter((way) => way !== "caller"), "none"] } });
	}
	return layers.length === 0 ? policySource.layers() : [...policySource.layers(), ...layers];
}

/** For each tool that is offered. */
const purposes: Readonly<Record<string, string>> = {
	mask_conversation: "mask_conversation replaces its old tool results by placeholders",
	guard_context: "guard_context makes it fit the model's window",
	compact_conversation: "compact_conversation hides or summarises old content",
};

function instructions(policy: Policy, offered: readonly Tool[]): string {
	const names = offered.map(({ name }) => name);
	const edits = Object.entries(purposes).flatMap(([name, purpose]) => (names.includes(name) ? [purpose] : []));
	const ofOwn = names.filter((name) => name === "mask_conversation" || name === "guard_context");
	const [conversations, texts] = [edits.length > 0, names.includes("truncate_output")];
	return [
		...(conversations
			? [
					"Palimpsest keeps an agent's context small without breaking it.",
					`For a conversation that you pass as messages or path: ${edits.join("; ")}. Ask for respond_with "edits" to pay for changes only.`,
					...(ofOwn.length > 0
						? [`For your own conversation, call ${ofOwn.join(" or ")} without messages and path.`]
						: []),
				]
			: []),
		names.includes("recall_original")
			? "A placeholder marks an old tool result that was left out on purpose: recall_original reads the intact original."
			: "A placeholder says that an old tool result was left out on purpose: no error.",
		describePolicy(policy, { conversations, texts }),
	].join("\n");
}

export interface OfferedTools extends Partial<ServerOptions> {
	readonly tools: readonly Tool[];
	readonly unlisted?: readonly Tool[];
	readonly spill?: Spill | undefined;
}

/** Runs calls of tools, in a thread of the pool where they may take long. Throws RequestError for an unknown tool. */
export function createToolCaller(options: OfferedTools) {
	const { tools, unlisted = [], archive, spill, pool, policySource, allowedPaths = [], principal = "" } = options;
	const location = archive && options.archiveLocation;
	const byName = new Map([...tools, ...unlisted].map((tool) => [tool.name, tool]));
	return async (asked: {
		readonly params: { readonly name: string; readonly arguments?: JsonObject | undefined };
		readonly id: RequestId;
		readonly session?: string | undefined;
		readonly context: ToolContext & { readonly signal: AbortSignal };
		/** Whether the work waits until the client has answered a question. */
		readonly isAsking?: () => boolean;
	}): Promise<CallToolResult> => {
		const { params, id, session, context, isAsking } = asked;
		const tool = byName.get(params.name);
		if (!tool) {
			const known = tools.map(({ name }) => name).join(", ");
			throw new RequestError(invalidParams, `Unknown tool. Known: ${known}.`);
		}
		const call = { tool: tool.name, arguments: params.arguments };
		const note = callRecorder(options, { ...call, signal: context.signal, request: id, session });
		const run = async () => {
			if (!pool || !belongsInPool(params, location)) return runTool({ ...call, tool, context, archive, spill });
			// Loaded on demand, since a server on standard input and output has no pool.
			const { callInPool } = await import("./pool/pool.ts");
			const policyFile = policySource?.file() ?? null;
			const offered = tools.map(({ name }) => name);
			const job = { ...call, offered, allowedPaths, policyFile };
			return callInPool(pool, { ...job, context, archive, location, principal, session });
		};
		const outcome = await run();
		note({ ...outcome, ...(isAsking && { isAsking: isAsking() }) });
		return outcome.result;
	};
}

// A process may make a server for each request.
const definitions = new WeakMap<Tool, ToolDefinition>();

export function toolDefinition(tool: Tool): ToolDefinition {
	const { name, title, description, annotations, app } = tool;
	const definition = definitions.get(tool) ?? {
		name,
		title,
		description,
		annotations,
		inputSchema: jsonSchema(tool.inputSchema, "input"),
		...(tool.outputSchema && { outputSchema: jsonSchema(tool.outputSchema, "output") }),
		...(app === undefined ? {} : { _meta: { ui: { resourceUri: app } } }),
	};
	definitions.set(tool, definition);
	return definition;
}

function jsonSchema(schema: z.ZodObject, io: "input" | "output"): ToolDefinition["inputSchema"] {
	const { $schema: _, ...rest } = z.toJSONSchema(schema, {
		io,
		override({ jsonSchema: made }) {
			// Empty, both allow everything, as their absence does, and some providers refuse them.
			if (isEmptyObject(made.additionalProperties)) delete made.additionalProperties;
			if (isEmptyObject(made.properties)) delete made.properties;
			// These bounds are implied by JSON, and each costs ten tokens.
			if (made.maximum === Number.MAX_SAFE_INTEGER) delete made.maximum;
			if (made.minimum === Number.MIN_SAFE_INTEGER) delete made.minimum;
		},
	});
	return rest as ToolDefinition["inputSchema"];
}

const isEmptyObject = (value: unknown) => isJsonObject(value) && Object.keys(value).length === 0;

/** Roots of any scheme: the SDK's own schema would refuse the whole list for one that is not a file. */
export const rootsListed = z.object({ roots: z.array(z.object({ uri: z.string() })) });

/** The folders of an answer to `roots/list`; none of an answer that has another form. */
export function rootFolders(answer: unknown): readonly string[] {
	return (rootsListed.safeParse(answer).data?.roots ?? []).flatMap(({ uri }) => folderOf(uri) ?? []);
}

function folderOf(uri: string): string | undefined {
	try {
		return uri.startsWith("file:") ? fileURLToPath(uri) : undefined;
	} catch {
		return undefined;
	}
}
