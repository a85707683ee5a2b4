import { describe, expect, it } from "vitest";
import { createTextMemory } from "../../src/conversation/text-memory.ts";

describe("createTextMemory", () => {
	it("returns the last fact that was remembered of a text", () => {
		const memory = createTextMemory<number>();
		expect(memory.find("abc")).toBeUndefined();
		memory.remember("abc", 1);
		memory.remember("abc", 2);
		expect(memory.find("abc")).toBe(2);
	});

	it("is full once its texts have that many characters, each text once", () => {
		const memory = createTextMemory<number>(6);
		memory.remember("abc", 1);
		memory.remember("abc", 2);
		expect(memory.isFull()).toBe(false);
		memory.remember("def", 3);
		expect(memory.isFull()).toBe(true);
	});
});
