import { homedir } from "node:os";
import { PalimpsestError } from "../errors.ts";
import { answerHook, type HookHost } from "../hooks/answer-hook.ts";
import type { HookShell } from "../hooks/hook-context.ts";
import type { HookContext, ToolEvent } from "../hooks/tool-event.ts";
import { ownCommandLine } from "./own-command.ts";

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
				const loaded = async () =>
					(await import("../hooks/hook-context.ts")).hookContext({ event, ...(await shell()) });
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
		const { shortenPassed } = await import("../hooks/hook-context.ts");
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
			import("../hooks/usual-policy.ts"),
			import("../hosts/server-language.ts"),
			import("../config/archive-location.ts"),
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
		const { loadConfig } = await import("../config.ts");
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
