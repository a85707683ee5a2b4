/** The fields of an edit that applying it takes. */
export interface PlainEdit {
	readonly kind: "replace" | "remove" | "insert";
	readonly path: string;
	readonly replacement?: unknown;
	readonly value?: unknown;
}

/** Applies edits in the plainest way, with no code of the product: on a copy, from the last path to the first. */
export function applyPlainly(document: unknown, edits: readonly PlainEdit[]): unknown {
	const root = { document: JSON.parse(JSON.stringify(document)) as unknown };
	const steps = edits.map((edit, order) => ({ edit, order, keys: ["document", ...keysOf(edit.path)] }));
	// At one place what is put in goes in last, and of several the last first, since each goes in front of the others.
	const rank = { replace: 0, remove: 1, insert: 2 } as const;
	steps.sort((a, b) => compareKeys(b.keys, a.keys) || rank[a.edit.kind] - rank[b.edit.kind] || b.order - a.order);
	for (const { edit, keys } of steps) {
		const parent = keys.slice(0, -1).reduce<unknown>((value, key) => (value as never)[key], root);
		const key = keys.at(-1) ?? "";
		if (edit.kind === "replace") (parent as Record<string, unknown>)[key] = edit.replacement;
		else if (edit.kind === "remove") (parent as unknown[]).splice(Number(key), 1);
		else (parent as unknown[]).splice(Number(key), 0, edit.value);
	}
	return root.document;
}

function keysOf(path: string): string[] {
	return path
		.split("/")
		.slice(1)
		.map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** By place in the document: items of a list by number; whole values behind what is in them. */
function compareKeys(one: readonly string[], other: readonly string[]): number {
	const at = one.findIndex((key, index) => key !== other[index]);
	if (at === -1 || other[at] === undefined) return one.length - other.length;
	const [a = "", b = ""] = [one[at], other[at]];
	return /^\d+$/.test(a) && /^\d+$/.test(b) ? Number(a) - Number(b) : a < b ? -1 : 1;
}
