import { describe, expect, it } from "vitest";
import { measure } from "../../src/engine/measure.ts";
import { reportOf } from "../../src/engine/report.ts";
import { planDrop } from "../../src/engine/strategies/drop.ts";
import { planTruncate } from "../../src/engine/strategies/truncate.ts";
import { policyOf } from "../support/policy-of.ts";
import { roughCount } from "../support/rough-count.ts";
import { outputOf, textOfLength } from "../support/sample-text.ts";
import { openaiMessages, toolTurn, user } from "../support/script.ts";
import { transcriptFrom } from "../support/transcripts.ts";

const parts = [
	{ type: "text", text: textOfLength(900) },
	{ type: "text", text: textOfLength(800) },
];
const transcript = transcriptFrom({
	tools: [{ name: "ls" }],
	messages: openaiMessages(user("Go."), toolTurn("a", outputOf("a")), toolTurn("b", parts), user("Well?")),
});
const measurement = measure(transcript, { countTokens: roughCount, messageOverhead: 4 });

describe("reportOf", () => {
	it("an empty plan changes nothing", () => {
		const report = reportOf(transcript, measurement, []);
		const characters = outputOf("a").length + 1_700;
		expect(report).toMatchObject({
			format: "openai-chat",
			changed: false,
			messages: { before: 6, after: 6 },
			tool_turns: 2,
			tool_results: 2,
			tool_chars: { before: characters, after: characters },
		});
		expect(report.tokens.before).toBe(measurement.total.tokens);
		expect(report.tokens.after).toBe(report.tokens.before);
		expect(report.chars.after).toBe(report.chars.before);
	});

	it("counts a result of which two texts were cut once", () => {
		const limits = { maxChars: 100, headChars: 10, tailChars: 10, marker: "<cut>" };
		const plan = planTruncate({ transcript, limits, countTokens: roughCount });
		const report = reportOf(transcript, measurement, plan);
		expect(plan).toHaveLength(3);
		expect(report).toMatchObject({ changed: true, truncated_tool_results: 2, tool_chars: { after: 75 } });
		expect(report.chars.before - report.chars.after).toBe(report.tool_chars.before - 75);
	});

	it("counts dropped messages, and their results as gone", () => {
		const { guard } = policyOf({ guard: { pin_task: false } });
		const { edits: plan } = planDrop({ transcript, policy: guard, measurement, fits: () => false });
		const report = reportOf(transcript, measurement, plan);
		expect(report).toMatchObject({
			dropped_messages: 5,
			messages: { before: 6, after: 1 },
			tool_chars: { after: 0 },
			chars: { after: "Well?".length + '[{"name":"ls"}]'.length },
		});
		expect(report.tokens.after).toBe(4 + roughCount("Well?") + roughCount('[{"name":"ls"}]'));
	});
});
