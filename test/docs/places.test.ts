import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const folder = resolve(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(folder, path), "utf8");
const page = read("docs/architecture.md");

/** The rows of the table under a heading, without its head: the text of each cell. */
function rowsUnder(heading: string): string[][] {
	const [, section = ""] = page.split(`\n## ${heading}\n`);
	const lines = section.split(/^## /m)[0]?.match(/^\|.*\|$/gm) ?? [];
	return lines.slice(2).map((line) => line.slice(2, -2).split(" | "));
}

const code = (cell = "") => /^`([^`]+)`$/.exec(cell)?.[1] ?? "";

describe("the table “To change X, open Y”", () => {
	const places = rowsUnder("To change X, open Y").map(([what, file, name]) => ({
		what,
		file: code(file),
		name: code(name),
	}));

	it("has at least 30 rows", () => {
		expect(places.length).toBeGreaterThanOrEqual(30);
		expect(new Set(places.map(({ what }) => what)).size).toBe(places.length);
	});

	it.each(places)("$what: $file contains $name", ({ file, name }) => {
		expect(name).toMatch(/^\w+$/);
		// A name that the file only imports is defined elsewhere.
		const own = read(file).replace(/^import\b[\s\S]*?;$/gm, "");
		expect(own).toMatch(new RegExp(`\\b${name}\\b`));
	});
});

it("the wings and their rooms stand in the order that the floors test enforces", () => {
	const [, list = ""] = /const wings: [^=]*= \[([\s\S]*?)\n\];/.exec(read("test/floors.test.ts")) ?? [];
	const enforced = Array.from(list.matchAll(/"([^"]+)"/g), ([, room = ""]) => room);
	const rooms = enforced.filter((room) => !room.endsWith(".ts"));
	expect(rooms.length).toBeGreaterThan(20);
	expect(rowsUnder("Wings").map(([room]) => code(room))).toEqual(rooms);
	const [, picture = ""] = /\n## Wings\n\n```\n([\s\S]*?)```/.exec(page) ?? [];
	const drawn = Array.from(picture.matchAll(/^([\w, ]+?)(?:\/| {2})/gm), ([, name]) => name);
	const wings = new Set(rooms.map((room) => room.split("/")[0]));
	expect(drawn.filter((name) => wings.has(name))).toEqual([...wings]);
});
