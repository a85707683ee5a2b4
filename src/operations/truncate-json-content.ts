import { parseJsonObject } from "../conversation/json.ts";
import { applySplices } from "../json-text/edit.ts";
import { locateValues, pathTree } from "../json-text/locate.ts";
import { type HeadTailLimits, type RefOf, type Truncation, truncateHeadTail } from "../truncation/head-tail.ts";

const flag = "_truncated";

/**
 * docs/specs/robustness.md#large-results; all but `content` stays to the byte. `undefined` for texts that are no
 * object.
 */
export function truncateJsonContent(
	text: string,
	limits: HeadTailLimits,
	refOf: RefOf = () => undefined,
): Truncation | undefined {
	if (text.length <= limits.maxChars) return undefined;
	const object = parseJsonObject(text);
	if (!object) return undefined;
	const whole = { text, truncated: false, originalChars: text.length, omittedChars: 0, omitted: undefined };
	const { content } = object;
	if (typeof content !== "string" || object[flag] === true) return whole;

	// The flag takes room too; a spelling with escapes may take more, so that less is kept until it is shorter.
	for (let maxChars = limits.maxChars; maxChars >= 0; maxChars = Math.floor(maxChars * 0.98) - 40) {
		const cut = truncateHeadTail(content, { ...limits, maxChars }, () => refOf(text));
		if (!cut.truncated) return whole;
		if (cut.leastLimit !== undefined) return maxChars === limits.maxChars ? { ...cut, text } : whole;
		const written = write(text, cut.text, Object.hasOwn(object, flag));
		const { omittedChars } = cut;
		if (written.length < text.length) return { ...whole, text: written, truncated: true, omittedChars };
	}
	return whole;
}

function write(text: string, content: string, hasFlag: boolean): string {
	const tree = pathTree([["content"], ...(hasFlag ? [[flag]] : [])]);
	const whole = locateValues(text, 0, tree);
	const place = tree.children.get("content")?.span;
	if (!place) throw new Error("Expected `content` where it was read.");
	const isSpaced = /\s/.test(text.charAt(place.start - 1));
	const end = text.slice(0, whole.end - 1).trimEnd().length;
	const marked = tree.children.get(flag)?.span;
	const splices = [
		{ ...place, replacement: JSON.stringify(content) },
		marked
			? { ...marked, replacement: "true" }
			: { start: end, end, replacement: isSpaced ? `, "${flag}": true` : `,"${flag}":true` },
	];
	splices.sort((a, b) => a.start - b.start);
	return applySplices(text, splices);
}
