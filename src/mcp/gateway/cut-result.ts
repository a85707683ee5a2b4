import { isDeepStrictEqual } from "node:util";
import { compactJson, type JsonObject } from "../../engine/conversation/json.ts";
import type { Path } from "../../engine/conversation/paths.ts";
import type { Policy } from "../../engine/policy/schema.ts";
import { type Originals, wordings } from "../../engine/policy/wordings.ts";
import { truncateOutput } from "../../engine/truncation/truncate.ts";
import { PalimpsestError } from "../../errors.ts";
import { spellingsOf, type ValueEdit } from "../../formats/json-text/edit.ts";
import type { TextDocument } from "../../formats/json-text/read.ts";
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
import { type ShownSizes, seenChars, sizesOf, type TextPlace, textsOf } from "./result-texts.ts";
import { planStructured, type StructuredPlan } from "./structured.ts";

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
	/** The message that holds the result. */
	readonly document: TextDocument;
	/** The name of the tool, or of the method. */
	readonly name: string;
	/** The subject that the reader is looking for. */
	readonly focus: string;
	/** Whether structured content may be cut, within the schema of its tool if it has one. */
	readonly cutsStructure: boolean;
	readonly outputSchema?: JsonObject | undefined;
	/** Whether the host shows the model structured content in place of the texts. */
	readonly showsStructure: boolean;
}

export interface CutPlan {
	readonly edits: readonly ValueEdit[];
	/** What the model sees. */
	readonly chars: { readonly before: number; readonly after: number };
	/** The characters of structured content that is over the limit and stays whole. */
	readonly structureKept?: number | undefined;
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
	const places = textsOf(result, path);
	const cut = (text: string, most: number) => cutText(text, { ...limit, most }, { ...answered, hasFailed });
	const ofTexts = await planTexts(places, { limit, cut, policy: answered.policy });
	const before = sizesOf(result);
	const texts = before.texts + ofTexts.lengthChange;
	const { structuredContent } = result;
	const { cutsStructure, document, outputSchema, showsStructure } = answered;
	const seen = (sizes: ShownSizes) => seenChars(sizes, { showsStructure, hasFailed });
	if (!cutsStructure || structuredContent === undefined)
		return { edits: ofTexts.edits, chars: { before: seen(before), after: seen({ ...before, texts }) } };
	const at = [...path, "structuredContent"];
	const raw = spellingsOf(document, [at]).get(at) ?? compactJson(structuredContent);
	const hasCopy = places.some(({ text }) => isSameJson(text, structuredContent));
	const ofStructure = await planStructured(structuredContent, {
		...{ raw, hasCopy, schema: outputSchema, focus: answered.focus },
		check: await limitCheck({ ...limit, most: Math.ceil(limit.most * (hasCopy ? shareOfCopy : 1)) }, answered.policy),
		notices: noticesFor(answered, !answered.archive),
		cut: (text, { mostChars, isJson }) =>
			cutText(text, { kind: "chars", most: mostChars }, { ...answered, hasFailed, isJson }),
		keep: (text) => archived(text, answered),
	});
	const { edit, structured } = structureEdit(ofStructure, at, before.structured);
	return {
		edits: [...ofTexts.edits, ...edit],
		chars: { before: seen(before), after: seen({ texts, structured }) },
		structureKept: ofStructure.kind === "whole" && ofStructure.isTooLarge ? before.structured : undefined,
	};
}

/** Of the limit, for structured content beside its copy as text: some hosts show both. */
const shareOfCopy = 0.4;

function structureEdit(
	plan: StructuredPlan,
	path: Path,
	before: number | undefined,
): { readonly edit: readonly ValueEdit[]; readonly structured: number | undefined } {
	if (plan.kind === "whole") return { edit: [], structured: before };
	if (plan.kind === "left_out") return { edit: [{ kind: "remove", path }], structured: undefined };
	const { json } = plan;
	return { edit: [{ kind: "replace", path, spelling: json, replacement: undefined }], structured: json.length };
}

function isSameJson(text: string, value: unknown): boolean {
	if (!/^\s*[[{]/.test(text)) return false;
	try {
		return isDeepStrictEqual(JSON.parse(text), value);
	} catch {
		return false;
	}
}

/** The plan for a result that no model reads. */
export function uncut(result: JsonObject): CutPlan {
	const chars = seenChars(sizesOf(result), { showsStructure: false, hasFailed: false });
	return { edits: [], chars: { before: chars, after: chars } };
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
	answered: Answered & { readonly hasFailed: boolean; readonly isJson?: boolean | undefined },
): Promise<string | undefined> {
	const { policy, focus, hasFailed, isJson } = answered;
	const check = limit.kind === "chars" ? charsCheck(limit.most) : await limitCheck(limit, policy);
	const { unit, most, countTokens } = check;
	const ref = await archived(text, answered);
	const { text: shorter, leastBudget } = truncateOutput({
		...textLibraries,
		text,
		budget: unit === "chars" ? { unit, max: most } : { unit, max: most, countTokens },
		strategy: isJson ? "json" : cutOfCall(policy, { focus }).strategy,
		focus,
		hasFailed,
		wording: noticesFor(answered, ref === undefined),
		ref,
		headShare: headShareOf(policy),
		keepAnsi: policy.truncate.keep_ansi,
	});
	const isNamed = ref === undefined ? leastBudget === undefined : shorter.includes(ref);
	return isNamed ? shorter : undefined;
}

const noticesFor = ({ policy, recall }: Answered, isLost: boolean) =>
	wordings(policy, isLost ? "not_archived" : recall).notices;

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
