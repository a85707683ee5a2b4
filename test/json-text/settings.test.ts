import fc from "fast-check";
import { parse } from "jsonc-parser";
import { describe, expect, it } from "vitest";
import { enterJson, removeFromJson } from "../../src/json-text/settings.ts";

const key = ["servers", "own"];
const name = fc.constantFrom("a", "b", "servers", "palimpsest", "ü");
const member = fc.oneof(fc.integer(), fc.string(), fc.constant({}), fc.constant([1]), fc.constant({ own2: { x: 1 } }));
const servers = fc.oneof(fc.constant(undefined), fc.dictionary(fc.constantFrom("x", "y"), member, { maxKeys: 2 }));
interface Style {
	readonly indent: string;
	readonly eol: string;
	readonly comment: boolean;
	readonly trailing: boolean;
}
const style: fc.Arbitrary<Style> = fc.record({
	indent: fc.constantFrom("", "  ", "    ", "\t"),
	eol: fc.constantFrom("\n", "\r\n"),
	comment: fc.boolean(),
	trailing: fc.boolean(),
});

/** A settings file as people keep them: with comments and commas too many. */
function file(value: Record<string, unknown>, { indent, eol, comment, trailing }: Style): string {
	let text = JSON.stringify(value, null, indent);
	if (comment && indent !== "") text = text.replace(/\n/g, " // , it } is\n").replace(/ \/\/ , it } is\n$/, "\n");
	if (trailing && indent !== "") text = text.replace(/([\]}"0-9])( \/\/[^\n]*)?\n([ \t]*)\}/g, "$1,$2\n$3}");
	return text.replaceAll("\n", eol);
}

describe("a value added to JSON", () => {
	it("is present, everything else is unchanged, and it can be removed without a trace", () => {
		let changed = 0;
		fc.assert(
			fc.property(fc.dictionary(name, member, { maxKeys: 4 }), servers, style, (others, held, how) => {
				const value: Record<string, unknown> = { ...others };
				delete value.servers;
				if (held !== undefined) value.servers = held;
				const text = file(value, how);
				const read = (one: string) => parse(one, [], { allowTrailingComma: true });
				expect(read(text)).toEqual(value);
				const entered = enterJson(text, key, { command: "x", args: ["-y"] });
				expect(read(entered)).toEqual({ ...value, servers: { ...held, own: { command: "x", args: ["-y"] } } });
				const removed = removeFromJson(entered, key);
				const emptied = held === undefined || Object.keys(held).length > 0;
				if (emptied) expect(removed.replace(/\s/g, "")).toBe(text.replace(/\s/g, ""));
				if (emptied && Object.keys(value).length > 0 && how.indent !== "") {
					expect(removed).toBe(text);
					changed += 1;
				}
			}),
			{ numRuns: 1_000 },
		);
		expect(changed).toBeGreaterThan(150);
	});

	it("replaces the existing one", () => {
		const text = '{\n\t"servers": {\n\t\t"own": 1, // mine\n\t\t"x": 2\n\t}\n}\n';
		expect(enterJson(text, key, { a: 1 })).toBe(text.replace('"own": 1', '"own": {\n\t\t\t"a": 1\n\t\t}'));
	});
});
