import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import type { Path } from "../../engine/conversation/paths.ts";
import { fillTemplate } from "../../engine/masking/template.ts";
import type { NoticeWordings } from "../../engine/policy/wordings.ts";
import { focusWords } from "../../engine/truncation/focus.ts";
import { jsonSpans } from "../../engine/truncation/json-spans.ts";
import { type ValueEdit, writeValues } from "../../formats/json-text/edit.ts";
import { membersOf, type OpenValue, pathOf } from "../../formats/json-text/value.ts";
import { fairShares } from "../../hosts/hook-answers.ts";
import type { LimitCheck } from "../../operations/truncation-limit.ts";
import type { Misfits } from "../output-schema.ts";
import { noticePlaces } from "./notice-places.ts";
import { patternAt, type ShapeGap, shortenShape } from "./shape-cut.ts";

export type StructuredPlan =
	| { readonly kind: "whole"; readonly isTooLarge: boolean }
	| { readonly kind: "left_out" }
	/** `json` is the whole content. */
	| { readonly kind: "cut"; readonly json: string };

interface Structure {
	/** The content as it is spelled. */
	readonly raw: string;
	readonly check: LimitCheck;
	readonly schema: JsonObject | undefined;
	/** Whether a text of the result is the same JSON. */
	readonly hasCopy: boolean;
	readonly focus: string;
	readonly notices: NoticeWordings;
	/** Shortens a text, or as JSON; with a notice. `undefined` if there is no room for it. */
	readonly cut: (
		text: string,
		how: { readonly mostChars: number; readonly isJson?: boolean },
	) => Promise<string | undefined>;
	/** Archives a text. The reference; `undefined` without an archive. */
	readonly keep: (text: string) => Promise<string | undefined>;
}

const whole: StructuredPlan = { kind: "whole", isTooLarge: false };
const tooLarge: StructuredPlan = { kind: "whole", isTooLarge: true };

/** Times that a shorter form is tried: each finds values that the schema wants whole, or that the estimate was too high. */
const mostTries = 6;
/** A form that is not shorter than this share of the content is not worth its gaps. */
const leastSaving = 0.75;
/** For the notice, in characters. */
const noticeRoom = 300;

/**
 * Shortens structured content, which some hosts show to the model in place of the texts. Within the schema of its tool, long
 * texts lose their middle and lists items; it stays whole where that does not fit the schema, or where no place is left for
 * the notice. Without a schema a copy of the text goes, and other content is cut as JSON.
 */
export async function planStructured(content: unknown, how: Structure): Promise<StructuredPlan> {
	const { raw, check, schema, hasCopy, cut } = how;
	// No token is shorter than a byte, and no character is longer than three.
	if (raw.length * (check.unit === "chars" ? 1 : 3) <= check.most || check.fits(raw)) return whole;
	const mostChars = check.unit === "chars" ? check.most : charsOfTokens(raw, check);
	if (typeof content === "string") {
		const text = await cut(content, { mostChars });
		if (text === undefined) return tooLarge;
		return !schema || (await fits(text, schema)) ? { kind: "cut", json: JSON.stringify(text) } : tooLarge;
	}
	if (!schema && hasCopy) return { kind: "left_out" };
	const misfits = schema ? (await import("../output-schema.ts")).outputChecker(schema) : () => [];
	const shorter = await cutTexts(content, { ...how, mostChars, misfits });
	if (shorter) return shorter;
	if (schema) return cutShape({ ...how, mostChars, misfits });
	const json = await cut(raw, { mostChars, isJson: true });
	return json !== undefined && isSameKind(json, content) ? { kind: "cut", json } : tooLarge;
}

interface Cutting extends Structure {
	readonly mostChars: number;
	readonly misfits: (content: unknown) => Misfits;
}

async function fits(content: unknown, schema: JsonObject): Promise<boolean> {
	const { outputChecker } = await import("../output-schema.ts");
	return outputChecker(schema)(content)?.length === 0;
}

function isSameKind(json: string, content: unknown): boolean {
	const value = parsed(json);
	return typeof value === "object" && value !== null && Array.isArray(value) === Array.isArray(content);
}

function parsed(json: string): unknown {
	try {
		return JSON.parse(json);
	} catch {
		return undefined;
	}
}

/** The characters that a limit in tokens has room for, of a text like this one. */
function charsOfTokens(json: string, { most, countTokens }: LimitCheck): number {
	const sample = json.slice(0, sampledChars);
	return Math.floor((most * sample.length) / Math.max(1, countTokens(sample)));
}

const sampledChars = 100_000;
/** In characters. A string that is cut to less says little more than that it was cut. */
const leastString = 500;

/** Cuts long texts by their structure and focus, each with a notice of its own. `undefined` if that is not enough, or does not fit. */
async function cutTexts(
	content: unknown,
	{ raw, mostChars, cut, misfits }: Cutting,
): Promise<StructuredPlan | undefined> {
	const strings = longStrings(content);
	// Escapes in the strings do not count.
	const around = strings.reduce((left, { text }) => left - (JSON.stringify(text).length - 2), raw.length);
	if (around > mostChars) return undefined;
	const lengths = strings.map(({ text }) => text.length);
	const shares = fairShares(lengths, mostChars - around);
	const isCut = (share: number, index: number) => share < (lengths[index] as number);
	if (shares.some((share, index) => isCut(share, index) && share < leastString)) return undefined;
	const shortened = await Promise.all(
		strings.map(async ({ at, text }, index) => {
			const share = shares[index] as number;
			return isCut(share, index) ? { at, text: await cut(text, { mostChars: share }) } : undefined;
		}),
	);
	const edits: ValueEdit[] = [];
	for (const one of shortened) {
		if (one && one.text === undefined) return undefined;
		if (one) edits.push({ kind: "replace", path: one.at, replacement: one.text });
	}
	if (edits.length === 0) return undefined;
	const json = written(raw, content, edits);
	return misfits(JSON.parse(json))?.length === 0 ? { kind: "cut", json } : undefined;
}

const written = (text: string, value: unknown, edits: readonly ValueEdit[]): string =>
	writeValues({ text, kind: "json", value, roots: [{ start: 0, end: text.length }] }, edits);

/** In order. No recursion and no path for each value, since the depth is untrusted. */
function longStrings(content: unknown): { readonly at: Path; readonly text: string }[] {
	const found: { readonly at: Path; readonly text: string }[] = [];
	const open: OpenValue[] = [{ value: content, key: "", parent: undefined }];
	for (let place = open.pop(); place; place = open.pop()) {
		const { value } = place;
		if (typeof value === "string" && value.length > leastString) found.push({ at: pathOf(place), text: value });
		if (typeof value !== "object" || value === null) continue;
		for (const [key, member] of membersOf(value).reverse()) {
			if (typeof member === "string" || (typeof member === "object" && member !== null))
				open.push({ value: member, key, parent: place });
		}
	}
	return found;
}

/** Leaves out items of lists and the middle of texts, with one notice. A part that the schema refuses when it is cut is tried whole. */
async function cutShape(cutting: Cutting): Promise<StructuredPlan> {
	const { raw, mostChars, check, misfits, focus, notices, keep } = cutting;
	const spans = jsonSpans(raw, { isLines: false });
	if (!spans) return tooLarge;
	const kept = new Set<string>();
	const shapeOf = (wholePlaces: ReadonlySet<string>) =>
		shortenShape({ spans, focus: focusWords(focus), whole: wholePlaces, inside: notices.inside });
	let shorten = shapeOf(kept);
	let room = mostChars - noticeRoom;
	for (let tries = 0; tries < mostTries; tries += 1) {
		const { text, gaps } = shorten(Math.max(2, room));
		if (gaps.length === 0 || text.length > raw.length * leastSaving) return tooLarge;
		const value = JSON.parse(text) as unknown;
		const wrong = misfits(JSON.parse(withoutTexts(text, value, gaps)));
		if (wrong === undefined || wrong.includes("")) return tooLarge;
		if (wrong.length > 0) {
			for (const pointer of wrong) kept.add(patternAt(value, pointer));
			shorten = shapeOf(kept);
			continue;
		}
		const size = check.sizeOf(text);
		const most = check.unit === "chars" ? check.most - noticeRoom : check.most - noticeRoom / 3;
		if (size > most && tries < mostTries - 2 && room > 200) {
			room = Math.floor((room * most * 0.97) / size);
			continue;
		}
		const ref = await keep(raw);
		const notice = noticeOf(gaps, { raw, text, notices, ref });
		const json = withNotice({ text, value, notice, gaps, misfits });
		return json === undefined ? tooLarge : { kind: "cut", json };
	}
	return tooLarge;
}

/** A text that may only be of some form is for a program: it stays whole if the schema refuses another one in its place. */
function withoutTexts(text: string, value: unknown, gaps: readonly ShapeGap[]): string {
	const edits = gaps.flatMap(({ kind, path }): ValueEdit[] =>
		kind === "text" ? [{ kind: "replace", path, replacement: "[…]".padEnd(shortestText, "…") }] : [],
	);
	return edits.length === 0 ? text : written(text, value, edits);
}

/** No schema asks for a length that a cut text does not have. */
const shortestText = 200;

const mostNamedGaps = 4;

function noticeOf(
	gaps: readonly ShapeGap[],
	{
		raw,
		text,
		notices,
		ref,
	}: {
		readonly raw: string;
		readonly text: string;
		readonly notices: NoticeWordings;
		readonly ref: string | undefined;
	},
): string {
	const named = gaps.flatMap((gap) => {
		if (gap.kind === "text") return [];
		const { path, omitted, total } = gap;
		const name = path.filter((segment) => typeof segment === "string").join(".");
		const counted = fillTemplate(gap.kind === "list" ? notices.items : notices.keys, { omitted, total });
		return [name === "" ? counted : `${name}: ${counted}`];
	});
	const sizes = { omitted_chars: raw.length - text.length, total_chars: raw.length };
	const template = ref === undefined ? notices.whole : notices.wholeArchived;
	return [fillTemplate(template, { ...sizes, ref: ref ?? "" }), ...named.slice(0, mostNamedGaps)].join(" ");
}

/** The name of the member that tells of gaps, as in shortened JSON that is text. */
const noticeName = "_truncated";

/** The first place for the notice that fits the schema; `undefined` if there is none. */
function withNotice(found: {
	readonly text: string;
	readonly value: unknown;
	readonly notice: string;
	readonly gaps: readonly ShapeGap[];
	readonly misfits: (content: unknown) => Misfits;
}): string | undefined {
	const { text, value, notice, gaps, misfits } = found;
	const isFit = (json: string) => misfits(JSON.parse(json))?.length === 0;
	if (isJsonObject(value) && !Object.hasOwn(value, noticeName)) {
		const rest = Object.keys(value).length === 0 ? "}" : `,${text.slice(1)}`;
		const json = `{${JSON.stringify(noticeName)}:${JSON.stringify(notice)}${rest}`;
		if (isFit(json)) return json;
	}
	for (const edit of noticePlaces(value, { gaps, notice })) {
		const json = written(text, value, [edit]);
		if (isFit(json)) return json;
	}
	return undefined;
}
