import type { FileHandle } from "node:fs/promises";
import { homedir } from "node:os";
import { isJsonObject } from "../engine/conversation/json.ts";
import { valueAt } from "../engine/policy/errors.ts";
import type { LocaleName, PresetName } from "../engine/policy/names.ts";
import { presets } from "../engine/policy/presets.ts";
import { excerptWordings } from "../engine/policy/wordings.ts";
import { findPolicyFiles, ignoredWarning, loadConfig, type PolicyFileSearch } from "../operations/config/config.ts";
import { languageOfReader } from "../operations/config/reader.ts";
import { shortenStream, shortenText } from "../operations/truncate-stream.ts";
import { charsCheck } from "../operations/truncation-limit.ts";
import { openToRead } from "../storage/files/disk.ts";
import type { HookContext, HookPolicy, HookShell, ToolEvent } from "./hook-answers.ts";
import { serverHosts } from "./hosts.ts";
import { settingsIn } from "./settings-file.ts";

/** Hooks truncate pages as text: the library that reads HTML takes longer to load than all the rest. */
const how = { htmlToText: undefined };

export function hookContext(what: HookShell & { readonly event: ToolEvent }): Omit<HookContext, "mostChars"> {
	const { event, policy, archive, command } = what;
	const toolCall = { id: event.toolCallId, name: event.toolName, input: event.input };
	return {
		shorten: (text, most, isCut = false) =>
			shortenText({ text, isCut, policy, archive, toolCall, command, check: charsCheck(most), how }),
		wordings: async () => excerptWordings[policy.locale],
	};
}

/** If the host cut the text, the file `savedIn` is shortened and archived instead, unless the text is not in it. */
export async function shortenPassed(
	what: HookShell & { readonly text: string; readonly most: number; readonly savedIn: string | undefined },
): Promise<string | undefined> {
	const { text, most, savedIn, policy, archive, command } = what;
	const check = charsCheck(most);
	if (savedIn === undefined) return shortenText({ text, policy, archive, command, check, how });
	if (check.fits(text)) return undefined;
	const note = shellNoteOf(text);
	const shown = { text: text.slice(0, text.length - note.length), file: savedIn };
	const handle = await openSavedOutput(savedIn);
	if (handle !== undefined && note.length < most && (await isWholeOf(handle, shown))) {
		return (await shortenSaved({ ...what, handle, most: most - note.length })) + note;
	}
	await handle?.close();
	return shortenText({ text, isCut: true, policy, archive, command, check, how });
}

async function shortenSaved(what: HookShell & { readonly handle: FileHandle; readonly most: number }): Promise<string> {
	const { handle, most, wholePolicy, archive, command } = what;
	const pieces = handle.createReadStream({ start: 0 });
	const limit = { kind: "chars", most } as const;
	const shortened = await shortenStream({ pieces, policy: await wholePolicy(), archive, command, limit });
	if (shortened.failure !== undefined) throw shortened.failure;
	return shortened.kind === "whole" ? shortened.bytes.toString("utf8") : shortened.text;
}

/** Reading this much takes some 4 s. After 8 s the host uses the unchanged result. */
const mostSavedBytes = 128 * 1024 * 1024;

/** Characters that a host may add to the part of an output that it shows, in addition to the name of the file. */
const mostNoticeChars = 2_000;

/** Opens before it checks, so that both are the same file. The caller closes it. */
async function openSavedOutput(file: string): Promise<FileHandle | undefined> {
	const handle = await openToRead(file).catch(() => undefined);
	if (handle === undefined || (await handle.stat()).size <= mostSavedBytes) return handle;
	await handle.close();
	return undefined;
}

/** Whether the text is the start of the file, its end, or both. Metadata proves nothing: tools may name any path. */
async function isWholeOf(handle: FileHandle, shown: { readonly text: string; readonly file: string }) {
	const text = Buffer.from(shown.text);
	const { size } = await handle.stat();
	const length = Math.min(size, text.length);
	const first = await readAt(handle, 0, length);
	const last = await readAt(handle, size - length, length);
	const same = commonStart(text, first) + commonStart(text.toReversed(), last.toReversed());
	return same >= text.length - mostNoticeChars - Buffer.byteLength(shown.file) && same >= text.length / 2;
}

/** The note of opencode's shell on how a command ended, such as a time-out. It follows the output and is in no file. */
function shellNoteOf(text: string): string {
	const from = text.lastIndexOf("\n\n<shell_metadata>\n");
	const isNote = from !== -1 && text.endsWith("\n</shell_metadata>") && text.length - from <= mostNoticeChars;
	return isNote ? text.slice(from) : "";
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
	const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position);
	return buffer.subarray(0, bytesRead);
}

function commonStart(one: Uint8Array, other: Uint8Array): number {
	const difference = one.findIndex((byte, index) => byte !== other[index]);
	return difference === -1 ? one.length : difference;
}

// ---- The policy of a hook ----

type UsualPolicy = HookPolicy["policy"];

/** If nothing sets a field, it uses the defaults: loading the schema takes longer than shortening a result. */
export async function hookPolicy(named: {
	readonly policyFile: string | undefined;
	readonly locale: string | undefined;
	readonly host: string;
	readonly warn: (line: string) => void;
}): Promise<HookPolicy> {
	const { policyFile, locale, host, warn } = named;
	const { env } = process;
	const here = { environment: env, workingDirectory: process.cwd() };
	const ofServer = await serverLanguage(host);
	const load = async () => {
		const settings = locale === undefined ? [] : [`locale=${locale}`];
		const config = await loadConfig({ ...here, policyFile, settings, environment: { ...env, ...ofServer } });
		const warning = ignoredWarning(config);
		if (warning !== undefined) warn(warning);
		return config.policy;
	};
	let whole: ReturnType<typeof load> | undefined;
	const wholePolicy = () => {
		whole ??= load();
		return whole;
	};
	const isUsual = policyFile === undefined && (await isPolicyUsual(here));
	const usual = isUsual ? usualPolicyIn({ ...ofServer, ...(locale && { PALIMPSEST_LOCALE: locale }) }) : undefined;
	return { policy: usual ?? (await wholePolicy()), wholePolicy };
}

/** The defaults of the schema; a test compares them. */
const usualPolicy: UsualPolicy = {
	locale: "fr",
	on_archive_failure: "refuse",
	archive: { max_age_days: 30, max_bytes: 1_000_000_000, recall_hint: true, redact: [], redact_credentials: false },
	figures: "all",
};

/** A preset changes only the locale of the usual policy, by the rule of `resolvePolicy`. `undefined` for unknown names, which the schema refuses. */
function usualPolicyIn(variables: LanguageVariables): UsualPolicy | undefined {
	const { PALIMPSEST_PRESET: preset, PALIMPSEST_LOCALE: given } = variables;
	if (preset !== undefined && !Object.hasOwn(presets, preset)) return undefined;
	const ofPreset = preset === undefined ? undefined : presets[preset as PresetName].policy.locale;
	const ofReader = preset === undefined || preset === "balanced" ? languageOfReader(process.env) : undefined;
	const locale = given ?? ofReader ?? ofPreset ?? usualPolicy.locale;
	return Object.hasOwn(excerptWordings, locale) ? { ...usualPolicy, locale: locale as LocaleName } : undefined;
}

const otherVariables = /^PALIMPSEST_(?:ARCHIVE|PROXY|MOD|TOOLS|NAMESPACE|AUTH_TOKENS|LLM_\w+)$/;

async function isPolicyUsual(search: PolicyFileSearch): Promise<boolean> {
	const isSet = ([name, value]: [string, string | undefined]) =>
		name.startsWith("PALIMPSEST_") && !otherVariables.test(name) && value !== "";
	if (Object.entries(search.environment).some(isSet)) return false;
	const { file, found } = await findPolicyFiles(search);
	return file === null && found === null;
}

const languageVariables = ["PALIMPSEST_PRESET", "PALIMPSEST_LOCALE"] as const;

type LanguageVariables = Readonly<Partial<Record<(typeof languageVariables)[number], string>>>;

/** The language in the host's server entry. Empty if no file can be read: a hook never fails for it. */
export async function serverLanguage(hostName: string, folder = process.cwd()): Promise<LanguageVariables> {
	const { platform, env: environment } = process;
	const host = serverHosts.find(({ name }) => name === hostName);
	if (host === undefined) return {};
	const projectFolder = environment[host.projectVariable ?? ""] || folder;
	const where = { platform, environment, homeFolder: homedir() };
	const [ofProject, ofUser] = await Promise.all(
		[host.file({ ...where, projectFolder }), host.file(where)].map((file) => file && settingsIn(file)),
	);
	const entry = [
		valueAt(ofProject, host.key),
		host.keyForProject && valueAt(ofUser, host.keyForProject(projectFolder)),
		valueAt(ofUser, host.key),
	].find(isJsonObject);
	const variables = entry?.env ?? entry?.environment;
	if (!isJsonObject(variables)) return {};
	const set = languageVariables.map((name) => [name, variables[name]] as const);
	return Object.fromEntries(set.filter(([, value]) => typeof value === "string" && value !== ""));
}
