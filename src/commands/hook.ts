import { parseArgs } from "node:util";
import { PalimpsestError } from "../errors.ts";
import { type HookShell, isOwnResult, usualHookChars } from "../hosts/hook-answers.ts";
import type { CommandHookHost } from "../hosts/host.ts";
import { commandHookHosts } from "../hosts/hosts.ts";
import { ownCommandLine } from "../hosts/own-command.ts";

// A host waits for its hooks after every tool call, so this file loads only the code for a small result.

/** After this time the result passes unchanged. */
const timeLimitMs = 8_000;
/** An event that says that a session has started has a few paths in it. */
const mostStartBytes = 64 * 1024;
const mostEventBytes = 64 * 1024 * 1024;
const optionNames = ["max-chars", "policy", "archive", "namespace", "locale"] as const;

/** Unchecked: a mistake in a host's settings must not fail the host. */
type HookOptions = Readonly<Partial<Record<(typeof optionNames)[number], string | boolean>>>;

/** Returns `false` for any other command line. A host shows errors of usage to the model, so no option fails a hook. */
export async function answerHookCall(parameters: readonly string[]): Promise<boolean> {
	const [command, name = "", ...args] = parameters;
	if (command !== "hook" || args.includes("--help") || args.includes("-h")) return false;
	const host = commandHookHosts.find((one) => one.name === name);
	if (host === undefined) return false;
	const options = Object.fromEntries(optionNames.map((option) => [option, { type: "string" as const }]));
	const { values, tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
	const unknown = tokens.find((token) => token.kind !== "option" || !Object.hasOwn(options, token.name));
	const problem = unknown && (unknown.kind === "option" ? unknown.rawName : "an argument");
	await answerHook(host, values, problem);
	return true;
}

/** After any error the result passes unchanged: no answer, one line on standard error, exit code 0. */
async function answerHook(host: CommandHookHost, values: HookOptions, unknown: string | undefined): Promise<void> {
	const { answerStart, noAnswer = "" } = host;
	const late = setTimeout(() => {
		process.stderr.write("palimpsest: result left unedited: the hook took too long\n");
		process.stdout.write(noAnswer, () => process.exit(0));
	}, timeLimitMs);
	// The host closed the pipe, or we have a defect: neither may fail the host.
	process.on("uncaughtException", () => process.exit(0));
	let answer: string | undefined;
	try {
		if (unknown !== undefined) {
			throw new PalimpsestError("invalid_argument", `Expected options of palimpsest hook; got ${unknown}.`);
		}
		const mostChars = readMaxChars(values);
		const input = await readEvent();
		// Claude Code's mod says `masked` where people's words are still in view.
		const mod = host.name === "claude-code" ? process.env.PALIMPSEST_MOD : undefined;
		if (answerStart && mod !== "masked" && input.length <= mostStartBytes && input.includes('"SessionStart"'))
			answer = await answeredStart({ host, answerStart, input: input.toString("utf8"), values });
		// Most events are small, and then nothing more is loaded. A character takes a byte or more.
		if (input.length > mostChars && !mod)
			answer ??= await shortened({ host, input: input.toString("utf8"), mostChars, values });
	} catch (error) {
		process.stderr.write(`palimpsest: result left unedited: ${describeError(error)}\n`);
	}
	clearTimeout(late);
	process.stdout.write(answer ?? noAnswer);
}

/** `undefined` if the result stays. Loads policy and archive only if needed. */
async function shortened(what: {
	readonly host: CommandHookHost;
	readonly input: string;
	readonly mostChars: number;
	readonly values: HookOptions;
}): Promise<string | undefined> {
	const { host, input, mostChars, values } = what;
	const chars = { before: 0, after: 0 };
	let opening: Promise<HookShell> | undefined;
	const load = async () => {
		opening ??= openShell(host, values);
		return { shell: await opening, ...(await import("../hosts/shorten-result.ts")) };
	};
	try {
		const event = host.read(input);
		if (event === undefined || isOwnResult(event)) return undefined;
		const context = async () => {
			const { shell, hookContext } = await load();
			return hookContext({ event, ...shell });
		};
		const answered = await host.answer(event, {
			mostChars,
			shorten: async (text, most, isCut) => {
				const shorter = text.length <= most ? undefined : await (await context()).shorten(text, most, isCut);
				chars.before += text.length;
				chars.after += (shorter ?? text).length;
				return shorter;
			},
			wordings: async () => (await context()).wordings(),
		});
		return answered && `${JSON.stringify(answered)}\n`;
	} finally {
		const shell = await opening?.catch(() => undefined);
		if (shell && chars.after < chars.before) await keepFigure(host, shell, chars);
		await shell?.archive?.close();
	}
}

async function keepFigure(
	{ name: program }: CommandHookHost,
	{ policy: { figures: keep } }: HookShell,
	{ before, after }: { readonly before: number; readonly after: number },
): Promise<void> {
	const { openFigures } = await import("../storage/figures/store.ts");
	const kept = openFigures({ keep, program, projectFolder: process.cwd() });
	kept.add({ kind: "result", by: "hook", chars_before: before, chars_after: after });
}

/** `undefined` if the host has not compacted. */
async function answeredStart(what: {
	readonly host: CommandHookHost;
	readonly answerStart: NonNullable<CommandHookHost["answerStart"]>;
	readonly input: string;
	readonly values: HookOptions;
}): Promise<string | undefined> {
	const { host, answerStart, input, values } = what;
	const event = JSON.parse(input) as { hook_event_name?: unknown };
	if (event?.hook_event_name !== "SessionStart") return undefined;
	const shell = await openShell(host, values);
	try {
		const answer = await answerStart(event, shell);
		return answer && `${JSON.stringify(answer)}\n`;
	} finally {
		await shell.archive?.close();
	}
}

async function openShell(
	{ name: host }: CommandHookHost,
	{ policy, locale, archive, namespace }: HookOptions,
): Promise<HookShell> {
	const [{ hookPolicy }, { archiveLocation }, { openArchiveOfPolicy }] = await Promise.all([
		import("../hosts/shorten-result.ts"),
		import("../storage/archive/open.ts"),
		import("../storage/archive/open.ts"),
	]);
	const warn = (line: string) => void process.stderr.write(`palimpsest: ${line}\n`);
	const named = { policyFile: asText(policy), locale: asText(locale), host, warn };
	const inForce = await hookPolicy(named);
	const where = { archive: asText(archive), namespace: asText(namespace), environment: process.env };
	const opened = await openArchiveOfPolicy(archiveLocation(where), inForce.policy);
	return { ...inForce, command: ownCommandLine(), archive: opened };
}

function asText(value: string | boolean | undefined): string | undefined {
	return typeof value === "string" ? value : undefined;
}

/** Errors of other code may quote the result. */
function describeError(error: unknown): string {
	if (error instanceof PalimpsestError) return error.message.replace(/\s+/g, " ");
	if (error instanceof SyntaxError) return "the event is not valid JSON.";
	return error instanceof Error ? error.name : "for an unknown reason";
}

function readMaxChars({ "max-chars": given }: HookOptions): number {
	const most = given === undefined ? usualHookChars : typeof given === "string" ? Number(given) : Number.NaN;
	if (Number.isSafeInteger(most) && most > 0) return most;
	throw new PalimpsestError("invalid_argument", "Expected --max-chars to be a whole number above 0.");
}

async function readEvent(): Promise<Buffer> {
	const pieces: Buffer[] = [];
	let bytes = 0;
	for await (const piece of process.stdin) {
		bytes += piece.length;
		if (bytes > mostEventBytes) throw new PalimpsestError("payload_too_large", "The event is over 64 MiB.");
		pieces.push(piece);
	}
	return Buffer.concat(pieces);
}
