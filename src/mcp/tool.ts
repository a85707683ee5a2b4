import type { ContentBlock, ToolAnnotations } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import type { Archive } from "../archive/archive.ts";
import { PalimpsestError } from "../errors.ts";
import type { FileAccess } from "../files/access.ts";
import type { LoadStrategy } from "../operations/compact-by-strategy.ts";
import type { Log } from "../operations/edit-record.ts";
import { checkPolicyLayer, policyJsonSchema } from "../policy/check.ts";
import { resolvePolicy } from "../policy/layers.ts";
import { parseStrategyName } from "../policy/names.ts";
import type { Policy, PolicyLayer } from "../policy/schema.ts";
import type { Summariser } from "../summariser/summariser.ts";
import type { CallProgress, CreateMessage } from "./client.ts";

type Section = "media" | "thinking" | "mask" | "guard" | "truncate" | "compaction";

type JsonSchema = { readonly [key: string]: unknown; readonly properties?: Record<string, JsonSchema> };

/**
 * A tool's `policy` argument. Its JSON Schema is the policy schema's own, cut down to what costs every conversation few
 * tokens: the choices of the plain fields, and the names of the fields in each section that the tool uses.
 * `policy://schema` has types, defaults and meanings. The values themselves are checked by `checkPolicyLayer`, whose
 * errors name the nearest known field.
 */
export function policyInput(sections: readonly Section[]) {
	const properties = (policyJsonSchema() as JsonSchema).properties ?? {};
	const chosen = ["preset", "locale", ...sections].map((name) => [name, bare(properties[name] ?? {})]);
	return z
		.looseObject({})
		.optional()
		.meta({
			description: "Overrides; see policy://schema.",
			properties: Object.fromEntries(chosen),
			additionalProperties: false,
		});
}

/** The policy of one call: the one in force with the call's own over it. */
export function policyOfCall(context: ToolContext, override: unknown): Policy {
	if (override === undefined) return policyInForce(context.layers);
	const layer = checkPolicyLayer(override, "the tool's `policy` argument");
	const strategy = layer.compaction?.strategy;
	if (strategy !== undefined && parseStrategyName(strategy).kind === "external") {
		throw new PalimpsestError(
			"invalid_policy",
			"The tool's `policy` argument cannot be used:\n- compaction.strategy: module#Export and module:Class are code, which the configuration alone may name; a call names one of the built-in strategies.",
		);
	}
	return resolvePolicy([...context.layers, layer]);
}

// The layers are another list once the configuration changes.
const inForce = new WeakMap<readonly PolicyLayer[], Policy>();

function policyInForce(layers: readonly PolicyLayer[]): Policy {
	const policy = inForce.get(layers) ?? resolvePolicy(layers);
	inForce.set(layers, policy);
	return policy;
}

/** What a field takes: of a section, the names of its fields. */
function bare({ type, enum: choices, properties }: JsonSchema): unknown {
	if (choices !== undefined) return { enum: choices };
	return { type, ...(properties === undefined ? {} : { description: Object.keys(properties).join(", ") }) };
}

/** What a tool call is given beside its input. */
export interface ToolContext {
	/** The layers of the policy in force, over which a call's own policy is laid. */
	readonly layers: readonly PolicyLayer[];
	readonly log: Log;
	/** The files that the caller may name. */
	readonly files: FileAccess;
	/** Whether nobody else holds the call's arguments, as is so where they were read from what a client sent. */
	readonly ownsArguments?: boolean | undefined;
	/** Where originals are kept; absent where nothing is. */
	readonly archive?: Archive | undefined;
	/** Aborted where the client no longer waits. */
	readonly signal?: AbortSignal | undefined;
	/** Tells the client how far a long call is; absent where it did not ask. */
	readonly onProgress?: ((progress: CallProgress) => void) | undefined;
	/** Asks the client's own model; absent where it declares none. */
	readonly sampling?: CreateMessage | undefined;
	/** The same model where it is asked by somebody else, in another thread; absent where `sampling` asks it. */
	readonly clientModel?: Summariser | undefined;
	/** The model that the environment names; absent where it names none. */
	readonly endpoint?: Summariser | undefined;
	/** Loads the compaction strategy that the configuration names. */
	readonly loadStrategy?: LoadStrategy | undefined;
}

/** Under which an answer carries what is told beside its structured content; JSON passes over it. */
export const beside = Symbol("beside");

/** What is told beside the structured content. */
export interface Beside {
	/** Stands in the text block in place of the answer's JSON. */
	readonly text?: string;
	/** Further blocks, after the text. */
	readonly blocks?: readonly ContentBlock[];
}

/** What a tool answers with: its structured content, as a rule repeated as JSON in the text block. */
export type Answer = Readonly<Record<string, unknown>> & { readonly [beside]?: Beside };

/** A tool as data and a handler, so that a change of the SDK touches the binder alone. */
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
	/** Throws PalimpsestError for what the caller can mend. */
	readonly handle: (input: z.output<Input>, context: ToolContext) => Promise<Answer>;
}

/** Checks a tool's types against each other and forgets its input type, so that tools of all inputs fit one list. */
export function defineTool<Input extends z.ZodObject>(tool: Tool<Input>): Tool {
	return tool as unknown as Tool;
}

/** What is true of a tool that computes an answer and changes nothing anywhere. */
export const pureTool: ToolAnnotations = {
	readOnlyHint: true,
	destructiveHint: false,
	idempotentHint: true,
	openWorldHint: false,
};

/** What is true of a tool that writes a file where the caller names one, and may be told to write over another. */
export const fileWritingTool: ToolAnnotations = { ...pureTool, readOnlyHint: false, destructiveHint: true };
