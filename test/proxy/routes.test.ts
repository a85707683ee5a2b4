import { describe, expect, it } from "vitest";
import { routeOf, upstreamPath } from "../../src/proxy/routes.ts";

const all = { anthropic: "a", openai: "o", gemini: "g", bedrock: "b", vertex: "v" };

describe("the route of a request", () => {
	it.each([
		["POST", "/v1/messages", "anthropic", "edited"],
		["POST", "/v1/messages?beta=true", "anthropic", "edited"],
		["POST", "/gateway/v1/messages", "anthropic", "edited"],
		["POST", "/v1/messages/count_tokens?beta=true", "anthropic", "counted"],
		["GET", "/v1/messages", "anthropic", "passed"],
		["POST", "/v1/messages/batches", "anthropic", "batch"],
		["GET", "/v1/messages/batches", "anthropic", "passed"],
		["POST", "/v1/messages/batches/msgbatch_1/cancel", "anthropic", "passed"],
		["HEAD", "/", "anthropic", "passed"],
		["POST", "/v1/chat/completions", "openai", "edited"],
		["POST", "/v1/responses", "openai", "edited"],
		["POST", "/responses", "openai", "edited"],
		["POST", "/v1/responses/compact", "openai", "counted"],
		["POST", "/v1/responses/input_tokens", "openai", "counted"],
		["GET", "/v1/responses/resp_1", "openai", "passed"],
		["POST", "/v1/responses/resp_1/cancel", "openai", "passed"],
		["POST", "/v1/embeddings", "openai", "passed"],
		["GET", "/v1/models", "openai", "passed"],
		["POST", "/v1beta/models/gemini-2.5-pro:generateContent", "gemini", "edited"],
		["POST", "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", "gemini", "edited"],
		["POST", "/v1beta/models/gemini-2.5-pro:countTokens", "gemini", "counted"],
		["POST", "/v1beta/models/gemini-2.5-pro:batchGenerateContent", "gemini", "batch"],
		["POST", "/v1internal:generateContent", "gemini", "edited"],
		["POST", "/v1internal:streamGenerateContent?alt=sse", "gemini", "edited"],
		["POST", "/v1internal:countTokens", "gemini", "counted"],
		["POST", "/v1internal:loadCodeAssist", "gemini", "passed"],
		["POST", "/v1beta/models/text-embedding:embedContent", "gemini", "passed"],
	])("%s %s", (method, path, api, kind) => {
		expect(routeOf({ method, path, headers: {} }, all)).toMatchObject({ api, kind });
	});

	const onVertex = "/v1/projects/p/locations/us-east5/publishers/anthropic/models";

	it.each([
		["POST", `${onVertex}/claude-opus-5-5@20261020:rawPredict`, "vertex", "edited", "claude-opus-5-5@20261020"],
		["POST", `${onVertex}/claude-opus-5-5:streamRawPredict`, "vertex", "edited", "claude-opus-5-5"],
		["POST", `${onVertex}/claude-opus-5-5%3AstreamRawPredict`, "vertex", "edited", "claude-opus-5-5"],
		["POST", `${onVertex}/count-tokens:rawPredict`, "vertex", "counted", undefined],
		[
			"POST",
			"/model/us.anthropic.claude-opus-5-5-v1:0/invoke",
			"bedrock",
			"edited",
			"us.anthropic.claude-opus-5-5-v1:0",
		],
		[
			"POST",
			"/gateway/model/us.anthropic.claude-haiku-4-5-20251001-v1%3A0/invoke-with-response-stream",
			"bedrock",
			"edited",
			"us.anthropic.claude-haiku-4-5-20251001-v1:0",
		],
		[
			"POST",
			"/model/arn%3Aaws%3Abedrock%3Ax%3A1%3Aprofile%2Fa/invoke",
			"bedrock",
			"edited",
			"arn:aws:bedrock:x:1:profile/a",
		],
		["POST", "/model/%E0%A4%A/invoke", "bedrock", "edited", "%E0%A4%A"],
		["POST", "/model/m/count-tokens", "bedrock", "counted", "m"],
		["POST", "/model/m/converse", "bedrock", "edited", "m"],
		["POST", "/model/us.a%3A0/converse-stream", "bedrock", "edited", "us.a:0"],
		["GET", "/inference-profiles?type=SYSTEM_DEFINED", "bedrock", "passed", undefined],
	])("%s %s goes to a cloud in Anthropic's form", (method, path, upstream, kind, model) => {
		const route = routeOf({ method, path, headers: {} }, all);
		expect(route).toMatchObject({ upstream, api: "anthropic", kind, ...(model && { model }) });
		expect(routeOf({ method, path, headers: {} }, { ...all, [upstream]: undefined })?.upstream).not.toBe(upstream);
	});

	it.each([
		[`${onVertex}/claude-opus-5-5:rawPredict`, true],
		[`${onVertex.replace("us-east5", "global")}/claude-opus-5-5:rawPredict`, false],
		["/model/us.anthropic.claude-opus-5-5-v1:0/invoke", true],
		["/model/anthropic.claude-opus-5-5-v1:0/converse", true],
		["/model/global.anthropic.claude-opus-5-5-v1%3A0/converse-stream", false],
		[
			"/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fglobal.anthropic.claude-opus-5-5-v1/invoke",
			false,
		],
	])("%s says whether a region is asked for: %j", (path, isRegional) => {
		expect(routeOf({ method: "POST", path, headers: {} }, all)?.isRegional).toBe(isRegional);
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

	it("goes to the only upstream unless that serves another API", () => {
		const only = { openai: "o" };
		expect(routeOf({ method: "HEAD", path: "/", headers: {} }, only)).toEqual({
			upstream: "openai",
			api: "openai",
			kind: "passed",
		});
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
