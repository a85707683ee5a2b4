import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import type { Path } from "../../engine/conversation/paths.ts";
import type { ValueEdit } from "../../formats/json-text/edit.ts";
import { objectsOf, stringAt } from "../../formats/json-text/value.ts";

export interface ToolChoice {
	/** The tools that a host may see; empty: all. */
	readonly only: readonly string[];
	readonly except: readonly string[];
	/** The most characters of a tool's description; absent: any number. */
	readonly describeMax?: number | undefined;
}

/** Which tools keep their definitions in the list of a host. The answer for a name never changes while the gateway runs. */
export interface Deferral {
	readonly keeps: (name: string) => boolean;
	/** Remembers a call; `passed`: by the tool that lists the others. */
	readonly called: (name: string, how: { readonly passed: boolean }) => void;
}

export function isLeftOut(name: string, { only, except }: ToolChoice): boolean {
	return (only.length > 0 && !only.includes(name)) || except.includes(name);
}

/** The edits of a result of `tools/list`. `added` are definitions that follow the last tool. */
export function planToolList(
	result: JsonObject,
	{
		path,
		choice,
		added = [],
		isDeferred = () => false,
	}: {
		readonly path: Path;
		readonly choice: ToolChoice;
		readonly added?: readonly unknown[];
		/** Whether another tool tells of a tool, which then is not in the list. */
		readonly isDeferred?: (tool: JsonObject) => boolean;
	},
): readonly ValueEdit[] {
	if (!Array.isArray(result.tools)) return [];
	const list: Path = [...path, "tools"];
	const edits = result.tools.flatMap((tool, index): ValueEdit[] => {
		const { name, description } = isJsonObject(tool) ? tool : {};
		if (isLeftOut(String(name), choice) || (isJsonObject(tool) && isDeferred(tool)))
			return [{ kind: "remove", path: [...list, index] }];
		const shorter = typeof description === "string" ? shorterDescription(description, choice) : undefined;
		if (shorter === undefined) return [];
		return [{ kind: "replace", path: [...list, index, "description"], replacement: shorter }];
	});
	const end = [...list, result.tools.length];
	return [...edits, ...added.map((value): ValueEdit => ({ kind: "insert", path: end, value }))];
}

/** Ends behind the last sentence that fits, else behind the last word. */
function shorterDescription(description: string, { describeMax }: ToolChoice): string | undefined {
	if (describeMax === undefined || description.length <= describeMax) return undefined;
	const start = description.slice(0, describeMax);
	const sentence = /^[\s\S]*[.!?](?=\s)/.exec(description.slice(0, describeMax + 1))?.[0];
	if (sentence !== undefined && sentence.length >= describeMax / 2) return sentence;
	const words = start.slice(0, -1).replace(/\s+\S*$/, "");
	return `${words.toWellFormed().replace(/\ufffd$/, "")}…`;
}

/** The tools in a result of `tools/list`, by name. */
export function listedTools(result: JsonObject): ReadonlyMap<string, JsonObject> {
	return new Map(objectsOf(result.tools).map((tool) => [stringAt(tool, "name") ?? "", tool]));
}
