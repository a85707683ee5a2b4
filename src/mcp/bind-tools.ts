import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import {
	CallToolRequestSchema,
	ErrorCode,
	ListToolsRequestSchema,
	McpError,
	type ServerNotification,
	type ServerRequest,
	type Tool as ToolDefinition,
} from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import type { ArchiveSource } from "../config/create-archive-source.ts";
import type { Spill } from "../files/spill.ts";
import type { OnCallEnd } from "./call-end.ts";
import { noteOfCall } from "./note-of-call.ts";
import { belongsInPool, bytesOfArguments } from "./pool/belongs-in-pool.ts";
import type { PoolBinding } from "./pool/call-in-pool.ts";
import { runTool, type ToolRun } from "./run-tool.ts";
import type { Tool, ToolContext } from "./tool.ts";

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
			const { callInPool } = await import("./pool/call-in-pool.ts");
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
