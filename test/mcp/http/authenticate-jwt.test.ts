import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import { discoverOAuthProtectedResourceMetadata } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { type CryptoKey, generateKeyPair, UnsecuredJWT } from "jose";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createAuthentication } from "../../../src/mcp/http/authenticate.ts";
import { patience } from "../../support/patience.ts";
import { audience, type JwtIssuer, startIssuer } from "../jwt-issuer.ts";
import { alice, startWithTokens, twoTokens } from "./auth-harness.ts";
import { bearer, initialize, jsonHeaders, newerRequest, openSession, ping, type RawAnswer, send } from "./harness.ts";

const now = () => Math.floor(Date.now() / 1_000);

function post(url: string, token: string, body = initialize): Promise<RawAnswer> {
	return send(`${url}/mcp`, { method: "POST", headers: { ...jsonHeaders, ...bearer(token) }, body });
}

/** The same in both eras of the protocol. */
function inBothEras(url: string, token: string): Promise<RawAnswer[]> {
	const { method, headers, body } = newerRequest("tools/list");
	return Promise.all([
		post(url, token),
		send(`${url}/mcp`, { method, headers: { ...headers, ...bearer(token) }, body }),
	]);
}

async function startWithIssuer(scopes: readonly string[] = [], more = {}) {
	const issuer = await startIssuer();
	const who = { issuer: issuer.issuer, audiences: [audience], scopes, ...more };
	return { issuer, ...(await startWithTokens({}, who)) };
}

describe("a JSON Web Token", () => {
	test("of the issuer, for the audience and within its time is accepted; the keys are requested once", async () => {
		const { url, issuer } = await startWithIssuer();
		for (const claims of [{}, { aud: ["other", audience] }, { exp: now() - 1 }, { nbf: now() + 2 }]) {
			expect((await post(url, await issuer.sign(claims))).status).toBe(200);
		}
		expect(issuer.asked).toEqual(["/.well-known/oauth-authorization-server", "/keys"]);
	});

	const refused: Record<string, (issuer: JwtIssuer) => Promise<string> | string> = {
		"one 6 s after its end": ({ sign }) => sign({ exp: now() - 6 }),
		"one whose issuer only begins alike": ({ issuer, sign }) => sign({ iss: `${issuer}/` }),
		"one whose audience only begins alike": ({ sign }) => sign({ aud: `${audience}/more` }),
		"an expired one": ({ sign }) => sign({ exp: now() - 60 }),
		"one not valid yet": ({ sign }) => sign({ nbf: now() + 60 }),
		"one without an end": ({ sign }) => sign({ exp: undefined }),
		"one for another audience": ({ sign }) => sign({ aud: "https://other.example.org" }),
		"one for nobody": ({ sign }) => sign({ aud: undefined }),
		"one of another issuer": ({ sign }) => sign({ iss: "https://evil.example" }),
		"one of nobody": ({ sign }) => sign({ iss: undefined }),
		"one without a subject": ({ sign }) => sign({ sub: undefined }),
		"one with an empty subject": ({ sign }) => sign({ sub: "" }),
		"one with another key's signature": async ({ sign }) => sign({}, (await generateKeyPair("ES256")).privateKey),
		"one with alg: none": ({ issuer }) =>
			new UnsecuredJWT({ iss: issuer, aud: audience, sub: "alice", exp: now() + 600 }).encode(),
		"one signed with the public key as a secret": ({ sign, publicPem }) =>
			sign({}, new TextEncoder().encode(publicPem), "HS256"),
		"one with a changed claim": async ({ sign }) => {
			const [head, , signature] = (await sign()).split(".");
			const claims = { iss: "x", aud: audience, sub: "root", exp: now() + 600 };
			return [head, Buffer.from(JSON.stringify(claims)).toString("base64url"), signature].join(".");
		},
		"one without its signature": async ({ sign }) => `${(await sign()).split(".").slice(0, 2).join(".")}.`,
		"one that is none": () => "eyJhbGciOiJFUzI1NiJ9",
		"one that is endless": () => `${"e30".repeat(4_000)}.e30.x`,
	};
	test.each(Object.entries(refused))("%s is refused", async (_what, make) => {
		const { url, issuer, policySource } = await startWithIssuer();
		for (const answer of await inBothEras(url, await make(issuer))) {
			expect(answer.status).toBe(401);
			expect(answer.headers["www-authenticate"]).toMatch(
				/^Bearer error="invalid_token", error_description="The token [^"]+"/,
			);
			expect(answer.text).not.toMatch(/alice|root|evil|node_modules|\.ts/);
		}
		expect(policySource.listeners()).toBe(0);
	});

	test("that allows too little gets an error that names the missing scope", async () => {
		const { url, issuer } = await startWithIssuer(["context:edit"]);
		for (const claims of [{}, { scope: "context" }, { scope: "context:edit2 other" }, { scope: 7 }]) {
			for (const answer of await inBothEras(url, await issuer.sign(claims))) {
				expect(answer.status).toBe(403);
				expect(answer.headers["www-authenticate"]).toMatch(
					/^Bearer error="insufficient_scope", .*scope="context:edit"/,
				);
			}
		}
		for (const claims of [{ scope: "other context:edit" }, { scp: ["context:edit"] }]) {
			const answers = await inBothEras(url, await issuer.sign(claims));
			expect(answers.map(({ status }) => status)).toEqual([200, 200]);
		}
	});

	test("is identified by its subject: a session belongs to that subject with any of its tokens", async () => {
		const { url, issuer } = await startWithIssuer();
		const session = await openSession(url, bearer(await issuer.sign()));
		const asked = async (claims: Readonly<Record<string, unknown>>) => {
			const headers = { ...jsonHeaders, ...bearer(await issuer.sign(claims)), "Mcp-Session-Id": session };
			return (await send(`${url}/mcp`, { method: "POST", headers, body: ping })).status;
		};
		expect(await asked({ exp: now() + 300 })).toBe(200);
		expect(await asked({ sub: "bob" })).toBe(404);
	});

	test("is not confused with a listed token of the same name", async () => {
		const { url, issuer } = await startWithIssuer([], { tokensVariable: twoTokens });
		const session = await openSession(url, bearer(alice));
		const headers = { ...jsonHeaders, ...bearer(await issuer.sign()), "Mcp-Session-Id": session };
		expect((await send(`${url}/mcp`, { method: "POST", headers, body: ping })).status).toBe(404);
		expect((await post(url, alice)).status).toBe(200);
	});

	test("keeps its stream open until it expires, and no longer", async () => {
		const { url, issuer, policySource } = await startWithIssuer();
		// The server lets clocks differ by 5 s, and both count whole seconds: with one second left it may be too late at once.
		const response = await fetch(`${url}/sse`, { headers: bearer(await issuer.sign({ exp: now() - 1 })) });
		expect(response.status).toBe(200);
		expect(await response.text()).toContain("event: endpoint");
		await vi.waitFor(() => expect(policySource.listeners()).toBe(0), patience);

		const notifications = { resourceSubscriptions: ["policy://current"] };
		const { method, headers, body } = newerRequest("subscriptions/listen", { notifications });
		const token = bearer(await issuer.sign({ exp: now() - 1 }));
		const news = await fetch(`${url}/mcp`, { method, headers: { ...headers, ...token }, body });
		expect(await news.text()).toContain("notifications/subscriptions/acknowledged");
	});

	test("of a new key of the issuer is accepted, and unknown keys make it ask the issuer every 30 s at most", async () => {
		vi.useFakeTimers({ toFake: ["Date"] });
		onTestFinished(() => void vi.useRealTimers());
		const { url, issuer } = await startWithIssuer();
		const status = async (key: CryptoKey, id: string) =>
			(await post(url, await issuer.sign({}, key, "ES256", id))).status;
		expect(await status(issuer.privateKey, "one")).toBe(200);
		const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
		await issuer.publish({ key: publicKey, id: "two" });
		vi.setSystemTime(Date.now() + 31_000);
		expect(await status(privateKey, "two")).toBe(200);
		for (const id of ["three", "four", "one"]) expect(await status(issuer.privateKey, id)).toBe(401);
		expect(issuer.asked.filter((path) => path === "/keys")).toHaveLength(2);
	});

	test("is accepted when its key is any of those of one id, and refused when it is none of them", async () => {
		const { url, issuer } = await startWithIssuer();
		const [one, other, stranger] = await Promise.all(
			[1, 2, 3].map(() => generateKeyPair("ES256", { extractable: true })),
		);
		if (!one || !other || !stranger) throw new Error("Expected three pairs of keys.");
		await issuer.publish({ key: one.publicKey, id: "one" }, { key: other.publicKey, id: "one" });
		for (const { privateKey } of [one, other]) {
			expect((await post(url, await issuer.sign({}, privateKey))).status).toBe(200);
			expect((await post(url, await issuer.sign({ aud: "https://other.example.org" }, privateKey))).status).toBe(401);
			expect((await post(url, await issuer.sign({ exp: now() - 60 }, privateKey))).status).toBe(401);
		}
		expect((await post(url, await issuer.sign({}, stranger.privateKey))).status).toBe(401);
	});

	test("cannot be checked while the issuer's keys are unavailable, and the client is not blamed", async () => {
		const { url, issuer, logged } = await startWithIssuer();
		const token = await issuer.sign();
		issuer.stop();
		const answer = await post(url, token);
		expect(answer).toMatchObject({ status: 503, headers: { "retry-after": "10" } });
		expect(logged).toMatchObject([{ level: "error", data: { event: "auth_failed" } }]);
	});
});

describe("where to get a token", () => {
	test.each(["mcp", "sse"])("is published for /%s, to anybody", async (name) => {
		const { url, issuer } = await startWithIssuer(["context:edit"]);
		const answer = await send(`${url}/${name}`);
		const place = `${url}/.well-known/oauth-protected-resource/${name}`;
		expect(answer.headers["www-authenticate"]).toContain(`resource_metadata="${place}"`);
		expect(JSON.parse((await send(place)).text)).toMatchObject({
			resource: `${url}/${name}`,
			authorization_servers: [issuer.issuer],
			scopes_supported: ["context:edit"],
			bearer_methods_supported: ["header"],
		});
		expect((await send(place, { method: "POST" })).status).toBe(405);
		expect(await discoverOAuthProtectedResourceMetadata(new URL(`${url}/${name}`))).toMatchObject({
			resource: `${url}/${name}`,
		});
	});

	test("is not published without an issuer", async () => {
		const { url } = await startWithTokens();
		expect((await send(`${url}/.well-known/oauth-protected-resource/mcp`)).status).toBe(404);
		expect((await send(`${url}/.well-known/oauth-authorization-server`)).status).toBe(404);
	});

	test("is found by a client of the SDK", async () => {
		const { url, issuer } = await startWithIssuer();
		const provider: OAuthClientProvider = {
			redirectUrl: "http://localhost/callback",
			clientMetadata: { redirect_uris: ["http://localhost/callback"] },
			clientInformation: () => undefined,
			tokens: () => undefined,
			saveTokens() {},
			redirectToAuthorization() {},
			saveCodeVerifier() {},
			codeVerifier: () => "",
		};
		const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider: provider });
		const client = new Client({ name: "test", version: "1" });
		onTestFinished(() => client.close());
		const before = issuer.asked.length;
		// It goes as far as the issuer's own metadata, which this stand-in has not all of.
		await expect(client.connect(transport as never)).rejects.toThrow();
		expect(issuer.asked.slice(before)).toContain("/.well-known/oauth-authorization-server");
	});
});

describe("an issuer", () => {
	const log = () => {};

	test.each([
		["whose metadata names another issuer", (one: object) => ({ ...one, issuer: "https://evil.example" })],
		["whose metadata names no keys", () => ({})],
		[
			"whose keys are not to be trusted on the way",
			(one: object) => ({ ...one, jwks_uri: "http://evil.example/keys" }),
		],
	])("%s is refused at the start", async (_what, spoil) => {
		const { issuer } = await startIssuer(spoil);
		const made = createAuthentication({ issuer, audiences: [audience], log });
		await expect(made).rejects.toMatchObject({ code: "invalid_argument" });
	});

	test("is not contacted when its keys are configured", async () => {
		const { issuer, jwks, asked } = await startIssuer();
		await createAuthentication({ issuer, audiences: [audience], jwks, log });
		expect(asked).toEqual([]);
	});

	test.each([
		["without an audience", { issuer: "https://issuer.example" }],
		[
			"over plain HTTP",
			{ issuer: "http://issuer.example", audiences: [audience], jwks: "https://issuer.example/keys" },
		],
		[
			"with keys over plain HTTP",
			{ issuer: "https://i.example", audiences: [audience], jwks: "http://i.example/keys" },
		],
		["that is missing with an audience", { audiences: [audience] }],
		["that is missing with a scope", { scopes: ["x"] }],
	])("%s is refused at the start", async (_what, options) => {
		await expect(createAuthentication({ ...options, log })).rejects.toMatchObject({ code: "invalid_argument" });
	});
});
