import { expect, it } from "vitest";
import type { CallEnd } from "../../src/log.ts";
import { callRecorder } from "../../src/mcp/tool.ts";

/** A value that counts how often it is written as JSON. */
function countedValue() {
	const value = { times: 0, toJSON: () => "x".repeat(value.times++) };
	return value;
}

function endOf(given: Readonly<Record<string, unknown>>, structuredContent: Record<string, unknown>): CallEnd {
	const ends: CallEnd[] = [];
	const call = { tool: "t", arguments: given, signal: new AbortController().signal, request: 1, session: undefined };
	const note = callRecorder({ onCallEnd: (end) => ends.push(end) }, call);
	note({ result: { content: [], structuredContent }, code: undefined, report: undefined });
	const [end] = ends;
	if (!end) throw new Error("Expected a note of the call.");
	return end;
}

it("measures a call's sizes only on request, and once", () => {
	const [given, answered] = [countedValue(), countedValue()];
	const end = endOf({ given }, { answered });
	expect([given.times, answered.times]).toEqual([0, 0]);
	expect([end.bytesIn, end.bytesIn]).toEqual([12, 12]);
	expect([given.times, answered.times]).toEqual([1, 0]);
	expect([end.bytesOut, end.bytesOut]).toEqual([50, 50]);
	expect([given.times, answered.times]).toEqual([1, 1]);
});

it("reports sizes in bytes, and 0 for values nested too deep to be written", () => {
	let deep: unknown = [];
	for (let level = 0; level < 100_000; level += 1) deep = [deep];
	const end = endOf({ text: "é" }, { deep });
	expect(end.bytesIn).toBe('{"text":"é"}'.length + 1);
	expect(end.bytesOut).toBe(0);
});
