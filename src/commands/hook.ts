import { homedir } from "node:os";
import { parseArgs } from "node:util";
import { PalimpsestError } from "../errors.ts";
import {
	answerHook,
	enterHook,
	type HookHost,
	type HookTarget,
	hookHosts,
	hookTarget,
	type InstallHost,
	removeHook,
} from "../hosts/hooks.ts";
import { opencodePlugin } from "../hosts/opencode.ts";
import { planChange } from "../hosts/settings-file.ts";
import type { HookContext, HookShell, ToolEvent } from "../hosts/tool-event.ts";
import { ownCommand, ownCommandLine, showChange } from "./input-output.ts";
import { checkLocale } from "./usage.ts";

/**
 * Answers where the command line is the call of a hook; `false` where it is anything else. A host waits for its hooks with
 * every tool call, so that they are told apart before anything else is loaded; and it takes whatever its settings say: an
 * error of usage would be shown to the model.
 */
export async function answerHookCall(parameters: readonly string[]): Promise<boolean> {
	const [command, name, ...rest] = parameters;
	if (command !== "hook" || !isHook(name) || rest.includes("--help") || rest.includes("-h")) return false;
	await hook(name, optionsIn(rest));
	return true;
}

function optionsIn(args: string[]): HookOptions {
	const text = { type: "string" } as const;
	const ofAll = { "max-chars": text, policy: text, archive: text, namespace: text, locale: text };
	const options = { ...ofAll, host: text, "saved-in": text };
	const parsed = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
	const unknown = parsed.tokens.find((token) => token.kind !== "option" || !Object.hasOwn(options, token.name));
	return { ...parsed.values, ...(unknown && { unknown: unknown.kind === "option" ? unknown.rawName : "an argument" }) };
}

function isHook(name: string | undefined): name is HookName {
	return name === "shorten" || hookHosts.some((host) => host === name);
}

/** The options of `palimpsest hook install` and `hook uninstall`. */
export interface InstallOptions {
	/** For this project alone. */
	readonly project?: boolean;
	/** Shows what would change and writes nothing. */
	readonly dryRun?: boolean;
	/** Characters up to which a result is left whole. */
	readonly maxChars?: number;
	/** Language of the notices, if not that of the host's server entry. */
	readonly locale?: string;
}

/** `palimpsest hook install HOST`: enters the hook in the host's settings and prints what changed. */
export async function installHook(host: InstallHost, options: InstallOptions): Promise<void> {
	const target = targetOf(host, options);
	const { file } = target;
	const change = await planChange(file, (text) =>
		target.kind === "file" ? target.text : enterHook(text ?? "", target.entry),
	);
	await showChange({ file, change, dryRun: options.dryRun, done: "installed" });
}

/** `palimpsest hook uninstall HOST`: takes the hook out again and prints what changed. */
export async function uninstallHook(host: InstallHost, options: InstallOptions): Promise<void> {
	const target = targetOf(host, options);
	const { file } = target;
	const change = await planChange(file, (text) => {
		if (text === undefined) return undefined;
		if (target.kind === "entry") return removeHook(text, target.entry);
		return text.includes("Written by palimpsest") ? undefined : text;
	});
	await showChange({ file, change, dryRun: options.dryRun, done: "uninstalled" });
}

/** `palimpsest hook opencode`: prints the plugin file. */
export function printOpencodePlugin({ maxChars = usualHookChars, locale }: InstallOptions): void {
	process.stdout.write(opencodePlugin({ command: ownCommand(), mostChars: maxChars, locale: checkLocale(locale) }));
}

function targetOf(host: InstallHost, { project, maxChars = usualHookChars, locale }: InstallOptions): HookTarget {
	return hookTarget(host, {
		homeFolder: homedir(),
		projectFolder: project ? process.cwd() : undefined,
		environment: process.env,
		command: ownCommand(),
		mostChars: maxChars,
		locale: checkLocale(locale),
	});
}

/** Characters of a tool's result that is left whole, where nothing else is said: some 4 000 tokens. */
export const usualHookChars = 16_000;

/** How long a hook may take before its result is let through, in ms. */
const timeLimitMs = 8_000;

/** Bytes of an event that is read at most. */
const mostEventBytes = 64 * 1024 * 1024;

/** The options of a hook, unchecked: a mistake in a host's settings must not fail the host. */
export type HookOptions = Readonly<
	Partial<Record<"max-chars" | "policy" | "archive" | "namespace" | "locale" | "host" | "saved-in", string | boolean>>
> & {
	/** The first parameter that means nothing here. */
	readonly unknown?: string | undefined;
};

/** Which hook is meant: of a host, or of a plugin that has a text to shorten. */
export type HookName = HookHost | "shorten";

/**
 * `palimpsest hook claude-code`, `hook gemini-cli`: reads an event on standard input and answers with the shortened result.
 * `hook shorten` does so with a text, and prints nothing where it stays. Whatever goes wrong, the result passes as it is:
 * no answer, one line on standard error, exit code 0.
 */
export async function hook(name: HookName, options: HookOptions): Promise<void> {
	// Gemini CLI takes standard error for the answer where there is none.
	const nothing = name === "gemini-cli" ? "{}\n" : "";
	const late = setTimeout(() => {
		process.stderr.write("palimpsest: the result is as it was: the hook took too long\n");
		process.stdout.write(nothing, () => process.exit(0));
	}, timeLimitMs);
	// A host that is gone, or a defect of ours: neither is told by the exit code.
	process.on("uncaughtException", () => process.exit(0));
	let answer: string | undefined;
	try {
		if (options.unknown !== undefined) {
			throw new PalimpsestError("invalid_argument", `Expected options of palimpsest hook; got ${options.unknown}.`);
		}
		const mostChars = charsOf(options);
		const input = await readStandardInput();
		// Most events are small, and then nothing need be loaded. A character is a byte or more.
		if (input.length > mostChars || input.includes("persistedOutputPath")) {
			answer = await (name === "shorten" ? shortenInput : answerEvent(name))(
				input.toString("utf8"),
				mostChars,
				options,
			);
		}
	} catch (error) {
		process.stderr.write(`palimpsest: the result is as it was: ${reasonOf(error)}\n`);
	}
	clearTimeout(late);
	process.stdout.write(answer ?? nothing);
}

function answerEvent(host: HookHost) {
	return (json: string, mostChars: number, options: HookOptions): Promise<string | undefined> =>
		withShell({ ...options, host }, async (shell) => {
			const contextOf = (event: ToolEvent): HookContext => {
				const loaded = async () => (await import("../hosts/tool-event.ts")).hookContext({ event, ...(await shell()) });
				return {
					mostChars,
					shorten: async (text, most) => (text.length <= most ? undefined : (await loaded()).shorten(text, most)),
					shortenFile: async (file, most) => (await loaded()).shortenFile(file, most),
					wordings: async () => (await loaded()).wordings(),
				};
			};
			const answer = await answerHook({ host, json, contextOf });
			return answer === undefined ? undefined : `${JSON.stringify(answer)}\n`;
		});
}

function shortenInput(text: string, most: number, options: HookOptions): Promise<string | undefined> {
	const { "saved-in": file } = options;
	const savedIn = typeof file === "string" ? file : undefined;
	return withShell(options, async (shell) => {
		const { shortenPassed } = await import("../hosts/tool-event.ts");
		return shortenPassed({ ...(await shell()), text, most, savedIn });
	});
}

/** Does something with policy and archive, which are loaded once they are asked for, and closes the archive. */
async function withShell<T>(options: HookOptions, work: (shell: () => Promise<HookShell>) => Promise<T>): Promise<T> {
	let opening: Promise<HookShell> | undefined;
	const shell = () => {
		opening ??= openShell(options);
		return opening;
	};
	try {
		return await work(shell);
	} finally {
		await (await opening?.catch(() => undefined))?.archive?.close();
	}
}

async function openShell(options: HookOptions): Promise<HookShell> {
	const [{ isPolicyUsual, usualPolicyIn }, { languageOfServer }, { archiveLocation }, { openArchiveOfPolicy }] =
		await Promise.all([
			import("../hosts/tool-event.ts"),
			import("../hosts/hooks.ts"),
			import("../config/archive.ts"),
			import("../archive/open.ts"),
		]);
	const named = (name: "policy" | "archive" | "namespace" | "locale" | "host") => {
		const value = options[name];
		return typeof value === "string" ? value : undefined;
	};
	const [policyFile, locale, hostName = ""] = [named("policy"), named("locale"), named("host")];
	const { env, platform } = process;
	const here = { environment: env, workingDirectory: process.cwd() };
	const ofServer = await languageOfServer({ ...here, hostName, platform, homeFolder: homedir() });
	const wholePolicy = async () => {
		const { loadConfig } = await import("../config/config.ts");
		const settings = locale === undefined ? [] : [`locale=${locale}`];
		return (await loadConfig({ ...here, policyFile, settings, environment: { ...env, ...ofServer } })).policy;
	};
	const isUsual = policyFile === undefined && (await isPolicyUsual(here));
	const usual = isUsual ? usualPolicyIn({ ...ofServer, ...(locale && { PALIMPSEST_LOCALE: locale }) }) : undefined;
	const policy = usual ?? (await wholePolicy());
	const location = archiveLocation({ archive: named("archive"), namespace: named("namespace"), environment: env });
	return { command: ownCommandLine(), policy, wholePolicy, archive: await openArchiveOfPolicy(location, policy) };
}

/** Messages of others may quote what they stumbled over. */
function reasonOf(error: unknown): string {
	if (error instanceof PalimpsestError) return error.message.replace(/\s+/g, " ");
	if (error instanceof SyntaxError) return "the event is not valid JSON.";
	return error instanceof Error ? error.name : "for an unknown reason";
}

function charsOf({ "max-chars": given }: HookOptions): number {
	const most = given === undefined ? usualHookChars : typeof given === "string" ? Number(given) : Number.NaN;
	if (Number.isSafeInteger(most) && most > 0) return most;
	throw new PalimpsestError("invalid_argument", "Expected --max-chars to be a whole number above 0.");
}

async function readStandardInput(): Promise<Buffer> {
	const pieces: Buffer[] = [];
	let bytes = 0;
	for await (const piece of process.stdin) {
		bytes += piece.length;
		if (bytes > mostEventBytes) throw new PalimpsestError("payload_too_large", "The event is over 64 MiB.");
		pieces.push(piece);
	}
	return Buffer.concat(pieces);
}
