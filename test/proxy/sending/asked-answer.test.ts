import { describe, expect, it, vi } from "vitest";
import { unseenAnswer } from "../../../src/engine/masking/asked.ts";
import { callsInView } from "../../../src/engine/masking/in-use.ts";
import type { Policy } from "../../../src/engine/policy/schema.ts";
import { planNext } from "../../../src/proxy/sending/plan.ts";
import { policyOf } from "../../support/policy-of.ts";
import { early, sendSettled, startPlayed } from "../played.ts";
import { messagesOf, requestOf, type SessionApi, sessionApis, type Turn, turnsOf } from "../sessions.ts";
import { send } from "../upstream.ts";

/** The answer of our server, which does not see the conversation. */
const unseen = `${unseenAnswer}\nStart the agent program with \`palimpsest launch PROGRAM\`.`;

function asking(tool: string, input: object, id = "toolu_01AskedOfTests0001"): Turn {
	return { id, command: "", output: unseen, call: { name: `mcp__palimpsest__${tool}`, input } };
}

const turns = turnsOf(12);
const hasOutput = (body: string, { output }: Turn) => {
	const written = JSON.stringify(output).slice(1, -1);
	return messagesOf(body).some((message) => message.includes(written));
};
const shown = (body: string) => turns.filter((turn) => hasOutput(body, turn)).length;

/** A session in which a call is made after eight turns. */
async function afterAsking(
	api: SessionApi,
	call: Turn,
	{ before = turns.slice(0, 8), policy }: { readonly before?: readonly Turn[]; readonly policy?: Policy } = {},
) {
	const session = await startPlayed(policy ? { policy } : {});
	const proxy = await session.start();
	const history: Turn[] = [];
	for (const turn of before) {
		history.push(turn);
		await sendSettled(proxy, requestOf(api, history));
	}
	const go = async (turn: Turn, through = proxy) => {
		history.push(turn);
		await sendSettled(through, requestOf(api, history));
		return session.lastBody();
	};
	return { session, proxy, history, go, asked: await go(call) };
}

describe("an agent that asks for masking in its own conversation", () => {
	it.each(sessionApis)(
		"gets the figures in the first answer, and the masks from the next request on: %s",
		async (api) => {
			const { session, go, asked } = await afterAsking(api, asking("mask_conversation", {}));
			expect(asked).not.toContain(unseenAnswer);
			expect(asked).toMatch(
				/7 results masked from the next request on, \d{1,2} \d{3} tokens; each can be read again with/,
			);
			expect(shown(asked)).toBe(8);
			const next = await go(turns[8] as Turn);
			// The last turn before the call stays, and so does what comes after it.
			expect(shown(next)).toBe(2);
			const elsewhere = await session.start();
			const resumed = await go(turns[9] as Turn, elsewhere);
			expect(messagesOf(resumed).slice(0, messagesOf(next).length)).toEqual(messagesOf(next));
			expect(session.faults()).toEqual([]);
		},
	);

	it("masks the results that it names, and no others", async () => {
		const ids = [turns[2]?.id, turns[7]?.id, "toolu_unknown_000000000"];
		const { go, asked } = await afterAsking("anthropic", asking("mask_conversation", { tool_call_ids: ids }));
		expect(asked).toMatch(/2 results masked from the next request on, .*1 reference or id not found here/);
		const next = await go(turns[8] as Turn);
		expect(shown(next)).toBe(7);
		expect(next).not.toContain(JSON.stringify(turns[7]?.output).slice(1, -1));
	});

	it("names results by the references that guard_context lists", async () => {
		const { go, asked } = await afterAsking("anthropic", asking("guard_context", {}));
		expect(asked).toMatch(/This conversation has \d+ \d{3} tokens, \d+\.\d % of a window of 200 000/);
		expect(asked).toMatch(/ bash +8 +\d+ \d{3} +\d\d\.\d %/);
		expect(asked).toMatch(/frees \d+ \d{3} tokens/);
		const refs = [...asked.matchAll(/\\n(?<ref>[a-z2-7]{12}) bash \d/g)].map(({ groups }) => groups?.ref);
		expect(refs).toHaveLength(8);
		await go(asking("mask_conversation", { refs: refs.slice(0, 3) }, "toolu_01AskedOfTests0002"));
		expect(shown(await go(turns[8] as Turn))).toBe(6);
	});

	it("leaves so many turns, and takes tools by their exact names", async () => {
		const left = await afterAsking("anthropic", asking("mask_conversation", { keep_turns: 5 }));
		expect(shown(await left.go(turns[8] as Turn))).toBe(6);
		const pattern = await afterAsking("anthropic", asking("mask_conversation", { tools: ["ba.*", "*"] }));
		expect(pattern.asked).toContain("No result masked.");
		expect(shown(await pattern.go(turns[8] as Turn))).toBe(9);
		const exact = await afterAsking("anthropic", asking("mask_conversation", { tools: ["bash"] }));
		expect(shown(await exact.go(turns[8] as Turn))).toBe(1);
	});

	const failed: Turn = {
		...(turns[3] as Turn),
		command: "python check.py",
		output: `${"Traceback (most recent call last):\n".padEnd(2_000, '  File "check.py", line 3\n')}\nValueError: 17 values`,
	};
	const before = turns.slice(0, 8).with(3, failed);

	it("leaves errors, unless it names them", async () => {
		const all = await afterAsking("anthropic", asking("mask_conversation", {}), { before });
		expect(all.asked).toMatch(/6 results masked .*1 error, answer of a person or skill not masked/);
		expect(await all.go(turns[8] as Turn)).toContain("ValueError");
		const named = await afterAsking("anthropic", asking("mask_conversation", { tool_call_ids: [failed.id] }), {
			before,
		});
		expect(named.asked).toContain("1 result masked");
		expect(await named.go(turns[8] as Turn)).not.toContain('check.py\\", line 3');
	});
});

describe("masks that the agent has asked for", () => {
	it("come with the next request also where the plans of earlier requests end after the call", async () => {
		let holds = false;
		const held: (() => void)[] = [];
		const planner: typeof planNext = async (planning) => {
			const plan = await planNext(planning);
			if (holds) await new Promise<void>((resolve) => held.push(resolve));
			return plan;
		};
		const session = await startPlayed({ engine: { planner } });
		const proxy = await session.start();
		const history = turns.slice(0, 7);
		await sendSettled(proxy, requestOf("anthropic", history));
		holds = true;
		for (const turn of [turns[7] as Turn, asking("mask_conversation", {})]) {
			history.push(turn);
			await send(proxy.url, requestOf("anthropic", history));
		}
		// The plan on the request before the call; that on the call is held.
		await vi.waitFor(() => expect(held).toHaveLength(1));
		held[0]?.();
		await vi.waitFor(() => expect(held).toHaveLength(2));
		history.push(turns[8] as Turn);
		await send(proxy.url, requestOf("anthropic", history));
		expect(shown(session.lastBody())).toBe(2);
		holds = false;
		for (const release of held) release();
		await proxy.settled();
	});
});

describe("two agents in one folder", () => {
	it("see nothing of each other's conversations, with any references", async () => {
		const { session, proxy, go } = await afterAsking("anthropic", asking("guard_context", {}));
		const others = turnsOf(14, 3_000).map(({ output, ...turn }) => {
			return { ...turn, id: `${turn.id}b`, output: `of the other ${output}` };
		});
		const other: Turn[] = [];
		const say = async (turn: Turn) => {
			other.push(turn);
			await sendSettled(proxy, requestOf("anthropic", other, "Another task."));
			return session.lastBody();
		};
		for (const turn of others.slice(0, 8)) await say(turn);
		const refsIn = (body: string) => [...body.matchAll(/\\n(?<ref>[a-z2-7]{12}) bash \d/g)].map(([, ref]) => ref);
		const seen = refsIn(await say(asking("guard_context", {}, "toolu_01AskedOfTests0011")));
		expect(seen).toHaveLength(8);
		const ids = others.slice(0, 3).map(({ id }) => id);
		const naming = { refs: seen, tool_call_ids: ids };
		const answer = await go(asking("mask_conversation", naming, "toolu_01AskedOfTests0012"));
		expect(answer).toContain("No result masked. 11 references or ids not found here.");
		for (const ref of seen) expect(answer.split(String(ref))).toHaveLength(2);
		expect(shown(await go(turns[8] as Turn))).toBe(9);
		const whole = await say(others[8] as Turn);
		expect(others.filter((turn) => hasOutput(whole, turn))).toHaveLength(9);
		expect(refsIn(whole).filter((ref) => !seen.includes(ref))).toEqual([]);
	});
});

describe('an agent of a user with mask.by = "provider"', () => {
	it("has the oldest results cleared up to the newest that it names, and the answer says so", async () => {
		const policy = policyOf({ preset: "balanced", mask: { by: "provider" } });
		const named = asking("mask_conversation", { tool_call_ids: [turns[4]?.id] });
		const { go, asked, session } = await afterAsking("anthropic", named, { policy });
		expect(asked).toMatch(
			/5 results cleared by the provider, oldest first, from the next request on, \d+ \d{3} tokens/,
		);
		expect(asked).not.toContain("clear_tool_uses");
		const clearing = (body: string) => JSON.parse(body).context_management.edits.at(-1).keep.value;
		expect(clearing(await go(turns[8] as Turn))).toBe(5);
		expect(clearing(await go(turns[9] as Turn, await session.start()))).toBe(6);
		const keep = asking("mask_conversation", { tool_call_ids: [turns[9]?.id], keep: true }, "toolu_01AskedOfTests0002");
		expect(await go(keep)).toContain(
			"The provider clears results of this conversation, oldest first, so none is kept.",
		);
	});
});

describe("an agent that asks to keep a result in view", () => {
	it("has it for some answers, and it is masked after them", async () => {
		const call = asking("mask_conversation", { tool_call_ids: [turns[0]?.id], keep: true });
		const { go, asked } = await afterAsking("anthropic", call, { before: turns.slice(0, 1), policy: early });
		expect(asked).toContain(`1 result stays in view for the next ${callsInView} answers.`);
		const more = turnsOf(callsInView + 4, 2_000).slice(1);
		const seen: boolean[] = [];
		for (const turn of more) seen.push(hasOutput(await go({ ...turn, id: `${turn.id}more` }), turns[0] as Turn));
		expect(seen.slice(0, callsInView - 1)).not.toContain(false);
		expect(seen.at(-1)).toBe(false);
	});
});

describe("a text like our answer", () => {
	it.each([
		["of another tool", { call: { name: "bash", input: {} } }],
		["to a call that passes messages", { call: { name: "mask_conversation", input: { messages: [] } } }],
		["to a call that names a file", { call: { name: "mask_conversation", input: { path: "a.jsonl" } } }],
	])("%s changes nothing", async (_, more) => {
		const { go, asked } = await afterAsking("anthropic", { ...asking("mask_conversation", {}), ...more });
		expect(asked).toContain(unseenAnswer);
		expect(shown(await go(turns[8] as Turn))).toBe(9);
	});

	it("that another server answers to a call of the same name changes nothing", async () => {
		const other = { ...asking("mask_conversation", {}), output: "12 results masked from the next request on." };
		const { go } = await afterAsking("anthropic", other);
		expect(shown(await go(turns[8] as Turn))).toBe(9);
	});
});
