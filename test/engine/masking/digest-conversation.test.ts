import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect, it } from "vitest";
import type { Message } from "../../../src/engine/conversation/transcript.ts";
import { messageOf, resultOf, transcriptOf } from "../../support/transcripts.ts";
import { called } from "./called.ts";
import { digestsOf } from "./digests.ts";

const countTokens = (text: string) => Math.ceil(text.length / 4);

const filler = "it says nothing. ".repeat(20);

const digests = (maxTokens: number, ...messages: Message[]) =>
	digestsOf({ transcript: transcriptOf(...messages), maxTokens, countTokens });

const bash = (text: string, command = "look") => ({ name: "bash", given: { command }, text: `${text} ${filler}` });

describe("the digests of a conversation", () => {
	it("names identifiers absent from earlier messages and digests", () => {
		const said = messageOf({ counted: ["I know knownName."] });
		const messages = called(
			bash("knownName firstName"),
			bash("firstName secondName"),
			bash("thirdName", "cat thirdName"),
		);
		expect(digests(50, said, ...messages)).toEqual(["firstName", "secondName", ""]);
	});

	it("names identifiers for which an earlier digest had no room", () => {
		const names = "aRatherLongName anotherLongName";
		expect(digests(5, ...called(bash(names), bash(names)))).toEqual(["aRatherLongName", "anotherLongName"]);
	});

	it("gives a short result a short digest", () => {
		const short = { ...bash(""), text: "oneName twoNames threeNames fourNames" };
		const [digest = ""] = digests(50, ...called(short));
		expect(digest).toBe("oneName");
		expect(countTokens(digest)).toBeLessThanOrEqual(countTokens(short.text) / 4);
	});

	it("gives parallel results and orphans one each, in order", () => {
		const results = ["a", "b", undefined].map((id, index) => resultOf(id, `name_${index} ${filler}`));
		const calls = ["a", "b"].map((id) => ({ id, name: "bash" }));
		const messages = [
			messageOf({ calls, counted: ["bash", "{}", "bash", "{}"] }),
			messageOf({ role: "tool", results }),
		];
		expect(digests(50, ...messages)).toEqual(["name_0", "name_1", "name_2"]);
	});

	it("gives none when no tokens are allowed", () => {
		expect(digests(0, ...called(bash("aName")))).toEqual([""]);
	});
});

const seen = { digests: 0, differing: 0 };

const text = fc.array(fc.constantFrom("oneName", "twoNames", "src/a.ts", "E404", "1 failed", filler), { maxLength: 8 });

const history = fc.array(fc.record({ said: text, output: text }), { maxLength: 8 });

test.prop([history, fc.constantFrom(3, 10, 50)], { numRuns: 300 })(
	"a digest stays the same when the conversation continues",
	(turns, maxTokens) => {
		const messages = turns.flatMap(({ said, output }) => called(bash(output.join(" "), said.join(" "))));
		const whole = digests(maxTokens, ...messages);
		for (let end = 0; end <= messages.length; end += 1) {
			const part = digests(maxTokens, ...messages.slice(0, end));
			expect(part).toEqual(whole.slice(0, part.length));
		}
		seen.digests += whole.filter(Boolean).length;
		seen.differing += new Set(whole).size > 2 ? 1 : 0;
	},
);

afterAll(() => {
	expect(seen.digests).toBeGreaterThan(150);
	expect(seen.differing).toBeGreaterThan(50);
});
