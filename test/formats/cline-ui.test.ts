import { describe, expect, it } from "vitest";
import { clineUi } from "../../src/formats/cline-ui.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { thereAndBack } from "../support/there-and-back.ts";

const masking = policyOf({ mask: { window_turns: 1 } });
let time = 1_770_000_000_000;
const say = (kind: string, text?: string, more: object = {}) => ({ ts: time++, type: "say", say: kind, text, ...more });
const ask = (kind: string, text: string) => ({ ts: time++, type: "ask", ask: kind, text });
const request = (text?: string) =>
	say("api_req_started", JSON.stringify({ request: text, tokensIn: 10, cacheReads: 80, cacheWrites: 5 }));
const list = (content = "/work/a") => say("tool", JSON.stringify({ tool: "listFilesRecursive", path: ".", content }));
const answered = (id: string) => `[execute_command for 'ls'] Result:\n${outputOf(id)}`;
const opening = () => [say("task", "Look."), say("checkpoint_created"), request("<task>Look.</task>")];

/** As Cline keeps it: the next request has the results. */
const cline = () => [
	...opening(),
	say("text", "Let me see."),
	ask("command", "ls"),
	ask("command_output", outputOf("a")),
	say("user_feedback", "Faster."),
	request(answered("a")),
	say("reasoning", "Hm."),
	list(),
	request(answered("b")),
	say("completion_result", "Done."),
];
const messagesOf = (records: readonly unknown[]) => readConversation(records).transcript.messages;

describe("ui_messages.json of Cline", () => {
	it("reads the results of an answer from the next request", () => {
		const records = cline();
		expect(readConversation(records).format).toBe(clineUi);
		const messages = messagesOf(records);
		expect(messages.map(({ role }) => role).join(" ")).toBe("user user assistant user tool assistant tool assistant");
		expect(messages[2]).toMatchObject({ calls: [{ name: "execute_command" }], results: [], paths: [[3], [4], [5]] });
		expect(messages[4]?.results).toMatchObject([
			{ callId: messages[2]?.calls[0]?.id, copies: [{ path: [5, "text"] }] },
		]);
		expect(messages[5]).toMatchObject({ calls: [{ name: "listFilesRecursive" }], usage: { cachedTokens: 80 } });
	});

	it("masks the result in the request, with its copy on the screen, and keeps the request's other members", async () => {
		const records = cline();
		const { conversation, report, error } = await maskConversation({ conversation: records, policy: masking });
		expect(error).toBeUndefined();
		expect(report.masked_tool_results).toBe(1);
		const after = conversation as { text: string }[];
		expect(after[5]?.text).toMatch(/^\[Observation masquée/);
		expect(JSON.parse(after[7]?.text ?? "")).toEqual({
			...JSON.parse(records[7]?.text ?? ""),
			request: expect.stringMatching(/^\[Observation masquée/),
		});
		expect(after[6]?.text).toBe("Faster.");
		const again = await maskConversation({ conversation, policy: masking });
		expect(again.conversation).toBe(conversation);
	});

	it("restores the request to the byte", async () => {
		const text = JSON.stringify(cline(), null, 2);
		const { masked, restored } = await thereAndBack(text, masking);
		expect(masked).not.toContain(JSON.stringify(JSON.stringify(outputOf("a")).slice(1, -1)).slice(1, -1));
		expect(restored).toBe(text);
	});
});

describe("ui_messages.json of Roo Code, without requests", () => {
	it("reads the outputs on the screen and the listings in a call as results", async () => {
		const turn = (id: string) => [
			say("api_req_started", "{}"),
			ask("command", "ls"),
			say("command_output", outputOf(id)),
		];
		const records = [
			say("task", "Look."),
			...turn("a"),
			say("api_req_started", "{}"),
			list(outputOf("b")),
			...turn("c"),
		];
		const messages = messagesOf(records);
		expect(messages.map(({ calls, results }) => [calls.length, results.length])).toEqual([
			[0, 0],
			[1, 1],
			[1, 1],
			[1, 1],
		]);
		const { conversation, report, error } = await maskConversation({ conversation: records, policy: masking });
		expect(error).toBeUndefined();
		expect(report.masked_tool_results).toBe(2);
		const listing = JSON.parse((conversation as { text: string }[])[5]?.text ?? "");
		expect(listing).toMatchObject({ tool: "listFilesRecursive", content: expect.stringMatching(/^\[Observation/) });
	});

	it("leaves a call without an output, an output without a call, and a screenshot", async () => {
		const screenshot = JSON.stringify({ screenshot: `data:image/png;base64,${"A".repeat(9_000)}`, logs: "Ready." });
		const records = [
			say("task", "Look."),
			say("command_output", outputOf("orphan")),
			say("api_req_started", "{}"),
			ask("command", "ls"),
			say("api_req_started", "{}"),
			say("browser_action", '{"action":"click"}'),
			say("browser_action_result", screenshot),
			...["a", "b"].flatMap((id) => [
				say("api_req_started", "{}"),
				ask("command", "ls"),
				say("command_output", outputOf(id)),
			]),
		];
		const { report, error } = await maskConversation({ conversation: records, policy: masking });
		expect(error).toBeUndefined();
		expect(report.masked_tool_results).toBe(1);
		expect(
			messagesOf(records)
				.flatMap(({ counted }) => counted)
				.join(),
		).not.toContain("AAAA");
	});
});
