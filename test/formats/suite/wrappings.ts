import { describe, expect, it } from "vitest";
import { maskConversation } from "../../../src/operations/mask.ts";
import { deepFreeze } from "../../support/deep-freeze.ts";
import { outputOf } from "../../support/sample-text.ts";
import { user } from "../../support/script.ts";
import { type FormatRow, masking, placeholder, toolsOf } from "../format-row.ts";

export function describeWrappings(row: FormatRow): void {
	const { format, key, body, contents, read, turn, write } = toolsOf(row);

	describe(`${format.title}: wrappings`, () => {
		const messages = write(user("Go."), turn("a"), turn("b"));
		const extra = deepFreeze({ nested: { deep: [1] } });
		const wrappings: readonly (readonly [string, unknown])[] = [
			["a bare array", messages],
			["a request body", { model: "some-model", ...body, [key]: messages, temperature: 0 }],
			["any object with the list", { session: extra, [key]: messages, "": null }],
			["any object with `messages`", { session: extra, messages }],
		];

		it.each(wrappings)("%s keeps its wrapper and its other fields", async (_, wrapped) => {
			const before = deepFreeze(wrapped);
			const { conversation, report } = await maskConversation({ conversation: before, policy: masking });
			expect(report.masked_tool_results).toBe(1);
			expect(Array.isArray(conversation)).toBe(Array.isArray(before));
			const [old, current] = [before, conversation] as Record<string, unknown>[];
			expect(Object.keys(current ?? {})).toEqual(Object.keys(old ?? {}));
			for (const field of Object.keys(old ?? {})) {
				if (field === key || field === "messages" || Array.isArray(before)) continue;
				expect(current?.[field]).toBe(old?.[field]);
			}
			expect(contents(conversation)).toEqual([expect.stringMatching(placeholder), outputOf("b")]);
		});

		it("counts the content of a request body next to the messages", () => {
			expect(read({ ...body, [key]: messages }).surroundings).toHaveLength(Object.keys(body).length);
			expect(read(messages).surroundings).toEqual([]);
			expect(read({ session: extra, [key]: messages }).surroundings).toEqual([]);
		});

		it("paths in the edits include the wrapper", async () => {
			const bare = await maskConversation({ conversation: messages, policy: masking });
			const wrapped = await maskConversation({ conversation: { [key]: messages }, policy: masking });
			expect(wrapped.edits.map(({ path }) => path)).toEqual(bare.edits.map(({ path }) => `/${key}${path}`));
		});
	});
}
