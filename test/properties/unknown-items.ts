import { fc } from "@fast-check/vitest";
import { expect } from "vitest";
import { isJsonObject } from "../../src/engine/conversation/json.ts";
import { resultText } from "../../src/engine/conversation/transcript.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { rows } from "../formats/all-rows.ts";
import { type FormatRow, masking } from "../formats/format-row.ts";
import { outputOf } from "../support/sample-text.ts";
import { assistant, calls, type Entry, type JsonMessage, results, user } from "../support/script.ts";

const piece = fc
	.constantFrom("turn", "parallel", "user", "assistant")
	.chain((kind) => fc.record({ kind: fc.constant(kind), lines: fc.integer({ min: 3, max: 30 }) }));

/** Words that an unknown item may have: each is counted. */
const body = fc.oneof(
	fc.string({ minLength: 1 }),
	fc.array(fc.integer()),
	fc.dictionary(fc.string({ maxLength: 8 }), fc.double()),
);

const unknown = fc.record({
	at: fc.nat(),
	// Endings as the Responses API has them, whose items are told by their members too.
	type: fc.stringMatching(/^x_[a-z]{1,8}(_call|_output|_tools)?$/),
	body,
});

/** A conversation of any format whose records need no links, and items of kinds that no format has. */
export const conversationsWithUnknown = fc.record({
	row: fc.constantFrom(...rows.filter(({ unknownRecord }) => !unknownRecord)),
	pieces: fc.array(piece, { minLength: 1, maxLength: 6 }),
	items: fc.array(unknown, { minLength: 1, maxLength: 4 }),
	field: body,
});

type Given = typeof conversationsWithUnknown extends fc.Arbitrary<infer Value> ? Value : never;

function script(pieces: Given["pieces"]): Entry[] {
	const turn = (ids: readonly string[], lines: number): Entry[] => [
		calls(...ids.map((id) => ({ id, name: "read_file" }))),
		results(...ids.map((id) => ({ id, content: outputOf(id, lines) }))),
	];
	return pieces.flatMap(({ kind, lines }, index) => {
		if (kind === "user") return [user(outputOf(`user ${index}`, 3))];
		if (kind === "assistant") return [assistant(outputOf(`answer ${index}`, 3))];
		return turn(kind === "turn" ? [`a${index}`] : [`a${index}`, `b${index}`], lines);
	});
}

/** Where an item may stand: between two entries of the script, since no API puts one between a call and its results. */
function placesIn(row: FormatRow, entries: readonly Entry[]): number[] {
	const ends = entries.flatMap((entry, index) => (entry.kind === "calls" ? [] : [index + 1]));
	return ends.map((end) => row.write(entries.slice(0, end)).length);
}

function see(conversation: unknown) {
	const { format, transcript } = readConversation(conversation);
	const read = transcript.messages.filter(({ role }) => role !== "other");
	const outputs = read.flatMap((message) => message.results.map(resultText));
	return { format: format.name, outputs, calls: read.flatMap((message) => message.calls.map(({ id }) => id)) };
}

/** Checks that unknown items and fields change neither what is read of the rest nor its masks, stay to the byte, and count. */
export async function checkUnknown({ row, pieces, items, field }: Given): Promise<void> {
	const entries = [user("Go."), ...script([{ kind: "turn", lines: 20 }, ...pieces])];
	const plain = row.write(entries);
	const places = placesIn(row, entries);
	const added = items.map(({ at, type, body: held }, index) => ({
		at: places[at % places.length] as number,
		item: { type, id: `unknown_${index}`, body: held } as JsonMessage,
	}));
	const isAdded = new Set<unknown>(added.map(({ item }) => item));
	const withField = plain.map((message) => (isJsonObject(message) ? { ...message, x_unknown_field: field } : message));
	const messages = Array.from({ length: plain.length + 1 }, (_, index) => [
		...added.flatMap(({ at, item }) => (at === index ? [item] : [])),
		...withField.slice(index, index + 1),
	]).flat();
	expect(see(messages)).toEqual(see(plain));
	const masked = await maskConversation({ conversation: messages, policy: masking });
	const without = await maskConversation({ conversation: withField, policy: masking });
	const conversation = masked.conversation as readonly JsonMessage[];
	expect(conversation.filter((one) => isAdded.has(one))).toEqual(messages.filter((one) => isAdded.has(one)));
	expect(conversation.filter((one) => !isAdded.has(one))).toEqual(without.conversation);
	expect(masked.report.tokens.before).toBeGreaterThan(without.report.tokens.before);
}
