import { describe, expect, it } from "vitest";
import type { Message } from "../../src/conversation/transcript.ts";
import { verifyObservations } from "../../src/conversation/verify-observations.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { protocolConversation, protocolSamples } from "../support/text-protocols.ts";
import { messageOf, resultOf, transcriptOf } from "../support/transcripts.ts";

const [sample] = protocolSamples as [(typeof protocolSamples)[number]];
const messages = protocolConversation(sample);
const { transcript } = readConversation(messages);
const path = [2, "content"];
const size = { chars: 9, tokens: 9 };

function found(
	after: readonly unknown[],
	{
		replacement,
		origins = after.map((_, index) => index),
	}: { replacement?: unknown; origins?: readonly number[] } = {},
): string[] {
	const promises: string[] = [];
	const edit = { kind: "replace", reason: "mask", message: 2, path, replacement, before: size, after: size } as const;
	verifyObservations({
		before: transcript,
		after: readConversation(after).transcript,
		plan: replacement === undefined ? [] : [edit],
		origins,
		report: (promise, detail) => promises.push(`${promise}: ${detail}`),
	});
	return promises;
}

describe("verifyObservations", () => {
	it("accepts a text that is replaced in its frame", () => {
		const replacement = "<returncode>0</returncode>\n[masked]";
		const after = messages.with(2, { role: "user", content: replacement });
		expect(found(after, { replacement })).toEqual([]);
	});

	it.each<[string, unknown]>([
		["without the frame", "[masked]"],
		["that is no text", [{ type: "text", text: "[masked]" }]],
	])("refuses a replacement %s", (_, replacement) => {
		expect(found(messages, { replacement })).toEqual([
			"only_tool_results_edited: /2/content loses what stands around it",
		]);
	});

	it("accepts that an action is dropped with its observation", () => {
		const kept = messages.map((_, index) => index).filter((index) => index !== 1 && index !== 2);
		expect(
			found(
				kept.map((index) => messages[index]),
				{ origins: kept },
			),
		).toEqual([]);
	});

	it.each([
		["an action", 1, 2],
		["an observation", 2, 1],
	])("refuses that %s is dropped alone", (_, dropped, left) => {
		const kept = messages.map((_, index) => index).filter((index) => index !== dropped);
		expect(
			found(
				kept.map((index) => messages[index]),
				{ origins: kept },
			),
		).toEqual([`pairing_kept: message ${left} and its action or observation`]);
	});

	it("asks for the frame of the text that is replaced, and of no other", () => {
		const frame = { before: "<", after: ">" };
		const [plain, framed] = [
			{ path: [0, "plain"], text: "x" },
			{ path: [0, "framed"], text: "x", frame },
		];
		const lost = (texts: (typeof plain)[], place: string, kind: "replace" | "remove") => {
			const edit = { reason: "mask", message: 0, path: [0, place], before: size, after: size } as const;
			const message = messageOf({ results: [{ ...resultOf("r"), texts }] });
			const details: string[] = [];
			verifyObservations({
				before: transcriptOf(message),
				after: transcriptOf(message),
				plan: [kind === "replace" ? { ...edit, kind, replacement: "[masked]" } : { ...edit, kind }],
				origins: [0],
				report: (_promise, detail) => details.push(detail),
			});
			return details.length;
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
		const check = (before: Message, after: Message, origin = 0) => {
			const details: string[] = [];
			verifyObservations({
				before: transcriptOf(before),
				after: transcriptOf(after),
				plan: [],
				origins: [origin],
				report: (_promise, detail) => details.push(detail),
			});
			return details;
		};
		const lost = ["message 0 and its action or observation"];
		expect(check(mixed, mixed)).toEqual([]);
		expect(check(mixed, { ...mixed, calls: [structured] })).toEqual(lost);
		expect(check(mixed, { ...mixed, calls: [structured, { ...spoken, id: "z" }] })).toEqual(lost);
		const [one, two] = ["a", "b"].map((id) => ({ ...spoken, id })) as [typeof spoken, typeof spoken];
		expect(check(messageOf({ calls: [one, two] }), messageOf({ calls: [{ ...spoken, id: "ab" }] }))).toEqual(lost);
		expect(check(messageOf({ calls: [{ ...spoken, id: "r" }] }), messageOf({ results: [framed] }))).toEqual(lost);
		expect(check({ ...mixed, calls: [structured] }, mixed)).toEqual(lost);
		expect(check(mixed, { ...mixed, results: [resultOf("q")] })).toEqual(lost);
		expect(check(mixed, { ...mixed, calls: [spoken], results: [framed] })).toEqual([]);
		expect(check(mixed, { ...mixed, calls: [{ ...spoken, id: "u" }] })).toEqual(lost);
		expect(check(mixed, messageOf(), -1)).toEqual([]);
		expect(check(messageOf({ calls: [structured] }), messageOf())).toEqual([]);
	});
});
