import { resolve } from "node:path";
import type { Policy } from "../engine/policy/schema.ts";
import { PalimpsestError } from "../errors.ts";
import { readConversation } from "../formats/detect.ts";
import type { Format } from "../formats/format.ts";
import { writeEdits } from "../formats/json-text/edit.ts";
import { readTextDocument, type TextDocument } from "../formats/json-text/read.ts";
import { modelOfSession } from "../formats/model.ts";
import { shellWord } from "../hosts/own-command.ts";
import { copySession, requireSession, type SessionCopy } from "../hosts/session-copy.ts";
import { continuousPolicy } from "../operations/config/config.ts";
import { countingWords } from "../operations/count.ts";
import type { EditRecord } from "../operations/edit-record.ts";
import { shortfallWords } from "../operations/guard.ts";
import { listPrunable, type PrunableResult, pruneConversation } from "../operations/prune.ts";
import { rescueConversation } from "../operations/rescue.ts";
import { decodeText, fileProblem, readRegularFile, writeNewFile } from "../storage/files/access.ts";
import {
	type ArchiveCommandOptions,
	commandConfig,
	inputName,
	logToStderr,
	readSessionDocument,
	say,
	show,
	sourceOf,
	type WindowOptions,
	withArchive,
} from "./input-output.ts";
import { exitCodes, refuseUsage } from "./usage.ts";

interface SessionOptions extends ArchiveCommandOptions {
	readonly dryRun?: boolean;
}

/** `palimpsest rescue FILE`. Nothing is written if it cannot be made to fit; the exit code is then 3. */
export async function rescue(
	file: string,
	options: SessionOptions & Pick<WindowOptions, "model" | "contextWindow"> & { readonly target: number },
): Promise<void> {
	const policy = continuousPolicy(await commandConfig(options));
	const { document, source } = await readSession(file, policy);
	const { model, contextWindow, target, dryRun = false } = options;
	const { edits, report, error } = await withArchive(options, policy, (archive) =>
		rescueConversation({
			...sourceOf(document, dryRun ? undefined : archive),
			policy,
			model,
			contextWindow,
			target,
			log: logToStderr(() => policy.log_level),
		}),
	);
	if (error) throw error;
	const { tokens, budget_tokens: budget, context_window: window, steps } = report;
	const taken = steps.map(({ step, count }) => `${words[step]} ${count}`).join(", ");
	const how = `(${countingWords(report)})`;
	const sizes = `${tokens.before} → ${tokens.after} tokens of a window of ${window} ${how}`;
	if (!report.fits) {
		process.exitCode = exitCodes.doesNotFit;
		const over = `${shortfallWords(report)} ${budget}`;
		return say(`${over}: ${sizes}; nothing was written. A larger --target or --context-window may help.`);
	}
	if (!report.changed) return say(`has room already: ${tokens.before} tokens of ${budget} ${how}; nothing was written`);
	const { format } = source;
	await writeSession({ file, document, edits, format, tokens: tokens.after, dryRun, policy });
	say(`${taken}: ${sizes}`);
}

const words = {
	repeats: "results without lines in view:",
	truncate: "results truncated:",
	mask: "results masked:",
	drop: "messages dropped:",
} as const;

interface PruneOptions extends SessionOptions {
	readonly biggest?: number;
	readonly stale?: boolean;
	readonly tool?: readonly string[];
}

/** `palimpsest prune FILE`. Asks in a terminal; without one, or with options, the options choose the results. */
export async function prune(file: string, options: PruneOptions): Promise<void> {
	const asks = options.biggest === undefined && !options.stale && options.tool === undefined;
	if (asks && !(process.stdin.isTTY && process.stderr.isTTY)) {
		refuseUsage("expected --biggest, --stale or --tool, since there is no terminal to ask in");
	}
	const policy = continuousPolicy(await commandConfig(options));
	const { document, source } = await readSession(file, policy);
	await withArchive(options, policy, async (archive) => {
		const request = {
			...sourceOf(document, options.dryRun ? undefined : archive),
			policy,
			model: modelOfSession(source),
			log: logToStderr(() => policy.log_level),
		};
		const results = await listPrunable(request);
		const chosen = asks ? await choose(results) : results.filter(chosenBy(options, results));
		if (chosen.length === 0) return say("nothing was chosen, so nothing was written");
		if (options.dryRun) show(`${chosen.map(lineOf).join("\n")}\n`);
		const places = chosen.map(({ place }) => place);
		const { edits, report, error } = await pruneConversation({ ...request, places });
		if (error) throw error;
		const { tokens, economics } = report;
		const { format } = source;
		const dryRun = options.dryRun ?? false;
		await writeSession({ file, document, edits, format, tokens: tokens.after, dryRun, policy });
		const sizes = `${tokens.before} → ${tokens.after} tokens (${countingWords(report)})`;
		say(`results taken out: ${chosen.length}; ${sizes}; ${costOf(economics)}`);
	});
}

/** Any of the options may choose a result. */
function chosenBy(
	{ biggest = 0, stale = false, tool = [] }: PruneOptions,
	results: readonly PrunableResult[],
): (result: PrunableResult) => boolean {
	const largest = new Set(results.slice(0, biggest));
	return (one) => largest.has(one) || (stale && one.stale) || (one.tool !== null && tool.includes(one.tool));
}

const mostListed = 100;

async function choose(results: readonly PrunableResult[]): Promise<readonly PrunableResult[]> {
	if (results.length === 0) return [];
	const { isCancel, multiselect } = await import("@clack/prompts");
	const listed = results.slice(0, mostListed);
	const answer = await multiselect<PrunableResult>({
		message: "Which results should be removed? Space marks one, Enter removes them.",
		options: listed.map((one) => ({ value: one, label: lineOf(one) })),
		required: false,
		maxItems: 20,
		output: process.stderr,
	});
	return isCancel(answer) ? [] : answer;
}

/** Such as `frees 12 034 · rewrites 40 210 · 9 turns ago · reread · read_file src/a.ts`. */
function lineOf(one: PrunableResult): string {
	const { frees, rewrites, age_turns: age, stale, tool, target } = one;
	const of = [tool ?? "a tool without a name", ...(target === null ? [] : [target])].join(" ");
	const parts = [
		`frees ${grouped(frees)}`,
		`rewrites ${grouped(rewrites)}`,
		age === 1 ? "1 turn ago" : `${age} turns ago`,
		...(stale ? ["stale"] : []),
	];
	return [...parts, of].join(" · ");
}

function costOf({
	rewritten_tokens: rewritten,
	calls_to_break_even: calls,
}: {
	readonly rewritten_tokens: number;
	readonly calls_to_break_even: number | null;
}): string {
	const worth = calls === null ? "" : calls === 0 ? ", which pays at once" : `, which pays from call ${calls} on`;
	return `the next call writes ${grouped(rewritten)} tokens to the provider's cache again${worth}`;
}

function grouped(count: number): string {
	return String(count).replace(/\B(?=(\d{3})+$)/g, " ");
}

/** Reads a session that can be resumed. Throws PalimpsestError `invalid_argument` for any other conversation. */
async function readSession(file: string, policy: Policy) {
	if (file === "-") {
		const message = "Expected a session file, not standard input: the new session is written next to the file.";
		throw new PalimpsestError("invalid_argument", message);
	}
	const document = await readSessionDocument(file, policy.limits.max_file_bytes);
	const source = readConversation(document.value, policy.mask.observations);
	requireSession(source.format, document.value);
	return { document, source };
}

/** Writes an edited session under a new id next to its file, reads it again, and prints the command that resumes it. */
async function writeSession(session: {
	readonly file: string;
	readonly document: TextDocument;
	readonly edits: readonly EditRecord[];
	readonly format: Format;
	readonly tokens: number;
	readonly dryRun: boolean;
	readonly policy: Policy;
}): Promise<void> {
	const { file, document, edits, format, tokens, dryRun, policy } = session;
	const edited = readTextDocument(writeEdits(document, edits).text, inputName(file));
	const copy = copySession({ format, document: edited, file: resolve(file), tokens });
	if (dryRun) return say(`would write ${copy.file}`);
	check(copy.text, edited, session);
	try {
		await writeNewFile({ file: copy.file, text: copy.text, overwrite: false });
	} catch (cause) {
		if (cause instanceof PalimpsestError) throw cause;
		throw new PalimpsestError("unwritable_file", `Cannot write ${copy.file}: ${fileProblem(cause)}.`, { cause });
	}
	const written = decodeText(await readRegularFile(copy.file, policy.limits.max_file_bytes), copy.file);
	if (written !== copy.text) {
		throw new PalimpsestError(
			"unwritable_file",
			`${copy.file} does not contain the written session; the disk may be full or faulty.`,
		);
	}
	say(`wrote ${copy.file}; ${file} is unchanged`);
	show(`${commandOf(copy)}\n`);
}

/** The copy is the edited conversation: the same messages, calls and results. */
function check(
	text: string,
	edited: TextDocument,
	{ format, policy }: { readonly format: Format; readonly policy: Policy },
) {
	const [before, after] = [edited, readTextDocument(text, "the new session")].map(({ value }) =>
		readConversation(value, policy.mask.observations),
	);
	const shape = (read: typeof before) =>
		read?.transcript.messages.map(({ role, sent, calls, results, counted }) => [
			role,
			sent,
			calls.length,
			results.length,
			counted.length,
		]);
	if (after?.format === format && JSON.stringify(shape(before)) === JSON.stringify(shape(after))) return;
	throw new PalimpsestError(
		"broken_promise",
		"The new session would differ from the edited conversation, so nothing was written. Please report this.",
	);
}

function commandOf({ folder, command }: SessionCopy): string {
	return folder === undefined || folder === process.cwd() ? command : `cd ${shellWord(folder)} && ${command}`;
}
