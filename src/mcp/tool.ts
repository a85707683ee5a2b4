import type {
	CallToolResult,
	ProgressToken,
	ServerNotification,
	ToolAnnotations,
} from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { isJsonObject } from "../engine/conversation/json.ts";
import { checkPolicyLayer } from "../engine/policy/check.ts";
import { describeIssues } from "../engine/policy/errors.ts";
import { resolvePolicy } from "../engine/policy/layers.ts";
import { parseStrategyName } from "../engine/policy/names.ts";
import type { Policy, PolicyLayer } from "../engine/policy/schema.ts";
import { type ErrorCode, PalimpsestError } from "../errors.ts";
import type { CallEnd, CallReport, Log, OnCallEnd } from "../log.ts";
import type { LoadStrategy } from "../operations/compaction-request.ts";
import type { RetryProgress, Summariser, SummaryProgress } from "../operations/summariser/summariser.ts";
import type { Archive } from "../storage/archive/archive.ts";
import type { ArchiveSource } from "../storage/archive/open.ts";
import type { FileAccess, Spill } from "../storage/files/access.ts";
import { type Answer, toolError, toolResult } from "./answer.ts";
import { heldArguments, readArguments } from "./body.ts";

type Section = "media" | "thinking" | "mask" | "guard" | "truncate" | "compaction";

/** The JSON Schema costs every conversation tokens, so it only names sections. `callPolicy` checks values. */
export function policyInput(sections: readonly Section[]) {
	const named = ["preset", "locale", ...sections].join(", ");
	return z.looseObject({}).optional().describe(`Override ${named}; see policy://schema.`);
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
	/** The address of a proxy that runs on this machine. */
	readonly findProxy?: (() => Promise<string | undefined>) | undefined;
}

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

/** For a tool that only reads, the protocol gives the other hints no meaning. */
export const pureTool: ToolAnnotations = { readOnlyHint: true, openWorldHint: false };

/** Hints of a tool that may overwrite a file. */
export const fileWritingTool: ToolAnnotations = {
	readOnlyHint: false,
	destructiveHint: true,
	idempotentHint: true,
	openWorldHint: false,
};

// ---- Running a tool ----

export interface ToolOutcome {
	readonly result: CallToolResult;
	readonly code: ErrorCode | undefined;
	readonly report: CallReport | undefined;
	readonly bytes?: number;
	readonly isBusy?: boolean;
	/** Whether the call ends with questions to the client, which then calls again. */
	readonly isAsking?: boolean;
}

/** Never throws: bad input becomes a tool error with one of our codes; a defect is logged by name only. */
export async function runTool(call: {
	readonly tool: Tool;
	readonly arguments: unknown;
	readonly context: ToolContext;
	readonly archive?: Pick<ArchiveSource, "use"> | undefined;
	/** Stores parts of answers that are too large to send; absent if the client shares no files with this process. */
	readonly spill?: Spill | undefined;
}): Promise<ToolOutcome> {
	const { tool, context, spill } = call;
	try {
		const given = call.arguments instanceof Uint8Array ? readArguments(call.arguments) : call.arguments;
		const input = checkInput(tool, given);
		const answer = call.archive
			? await call.archive.use((archive) => tool.handle(input, { ...context, archive }))
			: await tool.handle(input, context);
		const text = () => callPolicy(context, input.policy).text;
		const result = await toolResult({ answer, spill, text, isStructured: tool.outputSchema !== undefined });
		return { result, code: undefined, report: callReport(answer.report ?? answer) };
	} catch (error) {
		return failedCall(error, { tool: tool.name, context });
	}
}

export function failedCall(
	error: unknown,
	call: { readonly tool: string; readonly context: ToolContext },
): ToolOutcome {
	const { tool, context } = call;
	const isKnown = error instanceof PalimpsestError;
	// A cancelled call may end by any error.
	if (!isKnown && !context.signal?.aborted) {
		const name = error instanceof Error ? error.name : typeof error;
		context.log({ level: "error", message: `${tool} failed`, data: { event: "defect", tool, error: name } });
	}
	return { result: toolError(error), code: isKnown ? error.code : "internal", report: undefined };
}

/** Refuse unknown arguments. Making one costs more than using it, and a process may make a server per request. */
const strictInputs = new WeakMap<Tool, z.ZodObject>();

function checkInput(tool: Tool, value: unknown): Record<string, unknown> {
	const strict = strictInputs.get(tool) ?? tool.inputSchema.strict();
	strictInputs.set(tool, strict);
	const parsed = strict.safeParse(withoutNulls(value ?? {}, tool.inputSchema.shape));
	if (parsed.success) return parsed.data;
	const known = Object.keys(tool.inputSchema.shape);
	const problems = describeIssues(parsed.error.issues, { root: value, known, what: "argument" });
	throw new PalimpsestError("invalid_argument", [`Invalid arguments of ${tool.name}:`, ...problems].join("\n- "));
}

/** Removes null arguments: OpenAI's strict mode makes a model write null for each unused one. */
function withoutNulls(value: unknown, known: Readonly<Record<string, unknown>>): unknown {
	if (!isJsonObject(value) || !Object.values(value).includes(null)) return value;
	const given = Object.entries(value).filter(([name, one]) => one !== null || !Object.hasOwn(known, name));
	return Object.fromEntries(given);
}

function callReport(report: unknown): CallReport | undefined {
	if (!isJsonObject(report)) return undefined;
	const counts = Object.entries(report).flatMap(([name, value]) => {
		const count = countOf(value);
		return count === undefined ? [] : [[name, count] as const];
	});
	return Object.fromEntries(counts);
}

function countOf(value: unknown): CallReport[string] | undefined {
	if (typeof value === "number" || typeof value === "boolean") return value;
	if (Array.isArray(value)) return value.length;
	const { before, after } = isJsonObject(value) ? value : {};
	return typeof before === "number" && typeof after === "number" ? { before, after } : undefined;
}

export function callRecorder(
	{ principal, onCallEnd }: { readonly principal?: string | undefined; readonly onCallEnd?: OnCallEnd | undefined },
	call: Pick<CallEnd, "tool" | "request" | "session"> & {
		readonly arguments: Readonly<Record<string, unknown>> | undefined;
		readonly signal: AbortSignal;
	},
): (outcome: ToolOutcome) => void {
	if (!onCallEnd) return () => undefined;
	const { arguments: given = {}, signal, ...names } = call;
	const began = performance.now();
	// Before another thread takes the bytes.
	let bytesIn = heldArguments(given)?.byteLength;
	return ({ code, report, result, bytes, isBusy, isAsking }) => {
		const answered = isBusy ? "busy" : code === undefined ? "ok" : "error";
		const stopped = isAsking ? "input_required" : signal.aborted ? "cancelled" : undefined;
		const end = stopped ? ({ outcome: stopped } as const) : ({ outcome: answered, code } as const);
		let bytesOut = signal.aborted ? 0 : bytes;
		try {
			onCallEnd({
				...names,
				...end,
				principal,
				milliseconds: performance.now() - began,
				get bytesIn() {
					bytesIn ??= jsonBytes(given);
					return bytesIn;
				},
				get bytesOut() {
					bytesOut ??= jsonBytes(result);
					return bytesOut;
				},
				report,
			});
		} catch {
			// A failing log must not fail the call.
		}
	};
}

/** 0 if the value is nested too deep to be written. */
function jsonBytes(value: unknown): number {
	try {
		return Buffer.byteLength(JSON.stringify(value));
	} catch {
		return 0;
	}
}

// ---- Progress ----

type CallProgress = SummaryProgress | WorkProgress;

export interface WorkProgress {
	readonly kind: "work";
	readonly phase: "waiting_for_its_turn" | "working";
	readonly elapsed: number;
}

/** Reports steps and retries by MCP progress, in seconds (docs/compaction.md#retries). */
export function callProgress(call: {
	readonly progressToken: ProgressToken | undefined;
	readonly sendNotification: (notification: ServerNotification) => Promise<void>;
}): ((progress: CallProgress) => void) | undefined {
	const { progressToken, sendNotification } = call;
	if (progressToken === undefined) return undefined;
	let last = 0;
	return (told) => {
		// The protocol requires each number to be larger than the one before.
		const next = Math.max(last + 0.001, told.kind === "retry" ? last : told.elapsed);
		last = Math.round(next * 1_000) / 1_000;
		const params = {
			progressToken,
			progress: last,
			...(told.kind === "retry" ? describeRetry(told) : { message: told.phase.replaceAll("_", " ") }),
		};
		sendNotification({ method: "notifications/progress", params }).catch(() => undefined);
	};
}

function describeRetry({ attempt, max_retries, delay, code, status_code }: RetryProgress) {
	const status = status_code === undefined ? "" : ` ${status_code}`;
	return {
		message: `retry ${attempt} of ${max_retries} in ${delay} s (${code}${status})`,
		_meta: { "palimpsest/retry": { attempt, max_retries, delay } },
	};
}
