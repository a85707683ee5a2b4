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

/**
 * A tool's `policy` argument. Its JSON Schema costs every conversation tokens, so it has only the choices of the plain
 * fields and the names of the fields in each section that the tool uses; `policy://schema` has the rest.
 * `checkPolicyLayer` checks the values, since its errors name the nearest known field.
 */
export function policyInput(sections: readonly Section[]) {
	const properties = (policyJsonSchema() as JsonSchema).properties ?? {};
	const chosen = ["preset", "locale", ...sections].map((name) => {
		const { type, enum: choices, properties: fields } = properties[name] ?? {};
		if (choices !== undefined) return [name, { enum: choices }];
		return [name, { type, ...(fields && { description: Object.keys(fields).join(", ") }) }];
	});
	return z
		.looseObject({})
		.optional()
		.meta({
			description: "Overrides; see policy://schema.",
			properties: Object.fromEntries(chosen),
			additionalProperties: false,
		});
}

/** The policy of one call: its own fields over the policy in force. */
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
		throw new PalimpsestError(
			"invalid_policy",
			"The tool's `policy` argument cannot be used:\n- compaction.strategy: module#Export and module:Class are code, which the configuration alone may name; a call names one of the built-in strategies.",
		);
	}
	return resolvePolicy([...layers, layer]);
}

// The layers are another list once the configuration changes.
const policiesInForce = new WeakMap<readonly PolicyLayer[], Policy>();

/** Everything but the input that a tool's handler gets. */
export interface ToolContext {
	/** The layers of the policy in force, over which a call's own policy is laid. */
	readonly layers: readonly PolicyLayer[];
	readonly log: Log;
	readonly files: FileAccess;
	/** Where originals are kept; absent where nothing is. */
	readonly archive?: Archive | undefined;
	/** Aborted when the client no longer waits. */
	readonly signal?: AbortSignal | undefined;
	/** Reports to the client how far a long call is; absent where it did not ask. */
	readonly onProgress?: ((progress: CallProgress) => void) | undefined;
	/** The client's own model; absent where it declares none. */
	readonly clientModel?: (() => Promise<Summariser>) | undefined;
	/** The model that the environment names; absent where it names none. */
	readonly endpoint?: Summariser | undefined;
	readonly loadStrategy?: LoadStrategy | undefined;
}

/** Key in an answer for content that accompanies the structured content. JSON leaves symbols out. */
export const beside = Symbol("beside");

/** The answer of a tool: its structured content, which the text block repeats as JSON unless `text` stands there. */
export type Answer = Readonly<Record<string, unknown>> & {
	readonly [beside]?: {
		readonly text?: string;
		/** More blocks, after the text. */
		readonly blocks?: readonly ContentBlock[];
	};
};

/** A tool as data and a handler, so that a change of the SDK only touches `bindTools`. */
export interface Tool<Input extends z.ZodObject = z.ZodObject> {
	readonly name: string;
	readonly title: string;
	/** For a model that has to choose among many tools. */
	readonly description: string;
	readonly annotations: ToolAnnotations;
	readonly inputSchema: Input;
	readonly outputSchema: z.ZodObject;
	/** The page that shows the tool's answers in hosts of MCP Apps, as the URI of a resource. */
	readonly app?: `ui://${string}`;
	/** Throws PalimpsestError for mistakes that the caller can correct. */
	readonly handle: (input: z.output<Input>, context: ToolContext) => Promise<Answer>;
}

/** Checks a tool's types against each other, then forgets its input type, so that all tools fit into one list. */
export function defineTool<Input extends z.ZodObject>(tool: Tool<Input>): Tool {
	return tool as unknown as Tool;
}

/** Hints of a tool that changes nothing anywhere. */
export const pureTool: ToolAnnotations = {
	readOnlyHint: true,
	destructiveHint: false,
	idempotentHint: true,
	openWorldHint: false,
};

/** Hints of a tool that may write a file, also over another one. */
export const fileWritingTool: ToolAnnotations = { ...pureTool, readOnlyHint: false, destructiveHint: true };
