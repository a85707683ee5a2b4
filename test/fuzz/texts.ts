import { localeNames, truncationStrategies } from "../../src/engine/policy/names.ts";
import { recallOriginal } from "../../src/operations/recall.ts";
import { truncateText } from "../../src/operations/truncate.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { policyOf } from "../support/policy-of.ts";
import { thereAndBack } from "../support/there-and-back.ts";
import { drawDocument, drawText } from "./documents.ts";
import { drawTextChanges, oddNumbers, oddTexts } from "./mutations.ts";
import { countTokens } from "./operations.ts";
import { require, requireNoDefect, requireSame, settle } from "./oracles.ts";
import { between, chance, listOf, pick, type Random, type Target } from "./target.ts";

const exact = { encoding: "o200k_base" } as const;

const spellings: Readonly<Record<string, (document: unknown) => string>> = {
	compact: (document) => JSON.stringify(document),
	indented: (document) => JSON.stringify(document, null, "\t"),
	escaped: (document) => escaped(JSON.stringify(document, null, 1)),
	lines: (document) => linesOf(document).join("\n"),
	"lines of Windows": (document) =>
		linesOf(document)
			.map((line) => `${escaped(line)}\r\n`)
			.join(""),
};

function linesOf(document: unknown): string[] {
	const list = Array.isArray(document) ? document : Object.values(document as object).find(Array.isArray);
	return ((list ?? [document]) as unknown[]).map((one) => JSON.stringify(one));
}

const escaped = (json: string) =>
	json.replace(/[^\0-\x7f]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);

interface FileCase {
	readonly text: string;
	readonly isWellFormed: boolean;
	readonly window: number;
}

/** Conversation files: masked and restored to the byte, as the command does it. */
export const conversationFiles: Target = {
	name: "conversation-files",
	draw(random): FileCase {
		const { document, isWellFormed } = drawDocument(random);
		const spelled = spellings[pick(random, Object.keys(spellings))]?.(document) ?? "";
		const text = chance(random, 0.2)
			? drawTextChanges(random, spelled, ["{", "]", ",", '"', "\\u", "1e999", "\n"])
			: spelled;
		return { text, isWellFormed, window: between(random, 0, 3) };
	},
	async check({ text, isWellFormed, window }: FileCase) {
		const policy = policyOf({ mask: { enabled: true, window_turns: window } });
		const done = await settle(() => thereAndBack(text, policy));
		if (done.is === "refused") return "refused";
		const { outcome, restored } = done.value;
		if (outcome.error) {
			requireNoDefect(outcome.error, isWellFormed);
			return "refused";
		}
		requireSame(restored, text, "restore gives the file back");
		return "done";
	},
};

interface TruncationCase {
	readonly text: string;
	readonly strategy: (typeof truncationStrategies)[number];
	readonly locale: (typeof localeNames)[number];
	readonly focus: string;
	readonly limit: { readonly maxChars: number } | { readonly maxTokens: number };
}

function drawOutput(random: Random): string {
	const lines = listOf(random, [1, 6], drawText);
	return drawTextChanges(random, lines.join("\n"), [
		"<p>",
		"\n@@ -1,2 +1,2 @@\n",
		",",
		"\u001b[31m",
		"ERROR ",
		"\ud83d",
		"{",
	]);
}

/** Texts of tools, cut by every strategy. */
export const truncation: Target = {
	name: "truncation",
	draw: (random): TruncationCase => ({
		text: drawOutput(random),
		strategy: pick(random, truncationStrategies),
		locale: pick(random, localeNames),
		focus: pick(random, ["alpha", "error", "line 3", "\ud83d", "(", ""]),
		limit: chance(random, 0.5) ? { maxChars: between(random, 0, 2_000) } : { maxTokens: between(random, 1, 400) },
	}),
	async check({ text, strategy, locale, focus, limit }: TruncationCase) {
		const policy = policyOf({ locale, tokens: exact, truncate: { head_chars: 30, tail_chars: 20 } });
		const archive = await openArchive({ where: "memory" });
		const given = { policy, strategy, focus, archive, ...limit };
		const done = await settle(() => truncateText({ ...given, text }));
		if (done.is === "refused") return "refused";
		const { text: shorter, report } = done.value;
		require(shorter.length <= text.length, "it is never longer");
		requireSame(
			[report.truncated, report.chars.after],
			[shorter !== text, shorter.length],
			"the report tells the sizes",
		);
		if (!report.truncated) return "done";
		if ("maxTokens" in limit) require(countTokens(shorter) <= limit.maxTokens, "it has at most the tokens asked for");
		else if (strategy !== "head_tail")
			require(shorter.length <= limit.maxChars, "it has at most the characters asked for");
		if (report.ref) requireSame((await archive?.get(report.ref))?.text, text, "the original is archived");
		requireSame((await truncateText({ ...given, text: shorter })).text, shorter, "cutting again changes nothing");
		await archive?.close();
		return "done";
	},
};

interface RecallCase {
	readonly text: string;
	readonly part: Readonly<Record<string, unknown>>;
}

const patterns = ["line", "(", "[", "(a+)+$", "^.*$", "\\p{L}", "a{1,1000}{1,1000}", "\ud83d", ".", "$^", ...oddTexts];
const ranges = ["1-3", "3", "-5", "5-", "0-0", "9-1", "1-1e9", "a-b", ...oddTexts];

/** Originals, read in parts. */
export const recall: Target = {
	name: "recall",
	draw(random): RecallCase {
		const part: Record<string, unknown> = {};
		if (chance(random, 0.4)) part.grep = pick(random, patterns);
		if (chance(random, 0.3)) part[pick(random, ["lines", "chars"])] = pick(random, ranges);
		if (chance(random, 0.2)) part[pick(random, ["head", "tail", "context"])] = pick(random, [...oddNumbers, 3, 100]);
		if (chance(random, 0.5)) part.maxTokens = pick(random, [...oddNumbers, 50, 200, 1_000]);
		return { text: drawOutput(random), part };
	},
	async check({ text, part }: RecallCase) {
		const archive = await openArchive({ where: "memory" });
		if (!archive) throw new Error("no archive");
		const [ref] = await archive.put([{ kind: "result", text, toolCallId: "a", toolName: "ls" }]);
		const policy = policyOf({ tokens: exact });
		const done = await settle(() => recallOriginal({ archive, policy, ref, ...part }));
		requireSame((await archive.get(ref as string)).text, text, "the original stays");
		await archive.close();
		if (done.is === "refused" || done.value.kind !== "part") return "refused";
		const { text: shown, tokens, next } = done.value.part;
		requireSame(tokens, countTokens(shown), "it tells the tokens of the part");
		const isWhole = Object.keys(part).every((key) => key === "maxTokens") && next === null;
		if (isWhole) requireSame(shown, text, "the whole original is given");
		return "done";
	},
};
