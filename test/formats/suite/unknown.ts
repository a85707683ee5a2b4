import { describe, expect, it } from "vitest";
import { resultText } from "../../../src/conversation/transcript.ts";
import { maskConversation } from "../../../src/operations/mask.ts";
import { outputOf } from "../../support/sample-text.ts";
import { assistant, user } from "../../support/script.ts";
import { type FormatRow, masking, toolsOf } from "../format-row.ts";

export function describeUnknown(row: FormatRow): void {
	const { format, read, resultsOf, turn, write, unknownRole } = toolsOf(row);

	describe(`${format.title}: unknown content`, () => {
		it("keeps unknown fields of messages, byte for byte", async () => {
			const messages = write(turn("a"), turn("b")).map((message, index) => ({
				...message,
				x_last: { n: 1e21, index },
			}));
			const { conversation } = await maskConversation({ conversation: messages, policy: masking });
			const [masked] = resultsOf(conversation);
			const [before, after] = [JSON.stringify(messages), JSON.stringify(conversation)];
			const written = JSON.stringify(masked && resultText(masked));
			expect(after).toBe(before.replaceAll(JSON.stringify(outputOf("a")), written));
		});

		it("a conversation of only texts has nothing to mask", async () => {
			const messages = write(user("Hello"), assistant("Hi"), user(outputOf("long")));
			const outcome = await maskConversation({ conversation: messages, policy: masking }).catch(() => undefined);
			if (outcome) expect(outcome.conversation).toBe(messages);
			else expect(row.textsAlone).toBe("none");
		});
	});

	if (!unknownRole) return;
	describe(`${format.title}: unknown roles`, () => {
		it("keeps and counts messages of unknown roles", async () => {
			const checkpoint = unknownRole("_checkpoint", outputOf("checkpoint"));
			const messages = [checkpoint, ...write(turn("a"), turn("b"))];
			const transcript = read(messages);
			expect(transcript.messages[0]?.role).toBe("other");
			expect(transcript.messages[0]?.counted.join("")).toContain("checkpoint line 1");
			const { conversation } = await maskConversation({ conversation: messages, policy: masking });
			expect((conversation as unknown[])[0]).toBe(checkpoint);
		});

		it.each(["toString", "constructor", "__proto__"])("the role %s is unknown", (role) => {
			expect(read([unknownRole(role, "x")]).messages[0]?.role).toBe("other");
		});
	});
}
