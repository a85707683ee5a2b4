/** Conditions of an `exports` field that hold for `import` in Node. */
const conditions = new Set(["node", "node-addons", "import", "module-sync", "default"]);

/**
 * The file that the `exports` field of a package names for an `import` of `subpath` (`.` or `./…`), relative to the
 * package; `undefined` where it names none. After the rules of Node's documentation, "Modules: Packages".
 */
export function packageTarget(exports: unknown, subpath: string): string | undefined {
	const isBySubpath = isObject(exports) && Object.keys(exports).some((key) => key.startsWith("."));
	const bySubpath: Readonly<Record<string, unknown>> = isBySubpath ? exports : { ".": exports };
	if (Object.hasOwn(bySubpath, subpath)) return targetOf(bySubpath[subpath], "");
	const patterns = Object.keys(bySubpath)
		.filter((key) => key.includes("*"))
		.map((key) => ({ key, start: key.slice(0, key.indexOf("*")), end: key.slice(key.indexOf("*") + 1) }))
		.filter(({ start, end }) => subpath.startsWith(start) && subpath.endsWith(end))
		.filter(({ start, end }) => subpath.length > start.length + end.length)
		.toSorted((a, b) => b.start.length - a.start.length || b.key.length - a.key.length);
	const [best] = patterns;
	if (!best) return undefined;
	const { key, start, end } = best;
	return targetOf(bySubpath[key], subpath.slice(start.length, subpath.length - end.length));
}

function targetOf(target: unknown, star: string): string | undefined {
	if (typeof target === "string") return isWithin(target) ? target.replaceAll("*", star) : undefined;
	if (Array.isArray(target)) return firstOf(target as unknown[], star);
	if (!isObject(target)) return undefined;
	const holding = Object.entries(target).filter(([condition]) => conditions.has(condition));
	return firstOf(
		holding.map(([, value]) => value),
		star,
	);
}

function firstOf(targets: readonly unknown[], star: string): string | undefined {
	for (const one of targets) {
		const found = targetOf(one, star);
		if (found !== undefined) return found;
	}
	return undefined;
}

function isWithin(target: string): boolean {
	return target.startsWith("./") && !target.split(/[\\/]/).includes("..");
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
