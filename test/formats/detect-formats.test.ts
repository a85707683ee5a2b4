import { describe, expect, it } from "vitest";
import { formats } from "../../src/formats/detect.ts";
import { rows } from "./all-rows.ts";
import { describeFormat } from "./format-suite.ts";

for (const row of rows) describeFormat(row);

describe("formats", () => {
	it("each have a row", () => {
		expect(rows.map(({ format }) => format.name).sort()).toEqual(formats.map(({ name }) => name).sort());
	});
});
