import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative as relativePath, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const source = resolve(import.meta.dirname, "../src");

/** The wings in order, lowest first, and in each its rooms; a file imports its own room or an earlier one. */
const wings: readonly (readonly string[])[] = [
	["errors.ts", "version.ts", "log.ts"],
	[
		...["engine/policy", "engine/conversation", "engine/masking", "engine/truncation", "engine/compaction"],
		...["engine/guarding", "engine/replaying", "engine/trials"],
	],
	["formats/json-text", "formats/tokens", "formats"],
	["storage/files", "storage/archive", "storage/restore", "storage/figures"],
	["operations/http", "operations/summariser", "operations/config", "operations"],
	["library.ts", "index.ts"],
	["pages"],
	["proxy/billing", "proxy/sending", "proxy"],
	["hosts", "hosts/plugins", "hosts/adapters", "hosts/mod"],
	["mcp", "mcp/gateway"],
	["commands"],
	["cli.ts"],
];
const rooms: readonly string[] = wings.flat();
/** Rooms that know no file, clock, chance, process or tokenizer: counting and hashing are parameters. */
const pure = rooms.filter((room) => room.startsWith("engine/") && room !== "engine/policy");
const longest = 400;

interface Import {
	/** Path within src, or the name of a package. */
	readonly target: string;
	readonly relative: boolean;
	readonly typeOnly: boolean;
	readonly reexport: boolean;
}

interface SourceFile {
	readonly path: string;
	readonly room: string;
	readonly text: string;
	readonly imports: readonly Import[];
}

const files: readonly SourceFile[] = readdirSync(source, { recursive: true, encoding: "utf8" })
	.filter((path) => path.endsWith(".ts"))
	.map((path) => {
		const text = readFileSync(join(source, path), "utf8");
		return { path, room: roomOf(path), text, imports: importsOf(text, path) };
	});

/** The innermost room that a file stands in, or its path where it stands in none. */
function roomOf(path: string): string {
	const around = rooms.filter((room) => path === room || path.startsWith(`${room}/`));
	return around.sort((one, other) => other.length - one.length)[0] ?? path;
}

function importsOf(text: string, path: string): Import[] {
	const statements = text.matchAll(/^(import|export)\s+(type\s+)?(?:([^;"']*?)\s+from\s+)?["']([^"']+)["']/gm);
	const found = Array.from(statements, ([, keyword, type, names = "", target = ""]) => {
		const listed = /^\{([\s\S]*)\}$/.exec(names.trim())?.[1]?.split(",") ?? [];
		const eachTyped =
			listed.length > 0 && listed.every((name) => name.trim() === "" || name.trim().startsWith("type "));
		return { target, typeOnly: type !== undefined || eachTyped, reexport: keyword === "export" };
	});
	const dynamic = Array.from(text.matchAll(/\bimport\(\s*["']([^"']+)["']\s*\)/g), ([, target = ""]) => {
		return { target, typeOnly: false, reexport: false };
	});
	return [...found, ...dynamic].map((one) => ({
		...one,
		relative: one.target.startsWith("."),
		target: one.target.startsWith(".") ? relativePath(source, resolve(source, dirname(path), one.target)) : one.target,
	}));
}

const isOwn = (target: string) => files.some((file) => file.path === target);
const orderOf = (room: string) => rooms.indexOf(room);
const violations = (check: (file: SourceFile, one: Import) => boolean, among = files) =>
	among.flatMap((file) =>
		file.imports.filter((one) => check(file, one)).map((one) => `${file.path} imports ${one.target}`),
	);
const inRoom = (room: string) => files.filter((file) => file.room === room);

describe("the rooms", () => {
	it("are read from existing files", () => {
		expect(files.length).toBeGreaterThan(50);
		expect(files.flatMap((file) => file.imports).length).toBeGreaterThan(150);
		for (const room of ["engine/policy", "engine/masking", "formats/tokens", "formats", "operations"])
			expect(inRoom(room).length).toBeGreaterThan(3);
	});

	it("every file belongs to a room of the list", () => {
		expect(files.filter((file) => orderOf(file.room) === -1).map((file) => file.path)).toEqual([]);
	});

	it("every relative import names an existing file", () => {
		expect(violations((_, { target, relative }) => relative && !isOwn(target))).toEqual([]);
	});

	it("a file imports only its own room or an earlier one", () => {
		expect(violations((file, { target }) => isOwn(target) && orderOf(roomOf(target)) > orderOf(file.room))).toEqual([]);
	});
});

describe("imports between the files", () => {
	it("have no cycles", () => {
		const importsOfFile = new Map(files.map(({ path, imports }) => [path, imports.map(({ target }) => target)]));
		expect(cyclesOf(importsOfFile)).toEqual([]);
		const ring = new Map([
			["a", ["b"]],
			["b", ["c", "d"]],
			["c", ["a"]],
			["d", []],
		]);
		expect(cyclesOf(ring)).toEqual(["a b c"]);
	});
});

describe("the pure rooms", () => {
	it("import only pure rooms, errors, the references of the archive, and the policy as types", () => {
		const allowed = ({ target, typeOnly }: Import) =>
			isOwn(target) &&
			(pure.includes(roomOf(target)) || target === "errors.ts" || (roomOf(target) === "engine/policy" && typeOnly));
		expect(pure.flatMap((room) => violations((_, one) => !allowed(one), inRoom(room)))).toEqual([]);
	});

	it("use no clock, no random numbers and no process", () => {
		const impure = /\b(?:Date\b|Math\.random|performance\.|process\.|crypto\.|setTimeout|fetch\(|globalThis)/;
		const found = pure.flatMap((room) => inRoom(room)).filter(({ text }) => impure.test(withoutComments(text)));
		expect(found.map(({ path }) => path)).toEqual([]);
	});
});

describe("the tests", () => {
	/** Each test in a folder that mirrors one of `src`, with the file that its name begins with. */
	const mirrored = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" })
		.filter((path) => path.endsWith(".test.ts") && files.some((file) => dirname(file.path) === dirname(path)))
		.filter((path) => dirname(path) !== ".")
		.map((path) => {
			const name = basename(path).split(".")[0] ?? "";
			const beside = files
				.filter((file) => dirname(file.path) === dirname(path))
				.map((file) => basename(file.path, ".ts"));
			return { path, tests: beside.find((file) => name === file || name.startsWith(`${file}-`)) };
		});

	it("begin with the name of the file that they test", () => {
		expect(mirrored.length).toBeGreaterThan(200);
		expect(mirrored.filter(({ tests }) => tests === undefined).map(({ path }) => path)).toEqual([]);
	});
});

describe("the packages", () => {
	it("only src/mcp imports the MCP SDK", () => {
		expect(violations(({ room }, { target }) => target.startsWith("@modelcontextprotocol/") && room !== "mcp")).toEqual(
			[],
		);
	});

	it("none imports openai: the summariser needs one POST, and no package for it", () => {
		expect(violations((_, { target }) => /^openai(?:\/|$)/.test(target))).toEqual([]);
	});

	it("only src/formats/tokens imports gpt-tokenizer", () => {
		expect(
			violations(({ room }, { target }) => target.startsWith("gpt-tokenizer") && room !== "formats/tokens"),
		).toEqual([]);
	});

	it("only src/formats/json-text imports jsonc-parser", () => {
		expect(violations(({ room }, { target }) => target === "jsonc-parser" && room !== "formats/json-text")).toEqual([]);
	});
});

describe("the files", () => {
	it(`have at most ${longest} lines`, () => {
		const lines = ({ text }: SourceFile) => text.trimEnd().split("\n").length;
		const long = files.filter((file) => lines(file) > longest).map((file) => `${file.path}: ${lines(file)} lines`);
		expect(long).toEqual([]);
	});

	it("have no default exports", () => {
		expect(files.filter(({ text }) => /^export default\b|\bas default\b/m.test(text)).map(({ path }) => path)).toEqual(
			[],
		);
	});

	it("have no catch-all names", () => {
		const leftovers = /(?:^|[\\/-])(?:utils?|helpers?|common|misc|shared|manager|service)(?:[\\/.-]|$)/i;
		expect(files.filter(({ path }) => leftovers.test(path)).map(({ path }) => path)).toEqual([]);
	});

	it("index.ts is the only barrel", () => {
		const barrels = files.filter((file) => file.imports.some((one) => one.reexport));
		expect(barrels.map(({ path }) => path).filter((path) => path !== "index.ts")).toEqual([]);
	});
});

/** The files that import each other in a ring, as types or otherwise. */
function cyclesOf(importsOfFile: ReadonlyMap<string, readonly string[]>): string[] {
	const reach = (from: string): ReadonlySet<string> => {
		const reached = new Set<string>();
		const waiting = [...(importsOfFile.get(from) ?? [])];
		for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
			if (reached.has(next)) continue;
			reached.add(next);
			waiting.push(...(importsOfFile.get(next) ?? []));
		}
		return reached;
	};
	const reached = new Map(Array.from(importsOfFile.keys(), (path) => [path, reach(path)]));
	const inCycles = [...reached.keys()].filter((path) => reached.get(path)?.has(path));
	const cycles = inCycles.map((path) =>
		inCycles.filter((other) => reached.get(path)?.has(other) && reached.get(other)?.has(path)).sort(),
	);
	return [...new Set(cycles.map((cycle) => cycle.join(" ")))];
}

function withoutComments(text: string): string {
	return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
}
