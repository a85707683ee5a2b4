import { beforeEach, describe, expect, it } from "vitest";
import { guardConversation } from "../../../src/operations/guard.ts";
import { maskConversation } from "../../../src/operations/mask.ts";
import type { Archive, OriginalKind } from "../../../src/storage/archive/archive.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { formsOfRef } from "../../../src/storage/archive/reference.ts";
import { restoreConversation, restoreText } from "../../../src/storage/restore/restore.ts";
import { policyOf } from "../../support/policy-of.ts";
import { resultContents } from "../../support/raw-conversation.ts";
import { outputOf } from "../../support/sample-text.ts";
import { type JsonMessage, openaiMessages, toolTurn, user } from "../../support/script.ts";
import { protocolConversation, protocolSamples } from "../../support/text-protocols.ts";

let archive: Archive;

const open = async (redact?: string[]) => (await openArchive({ where: "memory", redact })) as Archive;

beforeEach(async () => {
	archive = await open();
});

const last = toolTurn("last", outputOf("last"));
const image = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(4_000)}` } };
const texts = (...names: string[]) => names.map((name) => ({ type: "text", text: outputOf(name) }));
const policy = policyOf({ locale: "en", media: "mask", mask: { window_turns: 1 } });
const cutting = policyOf({
	locale: "en",
	guard: { max_tool_result_chars: 3_000, truncate_head_chars: 900, truncate_tail_chars: 900 },
});
const conversationOf = (id: string, content: unknown) => openaiMessages(user("Go."), toolTurn(id, content), last);

async function kindsIn(where: Archive): Promise<OriginalKind[]> {
	const kinds: OriginalKind[] = [];
	for await (const { kind } of where.list()) kinds.push(kind);
	return kinds.sort();
}

/** The same archive, which gives references of so many characters, as older versions did. */
function olderArchive(where: Archive, length: number): Archive {
	const olderOf = (ref: string) => formsOfRef(ref).find((form) => form.length === length) ?? ref;
	return {
		...where,
		refOf: (text) => olderOf(where.refOf(text)),
		put: async (...given) => (await where.put(...given)).map(olderOf),
	};
}

const mask = async (conversation: unknown, given = policy) =>
	maskConversation({ conversation, policy: given, archive });

const restore = (conversation: unknown) => restoreConversation({ conversation, archive, policy });

describe("parts that are archived with the text, so that it comes back to the byte", () => {
	it.each<[string, unknown, OriginalKind[]]>([
		["a string", outputOf("a"), ["result"]],
		["a list of one text", texts("a"), ["result"]],
		["a list of two texts", texts("a", "b"), ["places", "result"]],
		["an image next to a text", [...texts("a"), image], ["media", "places"]],
	])("of %s", async (_, content, kinds) => {
		const conversation = conversationOf("a", content);
		const { conversation: masked } = await mask(conversation);
		expect(await kindsIn(archive)).toEqual(kinds);
		const { conversation: back, report } = await restore(masked);
		expect(back).toEqual(conversation);
		expect(report).toMatchObject({ missing: [], ambiguous: [], without_reference: [], redacted: [], summaries: [] });
	});

	it.each([8, 20])(
		"comes back where an older version named it by %i characters, and is not masked again",
		async (length) => {
			const older = olderArchive(archive, length);
			const contents = [outputOf("a"), texts("b"), texts("c", "d"), [...texts("e"), image]];
			const turns = contents.map((content, index) => toolTurn(`id ${index}`, content));
			const conversation = openaiMessages(user("Go."), ...turns, last);
			const masked = await maskConversation({ conversation, policy, archive: older });
			const refs = masked.edits.flatMap(({ ref }) => ref ?? []);
			expect(new Set(refs.map((ref) => ref.length))).toEqual(new Set([length]));
			expect((await mask(masked.conversation)).edits).toEqual([]);
			expect((await restore(masked.conversation)).conversation).toEqual(conversation);
			const large = conversationOf("a", outputOf("a", 200));
			const request = { conversation: large, policy: cutting, archive: older, contextWindow: 100_000 };
			const cut = await guardConversation(request);
			expect(JSON.stringify(cut.conversation)).toMatch(new RegExp(`ref=[a-z0-9]{${length}}\\]`));
			expect((await restore(cut.conversation)).conversation).toEqual(large);
		},
	);

	it("has the place of an observation, which is within other words", async () => {
		const [sample] = protocolSamples;
		if (!sample) throw new Error("Expected a protocol.");
		const conversation = protocolConversation(sample);
		const { conversation: masked, report } = await mask(conversation);
		const kinds = await kindsIn(archive);
		const count = (wanted: OriginalKind) => kinds.filter((kind) => kind === wanted).length;
		expect([count("places"), count("result")]).toEqual([report.masked_tool_results, report.masked_tool_results]);
		expect((await restore(masked)).conversation).toEqual(conversation);
	});

	it("is written once for the same results in a later call", async () => {
		const conversation = conversationOf("a", texts("a", "b"));
		await mask(conversation);
		const before = (await archive.stats()).originals;
		await mask([...conversation, ...openaiMessages(toolTurn("later", outputOf("later")))]);
		expect((await archive.stats()).originals).toBe(before + 1);
	});
});

describe("a masked image", () => {
	it("is missing when the archive has its data but not its place", async () => {
		const { conversation: masked, edits } = await mask(conversationOf("a", [image]));
		const whole = archive;
		archive = await open();
		const data = await whole.get(edits[0]?.ref ?? "");
		await archive.put([{ kind: data.kind, text: data.text, toolCallId: data.toolCallId, toolName: data.toolName }]);
		const { report, conversation } = await restore(masked);
		expect(conversation).toBe(masked);
		expect(report).toMatchObject({ restored: 0, missing: [edits[0]?.ref], ambiguous: [] });
	});
});

describe("restoring in rounds", () => {
	it("brings back a result that was cut first and masked later", async () => {
		const conversation = conversationOf("a", outputOf("a", 200));
		const cut = await guardConversation({ conversation, policy: cutting, archive, contextWindow: 100_000 });
		const { conversation: masked } = await mask(cut.conversation);
		expect(String(resultContents(masked)[0])).toMatch(/^\[Observation masked/);
		const { conversation: back, report } = await restore(masked);
		expect(back).toEqual(conversation);
		expect(report).toMatchObject({ restored: 2, redacted: [] });
		const text = JSON.stringify(masked, null, 1);
		const inText = await restoreText({ text, archive, policy, name: "it" });
		expect(inText).toMatchObject({ text: JSON.stringify(conversation, null, 1), report: { restored: 2 } });
	});

	it("ends after eight, and adds up what each restored", async () => {
		const template = policyOf({ mask: { placeholder_template: "[gone: {ref}]" } });
		const chain = ["the first"];
		for (const text of chain) {
			const [ref] = await archive.put([{ kind: "result", text, toolCallId: "a" }]);
			if (chain.length < 11) chain.push(`[gone: ${ref}]`);
		}
		const resultAfter = async (rounds: number) => {
			const conversation = conversationOf("a", chain[rounds]);
			const back = await restoreConversation({ conversation, archive, policy: template });
			return [resultContents(back.conversation)[0], back.report.restored];
		};
		expect(await resultAfter(1)).toEqual(["the first", 1]);
		expect(await resultAfter(7)).toEqual(["the first", 7]);
		expect(await resultAfter(10)).toEqual([chain[2], 8]);
	});
});

describe("a marker between a head and a tail", () => {
	const ref = async (text: string, call?: string) =>
		(await archive.put([call ? { kind: "result", text, toolCallId: call } : { kind: "text", text }]))[0] ?? "";
	const marked = (head: string, name: string, tail: string) =>
		`${head}\n\n... [9 characters truncated, ref=${name}] ...\n\n${tail}`;
	const back = async (content: string, call = "a") => {
		const conversation = conversationOf(call, content);
		const restored = await restore(conversation);
		return { text: resultContents(restored.conversation as JsonMessage[])[0], report: restored.report };
	};

	it.each([
		["longer", "head and a middle and tail", true],
		["exactly its ends", "head tail", false],
		["shorter than its ends, which overlap", "head tai", false],
		["with another beginning", "Head and a middle and tail", false],
		["with another end", "head and a middle and tail.", false],
	])("counts for an original only if that is %s", async (_, original, fits) => {
		const content = marked("head ", await ref(original), "tail");
		expect((await back(content)).text).toBe(fits ? original : content);
	});

	it("of overlapping ends is none", async () => {
		const content = marked("aaa", await ref("aaaa"), "aaa");
		expect((await back(content)).text).toBe(content);
		const longer = marked("aaa", await ref("aaaaaaa"), "aaa");
		expect((await back(longer)).text).toBe("aaaaaaa");
	});

	it("is ambiguous for an original of its call that does not fit, and a quotation for another call's original", async () => {
		const own = await ref("something else", "a");
		const { report } = await back(marked("head ", own, "tail"));
		expect(report).toMatchObject({ restored: 0, ambiguous: [own], missing: [] });
		const quoted = await back(marked("head ", own, "tail"), "b");
		expect(quoted.report).toMatchObject({ restored: 0, ambiguous: [], missing: [] });
		const fitting = await ref("head and its tail", "a");
		const copied = await back(marked("head ", fitting, "tail"), "b");
		expect(copied.report).toMatchObject({ restored: 0, ambiguous: [fitting], missing: [] });
	});

	it("fits a redacted original of its own call, with any beginning", async () => {
		archive = await open(["secret\\d+"]);
		const own = await ref("secret12 and its tail", "a");
		const redacted = await back(marked("secret12 ", own, "tail"));
		expect(redacted.report).toMatchObject({ restored: 1, redacted: [own] });
		const others = await back(marked("secret12 ", own, "tail"), "b");
		expect(others.report).toMatchObject({ restored: 0, redacted: [] });
	});

	it("is missing without an archived original", async () => {
		const gone = "ve798re306ji825wo179";
		expect((await back(marked("head", gone, "tail"))).report).toMatchObject({ missing: [gone], ambiguous: [] });
	});
});
