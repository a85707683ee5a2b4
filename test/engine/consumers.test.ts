import { describe, expect, it } from "vitest";
import { largestConsumers } from "../../src/engine/consumers.ts";
import { messageOf, resultOf, transcriptOf } from "../support/transcripts.ts";

const sizes = (...tokens: number[]) => tokens.map((count) => ({ chars: count * 4, tokens: count }));

describe("largestConsumers", () => {
	const transcript = transcriptOf(
		messageOf({ role: "user" }),
		messageOf({
			calls: [
				{ id: "a", name: "ls]\n" },
				{ id: "b", name: "cat" },
				{ id: "c", name: "cat" },
			],
		}),
		messageOf({ role: "tool", results: [resultOf("b"), resultOf("a"), resultOf("c")] }),
		messageOf({ role: "tool", results: [resultOf("ghost")] }),
	);

	it("lists the largest messages first, with role, size and the tools whose results they hold", () => {
		expect(largestConsumers(transcript, { sizes: sizes(5, 1, 90, 7), limit: 3 })).toEqual([
			{ message: 2, role: "tool", tools: ["cat", "ls"], tokens: 90, chars: 360 },
			{ message: 3, role: "tool", tools: [], tokens: 7, chars: 28 },
			{ message: 0, role: "user", tools: [], tokens: 5, chars: 20 },
		]);
	});

	it("puts the older first where two are equal", () => {
		expect(largestConsumers(transcript, { sizes: sizes(3, 3, 3, 3) }).map(({ message }) => message)).toEqual([
			0, 1, 2, 3,
		]);
	});

	it("lists five unless told", () => {
		const many = transcriptOf(...Array.from({ length: 9 }, () => messageOf()));
		expect(largestConsumers(many, { sizes: sizes(1, 2, 3, 4, 5, 6, 7, 8, 9) }).map(({ tokens }) => tokens)).toEqual([
			9, 8, 7, 6, 5,
		]);
	});
});
