import { describe, expect, it } from "vitest";
import { pairResults } from "../../src/engine/pairing.ts";
import { toolTurns } from "../../src/engine/tool-turns.ts";
import type { Message } from "../../src/engine/transcript.ts";
import { messageOf, resultOf, transcriptOf } from "../support/transcripts.ts";

const calling = (...ids: (string | undefined)[]) =>
	messageOf({ calls: ids.map((id, index) => ({ id, name: `${id}-${index}` })) });
const answering = (...ids: (string | undefined)[]) =>
	messageOf({ role: "tool", results: ids.map((id) => resultOf(id)) });
const callers = (...messages: readonly Message[]) =>
	pairResults(transcriptOf(...messages)).map(({ message, caller }) => [message, caller]);

describe("pairResults", () => {
	it("pairs each result with the call of its id, in order of appearance", () => {
		expect(callers(calling("a", "b"), answering("b"), answering("a"))).toEqual([
			[1, 0],
			[2, 0],
		]);
	});

	it("an id that is used again belongs to the nearest preceding message", () => {
		expect(callers(calling("a"), answering("a"), calling("a"), answering("a"), answering("a"))).toEqual([
			[1, 0],
			[3, 2],
			[4, 2],
		]);
	});

	it("never pairs with a later call", () => {
		expect(callers(answering("a"), calling("a"))).toEqual([[0, undefined]]);
	});

	it("leaves orphans and results without an id unpaired", () => {
		expect(callers(calling("a", undefined), answering("ghost", undefined))).toEqual([
			[1, undefined],
			[1, undefined],
		]);
	});

	it("gives the call itself, the right one of parallel ones", () => {
		const [paired] = pairResults(transcriptOf(calling("a", "b"), answering("b")));
		expect(paired?.call).toEqual({ id: "b", name: "b-1" });
	});

	it("treats ids such as `__proto__` as any other", () => {
		expect(callers(answering("__proto__"), calling("__proto__", "constructor"), answering("__proto__"))).toEqual([
			[0, undefined],
			[2, 1],
		]);
	});
});

describe("toolTurns", () => {
	it("are the assistant messages with at least one call that has an id", () => {
		const userCall = { ...calling("u"), role: "user" as const };
		const transcript = transcriptOf(
			calling("a"),
			answering("a"),
			calling(undefined),
			calling(undefined, "b"),
			messageOf(),
			userCall,
		);
		expect(toolTurns(transcript)).toEqual([0, 3]);
	});
});
