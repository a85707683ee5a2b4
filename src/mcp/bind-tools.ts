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
import { PalimpsestError } from "../errors.ts";
import type { Spill } from "../files/spill.ts";
import { quote } from "../policy/describe-value.ts";
import { nearestName } from "../policy/nearest-name.ts";
import { policyOfCall } from "./policy-input.ts";
import { toolError, toolResult } from "./result.ts";
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
}

/**
 * Offers tools on a server. Definitions are made once, not for each `tools/list`; bad input is answered as a tool error
 * with one of our codes, where the SDK's own binding would answer with its own words.
 */
export function bindTools(server: McpServer, { tools, contextOfCall, archive, spill }: ToolBinding): void {
	const definitions = tools.map(definitionOf);
	const byName = new Map(tools.map((tool) => [tool.name, { tool, strictInput: tool.inputSchema.strict() }]));
	server.server.registerCapabilities({ tools: {} });
	server.server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: definitions }));
	server.server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
		const bound = byName.get(params.name);
		if (!bound) {
			const known = [...byName.keys()].join(", ");
			throw new McpError(ErrorCode.InvalidParams, `No such tool here. Known: ${known}.`);
		}
		const { tool } = bound;
		const context = contextOfCall(extra);
		try {
			const input = checkInput(bound, params.arguments);
			const answer = archive
				? await archive.use((opened) => tool.handle(input, { ...context, archive: opened }))
				: await tool.handle(input, context);
			return await toolResult({ answer, spill, text: () => policyOfCall(context, input.policy).text });
		} catch (error) {
			// What ends a call that nobody waits for any more is no defect.
			if (!(error instanceof PalimpsestError) && !extra.signal.aborted) {
				const name = error instanceof Error ? error.name : typeof error;
				context.log({
					level: "error",
					message: `${tool.name} failed`,
					data: { event: "defect", tool: tool.name, error: name },
				});
			}
			return toolError(error);
		}
	});
}

// A process may make a server for each request.
const definitionsOfTools = new WeakMap<Tool, ToolDefinition>();

function definitionOf(tool: Tool): ToolDefinition {
	const definition = definitionsOfTools.get(tool) ?? toolDefinition(tool);
	definitionsOfTools.set(tool, definition);
	return definition;
}

/** A tool's definition as clients list it. */
export function toolDefinition(tool: Tool): ToolDefinition {
	const { name, title, description, annotations } = tool;
	return {
		name,
		title,
		description,
		annotations,
		inputSchema: jsonSchema(tool.inputSchema, "input"),
		outputSchema: jsonSchema(tool.outputSchema, "output"),
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

/** A tool with the schema that refuses unknown arguments, which costs more to make than to use. */
interface BoundTool {
	readonly tool: Tool;
	readonly strictInput: z.ZodObject;
}

function checkInput({ tool, strictInput }: BoundTool, value: unknown): Record<string, unknown> {
	const parsed = strictInput.safeParse(value ?? {});
	if (parsed.success) return parsed.data;
	const problems = parsed.error.issues.map((issue) => `- ${describeIssue(issue, Object.keys(tool.inputSchema.shape))}`);
	throw new PalimpsestError("invalid_argument", `Invalid arguments of ${tool.name}:\n${problems.join("\n")}`);
}

/** What is wrong, without a word of the values: they may be conversation text. */
function describeIssue(issue: z.core.$ZodIssue, known: readonly string[]): string {
	if (issue.code !== "unrecognized_keys") return `${issue.path.join(".")}: ${issue.message}`;
	return issue.keys
		.map((key) => {
			const near = nearestName(key, known);
			const hint = near === null ? `Known: ${known.join(", ")}.` : `Did you mean ${near}?`;
			return `${quote(key)}: unknown argument. ${hint}`;
		})
		.join("\n- ");
}
