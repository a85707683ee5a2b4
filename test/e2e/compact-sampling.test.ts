import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { splitFrames } from "../../src/engine/compaction/summary.ts";
import { agentConversation, secret } from "../support/agent-conversation.ts";
import { handover } from "../support/stand-in-summariser.ts";
import { compactSession, contentOf, type StdioCompactSession, summaryOf } from "./compact-session.ts";

const messages = agentConversation(12);
const strategy = "llm-summary";
let session: StdioCompactSession;

beforeAll(async () => {
	session = await compactSession({ sampling: true });
});
beforeEach(() => {
	session.sampled.length = 0;
	session.received.length = 0;
	session.answer(() => summaryOf(handover));
});

const compact = (parameters: object = {}, options = {}) =>
	session.call("compact_conversation", { messages, strategy, ...parameters }, options);

describe("a client with a model", () => {
	it("is asked once, and its framed answer replaces only the old messages", async () => {
		const { messages: after, report } = contentOf(await compact());
		expect(session.sampled).toHaveLength(1);
		const [request] = session.sampled;
		expect(request).toMatchObject({ maxTokens: 2_000, includeContext: "none" });
		expect(Object.keys(request ?? {}).sort()).toEqual(["includeContext", "maxTokens", "messages"]);
		expect(request?.messages).toHaveLength(1);
		const prompt = request?.messages[0]?.content.text ?? "";
		expect(prompt).toMatch(/file 0 line 0:[\s\S]*file 10 line 0:/);
		expect(prompt).not.toContain("file 11 line");

		expect(after).toHaveLength(4);
		expect([after[0], after[2], after[3]]).toEqual([messages[0], ...messages.slice(-2)]);
		expect(after[1]?.role).toBe("user");
		const { own, frames } = splitFrames(after[1]?.content ?? "");
		expect(own).toBe(messages[1]?.content);
		expect(frames).toMatchObject([{ summary: handover, ref: undefined }]);
		expect(report).toMatchObject({
			changed: true,
			result: "summarised",
			summary: { by: "sampling", messages: messages.length - 4, parts: 1 },
		});
	});

	it("is skipped when the policy puts the caller first", async () => {
		const policy = { compaction: { answered_by: ["caller", "sampling"] } };
		expect(contentOf(await compact({ policy })).summary_request).toMatchObject({ messages: { count: 22 } });
		expect(session.sampled).toEqual([]);
	});
});

describe("a client that gives no summary leaves the conversation unchanged", () => {
	it("that never answers and is cancelled by its user gets the cancellation and no answer, and the next call works", async () => {
		const controller = new AbortController();
		let told: () => void = () => {};
		const cancelled = new Promise<void>((resolve) => {
			told = resolve;
		});
		session.answer((_request, signal) => {
			signal.addEventListener("abort", told);
			controller.abort(`not wanted: ${secret}`);
			return new Promise(() => {});
		});
		await expect(compact({}, { signal: controller.signal })).rejects.toThrow("not wanted");
		await cancelled;
		session.answer(() => summaryOf(handover));
		expect(contentOf(await compact({ respond_with: "report" })).report).toMatchObject({ result: "summarised" });
		// A call that nobody waits for any more is no defect.
		expect(session.logged.filter(({ level }) => level === "error")).toEqual([]);
		expect(session.stderr()).not.toMatch(/error|failed/);
	});
});
