import { StreamableHTTPClientTransport as NewerTransport } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type Behaviour, complete, hang, startChatServer } from "../operations/summariser/chat-server.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { isWhole } from "../support/breadth.ts";
import { newerClient } from "../support/client-2026.ts";
import { patience } from "../support/patience.ts";
import { handover } from "../support/stand-in-summariser.ts";
import { httpServer } from "./http-server.ts";

type Face = "Streamable HTTP" | "HTTP+SSE" | "stateless" | "2026-07-28";
const every: readonly Face[] = ["Streamable HTTP", "2026-07-28", "HTTP+SSE", "stateless"];
/** `test/mcp/http/sessions.test.ts` closes servers over each transport in this process. */
const faces = isWhole ? every : every.slice(0, 2);

/** A server at a call that waits for a model, which answers as told. */
async function serverAtWork(face: Face, behaviour: Behaviour, parameters: readonly string[] = []) {
	const model = await startChatServer(behaviour);
	const environment = { PALIMPSEST_LLM_URL: model.baseUrl, PALIMPSEST_LLM_MODEL: "a-model" };
	const stateless = face === "stateless" ? ["--stateless"] : [];
	const server = await httpServer([...stateless, ...parameters], environment);
	const isNewer = face === "2026-07-28";
	const client = isNewer ? (newerClient() as unknown as Client) : new Client({ name: "test", version: "1.0.0" });
	const StreamableTransport = isNewer ? NewerTransport : StreamableHTTPClientTransport;
	const transport =
		face === "HTTP+SSE"
			? new SSEClientTransport(new URL(`${server.url}/sse`))
			: new StreamableTransport(new URL(`${server.url}/mcp`));
	await client.connect(transport as Transport);
	onTestFinished(() => client.close().catch(() => undefined));
	const parametersOfCall = { messages: agentConversation(12), strategy: "llm-summary", force: true };
	const call = client.callTool({ name: "compact_conversation", arguments: parametersOfCall });
	// Whoever expects it to fail says so later.
	call.catch(() => undefined);
	await vi.waitUntil(() => model.requests.length === 1, patience);
	return { server, call: call as Promise<CallToolResult> };
}

/** Waits until the server says that it ends. */
async function untilEnding(url: string): Promise<void> {
	await vi.waitFor(async () => {
		const ready = await fetch(`${url}/readyz`);
		expect([ready.status, await ready.json()]).toMatchObject([503, { reason: "shutting_down" }]);
	}, patience);
}

describe.each(faces)("a server that is asked to stop, %s", (face) => {
	it("refuses new requests, finishes running ones and exits with 0", async () => {
		let answer = (): void => {};
		const { server, call } = await serverAtWork(face, (response, request) => {
			answer = () => complete(handover)(response, request);
		});
		const ended = server.end();
		await untilEnding(server.url);
		answer();
		const { isError, structuredContent } = await call;
		expect(isError).toBeFalsy();
		expect(structuredContent).toMatchObject({ report: { result: "summarised" } });
		expect(await ended).toBe(0);
		expect(server.stderr()).not.toMatch(/error/i);
	});

	// `test/mcp/http/sessions.test.ts` has it over each transport.
	it.runIf(face === faces[0])("answers requests that exceed the time limit with an error", async () => {
		const { server, call } = await serverAtWork(face, hang, ["--shutdown-seconds", "1"]);
		expect(await server.end()).toBe(0);
		expect(await call).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("shutting down") }] });
	});
});

it("exits at once on a second signal", async () => {
	const { server } = await serverAtWork("Streamable HTTP", hang, ["--shutdown-seconds", "600"]);
	const first = server.end();
	await untilEnding(server.url);
	expect(await server.end()).toBe(128 + 15);
	expect(await first).toBe(128 + 15);
});
