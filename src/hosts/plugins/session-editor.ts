import { fileURLToPath } from "node:url";
import { isJsonObject } from "../../engine/conversation/json.ts";
import { callTarget } from "../../engine/masking/call-targets.ts";
import { checkPolicyLayer } from "../../engine/policy/check.ts";
import type { PolicyLayer } from "../../engine/policy/schema.ts";
import { isShownWhole } from "../../engine/truncation/shown-whole.ts";
import { continuousPolicy, ignoredWarning, loadConfig } from "../../operations/config/config.ts";
import type { SearchRequest } from "../../operations/search-originals.ts";
import { firstPass, promptTokens, type Usage } from "../../proxy/billing/usage.ts";
import { createLedger, type Ledger } from "../../proxy/ledger.ts";
import { inTime } from "../../proxy/sending/archiving.ts";
import { describe, type Editing, openEditing, prepare } from "../../proxy/sending/editing.ts";
import type { Sent } from "../../proxy/sending/facts.ts";
import { memoryFolderFor } from "../../proxy/sending/memory.ts";
import type { HostRequest } from "../../proxy/sending/request.ts";
import { sendAgain } from "../../proxy/sending/send-again.ts";
import { archiveLocation } from "../../storage/archive/open.ts";
import type { PartRequest } from "../../storage/archive/part.ts";
import { type Figures, openFigures } from "../../storage/figures/store.ts";
import { packageFile } from "../../version.ts";
import { fairShares, type ToolEvent } from "../hook-answers.ts";
import { ownCommand, shellArgument } from "../own-command.ts";
import { hookContext, serverLanguage, shortenPassed } from "../shorten-result.ts";

/** Unchecked: they come from a file or from settings of the host. */
export interface PluginOptions {
	/** The words that start this program, for notices that name a command. */
	readonly command?: readonly string[] | undefined;
	/** A larger output is cut on arrival. */
	readonly mostChars?: number | undefined;
	readonly locale?: string | undefined;
}

/** What a program sets in its own code, above its variables and policy files. */
export interface EditorSettings {
	/** `files` (the default), `memory`, `none`, `redis://HOST:PORT` or a folder. The states of results are kept with it. */
	readonly archive?: string | undefined;
	/** An original is read in its own namespace alone. */
	readonly namespace?: string | undefined;
	readonly policy?: PolicyLayer | undefined;
}

export type SessionEditor = ReturnType<typeof createSessionEditor>;

/** Some 4 000 tokens, as for hooks. */
const usualMostChars = 16_000;

/** The archive may be on another machine. */
const longestWaitMs = 8_000;

/** A model may answer before the plan of its request is made; the next request may then be over its window. */
const patienceMs = 300;

const nothingKept = "Nothing was kept: the archive is off.";

/**
 * The proxy's engine in the process of an agent program, opened at its first use. No fault of ours gets in the way of the
 * host: after any, the host goes on with its own messages, and `report` gets one line without any text of the conversation.
 */
export function createSessionEditor(what: {
	/** The folder of the project; its policy file counts. */
	readonly folder: string;
	/** The host; its server entry sets the language, unless `options` do. */
	readonly host?: string | undefined;
	readonly options?: PluginOptions | undefined;
	readonly settings?: EditorSettings | undefined;
	/** Its name in the figures. */
	readonly program: string;
	/** Whether `answered` is called for each request that is answered. Else the bills are estimates. */
	readonly tellsUsage?: boolean | undefined;
	readonly report: (line: string) => void;
}) {
	const { folder, host, options = {}, report } = what;
	const command = Array.isArray(options.command) ? options.command : ownCommand(ownScript());
	const commandLine = command.map(String).map(shellArgument).join(" ");
	const mostChars = Number(options.mostChars) > 0 ? Number(options.mostChars) : usualMostChars;
	const reported = new Set<string>();
	const reportOnce = (line: string): void => {
		if (!reported.has(line)) report(line);
		reported.add(line);
	};
	let opening: Promise<Editing> | undefined;
	const opened = () => {
		const onFault = (_: unknown, reason: string) => reportOnce(`palimpsest made no new decisions: ${reason}`);
		const warn = (line: string) => reportOnce(`palimpsest: ${line}`);
		opening ??= open({ folder, host, locale: options.locale, settings: what.settings, warn, onFault });
		return opening;
	};
	let counting: { readonly figures: Figures; readonly ledger: Ledger } | undefined;
	const counted = ({ policy, now }: Editing) => {
		if (!counting) {
			const figures = openFigures({ keep: policy.figures, program: what.program, projectFolder: folder });
			counting = { figures, ledger: createLedger({ now, figures }) };
		}
		return counting;
	};
	const orNothing = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
		try {
			return await inTime(work(), longestWaitMs);
		} catch (error) {
			reportOnce(`palimpsest left something unedited: ${describe(error)}`);
			return undefined;
		}
	};
	let planning: Promise<void> = Promise.resolve();

	return {
		/** Reads an original in a shell when its reference follows. */
		recallCommand: `${commandLine} recall`,
		/** The messages to send instead. `written` is `undefined` if they are sent as the host has them. */
		edit: <Written>(conversation: (editing: Editing) => Omit<HostRequest<Written>, "decides" | "isEnforced">) =>
			orNothing(async () => {
				const editing = await opened();
				// A plugin cannot send a refused request again, so an account that may be checked counts as one that is.
				const request = { ...conversation(editing), decides: true, isEnforced: true };
				const { composed, planAhead, facts } = await prepare(request, editing);
				const planned = planAhead();
				const enter = async (usage: Usage | undefined, sent: Sent | undefined) => {
					const { written, noDecision, decided } = sent ?? {};
					const how = { wasEdited: written !== undefined, noDecision, decisions: decided?.size };
					return counted(editing).ledger.enter(await facts(sent), { ...how, api: "plugin", usage });
				};
				/** Returns the tokens that were sent before; 0 if that is not known, as where figures fail. */
				const answered = (usage: Usage | undefined, sent: Sent | undefined = composed): Promise<number> => {
					if (usage && composed?.branch)
						composed.branch.tokensPerChar = promptTokens(firstPass(usage)) / Math.max(1, composed.charsSent());
					const entered = planned
						.then(() => enter(usage, sent))
						.then(
							({ repeated }) => repeated,
							() => 0,
						);
					planning = entered.then(() => {});
					return entered;
				};
				planning = planned;
				if (!what.tellsUsage) void answered(undefined);
				const { variants } = composed ?? {};
				return {
					written: composed?.written,
					answered,
					/** The provider refused it: its decisions are taken back, and the next requests get none. */
					refused: () => (variants?.earlier() ?? variants?.own())?.accepted(),
					/** The provider refused it: asks with other forms, the one that changes least first. */
					again: async (
						first: Parameters<typeof sendAgain>[1],
						ask: Parameters<typeof sendAgain<Written>>[2],
					): ReturnType<typeof sendAgain<Written>> => (composed ? sendAgain(composed, first, ask) : "refused"),
				};
			}),
		/** Resolves once the work of the last request is archived and planned. */
		settled: () => planning,
		/** The texts of a result within the limit, which they share; `undefined` if nothing is cut. */
		async shorten(
			texts: readonly string[],
			call: Omit<ToolEvent, "response"> & { readonly savedIn?: string | undefined },
		): Promise<readonly string[] | undefined> {
			if (charsOf(texts) <= mostChars) return undefined;
			if (isShownWhole(call.toolName, shellCommandOf(call.input)) || isOfFile(call)) return undefined;
			const shares = fairShares(
				texts.map((text) => text.length),
				mostChars,
			);
			return orNothing(async () => {
				const editing = await opened();
				const shorter = await Promise.all(
					texts.map((text, at) => shortenOne(text, shares[at] as number, { ...call, editing })),
				);
				const [before, after] = [charsOf(texts), charsOf(shorter)];
				const figure = { kind: "result", by: "plugin", chars_before: before, chars_after: after } as const;
				if (after < before) counted(editing).figures.add(figure);
				return shorter;
			});
		},
		/** The originals that hold the words of a query, or match it as a pattern. */
		async search(given: Pick<SearchRequest, "query" | "regex" | "after" | "maxTokens">): Promise<string> {
			const { policy, archive } = await opened();
			if (!archive) return nothingKept;
			const { searchOriginals, writeSearch } = await import("../../operations/search-originals.ts");
			const found = await searchOriginals({ archive, policy, ...given });
			return writeSearch(found, { how: "Read one by its ref.", goOn: (place) => `ask again with ref: "${place}".` });
		},
		/** A part of an original, or an error as text: a model reads both. */
		async recall(ref: string, part: PartRequest): Promise<string> {
			const { policy, archive } = await opened();
			if (!archive) return nothingKept;
			const { recallOriginal } = await import("../../operations/recall.ts");
			const recalled = await recallOriginal({ archive, policy, ref, ...part });
			if (recalled.kind !== "part") return "This original is not text.";
			const { text, shown, total, next } = recalled.part;
			const lines = shown ? `lines ${shown.lines.first}-${shown.lines.last}` : "none";
			return next ? `${text}\n[${lines} of ${total.lines}; go on with ${JSON.stringify(next)}]` : text;
		},
	};

	async function shortenOne(
		text: string,
		most: number,
		call: Omit<ToolEvent, "response"> & { readonly savedIn?: string | undefined; readonly editing: Editing },
	): Promise<string> {
		if (text.length <= most) return text;
		const { policy, archive } = call.editing;
		const shell = { policy, wholePolicy: async () => policy, archive, command: commandLine };
		const shorter =
			call.savedIn === undefined
				? await hookContext({ ...shell, event: { ...call, response: undefined } }).shorten(text, most)
				: await shortenPassed({ ...shell, text, most, savedIn: call.savedIn });
		return shorter !== undefined && shorter.length < text.length ? shorter : text;
	}
}

async function open(how: {
	readonly folder: string;
	readonly host: string | undefined;
	readonly locale: string | undefined;
	readonly settings: EditorSettings | undefined;
	readonly warn: (line: string) => void;
	readonly onFault: Editing["onFault"];
}): Promise<Editing> {
	const { folder, host, settings: own = {}, warn, onFault } = how;
	const { openArchiveOfPolicy } = await import("../../storage/archive/open.ts");
	const { env: environment } = process;
	const ofServer = host === undefined ? {} : await serverLanguage(host, folder);
	const locale = how.locale ?? ofServer.PALIMPSEST_LOCALE;
	const settings = locale === undefined ? [] : [`locale=${locale}`];
	const config = await loadConfig({ environment, workingDirectory: folder, settings });
	const warning = ignoredWarning(config);
	if (warning !== undefined) warn(warning);
	const layer = own.policy === undefined ? [] : [checkPolicyLayer(own.policy, "`policy`")];
	const policy = continuousPolicy({ layers: [...config.layers, ...layer] });
	const location = archiveLocation({ ...own, environment });
	const archive = await openArchiveOfPolicy(location, policy);
	const memoryFolder = memoryFolderFor(location);
	return openEditing({ policy, archive, memoryFolder, holdout: 0, now: Date.now, patienceMs, onFault });
}

function charsOf(texts: readonly string[]): number {
	return texts.reduce((sum, { length }) => sum + length, 0);
}

/** Node and the command of this package. The process is the host's. */
function ownScript(): readonly string[] {
	return ["node", fileURLToPath(packageFile("dist/cli.js"))];
}

/** A result that the program stores stays whole where its call reads or writes a file; what is sent of it follows the policy. */
function isOfFile({ toolName, input }: Omit<ToolEvent, "response">): boolean {
	const { kind } = callTarget({ name: toolName, argumentsText: JSON.stringify(input ?? {}) });
	return shellCommandOf(input) === "" && (kind === "read" || kind === "write");
}

function shellCommandOf(input: unknown): string {
	return isJsonObject(input) && typeof input.command === "string" ? input.command : "";
}
