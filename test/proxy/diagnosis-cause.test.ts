import { describe, expect, it } from "vitest";
import { causeTold, createDiagnosis } from "../../src/proxy/diagnosis.ts";

describe("the cause of a break as the provider tells it", () => {
	it.each([
		["model_changed", "unknown", "model"],
		["system_changed", "unknown", "system"],
		["tools_changed", "earlier_message", "tools"],
		["messages_changed", "unknown", "earlier_message"],
		["messages_changed", "masking", undefined],
		["previous_message_not_found", "tools", undefined],
		["toString", "tools", undefined],
		[undefined, "tools", undefined],
	] as const)("%s in place of %s is %s", (reason, found, cause) => {
		expect(causeTold(reason, found)).toBe(cause);
	});

	it("is not asked for where the host asks, nor once the API has refused the question", () => {
		const diagnosis = createDiagnosis();
		expect(diagnosis.membersFor("a", {})).toEqual({ diagnostics: { previous_message_id: null } });
		diagnosis.answered("a", "msg_1");
		expect(diagnosis.membersFor("a", {})).toEqual({ diagnostics: { previous_message_id: "msg_1" } });
		expect(diagnosis.membersFor("a", { diagnostics: { previous_message_id: null } })).toBe(undefined);
		diagnosis.refused();
		expect(diagnosis.membersFor("a", {})).toBe(undefined);
	});
});
