import { createScanner } from "jsonc-parser";
import { tokenKinds as kinds } from "./token-kinds.ts";

/** Where a text stops being JSON, and whether that is because it stops. */
export interface SyntaxErrorPlace {
	readonly offset: number;
	readonly endsTooEarly: boolean;
}

type Expected = "value" | "value or ]" | "key" | "key or }" | "colon" | "comma or ]" | "comma or }" | "end";

/**
 * Finds the first thing in a text, from `start` on, that makes it no JSON value. The parser's own message tells the place
 * only sometimes, and quotes the text.
 */
export function syntaxErrorAt(text: string, start: number): SyntaxErrorPlace {
	const scanner = createScanner(text);
	scanner.setPosition(start);
	const open: ("object" | "array")[] = [];
	let expected: Expected = "value";
	for (;;) {
		const token: number = scanner.scan();
		if (token === kinds.blank || token === kinds.lineBreak) continue;
		const offset = scanner.getTokenOffset();
		if (token === kinds.end) return { offset, endsTooEarly: expected !== "end" };
		const isFaulty = scanner.getTokenError() !== 0 || token === kinds.unknown;
		if (isFaulty) return { offset, endsTooEarly: scanner.getPosition() === text.length && isCutOff(text, offset) };
		const next = follow(expected, token, open);
		if (next === undefined) return { offset, endsTooEarly: false };
		expected = next;
	}
}

/** What may come after a token; `undefined` where it may not stand. Keeps count of what is open. */
function follow(expected: Expected, token: number, open: ("object" | "array")[]): Expected | undefined {
	const takesValue = expected === "value" || expected === "value or ]";
	const afterValue = (): Expected => {
		const inside = open.at(-1);
		if (inside === undefined) return "end";
		return inside === "object" ? "comma or }" : "comma or ]";
	};
	switch (token) {
		case kinds.openBrace:
		case kinds.openBracket:
			if (!takesValue) return undefined;
			open.push(token === kinds.openBrace ? "object" : "array");
			return token === kinds.openBrace ? "key or }" : "value or ]";
		case kinds.closeBrace:
			if (expected !== "key or }" && expected !== "comma or }") return undefined;
			open.pop();
			return afterValue();
		case kinds.closeBracket:
			if (expected !== "value or ]" && expected !== "comma or ]") return undefined;
			open.pop();
			return afterValue();
		case kinds.comma:
			if (expected === "comma or ]") return "value";
			return expected === "comma or }" ? "key" : undefined;
		case kinds.colon:
			return expected === "colon" ? "value" : undefined;
		case kinds.string:
			if (expected === "key" || expected === "key or }") return "colon";
			return takesValue ? afterValue() : undefined;
		case kinds.number:
		case kinds.nullWord:
		case kinds.trueWord:
		case kinds.falseWord:
			return takesValue ? afterValue() : undefined;
		default:
			return undefined;
	}
}

/** Whether a faulty token at the end of a text may be the beginning of a good one. */
function isCutOff(text: string, offset: number): boolean {
	if (text[offset] === '"') return true;
	return /^(?:-|-?\d+\.|-?[\d.]+[eE][+-]?|tr?u?|fa?l?s?|nu?l?)$/.test(text.slice(offset, offset + 40));
}
