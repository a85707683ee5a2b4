import { resultText, type ToolResult } from "./transcript.ts";
import { endsInFailure, endsWithTraceback, isErrorMessage, isReadRefusal, isRefusal } from "./use/error-lines.ts";
import { exitCodeIn } from "./use/exit-code.ts";
import type { CallTarget } from "./use/target.ts";

/** What shows that a result is an error, in the order in which it is looked for. */
export type StructuralErrorRule =
	| "flag"
	| "exit_code"
	| "error_tag"
	| "json_error"
	| "error_message"
	| "traceback"
	| "failed_run";

/** What is judged. */
export interface StructuralErrorParameters {
	readonly result: Pick<ToolResult, "texts" | "isError">;
	/** What the result's call reads or runs, by `callTarget`; `undefined` for an orphan. */
	readonly target?: CallTarget | undefined;
}

/** Longest text that is read as JSON, in characters. */
const longestJson = 100_000;
/** Of a text in colours this much is looked at, from its end, in characters. */
const longestColoured = 20_000;
const colourStart = `${String.fromCharCode(27)}[`;
const colour = new RegExp(`${String.fromCharCode(27)}\\[[\\d;]{0,20}[A-Za-z]`, "g");
/** Beginnings and ends that agent programs put around an output. */
const wrappings = {
	before: /^\s{0,20}(?:<(?:observation|output|result|stdout|stderr|system)>|Wall time: [^\n]{1,60}\nOutput:\n)\s{0,20}/,
	behind: /\s{0,20}<\/(?:observation|output|result|stdout|stderr|system)>\s{0,20}$/,
} as const;

/**
 * The rule by which a result is an error, or `undefined`. Where the format flags errors, or the agent program tells the
 * exit code, that decides. Else the text is judged by what kind of call gave it: what was read, listed or searched is
 * content, in which words of errors mean nothing, unless it is a short message in the place of content; what was run is
 * judged by its end. Looks at both ends of a text only.
 */
export function structuralError({ result, target }: StructuralErrorParameters): StructuralErrorRule | undefined {
	if (result.isError === true) return "flag";
	const text = resultText(result as ToolResult);
	const rule = errorInText(text, target);
	return result.isError === false && rule !== "exit_code" ? undefined : rule;
}

/** The same by the text alone, as if the format had no flag. */
export function errorInText(whole: string, target?: CallTarget): Exclude<StructuralErrorRule, "flag"> | undefined {
	const code = exitCodeIn(whole);
	if (code !== undefined) return code === 0 ? undefined : "exit_code";
	const text = unwrap(whole);
	if (/^<(?:tool_use_error|error|tool_error)>/.test(text)) return "error_tag";
	const kind = target?.kind ?? "other";
	if (kind === "search" || kind === "list") return isRefusal(text) ? "error_message" : undefined;
	if (kind === "other" && isJsonError(text)) return "json_error";
	if (kind === "read" ? isReadRefusal(text) : isErrorMessage(text)) return "error_message";
	// A refused edit may go on to show the file.
	if (kind === "write" && /^Error: /.test(text)) return "error_message";
	if (kind === "read" || kind === "write") return undefined;
	if (endsWithTraceback(text)) return "traceback";
	return kind === "run" && endsInFailure(text) ? "failed_run" : undefined;
}

/** A text without what the agent program put around it. */
function unwrap(text: string): string {
	const head = text.slice(0, 200);
	const start = wrappings.before.exec(head)?.[0].length ?? 0;
	let end = text.length - (wrappings.behind.exec(text.slice(-200))?.[0].length ?? 0);
	// Claude Code hands its model a reminder behind an output.
	const reminder = text.slice(0, end).trimEnd().endsWith("</system-reminder>")
		? text.lastIndexOf("<system-reminder>")
		: -1;
	if (reminder > start) end = reminder;
	const inner = text.slice(start, Math.max(start, end)).trim();
	return inner.includes(colourStart) ? inner.slice(-longestColoured).replace(colour, "") : inner;
}

/** Whether an answer in JSON says that it is an error: a key `error`, a failed `status`, an HTTP status of 400 or more. */
function isJsonError(text: string): boolean {
	if (!text.startsWith("{") || text.length > longestJson) return false;
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch {
		return false;
	}
	const { error, isError, is_error, success, ok, status, statusCode, status_code } = value as Record<string, unknown>;
	if (error || isError === true || is_error === true || success === false || ok === false) return true;
	if (typeof status === "string" && /^(?:error|failed|failure)$/i.test(status)) return true;
	return [status, statusCode, status_code].some((one) => Number(one) >= 400 && Number(one) < 600);
}
