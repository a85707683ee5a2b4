import type { Interval } from "./intervals.ts";

// Numbers in words, for the table and the page.

type Written = (value: number) => string;

const none = "–";

export function orNone(value: number | null, written: Written): string {
	return value === null ? none : written(value);
}

export function writtenInterval(interval: Interval | null, written: Written): string {
	return interval === null ? none : `${written(interval.low)} to ${written(interval.high)}`;
}

/** With its sign, unless it is written as a zero. */
export function signed(value: number, written: Written): string {
	const text = written(Math.abs(value));
	return /[1-9]/.test(text) ? `${value < 0 ? "−" : "+"}${text}` : text;
}

export const dollars: Written = (value) => value.toFixed(value !== 0 && Math.abs(value) < 1 ? 4 : 2);
export const tenths: Written = (value) => value.toFixed(1);
