import { describe, expect, it } from "vitest";
import { createTokenList } from "../../src/operations/http/auth-tokens.ts";
import { createCallerCheck, readCallersRequest } from "../../src/proxy/callers.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { createGate, early, sendSettled, startPlayed } from "./played.ts";
import { isMasked, requestOf, sessionApis, turnsOf } from "./sessions.ts";
import { from, serverKey, startTeam, teamOf, tokens } from "./team.ts";
import { send, startUpstream, until } from "./upstream.ts";

const request = requestOf("anthropic", turnsOf(1, 100));
const key = "sk-ant-api03-a-key-of-the-provider";

describe("a request to a proxy with several callers", () => {
	it("reaches the upstream with the provider's key and without ours", async () => {
		const team = await startTeam();
		const proxy = await team.start();
		const own = { "X-Palimpsest-Token": tokens.ann, "X-Palimpsest-Project": "shop", "x-palimpsest-other": "1" };
		const by = [
			{ ...request, headers: { "X-Api-Key": key, ...own } },
			{ ...request, path: `/token/${tokens.ann}${request.path}`, headers: { "X-Api-Key": key } },
			{ method: "GET", path: `/token/${tokens.ann}/v1/models?limit=1`, headers: { "X-Api-Key": key } },
			{ method: "HEAD", path: `/token/${tokens.ann}`, headers: { "X-Api-Key": key } },
		];
		for (const one of by) expect((await send(proxy.url, one)).status).toBe(200);
		expect(team.upstream.received.map(({ path }) => path)).toEqual([
			request.path,
			request.path,
			"/v1/models?limit=1",
			"/",
		]);
		for (const { path, rawHeaders, headers, body } of team.upstream.received) {
			expect(headers["x-api-key"]).toBe(key);
			expect(`${path} ${rawHeaders} ${body}`).not.toMatch(/palimpsest|token-of-thirty/i);
		}
		expect(JSON.stringify(team.events)).not.toMatch(/token-of-thirty|provider/);
	});

	it.each(sessionApis)("is refused without a token, in the shape of its API: %s", async (api) => {
		const team = await startTeam();
		const proxy = await team.start();
		const asked = requestOf(api, turnsOf(1, 100));
		const wrong = [asked, { ...asked, headers: { "X-Palimpsest-Token": "a-token-that-nobody-has-been-given" } }];
		for (const one of wrong) {
			const got = await send(proxy.url, one);
			expect([got.status, got.headers["x-should-retry"]]).toEqual([401, "false"]);
			const { error } = JSON.parse(got.body.toString());
			expect(error.message).toContain("palimpsest proxy: Expected");
			const kinds = { anthropic: ["authentication_error"], gemini: ["UNAUTHENTICATED"], chat: [], responses: [] }[api];
			for (const kind of kinds) expect([error.type, error.status]).toContain(kind);
		}
		expect(team.upstream.received).toEqual([]);
	});

	it("is known by the provider's key where the operator says so, and never by what others can send or what changes", async () => {
		const tokenList = createTokenList({ variable: `ann:${tokens.ann}`, log: () => {} });
		const check = createCallerCheck({ tokens: tokenList, serverKey });
		const of = (headers: Record<string, string>, url = "/v1/messages") =>
			check.callerOf(readCallersRequest({ url, headers, rawHeaders: [] }, { isOfMany: true }));
		const known = of({ "x-api-key": key });
		expect(known).toEqual({
			principal: expect.stringMatching(/^key [0-9a-f]{32}$/),
			person: expect.stringMatching(/^key [0-9a-f]{8}$/),
			isProved: false,
		});
		expect(of({ authorization: `Bearer ${key}` })).toEqual(known);
		expect(of({}, `/v1beta/models/m:generateContent?key=${key}`)).toEqual(known);
		expect(of({ "x-api-key": `${key}2` })).not.toEqual(known);
		expect(
			createCallerCheck({ tokens: undefined, serverKey: `${serverKey}2` }).callerOf(
				readCallersRequest({ url: "/", headers: { "x-api-key": key }, rawHeaders: [] }, { isOfMany: true }),
			),
		).not.toEqual(known);
		expect(of({ "x-api-key": key, "x-palimpsest-token": tokens.ann })).toMatchObject({ principal: "token ann" });
		const refused = [
			{},
			{ "x-api-key": "ollama" },
			{ authorization: "Bearer sk-ant-oat01-a-token-that-is-new-every-hour" },
			{ authorization: "Bearer eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl" },
			{ authorization: "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20260101/us-east-1/bedrock/aws4_request" },
			{ "x-api-key": key, "x-palimpsest-token": "a-token-that-nobody-has-been-given" },
		];
		for (const headers of refused) expect(of(headers as Record<string, string>)).toHaveProperty("expected");
	});

	it("under a provider's key is cut, masked and archived only once the provider has accepted that key", async () => {
		const { callers } = await teamOf();
		const archived: string[] = [];
		const archiveOf = async (principal: string) => {
			const archive = (await callers.archiveOf(principal)) as Archive;
			const put: Archive["put"] = (...given) => {
				archived.push(principal);
				return archive.put(...given);
			};
			return { ...archive, put };
		};
		const team = await startPlayed({ policy: early, callers: { ...callers, archiveOf } }, ({ headers }, response) => {
			if (headers["x-api-key"] !== key) response.statusCode = 401;
			response.end("{}");
		});
		const proxy = await team.start();
		const play = async (own: string) => {
			for (let count = 1; count <= 6; count += 1) {
				const asked = requestOf("anthropic", turnsOf(count, 30_000));
				await sendSettled(proxy, { ...asked, headers: { ...(asked.headers as object), "X-Api-Key": own } });
			}
			return team.lastTexts().filter(isMasked).length;
		};
		expect(await play("sk-ant-api03-a-key-that-nobody-has")).toBe(0);
		expect(archived).toEqual([]);
		expect(await play(key)).toBeGreaterThan(1);
		expect(new Set(archived).size).toBe(1);
	});

	it("comes under any name of the machine, and from no foreign web page", async () => {
		const proxy = await (await startTeam()).start();
		const named = await send(proxy.url, from("ann", { ...request, headers: { Host: "proxy.example.org" } }));
		expect(named.status).toBe(200);
		const foreign = { Origin: "https://evil.example", Host: "proxy.example.org" };
		expect((await send(proxy.url, from("ann", { ...request, headers: foreign }))).status).toBe(403);
	});
});

describe("the limits of a caller", () => {
	it("refuse what is over them in the shape of the API, and leave others alone", async () => {
		const gate = createGate();
		const limits = { requestsAtOnce: 1, bytesAtOnce: 20_000, conversations: 2 };
		const team = await startTeam({}, limits);
		const held = await startUpstream((_, response) => void gate.isOpen.then(() => response.end("{}")));
		const proxy = await team.start({ upstreams: { anthropic: held.url } });
		const large = { ...request, body: "x".repeat(20_001) };
		expect((await send(proxy.url, from("ann", large))).status).toBe(413);
		const first = send(proxy.url, from("ann", request));
		await until(() => held.received.length === 1);
		const over = await send(proxy.url, from("ann", request));
		expect([over.status, over.headers["retry-after"]]).toEqual([429, "1"]);
		expect(JSON.parse(over.body.toString()).error).toMatchObject({
			type: "rate_limit_error",
			message: expect.stringContaining("1 requests at once"),
		});
		const others = send(proxy.url, from("ben", request));
		gate.open();
		expect([(await first).status, (await others).status]).toEqual([200, 200]);
		const statuses: number[] = [];
		for (const task of ["one", "two", "one", "three"]) {
			const turns = turnsOf(1, 100).map((turn) => ({ ...turn, id: `toolu_01ConversationNamed${task}` }));
			statuses.push((await sendSettled(proxy, from("ben", requestOf("anthropic", turns, task)))).status);
		}
		expect(statuses).toEqual([200, 429, 200, 429]);
	});
});
