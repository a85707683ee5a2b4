import { NotJsonError, stringify } from "./stringify.ts";

/**
 * A value as compact JSON, as `JSON.stringify` writes it, whatever its depth: that one ends in a stack overflow some
 * thousand levels down, where `JSON.parse` has no bound. Empty for what JSON has no word for.
 *
 * @throws NotJsonError for what came from no JSON: a value that holds itself, a bigint.
 */
export function compactJson(value: unknown): string {
	try {
		return stringify(value) ?? "";
	} catch (error) {
		if (!(error instanceof RangeError)) throw error;
		return writeByHand(value);
	}
}

interface Frame {
	readonly value: object;
	readonly items: Iterator<[string, unknown]>;
	readonly close: "]" | "}";
	isFirst: boolean;
}

function writeByHand(root: unknown): string {
	const pieces: string[] = [];
	const frames: Frame[] = [];
	const open = new Set<object>();
	const write = (value: unknown): void => {
		if (typeof value !== "object" || value === null) {
			pieces.push(stringify(value) ?? "null");
			return;
		}
		// It would be written until memory is full.
		if (open.has(value)) throw new NotJsonError();
		open.add(value);
		const close = Array.isArray(value) ? "]" : "}";
		pieces.push(close === "]" ? "[" : "{");
		frames.push({ value, items: Object.entries(value)[Symbol.iterator](), close, isFirst: true });
	};
	write(root);
	for (let frame = frames.at(-1); frame; frame = frames.at(-1)) {
		const next = frame.items.next();
		if (next.done) {
			pieces.push(frame.close);
			open.delete(frame.value);
			frames.pop();
			continue;
		}
		const [key, value] = next.value;
		if (frame.close === "}" && !isWritten(value)) continue;
		if (!frame.isFirst) pieces.push(",");
		frame.isFirst = false;
		if (frame.close === "}") pieces.push(JSON.stringify(key), ":");
		write(value);
	}
	return pieces.join("");
}

/** What JSON has no word for is left out of objects, and is null in lists. */
function isWritten(value: unknown): boolean {
	return value !== undefined && typeof value !== "function" && typeof value !== "symbol";
}
