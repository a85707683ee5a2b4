import { expect, it } from "vitest";
import { readConversation } from "../../../src/formats/read-conversation.ts";
import { modelOfSession } from "../../../src/pipeline/replay/model-of-session.ts";

/** What is read of records is of no matter here, but where a model stands. */
const modelOf = (...records: readonly unknown[]) => {
	const source = readConversation([{ role: "user", content: "Hello." }]);
	return modelOfSession({ ...source, located: { ...source.located, messages: records } });
};

it.each<[string, unknown]>([
	["a message of Claude Code or pi", { type: "assistant", message: { role: "assistant", model: "m-1" } }],
	["an event of Copilot CLI", { type: "session.start", data: { model: "m-1" } }],
	["a turn of Codex", { type: "turn_context", payload: { model: "m-1" } }],
	["a message of opencode", { info: { modelID: "m-1" }, parts: [] }],
	["a record itself", { role: "assistant", model: "m-1" }],
])("is found in %s", (_what, record) => {
	expect(modelOf({ type: "user" }, record, "text", null)).toBe("m-1");
});

it("is the last that is named, unless Claude Code wrote the answer itself", () => {
	const named = (model: unknown) => ({ message: { model } });
	expect(modelOf(named("m-1"), named("m-2"), named("<synthetic>"), named(7))).toBe("m-2");
	expect(modelOf({ message: "text" }, { data: null })).toBe(undefined);
});
