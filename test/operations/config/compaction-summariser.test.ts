import { inspect } from "node:util";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { type Environment, environmentLayer, otherVariables } from "../../../src/engine/policy/layers.ts";
import { PalimpsestError } from "../../../src/errors.ts";
import { createCompactionSource } from "../../../src/operations/config/compaction.ts";
import { createOpenAiCompatible } from "../../../src/operations/summariser/endpoint.ts";
import { patience } from "../../support/patience.ts";
import { key } from "../summariser/asking.ts";
import { complete, hang, startChatServer } from "../summariser/chat-server.ts";

vi.mock("../../../src/operations/summariser/endpoint.ts", { spy: true });
afterEach(() => vi.unstubAllEnvs());

const url = "http://127.0.0.1:9/v1";
const request = { prompt: "Summarise this.", maxTokens: 500 };

const compactionOf = (environment: Environment) =>
	createCompactionSource({ environment, policyFile: () => null, workingDirectory: "." });

/** The summariser of an environment, closed after the test, and with what it was loaded. */
function summariserOf(environment: Environment) {
	vi.mocked(createOpenAiCompatible).mockClear();
	const { endpoint: summariser, close } = compactionOf(environment);
	onTestFinished(close);
	return { summariser, loaded: () => vi.mocked(createOpenAiCompatible).mock.calls.map(([options]) => options) };
}

function refusal(environment: Environment): PalimpsestError {
	try {
		compactionOf(environment);
	} catch (error) {
		if (error instanceof PalimpsestError) return error;
	}
	throw new Error("expected a PalimpsestError");
}

describe("the endpoint of the environment", () => {
	it("is absent without its URL, even if everything else is set", () => {
		const others = {
			OPENAI_API_KEY: "sk-of-another-endpoint",
			OPENAI_BASE_URL: url,
			PALIMPSEST_LLM_MODEL: "m",
			PALIMPSEST_LLM_KEY: key,
			PALIMPSEST_LLM_TIMEOUT_MS: "soon",
		};
		expect(compactionOf({}).endpoint).toBeUndefined();
		expect(compactionOf(others).endpoint).toBeUndefined();
		expect(compactionOf({ ...others, PALIMPSEST_LLM_URL: " " }).endpoint).toBeUndefined();
	});

	it("is called with its own URL, model and key only", async () => {
		const other = await startChatServer(complete("from elsewhere"));
		const server = await startChatServer(complete("a summary"));
		vi.stubEnv("OPENAI_BASE_URL", other.baseUrl);
		vi.stubEnv("OPENAI_API_KEY", "sk-of-another-endpoint");
		vi.stubEnv("OPENAI_ORG_ID", "org-of-another-endpoint");
		vi.stubEnv("OPENAI_PROJECT_ID", "project-of-another-endpoint");
		for (const apiKey of [`${key}\n`, ""]) {
			const { summariser } = summariserOf({
				PALIMPSEST_LLM_URL: server.baseUrl,
				PALIMPSEST_LLM_MODEL: "some-model",
				PALIMPSEST_LLM_KEY: apiKey,
			});
			expect(summariser?.name).toBe("openai-compatible (some-model)");
			expect((await summariser?.summarise(request))?.text).toBe("a summary");
		}
		const [withKey, without] = server.requests;
		expect(withKey?.body.model).toBe("some-model");
		expect(withKey?.headers.authorization).toBe(`Bearer ${key}`);
		expect(without?.headers.authorization).toBeUndefined();
		expect(JSON.stringify(server.requests)).not.toContain("another-endpoint");
		expect(other.requests).toEqual([]);
	});

	it("is loaded once, at the first call, and has the same name before and after", async () => {
		const server = await startChatServer(complete());
		const { summariser, loaded } = summariserOf({
			PALIMPSEST_LLM_URL: server.baseUrl,
			PALIMPSEST_LLM_MODEL: "m",
			PALIMPSEST_LLM_TIMEOUT_MS: "45000",
		});
		expect(loaded()).toEqual([]);
		await Promise.all([summariser?.summarise(request), summariser?.summarise(request)]);
		await summariser?.summarise(request);
		expect(loaded()).toEqual([{ baseUrl: server.baseUrl, model: "m", timeoutMs: 45_000 }]);
		const made = createOpenAiCompatible({ baseUrl: server.baseUrl, model: "m" });
		expect(made.name).toBe(summariser?.name);
		await made.close();
	});

	it("ends running calls when it is closed, and accepts no further ones", async () => {
		const server = await startChatServer(hang);
		const environment = { PALIMPSEST_LLM_URL: server.baseUrl, PALIMPSEST_LLM_MODEL: "m" };
		const asked = summariserOf(environment);
		const call = asked.summariser?.summarise(request).catch((error: unknown) => error);
		await expect.poll(() => server.requests.length, patience).toBe(1);
		await asked.summariser?.close();
		expect(await call).toMatchObject({ code: "unknown" });

		const never = summariserOf(environment);
		await never.summariser?.close();
		await never.summariser?.close();
		await expect(never.summariser?.summarise(request)).rejects.toMatchObject({ code: "unknown" });
		expect(never.loaded()).toEqual([]);
		expect(server.requests.length).toBe(1);
	});
});

describe("an invalid endpoint", () => {
	it.each(["localhost:11434/v1", "ftp://host/v1", "https://user:secret@host/v1", "http://", "secret"])(
		"the URL %j is refused without being quoted",
		(given) => {
			const error = refusal({ PALIMPSEST_LLM_URL: given, PALIMPSEST_LLM_MODEL: "m" });
			expect(error.code).toBe("invalid_policy");
			expect(error.message).toContain("PALIMPSEST_LLM_URL: Expected the base URL");
			expect(error.message).not.toMatch(/secret|11434|ftp/);
		},
	);

	it("reports all problems at once, and never the key", () => {
		const error = refusal({
			PALIMPSEST_LLM_URL: "nonsense",
			PALIMPSEST_LLM_KEY: `${key} ${key}`,
			PALIMPSEST_LLM_TIMEOUT_MS: "1.5",
		});
		expect(error.message.match(/PALIMPSEST_LLM_\w+(?=: )/g)).toEqual([
			"PALIMPSEST_LLM_URL",
			"PALIMPSEST_LLM_MODEL",
			"PALIMPSEST_LLM_TIMEOUT_MS",
			"PALIMPSEST_LLM_KEY",
		]);
		expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(key);
	});

	it.each(["0", "-5", "1e3", "2147483648", "soon", "9".repeat(400)])("refuses a time of %j", (given) => {
		const environment = { PALIMPSEST_LLM_URL: url, PALIMPSEST_LLM_MODEL: "m", PALIMPSEST_LLM_TIMEOUT_MS: given };
		expect(refusal(environment).message).toContain("PALIMPSEST_LLM_TIMEOUT_MS: Expected a whole number");
	});

	it.each(["", " "])("ignores a model of %j", (given) => {
		const error = refusal({ PALIMPSEST_LLM_URL: url, PALIMPSEST_LLM_MODEL: given });
		expect(error.message).toContain("PALIMPSEST_LLM_MODEL: Expected the name of the model");
	});
});

describe("its variables", () => {
	const names = ["PALIMPSEST_LLM_URL", "PALIMPSEST_LLM_MODEL", "PALIMPSEST_LLM_KEY", "PALIMPSEST_LLM_TIMEOUT_MS"];

	it("are known, and not part of the policy", () => {
		const environment = Object.fromEntries(names.map((name) => [name, key]));
		expect(Object.keys(otherVariables)).toEqual(expect.arrayContaining(names));
		expect(environmentLayer(environment)).toEqual({});
	});

	it("are suggested for a mistyped name, without its value", () => {
		for (const name of ["PALIMPSEST_LLM_KEYS", "PALIMPSEST_LLM_APIKEY"]) {
			expect(() => environmentLayer({ [name]: key })).toThrow("Did you mean PALIMPSEST_LLM_KEY?");
			expect(() => environmentLayer({ [name]: key })).not.toThrow(key);
		}
	});
});
