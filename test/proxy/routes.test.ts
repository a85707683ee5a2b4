import { describe, expect, it } from "vitest";
import { routeOf, upstreamPath } from "../../src/proxy/routes.ts";

const all = { anthropic: "a", openai: "o", gemini: "g" };

describe("the route of a request", () => {
	it.each([
		["POST", "/v1/messages", "anthropic", "edited"],
		["POST", "/v1/messages?beta=true", "anthropic", "edited"],
		["POST", "/gateway/v1/messages", "anthropic", "edited"],
		["POST", "/v1/messages/count_tokens?beta=true", "anthropic", "counted"],
		["GET", "/v1/messages", "anthropic", "passed"],
		["POST", "/v1/messages/batches", "anthropic", "passed"],
		["HEAD", "/", "anthropic", "passed"],
		["POST", "/v1/chat/completions", "openai", "edited"],
		["POST", "/v1/responses", "openai", "edited"],
		["POST", "/responses", "openai", "edited"],
		["GET", "/v1/responses/resp_1", "openai", "passed"],
		["POST", "/v1/responses/resp_1/cancel", "openai", "passed"],
		["POST", "/v1/embeddings", "openai", "passed"],
		["GET", "/v1/models", "openai", "passed"],
		["POST", "/v1beta/models/gemini-2.5-pro:generateContent", "gemini", "edited"],
		["POST", "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", "gemini", "edited"],
		["POST", "/v1beta/models/gemini-2.5-pro:countTokens", "gemini", "passed"],
		["POST", "/v1internal:generateContent", "gemini", "edited"],
		["POST", "/v1internal:streamGenerateContent?alt=sse", "gemini", "edited"],
		["POST", "/v1internal:countTokens", "gemini", "passed"],
		["POST", "/v1internal:loadCodeAssist", "gemini", "passed"],
		["POST", "/v1beta/models/text-embedding:embedContent", "gemini", "passed"],
	])("%s %s", (method, path, api, kind) => {
		expect(routeOf({ method, path, headers: {} }, all)).toMatchObject({ api, kind });
	});

	it("of a list of models follows the headers of its API", () => {
		const of = (headers: Readonly<Record<string, string>>) =>
			routeOf({ method: "GET", path: "/v1/models", headers }, all)?.api;
		expect(of({ "anthropic-version": "2023-06-01" })).toBe("anthropic");
		expect(of({ "x-goog-api-key": "k" })).toBe("gemini");
		expect(of({ authorization: "Bearer k" })).toBe("openai");
	});

	it("has the model of the path", () => {
		const path = "/v1beta/models/gemini-2.5-pro:generateContent";
		expect(routeOf({ method: "POST", path, headers: {} }, all)?.model).toBe("gemini-2.5-pro");
	});

	it("goes to the only upstream unless it is that of another API", () => {
		const only = { openai: "o" };
		expect(routeOf({ method: "HEAD", path: "/", headers: {} }, only)).toEqual({ api: "openai", kind: "passed" });
		expect(routeOf({ method: "POST", path: "/v1/messages", headers: {} }, only)).toBeUndefined();
	});
});

describe("the path at the upstream", () => {
	it.each([
		["https://api.example", "/v1/messages?beta=true", "/v1/messages?beta=true"],
		["https://api.example/", "/v1/models", "/v1/models"],
		["https://api.example/v1", "/v1/models", "/v1/models"],
		["https://api.example/v1/", "/models", "/v1/models"],
		[
			"https://api.example/gateway/v1beta",
			"/v1beta/models/m:generateContent",
			"/gateway/v1beta/models/m:generateContent",
		],
		["https://api.example/v1", "/v10/models", "/v1/v10/models"],
		["https://api.example/team", "/v1/a%2Fb?c=%20", "/team/v1/a%2Fb?c=%20"],
	])("%s and %s", (base, path, joined) => {
		expect(upstreamPath(new URL(base), path)).toBe(joined);
	});
});
