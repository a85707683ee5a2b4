// Prints what each dependency costs an install: the packages that come with it alone, and their size as they lie in
// node_modules, in kB. Run it after `npm ci`; docs/architecture.md has the sum.
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
const own = packages[""];
const always = Object.keys(own.dependencies);
const optional = Object.keys(own.optionalDependencies ?? {});
const peers = Object.keys(own.peerDependencies ?? {});

/** Where Node finds a package that the one at `from` asks for. */
function locate(from, name) {
	for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf("node_modules/") - 1))) {
		const path = `${at === "" ? "" : `${at}/`}node_modules/${name}`;
		if (packages[path]) return path;
		if (at === "") return undefined;
	}
}

/** The packages that come with those named. */
function installedWith(names) {
	const found = new Set();
	const waiting = names.map((name) => locate("", name));
	for (let path = waiting.pop(); path !== undefined || waiting.length > 0; path = waiting.pop()) {
		if (path === undefined || found.has(path) || !isHere(path)) continue;
		found.add(path);
		const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = packages[path];
		const needed = Object.keys(peerDependencies ?? {}).filter((name) => !peerDependenciesMeta?.[name]?.optional);
		for (const name of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...needed])
			waiting.push(locate(path, name));
	}
	return found;
}

/** Not a binary of another platform. */
function isHere(path) {
	return lstatSync(join(root, path), { throwIfNoEntry: false }) !== undefined;
}

function kilobytes(paths) {
	let bytes = 0;
	for (const path of paths) {
		for (const entry of readdirSync(join(root, path), { recursive: true, withFileTypes: true })) {
			const within = join(entry.parentPath, entry.name).slice(join(root, path).length);
			if (entry.isFile() && !/[\\/]node_modules[\\/]/.test(within)) {
				bytes += lstatSync(join(entry.parentPath, entry.name)).size;
			}
		}
	}
	return Math.round(bytes / 1000);
}

const everything = installedWith([...always, ...optional]);
const row = (name, kind, paths) => `| \`${name}\` | ${kind} | ${paths.length} | ${kilobytes(paths)} |\n`;
process.stdout.write("| package | comes | packages that it alone brings | kB |\n|---|---|---|---|\n");
for (const name of [...always, ...optional]) {
	const without = installedWith([...always, ...optional].filter((other) => other !== name));
	const alone = [...everything].filter((path) => !without.has(path));
	process.stdout.write(row(name, optional.includes(name) ? "optional" : "always", alone));
}
for (const name of peers) {
	const added = [...installedWith([name])].filter((path) => !everything.has(path));
	process.stdout.write(row(name, "if you install it", added));
}
process.stdout.write(`| all that npm installs | | ${everything.size} | ${kilobytes(everything)} |\n`);
