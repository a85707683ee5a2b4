import { callerOf, type RawMessage, readRaw, textOfContent, textParts } from "./raw-conversation.ts";
import type { FormatName } from "./script.ts";

interface OracleSettings {
	readonly windowTurns: number;
	readonly keepErrors: boolean;
	readonly keepLastK: number;
	readonly countTokens: (text: string) => number;
}

/**
 * docs/strategies.md a second time, in the simplest way and without any code of the product. Returns the
 * placeholder for each place that is masked.
 */
export function expectedMasks(document: unknown, format: FormatName, settings: OracleSettings): Map<string, string> {
	const masks = new Map<string, string>();
	if (settings.windowTurns <= 0) return masks;
	const messages = readRaw(document, format);
	const turns = messages.filter(
		(message) => message.role === "assistant" && message.calls.some((call) => call.id !== undefined),
	);
	const firstKept = turns[Math.max(0, turns.length - settings.windowTurns)]?.index ?? 0;
	const lastK = lastResults(messages, settings.keepLastK);
	for (const message of messages) {
		for (const result of message.results) {
			const caller = callerOf(messages, message.index, result.id);
			if (caller === undefined || messages[caller]?.role !== "assistant" || caller >= firstKept) continue;
			if (lastK.has(result.pointer)) continue;
			const text = textOfContent(result.content);
			const parts = textParts(result.content) ?? [text ?? ""];
			if (text === undefined || parts.some(isPlaceholder)) continue;
			if (settings.keepErrors && (result.flaggedError || looksLikeError(text))) continue;
			const characters = parts.reduce((sum, part) => sum + part.length, 0);
			const placeholder = frenchPlaceholder(result.id, nameOfCall(messages, caller, result.id), characters);
			const tokens = parts.reduce((sum, part) => sum + settings.countTokens(part), 0);
			if (settings.countTokens(placeholder) < tokens) masks.set(result.pointer, placeholder);
		}
	}
	return masks;
}

function nameOfCall(messages: readonly RawMessage[], caller: number, id: string | undefined): string | undefined {
	return messages[caller]?.calls.findLast((call) => call.id === id)?.name;
}

function lastResults(messages: readonly RawMessage[], k: number): Set<string> {
	const byTool = new Map<string | undefined, string[]>();
	for (const message of messages) {
		for (const result of message.results) {
			const caller = callerOf(messages, message.index, result.id);
			if (caller === undefined) continue;
			const name = nameOfCall(messages, caller, result.id);
			byTool.set(name, [...(byTool.get(name) ?? []), result.pointer]);
		}
	}
	return new Set(k === 0 ? [] : Array.from(byTool.values()).flatMap((pointers) => pointers.slice(-k)));
}

function looksLikeError(text: string): boolean {
	const lower = text.toLowerCase();
	if (text.includes("Traceback") || text.includes("Exception")) return true;
	if (text.split(/\r\n|[\n\r\u2028\u2029]/).some((line) => line.startsWith("Error"))) return true;
	if (text.includes('"error"')) return true;
	if (["timeout", "connect_error", "connection refused"].some((words) => lower.includes(words))) return true;
	try {
		const value: unknown = JSON.parse(text);
		if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
		return Object.keys(value).includes("error") || (value as { status?: unknown }).status === "error";
	} catch {
		return false;
	}
}

/** The French placeholder of docs/strategies.md#placeholder, written by hand. */
export function frenchPlaceholder(id: string | undefined, name: string | undefined, characters: number): string {
	const tool = clean(name ?? "") || "inconnu";
	return `[Observation masquée: résultat d'outil ancien (tool_call_id=${clean(id ?? "")}, outil=${tool}, chars=${characters})]`;
}

function clean(value: string): string {
	const allowed = Array.from(value.toWellFormed()).filter((one) => !"[](){}<>=,".includes(one));
	const spaced = allowed.map((one) => (/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(one) ? " " : one));
	const kept = spaced.filter((one, index) => one !== " " || spaced[index - 1] !== " ");
	const cleaned = Array.from(kept.join("").trim());
	return cleaned.length <= 64 ? cleaned.join("") : `${cleaned.slice(0, 63).join("")}…`;
}

const value = "[^\\[\\](){}<>=,\\r\\n]*";
const placeholders = [
	new RegExp(
		`^\\[Observation masquée: résultat d'outil ancien \\(tool_call_id=${value}, outil=${value}, chars=\\d+\\)\\]$`,
		"u",
	),
	new RegExp(`^\\[Observation masked: old tool result \\(tool_call_id=${value}, tool=${value}, chars=\\d+\\)\\]$`, "u"),
	/^历史 tool_call已隐藏$/u,
];

function isPlaceholder(text: string): boolean {
	return placeholders.some((pattern) => pattern.test(text));
}
