import { describe, expect, it } from "vitest";
import { assistant, user } from "../../support/script.ts";
import { type FormatRow, toolsOf } from "../format-row.ts";

const start = Date.UTC(2026, 0, 1);
const minute = 60_000;

export function describeTimes(row: FormatRow): void {
	const { format, read, turn, write, timed } = toolsOf(row);
	const script = write(user("Go."), turn("a"), turn("b"), assistant("Done."));

	describe(`${format.title}: times`, () => {
		if (!timed) {
			it("has no times", () => {
				const times = read(script).messages.filter((message) => "time" in message || "endTime" in message);
				expect(times).toEqual([]);
			});
			return;
		}

		it("reads the time of each message", () => {
			const records = script.map((record, index) => timed(record, start + index * minute));
			const { messages } = read(records);
			expect(messages.length).toBeGreaterThan(3);
			for (const { paths, time } of messages) {
				expect(time, JSON.stringify(paths[0])).toBe(start + Number(paths[0]?.[0]) * minute);
			}
		});

		it("ignores values that are not times", () => {
			const broken = script.map((record) => withoutTimes(timed(record, start), timed(record, start + minute)));
			expect(JSON.stringify(broken)).toContain('"soon"');
			expect(read(broken).messages.filter(({ time }) => time !== undefined)).toEqual([]);
		});
	});
}

/** The value with a word in place of what differs at another time. */
function withoutTimes(value: unknown, later: unknown): unknown {
	if (typeof value !== "object" || value === null) return value === later ? value : "soon";
	const other = later as Readonly<Record<string, unknown>>;
	const members = Object.entries(value).map(([key, inner]) => [key, withoutTimes(inner, other[key])]);
	return Array.isArray(value) ? members.map(([, inner]) => inner) : Object.fromEntries(members);
}
