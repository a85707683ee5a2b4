import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { describe, expect, it, vi } from "vitest";
import type { LogEvent } from "../../src/log.ts";
import { cacheTerms } from "../../src/proxy/billing/terms.ts";
import type { Asked, Upstream } from "../../src/proxy/forward.ts";
import { type AnsweredRequest, createKeepWarm } from "../../src/proxy/keep-warm.ts";
import { createLedger } from "../../src/proxy/ledger.ts";
import { createHandClock } from "../support/hand-clock.ts";
import { policyOf } from "../support/policy-of.ts";

const minute = 60_000;
const { prices } = policyOf();

/** Spelled with spaces and a number that JavaScript writes otherwise, so that any other rewriting shows. */
const bodyWith = ({ ttl, more = "" }: { readonly ttl?: string; readonly more?: string } = {}) =>
	`{ "model": "claude-opus-5-5", "max_tokens": 32000,${more} "stream": true, "temperature": 1.0,
 "messages": [{"role":"user","content":[{"type":"text","text":"\\u00e9 max_tokens", "cache_control": {"type": "ephemeral"${ttl ? `, "ttl": "${ttl}"` : ""}}}]}] }`;

const usage = { input: 10, cacheRead: 29_000, cacheWrite: 1_000, output: 20 };

type Answer = { readonly status?: number; readonly body?: string } | "away" | "never";

const read = {
	body: JSON.stringify({ usage: { input_tokens: 10, cache_read_input_tokens: 30_000, output_tokens: 1 } }),
};

/** An upstream, a clock and a ledger; `rest` lets a conversation rest after an answered request. */
function start(answers: readonly Answer[] = []) {
	const clock = createHandClock();
	const ledger = createLedger(clock);
	const pings: Asked[] = [];
	const events: LogEvent[] = [];
	const renewed: string[] = [];
	const upstream: Upstream = {
		origin: "https://api.example",
		close: () => {},
		ask: (asked) =>
			new Promise((resolve, reject) => {
				const answer: Answer = answers[pings.length] ?? read;
				pings.push(asked);
				asked.signal.addEventListener("abort", () => reject(new Error("aborted")));
				if (answer === "away") reject(new Error("ECONNREFUSED"));
				if (typeof answer === "string") return;
				const { status = 200, body = "{}" } = answer;
				const stream = Readable.from([Buffer.from(body)]);
				const headers = { "content-type": "application/json" };
				resolve(Object.assign(stream, { statusCode: status, headers }) as unknown as IncomingMessage);
			}),
	};
	const keepWarm = createKeepWarm({
		ledger,
		renewed: (conversation) => void renewed.push(conversation),
		log: (event) => void events.push(event),
		now: clock.now,
		later: clock.later,
	});
	const answered = (more: Partial<AnsweredRequest> & { readonly text?: string } = {}): AnsweredRequest => {
		const { text = bodyWith(), ...rest } = more;
		const bytes = Buffer.from(text);
		return {
			asked: {
				method: "POST",
				path: "/v1/messages?beta=true",
				rawHeaders: ["X-Api-Key", "sk-secret", "Anthropic-Beta", "a,b"],
				body: { bytes, decoded: true },
				signal: new AbortController().signal,
			},
			encoding: undefined,
			upstream,
			at: clock.now(),
			terms: cacheTerms(JSON.parse(text), "anthropic", prices),
			usage,
			callsTools: false,
			session: "s",
			isThere: () => true,
			...rest,
		};
	};
	return {
		keepWarm,
		clock,
		pings,
		events,
		renewed,
		answered,
		rest: (more: Parameters<typeof answered>[0] = {}, conversation = "c") =>
			keepWarm.begin(conversation)(answered(more)),
		pass: (minutes: number) => clock.pass(minutes * minute),
		kept: () => ledger.totals().keptWarm,
	};
}

const textOf = (asked: Asked | undefined) => (asked && "bytes" in asked.body ? asked.body.bytes.toString() : "");

describe("a clock that is set by a day", () => {
	const day = 24 * 60 * minute;
	it.each([day, -day])("costs the ping of a pause under way, and none of a later one: %d ms", async (ms) => {
		const { rest, pass, pings, clock, answered, keepWarm } = start();
		rest();
		await pass(2);
		clock.jump(ms);
		await pass(2 * 24 * 60);
		const asked = answered();
		clock.jump(ms);
		keepWarm.begin("d")(asked);
		await pass(2 * 24 * 60);
		expect([pings.length, clock.waiting()]).toEqual([0, 0]);
		rest();
		await pass(4.51);
		expect(pings).toHaveLength(1);
	});
});

describe("a ping", () => {
	it("is the last request to the byte, for one token and without a stream, shortly before the cache expires", async () => {
		const { rest, pass, pings, renewed, kept } = start();
		rest();
		await pass(4.49);
		expect(pings).toHaveLength(0);
		await pass(0.02);
		expect(pings).toHaveLength(1);
		const [ping] = pings;
		expect(textOf(ping)).toBe(
			bodyWith().replace('"max_tokens": 32000', '"max_tokens": 1').replace('"stream": true', '"stream": false'),
		);
		expect(ping).toMatchObject({ method: "POST", path: "/v1/messages?beta=true", body: { decoded: true } });
		expect(ping?.rawHeaders).toEqual(["X-Api-Key", "sk-secret", "Anthropic-Beta", "a,b"]);
		expect(renewed).toEqual(["c"]);
		// At the read price of the model, 0.05, and the uncached tokens at 1.
		expect(kept()).toMatchObject({ pings: 1, failed: 0, billed: 30_000 * 0.05 + 10 });
	});

	it("comes twice in a pause, and never again until the next request", async () => {
		const { rest, pass, pings, clock } = start();
		rest();
		await pass(120);
		expect(pings).toHaveLength(2);
		expect(clock.waiting()).toBe(0);
		rest();
		await pass(120);
		expect(pings).toHaveLength(4);
	});

	it("waits for 54 minutes where the request asks for a cache of an hour", async () => {
		const { rest, pass, pings } = start();
		rest({ text: bodyWith({ ttl: "1h" }) });
		await pass(53.9);
		expect(pings).toHaveLength(0);
		await pass(0.2);
		expect(pings).toHaveLength(1);
		await pass(53.8);
		expect(pings).toHaveLength(1);
		await pass(0.2);
		expect(pings).toHaveLength(2);
	});

	it("adds no stream to a request without one, and takes the encoding off a body", async () => {
		const { rest, pass, pings, answered } = start();
		const text = bodyWith().replace(' "stream": true,', "");
		const { asked } = answered();
		rest({ text, asked: { ...asked, body: { bytes: gzipSync(text), decoded: false } }, encoding: "gzip" });
		await pass(5);
		expect(textOf(pings[0])).toBe(text.replace('"max_tokens": 32000', '"max_tokens": 1'));
	});

	it("is not sent while a request of the conversation runs, and is given up when one comes", async () => {
		const { keepWarm, rest, pass, pings, answered, kept, clock } = start(["never"]);
		rest();
		const end = keepWarm.begin("c");
		await pass(10);
		expect(pings).toHaveLength(0);
		// Two at once: the last of them to end starts the pause.
		const other = keepWarm.begin("c");
		end(answered());
		expect(clock.waiting()).toBe(0);
		other(answered());
		const passed = pass(4.6);
		await vi.waitFor(() => expect(pings).toHaveLength(1));
		expect(pings[0]?.signal.aborted).toBe(false);
		keepWarm.begin("c");
		expect(pings[0]?.signal.aborted).toBe(true);
		await passed;
		expect(kept()).toMatchObject({ pings: 0, failed: 1, billed: 0 });
		await pass(60);
		expect(pings).toHaveLength(1);
	});

	it("leaves the pause of a request alone that came and was answered while it was prepared", async () => {
		const { rest, pass, pings, answered } = start();
		const { asked } = answered();
		rest({ asked: { ...asked, body: { bytes: gzipSync(bodyWith()), decoded: false } }, encoding: "gzip" });
		const passed = pass(4.5);
		rest();
		await passed;
		expect(pings).toHaveLength(0);
		await pass(4.5);
		expect(pings).toHaveLength(1);
	});

	it("comes at once after an answer that took most of the lifetime, and not after one that took all of it", async () => {
		const late = start();
		late.clock.sleep(4.8 * minute);
		late.rest({ at: late.clock.now() - 4.8 * minute });
		await late.pass(0);
		expect(late.pings).toHaveLength(1);
		const tooLate = start();
		tooLate.clock.sleep(5 * minute);
		tooLate.rest({ at: tooLate.clock.now() - 5 * minute });
		await tooLate.pass(10);
		expect(tooLate.pings).toHaveLength(0);
	});

	it("is not sent after the machine has slept through the lifetime", async () => {
		const { rest, pass, pings, clock } = start();
		rest();
		clock.sleep(20 * minute);
		await pass(1);
		expect(pings).toHaveLength(0);
	});

	it("is the last where it reads less than half of the request", async () => {
		const written = { usage: { input_tokens: 10, cache_creation_input_tokens: 30_000, output_tokens: 1 } };
		const { rest, pass, pings, kept, renewed } = start([{ body: JSON.stringify(written) }]);
		rest();
		await pass(60);
		expect(pings).toHaveLength(1);
		expect(kept()).toMatchObject({ pings: 1, failed: 0, billed: 30_000 * 1.25 + 10 });
		expect(renewed).toEqual(["c"]);
	});

	it.each<[string, Answer, string]>([
		["is refused", { status: 400, body: '{"error":{"message":"sk-secret"}}' }, "status 400"],
		["is answered without usage", { body: "oops" }, "no usage"],
		["finds nobody", "away", "no whole answer"],
	])("that %s is the last of its pause, and the log holds no body", async (_, answer, reason) => {
		const { rest, pass, pings, kept, events, renewed } = start([answer]);
		rest();
		await pass(60);
		expect(pings).toHaveLength(1);
		expect(renewed).toEqual([]);
		expect(kept()).toMatchObject({ pings: 0, failed: 1, billed: 0 });
		expect(events).toEqual([
			{
				level: "info",
				message: `A ping to keep the cache warm failed (${reason}); no other follows in this pause.`,
				data: { event: "ping_failed" },
			},
		]);
		rest();
		await pass(5);
		expect(pings).toHaveLength(2);
	});
});

describe("no ping is sent", () => {
	const thinking = (type: string) => bodyWith({ more: ` "thinking": {"type": "${type}", "budget_tokens": 2000},` });
	const openai = { ...cacheTerms({ model: "gpt-5" }, "openai", prices) };

	it.each<[string, Parameters<ReturnType<typeof start>["rest"]>[0]]>([
		["for a prefix of up to 20 000 tokens", { usage: { ...usage, cacheRead: 19_000 } }],
		["without the usage of the answer", { usage: undefined }],
		["where no cache was asked for", { text: bodyWith().replaceAll("cache_control", "citations") }],
		["where the provider caches by itself", { terms: openai }],
		["where the budget of thinking is above one token", { text: thinking("enabled") }],
		["where the program has left", { isThere: () => false }],
		["for a request for a summary", { text: bodyWith({ more: ' "compaction": {"type": "summarize"},' }) }],
		["after the provider has compacted", { usage: { ...usage, passes: [usage, usage] } }],
		["for a request without a limit", { text: bodyWith().replace('"max_tokens": 32000,', "") }],
	])("%s", async (_, more) => {
		const { rest, pass, pings } = start();
		rest(more);
		await pass(60);
		expect(pings).toHaveLength(0);
	});

	it("after a request without an answer, and after the proxy is closed", async () => {
		const { keepWarm, rest, pass, pings, answered, clock } = start();
		rest();
		keepWarm.begin("c")(undefined);
		await pass(60);
		rest();
		const end = keepWarm.begin("d");
		keepWarm.close();
		end(answered());
		expect(clock.waiting()).toBe(0);
		await pass(60);
		expect(pings).toHaveLength(0);
	});

	it("for a subagent that has answered its caller, while a caller that waits for its tools gets them", async () => {
		const subagent = start();
		subagent.rest({}, "subagent");
		subagent.rest({}, "caller");
		subagent.rest({ session: "another" }, "other");
		await subagent.pass(5);
		expect(subagent.renewed.sort()).toEqual(["caller", "other"]);
		const caller = start();
		caller.rest({ callsTools: true }, "caller");
		caller.rest({}, "subagent");
		await caller.pass(5);
		expect(caller.renewed.sort()).toEqual(["caller", "subagent"]);
	});

	it("for the oldest of many conversations, since its request is no longer held", async () => {
		const { rest, pass, renewed, clock } = start();
		for (let count = 0; count < 30; count += 1) rest({ session: `s${count}` }, `c${count}`);
		expect(clock.waiting()).toBe(20);
		await pass(5);
		expect(renewed).toEqual(Array.from({ length: 20 }, (_, count) => `c${count + 10}`));
	});
});

it("sends thinking of the type adaptive again", async () => {
	const { rest, pass, pings } = start();
	rest({ text: bodyWith({ more: ' "thinking": {"type": "adaptive"},' }) });
	await pass(5);
	expect(pings).toHaveLength(1);
});
