import { describe, expect, it } from "vitest";
import { guard, mask } from "../../src/library.ts";
import { turnsOf } from "../support/replay-history.ts";

const policy = { mask: { window_turns: 3, cadence: "break_even" } } as const;
const outputs = Array.from({ length: 6 }, (_, turn) => `output ${turn} `.repeat(60));
const conversation = turnsOf(outputs) as { role: string; content: string }[];

const contentsOf = (messages: readonly { readonly role: string; readonly content: string }[]) =>
	messages.flatMap(({ role, content }) => (role === "tool" ? [content] : []));

describe("masking after a pause", () => {
	it("is free once the cache is lost, so break-even masks all candidates", async () => {
		expect((await mask(conversation, { policy })).edits).toEqual([]);
		expect((await mask(conversation, { policy, idleSeconds: 300 })).edits).toEqual([]);
		const { edits, report } = await mask(conversation, { policy, idleSeconds: 301 });
		expect(edits).toHaveLength(3);
		expect(report.economics.calls_to_break_even).toBe(0);
	});

	it("waits for as long as the policy says that the cache lasts", async () => {
		const lasting = { ...policy, prices: { cache_seconds: 3_600 } };
		expect((await mask(conversation, { policy: lasting, idleSeconds: 3_600 })).edits).toEqual([]);
		expect((await mask(conversation, { policy: lasting, idleSeconds: 3_601 })).edits).toHaveLength(3);
	});

	it("stays where the masked conversation is sent on", async () => {
		const masked = await mask(conversation, { policy, idleSeconds: 4_000 });
		const longer = turnsOf([...outputs, "output 6 ".repeat(60)]) as typeof conversation;
		const sentOn = [...masked.conversation, ...longer.slice(conversation.length)];
		const next = await mask(sentOn, { policy });
		expect(contentsOf(next.conversation).slice(0, 3)).toEqual(contentsOf(masked.conversation).slice(0, 3));
		expect(next.edits).toEqual([]);
		expect(next.conversation).toBe(sentOn);
	});

	it("by the times in a history needs no word of the caller, and is the same in a longer history", async () => {
		const time = (minutes: number) => ({ extra: { timestamp: 1_700_000_000 + 60 * minutes } });
		const timed = conversation.map((message, index) => ({ ...message, ...time(index / 10) }));
		expect((await mask(timed, { policy })).edits).toEqual([]);
		const back = [...timed, { role: "user", content: "Go on.", ...time(30) }];
		const first = await mask(back, { policy });
		expect(first.edits).toHaveLength(3);
		const longer = [...back, { role: "assistant", content: "Done.", ...time(30) }];
		expect((await mask(longer, { policy })).edits).toEqual(first.edits);
	});

	it("is the same in the guard, where a conversation does not fit", async () => {
		const window = {
			contextWindow: 1_000,
			reserveTokens: 0,
			policy: { ...policy, guard: { ladder: ["mask"] } },
		} as const;
		const small = { ...window, contextWindow: 10_000 };
		expect((await guard(conversation, { ...small, idleSeconds: 9_999 })).edits).toEqual([]);
		const { report } = await guard(conversation, { ...window, idleSeconds: 9_999 });
		expect(report.masked_tool_results).toBe(3);
		expect(report.economics.calls_to_break_even).toBe(0);
	});

	it.each([-1, Number.NaN, "5"])("refuses %j seconds", async (idleSeconds) => {
		const given = { policy, idleSeconds: idleSeconds as number };
		await expect(mask(conversation, given)).rejects.toMatchObject({ code: "invalid_argument" });
		await expect(guard(conversation, { ...given, contextWindow: 9_000 })).rejects.toThrow(/idleSeconds/);
	});
});
