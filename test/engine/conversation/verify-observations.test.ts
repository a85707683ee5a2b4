import { describe, expect, it } from "vitest";
import { applyPlan } from "../../../src/engine/conversation/apply.ts";
import type { Plan } from "../../../src/engine/conversation/plan.ts";
import type { Message } from "../../../src/engine/conversation/transcript.ts";
import { type Violation, verify } from "../../../src/engine/conversation/verify.ts";
import { readConversation } from "../../../src/formats/detect.ts";
import { roughCount } from "../../support/rough-count.ts";
import { protocolConversation, protocolSamples } from "../../support/text-protocols.ts";
import { messageOf, resultOf, transcriptOf } from "../../support/transcripts.ts";

const [sample] = protocolSamples as [(typeof protocolSamples)[number]];
const messages = protocolConversation(sample);
const path = [2, "content"];
const size = { chars: 9, tokens: 9 };

/** What a plan does to the words around results and calls, and to those that only words hold. */
function found(plan: Plan, after: unknown = applyPlan(messages, plan)): string[] {
	const [before, written] = [messages, after].map((document) => ({
		document,
		transcript: readConversation(document).transcript,
	}));
	if (!before || !written) throw new Error("Expected two conversations.");
	return lossesIn(verify(before, written, { plan, base: [], countTokens: roughCount }));
}

function lossesIn(violations: readonly Violation[]): string[] {
	const losses = violations.filter(({ detail }) => /surrounding text|action or observation/.test(detail));
	return losses.map(({ promise, detail }) => `${promise}: ${detail}`);
}

const mask = (replacement: unknown): Plan => [
	{ kind: "replace", reason: "mask", message: 2, path, replacement, before: size, after: size },
];

const drop = (...dropped: number[]): Plan =>
	dropped.map((message) => ({
		...{ kind: "remove", reason: "drop", message, path: [message], before: size },
		after: { chars: 0, tokens: 0 },
	}));

describe("verify, of words that hold calls and results,", () => {
	it("accepts a text that is replaced in its frame", () => {
		expect(found(mask("<returncode>0</returncode>\n[masked]"))).toEqual([]);
	});

	it.each<[string, unknown]>([
		["without the frame", "[masked]"],
		["that is not text", [{ type: "text", text: "[masked]" }]],
	])("refuses a replacement %s", (_, replacement) => {
		const lost = "only_tool_results_edited: /2/content loses its surrounding text";
		expect(found(mask(replacement), messages)).toEqual([lost]);
	});

	it("accepts that an action is dropped with its observation", () => {
		expect(found(drop(1, 2))).toEqual([]);
	});

	it.each([
		["an action", 1, 2],
		["an observation", 2, 1],
	])("refuses that %s is dropped alone", (_, dropped, left) => {
		expect(found(drop(dropped))).toEqual([`pairing_kept: message ${left} and its action or observation`]);
	});

	it("asks for the frame of the text that is replaced, and of no other", () => {
		const frame = { before: "<", after: ">" };
		const [plain, framed] = [
			{ path: [0, "plain"], text: "x" },
			{ path: [0, "framed"], text: "x", frame },
		];
		const lost = (texts: (typeof plain)[], place: string, kind: "replace" | "remove") => {
			const edit = { reason: "mask", message: 0, path: [0, place], before: size, after: size } as const;
			const read = { document: [], transcript: transcriptOf(messageOf({ results: [{ ...resultOf("r"), texts }] })) };
			const plan: Plan = [kind === "replace" ? { ...edit, kind, replacement: "[masked]" } : { ...edit, kind }];
			return lossesIn(verify(read, read, { plan, base: [], countTokens: roughCount })).length;
		};
		for (const texts of [
			[plain, framed],
			[framed, plain],
		]) {
			expect([lost(texts, "plain", "replace"), lost(texts, "framed", "replace")]).toEqual([0, 1]);
			expect(lost(texts, "framed", "remove")).toBe(0);
		}
	});

	it("compares the calls and results in words of each message that stays, and of no other", () => {
		const framed = { ...resultOf("r"), texts: [{ path: [0], text: "x", frame: { before: "<", after: ">" } }] };
		const spoken = { id: "s", name: "bash", input: "ls" };
		const structured = { id: "t", name: "bash" };
		const mixed = messageOf({ calls: [structured, spoken], results: [resultOf("q"), framed] });
		const check = (before: Message, after: Message, isNew = false) => {
			const [was, is] = [transcriptOf(before), transcriptOf(after)].map((transcript) => ({ document: [], transcript }));
			if (!was || !is) throw new Error("Expected two conversations.");
			const [message] = is.transcript.messages as [Message];
			const moved = { ...is.transcript, messages: [{ ...message, paths: [[7]] }] };
			const written = isNew ? { ...is, transcript: moved } : is;
			return lossesIn(verify(was, written, { plan: [], base: [], countTokens: roughCount }));
		};
		const lost = ["pairing_kept: message 0 and its action or observation"];
		expect(check(mixed, mixed)).toEqual([]);
		expect(check(mixed, { ...mixed, calls: [structured] })).toEqual(lost);
		expect(check(mixed, { ...mixed, calls: [structured, { ...spoken, id: "z" }] })).toEqual(lost);
		const [one, two] = ["a", "b"].map((id) => ({ ...spoken, id })) as [typeof spoken, typeof spoken];
		expect(check(messageOf({ calls: [one, two] }), messageOf({ calls: [{ ...spoken, id: "ab" }] }))).toEqual(lost);
		expect(check(messageOf({ calls: [{ ...spoken, id: "r" }] }), messageOf({ results: [framed] }))).toEqual(lost);
		expect(check({ ...mixed, calls: [structured] }, mixed)).toEqual(lost);
		expect(check(mixed, { ...mixed, results: [resultOf("q")] })).toEqual(lost);
		expect(check(mixed, { ...mixed, results: [{ ...framed, callId: "p" }] })).toEqual(lost);
		expect(check(mixed, { ...mixed, calls: [spoken], results: [framed] })).toEqual([]);
		expect(check(mixed, { ...mixed, calls: [{ ...spoken, id: "u" }] })).toEqual(lost);
		expect(check(mixed, messageOf(), true)).toEqual([]);
		expect(check(messageOf({ calls: [structured] }), messageOf())).toEqual([]);
	});
});
