import { describe, expect, it } from "vitest";
import type { Edit } from "../../src/engine/edit.ts";
import type { Path } from "../../src/engine/path.ts";
import { writeValue } from "../../src/pipeline/write-value.ts";

const sizes = { before: { chars: 9, tokens: 9 }, after: { chars: 1, tokens: 1 } };
const replace = (path: Path, replacement: unknown): Edit => ({
	kind: "replace",
	reason: "mask",
	path,
	message: 0,
	replacement,
	...sizes,
});

describe("writeValue", () => {
	const message = { role: "tool", content: "long", parts: [{ text: "one" }, { text: "two" }] };

	it("puts a member's new value in its place, and shares the others", () => {
		const written = writeValue(message, [replace([7, "content"], "short")], 1) as typeof message;
		expect(written).toEqual({ ...message, content: "short" });
		expect(Object.keys(written)).toEqual(Object.keys(message));
		expect(written.parts).toBe(message.parts);
		expect(message.content).toBe("long");
	});

	it("writes several edits, and deeper ones", () => {
		const edits = [replace(["messages", 7, "parts", 0, "text"], "1"), replace(["messages", 7, "content"], "short")];
		const written = writeValue(message, edits, 2) as typeof message;
		expect(written).toEqual({ role: "tool", content: "short", parts: [{ text: "1" }, { text: "two" }] });
		expect(written.parts[1]).toBe(message.parts[1]);
	});

	it("gives a copy of what is put in, so that nobody changes the plan", () => {
		const parts = [{ type: "text", text: "short" }];
		const written = writeValue(message, [replace([7, "content"], parts)], 1) as { content: unknown };
		expect(written.content).toEqual(parts);
		expect(written.content).not.toBe(parts);
	});

	it("keeps a member named __proto__ data", () => {
		const odd = JSON.parse('{"__proto__":{"a":1},"content":"long"}');
		const written = writeValue(odd, [replace([0, "content"], "short")], 1) as object;
		expect(JSON.stringify(written)).toBe('{"__proto__":{"a":1},"content":"short"}');
		const replaced = writeValue(odd, [replace([0, "__proto__"], "short")], 1) as object;
		expect(JSON.stringify(replaced)).toBe('{"__proto__":"short","content":"long"}');
	});

	it.each<[string, readonly Edit[]]>([
		["a member that is not there", [replace([7, "other"], "x")]],
		["the value itself", [replace([7], "x")]],
	])("does not write %s", (_, edits) => {
		expect(writeValue(message, edits, 1)).toBeUndefined();
	});
});
