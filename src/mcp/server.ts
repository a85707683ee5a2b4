import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import {
	CallToolRequestSchema,
	ErrorCode,
	ListToolsRequestSchema,
	type LoggingLevel,
	McpError,
	type ServerNotification,
	type ServerRequest,
	SetLevelRequestSchema,
	type Tool as ToolDefinition,
} from "@modelcontextprotocol/sdk/types.js";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv-provider.js";
import { z } from "zod";
import type { ArchiveLocation } from "../archive/open.ts";
import type { ArchiveSource } from "../config/archive.ts";
import type { CompactionSource } from "../config/compaction.ts";
import type { PolicySource } from "../config/config.ts";
import { isJsonObject } from "../conversation/json.ts";
import { createFileAccess, createSpill, type Spill } from "../files/access.ts";
import type { Log } from "../operations/edit-record.ts";
import { describeIssues } from "../policy/errors.ts";
import { logLevels } from "../policy/names.ts";
import { describePolicy } from "../policy/reference.ts";
import type { Policy, PolicyLayer } from "../policy/schema.ts";
import { version } from "../version.ts";
import { callProgress, clientModel, clientRoots } from "./client.ts";
import { shortenResult } from "./hook-tool.ts";
import { belongsInPool } from "./pool/arguments.ts";
import type { CallPool } from "./pool/pool.ts";
import { bindPrompts } from "./prompts.ts";
import { bindContextReportApp, bindOriginals, bindPolicy } from "./resources.ts";
import { callRecorder, type OnCallEnd, runTool } from "./run-tool.ts";
import type { Tool, ToolContext } from "./tool.ts";
import { recallOriginal, tools } from "./tools.ts";

export interface ServerOptions {
	readonly policySource: PolicySource;
	/** The operator's log. It gets each event that the client's log gets. */
	readonly log: Log;
	readonly archive?: ArchiveSource | undefined;
	/** Whether hooks of the host may call `shorten_result`, which is not listed. */
	readonly answersHooks?: boolean | undefined;
	/** Those that are offered, by default all; `recall_original` only with an archive. */
	readonly tools?: readonly Tool[] | undefined;
	readonly compaction?: Pick<CompactionSource, "endpoint" | "loadStrategy"> | undefined;
	/** Aborted, with the error of a closed connection, when nothing can come from the client any more. */
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
}

export function createServer(options: ServerOptions): McpServer {
	const { policySource, log, archive, compaction, allowedPaths = [], sharesFiles, onlyAnswers, clientGone } = options;
	const offered = (options.tools ?? tools).filter((tool) => archive || tool !== recallOriginal);
	const server = new McpServer(
		{ name: "palimpsest", title: "Palimpsest", version },
		{
			instructions: instructions(policySource.current(), offered),
			// Made at its first use: it compiles Ajv's schemas, and our servers never ask clients for elicitation.
			jsonSchemaValidator: { getValidator: (schema) => new AjvJsonSchemaValidator().getValidator(schema) },
		},
	);
	const logToClient = onlyAnswers ? undefined : bindLogging(server, () => policySource.current().log_level);
	const logToBoth: Log = (event) => {
		log(event);
		logToClient?.(event);
	};
	const files = createFileAccess({
		workingDirectory: process.cwd(),
		folders: allowedPaths,
		roots: sharesFiles ? clientRoots(server, clientGone) : async () => [],
	});
	bindTools(server, {
		...options,
		tools: offered,
		unlisted: options.answersHooks ? [shortenResult] : [],
		callContext: (call) => ({
			layers: layersFor(offered, policySource),
			log: logToBoth,
			files,
			signal: call.signal,
			onProgress: callProgress({ ...call, progressToken: call._meta?.progressToken }),
			clientModel: clientModel(server, call, clientGone),
			endpoint: compaction?.endpoint,
			loadStrategy: compaction?.loadStrategy,
		}),
		spill: sharesFiles ? createSpill() : undefined,
	});
	if (archive) bindOriginals(server, archive);
	bindPrompts(server);
	server.server.onclose = bindPolicy(server, policySource, { tellsChanges: !onlyAnswers });
	bindContextReportApp(server);
	describeRequestErrors(server);
	return server;
}

/** Neither a placeholder nor an answer may name a tool that is not offered. */
function layersFor(offered: readonly Tool[], policySource: PolicySource): readonly PolicyLayer[] {
	const layers: PolicyLayer[] = [];
	if (!offered.includes(recallOriginal)) layers.push({ archive: { recall_hint: false } });
	if (!offered.some(({ name }) => name === "compact_conversation")) {
		// Nobody could bring the summary that the caller is asked for.
		const { answered_by: ways } = policySource.current().compaction;
		layers.push({ compaction: { answered_by: [...ways.filter((way) => way !== "caller"), "none"] } });
	}
	return layers.length === 0 ? policySource.layers() : [...policySource.layers(), ...layers];
}

/** For each tool that is offered. A model cannot change the conversation that it is in, and must not be told to. */
const purposes: Readonly<Record<string, string>> = {
	mask_conversation: "mask_conversation replaces its old tool results by placeholders",
	guard_context: "guard_context makes it fit the model's window",
	compact_conversation: "compact_conversation hides or summarises what is old",
};

function instructions(policy: Policy, offered: readonly Tool[]): string {
	const names = offered.map(({ name }) => name);
	const edits = Object.entries(purposes).flatMap(([name, purpose]) => (names.includes(name) ? [purpose] : []));
	const [conversations, texts] = [edits.length > 0, names.includes("truncate_output")];
	return [
		"Palimpsest keeps an agent's context small without breaking it.",
		...(conversations
			? [
					`For a conversation given as messages or path, which is never the one that you are in: ${edits.join("; ")}. Ask for respond_with "edits" to pay for changes only.`,
				]
			: []),
		"A placeholder says that an old tool result was left out on purpose: no error.",
		...(names.includes("recall_original")
			? ["What a placeholder names by ref=, réf= or # is intact: read it with recall_original, whole or in part."]
			: []),
		describePolicy(policy, { conversations, texts }),
	].join("\n");
}

/** Offers MCP logging from the client's level on, by default the policy's. */
function bindLogging(server: McpServer, policyLevel: () => LoggingLevel): Log {
	let clientLevel: LoggingLevel | undefined;
	server.server.registerCapabilities({ logging: {} });
	server.server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
		clientLevel = params.level;
		return {};
	});
	return ({ level, message, data }) => {
		if (logLevels.indexOf(level) < logLevels.indexOf(clientLevel ?? policyLevel()) || !server.isConnected()) return;
		server.server.sendLoggingMessage({ level, logger: "palimpsest", data: { message, ...data } }).catch(() => {});
	};
}

/** The SDK's own binding would answer bad input in its own words; here it becomes a tool error. */
export function bindTools(
	server: McpServer,
	options: Partial<ServerOptions> & {
		readonly tools: readonly Tool[];
		readonly unlisted?: readonly Tool[];
		readonly callContext: (call: RequestHandlerExtra<ServerRequest, ServerNotification>) => ToolContext;
		readonly spill?: Spill | undefined;
	},
): void {
	const {
		tools,
		unlisted = [],
		callContext,
		archive,
		spill,
		pool,
		policySource,
		allowedPaths = [],
		principal = "",
	} = options;
	const location = archive && options.archiveLocation;
	const listed = tools.map(toolDefinition);
	const byName = new Map([...tools, ...unlisted].map((tool) => [tool.name, tool]));
	server.server.registerCapabilities({ tools: {} });
	server.server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listed }));
	server.server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
		const tool = byName.get(params.name);
		if (!tool) {
			const known = tools.map(({ name }) => name).join(", ");
			throw new McpError(ErrorCode.InvalidParams, `No such tool here. Known: ${known}.`);
		}
		const { signal, requestId: id, sessionId: session } = extra;
		const context = { ...callContext(extra), signal };
		const call = { tool: tool.name, arguments: params.arguments };
		const note = callRecorder(options, { ...call, signal, request: id, session });
		const run = async () => {
			if (!pool || !belongsInPool(params, location)) return runTool({ ...call, tool, context, archive, spill });
			// Loaded on demand, since a server on standard input and output has no pool.
			const { callInPool } = await import("./pool/call.ts");
			const policyFile = policySource?.file() ?? null;
			const offered = tools.map(({ name }) => name);
			return callInPool(pool, {
				...call,
				id,
				offered,
				context,
				archive,
				location,
				allowedPaths,
				policyFile,
				principal,
			});
		};
		const outcome = await run();
		note(outcome);
		return outcome.result;
	});
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

type Handle = (request: unknown, extra: unknown) => Promise<unknown>;

/** The SDK checks requests before their handlers and answers with zod's issues. Call this once all handlers are set. */
function describeRequestErrors(server: McpServer): void {
	// The SDK has no public way to take part in its check.
	const { _requestHandlers: handlers } = server.server as unknown as { _requestHandlers: Map<string, Handle> };
	for (const [method, handle] of handlers) {
		// Async, since the check throws before the handler's promise is made.
		handlers.set(method, async (request, extra) => {
			try {
				return await handle(request, extra);
			} catch (error) {
				const issues = issuesOf(error, request);
				if (!issues) throw error;
				throw new McpError(ErrorCode.InvalidParams, describeIssues(issues, { root: request }).join("; "));
			}
		});
	}
}

function issuesOf(error: unknown, request: unknown): readonly z.core.$ZodIssue[] | undefined {
	if (error instanceof Error && "issues" in error && Array.isArray(error.issues)) return error.issues;
	// The SDK turns the issues of a tool call into a text before anybody else can see them.
	if (!(error instanceof McpError) || !error.message.includes("Invalid tools/call request")) return undefined;
	return CallToolRequestSchema.safeParse(request).error?.issues;
}
