import type { ContentBlock, ToolAnnotations } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import type { Archive } from "../archive/archive.ts";
import { PalimpsestError } from "../errors.ts";
import type { FileAccess } from "../files/access.ts";
import type { LoadStrategy } from "../operations/compaction-request.ts";
import type { Log } from "../operations/edit-record.ts";
import { checkPolicyLayer, policyJsonSchema } from "../policy/check.ts";
import { resolvePolicy } from "../policy/layers.ts";
import { parseStrategyName } from "../policy/names.ts";
import type { Policy, PolicyLayer } from "../policy/schema.ts";
import type { Summariser } from "../summariser/summariser.ts";
import type { CallProgress } from "./client.ts";

type Section = "media" | "thinking" | "mask" | "guard" | "truncate" | "compaction";

type JsonSchema = { readonly [key: string]: unknown; readonly properties?: Record<string, JsonSchema> };

/** The JSON Schema costs every conversation tokens, so it only names choices and fields. `callPolicy` checks values. */
export function policyInput(sections: readonly Section[]) {
	const properties = (policyJsonSchema() as JsonSchema).properties ?? {};
	const chosen = ["preset", "locale", ...sections].map((name) => {
		const { type, enum: choices, properties: fields } = properties[name] ?? {};
		if (choices !== undefined) return [name, { enum: choices }];
		return [name, { type, ...(fields && { description: Object.keys(fields).join(", ") }) }];
	});
	const description = "Overrides; see policy://schema.";
	const meta = { description, properties: Object.fromEntries(chosen), additionalProperties: false };
	return z.looseObject({}).optional().meta(meta);
}

export function callPolicy(context: ToolContext, override: unknown): Policy {
	const { layers } = context;
	if (override === undefined) {
		const policy = policiesInForce.get(layers) ?? resolvePolicy(layers);
		policiesInForce.set(layers, policy);
		return policy;
	}
	const layer = checkPolicyLayer(override, "the tool's `policy` argument");
	const strategy = layer.compaction?.strategy;
	if (strategy !== undefined && parseStrategyName(strategy).kind === "external") {
		const message =
			"The tool's `policy` argument cannot be used:\n- compaction.strategy: module#Export and module:Class are code, which the configuration alone may name; a call names one of the built-in strategies.";
		throw new PalimpsestError("invalid_policy", message);
	}
	return resolvePolicy([...layers, layer]);
}

// The layers are another list once the configuration changes.
const policiesInForce = new WeakMap<readonly PolicyLayer[], Policy>();

export interface ToolContext {
	/** The layers of the policy in force. A call's own policy goes on top. */
	readonly layers: readonly PolicyLayer[];
	readonly log: Log;
	readonly files: FileAccess;
	readonly archive?: Archive | undefined;
	readonly signal?: AbortSignal | undefined;
	readonly onProgress?: ((progress: CallProgress) => void) | undefined;
	readonly clientModel?: (() => Promise<Summariser>) | undefined;
	readonly endpoint?: Summariser | undefined;
	readonly loadStrategy?: LoadStrategy | undefined;
}

/** Key in an answer for content that accompanies the structured content. JSON omits symbols. */
export const beside = Symbol("beside");

/**
 * A tool's structured content. The text block repeats it as JSON unless `text` replaces it; `blocks` follow. Without an
 * output schema, the text is all that a model gets, and a program finds the other members in `_meta`.
 */
export type Answer = Readonly<Record<string, unknown>> & {
	readonly [beside]?: { readonly text?: string; readonly blocks?: readonly ContentBlock[] };
};

/** A tool as data and a handler, so that the binder of each era of the protocol can use it. */
export interface Tool<Input extends z.ZodObject = z.ZodObject> {
	readonly name: string;
	readonly title: string;
	readonly description: string;
	readonly annotations: ToolAnnotations;
	readonly inputSchema: Input;
	readonly outputSchema?: z.ZodObject;
	/** The URI of the page that shows the tool's answers in hosts of MCP Apps. */
	readonly app?: `ui://${string}`;
	readonly handle: (input: z.output<Input>, context: ToolContext) => Promise<Answer>;
}

/** Checks a tool's types against each other, then forgets its input type, so that all tools fit into one list. */
export function defineTool<Input extends z.ZodObject>(tool: Tool<Input>): Tool {
	return tool as unknown as Tool;
}

export const pureTool = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/** Hints of a tool that may overwrite a file. */
export const fileWritingTool: ToolAnnotations = { ...pureTool, readOnlyHint: false, destructiveHint: true };
