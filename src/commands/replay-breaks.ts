import type { CallUsage } from "../engine/conversation/transcript.ts";
import { PalimpsestError } from "../errors.ts";
import { readConversation } from "../formats/detect.ts";
import { modelOnRecord } from "../formats/model.ts";
import { startCopiedCalls } from "../operations/copied-calls.ts";
import { ratesOfSession } from "../operations/replay-rates.ts";
import { alignColumns } from "../operations/report-text.ts";
import { whole } from "../operations/window-words.ts";
import { type RecordedBreak, recordedBreaks } from "../proxy/billing/recorded-breaks.ts";
import { sumBreaks } from "../storage/figures/break-sums.ts";
import { readFigures } from "../storage/figures/store.ts";
import { adviceOnCause, breaksText } from "./breaks-text.ts";
import { addFiles, leftOutText } from "./conversation-files.ts";
import {
	type CommonOptions,
	commandConfig,
	printJson,
	readConversationFile,
	say,
	show,
	shownName,
} from "./input-output.ts";

interface BreaksOptions extends CommonOptions {
	readonly files?: boolean;
	readonly json?: boolean;
}

interface Session {
	readonly file: string;
	readonly format: string;
	readonly calls: number;
	readonly breaks: readonly RecordedBreak[];
}

/** `palimpsest replay FILE… --breaks` */
export async function replayBreaks(names: readonly string[], options: BreaksOptions): Promise<void> {
	const { policy } = await commandConfig(options);
	const sessions: Session[] = [];
	const copiedCalls = startCopiedCalls();
	const isOurs = await requestsWithDecisions();
	let copied = 0;
	const { countOf, unreadable } = await addFiles(names, async (file) => {
		const conversation = await readConversationFile(file, policy.limits.max_file_bytes);
		const source = readConversation(conversation, policy.mask.observations);
		const { prices } = await ratesOfSession(modelOnRecord(source), policy.prices);
		const { messages } = source.transcript;
		const ownStart = copiedCalls.add(source);
		const ofCopies = messages.slice(0, ownStart).filter(({ usage }) => usage).length;
		const { calls, breaks } = recordedBreaks(source, prices.cache_seconds, { ownStart, isOurs });
		copied += ofCopies;
		if (calls === 0) return ofCopies === 0 ? "uncached" : "copied";
		sessions.push({ file, format: source.transcript.format, calls, breaks });
		return "added";
	});
	const leftOut = leftOutText([
		...unreadable,
		[countOf("uncached"), "conversation", "without tokens read from a cache"],
		[copied, "call", "that another file has too"],
	]);
	if (sessions.length === 0)
		throw new PalimpsestError(
			"invalid_argument",
			`No conversation with cache reads: ${leftOut ?? "no .json or .jsonl file"}.`,
		);
	if (leftOut !== undefined) say(leftOut);
	const all = sessions.flatMap(({ breaks }) => breaks);
	const causes = sumBreaks(all).map((sum) => ({ ...sum, advice: adviceOnCause(sum, { isRecorded: true }) }));
	const formats = [...new Set(sessions.map(({ format }) => format))].sort().map((format) => {
		const own = sessions.filter((one) => one.format === format);
		return { format, sessions: own.length, ...figuresOf(own) };
	});
	const total = { sessions: sessions.length, ...figuresOf(sessions) };
	if (options.json) {
		const files = sessions.map(({ breaks, ...session }) => {
			return { ...session, breaks: breaks.map(({ usd, ...one }) => ({ ...one, usd: usd ?? null })) };
		});
		printJson({ ...total, causes, formats, files }, 2);
		return;
	}
	const cells = (one: ReturnType<typeof figuresOf> & { readonly sessions: number }) => [
		whole(one.sessions),
		whole(one.calls),
		whole(one.breaks),
		one.attributed_share === null ? "–" : `${(100 * one.attributed_share).toFixed(0)} %`,
	];
	const table = alignColumns([
		["Format", "sessions", "calls", "breaks", "with a cause"],
		...formats.map((one) => [one.format, ...cells(one)]),
		["all", ...cells(total)],
	]);
	const parts = [`${table.join("\n")}\n`];
	if (causes.length > 0) parts.push(breaksText(causes));
	if (options.files) for (const session of sessions) parts.push(...fileText(session));
	show(parts.join("\n"));
}

/** Tells the requests of a proxy of ours by their tokens, which the session and the figures both have from the provider. */
async function requestsWithDecisions(): Promise<(usage: CallUsage) => boolean> {
	const keyOf = (input: number, cached: number) => `${input} ${cached}`;
	const known = new Set<string>();
	try {
		for await (const line of readFigures({ since: 0 })) {
			if (line.kind !== "request" || !line.decisions) continue;
			known.add(keyOf(line.input + line.read + line.write, line.read));
		}
	} catch (error) {
		// Without them a masking is not known to be ours.
		if (!(error instanceof PalimpsestError)) throw error;
	}
	return ({ inputTokens, cachedTokens }) => known.has(keyOf(inputTokens, cachedTokens));
}

function figuresOf(sessions: readonly Session[]) {
	const breaks = sessions.flatMap((one) => one.breaks);
	const unknown = breaks.filter(({ cause }) => cause === "unknown").length;
	return {
		calls: sessions.reduce((sum, { calls }) => sum + calls, 0),
		breaks: breaks.length,
		unknown,
		/** `null` where no cache broke. */
		attributed_share: breaks.length === 0 ? null : 1 - unknown / breaks.length,
	};
}

function fileText({ file, breaks }: Session): string[] {
	if (breaks.length === 0) return [];
	const rows = breaks.map(({ call, cause, tokens, usd, detail }) => {
		return [
			`call ${call}`,
			cause.replaceAll("_", " "),
			whole(tokens),
			usd === undefined ? "–" : usd.toFixed(2),
			detail,
		];
	});
	const table = alignColumns(
		[["", "cause", "tokens", "US dollars", ""], ...rows],
		(index) => index !== 2 && index !== 3,
	);
	return [`${[shownName(file), ...table.map((line) => line.trimEnd())].join("\n")}\n`];
}
