import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { invertEdits, writeEdits } from "../../src/formats/json-text/edit.ts";
import { readTextDocument } from "../../src/formats/json-text/read.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { decodeText } from "../../src/storage/files/access.ts";
import { expectedText } from "../formats/json-text/chosen-edits.ts";
import { placedEdits, placedText } from "../formats/json-text/placed-text.ts";
import { atLeast } from "../support/breadth.ts";
import { policyOf } from "../support/policy-of.ts";
import { chosenConversations, conversationsFolder } from "../support/real-conversations.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

vi.mock(import("../../src/formats/tokens/counter.ts"), async (importOriginal) => {
	const { rememberCounts } = await import("../support/remembered-counter.ts");
	return rememberCounts(importOriginal);
});

const files = chosenConversations();

interface Seen {
	files: number;
	edits: number;
	removed: number;
	asLines: number;
	editsOfLines: number;
}
const seen = new Map<string, Seen>();
const unread = new Set<string>();

type Conversation = { readonly format: string; readonly messages: readonly unknown[] };

const runs = [
	(conversation: unknown) => maskConversation({ conversation, policy: policyOf({ mask: { window_turns: 1 } }) }),
	(conversation: unknown) =>
		guardConversation({ conversation, policy: policyOf({ guard: { reserve_tokens: 1_000 } }), contextWindow: 8_000 }),
];

/** Masks and guards a text, checks what was written, and counts the edits. */
async function checkText(text: string, kind: "json" | "json_lines"): Promise<{ edits: number; removed: number }> {
	const document = readTextDocument(text, "the text");
	expect(document.kind).toBe(kind);
	const places = placedText(text, kind);
	const counts = { edits: 0, removed: 0 };
	for (const run of runs) {
		const { conversation, edits, error } = await run(document.value);
		expect(error).toBeUndefined();
		const edited = writeEdits(document, edits);
		// Whole texts of megabytes in a failure would drown its point.
		expect(edited.text === expectedText(places, placedEdits(places, edits)), "identical outside of the edits").toBe(
			true,
		);
		expect(JSON.stringify(readTextDocument(edited.text, "the result").value)).toBe(JSON.stringify(conversation));
		expect(invertEdits(edited) === text, "the inverse is exact").toBe(true);
		counts.edits += edits.length;
		counts.removed += edits.filter((edit) => edit.kind === "remove").length;
	}
	return counts;
}

/** Whether its format is one that is read by now. */
function isRead(conversation: unknown): boolean {
	try {
		readConversation(conversation);
		return true;
	} catch {
		return false;
	}
}

describe.skipIf(files.length === 0)("real conversations are written without loss", () => {
	it.each(files)("%s", async (file) => {
		const text = decodeText(readFileSync(join(conversationsFolder, file)), file);
		const conversation = JSON.parse(text) as Conversation;
		if (!isRead(conversation)) return void unread.add(conversation.format);
		const counted = seen.get(conversation.format) ?? { files: 0, edits: 0, removed: 0, asLines: 0, editsOfLines: 0 };
		seen.set(conversation.format, counted);
		const { edits, removed } = await checkText(text, "json");
		counted.files += 1;
		counted.edits += edits;
		counted.removed += removed;

		if (counted.files % 2 === 0 || conversation.messages.length < 2 || !isRead(conversation.messages)) return;
		const separator = counted.files % 4 === 1 ? "\n" : "\r\n\n";
		const lines = conversation.messages.map((record) => JSON.stringify(record)).join(separator);
		counted.asLines += 1;
		counted.editsOfLines += (await checkText(counted.files % 3 === 0 ? lines : `${lines}\n`, "json_lines")).edits;
	});

	it("the command keeps them too, bytes in and bytes out", async () => {
		const firstOfEach = files.filter((file, index) => file.split("/")[0] !== files[index - 1]?.split("/")[0]);
		const everyOther = firstOfEach.filter((_, index) => index % 2 === 0);
		const home = await scratchFolder();
		let changed = 0;
		for (const file of everyOther) {
			const bytes = readFileSync(join(conversationsFolder, file));
			const document = readTextDocument(decodeText(bytes, file), file);
			if (!isRead(document.value)) continue;
			const { edits } = await maskConversation({ conversation: document.value, policy: policyOf() });
			const run = await runHere(["mask", join(conversationsFolder, file)], { folder: home });
			expect(run.code).toBe(0);
			expect(run.stdout.equals(Buffer.from(writeEdits(document, edits).text)), file).toBe(true);
			const piped = await runHere(["mask", "-", "--set", "mask.window_turns=1000"], { folder: home, input: bytes });
			expect(piped.stdout.equals(bytes), file).toBe(true);
			changed += edits.length > 0 ? 1 : 0;
		}
		expect(changed).toBeGreaterThan(3);
	}, 240_000);

	afterAll(() => {
		const lines = [...seen].map(([format, counts]) => `  ${format}: ${JSON.stringify(counts)}\n`);
		const missing = unread.size === 0 ? "" : `  not read: ${[...unread].join(", ")}\n`;
		process.stderr.write(`Real conversations, lossless:\n${lines.join("")}${missing}`);
		for (const format of ["openai", "anthropic"]) expect(seen.get(format)?.edits, format).toBeGreaterThan(atLeast(300));
		expect([...seen.values()].reduce((sum, { removed }) => sum + removed, 0)).toBeGreaterThan(atLeast(500));
		expect([...seen.values()].reduce((sum, { editsOfLines }) => sum + editsOfLines, 0)).toBeGreaterThan(atLeast(500));
	});
});
