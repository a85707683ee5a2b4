import type { JsonObject } from "../../engine/conversation/json.ts";
import { objectOf, stringAt } from "../../formats/json-text/value.ts";
import type { GatewayState } from "./gateway-state.ts";
import { readersOf } from "./known-tools.ts";
import { isLeftOut } from "./tool-list.ts";
import { findTools } from "./tool-search.ts";

/** What a model asks for by the tool that lists the others. */
export type MoreAsked =
	| { readonly kind: "find"; readonly words: string }
	| { readonly kind: "call"; readonly name: string; readonly given: unknown };

/** A host has to know a tool with a page, and one that only runs as a task. */
function isDeferrable(tool: JsonObject): boolean {
	return readersOf(tool) === "model" && objectOf(tool.execution).taskSupport !== "required";
}

export function moreAsked(given: JsonObject): MoreAsked {
	const call = objectOf(given.call);
	const name = stringAt(call, "name");
	if (name !== undefined) return { kind: "call", name, given: call.arguments ?? {} };
	return { kind: "find", words: [stringAt(given, "name"), stringAt(given, "query")].filter(Boolean).join(" ") };
}

/** The definition of the tool that lists the others: a line for each. */
export function moreDefinition(name: string, deferred: readonly JsonObject[]): JsonObject {
	const lines = deferred.map((tool) => `\n${shortLine(tool)}`);
	return {
		name,
		description: `${deferred.length} more tools, listed below. With \`query\` (plain words) or \`name\`: their full definitions. With \`call\`: calls one.${lines.join("")}`,
		inputSchema: {
			type: "object",
			properties: {
				query: { type: "string", description: "What the tool should do." },
				name: { type: "string" },
				call: {
					type: "object",
					properties: { name: { type: "string" }, arguments: { type: "object" } },
					required: ["name"],
				},
			},
		},
	};
}

/** In bytes of UTF-8, so that a line has at most 20 tokens. */
const longestLine = 56;

/** The name and the first clause of the description. */
function shortLine(tool: JsonObject): string {
	const name = stringAt(tool, "name") ?? "";
	const [clause = ""] = (stringAt(tool, "description") ?? "").trim().split(/[.;:\n,(]| - |。|，/);
	let line = name;
	for (const [index, word] of clause.split(/\s+/).entries()) {
		const longer = `${line}${index === 0 ? ": " : " "}${word}`;
		if (word === "" || Buffer.byteLength(longer) > longestLine) break;
		line = longer;
	}
	return line;
}

/** The definitions that fit the words best, as a text for the model. */
export function foundText(words: string, deferred: readonly JsonObject[]): string {
	const found = findTools(words, deferred);
	if (found.length === 0) {
		const names = deferred.map((tool) => stringAt(tool, "name")).join(", ");
		return `No tool was found by these words. The names are: ${names}`;
	}
	return found.map((tool) => JSON.stringify(tool)).join("\n");
}

/** Whether a list is shorter with the tool that lists the others. */
export function isShorter(more: JsonObject, deferred: readonly JsonObject[]): boolean {
	return JSON.stringify(more).length < JSON.stringify(deferred).length;
}

type Listing = Pick<GatewayState, "options" | "tools">;

export function deferredBy({ options }: Listing): (tool: JsonObject) => boolean {
	const { deferral, choice } = options;
	return (tool) => {
		const name = stringAt(tool, "name") ?? "";
		return isDeferrable(tool) && deferral !== undefined && !deferral.keeps(name) && !isLeftOut(name, choice);
	};
}

/** The tools that the server has listed and the host does not get. */
export const deferredTools = (state: Listing): readonly JsonObject[] => state.tools.all().filter(deferredBy(state));
