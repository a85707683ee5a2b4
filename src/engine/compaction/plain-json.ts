/** A value read as plain JSON, or what is wrong with it. */
export type PlainJson =
	| { readonly kind: "json"; readonly value: unknown }
	| { readonly kind: "refused"; readonly problem: string };

/** How deep values may be nested, past any conversation's own nesting. */
const deepest = 64;

/**
 * A copy of somebody else's value, for us to keep: lists and objects anew. Fields that are `undefined` are left out, as
 * `JSON.stringify` does; whatever else JSON has no word for is refused, and what reading a property throws as well.
 */
export function plainJson(value: unknown): PlainJson {
	try {
		return { kind: "json", value: copy(value, 0) };
	} catch (error) {
		const problem = error instanceof Refusal ? error.message : "a property that cannot be read";
		return { kind: "refused", problem };
	}
}

/** Ends the copying at once, since a value that holds itself has no end. */
class Refusal extends Error {}

function copy(value: unknown, depth: number): unknown {
	if (depth > deepest) throw new Refusal(`values nested deeper than ${deepest} levels`);
	switch (typeof value) {
		case "string":
		case "boolean":
			return value;
		case "number":
			if (!Number.isFinite(value)) throw new Refusal("a number that is not finite");
			return value;
		case "object":
			return value === null ? null : copyObject(value, depth);
		default:
			throw new Refusal(typeof value === "undefined" ? "undefined" : `a ${typeof value}`);
	}
}

function copyObject(value: object, depth: number): unknown {
	if (Array.isArray(value)) return Array.from(value as unknown[], (item) => copy(item, depth + 1));
	const prototype: unknown = Object.getPrototypeOf(value);
	if (prototype !== null && !isObjectPrototype(prototype)) throw new Refusal("an instance of a class");
	const entries: [string, unknown][] = [];
	for (const [key, item] of Object.entries(value)) {
		if (key === "__proto__") throw new Refusal("a key that sets the prototype");
		if (item !== undefined) entries.push([key, copy(item, depth + 1)]);
	}
	return Object.fromEntries(entries);
}

/** `Object.prototype`, be it that of another realm. */
function isObjectPrototype(prototype: unknown): boolean {
	return (
		prototype === Object.prototype ||
		(Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, "hasOwnProperty"))
	);
}
