import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ask, key } from "./asking.ts";
import { answer, type Behaviour, complete, refuse } from "./chat-server.ts";

/** Echoes the key wherever an endpoint can write something. */
const echo =
	(status: number): Behaviour =>
	(response, { headers }) => {
		const said = String(headers.authorization);
		const body = { error: { message: said, type: key, code: key, param: key }, choices: said, [key]: said };
		answer(status, body, { "x-request-id": key, "retry-after": key, "www-authenticate": said, location: key })(
			response,
			{} as never,
		);
	};

/** Everything that hangs on an error, causes and hidden properties included. */
function everythingOf(error: unknown): string {
	const texts: string[] = [];
	for (let one = error; one instanceof Error; one = one.cause) {
		texts.push(String(one.stack), one.message, inspect(one, { depth: 20, showHidden: true, getters: true }));
		texts.push(JSON.stringify(one, Object.getOwnPropertyNames(one)));
	}
	expect(texts.length).toBeGreaterThan(0);
	return texts.join("\n");
}

const written: string[] = [];

beforeEach(() => {
	written.length = 0;
	for (const stream of [process.stdout, process.stderr]) {
		vi.spyOn(stream, "write").mockImplementation((text) => written.push(String(text)) > 0);
	}
	for (const method of ["debug", "info", "log", "warn", "error"] as const) {
		vi.spyOn(console, method).mockImplementation((...values) => written.push(inspect(values, { depth: 20 })) > 0);
	}
});

afterEach(() => {
	vi.restoreAllMocks();
	vi.unstubAllEnvs();
});

describe("the key", () => {
	it.each([200, 302, 400, 401, 403, 404, 413, 429, 500, 503])(
		"is in no error, progress or log when the endpoint echoes it (HTTP %i)",
		async (status) => {
			vi.stubEnv("OPENAI_LOG", "debug");
			const asked = await ask([echo(status)]);
			expect(asked.server.requests[0]?.headers.authorization).toBe(`Bearer ${key}`);
			expect(everythingOf(asked.error)).not.toContain(key);
			expect(JSON.stringify(asked.progress)).not.toContain(key);
			expect(asked.progress.length).toBeGreaterThan(0);
			expect(written).toEqual([]);
		},
	);

	it.each([
		["a reset", ((response) => response.socket?.resetAndDestroy()) as Behaviour],
		["invalid JSON", answer(200, `{"${key}`)],
		["a time-out", (() => {}) as Behaviour],
	])("is in no error after %s", async (_, behaviour) => {
		const asked = await ask([behaviour], { timeoutMs: 200 });
		expect(everythingOf(asked.error)).not.toContain(key);
		expect(written).toEqual([]);
	});

	it("is removed from an answer that echoes it", async () => {
		const { answer: given } = await ask([complete(`The key is ${key}, and again: ${key}.`)]);
		expect(given?.text).toBe("The key is [key], and again: [key].");
	});

	it("stays in an answer when it is a common placeholder key of local servers", async () => {
		const { answer: given } = await ask([complete("run it with ollama")], { apiKey: "ollama" });
		expect(given?.text).toBe("run it with ollama");
	});

	it("is not sent when it is missing, and no other endpoint's key is sent", async () => {
		vi.stubEnv("OPENAI_API_KEY", "sk-of-another-endpoint");
		vi.stubEnv("OPENAI_ADMIN_KEY", "sk-of-an-admin");
		vi.stubEnv("OPENAI_ORG_ID", "org-of-another-endpoint");
		vi.stubEnv("OPENAI_PROJECT_ID", "project-of-another-endpoint");
		vi.stubEnv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer another-endpoint\nX-Secret: of-another-endpoint");
		const { server: keyed } = await ask([complete()]);
		expect(keyed.requests[0]?.headers.authorization).toBe(`Bearer ${key}`);
		expect(JSON.stringify(keyed.requests[0]?.headers)).not.toMatch(/another-endpoint|admin/);
		for (const apiKey of [undefined, ""]) {
			const { server } = await ask([complete()], { apiKey });
			const headers = JSON.stringify(server.requests[0]?.headers);
			expect(server.requests[0]?.headers.authorization).toBeUndefined();
			expect(headers).not.toMatch(/another-endpoint|admin/);
		}
	});

	it("and the prompt are in no error", async () => {
		const prompt = "the conversation's own words";
		const quoting: Behaviour = (response, { body }) =>
			answer(400, { error: { message: body.messages[0]?.content, code: body.messages[0]?.content } })(
				response,
				{} as never,
			);
		for (const behaviour of [quoting, refuse(500)]) {
			const asked = await ask([behaviour], {}, { prompt });
			expect(asked.server.requests[0]?.body.messages[0]?.content).toBe(prompt);
			expect(everythingOf(asked.error)).not.toContain(prompt);
		}
	});
});
