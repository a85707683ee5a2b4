import { describe, expect, it } from "vitest";
import { measure, sizeOf } from "../../src/engine/measure.ts";
import { roughCount } from "../support/rough-count.ts";
import { messageOf, resultOf, transcriptOf } from "../support/transcripts.ts";

describe("measure", () => {
	it("adds what is counted, the results, the media and the overhead of each message", () => {
		const transcript = {
			...transcriptOf(
				messageOf({ counted: ["12345678", "1234"] }),
				messageOf({ mediaTokens: 1_000, results: [resultOf("a", "12345"), resultOf("b", "1")] }),
			),
			surroundings: ["123456789"],
		};
		expect(measure(transcript, { countTokens: roughCount, messageOverhead: 4 })).toEqual({
			messages: [
				{ chars: 12, tokens: 7, fixed: 4 },
				{ chars: 6, tokens: 1_007, fixed: 1_004 },
			],
			surroundingTokens: 3,
			total: { chars: 27, tokens: 1_017, fixed: 1_008 },
		});
	});

	it("an empty conversation has no size", () => {
		const { total } = measure(transcriptOf(), { countTokens: roughCount, messageOverhead: 4 });
		expect(total).toEqual({ chars: 0, tokens: 0, fixed: 0 });
	});

	it("characters are UTF-16 code units", () => {
		expect(sizeOf("🦊", roughCount)).toEqual({ chars: 2, tokens: 1 });
	});
});
