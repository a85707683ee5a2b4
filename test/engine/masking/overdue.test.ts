import { expect, it } from "vitest";
import { maskConversation } from "../../../src/operations/mask.ts";
import { policyOf } from "../../support/policy-of.ts";
import { turnsOf } from "../../support/replay-history.ts";

const outputs = Array.from({ length: 60 }, (_, turn) => `output of turn ${turn} has valueOfTurn${turn}. `.repeat(200));
const policies = {
	balanced: policyOf({ preset: "balanced" }),
	"break_even by age": policyOf({ mask: { cadence: "break_even", selection: "age" } }),
};

it.each(Object.entries(policies))(
	"%s masks again what comes after placeholders, rarely, if each call gets what the last one masked",
	async (_, policy) => {
		const turns = turnsOf(outputs);
		let conversation: readonly unknown[] = [];
		let acts = 0;
		for (let end = 0; end < turns.length; end += 2) {
			const outcome = await maskConversation({ conversation: [...conversation, ...turns.slice(end, end + 2)], policy });
			if (outcome.edits.length > 0) acts += 1;
			conversation = outcome.conversation as readonly unknown[];
		}
		const whole = (await maskConversation({ conversation: turns, policy })).edits.length;
		const masked =
			JSON.stringify(conversation).split("masqué").length - 1 + JSON.stringify(conversation).split("masked").length - 1;
		expect(masked).toBeGreaterThan(0.6 * whole);
		expect(acts).toBeGreaterThan(1);
		expect(acts).toBeLessThan(8);
	},
);
