import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type ErrorCode, McpError, type Progress } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { splitFrames } from "../../src/engine/compaction/summary.ts";
import { complete, refuse } from "../operations/summariser/chat-server.ts";
import { builtCli } from "../support/built-cli.ts";
import { patience } from "../support/patience.ts";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";
import { handover } from "../support/stand-in-summariser.ts";
import { conversationNamed, type LastingEndpoint, lastingEndpoint } from "./compact-endpoint.ts";
import { type CompactSession, connectClient, contentOf, firstText, summaryOf } from "./compact-session.ts";

let endpoint: LastingEndpoint;
let child: ChildProcessByStdio<null, null, Readable>;
let url: string;
let stderr = "";

beforeAll(async () => {
	endpoint = await lastingEndpoint();
	const folder = await scratchFolder();
	child = spawn(process.execPath, [builtCli, "serve", "--http", "127.0.0.1:0"], {
		cwd: folder,
		env: { ...cleanEnvironment(folder), PALIMPSEST_LLM_URL: endpoint.baseUrl, PALIMPSEST_LLM_MODEL: "a-model" },
		stdio: ["ignore", "ignore", "pipe"],
	});
	url = await new Promise<string>((found) => {
		child.stderr.on("data", (chunk: Buffer) => {
			stderr += chunk.toString("utf8");
			const [address] = /http:\/\/[\d.:]+(?=\/mcp)/.exec(stderr) ?? [];
			if (address) found(address);
		});
	});
});

afterAll(() => void child.kill("SIGKILL"));

const transports: Readonly<Record<string, () => unknown>> = {
	"Streamable HTTP": () => new StreamableHTTPClientTransport(new URL(`${url}/mcp`)),
	"HTTP+SSE": () => new SSEClientTransport(new URL(`${url}/sse`)),
};

const parametersOf = (name: string) => ({ messages: conversationNamed(name), strategy: "llm-summary" });
const summaryIn = (session: Awaited<ReturnType<CompactSession["call"]>>) =>
	splitFrames(contentOf(session).messages[1]?.content ?? "").frames[0]?.summary;

describe.each(Object.entries(transports))("%s", (_face, transport) => {
	const connect = async (sampling: boolean) => {
		const session = await connectClient(transport() as Transport, { sampling });
		onTestFinished(() => session.client.close());
		return session;
	};

	it("asks the model of the calling client", async () => {
		const sessions = [await connect(true), await connect(true)];
		const answers = sessions.map((session, index) => {
			session.answer(() => summaryOf(`${handover} Client ${index}.`));
			return session.call("compact_conversation", parametersOf(`client-${index}`));
		});
		expect((await Promise.all(answers)).map(summaryIn)).toEqual([`${handover} Client 0.`, `${handover} Client 1.`]);
		for (const [index, { sampled }] of sessions.entries()) {
			expect(sampled).toHaveLength(1);
			expect(sampled[0]?.messages[0]?.content.text).toContain(`conversation=client-${index};`);
		}
	});

	it("leaves the conversation unchanged when the client refuses", async () => {
		const session = await connect(true);
		session.answer(() => Promise.reject(new McpError(-1 as ErrorCode, "no")));
		const refused = await session.call("compact_conversation", parametersOf("refused"));
		expect(firstText(refused)).toMatch(/^\[unknown\] .*\(status_code=none, is_retryable=false\)$/);
		session.answer(() => summaryOf(handover));
		expect(summaryIn(await session.call("compact_conversation", parametersOf("refused")))).toBe(handover);
	});

	it("asks the endpoint for a client without a model and reports progress", async () => {
		const session = await connect(false);
		endpoint.behave("by-endpoint", refuse(429, { "retry-after": "0.05" }), complete(handover));
		const progress: Progress[] = [];
		// Of an answer that takes over 5 s it is told in between that it is waited for.
		const onprogress = (one: Progress) => void (one.message === "waiting" || progress.push(one));
		const answer = await session.call("compact_conversation", parametersOf("by-endpoint"), { onprogress });
		expect(summaryIn(answer)).toBe(handover);
		const steps = ["asking", "retry 1 of 3 in 0.05 s (rate_limit 429)", "asking"];
		expect(progress.map(({ message }) => message)).toEqual(steps);
		expect(progress[1]).toMatchObject({ _meta: { "palimpsest/retry": { attempt: 1, max_retries: 3, delay: 0.05 } } });
	});

	it.each([
		["cancels", false],
		["disconnects", true],
	])("drops the endpoint request when the client %s", async (_what, goesAway) => {
		const session = await connect(false);
		const name = `left-${goesAway}`;
		let asked = () => {};
		const left = new Promise<void>((resolve) => {
			endpoint.behave(name, (response) => {
				response.on("close", resolve);
				asked();
			});
		});
		const controller = new AbortController();
		asked = () => {
			if (!goesAway) return controller.abort("no longer wanted");
			const { transport } = session.client;
			const gone = transport instanceof StreamableHTTPClientTransport ? transport.terminateSession() : undefined;
			void Promise.resolve(gone).then(() => session.client.close());
		};
		const call = session.call("compact_conversation", parametersOf(name), { signal: controller.signal });
		await expect(call).rejects.toThrow(goesAway ? "closed" : "no longer wanted");
		await left;
		expect(endpoint.requestsOf(name)).toHaveLength(1);
		const next = await connect(false);
		expect(contentOf(await next.call("compact_conversation", parametersOf("next"))).report).toMatchObject({
			result: "summarised",
		});
	});
});

it("closes the connection to the endpoint and exits on a signal", async () => {
	const ended = once(child, "close");
	child.kill("SIGTERM");
	expect(await ended).toEqual([0, null]);
	await expect.poll(() => endpoint.open(), patience).toEqual([]);
	expect(stderr).not.toMatch(/error|failed/);
});
