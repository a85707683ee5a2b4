import { describe, expect, it } from "vitest";
import { startSelector } from "../../../src/engine/masking/selection.ts";
import { policyOf } from "../../support/policy-of.ts";
import { historyOf, turnsOf } from "../../support/replay-history.ts";
import { transcriptFrom } from "../../support/transcripts.ts";

describe("the results that may be masked", () => {
	it("come oldest first, also if a newer one was released before", () => {
		const { mask, prices } = policyOf({ mask: { window_turns: 3, keep_errors: false, tools: { look: "always" } } });
		const read = historyOf(
			transcriptFrom(turnsOf(["a", "b", "c", "d", "e"].map((letter) => letter.repeat(800)))),
			policyOf({ mask: { keep_errors: false } }),
		);
		const results = read.results.map((one, place) => ({ ...one, toolName: place === 1 ? "look" : "read" }));
		const selector = startSelector({ ...read, results }, { mask, prices });
		const released = read.transcript.messages.map((_, message) => {
			selector.append(message);
			return selector.released().join();
		});
		expect(released).toEqual(["", "", "", "", "", "", "1", "1", "0,1", "0,1", "0,1", "0,1"]);
	});
});
