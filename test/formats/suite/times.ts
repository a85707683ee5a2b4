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
			const broken = script.map((record) =>
				JSON.parse(JSON.stringify(timed(record, start)), (key, value) =>
					/^(?:timestamp|ts|sentAt|created|createdAt|processed_at|step_start_time|step_end_time)$/.test(key)
						? "soon"
						: value,
				),
			);
			expect(read(broken).messages.filter(({ time }) => time !== undefined)).toEqual([]);
		});
	});
}
