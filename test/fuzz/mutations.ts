import { rows } from "../formats/all-rows.ts";
import { between, chance, drawOneOf, listOf, pick, type Random } from "./target.ts";

/** A place in a document: a member of an object, or an item of a list. */
export interface Holder {
	readonly holder: unknown[] | Record<string, unknown>;
	readonly key: string | number;
}

/** Every place in a document. */
export function placesIn(document: unknown): Holder[] {
	const places: Holder[] = [];
	const open = [document];
	for (let value = open.pop(); value !== undefined; value = open.pop()) {
		if (typeof value !== "object" || value === null) continue;
		for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
			places.push({ holder: value as never, key });
			open.push((value as Record<string | number, unknown>)[key] ?? null);
		}
	}
	return places;
}

/** A change of a document at one of its places. */
export interface Change {
	readonly place: number;
	readonly other: number;
	readonly kind: "replace" | "remove" | "insert" | "swap" | "rename" | "double" | "reorder";
	readonly value: unknown;
}

/** Makes a change; members get keys of any format, so that those of one turn up in another. */
export function spoil(places: readonly Holder[], { place, other, kind, value }: Change, keys: readonly string[]): void {
	const at = places[place % Math.max(1, places.length)];
	if (!at) return;
	const { holder, key } = at as { holder: Record<string | number, unknown>; key: string | number };
	const second = places[other % places.length] as Holder;
	const isList = Array.isArray(holder);
	const copied = typeof value === "function" ? (value as () => unknown)() : structuredClone(value);
	const foreign = keys[other % keys.length] as string;
	switch (kind) {
		case "replace":
			holder[key] = copied;
			break;
		case "remove":
			if (isList) holder.splice(Number(key), 1);
			else delete holder[key];
			break;
		case "insert":
			if (isList) holder.splice(Number(key), 0, copied);
			else holder[foreign] = copied;
			break;
		case "swap":
			holder[key] = structuredClone((second.holder as Record<string | number, unknown>)[second.key]);
			break;
		case "rename":
			if (!isList) holder[foreign] = holder[key];
			break;
		case "double":
			if (isList) holder.splice(Number(key), 0, structuredClone(holder[key]));
			break;
		case "reorder":
			if (isList) holder.push(...holder.splice(Number(key), 1));
			else {
				const moved = holder[key];
				delete holder[key];
				holder[key] = moved;
			}
			break;
	}
}

export const oddNumbers = [0, -1, 1.5, -0, 1e308, -1e308, 2 ** 53, 2 ** 64, 5e-324];
export const oddTexts = [
	"",
	"x",
	"\ud83d",
	"\udd8a\ud83d",
	"\u0000",
	"null",
	"[]",
	'{"a":',
	"__proto__",
	"tool",
	"assistant",
	"x".repeat(5_000),
];
const oddTypes = ["text", "tool_use", "tool_result", "tool_calls", "function_call_output", "message"];
const oddRoles = ["user", "assistant", "tool", "system", "wat"];

/** Values that stand where another is expected. */
export const oddValues: readonly unknown[] = [
	...[null, true, false, [], {}, [null], [[]], [{}], [[null]], { type: null }, { role: null }, [7, "x"]],
	...oddNumbers,
	...oddTexts,
	...oddTypes.map((type) => ({ type })),
	...oddRoles.map((role) => ({ role, content: "q", tool_calls: [null] })),
];

const kinds = ["replace", "replace", "remove", "insert", "swap", "rename", "double", "reorder"] as const;

/** Changes a JSON value in place, or most often leaves it as it is. */
export function drawChanges(random: Random, document: unknown, most = 4): void {
	const count = chance(random, 0.4) ? 0 : between(random, 1, most);
	for (let index = 0; index < count; index += 1) {
		const [place, other] = [between(random, 0, 1e6), between(random, 0, 1e6)];
		const value = chance(random, 0.02) ? nested(between(random, 10, 400)) : pick(random, oddValues);
		spoil(placesIn(document), { place, other, kind: pick(random, kinds), value }, allKeys());
	}
}

export function nested(depth: number): unknown {
	let value: unknown = "x";
	for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { content: value };
	return value;
}

let known: readonly string[] | undefined;

/** The keys of all formats. */
export function allKeys(): readonly string[] {
	const script = [
		{ kind: "text" as const, role: "user", text: "Go." },
		{ kind: "calls" as const, calls: [{ id: "a", name: "ls" }] },
		{ kind: "results" as const, results: [{ id: "a", content: "x", isError: true }] },
	];
	known ??= [...new Set(rows.flatMap((row) => placesIn(row.write(script)).map(({ key }) => key)))].filter(
		(key) => typeof key === "string",
	);
	return known;
}

/** Changes a text: parts of it go, come twice, move, or other pieces come in. */
export function drawTextChanges(random: Random, text: string, pieces: readonly string[], most = 4): string {
	return listOf(random, [0, most], (random) => random).reduce((changed, draw) => {
		const at = between(draw, 0, changed.length);
		const to = Math.min(changed.length, at + between(draw, 1, 40));
		return drawOneOf<string>(draw, [
			[2, () => changed.slice(0, at) + changed.slice(to)],
			[2, () => changed.slice(0, to) + changed.slice(at)],
			[4, () => changed.slice(0, at) + pick(draw, pieces) + changed.slice(at)],
			[1, () => changed.slice(0, at)],
			[1, () => changed.slice(0, at) + pick(draw, oddTexts) + changed.slice(to)],
		]);
	}, text);
}
