import type { CountTokens } from "../engine/measure.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Tokens of function schemas as OpenAI's models get them, where all of them are flat: functions whose parameters are no
 * objects themselves. Else `undefined`: nothing is documented of those.
 *
 * Source: OpenAI Cookbook, "How to count tokens with tiktoken", 7, whose numbers are those of GPT-4o (`functionStart` 7)
 * and of GPT-4 (10), and agree with what the API counts.
 */
export function functionTokens(
	tools: unknown,
	{ countTokens, functionStart }: { readonly countTokens: CountTokens; readonly functionStart: 7 | 10 },
): number | undefined {
	if (!Array.isArray(tools)) return undefined;
	let tokens = 0;
	for (const tool of tools as unknown[]) {
		const schema = flatFunction(tool);
		if (!schema) return undefined;
		tokens += functionStart + countTokens(`${schema.name}:${withoutStop(schema.description)}`);
		const properties = Object.entries(schema.properties);
		if (properties.length > 0) tokens += 3;
		for (const [name, { type, description, enum: values }] of properties) {
			tokens += 3 + countTokens(`${name}:${textOf(type)}:${withoutStop(textOf(description))}`);
			if (!Array.isArray(values)) continue;
			tokens += values.reduce((sum: number, value) => sum + 3 + countTokens(textOf(value)), -3);
		}
		tokens += 12;
	}
	return tokens;
}

interface FlatFunction {
	readonly name: string;
	readonly description: string;
	readonly properties: Readonly<Record<string, JsonObject>>;
}

/** A function as Chat Completions wraps it or as Responses has it. */
function flatFunction(tool: unknown): FlatFunction | undefined {
	if (!isObject(tool) || tool.type !== "function") return undefined;
	const { name, description, parameters = {} } = isObject(tool.function) ? tool.function : tool;
	if (typeof name !== "string" || !isObject(parameters)) return undefined;
	const { properties = {} } = parameters;
	if (!isObject(properties)) return undefined;
	const isFlat = (property: unknown) =>
		isObject(property) && ["string", "number", "integer", "boolean"].includes(textOf(property.type));
	if (!Object.values(properties).every(isFlat)) return undefined;
	return { name, description: textOf(description), properties: properties as FlatFunction["properties"] };
}

function isObject(value: unknown): value is JsonObject {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string {
	return typeof value === "string" ? value : "";
}

function withoutStop(text: string): string {
	return text.endsWith(".") ? text.slice(0, -1) : text;
}
