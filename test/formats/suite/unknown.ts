import { describe, expect, it } from "vitest";
import { resultText } from "../../../src/engine/conversation/transcript.ts";
import { readConversation } from "../../../src/formats/detect.ts";
import { maskConversation } from "../../../src/operations/mask.ts";
import { outputOf } from "../../support/sample-text.ts";
import { assistant, type Entry, type JsonMessage, user } from "../../support/script.ts";
import { unknownItem, withUnknownBlocks } from "../../support/unknown-items.ts";
import { type FormatRow, masking, toolsOf } from "../format-row.ts";

export function describeUnknown(row: FormatRow): void {
	const { format, read, resultsOf, turn, write, unknownRole, unknownRecord } = toolsOf(row);

	/** What a conversation is read as: its format, the outputs in it, and whether the words of the unknown are counted. */
	const seen = (document: unknown) => {
		const { format: found, transcript } = readConversation(document);
		const outputs = transcript.messages.flatMap(({ results }) => results.map(resultText));
		return {
			format: found.name,
			outputs,
			calls: transcript.messages.flatMap(({ calls }) => calls.map(({ id }) => id)),
			counts: transcript.messages.some(({ counted }) => counted.join("\n").includes("note line 7")),
		};
	};

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

		const plain = write(user("Go."), turn("a"), assistant("Half."), turn("b"));
		const expected = seen(plain);
		/** The end of the turn `a`: an item between a call and its result is in the answer of no API. */
		const middle = write(user("Go."), turn("a")).length;

		// Linked records are added at the end.
		it.each(unknownRecord ? [plain.length] : [0, middle, plain.length])(
			"keeps and counts an unknown item at %i, and reads all else as before",
			async (at) => {
				const item = unknownRecord ?? unknownItem("note");
				const messages = [...plain.slice(0, at), item, ...plain.slice(at)];
				expect(seen(messages)).toEqual({ ...expected, counts: true });
				const { conversation } = await maskConversation({ conversation: messages, policy: masking });
				const without = await maskConversation({ conversation: plain, policy: masking });
				const masked = conversation as JsonMessage[];
				expect(masked[at]).toBe(item);
				expect(masked.toSpliced(at, 1)).toEqual(without.conversation);
			},
		);

		const listed: Entry = { kind: "text", role: "user", text: [{ type: "text", text: "Go." }] };
		const inParts = write(listed, turn("a"), assistant("Half."), turn("b"));
		const { messages, blocks } = [plain, inParts].map(withUnknownBlocks).find((one) => one.blocks > 0) ?? {
			blocks: 0,
			messages: [],
		};
		it.skipIf(row.hasNoBlocks)(
			"keeps and counts unknown blocks in messages, and reads all else as before",
			async () => {
				expect(blocks).toBeGreaterThan(0);
				expect(seen(messages)).toEqual({ ...expected, counts: true });
				const { conversation, edits } = await maskConversation({ conversation: messages, policy: masking });
				expect(edits.length).toBeGreaterThan(0);
				expect(JSON.stringify(conversation).split("note line 7").length - 1).toBe(blocks);
			},
		);
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
