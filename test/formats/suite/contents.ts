import { describe, expect, it } from "vitest";
import { guardConversation } from "../../../src/operations/guard.ts";
import { maskConversation } from "../../../src/operations/mask.ts";
import { policyOf } from "../../support/policy-of.ts";
import { outputOf } from "../../support/sample-text.ts";
import { calls, results, toolTurn } from "../../support/script.ts";
import { type FormatRow, masking, placeholder, toolsOf } from "../format-row.ts";

export function describeContents(row: FormatRow): void {
	const { format, contents, image, read, resultsOf, shapes, write } = toolsOf(row);
	const strings = ["text", ""].map((text) => ({ title: JSON.stringify(text), content: text, texts: [text] }));
	const maskFirst = async (content: unknown, policy = masking) => {
		const conversation = write(toolTurn("a", content), toolTurn("b", "ok"));
		const outcome = await maskConversation({ conversation, policy });
		expect(outcome.error).toBeUndefined();
		return { outcome, content: contents(outcome.conversation)[0] };
	};

	describe(`${format.title}: contents of results`, () => {
		it.each([...strings.map((one) => ({ ...one, masked: String })), ...shapes])(
			"reads $title",
			({ title, content, texts, masked }) => {
				const [result] = resultsOf(write(calls({ id: "a", name: "ls" }), results({ id: "a", content })));
				expect(result?.texts.map(({ text }) => text) ?? []).toEqual(texts);
				const isReplaced = masked !== undefined || row.masksJson?.includes(title) === true;
				expect(result?.whole !== undefined).toBe(isReplaced);
			},
		);

		it.each(shapes.filter(({ masked }) => masked === undefined))("leaves $title unchanged", async ({ content }) => {
			expect((await maskFirst(content)).content).toEqual(content);
		});

		it("leaves a text that is no longer than its placeholder", async () => {
			expect((await maskFirst("ok")).content).toBe("ok");
			expect((await maskFirst("")).content).toBe("");
		});

		it.each(shapes.flatMap((shape) => (shape.masked === undefined ? [] : [{ ...shape, masked: shape.masked }])))(
			"masks $title in its own shape, once",
			async ({ content, masked }) => {
				const { outcome, content: after } = await maskFirst(content);
				expect(after).toEqual(masked(expect.stringMatching(placeholder)));
				const again = await maskConversation({ conversation: outcome.conversation, policy: masking });
				expect(again.conversation).toBe(outcome.conversation);
			},
		);

		it.runIf(row.flagsErrors)("reads the format's own error flag, and keep_errors trusts it", async () => {
			const failed = (isError: boolean | undefined) => [
				calls({ id: "a", name: "ls" }),
				results({ id: "a", content: outputOf("plain"), isError }),
			];
			const flags = [true, false, undefined].map((flag) => resultsOf(write(failed(flag)))[0]?.isError);
			expect(flags[0]).toBe(true);
			expect(flags.slice(1)).not.toContain(true);
			const masked = async (flag: boolean) => {
				const conversation = write(failed(flag), toolTurn("b", "ok"));
				return (await maskConversation({ conversation, policy: masking })).report.masked_tool_results;
			};
			expect(await masked(true)).toBe(0);
			expect(await masked(false)).toBe(1);
		});
	});

	if (!image) return;
	describe(`${format.title}: an image in a result`, () => {
		const withImage = image.beside(outputOf("one", 200));

		it("stays with all content next to it, and is counted", async () => {
			expect((await maskFirst(withImage)).content).toEqual(withImage);
			const tokens = (document: unknown) => read(document).messages.reduce((sum, one) => sum + one.mediaTokens, 0);
			expect(tokens(write(toolTurn("a", withImage)))).toBeGreaterThan(200);
			expect(JSON.stringify(read(write(toolTurn("a", withImage))).messages.map((one) => one.counted))).not.toContain(
				"AAAA",
			);
		});

		it("stays when a text next to it is cut", async () => {
			const policy = policyOf({
				guard: { max_tool_result_chars: 1_000, truncate_head_chars: 50, truncate_tail_chars: 50 },
			});
			const conversation = write(toolTurn("a", withImage));
			const outcome = await guardConversation({ conversation, policy, contextWindow: 100_000 });
			expect(outcome.error).toBeUndefined();
			expect(resultsOf(outcome.conversation)[0]?.texts[0]?.text.length).toBeLessThan(200);
			expect(JSON.stringify(contents(outcome.conversation)[0])).toContain(JSON.stringify(image.part));
		});

		it("becomes a placeholder when the policy says so, once", async () => {
			const policy = policyOf({ media: "mask", mask: { window_turns: 1 } });
			const { outcome, content } = await maskFirst(withImage, policy);
			expect(JSON.stringify(content)).not.toContain(JSON.stringify(image.part));
			expect(resultsOf(outcome.conversation)[0]?.media).toEqual([]);
			const again = await maskConversation({ conversation: outcome.conversation, policy });
			expect(again.conversation).toBe(outcome.conversation);
		});
	});
}
