import { PalimpsestError } from "../errors.ts";
import { type MaskReport, maskConversation } from "../pipeline/mask-conversation.ts";
import { readDocument } from "./read-document.ts";
import { type CommonOptions, configOf, printJson } from "./shell.ts";

/** The figures of seed 2's offline benchmark. Characters are UTF-16 code units; tokens are of the whole conversation. */
export interface ReplayFigures {
	readonly masked_tool_results: number;
	readonly tool_chars_before: number;
	readonly tool_chars_after: number;
	readonly tokens_before: number;
	readonly tokens_after: number;
}

/** The options of `palimpsest replay`. */
export interface ReplayOptions extends CommonOptions {
	readonly json?: boolean;
	/** Tool turns, in place of the policy's. */
	readonly windowTurns?: number;
}

/** `palimpsest replay FILE…`: prints what masking does to recorded conversations, file by file and in all. */
export async function replay(files: readonly string[], options: ReplayOptions): Promise<void> {
	const { policy: configured } = await configOf(options);
	const window_turns = options.windowTurns ?? configured.mask.window_turns;
	const policy = { ...configured, mask: { ...configured.mask, window_turns } };
	const rows: ({ file: string } & ReplayFigures)[] = [];
	for (const file of files) {
		const { value } = await readDocument(file, policy.limits.max_file_bytes);
		const { report, error } = await maskConversation({ conversation: value, policy }).catch(inFile(file));
		if (error) inFile(file)(error);
		rows.push({ file, ...figuresOf(report) });
	}
	const total = rows.reduce<ReplayFigures>(add, figuresOf(undefined));
	if (options.json) printJson({ ...total, files: rows }, 2);
	else process.stdout.write(table([...rows, { file: "total", ...total }]));
}

/** Names the file in an error, since there may be many. */
function inFile(file: string): (error: unknown) => never {
	return (error) => {
		if (!(error instanceof PalimpsestError)) throw error;
		throw new PalimpsestError(error.code, `${file}: ${error.message}`, { cause: error });
	};
}

function figuresOf(report: MaskReport | undefined): ReplayFigures {
	return {
		masked_tool_results: report?.masked_tool_results ?? 0,
		tool_chars_before: report?.tool_chars.before ?? 0,
		tool_chars_after: report?.tool_chars.after ?? 0,
		tokens_before: report?.tokens.before ?? 0,
		tokens_after: report?.tokens.after ?? 0,
	};
}

function add(a: ReplayFigures, b: ReplayFigures): ReplayFigures {
	return {
		masked_tool_results: a.masked_tool_results + b.masked_tool_results,
		tool_chars_before: a.tool_chars_before + b.tool_chars_before,
		tool_chars_after: a.tool_chars_after + b.tool_chars_after,
		tokens_before: a.tokens_before + b.tokens_before,
		tokens_after: a.tokens_after + b.tokens_after,
	};
}

function table(rows: readonly ({ file: string } & ReplayFigures)[]): string {
	const width = Math.max(...rows.map((row) => row.file.length));
	const lines = rows.map((row) => {
		const masked = String(row.masked_tool_results).padStart(6);
		const chars = `${row.tool_chars_before} → ${row.tool_chars_after}`.padStart(22);
		const tokens = `${row.tokens_before} → ${row.tokens_after}`.padStart(22);
		return `${row.file.padEnd(width)} ${masked} ${chars} ${tokens}`;
	});
	const header = `${"file".padEnd(width)} ${"masked".padStart(6)} ${"tool characters".padStart(22)} ${"tokens".padStart(22)}`;
	return `${[header, ...lines].join("\n")}\n`;
}
