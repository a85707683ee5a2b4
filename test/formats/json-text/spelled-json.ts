import fc from "fast-check";

/** A JSON value in one of the many ways to write it. */
type Spelled =
	| { readonly kind: "scalar"; readonly spelling: string }
	| { readonly kind: "array"; readonly items: readonly Spelled[] }
	| { readonly kind: "object"; readonly members: readonly (readonly [key: string, value: Spelled])[] };

/** A value where it stands in a text. */
export interface Placed {
	readonly kind: Spelled["kind"];
	readonly start: number;
	readonly end: number;
	/** JSON Pointer; that of a member which a later one of the same name hides leads to that later one. */
	readonly pointer: string;
	/** Whether a parser sees it: no later member of the same name hides it or what it stands in. */
	readonly live: boolean;
	readonly children: readonly Placed[];
}

const numbers = ["0", "-0", "1.0e5", "1E+2", "0.10", "9007199254740993", "123456789012345678901234567890", "-1e-7"];
const texts = [
	'""',
	'"a"',
	'"\\u0041\\/\\n"',
	'"\\ud83d\\ude00"',
	'"😀 é \u2028"',
	'"\\ud800"',
	'"[{,:}]"',
	'"\\"\\\\"',
];
const words = ["true", "false", "null"];
/** Few, so that they repeat; some are the same key spelled otherwise. */
const keys = ['"a"', '"\\u0061"', '"__proto__"', '"constructor"', '"a/b"', '"m~n"', '""', '"0"', '"😀"', '"content"'];

/** Scalars, lists and objects with hostile spelling and repeated keys. */
const spelled = fc.letrec<{ value: Spelled; array: Spelled; object: Spelled; scalar: Spelled }>((tie) => ({
	value: fc.oneof({ maxDepth: 4, depthSize: "small" }, tie("scalar"), tie("array"), tie("object")),
	scalar: fc.constantFrom(...numbers, ...texts, ...texts, ...words).map((spelling) => ({ kind: "scalar", spelling })),
	array: fc.array(tie("value"), { maxLength: 6 }).map((items) => ({ kind: "array", items })),
	object: fc
		.array(fc.tuple(fc.constantFrom(...keys), tie("value")), { maxLength: 5 })
		.map((members) => ({ kind: "object", members })),
}));

/** Writes values one after the other, and remembers where each stands. */
class SpelledText {
	text = "";
	private spacesUsed = 0;
	private readonly spaces: readonly string[];

	constructor(spaces: readonly string[]) {
		this.spaces = spaces;
	}

	/** Writes text between values. */
	put(text: string): void {
		this.text += text;
	}

	/** Writes a value. */
	place(value: Spelled, pointer = "", live = true): Placed {
		const start = this.text.length;
		const children = this.writeInside(value, pointer, live);
		return { kind: value.kind, start, end: this.text.length, pointer, live, children };
	}

	private writeInside(value: Spelled, pointer: string, live: boolean): Placed[] {
		if (value.kind === "scalar") {
			this.put(value.spelling);
			return [];
		}
		const children: Placed[] = [];
		this.put(value.kind === "array" ? "[" : "{");
		if (value.kind === "array") {
			value.items.forEach((item, index) => {
				this.separate(index);
				children.push(this.place(item, `${pointer}/${index}`, live));
			});
		} else {
			const names = value.members.map(([key]) => JSON.parse(key) as string);
			value.members.forEach(([key, item], index) => {
				this.separate(index);
				this.put(key);
				this.space();
				this.put(":");
				this.space();
				const name = names[index] ?? "";
				const isLast = names.lastIndexOf(name) === index;
				const at = `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
				children.push(this.place(item, at, live && isLast));
			});
		}
		this.space();
		this.put(value.kind === "array" ? "]" : "}");
		return children;
	}

	private separate(index: number): void {
		if (index > 0) {
			this.space();
			this.put(",");
		}
		this.space();
	}

	private space(): void {
		this.put(this.spaces[this.spacesUsed % this.spaces.length] ?? "");
		this.spacesUsed += 1;
	}
}

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
