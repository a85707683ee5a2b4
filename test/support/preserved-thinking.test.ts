import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { bindingBeta, type PreservedThinking } from "./preserved-thinking.ts";
import {
	acceptedOf,
	bound,
	drops,
	type Json,
	type Message,
	message,
	refusalOf,
	request,
	startSession,
	tools,
	user,
	without,
	withResult,
} from "./thinking-session.ts";

const headerSentence = ` That setting requires the \`${bindingBeta}\` value in the \`anthropic-beta\` header.`;

describe("a conversation that is sent unchanged", () => {
	it("keeps all its thinking valid", () => {
		const { check, play } = startSession();
		const accepted = acceptedOf(check.check(request(play(5)), [bindingBeta]));
		expect(accepted).toMatchObject({ sent: 5, dropped: 0, lost: 0, goneTokens: 0, isStripped: false });
		expect(accepted.transformations).toEqual([]);
	});

	it.each<[string, (messages: Message[]) => Json]>([
		["cache_control moves", (messages) => ({ messages: markLast(messages) })],
		["parameters change", () => ({ max_tokens: 9, tool_choice: { type: "any" }, metadata: { user_id: "b" } })],
		["tools change their order", () => ({ tools: [...tools].reverse() })],
		["a text becomes a list of one text", (messages) => ({ messages: listed(messages) })],
		["the system text becomes a list", () => ({ system: [{ type: "text", text: "Be brief." }] })],
		["keys change their order", () => ({ tools: tools.map(({ name, ...rest }) => ({ ...rest, name })) })],
		["an absent field is spelled out", (messages) => ({ messages: spelled(messages) })],
		["a tool that nothing refers to is deferred", () => ({ tools: [...tools, { name: "Late", defer_loading: true }] })],
		[
			"the bill's block of Claude Code changes",
			() => ({ system: [billing("1"), { type: "text", text: "Be brief." }] }),
		],
	])("stays valid where %s", (_, change) => {
		const { check, play } = startSession();
		const messages = play(3);
		expect(refusalOf(check, messages, change(messages))).toBeUndefined();
	});

	it.each<[string, string, (messages: Message[]) => Json]>([
		["a text of system", "system_changed", () => ({ system: "Be brief!" })],
		["a second block of the bill", "system_changed", () => ({ system: [billing("1"), billing("2")] })],
		["a description of a tool", "tools_changed", () => ({ tools: [tools[0], { ...tools[1], description: "x" }] })],
		["the set of tools", "tools_changed", () => ({ tools: [tools[0]] })],
		["a result", "blocks_modified", (messages) => ({ messages: withResult(messages, 1, "[cut]") })],
		["the first message", "blocks_modified", (messages) => ({ messages: [user("Look!"), ...messages.slice(1)] })],
		["messages at the start", "blocks_removed", (messages) => ({ messages: [user("Look."), ...messages.slice(3)] })],
		["a message between others", "blocks_inserted", (messages) => ({ messages: [user("New."), ...messages] })],
		["everything", "multiple", () => ({ system: "x", tools: [] })],
	])("is refused where %s changes", (_, kind, change) => {
		const { check, play } = startSession();
		const messages = play(3);
		const refusal = refusalOf(check, messages, change(messages));
		expect(refusal?.message).toContain("The block is bound to a different conversation.");
		expect(refusal?.headers["anthropic-thinking-prefix-mismatch"]).toMatch(
			new RegExp(`^block=messages\\.\\d\\.content\\.0;kind=${kind}$`),
		);
	});

	it("is refused where the bill's block changes elsewhere than at the start of system", () => {
		const { check, play } = startSession("newer", { system: [billing("0"), billing("1")] });
		const system = [billing("0"), billing("2")];
		expect(refusalOf(check, play(1), { system })?.message).toContain("The `system` prompt differs");
	});

	it("is refused where a message changes its role or a call its arguments", () => {
		const { check, play } = startSession();
		const messages = play(2);
		const changed = (index: number, fields: Partial<Message>) =>
			messages.map((one, place) => (place === index ? { ...one, ...fields } : one));
		expect(refusalOf(check, changed(0, { role: "system" }))).toBeDefined();
		const [thought, call] = message(messages, 1).content as [Json, Json];
		const input = { ...(call.input as Json), cache_control: "max-age=0" };
		expect(refusalOf(check, changed(1, { content: [thought, { ...call, input }] }))).toBeDefined();
	});

	it("is not bound to a message that holds nothing but thinking", () => {
		const { check, messages, answer } = startSession();
		const accepted = acceptedOf(check.check(request(messages)));
		const content = check.issue(accepted, [{ type: "thinking", thinking: "", tokens: 10 }]);
		messages.push({ role: "assistant", content }, user("Go on."));
		messages.push(...answer());
		expect(refusalOf(check, messages)).toBeUndefined();
		expect(refusalOf(check, [messages[0] as Message, ...messages.slice(2)])).toBeUndefined();
	});

	it("is bound to a deferred tool from the message on that refers to it", () => {
		const late = { name: "Late", description: "a", defer_loading: true };
		const { check, messages, answer } = startSession("newer", { tools: [...tools, late] });
		messages.push(...answer());
		(messages.at(-1) as Message).content = [
			{ type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "tool_reference", tool_name: "Late" }] },
		];
		messages.push(...answer());
		const changed = { tools: [...tools, { ...late, description: "b" }] };
		expect(refusalOf(check, messages.slice(0, 3), changed)).toBeUndefined();
		expect(refusalOf(check, messages, changed)?.message).toContain("messages.3.content.0");
		expect(refusalOf(check, messages, { tools: [...tools, late] })).toBeUndefined();
	});
});

describe("a changed result", () => {
	it("makes the thinking after it invalid, and not that before it", () => {
		const { check, play } = startSession();
		const messages = withResult(play(5), 3, "[cut]");
		expect(refusalOf(check, messages)?.message).toBe(bound("messages.7.content.0"));
		expect(refusalOf(check, without(messages, 4, 5))).toBeUndefined();
	});

	it("is named with the beta header that the setting needs, where the request has it not", () => {
		const { check, play } = startSession();
		const messages = withResult(play(2), 1, "[cut]");
		expect(refusalOf(check, messages, {}, [])?.message).toBe(bound("messages.3.content.0") + headerSentence);
		const system = ` The \`system\` prompt differs from the one this block was created with.`;
		expect(refusalOf(check, play(0), { system: "x" })?.message).toBe(bound("messages.1.content.0") + system);
	});

	it("leaves thinking valid that is produced after it", () => {
		const { check, play, answer } = startSession();
		const messages = without(withResult(play(4), 2, "[cut]"), 3, 4);
		messages.push(...answer(messages));
		expect(refusalOf(check, messages)).toBeUndefined();
		expect(acceptedOf(check.check(request(messages))).sent).toBe(3);
	});
});

describe("thinking that is left out", () => {
	it.each([
		["from the start", [1, 2]],
		["from the end", [5, 6]],
		["from both ends", [1, 6]],
		["everywhere", [1, 2, 3, 4, 5, 6]],
	])("%s leaves the rest valid", (_, turns) => {
		const { check, play } = startSession();
		expect(refusalOf(check, without(play(6), ...turns))).toBeUndefined();
	});

	it("between other thinking invalidates the thinking after it", () => {
		const { check, play } = startSession();
		const messages = without(play(5), 3);
		const refusal = refusalOf(check, messages);
		const sentence = " The `thinking` block that preceded this one when it was created is missing from this request.";
		expect(refusal?.message).toBe(bound("messages.7.content.0") + sentence);
		expect(refusal?.headers).toEqual({
			"anthropic-thinking-prefix-mismatch": "block=messages.7.content.0;kind=predecessor_missing",
		});
	});

	it.each([
		["everywhere", [1, 2, 3, 4]],
		["from the end", [3, 4]],
	])("%s stays out: put back, it invalidates the blocks produced since", (_, turns) => {
		const { check, play, answer } = startSession();
		const whole = play(4);
		const added = answer(without(whole, ...turns));
		expect(refusalOf(check, [...without(whole, ...turns), ...added])).toBeUndefined();
		expect(refusalOf(check, [...whole, ...added])?.headers).toEqual({
			"anthropic-thinking-prefix-mismatch": "block=messages.9.content.0;kind=predecessor_reordered",
		});
	});

	it("is bound to the thought before it in the same answer as well", () => {
		const { check, messages } = startSession();
		const accepted = acceptedOf(check.check(request(messages)));
		const content = check.issue(accepted, [
			{ type: "thinking", thinking: "One.", tokens: 10 },
			{ type: "text", text: "I look." },
			{ type: "redacted_thinking", thinking: "", tokens: 10 },
			{ type: "thinking", thinking: "", tokens: 10 },
			{ type: "tool_use", id: "toolu_1", name: "Bash", input: {} },
		]);
		expect(content.map(({ type }) => type)).toEqual(["thinking", "text", "redacted_thinking", "thinking", "tool_use"]);
		const sent = (...left: readonly number[]): Message[] => {
			const kept = content.filter((_block, index) => !left.includes(index));
			return [...messages, { role: "assistant", content: kept }];
		};
		expect(refusalOf(check, sent())).toBeUndefined();
		expect(refusalOf(check, sent(0))).toBeUndefined();
		expect(refusalOf(check, sent(2))?.message).toContain("messages.1.content.2: Invalid `signature`");
		expect(refusalOf(check, sent(1))?.message).toContain("messages.1.content.1: Invalid `data` in `redacted_thinking`");
	});
});

test.prop([fc.array(fc.boolean(), { minLength: 1, maxLength: 9 }), fc.nat(9)])(
	"Any run of thinking in front of the first changed result is accepted, and nothing else",
	(kept, changed) => {
		const { check, play } = startSession();
		const turns = kept.map((_, index) => index + 1);
		const left = turns.filter((turn) => !kept[turn - 1]);
		const sent = turns.filter((turn) => kept[turn - 1]);
		const messages = withResult(play(kept.length), changed, "[cut]");
		const isRun = sent.length === 0 || (sent.at(-1) ?? 0) - (sent[0] ?? 0) === sent.length - 1;
		const isInFront = changed === 0 || changed >= kept.length || sent.every((turn) => turn <= changed);
		expect(refusalOf(check, without(messages, ...left)) === undefined).toBe(isRun && isInFront);
	},
);

describe("a block that was changed", () => {
	const changed = (messages: readonly Message[], turn: number, fields: Json): Message[] =>
		messages.map((one) => {
			if (one !== message(messages, turn)) return one;
			const [first, ...rest] = one.content as Json[];
			return { ...one, content: [{ ...first, ...fields }, ...rest] };
		});

	it.each(["claude-opus-5-5", "claude-sonnet-4-5"])("is refused without a word of the conversation (%s)", (name) => {
		const { check, play } = startSession("older", { model: name });
		const messages = play(3);
		const bare = "messages.1.content.0: Invalid `signature` in `thinking` block";
		const rest = { model: name };
		expect(refusalOf(check, changed(messages, 1, { signature: "other" }), rest)).toEqual({
			message: bare,
			headers: {},
		});
		expect(refusalOf(check, changed(messages, 1, { thinking: "Other." }), rest)?.message).toBe(bare);
		expect(refusalOf(check, changed(messages, 3, { thinking: "Other." }), rest)?.message).toBe(
			"messages.5.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
		);
		expect(refusalOf(check, changed(messages, 1, { signature: undefined }), rest)?.message).toBe(
			"messages.1.content.0.thinking.signature: Field required",
		);
	});

	it("is refused if it comes from another stand-in, or as another type", () => {
		const [one, other] = [startSession(), startSession()];
		expect(refusalOf(other.check, one.play(1))?.message).toContain("Invalid `signature` in `thinking` block");
		const [block] = message(one.messages, 1).content as Json[];
		const redacted = { type: "redacted_thinking", data: block?.signature };
		const messages = [one.messages[0] as Message, { role: "assistant", content: [redacted] }];
		expect(refusalOf(one.check, messages)?.message).toBe(
			"messages.1.content.0: Invalid `data` in `redacted_thinking` block",
		);
	});
});

describe("drop_block", () => {
	it("leaves out what is invalid and lists it; what is produced then stays valid", () => {
		const { check, play, answer } = startSession();
		const messages = withResult(play(3), 1, "[cut]");
		const accepted = acceptedOf(check.check(request(messages, drops), [bindingBeta]));
		const dropped = (path: string) => ({ type: "thinking_dropped", path, reason: "prefix_binding_mismatch" });
		expect(accepted.transformations).toEqual([dropped("messages.3.content.0"), dropped("messages.5.content.0")]);
		expect(accepted.body).toEqual(request(without(messages, 2, 3), drops));
		messages.push(...answer(messages, drops));
		const next = acceptedOf(check.check(request(messages, drops), [bindingBeta]));
		expect([next.sent, next.dropped, next.shown.length]).toEqual([4, 2, 2]);
		expect(refusalOf(check, messages)?.message).toBe(bound("messages.3.content.0"));
	});

	it("leaves out thinking after a gap", () => {
		const { check, play } = startSession();
		const accepted = acceptedOf(check.check(request(without(play(4), 2), drops), [bindingBeta]));
		expect(accepted.transformations?.map(({ path }) => path)).toEqual(["messages.5.content.0", "messages.7.content.0"]);
	});
});

describe("valid blocks that are not sent", () => {
	const lost = (check: PreservedThinking, messages: readonly Message[]) =>
		acceptedOf(check.check(request(messages))).lost;

	it("are counted if they would be valid together with those that are sent", () => {
		const { check, play } = startSession();
		const messages = play(6);
		expect(lost(check, messages)).toBe(0);
		expect(lost(check, without(messages, 1, 2))).toBe(2);
		expect(lost(check, without(messages, 6))).toBe(1);
		expect(lost(check, without(messages, 1, 5, 6))).toBe(3);
		expect(lost(check, without(messages, 1, 2, 3, 4, 5, 6))).toBe(6);
	});

	it("exclude blocks that a change made invalid, and blocks of removed answers", () => {
		const { check, play } = startSession();
		const messages = play(6);
		const edited = withResult(messages, 2, "[cut]");
		expect(lost(check, without(edited, 3, 4, 5, 6))).toBe(0);
		expect(lost(check, without(edited, 1, 2, 3, 4, 5, 6))).toBe(2);
		expect(lost(check, messages.slice(0, 5))).toBe(0);
		expect(lost(check, [user("Other."), ...without(messages, 1, 2, 3, 4, 5, 6).slice(1)])).toBe(0);
	});

	it("are not those that would invalidate what was produced without them", () => {
		const { check, play, answer } = startSession();
		const stripped = without(play(4), 1, 2, 3, 4);
		const messages = [...stripped, ...answer(stripped)];
		expect(lost(check, messages)).toBe(0);
	});

	it("exclude blocks of an answer that never arrived", () => {
		const { check, play, answer } = startSession();
		const messages = play(2).slice();
		answer(messages);
		const accepted = acceptedOf(check.check(request(messages)));
		const call = { type: "tool_use", id: "toolu_9", name: "Bash", input: {} };
		messages.push({ role: "assistant", content: check.issue(accepted, [call]) });
		expect(lost(check, messages)).toBe(0);
	});

	it("are distinguished by the answer that they belong to, after a fork", () => {
		const { check, play, answer } = startSession();
		const start = play(2).slice();
		const [one, other] = [answer(start), answer(start)];
		expect(lost(check, [...start, ...one])).toBe(0);
		expect(lost(check, [...start, ...other])).toBe(0);
		expect(lost(check, without([...start, ...other], 3))).toBe(1);
	});
});

describe("thinking that the model no longer sees", () => {
	it("is reported once, with its tokens, and a request without any is reported as stripped once", () => {
		const { check, play, answer } = startSession();
		const messages = play(3);
		acceptedOf(check.check(request(messages)));
		messages.push(...answer());
		const stripped = without(messages, 1, 2, 3, 4);
		const first = acceptedOf(check.check(request(stripped)));
		expect(first).toMatchObject({ goneTokens: 400, isStripped: true });
		expect(acceptedOf(check.check(request(stripped)))).toMatchObject({ goneTokens: 400 });
		check.issue(first, [{ type: "text", text: "Done." }]);
		expect(acceptedOf(check.check(request(stripped)))).toMatchObject({ goneTokens: 0, isStripped: false });
	});
});

it("Tokens of a block are known by its signature", () => {
	const { check, play } = startSession();
	const [block] = message(play(1), 1).content as Json[];
	expect(check.tokensOf(block as Json)).toBe(100);
	expect(check.tokensOf({ type: "thinking", signature: "none" })).toBeUndefined();
});

function billing(hash: string): Json {
	return { type: "text", text: `x-anthropic-billing-header: cc_version=2; cch=${hash};` };
}

function markLast(messages: readonly Message[]): Message[] {
	const last = messages.at(-1) as Message;
	const blocks = last.content as Json[];
	return [
		...messages.slice(0, -1),
		{ ...last, content: blocks.map((one) => ({ ...one, cache_control: { type: "x" } })) },
	];
}

function listed(messages: readonly Message[]): Message[] {
	const asList = (content: unknown) => (typeof content === "string" ? [{ type: "text", text: content }] : content);
	return messages.map((one) => {
		const content = (asList(one.content) as Json[]).map((block) =>
			block.type === "tool_result" ? { ...block, content: asList(block.content) } : block,
		);
		return { ...one, content };
	});
}

function spelled(messages: readonly Message[]): Message[] {
	return messages.map((one) => {
		if (typeof one.content === "string") return one;
		const content = one.content.map((block) =>
			block.type === "tool_result" ? { ...block, is_error: false } : { ...block, citations: null },
		);
		return { ...one, content };
	});
}
