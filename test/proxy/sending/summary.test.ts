import { describe, expect, it } from "vitest";
import { isSummarised, summaryDue } from "../../../src/proxy/sending/summary.ts";
import { digestOf, swapFor, withSwap } from "../../../src/proxy/sending/swap.ts";
import { policyOf } from "../../support/policy-of.ts";

describe("whether the provider's summaries take the place of maskings", () => {
	const policy = policyOf({ preset: "balanced", compaction: { by: "provider" } });
	const is = (body: object, more: { readonly model?: string; readonly refusesBlocks?: boolean } = {}) => {
		const { model = "claude-opus-5-5", refusesBlocks = false } = more;
		return isSummarised({ body, model, takesBetas: true }, policy, { refusesBlocks });
	};

	it("is so where the policy asks for it and the model can", () => {
		expect(is({})).toBe(true);
		expect(is({ context_management: { edits: [{ type: "clear_thinking_20251015" }] } })).toBe(true);
		expect(is({}, { model: "claude-opus-4-5" })).toBe(false);
		expect(is({}, { refusesBlocks: true })).toBe(false);
		const host = policyOf({ preset: "balanced" });
		expect(isSummarised({ body: {}, model: "claude-opus-5-5", takesBetas: true }, host, { refusesBlocks: false })).toBe(
			false,
		);
	});

	it.each(["compact_20260112", "clear_tool_uses_20250919", "compact_20270101"])(
		"is not so where the program lets the provider edit itself: %s",
		(type) => {
			expect(is({ context_management: { edits: [{ type }] } })).toBe(false);
		},
	);
});

describe("a summary in the place of messages", () => {
	const turn = (number: number) => ({ role: number % 2 === 0 ? "user" : "assistant", content: `message ${number}` });
	const messages = Array.from({ length: 13 }, (_, number) => turn(number));
	const block = (count: number, lacks: string) => ({
		messages: count,
		digest: digestOf(messages.slice(0, count)),
		message: { role: "assistant", content: [{ type: "compaction", content: `${count}`, signature: "c2ln" }] },
		lacks,
	});
	const carrier = (of: ReturnType<typeof block>, count: number) => ({
		block: of.digest,
		messages: count,
		digest: digestOf(messages.slice(0, count)),
	});
	const request = { body: { model: "claude-opus-5-5", messages }, takesBetas: true, decides: true };
	const [first, second] = [block(4, "the lines of the first"), block(8, "the lines of the second")];

	it("leaves what an earlier one lacks in a kept message that was sent with it", () => {
		const known = { blocks: [first, second], carriers: [carrier(first, 11)], refusesBlocks: false };
		const swap = swapFor(request, known);
		expect(swap?.block).toBe(second);
		expect(swap?.carried).toEqual([
			{ at: 10, text: "the lines of the first" },
			{ at: 12, text: "the lines of the second" },
		]);
		// A kept message that is summarised by now takes nothing.
		const gone = swapFor(request, { ...known, carriers: [carrier(first, 7), carrier(second, 13)] });
		expect(gone).toMatchObject({ carried: [{ at: 12 }], isNew: undefined });
	});

	it("writes what two of them lack into one message", () => {
		const known = { blocks: [first, second], carriers: [carrier(first, 13)], refusesBlocks: false };
		const edits = withSwap([], request.body, swapFor(request, known));
		const written = edits.filter(({ path }) => path[1] === 12);
		expect(written).toMatchObject([{ replacement: "message 12\n\nthe lines of the first\n\nthe lines of the second" }]);
	});

	it("is not asked for again before the one that came meanwhile is sent", async () => {
		const policy = policyOf({
			preset: "balanced",
			compaction: { by: "provider", keep_tool_groups: 1 },
			guard: { context_window_override: 9_000 },
		});
		const remembered = { blocks: [first, second], carriers: [], refusesBlocks: false };
		const about = {
			request: { ...request, model: "claude-opus-5-5", terms: { prices: { steps: [] } } },
			editing: { policy, memory: { recall: () => remembered } },
			promptTokens: 90_000,
			written: undefined,
		};
		const opened = { conversation: "c", isHeldOut: false };
		expect(await summaryDue(opened as never, { block: first } as never, about as never)).toBeUndefined();
		await expect(summaryDue(opened as never, { block: second } as never, about as never)).rejects.toThrow();
	});
});
