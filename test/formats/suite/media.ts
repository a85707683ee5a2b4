import { describe, expect, it } from "vitest";
import { applyEdits, invertEdits } from "../../../src/formats/json-text/edit.ts";
import { guardConversation } from "../../../src/operations/guard.ts";
import { maskConversation } from "../../../src/operations/mask.ts";
import { listPrunable, pruneConversation } from "../../../src/operations/prune.ts";
import { pngOf } from "../../support/media-samples.ts";
import { policyOf } from "../../support/policy-of.ts";
import { outputOf } from "../../support/sample-text.ts";
import { calls, type Entry, results, toolTurn, user } from "../../support/script.ts";
import { thereAndBack } from "../../support/there-and-back.ts";
import { type FormatRow, masking, toolsOf } from "../format-row.ts";

const picture = pngOf(1_200, 900, 5_000);
const pictureBytes = Buffer.from(picture, "base64").length;
const maskingMedia = policyOf({ media: "mask", mask: { window_turns: 1 } });

/** What `media = "mask"` does in every format whose results hold images. */
export function describeMedia(row: FormatRow): void {
	const { format, image, resultsOf, write } = toolsOf(row);
	if (!image) return;
	const withPicture = (text: string): unknown =>
		JSON.parse(JSON.stringify(image.beside(text)).replaceAll("AAAA", picture));
	const masked = async (policy: typeof masking, ...entries: readonly (Entry | readonly Entry[])[]) => {
		const conversation = write(...entries);
		const outcome = await maskConversation({ conversation, policy });
		expect(outcome.error).toBeUndefined();
		return { conversation, outcome };
	};
	const old = toolTurn("a", withPicture(outputOf("beside")), "screenshot");
	const recent = toolTurn("b", withPicture(outputOf("recent")), "screenshot");

	describe(`${format.title}: masked media`, () => {
		it("reads type, size and dimensions, and estimates the tokens", () => {
			const [result] = resultsOf(write(old));
			expect(result?.media).toMatchObject([
				{ kind: "image", mediaType: "image/png", bytes: pictureBytes, dimensions: { width: 1_200, height: 900 } },
			]);
			// 765 for OpenAI, 1 440 for Anthropic, 1 032 for Gemini.
			expect([765, 1_032, 1_440]).toContain(result?.media[0]?.tokens);
			expect(result?.whole).toBeUndefined();
		});

		it.each([
			["fr", `[Média masqué: image/png, ${pictureBytes} B, 1200×900 (tool_call_id=a, outil=screenshot)]`],
			["en", `[Media masked: image/png, ${pictureBytes} B, 1200×900 (tool_call_id=a, tool=screenshot)]`],
			["zh", `[媒体已隐藏: image/png, ${pictureBytes} B, 1200×900 (tool_call_id=a, 工具=screenshot)]`],
		] as const)("names the removed %s; the text next to it and newer media stay", async (locale, placeholder) => {
			const { outcome } = await masked({ ...maskingMedia, locale }, user("Go."), old, recent);
			const [first, second] = resultsOf(outcome.conversation);
			expect(first?.texts[0]?.text).toBe(outputOf("beside"));
			expect(first?.media).toEqual([]);
			expect(readable(outcome.conversation)).toContain(placeholder);
			expect(second?.media).toHaveLength(1);
			expect(outcome.report).toMatchObject({ masked_tool_results: 1, kept: { not_text: 0 } });
		});

		it("come back to the byte, also where the text beside them is masked as well", async () => {
			const file = JSON.stringify({ [row.key]: write(user("Go."), old, recent) });
			expect((await thereAndBack(file, maskingMedia)).restored === file).toBe(true);
			const pruned = await thereAndBack(file, maskingMedia, async (request) => {
				const places = (await listPrunable(request)).map(({ place }) => place);
				return pruneConversation({ ...request, places });
			});
			expect(pruned.outcome.edits.length).toBeGreaterThan(1);
			expect(pruned.restored === file).toBe(true);
		});

		it("keeps them when the policy says keep", async () => {
			const { conversation, outcome } = await masked(masking, old, recent);
			expect(outcome.conversation).toBe(conversation);
		});

		it("counts the same as a new read of the result; masking twice equals masking once", async () => {
			const { outcome } = await masked(maskingMedia, old, recent);
			const again = await maskConversation({ conversation: outcome.conversation, policy: maskingMedia });
			expect(again.conversation).toBe(outcome.conversation);
			// Where media stand beside the content, nothing that can be masked is left in their place.
			expect(again.report.kept.already_masked + again.report.kept.not_text).toBe(1);
			expect(outcome.report.tokens.after).toBeLessThan(outcome.report.tokens.before - 500);
			// A placeholder that stands in a place of its own may cost a few tokens of framing.
			expect(Math.abs(again.report.tokens.before - outcome.report.tokens.after)).toBeLessThan(100);
		});

		it("keeps them next to an apparent error, when errors are kept", async () => {
			const failed = toolTurn("a", withPicture(`Traceback: ${outputOf("x")}`));
			const { conversation, outcome } = await masked(maskingMedia, failed, recent);
			expect(outcome.conversation).toBe(conversation);
			expect(outcome.report.kept).toMatchObject({ error: 1 });
			const all = policyOf({ media: "mask", mask: { window_turns: 1, keep_errors: false } });
			expect((await masked(all, failed, recent)).outcome.report.masked_tool_results).toBe(1);
		});

		it("keeps those of the last results of a tool, and those without a call", async () => {
			const lastOnes = policyOf({ media: "mask", mask: { window_turns: 1, keep_last_k_per_tool: 2 } });
			expect((await masked(lastOnes, old, recent)).outcome.report.kept).toMatchObject({ last_of_its_tool: 1 });
			if (row.resultsStandInCalls) return;
			const orphan = [calls({ id: "b", name: "ls" }), results({ id: "ghost", content: withPicture("x") })];
			const { outcome } = await masked(maskingMedia, orphan, recent);
			expect(outcome.report.masked_tool_results).toBe(0);
		});

		it("the edits for a history are a subset of those for a longer one", async () => {
			const turns = ["a", "b", "c", "d"].map((id) => toolTurn(id, withPicture(outputOf(id))));
			let shorter: string[] = [];
			for (let count = 1; count <= turns.length; count += 1) {
				const { outcome } = await masked(maskingMedia, user("Go."), ...turns.slice(0, count));
				const longer = outcome.edits.map((edit) => JSON.stringify(edit));
				expect(longer).toHaveLength(count - 1);
				expect(longer).toEqual(expect.arrayContaining(shorter));
				shorter = longer;
			}
		});

		it("the guard masks them too, and the edits apply to the text and can be undone", async () => {
			const messages = write(user("Go."), old, recent);
			const text = JSON.stringify({ [row.key]: messages }, null, 2);
			const policy = {
				...maskingMedia,
				guard: { ...maskingMedia.guard, ladder: ["mask" as const], reserve_tokens: 0 },
			};
			const outcome = await guardConversation({ conversation: JSON.parse(text), policy, contextWindow: 100 });
			expect(outcome.error).toBeUndefined();
			expect(outcome.report.steps).toMatchObject([{ step: "mask", count: 1 }]);
			const edited = applyEdits(text, outcome.edits);
			expect(JSON.parse(edited.text)).toEqual(outcome.conversation);
			expect(invertEdits(edited)).toBe(text);
		});
	});
}

/** The JSON of a conversation, with the text of files that a format holds in base64. */
function readable(document: unknown): string {
	const file = /(?:data:text\/plain;base64,|"mimeType":"text\/plain","data":")([\w+/=]+)/g;
	return JSON.stringify(document).replace(file, (_, data: string) => Buffer.from(data, "base64").toString("utf8"));
}
