import type { ContentBlock, ToolAnnotations } from "@modelcontextprotocol/sdk/types.js";
import type { z } from "zod";
import type { Archive } from "../archive/archive.ts";
import type { FileAccess } from "../files/file-access.ts";
import type { LoadStrategy } from "../pipeline/compaction/strategy-of-call.ts";
import type { Log } from "../pipeline/log-event.ts";
import type { PolicyLayer } from "../policy/schema.ts";
import type { Summariser } from "../summariser/summariser.ts";
import type { CallProgress } from "./call-progress.ts";
import type { CreateMessage } from "./client-sampling.ts";

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
