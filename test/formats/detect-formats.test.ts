import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { formats } from "../../src/formats/detect.ts";
import type { FormatRow } from "./format-row.ts";
import { describeFormat } from "./format-suite.ts";

const folder = resolve(import.meta.dirname, "rows");
const rows = await Promise.all(
	readdirSync(folder).map(async (file) => ((await import(resolve(folder, file))) as { row: FormatRow }).row),
);

for (const row of rows) describeFormat(row);

describe("formats", () => {
	it("each have a row", () => {
		expect(rows.map(({ format }) => format.name).sort()).toEqual(formats.map(({ name }) => name).sort());
	});
});
