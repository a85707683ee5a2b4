import { once } from "node:events";
import { type ServerResponse, request as sendRequest } from "node:http";
import zlib from "node:zlib";
import { describe, expect, it } from "vitest";
import type { Archive } from "../../src/archive/archive.ts";
import { openArchive } from "../../src/archive/open.ts";
import { PalimpsestError } from "../../src/errors.ts";
import type { LogEvent } from "../../src/operations/edit-record.ts";
import { editRequest } from "../../src/proxy/edit.ts";
import type { ProxyOptions } from "../../src/proxy/server.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { requestOf, turnsOf } from "./sessions.ts";
import { type Received, type Sent, send, startProxyTo, startUpstream, until } from "./upstream.ts";

const turns = turnsOf(20, 6_000);
const edited = requestOf("anthropic", turns);
const secret = turns[0]?.output.slice(0, 30) as string;

async function startFaulty(
	options: Partial<ProxyOptions> = {},
	answer?: (received: Received, response: ServerResponse) => void,
) {
	const upstream = await startUpstream(answer);
	const events: LogEvent[] = [];
	const archive = await openArchive({ where: "memory" });
	const proxy = await startProxyTo(upstream.url, { archive, log: (event) => events.push(event), ...options });
	const bodies = () => upstream.received.map(({ body }) => body.toString());
	return { ...proxy, upstream, events, bodies };
}

describe("a request goes out as it came, and the session goes on,", () => {
	const isAway = () => Promise.reject(new PalimpsestError("archive_unavailable", "The archive is away."));

	it.each<[string, (archive: Archive) => Partial<ProxyOptions>, string]>([
		[
			"when the engine throws",
			() => ({ engine: { engine: () => Promise.reject(new TypeError(secret)), worked: Date.now } }),
			"failed",
		],
		["when the archive is away", (archive) => ({ archive: { ...archive, put: isAway } }), "archive"],
		[
			"when the archive does not answer",
			(archive) => ({ archive: { ...archive, put: () => new Promise(() => {}) } }),
			"archive",
		],
		["when the memory cannot be written", () => ({ memoryFolder: "/dev/null/conversations" }), "archive"],
	])("%s", async (_, fault, kind) => {
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const proxy = await startFaulty(fault(archive));
		for (let time = 0; time < 2; time += 1) {
			const got = await send(proxy.url, edited);
			expect([got.status, got.body.toString()]).toEqual([200, "{}"]);
		}
		expect(proxy.bodies()).toEqual([edited.body, edited.body]);
		expect(proxy.events.map(({ data }) => data.fault)).toEqual([kind, kind]);
		expect(JSON.stringify(proxy.events)).not.toContain(secret);
	});

	it("unparsed when it has more members and items than a conversation", async () => {
		const items = (count: number) => `[${Array.from({ length: count }, (_, index) => `"\\",${index}"`).join(",")}]`;
		const withMore = (count: number) => {
			const body = `{"more":${items(count)},${String(edited.body).trim().slice(1)}`;
			return { ...edited, body };
		};
		const proxy = await startFaulty();
		const [few, many] = [withMore(90_000), withMore(110_000)];
		for (const sent of [few, many]) expect((await send(proxy.url, sent)).status).toBe(200);
		expect(proxy.bodies()[0]).not.toBe(few.body);
		expect(proxy.bodies()[1]).toBe(many.body);
		expect(proxy.events.map(({ data, message }) => [data.fault, message])).toEqual([
			["too_slow", "A request went out as it came: it has more members and items than a conversation."],
		]);
	});

	it("when an edit takes too long; the second time its conversation is left alone", async () => {
		let work = 0;
		const worked = () => {
			work += 1_000;
			return work;
		};
		const proxy = await startFaulty({ engine: { engine: editRequest, worked } });
		for (let time = 0; time < 3; time += 1) await send(proxy.url, edited);
		expect(proxy.bodies()).toEqual([edited.body, edited.body, edited.body]);
		expect(proxy.events.map(({ data }) => data.event)).toEqual(["proxy_fault", "left_alone", "proxy_fault"]);
	});
});

describe("a 400 for an edited request", () => {
	const refusing = (isRefused: (body: string) => boolean) => (received: Received, response: ServerResponse) => {
		response.statusCode = isRefused(received.body.toString()) ? 400 : 200;
		response.end(String(response.statusCode));
	};

	it("is sent again as it came, and from then on the conversation is left alone, also by the next proxy", async () => {
		const memoryFolder = await scratchFolder();
		const proxy = await startFaulty(
			{ memoryFolder },
			refusing((body) => body !== edited.body && body.includes("masked")),
		);
		const got = await send(proxy.url, edited);
		expect(got.body.toString()).toBe("200");
		expect(proxy.bodies()).toHaveLength(2);
		expect(proxy.bodies()[0]).not.toBe(edited.body);
		expect(proxy.bodies()[1]).toBe(edited.body);
		const next = await startProxyTo(proxy.upstream.url, { memoryFolder });
		for (const one of [proxy, next]) await send(one.url, edited);
		expect(proxy.bodies().slice(2)).toEqual([edited.body, edited.body]);
		const other = requestOf(
			"anthropic",
			turns.map((turn) => ({ ...turn, id: turn.id.replace("Session", "Another") })),
		);
		await send(proxy.url, other);
		expect(proxy.bodies()[4]).not.toBe(other.body);
	});

	it("that is refused again is answered with the second answer, and edits go on", async () => {
		const proxy = await startFaulty(
			{},
			refusing(() => true),
		);
		const got = await send(proxy.url, edited);
		expect([got.status, got.body.toString()]).toEqual([400, "400"]);
		await send(proxy.url, edited);
		expect(proxy.bodies()).toHaveLength(4);
		expect(proxy.bodies()[2]).toBe(proxy.bodies()[0]);
	});

	it("does not count for one that was not edited", async () => {
		const proxy = await startFaulty(
			{},
			refusing(() => true),
		);
		const got = await send(proxy.url, requestOf("anthropic", turns.slice(0, 2)));
		expect(got.status).toBe(400);
		expect(proxy.bodies()).toHaveLength(1);
	});
});

describe("an answer of the upstream", () => {
	it.each([429, 529, 500])("%i is passed on once, and the next request is edited as before", async (status) => {
		const proxy = await startFaulty({}, (_, response) => {
			response.writeHead(status, { "Retry-After": "7" }).end("busy");
		});
		const got = await send(proxy.url, edited);
		expect([got.status, got.headers["retry-after"], got.body.toString()]).toEqual([status, "7", "busy"]);
		await send(proxy.url, edited);
		const [first, second, ...more] = proxy.bodies();
		expect(more).toEqual([]);
		expect(first).not.toBe(edited.body);
		expect(second).toBe(first);
	});

	it("that breaks off after an edit breaks off at the client, and the next request is served", async () => {
		let isBroken = true;
		const proxy = await startFaulty({}, (_, response) => {
			response.write("data: 1\n\n");
			if (isBroken) setTimeout(() => response.destroy(), 10);
			else response.end();
		});
		await expect(send(proxy.url, edited)).rejects.toThrow("aborted");
		isBroken = false;
		expect((await send(proxy.url, edited)).body.toString()).toBe("data: 1\n\n");
	});

	it("to a client that is gone is cancelled, and the next request is served", async () => {
		let isSlow = true;
		const proxy = await startFaulty({}, (_, response) => {
			if (isSlow) response.write("data: 1\n\n");
			else response.end("done");
		});
		const request = sendRequest(`${proxy.url}${edited.path}`, { method: "POST" });
		request.on("error", () => {});
		request.end(edited.body);
		await once(request, "response");
		request.destroy();
		await until(() => proxy.upstream.left.length === 1);
		isSlow = false;
		expect((await send(proxy.url, edited)).body.toString()).toBe("done");
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
		const proxy = await startFaulty();
		await send(proxy.url, edited);
		await send(proxy.url, compressed(encoding, compressions[encoding]?.(String(edited.body)) as Buffer));
		const [plain, decoded] = proxy.upstream.received;
		expect(decoded?.headers).not.toHaveProperty("content-encoding");
		expect(decoded?.body.toString()).toBe(plain?.body.toString());
		expect(plain?.body.toString()).not.toBe(edited.body);
	});

	it("that is not edited keeps its encoding and its bytes", async () => {
		const proxy = await startFaulty();
		const short = requestOf("anthropic", turns.slice(0, 2));
		const body = zlib.gzipSync(String(short.body));
		await send(proxy.url, compressed("gzip", body, short));
		expect(proxy.upstream.received[0]?.headers["content-encoding"]).toBe("gzip");
		expect(proxy.upstream.received[0]?.body).toEqual(body);
	});

	it.each([
		["an unknown encoding", "compress", Buffer.from("anything")],
		["a broken body", "gzip", Buffer.from("no gzip")],
		["a body that expands without end", "gzip", zlib.gzipSync(Buffer.alloc(80_000_000, "a"))],
		["zstd where Node has none", "zstd", Buffer.from([0x28, 0xb5, 0x2f, 0xfd])],
	])("of %s passes as it came", async (_, encoding, body) => {
		const proxy = await startFaulty();
		const got = await send(proxy.url, compressed(encoding, body));
		expect(got.status).toBe(200);
		expect(proxy.upstream.received[0]?.body).toEqual(body);
		expect(proxy.upstream.received[0]?.headers["content-encoding"]).toBe(encoding);
		expect(proxy.events.map(({ data }) => data.fault)).toEqual(["encoding"]);
	});
});

describe("a body that is not a plain conversation passes as it came:", () => {
	it.each([
		["bytes that are not UTF-8", Buffer.from([0x7b, 0xff, 0x7d])],
		["no JSON", Buffer.from("messages")],
		["two values", Buffer.from('{"messages":[]}\n{"messages":[]}')],
		["a list of other things", Buffer.from('{"messages":[1, 2, null]}')],
		["messages of another API", Buffer.from('{"messages":[{"role":"user","parts":[{"text":"a"}]}]}')],
		["nothing", Buffer.alloc(0)],
	])("%s", async (_, body) => {
		const proxy = await startFaulty();
		const got = await send(proxy.url, { ...edited, body });
		expect(got.status).toBe(200);
		expect(proxy.upstream.received[0]?.body).toEqual(body);
	});

	it("one whose digest stands in the headers", async () => {
		const proxy = await startFaulty();
		await send(proxy.url, { ...edited, headers: { ...edited.headers, "Content-Digest": "sha-256=:abc=:" } });
		expect(proxy.bodies()).toEqual([edited.body]);
	});
});
