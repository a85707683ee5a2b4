import type { JsonObject } from "../../engine/conversation/json.ts";
import type { Path } from "../../engine/conversation/paths.ts";
import type { Policy } from "../../engine/policy/schema.ts";
import { type Originals, wordings } from "../../engine/policy/wordings.ts";
import { truncateOutput } from "../../engine/truncation/truncate.ts";
import { PalimpsestError } from "../../errors.ts";
import type { ValueEdit } from "../../formats/json-text/edit.ts";
import { fairShares } from "../../hosts/hook-answers.ts";
import { textLibraries } from "../../operations/text-libraries.ts";
import {
	charsCheck,
	cutOfCall,
	type ExcerptLimit,
	headShareOf,
	limitCheck,
} from "../../operations/truncation-limit.ts";
import type { Keeping } from "./allowance.ts";
import { ownId } from "./own-recall.ts";
import { charsOf, type TextPlace, textsOf } from "./result-texts.ts";
import { planStructured } from "./structured.ts";

export interface CutOptions {
	readonly policy: Policy;
	/** In place of the policy's limit. */
	readonly maxTokens?: number | undefined;
	readonly archive: Keeping | undefined;
	/** The server, by a name that is the same in every run. */
	readonly owner: string;
	/** How the reader of a notice finds the original. */
	readonly recall: Originals;
}

interface Answered extends CutOptions {
	/** The name of the tool, or of the method. */
	readonly name: string;
	/** The subject that the reader is looking for. */
	readonly focus: string;
	/** Whether structured content may be cut, within the schema of its tool if it has one. */
	readonly cutsStructure: boolean;
	readonly outputSchema?: JsonObject | undefined;
}

export interface CutPlan {
	readonly edits: readonly ValueEdit[];
	readonly chars: { readonly before: number; readonly after: number };
	/** Whether the structured content is over the limit and cannot be cut to it without losing its shape. */
	readonly keepsStructure: boolean;
}

export function limitOf({ policy, maxTokens }: Pick<CutOptions, "policy" | "maxTokens">): ExcerptLimit {
	const { limit } = cutOfCall(policy, { maxTokens, focus: "" });
	return limit.kind === "head_tail" ? { kind: "chars", most: limit.maxChars } : limit;
}

/**
 * Plans the edits of a result of `tools/call` or `resources/read` at a path. Each text that is cut is archived first. Throws
 * PalimpsestError `archive_unavailable` unless the policy says otherwise; then nothing may be cut.
 */
export async function planCut(result: JsonObject, path: Path, answered: Answered): Promise<CutPlan> {
	const limit = limitOf(answered);
	const hasFailed = result.isError === true;
	const cut = (text: string, most: number) => cutText(text, { ...limit, most }, { ...answered, hasFailed });
	const ofTexts = await planTexts(textsOf(result, path), { limit, cut, policy: answered.policy });
	const structured = answered.cutsStructure ? result.structuredContent : undefined;
	const ofStructure = await planStructured(structured, {
		path: [...path, "structuredContent"],
		check: await limitCheck(limit, answered.policy),
		schema: answered.outputSchema,
		cut: (text, most) => cutText(text, { kind: "chars", most }, { ...answered, hasFailed }),
	});
	const before = charsOf(result);
	const after = before + ofTexts.lengthChange + ofStructure.lengthChange;
	return {
		edits: [...ofTexts.edits, ...ofStructure.edits],
		chars: { before, after },
		keepsStructure: ofStructure.isTooLarge,
	};
}

/** The plan for a result that no model reads. */
export function uncut(result: JsonObject): CutPlan {
	const chars = charsOf(result);
	return { edits: [], chars: { before: chars, after: chars }, keepsStructure: false };
}

/** A text that is cut to less says little more than that it was cut. */
const leastShare = { chars: 1_000, tokens: 250 } as const;

interface TextCuts {
	readonly edits: readonly ValueEdit[];
	readonly lengthChange: number;
}

interface TextCutting {
	readonly limit: ExcerptLimit;
	readonly cut: (text: string, most: number) => Promise<string | undefined>;
	readonly policy: Policy;
}

const noCuts: TextCuts = { edits: [], lengthChange: 0 };

/** The texts share the limit. */
async function planTexts(texts: readonly TextPlace[], cutting: TextCutting): Promise<TextCuts> {
	const { limit, cut, policy } = cutting;
	const { kind, most } = limit;
	const chars = texts.reduce((sum, { text }) => sum + text.length, 0);
	// No token is shorter than a byte, so that most results need no tokenizer.
	if (chars * (kind === "chars" ? 1 : 3) <= most) return noCuts;
	// None is smaller than one, so these need not be counted.
	if (texts.filter(({ text }) => text !== "").length > most) return planAsOne(texts, cutting);
	const check = await limitCheck(limit, policy);
	const sizes = texts.map(({ text }) => (check.fits(text) ? check.sizeOf(text) : most + 1));
	if (sizes.reduce((sum, size) => sum + size, 0) <= most) return noCuts;
	const shares = fairShares(sizes, most);
	const isCut = (share: number, index: number) => share < (sizes[index] as number);
	if (texts.length > 1 && shares.some((share, index) => isCut(share, index) && share < leastShare[kind]))
		return planAsOne(texts, cutting);
	const planned = await Promise.all(
		texts.map(async ({ path, text }, index) => {
			const share = shares[index] as number;
			const replacement = isCut(share, index) ? await cut(text, share) : undefined;
			return replacement === undefined ? [] : [{ path, text, replacement }];
		}),
	);
	return {
		edits: planned.flat().map(({ path, replacement }) => ({ kind: "replace", path, replacement })),
		lengthChange: planned.flat().reduce((sum, { text, replacement }) => sum + replacement.length - text.length, 0),
	};
}

/** Cuts many texts as one, which takes the place of the first that is no resource. Images and the like stay where they are. */
async function planAsOne(texts: readonly TextPlace[], { limit, cut }: TextCutting): Promise<TextCuts> {
	const whole = texts.map(({ text, uri }) => (uri === undefined ? text : `${uri}\n${text}`)).join("\n");
	const replacement = await cut(whole, limit.most);
	if (replacement === undefined) return noCuts;
	const first = texts.find(({ uri }) => uri === undefined) ?? (texts[0] as TextPlace);
	const removed = texts.flatMap((one): ValueEdit[] => (one === first ? [] : [{ kind: "remove", path: one.item }]));
	const before = texts.reduce((sum, { text }) => sum + text.length, 0);
	return {
		edits: [{ kind: "replace", path: first.path, replacement }, ...removed],
		lengthChange: replacement.length - before,
	};
}

/** `undefined` if the limit leaves no room to name the original. */
async function cutText(
	text: string,
	limit: ExcerptLimit,
	answered: Answered & { readonly hasFailed: boolean },
): Promise<string | undefined> {
	const { policy, focus, hasFailed } = answered;
	const check = limit.kind === "chars" ? charsCheck(limit.most) : await limitCheck(limit, policy);
	const { unit, most, countTokens } = check;
	const ref = await archived(text, answered);
	const { text: shorter, leastBudget } = truncateOutput({
		...textLibraries,
		text,
		budget: unit === "chars" ? { unit, max: most } : { unit, max: most, countTokens },
		strategy: cutOfCall(policy, { focus }).strategy,
		focus,
		hasFailed,
		wording: wordings(policy, ref === undefined ? "not_archived" : answered.recall).notices,
		ref,
		headShare: headShareOf(policy),
		keepAnsi: policy.truncate.keep_ansi,
	});
	const isNamed = ref === undefined ? leastBudget === undefined : shorter.includes(ref);
	return isNamed ? shorter : undefined;
}

async function archived(text: string, { archive, owner, name, policy }: Answered): Promise<string | undefined> {
	if (archive === undefined) return undefined;
	try {
		const toolCallId = ownId(owner, archive.refOf(text));
		const [ref] = await archive.put([{ kind: "result", text, toolCallId, toolName: name }]);
		return ref;
	} catch (error) {
		const isLost = error instanceof PalimpsestError && error.code === "archive_unavailable";
		if (!isLost || policy.on_archive_failure !== "mask_without_recall") throw error;
		return undefined;
	}
}
