import { describe, expect, it } from "vitest";
import { salvageRecords } from "../../../src/formats/json-text/salvage.ts";

const lines = Array.from({ length: 8 }, (_, index) =>
	JSON.stringify({
		uuid: `u${index}`,
		parentUuid: index === 0 ? null : `u${index - 1}`,
		text: `é ${"word ".repeat(20)}`,
	}),
);
const line = (index: number) => lines[index] ?? "";
const whole = (...list: readonly string[]) => `${list.join("\n")}\n`;

describe("salvageRecords", () => {
	it.each([
		["a line of NULs", whole(...lines.slice(0, 3), "\0".repeat(400), ...lines.slice(3)), 1],
		["a block of NULs at the end", whole(...lines) + "\0".repeat(5_000), 1],
		["a record with NULs after it", whole(...lines.slice(0, 3), `${line(3)}${"\0".repeat(90)}`, ...lines.slice(4)), 1],
		["NULs before a record", whole(...lines.slice(0, 3), `${"\0".repeat(90)}${line(3)}`, ...lines.slice(4)), 1],
		[
			"half a record in front of a whole one",
			whole(...lines.slice(0, 3), line(3).slice(0, 40) + line(3), ...lines.slice(4)),
			1,
		],
		["half a record on a line of its own", whole(...lines.slice(0, 3), line(3).slice(0, 40), ...lines.slice(3)), 1],
		["half a record first", whole(line(3).slice(0, 40), ...lines), 1],
		[
			"half a record behind a whole one",
			whole(...lines.slice(0, 3), line(3) + line(4).slice(0, 40), ...lines.slice(4)),
			1,
		],
		[
			"two whole ones, and half a one between them",
			whole(line(0), line(1) + line(5).slice(0, 30) + line(2), ...lines.slice(3)),
			1,
		],
		["several damages", whole(...lines.slice(0, 5), "\0\0", ...lines.slice(5), line(1).slice(0, 30)), 2],
	])("finds all whole records next to %s", (_, text, skipped) => {
		expect(salvageRecords(text)).toEqual({ text: whole(...lines), skipped });
	});

	it("leaves out a record that was cut off", () => {
		expect(salvageRecords(whole(...lines).slice(0, -50))).toEqual({ text: whole(...lines.slice(0, -1)), skipped: 1 });
	});

	it.each([
		["text that is not a session", "ERROR at 3\nERROR at 4\n{}\n"],
		["undamaged records", whole(...lines)],
		["one JSON value that was cut off", JSON.stringify(lines, null, 1).slice(0, -30)],
		["more damage than records", whole(line(0), line(1).slice(0, 30), line(2).slice(0, 30), "x")],
		["nothing", ""],
	])("finds none in %s", (_, text) => {
		expect(salvageRecords(text)).toBeUndefined();
	});

	it("takes no long time for a long damaged line", () => {
		const long = line(0).slice(0, 40).repeat(20_000);
		const start = performance.now();
		expect(salvageRecords(whole(...lines, long))?.text).toBe(whole(...lines));
		expect(performance.now() - start).toBeLessThan(2_000);
	});
});
