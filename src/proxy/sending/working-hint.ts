import { isJsonObject } from "../../engine/conversation/json.ts";
import type { ToolResult } from "../../engine/conversation/transcript.ts";
import { locales } from "../../engine/policy/wordings.ts";
import { type PlacedValue, type ResultState, valueEdits } from "./states.ts";

/**
 * The edits that put a state in. A fork of a session, such as a subagent with its history, may lack the tool that a hint of
 * the session names: the hint then names the first way that works in this request, or goes. The state stays, since the
 * session goes on with it; the fork's other tools stand before its messages, so a changed hint breaks no cache and no signed reasoning.
 */
export function workingEdits(
	{ values, ref }: Pick<ResultState, "values" | "ref">,
	result: ToolResult,
	ways: readonly string[] | undefined,
): PlacedValue[] {
	const edits = valueEdits(values, result);
	if (!ways) return edits;
	return edits.map((edit) => {
		const replacement = mapStrings(edit.replacement, (text) => withWorkingHint(text, ways, ref));
		return replacement === edit.replacement ? edit : { ...edit, replacement };
	});
}

const hints = Object.values(locales).map(({ recall_hint: hint }) => {
	const [before = "", after = ""] = hint.split("recall_original");
	const quoted = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
	return {
		before,
		after,
		pattern: new RegExp(`${quoted(before)}(\`[^\`\\n]+\`|[\\w.:/-]*recall_original)${quoted(after)}`),
	};
});

function withWorkingHint(text: string, ways: readonly string[], ref: string | undefined): string {
	const hint = hints.find(({ before }) => text.includes(before));
	if (!hint) return text;
	return text.replace(hint.pattern, (whole, named: string) => {
		const isCommand = (way: string) => way.startsWith("`");
		if (ways.some((way) => way === named || (isCommand(way) && isCommand(named)))) return whole;
		const way = ways.find((one) => ref !== undefined || !isCommand(one));
		return way === undefined ? "" : `${hint.before}${way.replace("{ref}", ref ?? "")}${hint.after}`;
	});
}

/** A value with no changed string is the same value, by which a grown request is written fast. */
function mapStrings(value: unknown, map: (text: string) => string): unknown {
	if (typeof value === "string") return map(value);
	if (Array.isArray(value)) {
		const items = value.map((item) => mapStrings(item, map));
		return items.every((item, index) => item === value[index]) ? value : items;
	}
	if (!isJsonObject(value)) return value;
	const members = Object.entries(value).map(([key, member]) => [key, mapStrings(member, map)] as const);
	return members.every(([key, member]) => member === value[key]) ? value : Object.fromEntries(members);
}
