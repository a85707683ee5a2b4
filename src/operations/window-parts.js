import { compactJson, isJsonObject } from "../engine/conversation/json.js";
import { groupBy } from "../engine/conversation/lists.js";
import { measure, sizeOf, sizeOfResult } from "../engine/conversation/measure.js";
import { addSizes, noSize, startSum } from "../engine/conversation/plan.js";
import { locateCallArguments } from "../engine/conversation/turns.js";
import { cleanValue } from "../engine/masking/placeholder.js";
import { objectOf, stringAt } from "../formats/json-text/value.js";
import { partsOfWindow } from "./window-words.js";
/**
 * Splits what fills a window into parts, which add up to the tokens of the request. Names of tools and servers are cleaned, as they
 * are untrusted.
 */
export function splitWindow(window) {
	const { transcript, meter, requestOverhead, isRequest, scaled } = window;
	const { countTokens } = meter;
	const sums = new Map(partsOfWindow.map((part) => [part, startSum()]));
	const sumOf = (part) => sums.get(part);
	const surroundings = transcript.surroundings.map((text) => ({ text, tools: toolsIn(text) }));
	for (const { text, tools } of surroundings) sumOf(tools ? "tools" : "system_prompt").add(sizeOf(text, countTokens));
	sumOf("tools").add({ chars: 0, tokens: requestOverhead, fixed: requestOverhead });
	const { rests, groups } = splitResults(window);
	for (const [index, message] of transcript.messages.entries()) {
		const rest = rests[index];
		if (message.sent === false || !rest) continue;
		for (const { part, text } of textsApart(message)) {
			const size = sizeOf(text, countTokens);
			sumOf(part).add(size);
			rest.subtract(size);
		}
		sumOf(partOfRole[message.role]).add(rest.total());
	}
	sumOf("tool_results").add(groups.map(({ size }) => size).reduce(addSizes, noSize));
	const tokens = scaled(partsOfWindow.map((part) => sumOf(part).total()));
	const [ofGroups, freed] = [
		scaled(groups.map(({ size }) => size)),
		groups.map(({ frees }) => scaled([frees])[0] ?? 0),
	];
	const byTool = groups.map(({ name, count }, index) => {
		return { name, count, tokens: ofGroups[index] ?? 0, freed_tokens: freed[index] ?? 0 };
	});
	const tools = surroundings.flatMap((one) => one.tools ?? []);
	const isThere = {
		system_prompt:
			surroundings.some((one) => one.tools === undefined) || transcript.messages.some(({ role }) => role === "system"),
		tools: surroundings.some((one) => one.tools !== undefined),
	};
	return partsOfWindow.flatMap((part, index) => {
		const own = tokens[index] ?? 0;
		const isAbsent = (part === "system_prompt" || part === "tools") && !isThere[part];
		if (isAbsent && !isRequest) return [{ part, tokens: null, groups: [] }];
		if (part === "other" && own === 0) return [];
		const parted = part === "tools" ? byServer(tools, own, countTokens) : part === "tool_results" ? byTool : [];
		return [{ part, tokens: own, groups: parted.toSorted((a, b) => b.tokens - a.tokens) }];
	});
}
const partOfRole = {
	system: "system_prompt",
	user: "people",
	assistant: "assistant",
	tool: "tool_results",
	other: "other",
};
/** The sizes of messages without their results, and the results by tool. */
function splitResults({ transcript, paired, meter, sentAs }) {
	const rests = measure(transcript, meter).messages.map((size) => startSum(size));
	const groups = new Map();
	for (const [place, { result, call, message }] of paired.entries()) {
		const holder = transcript.messages[message];
		const rest = rests[message];
		if (!holder || !rest || holder.sent === false) continue;
		const own = sizeWithMedia(result, meter.countTokens);
		const { size, frees } = sentAs?.(place, own) ?? { size: own, frees: noSize };
		const name = cleanValue(call?.name ?? "") || null;
		const group = groups.get(name) ?? { size: startSum(), frees: startSum(), count: 0 };
		groups.set(name, group);
		group.size.add(size);
		group.frees.add(frees);
		group.count += 1;
		rest.subtract(own);
		const isAlone = holder.role === "tool" || holder.counted.every((text) => text === "");
		if (!isAlone || holder.results.at(-1) !== result) continue;
		// What frames results, such as the role of their message, counts with them.
		group.size.add(rest.total());
		rests[message] = startSum();
	}
	return {
		rests,
		groups: Array.from(groups, ([name, { size, frees, count }]) => {
			return { name, count, size: size.total(), frees: frees.total() };
		}),
	};
}
/** The size of a result, with its media. */
export function sizeWithMedia(result, countTokens) {
	const { chars, tokens } = sizeOfResult(result, countTokens);
	const fixed = result.media.reduce((sum, media) => sum + media.tokens, 0);
	return { chars, tokens: tokens + fixed, fixed };
}
/** The texts of a message that are not words of its role: reasoning, names and arguments of calls. */
function textsApart(message) {
	const { counted, thinking } = message;
	const found = new Map();
	for (const place of locateCallArguments(message)) {
		if (place !== undefined) found.set(place - 1, "calls").set(place, "calls");
	}
	for (const { text } of thinking) {
		const place = text === "" ? -1 : counted.findIndex((one, index) => one === text && !found.has(index));
		if (place >= 0) found.set(place, "reasoning");
	}
	return Array.from(found, ([place, part]) => ({ part, text: counted[place] ?? "" }));
}
function byServer(tools, whole, countTokens) {
	const groups = Array.from(
		groupBy(tools, ({ server }) => server),
		([name, own]) => ({
			name,
			count: own.length,
			weight: own.reduce((sum, { value }) => sum + countTokens(compactJson(value)), 0),
		}),
	);
	const all = groups.reduce((sum, { weight }) => sum + weight, 0) || 1;
	let before = 0;
	let given = 0;
	return groups.map(({ name, count, weight }) => {
		before += weight;
		const tokens = Math.round((whole * before) / all) - given;
		given += tokens;
		return { name, count, tokens, freed_tokens: 0 };
	});
}
/** The tools that a text beside the messages declares; `undefined` for a text that declares none, such as a system prompt. */
function toolsIn(text) {
	if (!/^\s*[[{]/.test(text)) return undefined;
	let value;
	try {
		value = JSON.parse(text);
	} catch {
		return undefined;
	}
	const found = Array.isArray(value) ? value.flatMap((item) => declared(item, true)) : declared(value, false);
	const isEmpty = typeof value === "object" && Object.keys(value ?? {}).length === 0;
	return found.length > 0 || isEmpty ? found : undefined;
}
/** By the forms of Anthropic, OpenAI, Gemini, Bedrock, and of maps from names to schemas. */
function declared(item, isListed) {
	if (!isJsonObject(item)) return [];
	const inner = item.functionDeclarations ?? item.function_declarations ?? item.tools;
	const namespace = stringAt(item, "name");
	if (Array.isArray(inner)) {
		const server = item.type === "namespace" && namespace !== undefined ? serverOf(`${namespace}__`) : null;
		return inner.flatMap((one) => declared(one, true)).map((tool) => ({ ...tool, server: tool.server ?? server }));
	}
	const label = stringAt(item, "server_label");
	if (item.type === "mcp" && label !== undefined) return [{ server: cleanValue(label), value: item }];
	const holder = [item, objectOf(item.function), objectOf(item.toolSpec)].find((one) => typeof one.name === "string");
	if (holder) return [{ server: serverOf(String(holder.name)), value: item }];
	if (typeof item.type === "string") return /^text|_text$/.test(item.type) ? [] : [{ server: null, value: item }];
	const members = Object.entries(item).filter(([, value]) => isJsonObject(value));
	const isMap = members.length > 0 && members.every(([, value]) => hasSchema(objectOf(value)));
	// Of Gemini's own tools the only member is the name.
	if (!isMap && !(isListed && Object.keys(item).length === 1)) return [];
	return members.map(([name, value]) => ({ server: serverOf(name), value: { [name]: value } }));
}
const hasSchema = (value) =>
	["inputSchema", "input_schema", "parameters", "description"].some((key) => value[key] !== undefined);
/** Programs name a tool of an MCP server `mcp__server__tool`. */
function serverOf(name) {
	const server = /^mcp__(.+?)__/.exec(name)?.[1];
	return server === undefined ? null : cleanValue(server);
}
