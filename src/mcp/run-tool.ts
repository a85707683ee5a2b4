import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { z } from "zod";
import { type ErrorCode, PalimpsestError } from "../errors.ts";
import type { Spill } from "../files/access.ts";
import type { CompactRequest, SummarySource } from "../operations/compaction-request.ts";
import { describeIssues } from "../policy/errors.ts";
import type { BuiltInStrategy } from "../policy/names.ts";
import type { Policy } from "../policy/schema.ts";
import { toolError, toolResult } from "./answer.ts";
import { heldArguments } from "./pool/arguments.ts";
import { type Answer, policyOfCall, type Tool, type ToolContext } from "./tool.ts";

/**
 * How a call compacts: by which strategy, and who is asked for a summary.
 *
 * @throws PalimpsestError `invalid_policy` where an external strategy cannot be loaded.
 */
export async function compactionOfCall(
	context: ToolContext,
	given: {
		readonly policy: Policy;
		readonly named?: BuiltInStrategy | undefined;
		/** The caller's own summary, where it brings one. */
		readonly summary?: Extract<SummarySource, { kind: "given" }> | undefined;
	},
): Promise<Pick<CompactRequest, "strategy" | "answer">> {
	const { policy, named, summary } = given;
	const { loadStrategy: load, log, signal } = context;
	const { strategyOfCall } = await import("../operations/compact-by-strategy.ts");
	const answer = summary ?? (await summarySourceOfCall(context, policy));
	return { answer, strategy: await strategyOfCall({ named, policy, load, answer, log, signal }) };
}

/** A call that begins. */
interface BegunCall {
	readonly tool: string;
	readonly arguments: Readonly<Record<string, unknown>> | undefined;
	readonly signal: AbortSignal;
	readonly request: string | number;
	readonly session: string | undefined;
}

/** What came of it; what is absent is found out. */
type EndedCall = ToolOutcome & { readonly bytes?: number; readonly isBusy?: boolean };

/**
 * Makes the function that takes note of a call's end. Sizes are measured when somebody asks for them: of a large call,
 * writing the arguments once more takes as long as reading them did.
 */
export function noteOfCall(
	{ principal, onCallEnd }: { readonly principal?: string | undefined; readonly onCallEnd?: OnCallEnd | undefined },
	{ tool, arguments: given, signal, request, session }: BegunCall,
): (outcome: EndedCall) => void {
	if (!onCallEnd) return () => undefined;
	const began = performance.now();
	// Bytes that are held are gone once the call is in another thread.
	const bytesHeld = heldArguments(given)?.byteLength;
	const bytesIn = once(() => bytesHeld ?? bytesOfJson(given ?? {}));
	return (outcome) => {
		const { code, report, result, bytes, isBusy = false } = outcome;
		const isCancelled = signal.aborted;
		const kind = isCancelled ? "cancelled" : isBusy ? "busy" : code === undefined ? "ok" : "error";
		const bytesOut = once(() => (isCancelled ? 0 : bytes || bytesOfJson(result)));
		const end: CallEnd = {
			tool,
			request,
			session,
			principal,
			outcome: kind,
			// What the end of a call that nobody waits for threw says nothing.
			code: isCancelled ? undefined : code,
			milliseconds: performance.now() - began,
			get bytesIn() {
				return bytesIn();
			},
			get bytesOut() {
				return bytesOut();
			},
			report,
		};
		try {
			onCallEnd(end);
		} catch {
			// Nobody's call fails for the sake of a note.
		}
	};
}

function once(find: () => number): () => number {
	let found: number | undefined;
	return () => {
		found ??= find();
		return found;
	};
}

/** 0 where it is nested too deep to be written. */
function bytesOfJson(value: unknown): number {
	try {
		return Buffer.byteLength(JSON.stringify(value));
	} catch {
		return 0;
	}
}

/** What came of a call. */
export interface ToolOutcome {
	readonly result: CallToolResult;
	/** The code of the error that the result tells; `undefined` where the call went well. */
	readonly code: ErrorCode | undefined;
	readonly report: CallReport | undefined;
}

/** A call of a tool. */
export interface ToolRun {
	readonly tool: Tool;
	/** Unchecked. */
	readonly arguments: unknown;
	readonly context: ToolContext;
	/** Runs the tool's handler, with the archive added to the context where there is one. */
	readonly handle?: ((work: (context: ToolContext) => Promise<Answer>) => Promise<Answer>) | undefined;
	/** Takes answers that are too large to send; absent where the client shares no files with this process. */
	readonly spill?: Spill | undefined;
}

/**
 * Checks a call's arguments, runs the tool and makes its result. Never throws: bad input is answered as a tool error with
 * one of our codes, and a defect is logged by name and described to nobody.
 */
export async function runTool({ tool, context, handle, spill, ...call }: ToolRun): Promise<ToolOutcome> {
	try {
		const input = checkInput(tool, call.arguments);
		const work = (given: ToolContext) => tool.handle(input, given);
		const answer = handle ? await handle(work) : await work(context);
		const result = await toolResult({ answer, spill, text: () => policyOfCall(context, input.policy).text });
		return { result, code: undefined, report: callReport(answer.report ?? answer) };
	} catch (error) {
		return failedCall(error, { tool: tool.name, context });
	}
}

/** What is answered to a call that failed. */
export function failedCall(
	error: unknown,
	{ tool, context }: { readonly tool: string; readonly context: Pick<ToolContext, "log" | "signal"> },
): ToolOutcome {
	const isKnown = error instanceof PalimpsestError;
	// What ends a call that nobody waits for any more is no defect.
	if (!isKnown && !context.signal?.aborted) {
		const name = error instanceof Error ? error.name : typeof error;
		context.log({ level: "error", message: `${tool} failed`, data: { event: "defect", tool, error: name } });
	}
	return { result: toolError(error), code: isKnown ? error.code : "internal", report: undefined };
}

/** Schemas that refuse unknown arguments, which cost more to make than to use; a process may make a server for each request. */
const strictInputs = new WeakMap<Tool, z.ZodObject>();

function checkInput(tool: Tool, value: unknown): Record<string, unknown> {
	const strict = strictInputs.get(tool) ?? tool.inputSchema.strict();
	strictInputs.set(tool, strict);
	const parsed = strict.safeParse(withoutNulls(value ?? {}, tool.inputSchema.shape));
	if (parsed.success) return parsed.data;
	const known = Object.keys(tool.inputSchema.shape);
	const problems = describeIssues(parsed.error.issues, { root: value, known, what: "argument" });
	const lines = problems.map((problem) => `- ${problem}`).join("\n");
	throw new PalimpsestError("invalid_argument", `Invalid arguments of ${tool.name}:\n${lines}`);
}

/** Without what a caller left out: OpenAI's strict mode has a model write null for each argument that it does not need. */
function withoutNulls(value: unknown, known: Readonly<Record<string, unknown>>): unknown {
	if (typeof value !== "object" || value === null || !Object.values(value).includes(null)) return value;
	return Object.fromEntries(
		Object.entries(value).filter(([name, given]) => given !== null || !Object.hasOwn(known, name)),
	);
}

/** What of a tool's report counts something: its numbers and flags, how long its lists are, what was before and is after. */
export function callReport(report: unknown): CallReport | undefined {
	if (typeof report !== "object" || report === null) return undefined;
	const counts: Record<string, number | boolean | BeforeAndAfter> = {};
	for (const [name, value] of Object.entries(report) as [string, unknown][]) {
		const count = countOf(value);
		if (count !== undefined) counts[name] = count;
	}
	return counts;
}

function countOf(value: unknown): number | boolean | BeforeAndAfter | undefined {
	if (typeof value === "number" || typeof value === "boolean") return value;
	if (Array.isArray(value)) return value.length;
	const { before, after } = (value ?? {}) as { readonly before?: unknown; readonly after?: unknown };
	return typeof before === "number" && typeof after === "number" ? { before, after } : undefined;
}

/**
 * How a call ended.
 *
 * - `ok`: answered with a result.
 * - `error`: answered with an error of the tool.
 * - `cancelled`: nobody waits for it any more: cancelled, past its time, or its client gone.
 * - `busy`: not begun, since too many others wait.
 */
export type CallOutcome = "ok" | "error" | "cancelled" | "busy";

/** What a call of a tool was, once it has ended. It tells names and sizes, never conversation text. */
export interface CallEnd {
	readonly tool: string;
	/** The id that the client gave the request. */
	readonly request?: string | number | undefined;
	/** The id of the session that it came in: who knows it can go on with the session. */
	readonly session?: string | undefined;
	/** Who called; absent where callers are not told apart. */
	readonly principal?: string | undefined;
	readonly outcome: CallOutcome;
	/** The code of the error that was answered. */
	readonly code?: ErrorCode | undefined;
	/** From when the call came in whole until its answer was made, waiting included. */
	readonly milliseconds: number;
	/** Bytes of the call's arguments as JSON; measured when they are read first, which takes as long as writing it. */
	readonly bytesIn: number;
	/** Bytes of the answer as JSON, measured likewise; 0 where there is none. */
	readonly bytesOut: number;
	/** The numbers of the tool's report, where it gives one. */
	readonly report?: CallReport | undefined;
}

/** What of a report is a number or a flag, how many items its lists have, and how much there was before and is after. */
export type CallReport = Readonly<Record<string, number | boolean | BeforeAndAfter>>;

/** Such as the tokens of a conversation. */
export interface BeforeAndAfter {
	readonly before: number;
	readonly after: number;
}

/** Takes note of a call that has ended. What it throws ends nothing. */
export type OnCallEnd = (end: CallEnd) => void;

/** Who answers a request for a summary: the first of those that the policy names which is there. */
export async function summarySourceOfCall(context: ToolContext, policy: Policy): Promise<SummarySource> {
	const { sampling, clientModel, endpoint } = context;
	for (const way of policy.compaction.answered_by) {
		if (way === "sampling" && clientModel) return { kind: "summariser", summariser: clientModel };
		if (way === "sampling" && sampling) {
			const { createSamplingSummariser } = await import("../summariser/sampling.ts");
			return { kind: "summariser", summariser: createSamplingSummariser({ createMessage: sampling }) };
		}
		if (way === "openai-compatible" && endpoint) return { kind: "summariser", summariser: endpoint };
		if (way === "caller" || way === "none") return { kind: way };
	}
	return { kind: "caller" };
}
