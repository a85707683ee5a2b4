import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { z } from "zod";
import { type ErrorCode, PalimpsestError } from "../errors.ts";
import type { Spill } from "../files/spill.ts";
import { describeIssues } from "../policy/errors.ts";
import type { CallReport } from "./call-end.ts";
import { callReport } from "./call-report.ts";
import { policyOfCall } from "./policy-input.ts";
import { toolError, toolResult } from "./result.ts";
import type { Answer, Tool, ToolContext } from "./tool.ts";

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
