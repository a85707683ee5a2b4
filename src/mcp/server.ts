import { completable } from "@modelcontextprotocol/sdk/server/completable.js";
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
import type { jsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/types.js";
import { z } from "zod";
import type { ArchiveLocation } from "../archive/open.ts";
import type { ArchiveSource } from "../config/archive.ts";
import type { CompactionSource } from "../config/compaction.ts";
import type { PolicySource } from "../config/config.ts";
import { createFileAccess, createSpill, type Spill } from "../files/access.ts";
import type { Log } from "../operations/edit-record.ts";
import { describeIssues } from "../policy/errors.ts";
import { logLevels } from "../policy/names.ts";
import { describePolicy } from "../policy/reference.ts";
import type { Policy } from "../policy/schema.ts";
import { version } from "../version.ts";
import { bindContextReportApp } from "./apps.ts";
import { callProgress, clientRoots, clientSampling } from "./client.ts";
import { belongsInPool, bytesOfArguments, type PoolBinding } from "./pool/call.ts";
import type { CallPool } from "./pool/pool.ts";
import { compact, contextReport, type Prompt, type PromptArgument } from "./prompts.ts";
import { bindOriginals, bindResources } from "./resources.ts";
import { noteOfCall, type OnCallEnd, runTool, type ToolRun } from "./run-tool.ts";
import type { Tool, ToolContext } from "./tool.ts";
import { compactConversation } from "./tools/compact-conversation.ts";
import { guardContext } from "./tools/guard-context.ts";
import { maskConversation } from "./tools/mask-conversation.ts";
import { recallOriginal } from "./tools/recall-original.ts";
import { truncateOutput } from "./tools/truncate-output.ts";

/** What a server is made from. */
export interface ServerOptions {
	readonly policySource: PolicySource;
	/** Takes each event beside the client, for the operator's log. */
	readonly log: Log;
	/** Where originals are kept; absent where nothing is, and nothing can be recalled. Outlives the server. */
	readonly archive?: ArchiveSource | undefined;
	/** The model that the environment names, and strategies of the user's own. Outlives the server. */
	readonly compaction?: Pick<CompactionSource, "endpoint" | "loadStrategy"> | undefined;
	/** Aborted, with the error of a connection that closed, where nothing can come from the client any more. */
	readonly clientGone?: AbortSignal | undefined;
	/** Folders whose files a call may name by path. */
	readonly allowedPaths?: readonly string[] | undefined;
	/** Whether the client runs on this machine as the same user: its roots are allowed too, and large answers go into files. */
	readonly sharesFiles?: boolean | undefined;
	/** Whether requests are read from bytes, so that nobody else holds what is in them. */
	readonly ownsRequests?: boolean | undefined;
	/** Takes the calls that would hold up other clients; absent where there is one client. Outlives the server. */
	readonly pool?: CallPool | undefined;
	/** Where `archive` is, for the pool's threads, which open it themselves. */
	readonly archiveLocation?: ArchiveLocation | undefined;
	/** Who calls, where callers are told apart. */
	readonly principal?: string | undefined;
	/** Whether nothing reaches the client but answers: then neither a log nor news of the policy is offered to it. */
	readonly onlyAnswers?: boolean | undefined;
	/** Takes note of each call that has ended. */
	readonly onCallEnd?: OnCallEnd | undefined;
}

/**
 * Makes an MCP server for one client, with no transport yet. One process may run many: they share nothing but the policy
 * source.
 */
export function createServer(options: ServerOptions): McpServer {
	const {
		policySource,
		log,
		archive,
		compaction,
		allowedPaths = [],
		sharesFiles = false,
		onlyAnswers = false,
	} = options;
	const { pool, archiveLocation: location, principal, onCallEnd } = options;
	const server = new McpServer(
		{ name: "palimpsest", title: "Palimpsest", version },
		{ instructions: instructions(policySource.current(), archive !== undefined), jsonSchemaValidator: lazyValidator },
	);
	const logToClient = onlyAnswers ? undefined : bindLogging(server, () => policySource.current().log_level);
	const logToBoth: Log = (event) => {
		log(event);
		logToClient?.(event);
	};
	const rootsOfClient = sharesFiles ? clientRoots(server, options.clientGone) : async () => [];
	const files = createFileAccess({
		workingDirectory: process.cwd(),
		folders: allowedPaths,
		roots: rootsOfClient,
	});
	bindTools(server, {
		tools: archive ? tools : tools.filter((tool) => tool !== recallOriginal),
		contextOfCall: (call) => ({
			layers: policySource.layers(),
			log: logToBoth,
			files,
			ownsArguments: options.ownsRequests,
			signal: call.signal,
			onProgress: callProgress({ ...call, progressToken: call._meta?.progressToken }),
			sampling: clientSampling(server, call, options.clientGone),
			endpoint: compaction?.endpoint,
			loadStrategy: compaction?.loadStrategy,
		}),
		archive,
		spill: sharesFiles ? createSpill() : undefined,
		inPool: pool && {
			pool,
			location: archive && location,
			allowedPaths,
			policyFile: policySource.file,
			principal: principal ?? "",
		},
		principal,
		onCallEnd,
	});
	if (archive) bindOriginals(server, archive);
	bindPrompts(server);
	const stopListening = bindResources(server, policySource, { tellsChanges: !onlyAnswers });
	bindContextReportApp(server);
	wordRequestErrors(server);
	server.server.onclose = stopListening;
	return server;
}

function instructions(policy: Policy, isArchived: boolean): string {
	const recall = isArchived
		? ["What a placeholder names by ref= or réf= is intact: read it with recall_original, whole or in part."]
		: [];
	return [
		"Palimpsest keeps an agent's context small without breaking it.",
		"Between turns, mask_conversation replaces old tool results by placeholders; guard_context makes a conversation fit the model's window; truncate_output cuts one large text; compact_conversation hides or summarises what is old.",
		'A placeholder says that an old tool result was left out on purpose: no error. Ask for respond_with "edits" to pay for changes only.',
		...recall,
		describePolicy(policy),
	].join("\n");
}

/**
 * Offers MCP logging on a server. Answers with a log that sends each event to the client, from the level that the client
 * has set on, or else from the policy's.
 */
export function bindLogging(server: McpServer, policyLevel: () => LoggingLevel): Log {
	let clientLevel: LoggingLevel | undefined;
	server.server.registerCapabilities({ logging: {} });
	server.server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
		clientLevel = params.level;
		return {};
	});
	return ({ level, message, data }) => {
		if (logLevels.indexOf(level) < logLevels.indexOf(clientLevel ?? policyLevel()) || !server.isConnected()) return;
		// A client that has gone away in the meantime needs no log.
		server.server.sendLoggingMessage({ level, logger: "palimpsest", data: { message, ...data } }).catch(() => {});
	};
}

/** Every prompt, in the order in which clients list them. */
const prompts: readonly Prompt[] = [compact, contextReport];

/** The longest argument, in UTF-16 code units: it becomes part of what a model reads. */
const longestArgument = 4_000;

/** Offers the prompts on a server, with completions of their arguments. */
export function bindPrompts(server: McpServer): void {
	for (const { name, title, description, arguments: named, write } of prompts) {
		const argsSchema = Object.fromEntries(Object.entries(named).map(([key, one]) => [key, schemaOf(one)]));
		server.registerPrompt(name, { title, description, argsSchema }, (given) => {
			refuseLong(given);
			return { description, messages: [{ role: "user", content: { type: "text", text: write(given) } }] };
		});
	}
	// The list never changes, so the SDK's `listChanged: true` would promise what never comes.
	server.server.registerCapabilities({ prompts: { listChanged: false } });
}

function refuseLong(given: Readonly<Record<string, string | undefined>>): void {
	for (const [name, text = ""] of Object.entries(given)) {
		if (text.length <= longestArgument) continue;
		const expected = `expected a text of at most ${longestArgument} characters, got one of ${text.length}`;
		throw new McpError(ErrorCode.InvalidParams, `${name}: ${expected}`);
	}
}

function schemaOf({ description, complete }: PromptArgument) {
	const schema = z.string();
	if (!complete) return schema.optional().describe(description);
	// The SDK looks for completions inside of what is optional when it offers them, and outside when it answers.
	const inner = completable(schema, (typed) => complete(typed));
	return completable(inner.optional().describe(description), (typed) => complete(typed ?? ""));
}

/** A call that a client waits for: its signal, and the way back to the client. */
export type RunningCall = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** What tools are bound with. */
export interface ToolBinding {
	readonly tools: readonly Tool[];
	readonly contextOfCall: (call: RunningCall) => ToolContext;
	/** Opens the archive for a call; absent where nothing is kept. */
	readonly archive?: ArchiveSource | undefined;
	/** Takes answers that are too large to send; absent where the client shares no files with this process. */
	readonly spill?: Spill | undefined;
	/** Takes the calls that would hold up everybody else; absent where there is nobody else. */
	readonly inPool?: PoolBinding | undefined;
	/** Who calls, where callers are told apart. */
	readonly principal?: string | undefined;
	readonly onCallEnd?: OnCallEnd | undefined;
}

/**
 * Offers tools on a server. Definitions are made once, not for each `tools/list`; bad input is answered as a tool error
 * with one of our codes, where the SDK's own binding would answer with its own words.
 */
export function bindTools(server: McpServer, binding: ToolBinding): void {
	const { tools, contextOfCall, archive, spill, inPool } = binding;
	const definitions = tools.map(definitionOf);
	const byName = new Map(tools.map((tool) => [tool.name, tool]));
	server.server.registerCapabilities({ tools: {} });
	server.server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: definitions }));
	server.server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
		const tool = byName.get(params.name);
		if (!tool) {
			const known = [...byName.keys()].join(", ");
			throw new McpError(ErrorCode.InvalidParams, `No such tool here. Known: ${known}.`);
		}
		const { signal, requestId: request, sessionId: session } = extra;
		const context = { ...contextOfCall(extra), signal };
		const note = noteOfCall(binding, { tool: tool.name, arguments: params.arguments, signal, request, session });
		if (inPool && belongsInPool(params, inPool)) {
			const call = { id: request, tool: tool.name, arguments: bytesOfArguments(params.arguments), context };
			const { callInPool } = await import("./pool/call.ts");
			const outcome = await callInPool(inPool, { ...call, archive });
			note(outcome);
			return outcome.result;
		}
		const handle = archive && ((work: Work) => archive.use((opened) => work({ ...context, archive: opened })));
		const outcome = await runTool({ tool, arguments: params.arguments, context, handle, spill });
		note(outcome);
		return outcome.result;
	});
}

type Work = Parameters<NonNullable<ToolRun["handle"]>>[0];

// A process may make a server for each request.
const definitionsOfTools = new WeakMap<Tool, ToolDefinition>();

function definitionOf(tool: Tool): ToolDefinition {
	const definition = definitionsOfTools.get(tool) ?? toolDefinition(tool);
	definitionsOfTools.set(tool, definition);
	return definition;
}

/** A tool's definition as clients list it. */
export function toolDefinition(tool: Tool): ToolDefinition {
	const { name, title, description, annotations, app } = tool;
	return {
		name,
		title,
		description,
		annotations,
		inputSchema: jsonSchema(tool.inputSchema, "input"),
		outputSchema: jsonSchema(tool.outputSchema, "output"),
		...(app === undefined ? {} : { _meta: { ui: { resourceUri: app } } }),
	};
}

function jsonSchema(schema: z.ZodObject, io: "input" | "output"): ToolDefinition["inputSchema"] {
	const { $schema: _, ...rest } = z.toJSONSchema(schema, {
		io,
		override({ jsonSchema: made }) {
			// `additionalProperties: {}` allows what its absence allows, and some providers refuse it.
			if (isEmptyObject(made.additionalProperties)) delete made.additionalProperties;
			// An empty `properties` beside alternatives says nothing.
			if (isEmptyObject(made.properties)) delete made.properties;
			// Every whole number that JSON can carry: an error would say it, and each costs ten tokens.
			if (made.maximum === Number.MAX_SAFE_INTEGER) delete made.maximum;
			if (made.minimum === Number.MIN_SAFE_INTEGER) delete made.minimum;
		},
	});
	return rest as ToolDefinition["inputSchema"];
}

function isEmptyObject(value: unknown): boolean {
	return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/**
 * The SDK's own validator of what a client answers to an elicitation, made on first use: each server makes one as it
 * starts, which compiles Ajv's schemas, and ours asks clients for nothing.
 */
export const lazyValidator: jsonSchemaValidator = {
	getValidator: (schema) => new AjvJsonSchemaValidator().getValidator(schema),
};

/** Every tool, in the order in which clients list them; `recall_original` only where originals are kept. */
export const tools: readonly Tool[] = [
	maskConversation,
	guardContext,
	truncateOutput,
	compactConversation,
	recallOriginal,
];

type Handle = (request: unknown, extra: unknown) => Promise<unknown>;

/**
 * Answers requests that are none of the protocol's shape with `InvalidParams` and words of ours. The SDK checks every request
 * before its handler sees it, and answers with zod's issues as JSON. Call it once all handlers are set.
 */
export function wordRequestErrors(server: McpServer): void {
	// The SDK has no public way to take part in its check.
	const { _requestHandlers: handlers } = server.server as unknown as { _requestHandlers: Map<string, Handle> };
	for (const [method, handle] of handlers) {
		// An async function, since the check throws before the handler's promise is made.
		handlers.set(method, async (request, extra) => {
			try {
				return await handle(request, extra);
			} catch (error) {
				throw worded(error, request);
			}
		});
	}
}

function worded(error: unknown, request: unknown): unknown {
	const issues = issuesOf(error) ?? issuesInToolCall(error, request);
	if (issues) return new McpError(ErrorCode.InvalidParams, describeIssues(issues, { root: request }).join("; "));
	return error;
}

function issuesOf(error: unknown): readonly z.core.$ZodIssue[] | undefined {
	if (!(error instanceof Error) || !("issues" in error) || !Array.isArray(error.issues)) return undefined;
	return error.issues;
}

/** The SDK turns what it finds in a call of a tool into a text before anybody can see it. */
function issuesInToolCall(error: unknown, request: unknown): readonly z.core.$ZodIssue[] | undefined {
	if (!(error instanceof McpError) || !error.message.includes("Invalid tools/call request")) return undefined;
	return CallToolRequestSchema.safeParse(request).error?.issues;
}
