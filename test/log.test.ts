import { expect, it } from "vitest";
import { type CallEnd, createOperatorLog, type LogEvent, type LogKind } from "../src/log.ts";

const end: CallEnd = {
	tool: "guard_context",
	outcome: "ok",
	principal: "token alice",
	milliseconds: 12.345,
	bytesIn: 10,
	bytesOut: 20,
	report: { tokens: { before: 9, after: 4 }, dropped_messages: 1 },
	request: "r-1",
	session: "5f0c2f6e-0000-4000-8000-000000000000",
};
const event: LogEvent = { level: "warning", message: "Truncated a text", data: { event: "truncated", chars: 3 } };

function logOf(kind: LogKind) {
	const [lines, events, said]: [string[], LogEvent[], string[]] = [[], [], []];
	const log = createOperatorLog({
		kind,
		isWanted: (level) => level !== "info",
		inWords: (one) => events.push(one),
		say: (words) => said.push(words),
		write: (line) => lines.push(line),
	});
	return { ...log, lines, events, said, parsed: () => lines.map((line) => JSON.parse(line)) };
}

it("as JSON: a line for each call, with sizes and ids, and for each wanted event", () => {
	const log = logOf("json");
	log.onCallEnd(end);
	log.log(event);
	log.log({ ...event, level: "info" });
	log.announce({ ...event, level: "info" });
	const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
	const sizes = { ms: 12.3, bytes_in: 10, bytes_out: 20, tokens_before: 9, tokens_after: 4 };
	const ids = { request: "r-1", session: expect.stringMatching(/^[0-9a-f]{12}$/), principal: "token alice" };
	expect(log.parsed()).toEqual([
		{ time, level: "info", event: "call", ...ids, tool: "guard_context", outcome: "ok", ...sizes },
		{ time, level: "warning", event: "truncated", chars: 3, message: "Truncated a text" },
		{ time, level: "info", event: "truncated", chars: 3, message: "Truncated a text" },
	]);
	expect(log.lines.join()).not.toContain("5f0c2f6e");
});

it("as JSON: every entry is one line, with any name of a client's request", () => {
	const log = logOf("json");
	log.onCallEnd({ ...end, request: `a\n"b\u2028${"x".repeat(1_000)}` });
	expect(log.lines[0]).not.toMatch(/[\n\r\u2028\u2029]/);
	expect(log.parsed()[0].request).toMatch(/^a\n"b\u2028x{59}$/);
});

it("logs defects and busy calls at a higher level", () => {
	const log = logOf("json");
	log.onCallEnd({ ...end, outcome: "error", code: "internal" });
	log.onCallEnd({ ...end, outcome: "error", code: "invalid_argument" });
	log.onCallEnd({ ...end, outcome: "busy", report: undefined });
	expect(log.parsed().map(({ level }) => level)).toEqual(["error", "info", "warning"]);
});

it("in words: events as before, with calls among them", () => {
	const log = logOf("text");
	log.log(event);
	log.onCallEnd(end);
	log.onCallEnd({ ...end, outcome: "error", code: "invalid_argument", report: undefined, principal: undefined });
	log.announce(event);
	expect(log.events.map(({ level, message }) => `${level}: ${message}`)).toEqual([
		"warning: Truncated a text",
		"info: guard_context: ok in 12.3 ms, 9 tokens became 4, for token alice",
		"info: guard_context: invalid_argument in 12.3 ms",
	]);
	expect(log.said).toEqual(["Truncated a text"]);
	expect(log.lines).toEqual([]);
});

it("off: nothing", () => {
	const log = logOf("off");
	log.log(event);
	log.onCallEnd(end);
	log.announce(event);
	expect([...log.lines, ...log.events, ...log.said]).toEqual([]);
});

it("in words: without sizes, which are not measured then", () => {
	const log = logOf("text");
	const refuse = (): never => {
		throw new Error("Expected no size to be asked for.");
	};
	log.onCallEnd(end);
	const unmeasured = Object.defineProperties({ ...end }, { bytesIn: { get: refuse }, bytesOut: { get: refuse } });
	log.onCallEnd(unmeasured);
	expect(log.events[1]).toEqual(log.events[0]);
});
