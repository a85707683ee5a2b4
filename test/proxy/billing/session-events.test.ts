import { expect, it } from "vitest";
import { readConversation } from "../../../src/formats/detect.ts";
import { sessionEvents } from "../../../src/proxy/billing/session-events.ts";

type Record_ = Readonly<Record<string, unknown>>;

/** A session of pi: calls with the records before each. */
function piSession(...before: readonly (readonly Record_[])[]) {
	let parentId: string | null = null;
	const records: Record_[] = [{ type: "session", id: "s", timestamp: "2026-01-01T00:00:00.000Z" }];
	const add = (record: Record_) => {
		const id = `r${records.length}`;
		records.push({ id, parentId, timestamp: "2026-01-01T00:00:00.000Z", ...record });
		parentId = id;
	};
	for (const own of before) {
		for (const record of own) add(record);
		add({ type: "message", message: { role: "user", content: [{ type: "text", text: "Go on." }] } });
		const usage = { input: 10, output: 5, cacheRead: 5_000, cacheWrite: 100 };
		add({
			type: "message",
			message: { role: "assistant", content: [{ type: "text", text: "Done." }], usage, model: "m" },
		});
	}
	return readConversation(records);
}

const level = (thinkingLevel: string) => ({ type: "thinking_level_change", thinkingLevel });

it("a setting that a user changes and resets before the next call makes no event", () => {
	const events = sessionEvents(
		piSession([level("off")], [level("low"), level("high"), level("off")], [level("high")], []),
	);
	expect([...events]).toEqual([[5, [{ kind: "effort", detail: "effort: off → high" }]]]);
});

it("a compaction is an event of the call after it, or of none", () => {
	const compaction = { type: "compaction", summary: "So far.", firstKeptEntryId: "r1" };
	const source = piSession([], [compaction], []);
	const [[message, events] = []] = [...sessionEvents(source)];
	expect(source.transcript.messages[message ?? -1]?.usage).toBeDefined();
	expect(events).toEqual([{ kind: "compaction", detail: "the session was compacted" }]);
});
