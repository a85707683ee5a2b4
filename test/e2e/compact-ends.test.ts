import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { createInterface } from "node:readline";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { builtCli } from "../support/built-cli.ts";
import { patience } from "../support/patience.ts";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";
import { conversationNamed, type LastingEndpoint, lastingEndpoint } from "./compact-endpoint.ts";
import { compactSession, contentOf, type StdioCompactSession } from "./compact-session.ts";

let endpoint: LastingEndpoint;
let environment: Readonly<Record<string, string>>;
beforeAll(async () => {
	endpoint = await lastingEndpoint();
	environment = { PALIMPSEST_LLM_URL: endpoint.baseUrl, PALIMPSEST_LLM_MODEL: "a-model" };
});

/** Lets the endpoint never answer about a conversation; tells when it is asked, and when who asked has gone. */
function hangAbout(name: string): EventEmitter {
	const events = new EventEmitter();
	endpoint.behave(name, (response) => {
		response.on("close", () => events.emit("left"));
		events.emit("asked");
	});
	return events;
}

const parametersOf = (name: string) => ({ messages: conversationNamed(name), strategy: "llm-summary" });

describe("a cancelled call", () => {
	let session: StdioCompactSession;
	beforeAll(async () => {
		session = await compactSession({ environment });
	});

	it("drops the endpoint request at once and gets no answer, and the server keeps running", async () => {
		const events = hangAbout("cancelled");
		const controller = new AbortController();
		const left = once(events, "left");
		const call = session.call("compact_conversation", parametersOf("cancelled"), { signal: controller.signal });
		const refused = expect(call).rejects.toThrow("no longer wanted");
		await once(events, "asked");
		controller.abort("no longer wanted");
		await refused;
		await left;
		expect(endpoint.requestsOf("cancelled")).toHaveLength(1);

		expect(contentOf(await session.call("compact_conversation", parametersOf("next"))).report).toMatchObject({
			result: "summarised",
		});
		// The answer to the handshake came before; what came since is the one answer.
		expect(session.received.filter((message) => /"(?:result|error)":/.test(message))).toHaveLength(1);
		expect(session.logged.filter(({ level }) => level === "error")).toEqual([]);
		expect(session.stderr()).not.toMatch(/error|failed/);
	});

	it("is not retried when it is cancelled between two attempts", async () => {
		endpoint.behave("waiting", (response) => response.writeHead(503, { "retry-after": "50" }).end());
		const controller = new AbortController();
		const onprogress = ({ message = "" }) => {
			if (message.startsWith("retry")) controller.abort("no longer wanted");
		};
		const options = { signal: controller.signal, onprogress };
		const call = session.call("compact_conversation", parametersOf("waiting"), options);
		await expect(call).rejects.toThrow("no longer wanted");
		await session.client.close();
		expect(endpoint.requestsOf("waiting")).toHaveLength(1);
	});
});

/** A built server as a bare process, greeted by a client with a model; tells each message by its method, or its id. */
async function bareServer(more: Readonly<Record<string, string>>) {
	const folder = await scratchFolder();
	const child: ChildProcessWithoutNullStreams = spawn(process.execPath, [builtCli], {
		cwd: folder,
		env: { ...cleanEnvironment(folder), ...more },
	});
	onTestFinished(() => void child.kill("SIGKILL"));
	const messages = new EventEmitter();
	createInterface({ input: child.stdout }).on("line", (line) => {
		const message = JSON.parse(line);
		messages.emit(message.method ?? String(message.id), message);
	});
	let stderr = "";
	child.stderr.on("data", (chunk: Buffer) => {
		stderr += chunk.toString("utf8");
	});
	const write = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
	const request = async (id: number, method: string, params: object) => {
		const answered = once(messages, String(id));
		write({ id, method, params });
		const [answer] = await answered;
		return answer;
	};
	const clientInfo = { name: "test", version: "1.0.0" };
	await request(1, "initialize", { protocolVersion: "2025-11-25", capabilities: { sampling: {} }, clientInfo });
	write({ method: "notifications/initialized" });
	const compact = (id: number, name: string, parameters: object = {}) =>
		request(id, "tools/call", {
			name: "compact_conversation",
			arguments: { ...parametersOf(name), respond_with: "report", ...parameters },
		});
	return { child, messages, compact, ended: once(child, "close"), stderr: () => stderr };
}

const byEndpoint = { policy: { compaction: { answered_by: ["openai-compatible"] } } };

describe("a server after its client disconnects", () => {
	it("closes its one connection to the endpoint and exits", async () => {
		const { child, compact, ended, stderr } = await bareServer(environment);
		for (const id of [2, 3, 4]) {
			expect((await compact(id, `in-turn-${id}`, byEndpoint)).result.structuredContent.report.result).toBe(
				"summarised",
			);
		}
		const connections = [2, 3, 4].flatMap((id) => endpoint.requestsOf(`in-turn-${id}`).map((one) => one.connection));
		expect(connections).toHaveLength(3);
		expect(new Set(connections).size).toBe(1);
		child.stdin.end();
		expect(await ended).toEqual([0, null]);
		expect(stderr()).not.toMatch(/error|failed/);
		await expect.poll(() => endpoint.open(), patience).not.toContain(connections[0]);
	});

	it("reports that it gave up on a silent endpoint and exits", async () => {
		const { child, compact, ended, stderr } = await bareServer(environment);
		const events = hangAbout("silent");
		const [asked, left] = [once(events, "asked"), once(events, "left")];
		const answered = compact(2, "silent", byEndpoint);
		await asked;
		child.stdin.end();
		const { result } = await answered;
		expect(result).toMatchObject({
			isError: true,
			content: [{ text: expect.stringMatching(/^\[unknown\] .*closed/) }],
		});
		await left;
		expect(await ended).toEqual([0, null]);
		expect(stderr()).toBe("");
	});

	it("reports that the client has disconnected during a request to its model, and exits", async () => {
		const { child, messages, compact, ended, stderr } = await bareServer({});
		const asked = once(messages, "sampling/createMessage");
		const answered = compact(2, "sampled");
		await asked;
		child.stdin.end();
		const { result } = await answered;
		expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/^\[server_error\] /) }] });
		expect(await ended).toEqual([0, null]);
		expect(stderr()).toBe("");
	});

	it("exits cleanly on a signal while the endpoint is silent", async () => {
		const { child, compact, ended, stderr } = await bareServer(environment);
		const events = hangAbout("signalled");
		const [asked, left] = [once(events, "asked"), once(events, "left")];
		void compact(2, "signalled", byEndpoint).catch(() => undefined);
		await asked;
		child.kill("SIGTERM");
		await left;
		expect(await ended).toEqual([0, null]);
		expect(stderr()).toBe("");
	});
});
