export class NotJsonError extends TypeError {
	name = "NotJsonError";
	constructor(cause) {
		super(
			"Expected values that JSON can hold; got one that contains itself, or a bigint, or that cannot be read. Pass plain JSON, in the form that is sent to the API.",
			{ cause },
		);
	}
}
export function isJsonObject(value) {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
export function parseJsonObject(text) {
	if (!text.trimStart().startsWith("{")) return undefined;
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}
/** At any depth: `JSON.stringify` overflows some thousand levels down. Empty for `undefined`. Throws NotJsonError. */
export function compactJson(value) {
	try {
		return stringify(value) ?? "";
	} catch (error) {
		if (!(error instanceof RangeError)) throw error;
		return stringifyDeep(value);
	}
}
/** `JSON.stringify`. Throws NotJsonError for a value that did not come from JSON; whatever reading a property throws. */
export function stringify(value, replacer) {
	try {
		return JSON.stringify(value, replacer);
	} catch (error) {
		throw error instanceof TypeError ? new NotJsonError(error) : error;
	}
}
function stringifyDeep(root) {
	const pieces = [];
	const frames = [];
	const open = new Set();
	const write = (value) => {
		if (typeof value !== "object" || value === null) {
			pieces.push(stringify(value) ?? "null");
			return;
		}
		// A circle would be written until memory is full.
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
		if (frame.close === "}" && ["undefined", "function", "symbol"].includes(typeof value)) continue;
		if (!frame.isFirst) pieces.push(",");
		frame.isFirst = false;
		if (frame.close === "}") pieces.push(JSON.stringify(key), ":");
		write(value);
	}
	return pieces.join("");
}
/** Accepts values that JSON omits. Throws NotJsonError for a circle, a bigint, or a property whose reading throws. */
export function requireJson(value) {
	try {
		visit(value, 0);
	} catch (error) {
		throw error instanceof NotJsonError ? error : new NotJsonError(error);
	}
}
/** Levels that are visited without a search for circles, which is much faster: more than any conversation has. */
const shallow = 100;
function visit(value, depth) {
	if (typeof value === "bigint") throw new NotJsonError();
	if (typeof value !== "object" || value === null) return;
	const { toJSON } = value;
	// A date writes a text.
	const written = typeof toJSON === "function" ? toJSON.call(value, "") : value;
	if (depth > shallow) stringifyDeep(written);
	else if (written !== value) visit(written, depth + 1);
	else if (Array.isArray(value)) for (const item of value) visit(item, depth + 1);
	else for (const key in value) visit(value[key], depth + 1);
}
/** Whether a value could be parsed JSON: no holes, classes or accessors; `undefined` members are accepted. Slow. */
export function isPlainJson(root) {
	const open = [root];
	const seen = new Set();
	try {
		for (let value = open.pop(); open.length > 0 || value !== undefined; value = open.pop()) {
			if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint") return false;
			if (typeof value !== "object" || value === null || seen.has(value)) continue;
			seen.add(value);
			const prototype = Object.getPrototypeOf(value);
			if (prototype !== Object.prototype && prototype !== Array.prototype && prototype !== null) return false;
			const members = Object.getOwnPropertyDescriptors(value);
			if (Array.isArray(value) && Object.keys(value).length !== value.length) return false;
			for (const member of Object.values(members)) {
				if (!("value" in member)) return false;
				open.push(member.value);
			}
		}
		return true;
	} catch {
		return false;
	}
}
