import { compactJson, type JsonObject } from "../../engine/conversation/json.ts";
import { type Path, valueAt } from "../../engine/conversation/paths.ts";
import type { ValueEdit } from "../../formats/json-text/edit.ts";
import { membersOf, type OpenValue, pathOf } from "../../formats/json-text/value.ts";
import { fairShares } from "../../hosts/hook-answers.ts";
import type { LimitCheck } from "../../operations/truncation-limit.ts";

interface StructuredCut {
	readonly edits: readonly ValueEdit[];
	/** In characters of its JSON. */
	readonly lengthChange: number;
	/** Whether it is over the limit and stays unchanged. */
	readonly isTooLarge: boolean;
}

const unchanged: StructuredCut = { edits: [], lengthChange: 0, isTooLarge: false };

/** In characters. A string that is cut to less says little more than that it was cut. */
const leastString = 500;

/**
 * Cuts the long strings in structured content, never its shape: a client checks it by the schema of its tool. If that is not
 * enough for the limit, or the schema refuses a cut string, all of it stays.
 */
export async function planStructured(
	content: unknown,
	how: {
		readonly path: Path;
		readonly check: LimitCheck;
		readonly schema: JsonObject | undefined;
		readonly cut: (text: string, mostChars: number) => Promise<string | undefined>;
	},
): Promise<StructuredCut> {
	const { path, check, schema, cut } = how;
	if (typeof content !== "object" && typeof content !== "string") return unchanged;
	const json = compactJson(content);
	// No token is shorter than a byte, and no character is longer than three.
	if (json.length * (check.unit === "chars" ? 1 : 3) <= check.most || check.fits(json)) return unchanged;
	const tooLarge: StructuredCut = { ...unchanged, isTooLarge: true };
	const mostChars = check.unit === "chars" ? check.most : charsOfTokens(json, check);
	const strings = longStrings(content);
	// Escapes in the strings do not count.
	const around = strings.reduce((left, { text }) => left - (JSON.stringify(text).length - 2), json.length);
	const lengths = strings.map(({ text }) => text.length);
	if (around + lengths.reduce((sum, length) => sum + length, 0) <= mostChars) return unchanged;
	if (around > mostChars) return tooLarge;
	const shares = fairShares(lengths, mostChars - around);
	const isCut = (share: number, index: number) => share < (lengths[index] as number);
	if (shares.some((share, index) => isCut(share, index) && share < leastString)) return tooLarge;
	const shortened = await Promise.all(
		strings.map(({ text }, index) => {
			const share = shares[index] as number;
			return isCut(share, index) ? cut(text, share) : undefined;
		}),
	);
	let lengthChange = 0;
	const edits: ValueEdit[] = [];
	for (const [index, { at, text }] of strings.entries()) {
		const replacement = shortened[index];
		if (replacement === undefined) {
			if (isCut(shares[index] as number, index)) return tooLarge;
			continue;
		}
		lengthChange += JSON.stringify(replacement).length - JSON.stringify(text).length;
		edits.push({ kind: "replace", path: [...path, ...at], replacement });
	}
	return schema === undefined || (await fits(content, schema, { edits, path }))
		? { edits, lengthChange, isTooLarge: false }
		: tooLarge;
}

/** The characters that a limit in tokens has room for, of a text like this one. */
function charsOfTokens(json: string, { most, countTokens }: LimitCheck): number {
	const sample = json.slice(0, sampledChars);
	return Math.floor((most * sample.length) / Math.max(1, countTokens(sample)));
}

const sampledChars = 100_000;

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

async function fits(
	content: unknown,
	schema: JsonObject,
	{ edits, path }: { readonly edits: readonly ValueEdit[]; readonly path: Path },
): Promise<boolean> {
	const { fitsOutputSchema } = await import("../output-schema.ts");
	try {
		const cut = structuredClone({ content });
		for (const edit of edits) {
			const at = ["content", ...edit.path.slice(path.length)];
			const holder = valueAt(cut, at.slice(0, -1)) as Record<string | number, unknown>;
			holder[at.at(-1) as string | number] = edit.replacement;
		}
		return fitsOutputSchema(cut.content, schema);
	} catch (error) {
		// Nested too deep to be copied.
		if (error instanceof RangeError || error instanceof DOMException) return false;
		throw error;
	}
}
