import { PalimpsestError } from "../errors.ts";
import { encodeText } from "../formats/json-text/text-bytes.ts";
import { ownCommandLine, shellWord } from "../hosts/own-command.ts";
import {
	describeListing,
	type NextPart,
	type RecalledListing,
	type RecalledPart,
	recallOriginal,
} from "../operations/recall.ts";
import { searchOriginals, writeSearch } from "../operations/search-originals.ts";
import type { Archive, Listing } from "../storage/archive/archive.ts";
import type { PartRequest } from "../storage/archive/part.ts";
import { decodeText } from "../storage/files/access.ts";
import { restoreText } from "../storage/restore/restore.ts";
import {
	type ArchiveCommandOptions,
	commandConfig,
	inputName,
	printJson,
	readSession,
	say,
	show,
	withOwnArchive,
	writeOut,
} from "./input-output.ts";
import { withProgress } from "./progress.ts";
import { exitCodes, refuseUsage } from "./usage.ts";

/** `palimpsest archive stats`, `sweep`, `export` and `clear`. */
export async function runOnArchive(name: ArchiveCommand, options: ArchiveCommandOptions): Promise<void> {
	await withOwnArchive(options, (await commandConfig(options)).policy, commands[name]);
}

export type ArchiveCommand = keyof typeof commands;

const commands = {
	async stats(archive: Archive) {
		const { namespace, location, originals, bytes, oldestUse } = await archive.stats();
		const oldest_use = oldestUse === null ? null : new Date(oldestUse).toISOString();
		printJson({ namespace, location, originals, bytes, oldest_use }, 2);
	},

	async sweep(archive: Archive) {
		const { removed, removedBytes, kept, keptBytes } = await withProgress("sweeping the archive", () =>
			archive.sweep(),
		);
		printJson({ removed, removed_bytes: removedBytes, kept, kept_bytes: keptBytes }, 2);
	},

	async export(archive: Archive) {
		let unreadable = 0;
		for await (const listing of archive.list()) {
			const text = await readText(archive, listing);
			if (text === undefined) unreadable += 1;
			else await writeOut(`${JSON.stringify({ ...describeListing(listing), text })}\n`);
		}
		if (unreadable === 0) return;
		say(`${unreadable} could not be read: they were removed meanwhile, or are damaged`);
		process.exitCode = 1;
	},

	async clear(archive: Archive) {
		printJson({ removed: await archive.clear() }, 2);
	},
};

async function readText(archive: Archive, { ref }: Listing): Promise<string | undefined> {
	try {
		return (await archive.get(ref)).text;
	} catch (error) {
		if (error instanceof PalimpsestError && error.code === "original_not_found") return undefined;
		throw error;
	}
}

interface RecallOptions extends ArchiveCommandOptions, PartRequest {
	readonly toolCallId?: string;
	readonly search?: string;
	readonly regex?: boolean;
	readonly after?: string;
	readonly all?: boolean;
	readonly json?: boolean;
}

/** `palimpsest recall REF` */
export async function recall(ref: string | undefined, options: RecallOptions): Promise<void> {
	const { toolCallId, search, lines, chars, grep, context, head, tail, maxTokens, all = false, json } = options;
	if ([ref, toolCallId, search].filter((one) => one !== undefined).length !== 1) {
		refuseUsage("expected one of REF, --tool-call-id and --search");
	}
	if (search !== undefined) return searchArchive(search, options);
	if (options.after !== undefined) refuseUsage("expected --after only with --search");
	const { policy } = await commandConfig(options);
	const part = { lines, chars, grep, context, head, tail, maxTokens };
	await withOwnArchive(options, policy, async (archive) => {
		const recalled = await recallOriginal({ archive, policy, ref, toolCallId, ...part });
		if (recalled.kind === "several") {
			if (json) printJson({ originals: recalled.originals }, 2);
			else show(recalled.originals.map(row).join(""));
			say(`${recalled.originals.length} originals have this tool call id; recall one by its ref`);
		} else if (recalled.kind === "part") {
			const { part: found } = recalled;
			if (json) return printJson(found, 2);
			if (!all) process.stdout.write(found.text);
			else {
				await archive.read(found.ref, async (pieces) => {
					for await (const piece of pieces) for (const bytes of encodeText(piece)) await writeOut(bytes);
				});
			}
			say(described(found, all));
		}
	});
}

async function searchArchive(query: string, options: RecallOptions): Promise<void> {
	const { regex, after, maxTokens, json } = options;
	const { policy } = await commandConfig(options);
	await withOwnArchive(options, policy, async (archive) => {
		const search = { archive, policy, query, regex, after, maxTokens };
		const found = await withProgress("searching", () => searchOriginals(search));
		if (json) return printJson(found, 2);
		const how = `Read one with ${ownCommandLine()} recall REF.`;
		show(`${writeSearch(found, { how, goOn: (place) => `add --after ${place}` })}\n`);
	});
}

function row({ ref, kind, tool_name, chars, archived_at }: RecalledListing): string {
	return `${[ref, kind, tool_name ?? "-", `${chars} chars`, archived_at].join("\t")}\n`;
}

function described(part: RecalledPart, isWhole: boolean): string {
	const { kind, tool_name, total, shown, matches, redactions, next } = part;
	const isOne = total.lines === 1;
	const all = `${total.lines} ${isOne ? "line" : "lines"}`;
	const lines = shown ? `lines ${shown.lines.first}-${shown.lines.last} of ${total.lines}` : `none of ${all}`;
	return [
		`${kind}${tool_name === undefined ? "" : ` of ${tool_name}`}`,
		isWhole ? (isOne ? "the only line" : `all ${all}`) : lines,
		...(matches ? [`${matches.shown} of ${matches.found} matches`] : []),
		...(redactions > 0 ? [`${redactions} places redacted before it was kept`] : []),
		...(next && !isWhole ? [`more: ${ownCommandLine()} recall ${flags(next)}`] : []),
	].join("; ");
}

function flags({ ref, ...rest }: NextPart): string {
	const given = Object.entries(rest).map(
		([name, value]) => `--${name.replaceAll("_", "-")} ${shellWord(String(value))}`,
	);
	return [ref, ...given].join(" ");
}

const mostNamed = 10;

/** `palimpsest restore FILE`. If a text stays cut, masked or summarised, the exit code is 1. */
export async function restore(file: string, options: ArchiveCommandOptions): Promise<void> {
	const { policy } = await commandConfig(options);
	const name = inputName(file);
	const text = decodeText(await readSession(file, policy.limits.max_file_bytes), name);
	const restored = await withOwnArchive(options, policy, (archive) => restoreText({ text, archive, policy, name }));
	process.stdout.write(restored.text);
	const { restored: count, redacted, reasoning_after: after, ...left } = restored.report;
	say(`restored ${count}`);
	const tell = (what: string, names: readonly string[]) => {
		const more = names.length > mostNamed ? ` and ${names.length - mostNamed} more` : "";
		if (names.length > 0) say(`${what}: ${names.slice(0, mostNamed).join(", ")}${more}`);
	};
	tell("not in the archive", left.missing);
	tell("ambiguous, left unchanged (a tool may have printed them)", left.ambiguous);
	tell("cut or masked without a reference, left unchanged", left.without_reference);
	tell("summaries, left unchanged; recall the messages that they replace", left.summaries);
	tell("redacted before they were kept, so not restored exactly", redacted);
	if (after !== undefined) {
		say(
			`${after} blocks of reasoning come after restored results. Those that were produced while a result was masked or cut no longer fit, and the provider may refuse them with status 400: continue through the proxy, or remove them by \`palimpsest rescue\`.`,
		);
	}
	if (Object.values(left).some((names) => names.length > 0)) process.exitCode = exitCodes.refusedInput;
}
