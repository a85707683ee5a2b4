import { getEventListeners } from "node:events";
import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { PalimpsestError, SummariserError } from "../../../src/errors.ts";
import { createOpenAiCompatible } from "../../../src/operations/summariser/endpoint.ts";
import { systemClock } from "../../../src/operations/summariser/summariser.ts";
import { version } from "../../../src/version.ts";
import { patience } from "../../support/patience.ts";
import { type Asked, ask, key, summariserError } from "./asking.ts";
import { type Behaviour, complete, hang, refuse, startChatServer } from "./chat-server.ts";
import { fakeClock } from "./fake-clock.ts";

const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 400\r\n\r\n";
const resetInBody: Behaviour = (response) => {
	response.socket?.write(`${head}{"choices": [`, () => response.socket?.resetAndDestroy());
};
const endInBody: Behaviour = (response) => {
	response.socket?.end(`${head}{"choices": [`);
};
const resetAtOnce: Behaviour = (response) => {
	response.socket?.resetAndDestroy();
};
const noHttp: Behaviour = (response) => {
	response.socket?.end("SSH-2.0-OpenSSH_9.6\r\n");
};
/** A byte now and then, never the last one. */
const drip: Behaviour = (response) => {
	response.writeHead(200, { "content-type": "application/json" });
	const timer = setInterval(() => response.write(" "), 5);
	response.on("close", () => clearInterval(timer));
};
const flood: Behaviour = (response) => {
	response.writeHead(200, { "content-type": "application/json" });
	const pour = () => {
		while (!response.destroyed && response.write(Buffer.alloc(256 * 1024, 0x20)));
	};
	response.on("drain", pour);
	pour();
};

const retriesOf = ({ progress }: Asked) =>
	progress.flatMap((one) => (one.kind === "retry" ? [`${one.attempt}/${one.max_retries} ${one.code}`] : []));

describe("a connection that fails", () => {
	it.each([
		["reset in the middle of the body", resetInBody],
		["ended in the middle of the body", endInBody],
		["reset at once", resetAtOnce],
		["no HTTP", noHttp],
	])("%s: a server error without a status, after four tries", async (_, behaviour) => {
		const asked = await ask([behaviour]);
		expect(summariserError(asked)).toMatchObject({ code: "server_error", status_code: undefined, is_retryable: true });
		expect(asked.server.requests.length).toBe(4);
		expect(asked.delays).toEqual([2, 4, 8]);
		expect(retriesOf(asked)).toEqual(["1/3 server_error", "2/3 server_error", "3/3 server_error"]);
	});

	it("is retried after a reset during the body", async () => {
		const asked = await ask([resetInBody, complete("whole")]);
		expect(asked.answer?.text).toBe("whole");
		expect(asked.delays).toEqual([2]);
	});

	it("fails when no server listens", async () => {
		const closed = createServer();
		await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
		const { port } = closed.address() as { port: number };
		await new Promise((resolve) => closed.close(resolve));
		const asked = await ask([hang], { baseUrl: `http://127.0.0.1:${port}` });
		expect(summariserError(asked)).toMatchObject({ code: "server_error", status_code: undefined });
		expect(summariserError(asked).message).toContain("ECONNREFUSED");
		expect(asked.delays).toEqual([2, 4, 8]);
	});
});

describe("an answer that takes too long", () => {
	afterEach(() => void vi.useRealTimers());

	it.each([
		["hangs", hang],
		["drips", drip],
	])("a server that %s is a time-out after four tries", async (_, behaviour) => {
		vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
		// The time is over once the request was seen, however long it took to get there.
		const outlasting: Behaviour = (response, request) => {
			behaviour(response, request);
			void pause(20).then(() => vi.advanceTimersByTime(60_000));
		};
		const asked = await ask([outlasting], { timeoutMs: 60_000 });
		expect(summariserError(asked)).toMatchObject({ code: "timeout", status_code: undefined, is_retryable: true });
		expect(asked.server.requests.length).toBe(4);
		expect(asked.delays).toEqual([2, 4, 8]);
		expect(retriesOf(asked)).toEqual(["1/3 timeout", "2/3 timeout", "3/3 timeout"]);
	});

	it("is retried after one hang", async () => {
		expect((await ask([hang, complete("late")], { timeoutMs: 2_000 })).answer?.text).toBe("late");
	});

	it("reports the wait repeatedly", async () => {
		const { progress } = await ask([hang], { timeoutMs: 1_000, heartbeatMs: 5, retry: { maxRetries: 0 } });
		const waiting = progress.filter((one) => one.kind === "phase" && one.phase === "waiting");
		expect(waiting.length).toBeGreaterThan(1);
	});

	it("may arrive at any time when the time limit is infinite", async () => {
		const slow: Behaviour = (response, request) => void setTimeout(() => complete("late")(response, request), 50);
		expect((await ask([slow], { timeoutMs: Number.POSITIVE_INFINITY })).answer?.text).toBe("late");
	});

	it("aborts a body over the limit", async () => {
		const asked = await ask([flood]);
		expect(summariserError(asked)).toMatchObject({ code: "unknown", status_code: 200 });
		expect(asked.server.requests.length).toBe(1);
	});
});

describe("ending a call", () => {
	const reason = new Error("the user pressed escape");

	it.each([
		["before it began", hang, (controller: AbortController) => controller.abort(reason)],
		["while waiting for an answer", hang, undefined],
		["in the middle of the body", drip, undefined],
	])("%s", async (_, behaviour, atOnce) => {
		const controller = new AbortController();
		atOnce?.(controller);
		const noticing: Behaviour = (response, request) => {
			behaviour(response, request);
			setTimeout(() => controller.abort(reason), 20);
		};
		const asked = await ask([noticing], {}, { signal: controller.signal });
		expect(asked.error).toBe(reason);
		expect(asked.server.requests.length).toBe(atOnce ? 0 : 1);
		expect(asked.delays).toEqual([]);
		expect(getEventListeners(controller.signal, "abort")).toEqual([]);
	});

	it("works during the wait for a retry, on the fake clock and on the real one", async () => {
		for (const clock of [undefined, systemClock]) {
			const controller = new AbortController();
			const onProgress = ({ kind }: { kind: string }) => {
				if (kind === "retry") setTimeout(() => controller.abort(reason), clock ? 5 : 0);
			};
			const stopping = clock ?? fakeClock(() => controller.abort(reason));
			const asked = await ask([refuse(500)], { clock: stopping }, { signal: controller.signal, onProgress });
			expect(asked.error).toBe(reason);
			expect(asked.server.requests.length).toBe(1);
			expect(getEventListeners(controller.signal, "abort")).toEqual([]);
		}
	});

	it("works by closing the summariser, which accepts no further calls", async () => {
		const server = await startChatServer(hang);
		const summariser = createOpenAiCompatible({ baseUrl: server.baseUrl, model: "m", clock: fakeClock() });
		const call = summariser.summarise({ prompt: "p", maxTokens: 5 }).catch((error: unknown) => error);
		await expect.poll(() => server.requests.length, patience).toBe(1);
		await summariser.close();
		expect(await call).toBeInstanceOf(SummariserError);
		await expect(summariser.summarise({ prompt: "p", maxTokens: 5 })).rejects.toMatchObject({ code: "unknown" });
		await summariser.close();
		expect(server.requests.length).toBe(1);
	});
});

describe("the client", () => {
	it("keeps one connection open between calls, and none once it is closed", async () => {
		const server = await startChatServer(complete(), refuse(429), complete("cut", "length"), complete());
		const summariser = createOpenAiCompatible({ baseUrl: server.baseUrl, model: "m", clock: fakeClock() });
		for (let call = 0; call < 4; call += 1) await summariser.summarise({ prompt: `call ${call}`, maxTokens: 5 });
		expect(server.requests.map(({ connection }) => connection)).toEqual([0, 0, 0, 0, 0, 0]);
		expect(server.open()).toBe(1);
		await summariser.close();
		await expect.poll(() => server.open(), patience).toBe(0);
	});

	it("leaves nothing open after a call once it is closed", async () => {
		const sockets = () => process.getActiveResourcesInfo().filter((one) => one === "TCPSocketWrap").length;
		const before = sockets();
		const server = await startChatServer(hang, resetInBody, refuse(503), complete());
		let told = 0;
		const clock = fakeClock();
		const summariser = createOpenAiCompatible({
			baseUrl: server.baseUrl,
			model: "m",
			clock,
			timeoutMs: 1_500,
			heartbeatMs: 2,
		});
		await summariser.summarise({ prompt: "p", maxTokens: 5, onProgress: () => (told += 1) });
		expect(clock.waits.length).toBe(3);
		const toldInTime = told;
		await summariser.close();
		await server.close();
		await expect.poll(sockets, patience).toBeLessThanOrEqual(before);
		await new Promise((resolve) => setTimeout(resolve, 20));
		expect(told).toBe(toldInTime);
	});

	it("sends the query of the base URL with each request, and never shows it", async () => {
		const server = await startChatServer(refuse(400));
		const asked = await ask([hang], { baseUrl: `${server.baseUrl}/?api-version=7&token=hidden` });
		expect(server.requests[0]?.url).toBe("/v1/chat/completions?api-version=7&token=hidden");
		expect(summariserError(asked).message).not.toContain("hidden");
	});

	it.each(["", "localhost:11434/v1", "ftp://host/v1", "https://user:secret@host/v1"])(
		"refuses the base URL %j",
		(baseUrl) => {
			const create = () => createOpenAiCompatible({ baseUrl, model: "m" });
			expect(create).toThrow(PalimpsestError);
			expect(create).not.toThrow("secret");
		},
	);

	it("sends the name and version of the program, and nothing about the machine", async () => {
		const { server } = await ask([complete()]);
		const { host, connection, "content-length": length, ...headers } = server.requests[0]?.headers ?? {};
		expect(headers).toEqual({
			accept: "application/json",
			authorization: `Bearer ${key}`,
			"content-type": "application/json",
			"user-agent": `palimpsest-mcp/${version}`,
		});
	});

	it("sends nothing with a key that is invalid in a header, and does not quote it", async () => {
		const asked = await ask([complete()], { apiKey: "first line\nsecond line" });
		expect(summariserError(asked)).toMatchObject({ code: "unknown", status_code: undefined });
		expect(summariserError(asked).message).toContain("line break");
		expect(summariserError(asked).message).not.toContain("second line");
		expect(asked.server.requests).toEqual([]);
		expect(asked.delays).toEqual([]);
	});
});
