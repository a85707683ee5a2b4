import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { createOpenAiCompatible } from "../../../src/operations/summariser/endpoint.ts";
import { startCorporateProxy } from "../../support/corporate-network.ts";
import { key } from "./asking.ts";
import { complete, startChatServer } from "./chat-server.ts";
import { fakeClock } from "./fake-clock.ts";

afterEach(() => vi.unstubAllEnvs());

/** Asks an endpoint that only the proxy of a network leads to. */
async function askThrough(credentials: "right" | "wrong") {
	const server = await startChatServer(complete("A summary."));
	const hosts = { "llm.example:80": Number(new URL(server.baseUrl).port) };
	const network = await startCorporateProxy({ user: "joe", password: "pa55word", hosts });
	onTestFinished(() => network.close());
	for (const name of ["http_proxy", "no_proxy", "NO_PROXY"]) vi.stubEnv(name, "");
	vi.stubEnv("HTTP_PROXY", credentials === "right" ? network.url : network.url.replace("joe", "ann"));
	const baseUrl = "http://llm.example/v1";
	const summariser = createOpenAiCompatible({ baseUrl, model: "some-model", apiKey: key, clock: fakeClock() });
	onTestFinished(() => summariser.close());
	const answer = summariser.summarise({ prompt: "Summarise this.", maxTokens: 500 });
	return { server, network, answer };
}

it("a summary is asked for through the proxy of the network", async () => {
	const { server, network, answer } = await askThrough("right");
	expect(await answer).toMatchObject({ text: "A summary." });
	expect(network.asked).toEqual(["POST http://llm.example/v1/chat/completions"]);
	expect(server.requests[0]?.headers).toMatchObject({ host: "llm.example", authorization: `Bearer ${key}` });
});

it("a proxy that refuses the password is named, and not asked again", async () => {
	const { server, network, answer } = await askThrough("wrong");
	const error = await answer.catch((reason: unknown) => reason);
	expect(error).toMatchObject({ code: "unknown", is_retryable: false });
	expect(String(error)).toContain(
		`The proxy of this network, ${network.host} (HTTP_PROXY), refuses the user or the password (407).`,
	);
	expect(String(error)).not.toContain("pa55word");
	expect([network.asked.length, server.requests.length]).toEqual([1, 0]);
});
