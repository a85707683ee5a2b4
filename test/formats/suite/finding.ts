import { describe, expect, it } from "vitest";
import { formats, locateMessages, readConversation } from "../../../src/formats/detect.ts";
import { maskConversation } from "../../../src/operations/mask.ts";
import { assistant, user } from "../../support/script.ts";
import { type FormatRow, masking, toolsOf } from "../format-row.ts";

export function describeFinding(row: FormatRow): void {
	const { format, textsAlone, turn, write, alsoFits = [], tolerates = [] } = toolsOf(row);

	describe(`${format.title}: format detection`, () => {
		it("is in the list of formats", () => {
			expect(formats).toContain(format);
		});

		it("is detected in its own conversations", () => {
			expect(readConversation(write(user("Go."), turn("a"))).format).toBe(format);
			expect(readConversation({ [row.key]: write(turn("a")) }).format).toBe(format);
		});

		it("matches no other format", () => {
			const located = locateMessages(write(user("Go."), turn("a"), turn("b")));
			const fitting = formats.filter((one) => one.probe(located).fit !== "none").map(({ name }) => name);
			expect(fitting.filter((name) => !alsoFits.includes(name))).toEqual([format.name]);
		});

		it("is named in the report", async () => {
			const { report } = await maskConversation({ conversation: write(user("Go."), turn("a")), policy: masking });
			expect(report.format).toBe(format.name);
		});

		it(`reads a conversation of only texts as ${textsAlone}`, () => {
			expect(format.probe(locateMessages(write(user("Hello"), assistant("Hi")))).fit).toBe(textsAlone);
		});

		it("accepts an empty list of messages", () => {
			expect(format.read(locateMessages([]))).toMatchObject({ messages: [], surroundings: [] });
		});

		const strange = [1, "text", null, [], {}, { role: 7 }, { type: 7 }].filter(
			(value) => !tolerates.some((one) => JSON.stringify(one) === JSON.stringify(value)),
		);
		it.each(strange.map((value) => [value]))("does not match %j, and names the message", (value) => {
			const before = write(user("Hello"), turn("a"));
			const fit = format.probe(locateMessages([...before, value]));
			expect(fit).toMatchObject({ fit: "none", message: before.length, expected: expect.any(String) });
		});

		it("ignores inherited keys", () => {
			const inherited = Object.create(write(turn("a"))[0] ?? {});
			expect(format.probe(locateMessages([inherited])).fit).not.toBe("certain");
		});
	});
}
