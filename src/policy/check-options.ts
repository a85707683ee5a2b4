import { PalimpsestError } from "../errors.ts";
import { nearestName } from "./nearest-name.ts";
import type { OptionKind } from "./option-kinds.ts";

/** What each option of a function takes. */
export type OptionKinds<Options> = { readonly [Name in keyof Required<Options>]: OptionKind };

/** A name that may stand in an error: any other key could be text of a conversation. */
const plainName = /^[\w$-]{1,64}$/;

/**
 * Checks what was passed as the options of a function: a name that it does not know would else be passed over in silence.
 * `undefined` counts as left out. Values are never quoted, but for numbers, `true` and `false`.
 *
 * @throws PalimpsestError `invalid_argument` with the function's name, what it takes, and what came.
 */
export function checkOptions<Options>(options: unknown, of: string, kinds: OptionKinds<Options>): void {
	if (typeof options !== "object" || options === null || Array.isArray(options)) {
		throw refused(`Expected the options of \`${of}\` to be an object; got ${kindOf(options)}.`);
	}
	const known: Readonly<Record<string, OptionKind>> = kinds;
	for (const [name, value] of entriesOf(options, of)) {
		if (value === undefined) continue;
		const kind = Object.hasOwn(known, name) ? known[name] : undefined;
		if (kind === undefined) throw refused(`\`${of}\` ${unknownOption(name, Object.keys(known))}`);
		if (takes(kind, value)) continue;
		const expected = `Expected the option \`${name}\` of \`${of}\` to be ${kind.expected}, or left out`;
		throw refused(`${expected}; got ${kindOf(value)}.${hintFor(value, kind)}`);
	}
}

/**
 * Checks an argument of a function.
 *
 * @throws PalimpsestError `invalid_argument`.
 */
export function checkArgument(value: unknown, name: string, kind: OptionKind): void {
	if (!takes(kind, value)) throw refused(`Expected ${name} to be ${kind.expected}; got ${kindOf(value)}.`);
}

/** A getter or a proxy of the caller's may throw. */
function entriesOf(options: object, of: string): [string, unknown][] {
	try {
		return Object.entries(options);
	} catch (cause) {
		const message = `Expected the options of \`${of}\` to be readable; reading one threw an error.`;
		throw new PalimpsestError("invalid_argument", message, { cause });
	}
}

function takes(kind: OptionKind, value: unknown): boolean {
	try {
		return kind.takes(value);
	} catch {
		return false;
	}
}

function unknownOption(name: string, known: readonly string[]): string {
	if (!plainName.test(name)) return `takes no option of that name. Known: ${known.join(", ")}.`;
	const near = nearestName(name, known);
	const hint = near === null ? `Known: ${known.join(", ")}.` : `Did you mean \`${near}\`?`;
	return `takes no option \`${name}\`. ${hint}`;
}

function hintFor(value: unknown, { words = [] }: OptionKind): string {
	const near = typeof value === "string" ? nearestName(value, words) : null;
	return near === null ? "" : ` Did you mean \`${near}\`?`;
}

function kindOf(value: unknown): string {
	if (value === undefined) return "nothing";
	if (value === null || typeof value === "number" || typeof value === "boolean") return String(value);
	if (Array.isArray(value)) return "a list";
	if (value instanceof Promise) return "a promise, which has to be awaited first";
	return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function refused(message: string): PalimpsestError {
	return new PalimpsestError("invalid_argument", message);
}
