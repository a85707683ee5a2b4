import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { locateMessages } from "../../../src/formats/detect.ts";
import { maskConversation } from "../../../src/operations/mask.ts";
import { isWhole } from "../../support/breadth.ts";
import { outputOf } from "../../support/sample-text.ts";
import { toolTurn, user } from "../../support/script.ts";
import { type FormatRow, masking, toolsOf } from "../format-row.ts";

const odd = fc.constantFrom(
	"null",
	"7",
	'"x"',
	"[]",
	"{}",
	"[[]]",
	"[null]",
	"[{}]",
	'{"type":"x"}',
	"true",
	'{"text":7}',
);
const changes = fc.array(fc.record({ place: fc.nat(), value: odd, removes: fc.boolean() }), {
	minLength: 1,
	maxLength: 4,
});

export function describeHostile(row: FormatRow): void {
	const { format, read, write } = toolsOf(row);
	const written = JSON.stringify(write(user("Go."), toolTurn("a", outputOf("a")), toolTurn("b", "ok")));

	describe(`${format.title}: hostile input`, () => {
		it("never throws on input that it accepts", () => {
			let accepted = 0;
			const property = fc.property(changes, (all) => {
				const messages: unknown = JSON.parse(written);
				for (const change of all) spoil(messages, change);
				if (format.probe(locateMessages(messages)).fit === "none") return;
				accepted += 1;
				const counted = read(messages).messages.flatMap((message) => message.counted);
				expect(counted.filter((text) => typeof text !== "string")).toEqual([]);
			});
			fc.assert(property, { numRuns: isWhole ? 500 : 170, seed: 3 });
			expect(accepted).toBeGreaterThan(15);
		});

		it("accepts JSON of any depth, and keys of prototypes", async () => {
			const deep = JSON.parse(`${'{"a":['.repeat(10_000)}"x"${"]}".repeat(10_000)}`);
			const keys = JSON.parse('{"__proto__":{"output":"x"},"constructor":"y","toString":null}');
			for (const content of [deep, keys]) {
				const conversation = row.write([...toolTurn("a", content), ...toolTurn("b", "ok")]);
				// A format whose results are strings only may refuse them, in so many words.
				const outcome = await maskConversation({ conversation, policy: masking }).catch((error) => ({ error }));
				expect(outcome.error?.code ?? "not_a_conversation").toBe("not_a_conversation");
			}
		});
	});
}

/** Puts a value in some place of a JSON value, or takes out what stands there. */
function spoil(json: unknown, change: { place: number; value: string; removes: boolean }): void {
	const places: [Record<string, unknown>, string][] = [];
	const waiting: unknown[] = [json];
	for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
		if (typeof next !== "object" || next === null) continue;
		for (const [key, value] of Object.entries(next)) {
			places.push([next as Record<string, unknown>, key]);
			waiting.push(value);
		}
	}
	const [holder, key] = places[change.place % Math.max(1, places.length)] ?? [];
	if (!holder || key === undefined) return;
	if (!change.removes) holder[key] = JSON.parse(change.value);
	else if (Array.isArray(holder)) holder.splice(Number(key), 1);
	else delete holder[key];
}
