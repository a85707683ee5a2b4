import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { type ServerResponse, request as sendRequest } from "node:http";
import zlib from "node:zlib";
import { describe, expect, it, vi } from "vitest";
import { PalimpsestError } from "../../../src/errors.ts";
import { cacheTerms } from "../../../src/proxy/billing/terms.ts";
import { openEditing, prepare } from "../../../src/proxy/sending/editing.ts";
import { planNext } from "../../../src/proxy/sending/plan.ts";
import { policyOf } from "../../support/policy-of.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import {
	createGate,
	early,
	memoryArchive,
	play,
	type RunningProxy,
	sendSettled,
	startPlayed,
	statusOf,
} from "../played.ts";
import { maskedIn, outputOf, requestOf, turnsOf } from "../sessions.ts";
import { type ProxyOptions, type Received, type Sent, send, until } from "../upstream.ts";

const secret = outputOf(0, 30);
/** The third and the fifth result are large. */
const turns = turnsOf(12, 3_000).map((turn, index) =>
	index === 2 || index === 4 ? { ...turn, output: outputOf(index, 40_000) } : turn,
);
const request = (count: number) => requestOf("anthropic", turns.slice(0, count));

/** The form in which the results of a body are sent. */
function formsOf(body: string): readonly ("whole" | "cut" | "masked")[] {
	const contents = (JSON.parse(body).messages as { content: { type: string; content?: string }[] }[]).flatMap(
		({ content }) => content.flatMap(({ type, content: text = "" }) => (type === "tool_result" ? [text] : [])),
	);
	return contents.map((text, index) => {
		if (text === turns[index]?.output) return "whole";
		return text.length < 400 ? "masked" : "cut";
	});
}

/** An archive that can be away. */
async function faultyArchive() {
	const real = await memoryArchive();
	let isAway = false;
	const away = () => Promise.reject(new PalimpsestError("archive_unavailable", "The archive is away."));
	const put: typeof real.put = (...given) => (isAway ? away() : real.put(...given));
	return {
		real,
		archive: { ...real, put },
		setAway(value: boolean) {
			isAway = value;
		},
	};
}

describe("while the archive cannot be written", () => {
	it("a cut that went out stays and is written later, later results stay whole, and nothing is masked", async () => {
		const { archive, real, setAway } = await faultyArchive();
		const session = await startPlayed({ policy: early, archive });
		const proxy = await session.start();
		await play(proxy, turns.slice(0, 2));
		setAway(true);
		await play(proxy, turns.slice(0, 6), { from: 3 });
		expect(formsOf(session.lastBody())).toEqual(["whole", "whole", "cut", "whole", "whole", "whole"]);
		expect(session.faults().every((fault) => fault === "archive")).toBe(true);
		// Each request tries it again.
		const { faults, undecided } = await statusOf(proxy);
		expect(faults.archive).toBeGreaterThanOrEqual(4);
		expect(undecided).toEqual({ archive: 3 });
		setAway(false);
		await play(proxy, turns.slice(0, 8), { from: 7 });
		const cut = turns[2]?.output as string;
		expect((await real.get(real.refOf(cut))).text).toBe(cut);
		const bodies = session.bodies().map(formsOf);
		// A result that went out whole is never cut, only masked.
		expect(new Set(bodies.map((forms) => forms[4]))).toEqual(new Set([undefined, "whole", "masked"]));
		await play(proxy, turns, { from: 9 });
		expect(formsOf(session.lastBody()).slice(0, 6)).toEqual(Array(6).fill("masked"));
	});

	it("known states are sent on", async () => {
		const { archive, setAway } = await faultyArchive();
		const session = await startPlayed({ policy: early, archive });
		const proxy = await session.start();
		await play(proxy, turns.slice(0, 7));
		const before = maskedIn(session.lastBody());
		expect(before.length).toBeGreaterThan(2);
		setAway(true);
		await play(proxy, turns.slice(0, 10), { from: 8 });
		expect(maskedIn(session.lastBody()).slice(0, before.length)).toEqual(before);
	});

	it("no decision without an archived original is sent, also by a new proxy", async () => {
		const { archive, setAway, real } = await faultyArchive();
		setAway(true);
		const session = await startPlayed({ policy: early, archive });
		const proxy = await session.start();
		const small = turnsOf(8, 3_000);
		await play(proxy, small);
		expect(session.bodies().flatMap(maskedIn)).toEqual([]);
		setAway(false);
		await sendSettled(proxy, requestOf("anthropic", small));
		await sendSettled(proxy, requestOf("anthropic", small));
		const masked = maskedIn(session.lastBody());
		expect(masked.length).toBeGreaterThan(3);
		for (const text of masked) {
			const ref = / #(\w+)\]/.exec(text)?.[1] ?? "";
			expect(small.map(({ output }) => output)).toContain((await real.get(ref)).text);
		}
	});
});

it("where deciding throws, known states are sent, new results whole, and the log names no text", async () => {
	const real = await memoryArchive();
	let throws = false;
	const refOf: typeof real.refOf = (text) => {
		if (throws) throw new TypeError(secret);
		return real.refOf(text);
	};
	const session = await startPlayed({ policy: early, archive: { ...real, refOf } });
	const proxy = await session.start();
	await play(proxy, turns.slice(0, 4));
	const known = formsOf(session.lastBody());
	throws = true;
	await play(proxy, turns.slice(0, 6), { from: 5 });
	expect(known).toContain("cut");
	expect(known).toContain("masked");
	const whileThrowing = session.bodies().slice(-2).map(formsOf);
	expect(whileThrowing).toEqual([
		[...known, "whole"],
		[...known, "whole", "whole"],
	]);
	expect(session.faults()).toContain("failed");
	expect(JSON.stringify(session.events)).not.toContain(secret.slice(0, 12));
	throws = false;
	await play(proxy, turns.slice(0, 9), { from: 7 });
	expect(formsOf(session.lastBody())[4]).toBe("masked");
	expect(session.bodies().flatMap((body) => formsOf(body).slice(4, 5))).not.toContain("cut");
});

it("a cut goes out with its reference while its original is being written", async () => {
	const gate = createGate();
	const real = await memoryArchive();
	const put: typeof real.put = async (...given) => {
		await gate.isOpen;
		return real.put(...given);
	};
	const session = await startPlayed({ archive: { ...real, put } });
	const proxy = await session.start();
	for (const count of [1, 2, 3, 4]) await send(proxy.url, request(count));
	const whole = turns[2]?.output as string;
	const ref = real.refOf(whole);
	for (const body of session.bodies().slice(2)) expect(body).toContain(ref);
	expect(await real.has(ref)).toBe(false);
	gate.open();
	await proxy.settled();
	expect((await real.get(ref)).text).toBe(whole);
});

it("an archive that does not answer is given up after a while, so that no conversation is held in memory", async () => {
	const real = await memoryArchive();
	const faults: unknown[] = [];
	const how = { policy: early, archive: { ...real, put: () => new Promise<never>(() => {}) }, holdout: 0 };
	const editing = await openEditing({ ...how, now: () => 0, onFault: (...fault) => void faults.push(fault) });
	vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
	try {
		const body = JSON.parse(String(request(3).body));
		const formats = ["anthropic-messages"];
		const terms = cacheTerms(body, "anthropic", early.prices);
		const about = { model: undefined, recall: undefined, decides: true, isEnforced: false };
		const { composed, planAhead } = await prepare({ ...about, body, formats, terms, write: (edits) => edits }, editing);
		expect(composed?.states.map((state) => state?.kind)).toEqual([undefined, undefined, "cut"]);
		let isOver = false;
		const planned = planAhead().then(() => {
			isOver = true;
		});
		while (!isOver) await vi.advanceTimersByTimeAsync(1_000);
		await planned;
	} finally {
		vi.useRealTimers();
	}
	expect(faults[0]).toEqual(["archive", "The archive does not answer."]);
});

describe("while the memory cannot be written", () => {
	it("results stay whole, also once it can be; then new results are cut and old ones masked", async () => {
		const memoryFolder = `${await scratchFolder()}/conversations`;
		await writeFile(memoryFolder, "a file in the place of the folder");
		const session = await startPlayed({ policy: early, memoryFolder });
		const proxy = await session.start();
		await play(proxy, turns.slice(0, 4));
		expect(session.bodies()).toEqual([1, 2, 3, 4].map((count) => request(count).body));
		expect((await statusOf(proxy)).undecided.memory).toBeGreaterThan(0);
		await rm(memoryFolder);
		await play(proxy, turns.slice(0, 6), { from: 5 });
		const forms = session.bodies().map(formsOf);
		expect(forms[4]?.[4]).toBe("cut");
		expect(forms.flatMap((of) => of.slice(2, 3))).not.toContain("cut");
		await play(proxy, turns, { from: 7 });
		expect(formsOf(session.lastBody()).slice(0, 6)).toEqual(Array(6).fill("masked"));
	});

	it("the sent states are kept, and the next request that can be written passes them to other proxies", async () => {
		const memoryFolder = `${await scratchFolder()}/conversations`;
		await writeFile(memoryFolder, "a file in the place of the folder");
		const policy = policyOf({ preset: "balanced", mask: { enabled: false } });
		const session = await startPlayed({ policy, memoryFolder });
		const proxy = await session.start();
		await play(proxy, turns.slice(0, 3));
		await rm(memoryFolder);
		for (const one of [proxy, await session.start()]) await sendSettled(one, request(3));
		expect(session.bodies().slice(-2)).toEqual([request(3).body, request(3).body]);
	});
});

describe("a planner", () => {
	it("that is slow delays no request, and a decision takes effect as soon as it is ready", async () => {
		const gate = createGate();
		const planner: typeof planNext = async (planning) => {
			await gate.isOpen;
			return planNext(planning);
		};
		const session = await startPlayed({ policy: early });
		const before = await session.start();
		await play(before, turns.slice(0, 5));
		const known = maskedIn(session.lastBody());
		const proxy = await session.start({ engine: { planner } });
		for (const count of [6, 7, 8]) await send(proxy.url, request(count));
		for (const body of session.bodies().slice(-3)) expect(maskedIn(body)).toEqual(known);
		gate.open();
		await proxy.settled();
		await send(proxy.url, request(9));
		expect(maskedIn(session.lastBody()).length).toBeGreaterThan(known.length + 2);
	});

	it("that throws costs decisions alone: known states are sent, the log and the status count it without any text", async () => {
		let throws = false;
		const planner: typeof planNext = async (planning) => {
			if (throws) throw new TypeError(secret);
			return planNext(planning);
		};
		const session = await startPlayed({ policy: early, engine: { planner } });
		const proxy = await session.start();
		await play(proxy, turns.slice(0, 5));
		throws = true;
		await play(proxy, turns.slice(0, 8), { from: 6 });
		const known = maskedIn(session.lastBody());
		expect(known.length).toBeGreaterThan(1);
		expect(session.faults()).toEqual(["failed", "failed", "failed"]);
		expect(JSON.stringify(session.events)).not.toContain(secret.slice(0, 12));
		const status = await statusOf(proxy);
		expect([status.faults.failed, status.undecided]).toEqual([3, { failed: 2 }]);
		throws = false;
		await play(proxy, turns.slice(0, 10), { from: 9 });
		expect(maskedIn(session.lastBody()).slice(0, known.length)).toEqual(known);
		expect(maskedIn(session.lastBody()).length).toBeGreaterThan(known.length);
	});

	it("that never ends holds up no request and not the end of the proxy", async () => {
		const session = await startPlayed({ policy: early, engine: { planner: () => new Promise(() => {}) } });
		const proxy = await session.start();
		for (let count = 1; count <= 8; count += 1) expect((await send(proxy.url, request(count))).status).toBe(200);
		expect(formsOf(session.lastBody())).toEqual([
			...["whole", "whole", "cut", "whole", "cut", "whole", "whole", "whole"],
		]);
		await proxy.close();
	});

	it("plans one history of a branch at a time, and then only the last of the waiting ones", async () => {
		const gate = createGate();
		const planned: number[] = [];
		const planner: typeof planNext = async (planning) => {
			planned.push(planning.paired.length);
			await gate.isOpen;
			return planNext(planning);
		};
		const session = await startPlayed({ engine: { planner } });
		const proxy = await session.start();
		await send(proxy.url, request(1));
		await until(() => planned.length === 1);
		for (let count = 2; count <= 6; count += 1) await send(proxy.url, request(count));
		await until(() => session.bodies().length === 6);
		gate.open();
		await proxy.settled();
		expect([planned[0], planned.at(-1)]).toEqual([1, 6]);
		expect(planned.length).toBeLessThanOrEqual(3);
	});
});

it("a body with more members and items than a conversation goes out unparsed", async () => {
	const items = (count: number) => `[${Array.from({ length: count }, (_, index) => `"\\",${index}"`).join(",")}]`;
	const withMore = (count: number) => {
		const { body, ...rest } = request(3);
		return { ...rest, body: `{"more":${items(count)},${String(body).trim().slice(1)}` };
	};
	const session = await startPlayed();
	const proxy = await session.start();
	const [few, many] = [withMore(90_000), withMore(110_000)];
	for (const sent of [few, many]) expect((await sendSettled(proxy, sent)).status).toBe(200);
	expect(session.bodies()[0]).not.toBe(few.body);
	expect(session.bodies()[1]).toBe(many.body);
	expect(session.events.map(({ data, message }) => [data.fault, message])).toEqual([
		["encoding", "No new decisions for a request: it has more members and items than a conversation"],
	]);
});

/** A proxy that sends the third result of the session cut. */
async function startEditing(
	answer?: (received: Received, response: ServerResponse) => void,
	options: Partial<ProxyOptions> = {},
) {
	const session = await startPlayed(options, answer);
	return { ...session, proxy: await session.start() };
}

const edited = request(3);

describe("an answer of the upstream", () => {
	it.each([429, 529, 500])("%i is passed on once, and the next request is edited as before", async (status) => {
		const { proxy, bodies } = await startEditing((_, response) => {
			response.writeHead(status, { "Retry-After": "7" }).end("busy");
		});
		const got = await sendSettled(proxy, edited);
		expect([got.status, got.headers["retry-after"], got.body.toString()]).toEqual([status, "7", "busy"]);
		await sendSettled(proxy, edited);
		const [first, second, ...more] = bodies();
		expect(more).toEqual([]);
		expect(first).not.toBe(edited.body);
		expect(second).toBe(first);
	});

	it("that breaks off after an edit breaks off at the client, and the next request is served", async () => {
		let isBroken = true;
		const { proxy } = await startEditing((_, response) => {
			response.write("data: 1\n\n");
			if (isBroken) setTimeout(() => response.destroy(), 10);
			else response.end();
		});
		await expect(send(proxy.url, edited)).rejects.toThrow("aborted");
		isBroken = false;
		expect((await send(proxy.url, edited)).body.toString()).toBe("data: 1\n\n");
	});

	it("to a client that is gone is cancelled, and the next request is served with the same cut", async () => {
		let isSlow = true;
		const { proxy, upstream, bodies } = await startEditing((_, response) => {
			if (isSlow) response.write("data: 1\n\n");
			else response.end("done");
		});
		const asked = sendRequest(`${proxy.url}${edited.path}`, { method: "POST" });
		asked.on("error", () => {});
		asked.end(edited.body);
		await once(asked, "response");
		asked.destroy();
		await until(() => upstream.left.length === 1);
		isSlow = false;
		expect((await send(proxy.url, edited)).body.toString()).toBe("done");
		expect(bodies()[1]).toBe(bodies()[0]);
	});
});

describe("a compressed request", () => {
	const compressions: Readonly<Record<string, (text: string) => Buffer>> = {
		gzip: zlib.gzipSync,
		br: zlib.brotliCompressSync,
		deflate: zlib.deflateSync,
		"deflate ": zlib.deflateRawSync,
		"gzip, br": (text) => zlib.brotliCompressSync(zlib.gzipSync(text)),
	};
	const compressed = (encoding: string, body: Buffer, of: Sent = edited): Sent => {
		return { ...of, headers: { ...of.headers, "Content-Encoding": encoding }, body };
	};

	it.each(Object.keys(compressions))("is decoded and edited: %s", async (encoding) => {
		const { proxy, upstream } = await startEditing();
		await sendSettled(proxy, edited);
		await sendSettled(proxy, compressed(encoding, compressions[encoding]?.(String(edited.body)) as Buffer));
		const [plain, decoded] = upstream.received;
		expect(decoded?.headers).not.toHaveProperty("content-encoding");
		expect(decoded?.body.toString()).toBe(plain?.body.toString());
		expect(plain?.body.toString()).not.toBe(edited.body);
	});

	it("that is not edited keeps its encoding and its bytes", async () => {
		const { proxy, upstream } = await startEditing();
		const short = request(2);
		const body = zlib.gzipSync(String(short.body));
		await send(proxy.url, compressed("gzip", body, short));
		expect(upstream.received[0]?.headers["content-encoding"]).toBe("gzip");
		expect(upstream.received[0]?.body).toEqual(body);
	});

	it.each([
		["an unknown encoding", "compress", Buffer.from("anything")],
		["a broken body", "gzip", Buffer.from("no gzip")],
		["broken zstd, or zstd where Node has none", "zstd", Buffer.from("no zstd")],
	])("of %s passes by its bytes", async (_, encoding, body) => {
		const { proxy, upstream, faults } = await startEditing();
		const got = await send(proxy.url, compressed(encoding, body));
		expect(got.status).toBe(200);
		expect(upstream.received[0]?.body).toEqual(body);
		expect(upstream.received[0]?.headers["content-encoding"]).toBe(encoding);
		expect(faults()).toEqual(["encoding"]);
	});
});

describe("a body that is not a plain conversation passes by its bytes:", () => {
	it.each([
		["bytes that are not UTF-8", Buffer.from([0x7b, 0xff, 0x7d])],
		["no JSON", Buffer.from("messages")],
		["two values", Buffer.from('{"messages":[]}\n{"messages":[]}')],
		["a list of other things", Buffer.from('{"messages":[1, 2, null]}')],
		["messages of another API", Buffer.from('{"messages":[{"role":"user","parts":[{"text":"a"}]}]}')],
		["nothing", Buffer.alloc(0)],
	])("%s", async (_, body) => {
		const { proxy, upstream } = await startEditing();
		const got = await send(proxy.url, { ...edited, body });
		expect(got.status).toBe(200);
		expect(upstream.received[0]?.body).toEqual(body);
	});

	it("one with a digest in the headers", async () => {
		const { proxy, bodies } = await startEditing();
		await send(proxy.url, { ...edited, headers: { ...edited.headers, "Content-Digest": "sha-256=:abc=:" } });
		expect(bodies()).toEqual([edited.body]);
	});
});

describe("a thread", () => {
	const thread = (type: string) => {
		const body = { ...JSON.parse(String(edited.body)), thread: { type, previous_message_id: "msg_1" } };
		return { ...edited, body: JSON.stringify(body, null, 2) };
	};

	it("carries only what is new: it passes by its bytes and is counted", async () => {
		const { proxy, bodies } = await startEditing();
		await sendSettled(proxy, thread("continue"));
		expect(bodies()).toEqual([thread("continue").body]);
		expect((await statusOf(proxy)).requests).toMatchObject({ requests: 1, threads: 1, edited: 0 });
	});

	it.each(["create", "continue"])(
		"is refused by the documented answer where the host may send one: %s",
		async (type) => {
			const { proxy, bodies } = await startEditing(undefined, { refusesThreads: true });
			const got = await sendSettled(proxy, thread(type));
			const answer = JSON.parse(got.body.toString());
			expect([got.status, answer.type, answer.error.type]).toEqual([400, "error", "invalid_request_error"]);
			expect(answer.details.error_code).toBe("thread_unsupported_request");
			expect(bodies()).toEqual([]);
			await sendSettled(proxy, edited);
			expect(bodies()).toHaveLength(1);
		},
	);
});

describe("a refused request", () => {
	const refusing = (isRefused: (body: string) => boolean) => (received: Received, response: ServerResponse) => {
		const isBad = isRefused(received.body.toString());
		response.statusCode = isBad ? 400 : 200;
		response.end(isBad ? '{"error":"not like this"}' : "{}");
	};

	/** A session whose upstream takes no masks past a number of them, and what is masked before it refuses one. */
	async function startRefused() {
		const long = turnsOf(40, 2_000);
		let most = Number.POSITIVE_INFINITY;
		const session = await startPlayed(
			{ policy: early },
			refusing((body) => maskedIn(body).length > most),
		);
		const proxy: RunningProxy = await session.start();
		await play(proxy, long.slice(0, 7));
		const known = maskedIn(session.lastBody());
		most = known.length;
		const got = await sendSettled(proxy, requestOf("anthropic", long.slice(0, 8)));
		expect([got.status, got.body.toString()]).toEqual([200, "{}"]);
		const [refused, accepted] = session.bodies().slice(-2);
		expect(maskedIn(refused).length).toBe(known.length + 1);
		expect(maskedIn(accepted)).toEqual(known);
		expect((await statusOf(proxy)).requests.sent_again).toBe(1);
		const ask = async (count: number, by = proxy) => {
			await sendSettled(by, requestOf("anthropic", long.slice(0, count)));
			return maskedIn(session.lastBody());
		};
		const take = (masks: number) => {
			most = masks;
		};
		return { session, proxy, known, ask, take };
	}

	it("with new decisions is sent again without them, and the same decisions are tried after the next success", async () => {
		const { proxy, known, ask, take } = await startRefused();
		take(Number.POSITIVE_INFINITY);
		expect(await ask(9)).toEqual(known);
		const masked = await ask(10);
		expect(masked.length).toBeGreaterThan(known.length);
		expect(masked.slice(0, known.length)).toEqual(known);
		expect(proxy.totals()).toMatchObject({ undecided: { frozen: 1 }, frozen: 1 });
	});

	it("twice for its decisions has none in the next 20 requests, also in the next proxy, and has some later", async () => {
		const { session, known, ask, take, ...started } = await startRefused();
		let { proxy } = started;
		for (const count of [9, 10]) expect(await ask(count)).toEqual(known);
		expect((await statusOf(proxy)).requests.sent_again).toBe(2);
		take(Number.POSITIVE_INFINITY);
		for (let count = 11; count <= 30; count += 1) {
			if (count === 20) {
				await proxy.close();
				proxy = await session.start();
			}
			expect(await ask(count, proxy)).toEqual(known);
		}
		expect(proxy.totals()).toMatchObject({ undecided: { frozen: 11 }, frozen: 1 });
		expect((await statusOf(proxy)).frozen_conversations).toBe(1);
		const masked = await ask(31, proxy);
		expect(masked.length).toBeGreaterThan(20);
		expect(masked.slice(0, known.length)).toEqual(known);
	});

	it("for its decisions is not held against it once later ones are accepted", async () => {
		const { known, ask, take } = await startRefused();
		take(Number.POSITIVE_INFINITY);
		for (const count of [9, 10, 11]) await ask(count);
		const before = (await ask(12)).length;
		take(before);
		expect((await ask(13)).length).toBe(before);
		take(Number.POSITIVE_INFINITY);
		await ask(14);
		expect((await ask(15)).length).toBeGreaterThan(before);
		expect(before).toBeGreaterThan(known.length);
	});

	it.each([429, 529, 500])("with %i goes out by the same bytes when the program asks again", async (status) => {
		let isBusy = false;
		const session = await startPlayed({ policy: early }, (_, response) => {
			response.statusCode = isBusy ? status : 200;
			response.end("{}");
		});
		const proxy = await session.start();
		await play(proxy, turns.slice(0, 3));
		for (const count of [4, 5, 6]) {
			isBusy = true;
			for (let time = 0; time < 3; time += 1) expect((await sendSettled(proxy, request(count))).status).toBe(status);
			isBusy = false;
			expect((await sendSettled(proxy, request(count))).status).toBe(200);
			expect(new Set(session.bodies().slice(-4)).size).toBe(1);
		}
		expect(formsOf(session.lastBody())).toContain("masked");
	});

	it("with a new cut is sent again whole, and the result stays whole", async () => {
		let refuses = true;
		const session = await startPlayed(
			{},
			refusing((body) => refuses && body !== edited.body),
		);
		const proxy = await session.start();
		await play(proxy, turns.slice(0, 2));
		refuses = true;
		expect((await sendSettled(proxy, edited)).status).toBe(200);
		expect(session.lastBody()).toBe(edited.body);
		refuses = false;
		for (const one of [proxy, await session.start()]) {
			await sendSettled(one, request(4));
			expect(session.lastBody()).toBe(request(4).body);
		}
	});

	it("is answered with the first refusal if its other forms are refused too, and edits go on", async () => {
		let refuses = false;
		const session = await startPlayed(
			{ policy: early },
			refusing(() => refuses),
		);
		const proxy = await session.start();
		await play(proxy, turns.slice(0, 7));
		const known = maskedIn(session.lastBody());
		refuses = true;
		const got = await sendSettled(proxy, request(8));
		expect([got.status, got.body.toString()]).toEqual([400, '{"error":"not like this"}']);
		refuses = false;
		await sendSettled(proxy, request(9));
		expect(maskedIn(session.lastBody()).length).toBeGreaterThan(known.length);
		expect(proxy.totals().undecided).toEqual({});
	});

	it("that was not edited is passed on, and sent once", async () => {
		const session = await startPlayed(
			{},
			refusing(() => true),
		);
		const got = await sendSettled(await session.start(), request(2));
		expect([got.status, session.bodies().length]).toEqual([400, 1]);
	});
});
