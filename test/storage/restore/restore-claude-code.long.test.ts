import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect } from "vitest";
import type { PolicyLayer } from "../../../src/engine/policy/schema.ts";
import { spellingsOf, writeEdits } from "../../../src/formats/json-text/edit.ts";
import { readTextDocument } from "../../../src/formats/json-text/read.ts";
import { guardConversation } from "../../../src/operations/guard.ts";
import { maskConversation } from "../../../src/operations/mask.ts";
import type { Archive } from "../../../src/storage/archive/archive.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { restoreText } from "../../../src/storage/restore/restore.ts";
import { leastOfCases, numberOfCases } from "../../support/case-divisor.ts";
import { policyOf } from "../../support/policy-of.ts";

/** One result of a generated session. */
interface Answer {
	readonly text: string;
	readonly isError: boolean;
	/** How the content stands in the message. */
	readonly content: "string" | "list" | "two parts";
	/** How the record keeps the text once more. */
	readonly copy: "none" | "same" | "error" | "stdout" | "blocks" | "longer";
	readonly spelling: "plain" | "escaped" | "escaped copy" | "escaped upper";
	/** Whether the tool said the very same as the one before it. */
	readonly again: boolean;
	/** Whether its record stands in the file twice. */
	readonly twice: boolean;
}

const words = fc.constantFrom("é", "naïve", "🦊", "/usr/bin", "line", '"quoted"', "中文", "x", "0", "Error: ", "\\");

const texts = fc
	.tuple(fc.array(words, { minLength: 1, maxLength: 8 }), fc.integer({ min: 1, max: 120 }), fc.constantFrom(" ", "\n"))
	.map(([parts, times, separator]) =>
		Array.from({ length: times }, (_, index) => `${parts.join(" ")} ${index % 7}`).join(separator),
	);

const answers: fc.Arbitrary<Answer> = fc.record({
	text: texts,
	isError: fc.boolean(),
	content: fc.constantFrom("string", "string", "list", "two parts"),
	copy: fc.constantFrom("none", "same", "error", "error", "stdout", "blocks", "longer"),
	spelling: fc.constantFrom("plain", "escaped", "escaped copy", "escaped upper"),
	again: fc.integer({ min: 0, max: 3 }).map((number) => number === 0),
	twice: fc.integer({ min: 0, max: 5 }).map((number) => number === 0),
});

function copyOf({ text, copy }: Answer): { toolUseResult?: unknown } {
	if (copy === "none") return {};
	if (copy === "same") return { toolUseResult: text };
	if (copy === "error") return { toolUseResult: `Error: ${text}` };
	if (copy === "stdout") return { toolUseResult: { stdout: text, stderr: "", interrupted: false } };
	if (copy === "blocks") return { toolUseResult: [{ type: "text", text }] };
	return { toolUseResult: { type: "text", file: { content: `before\n${text}\nafter`, numLines: 3 } } };
}

function contentOf({ text, content }: Answer): unknown {
	if (content === "string") return text;
	if (content === "list") return [{ type: "text", text }];
	const middle = text.indexOf(" ", text.length / 2) + 1;
	return [text.slice(0, middle), text.slice(middle)].map((part) => ({ type: "text", text: part }));
}

function escaped(json: string, upper: boolean): string {
	return json.replace(/[^\x20-\x7e]/g, (unit) => {
		const digits = unit.charCodeAt(0).toString(16).padStart(4, "0");
		return `\\u${upper ? digits.toUpperCase() : digits}`;
	});
}

function spelled(record: { readonly toolUseResult?: unknown }, spelling: Answer["spelling"]): string {
	const { toolUseResult, ...rest } = record;
	const isEscaped = spelling === "escaped" || spelling === "escaped upper";
	const spell = (value: unknown, escapes: boolean) =>
		escapes ? escaped(JSON.stringify(value), spelling === "escaped upper") : JSON.stringify(value);
	const message = spell(rest, isEscaped);
	if (toolUseResult === undefined) return message;
	return `${message.slice(0, -1)},"toolUseResult":${spell(toolUseResult, spelling !== "plain")}}`;
}

function repeatTexts(given: readonly Answer[]): readonly Answer[] {
	return given.map((answer, index) =>
		answer.again ? { ...answer, text: given[index - 1]?.text ?? answer.text } : answer,
	);
}

/** A session file with these results, one call each. */
function sessionOf(given: readonly Answer[]): string {
	const lines = [
		JSON.stringify({ parentUuid: null, uuid: "u", type: "user", message: { role: "user", content: "Go." } }),
	];
	let parentUuid = "u";
	for (const [index, answer] of given.entries()) {
		const id = `toolu_${index}`;
		const call = { type: "tool_use", id, name: "Bash", input: { command: `run ${index}` } };
		const spoken = { id: `msg_${index}`, role: "assistant", content: [call] };
		lines.push(JSON.stringify({ parentUuid, uuid: `a${index}`, type: "assistant", message: spoken }));
		const result = { type: "tool_result", tool_use_id: id, content: contentOf(answer), is_error: answer.isError };
		const heard = { role: "user", content: [result] };
		const record = { parentUuid: `a${index}`, uuid: `r${index}`, type: "user", message: heard, ...copyOf(answer) };
		lines.push(spelled(record, answer.spelling));
		if (answer.twice) lines.push(spelled(record, "plain"));
		parentUuid = `r${index}`;
	}
	return `${lines.join("\n")}\n`;
}

const layers: fc.Arbitrary<PolicyLayer> = fc
	.record({
		locale: fc.constantFrom("fr", "en", "zh"),
		head: fc.integer({ min: 0, max: 120 }),
		tail: fc.integer({ min: 0, max: 120 }),
		strategy: fc.constantFrom("head_tail", "head_tail", "auto"),
		ladder: fc.constantFrom<("truncate" | "mask")[]>(["truncate"], ["truncate", "mask"], ["mask"]),
	})
	.map(({ locale, head, tail, strategy, ladder }) => ({
		locale,
		mask: { window_turns: 1, keep_errors: false },
		truncate: { strategy },
		guard: {
			max_tool_result_chars: Math.max(400, head + tail),
			truncate_head_chars: head,
			truncate_tail_chars: tail,
			truncate_when: "always",
			ladder,
		},
	})) as fc.Arbitrary<PolicyLayer>;

/** Does one thing to the text of a session. */
async function edit(text: string, step: "mask" | "guard", layer: PolicyLayer, archive: Archive): Promise<string> {
	const document = readTextDocument(text, "the session");
	const request = {
		conversation: document.value,
		policy: policyOf(layer),
		archive,
		memory: "none" as const,
		spellingsOf: (paths: Parameters<typeof spellingsOf>[1]) => spellingsOf(document, paths),
	};
	const outcome =
		step === "mask"
			? await maskConversation(request)
			: await guardConversation({
					...request,
					contextWindow: layer.guard?.ladder?.includes("mask") ? 9_000 : 1_000_000,
				});
	expect(outcome.error).toBeUndefined();
	seen.edits += outcome.edits.length;
	return writeEdits(document, outcome.edits).text;
}

const seen = { edits: 0, restored: 0, errors: 0, escapes: 0 };

describe("a Claude Code session is restored byte for byte", () => {
	test.prop(
		[
			fc.array(answers, { minLength: 2, maxLength: 6 }).map(repeatTexts),
			fc.array(fc.tuple(fc.constantFrom("mask", "guard"), layers), { minLength: 1, maxLength: 3 }),
		],
		{ numRuns: numberOfCases(300) },
	)("after any masking and cutting, one after the other", async (given, steps) => {
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const text = sessionOf(given);
		let edited = text;
		for (const [step, layer] of steps) edited = await edit(edited, step, layer, archive);
		const back = await restoreText({ text: edited, archive, policy: policyOf(steps[0]?.[1]), name: "the session" });
		expect(back.text).toBe(text);
		expect(back.report).toMatchObject({ missing: [], ambiguous: [] });
		seen.restored += back.report.restored;
		seen.errors += given.filter(({ copy }) => copy === "error").length;
		seen.escapes += given.filter(({ spelling }) => spelling !== "plain").length;
	});

	test.prop([fc.array(answers, { minLength: 2, maxLength: 4 }).map(repeatTexts), layers], {
		numRuns: numberOfCases(100),
	})("in the latest spelling, even if the archive has seen another spelling", async (given, layer) => {
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const [text, plain] = [given, given.map((one) => ({ ...one, spelling: "plain" as const }))].map(sessionOf);
		for (const other of [text, plain, text, plain, text] as string[]) {
			const edited = await edit(await edit(other, "guard", layer, archive), "mask", layer, archive);
			const back = await restoreText({ text: edited, archive, policy: policyOf(layer), name: "the session" });
			expect(back.text).toBe(other);
		}
	});

	afterAll(() => {
		expect(seen.edits).toBeGreaterThan(leastOfCases(1_000));
		expect(seen.restored).toBeGreaterThan(leastOfCases(500));
		expect(seen.errors).toBeGreaterThan(leastOfCases(100));
		expect(seen.escapes).toBeGreaterThan(leastOfCases(100));
	});
});
