import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import type { Transcript } from "../../../src/engine/conversation/transcript.ts";
import { readConversation } from "../../../src/formats/detect.ts";
import { thereAndBack } from "../../support/there-and-back.ts";
import { type FormatRow, masking } from "../format-row.ts";

/** A small conversation as its program writes it, and what has to come out of it. */
export interface Fixture {
	readonly counters: Counters;
	readonly conversation: unknown;
}

export interface Counters {
	/** How many messages each role has, in the order of their first. */
	readonly roles: Readonly<Record<string, number>>;
	/** The names of the called tools, in order. */
	readonly calls: readonly (string | null)[];
	/** The characters of the texts of each result, in order. */
	readonly results: readonly number[];
	/** Results that the format says have failed. */
	readonly failed: number;
	readonly media: number;
	readonly thinking: number;
	/** Characters of all other counted texts. */
	readonly counted: number;
	/** Results that are masked where the last tool turn stays. */
	readonly masked: number;
}

/** What a program wrote is read, masked and restored: a format may not only understand what its own row writes. */
export function describeFixture({ format }: FormatRow): void {
	const file = resolve(import.meta.dirname, "../fixtures", `${format.name}.json`);

	describe(`${format.title}: the fixture`, () => {
		it("is read with its counters, masked, and restored to the byte", async () => {
			expect(existsSync(file), `${file}: a small conversation and its counters, as in the fixtures beside it`).toBe(
				true,
			);
			const { conversation, counters } = JSON.parse(readFileSync(file, "utf8")) as Fixture;
			const { format: found, transcript } = readConversation(conversation);
			const text = JSON.stringify(conversation);
			const { outcome, restored } = await thereAndBack(text, masking);
			expect(found.name).toBe(format.name);
			expect({ ...countersOf(transcript), masked: outcome.report.masked_tool_results }).toEqual(counters);
			expect(restored).toBe(text);
			// What has no call or no result shows little of a format.
			expect([counters.calls.length, counters.results.length, counters.masked]).not.toContain(0);
		});
	});
}

function countersOf({ messages }: Transcript): Omit<Counters, "masked"> {
	const roles: Record<string, number> = {};
	for (const { role } of messages) roles[role] = (roles[role] ?? 0) + 1;
	const results = messages.flatMap((message) => message.results);
	const charactersOf = (texts: readonly string[]) => texts.reduce((sum, text) => sum + text.length, 0);
	return {
		roles,
		calls: messages.flatMap(({ calls }) => calls.map(({ name }) => name ?? null)),
		results: results.map(({ texts }) => charactersOf(texts.map(({ text }) => text))),
		failed: results.filter(({ isError }) => isError).length,
		media: results.reduce((sum, { media }) => sum + media.length, 0),
		thinking: messages.reduce((sum, { thinking }) => sum + thinking.length, 0),
		counted: charactersOf(messages.flatMap(({ counted }) => counted)),
	};
}
