import fc from "fast-check";
import { type Placed, type Spelled, SpelledText, spelled } from "./spelled-json.ts";

/** A JSON text of which is known where everything stands. */
export interface SpelledDocument {
	readonly kind: "json" | "json_lines";
	readonly text: string;
	/** The value, or the records. */
	readonly roots: readonly Placed[];
}

const { array, object, value } = spelled;
const byteOrderMark = fc.constantFrom("", "", "\uFEFF");
const spacesOf = (...spaces: string[]) => fc.array(fc.constantFrom(...spaces), { minLength: 1, maxLength: 12 });

/** One value with any white space around and in it. */
const json: fc.Arbitrary<SpelledDocument> = fc
	.record({
		value: fc.oneof(array, object, value),
		spaces: spacesOf("", "", " ", "\n", "\r\n", "\t\t", " \n  "),
		before: fc.constantFrom("", " ", "\r\n"),
		after: fc.constantFrom("", "\n", " \r\n"),
		byteOrderMark,
	})
	.map((parts) => {
		const written = new SpelledText(parts.spaces);
		written.put(parts.byteOrderMark + parts.before);
		const root = written.place(parts.value);
		written.put(parts.after);
		return { kind: "json", text: written.text, roots: [root] };
	});

/** Records, most one a line; white space in them never ends the line. */
const jsonLines: fc.Arbitrary<SpelledDocument> = fc
	.record({
		records: fc.array(
			fc.tuple(fc.oneof(object, array), fc.constantFrom("\n", "\n", "\r\n", "\n\n", "\n \t\n", "", " ")),
			{
				minLength: 2,
				maxLength: 7,
			},
		),
		spaces: spacesOf("", "", " ", "\t", "\r"),
		before: fc.constantFrom("", "\n", " "),
		after: fc.constantFrom("", "\n", "\r\n\n"),
		byteOrderMark,
	})
	.map((parts) => {
		const written = new SpelledText(parts.spaces);
		written.put(parts.byteOrderMark + parts.before);
		const roots = parts.records.map(([record, separator]: [Spelled, string], index) => {
			if (index > 0) written.put(separator);
			return written.place(record, `/${index}`);
		});
		written.put(parts.after);
		return { kind: "json_lines", text: written.text, roots };
	});

/** JSON texts and JSON Lines, as hostile as JSON allows. */
export const spelledDocument = fc.oneof(json, jsonLines);
