export function pathTree(paths) {
	const root = { children: new Map() };
	for (const path of paths) {
		let node = root;
		for (const segment of path) {
			const child = node.children.get(segment) ?? { children: new Map() };
			node.children.set(segment, child);
			node = child;
		}
	}
	return root;
}
export function nodeAt(tree, path) {
	return path.reduce((node, segment) => node?.children.get(segment), tree);
}
/**
 * Returns the span of the JSON at `start`, which must be valid. Needs no stack for the depth of the text, and passes over
 * values that hold no place of the tree: long strings by a native search, which is ten times as fast as reading tokens.
 * Throws if there is no value.
 */
export function locateValues(text, start, tree) {
	const frames = [];
	let at = skipBlanks(text, start);
	let node = tree;
	for (;;) {
		const from = at;
		if (node) forget(node);
		const opening = text.charCodeAt(at);
		if (node && node.children.size > 0 && (opening === openBrace || opening === openBracket)) {
			frames.push({ node, start: at, index: opening === openBracket ? 0 : undefined });
			at = skipBlanks(text, at + 1);
		} else {
			at = skipValue(text, at);
			finish(frames.at(-1), node, { start: from, end: at });
			if (frames.length === 0) return { start: from, end: at };
			at = skipBlanks(text, at);
		}
		// After a value, or at the first member of an object or list.
		for (let frame = frames.at(-1); isClosing(text.charCodeAt(at)); frame = frames.at(-1)) {
			frames.pop();
			at += 1;
			const span = { start: frame.start, end: at };
			finish(frames.at(-1), frame.node, span);
			if (frames.length === 0) return span;
			at = skipBlanks(text, at);
		}
		if (text.charCodeAt(at) === comma) at = skipBlanks(text, at + 1);
		const frame = frames.at(-1);
		if (frame.index !== undefined) {
			node = frame.node.children.get(frame.index);
			continue;
		}
		const afterKey = skipString(text, at);
		node = frame.node.children.get(keyOf(text, at, afterKey));
		at = skipBlanks(text, skipBlanks(text, afterKey) + 1);
	}
}
/**
 * Whether JSON has more members and items, or more lists and objects, than a number: parsing it could then hold up everybody
 * else. Does not parse; text that is not JSON has no more.
 */
export function hasMoreValues(text, most) {
	// Each of them takes a character or more.
	if (text.length < most) return false;
	let [values, holders] = [0, 0];
	for (let at = 0; at !== -1 && at < text.length && values <= most && holders <= most; ) {
		const code = text.charCodeAt(at);
		if (code === comma) values += 1;
		else if (code === openBracket || code === openBrace) holders += 1;
		at = code === quote ? endOfString(text, at) : at + 1;
	}
	return values > most || holders > most;
}
function finish(frame, node, span) {
	if (node) node.span = span;
	if (frame?.index === undefined) return;
	frame.node.items ??= [];
	frame.node.items.push(span);
	frame.index += 1;
}
/** Forgets the values found in the earlier value of a repeated key. */
function forget(node) {
	const left = [node];
	for (let one = left.pop(); one; one = left.pop()) {
		if (!one.span) continue;
		delete one.span;
		delete one.items;
		for (const child of one.children.values()) left.push(child);
	}
}
const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];
/** Returns the position after the value at `at`. */
function skipValue(text, at) {
	let position = at;
	for (let depth = 0; position < text.length; ) {
		const code = text.charCodeAt(position);
		if (code === quote) {
			position = skipString(text, position);
			if (depth === 0) return position;
			continue;
		}
		if (code === openBrace || code === openBracket) depth += 1;
		else if (isClosing(code)) {
			if (depth === 0) break;
			depth -= 1;
			if (depth === 0) return position + 1;
		} else if (depth === 0 && (code === comma || isBlank(code))) break;
		position += 1;
	}
	// A number or word, which nothing else ends.
	const first = text.charCodeAt(at);
	if (position === at || first === openBrace || first === openBracket) throw new Error("Expected a value.");
	return position;
}
function skipString(text, from) {
	const end = endOfString(text, from);
	if (end === -1) throw new Error("Expected a string to end.");
	return end;
}
/** Characters that are read one by one before a native search, which an escaped quote would end at once. */
const nearCharacters = 8;
/** Returns the position after the string at `from`; -1 if it does not end. */
function endOfString(text, from) {
	for (let at = from + 1; ; ) {
		for (const near = Math.min(at + nearCharacters, text.length); at < near; ) {
			const code = text.charCodeAt(at);
			if (code === quote) return at + 1;
			at += code === backslash ? 2 : 1;
		}
		const found = text.indexOf('"', at);
		if (found === -1) return -1;
		let escapes = 0;
		while (found - escapes > at && text.charCodeAt(found - escapes - 1) === backslash) escapes += 1;
		if (escapes % 2 === 0) return found + 1;
		at = found + 1;
	}
}
function keyOf(text, start, end) {
	const key = text.slice(start + 1, end - 1);
	return key.includes("\\") ? String(JSON.parse(text.slice(start, end))) : key;
}
function skipBlanks(text, from) {
	let at = from;
	while (isBlank(text.charCodeAt(at))) at += 1;
	return at;
}
function isBlank(code) {
	return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}
function isClosing(code) {
	return code === closeBrace || code === closeBracket;
}
