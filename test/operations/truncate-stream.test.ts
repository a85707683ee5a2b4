import { describe, expect, it } from "vitest";
import { shortenStream } from "../../src/operations/truncate-stream.ts";
import { policyOf } from "../support/policy-of.ts";
import { anyBytes, cut } from "./stream-pieces.ts";

const policy = policyOf({ locale: "en" });
const limit = { kind: "head_tail", maxChars: 50_000 } as const;

describe("an output held in memory", () => {
	it("is shortened by the strategy of the call, else of the policy, with its query", async () => {
		const text = Array.from({ length: 900 }, (_, index) => `value${index} is one of many lines`).join("\n");
		const short = async (given: object, layer = {}) => {
			const request = { pieces: cut(Buffer.from(text), [4_096]), policy: policyOf({ locale: "en", ...layer }) };
			const shortened = await shortenStream({ ...request, limit: { kind: "chars", most: 3_000 }, ...given });
			return (shortened as { text: string }).text;
		};
		expect(await short({ focus: "value500" })).toContain("\nvalue500 is");
		expect(await short({ focus: "value500", strategy: "head_tail" })).not.toContain("value500 is");
		expect(await short({ toolCall: { id: "a", name: "grep", input: { pattern: "value500" } } })).toContain(
			"\nvalue500 is",
		);
		const described = await short({}, { truncate: { strategy: "binary" } });
		expect(described).toContain("not shown");
		expect(await short({ strategy: "log" }, { truncate: { strategy: "binary" } })).not.toContain("not shown");
	});

	it("of JSON stays JSON, and loses its colours", async () => {
		const rows = Array.from({ length: 900 }, (_, id) => ({ id, name: `row ${id}` }));
		const short = async (text: string) => {
			const pieces = cut(Buffer.from(text), [4_096]);
			const shortened = await shortenStream({ pieces, policy, limit: { kind: "chars", most: 3_000 } });
			return (shortened as { text: string }).text;
		};
		expect(JSON.parse(await short(JSON.stringify(rows)))[1]).toEqual(rows[0]);
		const coloured = await short(Array.from({ length: 900 }, (_, id) => `\u001b[32mok\u001b[0m ${id}`).join("\n"));
		expect(coloured).toContain("\nok 0\n");
		expect(coloured).not.toContain("\u001b");
	});

	it("passes byte for byte when it fits", async () => {
		const bytes = anyBytes(3_000);
		for (const within of [limit, { kind: "chars", most: 3_000 }, { kind: "tokens", most: 20_000 }] as const) {
			const shortened = await shortenStream({ pieces: cut(bytes, [999]), policy, limit: within });
			expect(shortened).toEqual({ kind: "whole", bytes });
		}
	});
});
