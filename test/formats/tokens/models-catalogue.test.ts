import { beforeEach, describe, expect, it, vi } from "vitest";
import {
	contextWindowOfModel,
	familyOfModel,
	findInCatalogue,
	modelNames,
} from "../../../src/formats/tokens/models.ts";

interface Listed {
	readonly id: string;
	readonly context_window?: number;
}

/** A catalogue of the test's own: models by their providers, and which spellings it finds. */
const catalogue = vi.hoisted(() => ({
	models: {} as Record<string, Listed[]>,
	asked: [] as unknown[],
	find: (_name: string, _provider?: string): object | null => null,
}));

vi.mock("@pydantic/genai-prices", () => ({
	calcPrice: (_usage: unknown, name: string, { providerId }: { providerId?: string }) => {
		catalogue.asked.push(providerId === undefined ? [name] : [name, providerId]);
		return catalogue.find(name, providerId);
	},
	findProvider: ({ providerId }: { providerId: string }) =>
		catalogue.models[providerId] && { models: catalogue.models[providerId] },
}));

const found = (provider: string, window?: number) => ({
	provider: { id: provider },
	model: { context_window: window },
	model_price: { input_mtok: 3 },
});

beforeEach(() => {
	catalogue.models = {};
	catalogue.asked = [];
	catalogue.find = () => null;
});

/** The name of the model with the assumed window, from the note. */
async function relativeOf(model: string): Promise<string | undefined> {
	const window = await contextWindowOfModel(model);
	return window && /the window of (\S+) is assumed/.exec(window.notes[0] ?? "")?.[1];
}

/** A provider for each model, the first with a window of 1000 tokens, each other with one less than the one before it. */
function list(provider: string, ...names: string[]): void {
	catalogue.models[provider] = names.map((id, index) => ({ id, context_window: 1_000 - index }));
}

describe("a catalogue that lists a relative", () => {
	it.each([
		["claude-opus-9", "claude-opus-8", ["anthropic"]],
		["gpt-oss-20b", "gpt-oss-120b", ["openai"]],
		["chatgpt-9-mini", "gpt-8-mini", ["openai"]],
		["o9", "o8", ["openai"]],
		["gemini-9-flash", "gemini-8-flash", ["google"]],
		["gemma-9", "gemma-8", ["google", "aws", "openrouter"]],
		["grok-9", "grok-8", ["x-ai"]],
		["deepseek-r9", "deepseek-r8", ["aws", "openrouter"]],
		["deepseek-v9", "deepseek-v8", ["deepseek"]],
		["qwen9", "qwen8", ["openrouter", "aws"]],
		["llama-9", "llama-8", ["aws", "groq", "openrouter"]],
		["codestral-9", "codestral-8", ["mistral"]],
		["devstral-9", "devstral-8", ["mistral"]],
		["ministral-9", "ministral-8", ["mistral"]],
		["mistral-9", "mistral-8", ["mistral", "openrouter", "aws"]],
		["kimi-k9", "kimi-k8", ["moonshotai"]],
		["glm-9", "glm-8", ["openrouter"]],
		["minimax-m9", "minimax-m8", ["openrouter"]],
		["nova-9", "nova-8", ["aws"]],
		["command-r-9", "command-r-8", ["cohere", "openrouter"]],
		["command-a-9", "command-a-8", ["cohere", "openrouter"]],
	])("gives %s the window of %s, listed by any of %j", async (asked, relative, providers) => {
		for (const provider of ["anthropic", "openai", "google", "aws", "openrouter", "x-ai", "deepseek", "groq"]) {
			catalogue.models = { nobody: [] };
			list(provider, relative);
			expect(await relativeOf(asked), provider).toBe(providers.includes(provider) ? relative : undefined);
		}
		for (const provider of providers) {
			catalogue.models = {};
			list(provider, "claude-opus-1", "gpt-1", "gemini-1", "nova-1", "glm-1", "grok-1", relative);
			expect(await relativeOf(asked), provider).toBe(relative);
		}
	});

	it.each([
		[
			"the latest version that is not later",
			"claude-opus-4.5",
			["claude-opus-4.1", "claude-opus-4.4", "claude-opus-5"],
		],
		["its own version", "claude-opus-4.4-preview", ["claude-opus-4.1", "claude-opus-4.4", "claude-opus-4.6"]],
		[
			"the latest of all, if it asks for that",
			"claude-opus-latest",
			["claude-opus-9", "claude-opus-4.4", "claude-opus-10"],
			"claude-opus-10",
		],
		["the smallest window, if it names no version", "claude-opus", ["claude-opus-4.4", "claude-opus-4"]],
		[
			"the smallest window of one version",
			"claude-opus-4.5",
			["claude-opus-4-4", "claude-opus-4.4", "claude-opus-4.1"],
		],
		[
			"another tier only if its own is older",
			"claude-opus-4.5",
			["claude-haiku-4.5", "claude-opus-4.4", "claude-opus-4.6"],
		],
		[
			"the whole tier before a part of it",
			"gemini-5-flash-lite",
			["gemini-4-flash", "gemini-3-flash-lite", "gemini-4-lite"],
			"gemini-3-flash-lite",
		],
		["words of a tier in any order", "gemini-5-lite-flash", ["gemini-4-flash", "gemini-3-flash-lite"]],
		["its tier in spite of a suffix", "gemini-9-flash:free", ["gemini-9-pro", "gemini-8-flash"], "gemini-8-flash"],
		["a part of its tier before others", "gemini-5-flash-lite", ["gemini-4-pro", "gemini-3-flash"]],
		["any tier, if its own has no earlier version", "claude-opus-4.5", ["claude-opus-5", "claude-haiku-4.4"]],
		["no model with a suffix that names another kind", "gemini-5-flash", ["gemini-4-flash-image", "gemini-3-flash"]],
		[
			"no model that another maker made from one of the family",
			"llama-9",
			["hermes-llama-8", "meta.llama-7"],
			"meta.llama-7",
			"aws",
		],
		["no model without a version, if it has one", "kimi-k9", ["kimi-latest", "kimi-k2"], "kimi-k2", "moonshotai"],
	] as const)("takes %s: %s", async (_rule, asked, names, relative: string = names[1] ?? "", provider?: string) => {
		const maker = provider ?? (asked.startsWith("claude") ? "anthropic" : "google");
		list(maker, ...names);
		expect(await relativeOf(asked)).toBe(relative);
	});

	it.each([
		["claude-opus-4-5", "claude-opus-4-5-20990101", "claude-opus-4-5"],
		["gemini-2-5-flash", "gemini-2-5-flash-05-2099", "gemini-2-5-flash"],
		["gemini-2-5-flash", "gemini-2-5-flash-2025-06-05", "gemini-2-5-flash"],
		["gemini-2-5-flash", "gemini-2-5-flash-06-05", "gemini-2-5-flash"],
		["gemini-4-flash", "gemini-flash-2099-11-05", "gemini-3-flash"],
		["gemini-4-flash", "gemini-flash-05-16", "gemini-3-flash"],
	])("takes no date for a version: with %s listed, %s", async (listed, asked, relative) => {
		list(listed.startsWith("claude") ? "anthropic" : "google", listed, "claude-3-opus", "gemini-3-flash");
		expect(await relativeOf(asked)).toBe(relative);
	});

	it.each([
		["gpt-35-turbo-9k", ["gpt-3.4", "gpt-3.5", "gpt-3.6"], "gpt-3.5"],
		["gpt-4.10", ["gpt-4.9", "gpt-4.2", "gpt-4.1"], "gpt-4.1"],
		["o9-mini", ["o8", "o8-mini", "o7-mini"], "o8-mini"],
		["gpt-9-8k", ["gpt-8", "gpt-9"], "gpt-9"],
		["gpt-9-120b", ["gpt-8", "gpt-9"], "gpt-9"],
		["chatgpt-4o-latest", ["gpt-4", "gpt-4o"], "gpt-4o"],
	])("reads the version of %s", async (asked, names, relative) => {
		list("openai", ...names);
		expect(await relativeOf(asked)).toBe(relative);
	});

	it.each([
		["accounts/fireworks/models/llama-v3p1-8b-instruct", "meta.llama3-1-8b-instruct-v1:0"],
		["llama-3-8b", "meta.llama3-8b-instruct-v1:0"],
		["us.meta.llama3-3-70b-instruct-v1:0", "meta.llama3-1-8b-instruct-v1:0"],
		["meta-llama/llama-3.2:free", "meta.llama3-1-8b-instruct-v1:0"],
		["llama3:8b", "meta.llama3-8b-instruct-v1:0"],
		["llama3.1:70b-text", "meta.llama3-1-8b-instruct-v1:0"],
	])("reads hosts' spellings: %s is like %s", async (asked, relative) => {
		list("aws", "meta.llama3-8b-instruct-v1:0", "meta.llama3-1-8b-instruct-v1:0", "meta.llama4-scout-17b-v1:0");
		expect(await relativeOf(asked)).toBe(relative);
	});

	it.each(["opus", "sonnet", "haiku", "opus[fast]", "OPUS", "models/haiku"])(
		"knows Claude Code's tier %s",
		async (tier) => {
			list("anthropic", "claude-opus-1", "claude-sonnet-1", "claude-haiku-1");
			const plain = tier.toLowerCase().replace(/\W*models\W|\[.*/g, "");
			expect(await relativeOf(tier)).toBe(`claude-${plain}-1`);
		},
	);

	it.each([
		"gpt-nope",
		"agpt-9",
		"gptst-9",
		"gptxx-9",
		"opusx",
		"magnum-opus",
		"gemini-9-image",
		"gemini-9-tts",
		"gemini-9-embedding",
		"gemini-9-embed",
		"gemini-9-embeds",
		"gemini-9-embeddings",
		"gemini-9-live",
		"glm-9v",
		"glm-9.5v",
		"glm-10v",
		"glm-9-vl",
		"claude",
		"claude-",
	])("has no entry for %s, which has no family or another kind, unless the name is the family", async (asked) => {
		const named = "claude-opus-1";
		list("openai", "gpt-1");
		list("google", "gemini-1");
		list("openrouter", "glm-1");
		list("anthropic", named);
		expect(await relativeOf(asked)).toBe(asked.startsWith("claude") ? named : undefined);
	});

	it.each([0, -5, 1.5, undefined])("passes over a window of %s", async (window) => {
		catalogue.models = {
			anthropic: [{ id: "claude-opus-2", ...(window === undefined ? {} : { context_window: window }) }],
		};
		expect(await relativeOf("claude-opus-3")).toBeUndefined();
		catalogue.models.anthropic?.push({ id: "claude-opus-1", context_window: 1 });
		expect(await relativeOf("claude-opus-3")).toBe("claude-opus-1");
	});

	it("uses the documented window of a relative without a listed one, and quotes at most 80 characters of a name", async () => {
		catalogue.models = { google: [{ id: "gemini-3-pro" }] };
		const name = `gemini-4-pro-${"x".repeat(100)}`;
		const { tokens, notes: [note = ""] = [] } = (await contextWindowOfModel(name)) ?? {};
		expect(tokens).toBe(1_048_576);
		expect(note).toContain(
			`for ${JSON.stringify(name.slice(0, 80))}, so the window of gemini-3-pro is assumed: 1048576 tokens.`,
		);
		expect(note).toContain("guard.context_window_override");
	});
});

describe("documented windows", () => {
	it.each(["gemini-2.5-pro", "gemini-3-pro", " GEMINI-3-pro-x", "a/b/gemini-2.5-pro-latest"])(
		"has %j",
		async (model) => {
			expect(await contextWindowOfModel(model)).toEqual({ tokens: 1_048_576, notes: [] });
		},
	);

	it.each(["gemini-3-prox", "my-gemini-3-pro", "gemini-2x5-pro", "gemini-3-pro/other", "gemini-35-pro"])(
		"has not %j",
		async (model) => {
			expect(await contextWindowOfModel(model)).toBeUndefined();
		},
	);

	it.each([
		["x[1m]", 1_000_000],
		["x[1M]  ", 1_000_000],
		["[1m]", undefined],
		["x/[1m]", undefined],
		["x [1m]", undefined],
		["x[1m]y", undefined],
	])("%j has a window of a million tokens: %s", async (model, tokens) => {
		expect((await contextWindowOfModel(model))?.tokens).toBe(tokens);
	});
});

describe("findInCatalogue", () => {
	it("asks for each spelling until one is found", async () => {
		expect(await findInCatalogue(" A/b/C.d\n")).toBeUndefined();
		expect(catalogue.asked).toEqual([["a/b/c.d"], ["c.d", "b"], ["c.d"], ["c-d"], ["c.d", "aws"]]);
		catalogue.asked = [];
		await findInCatalogue("plain");
		expect(catalogue.asked).toEqual([["plain"], ["plain"]]);
		catalogue.asked = [];
		catalogue.find = (_name, provider) => (provider === "b" ? found("b", 7) : null);
		expect(await findInCatalogue("b/c")).toEqual({ provider: "b", contextWindow: 7, prices: { input_mtok: 3 } });
		expect(catalogue.asked).toEqual([["b/c"], ["c", "b"]]);
	});

	it("asks for no empty name", async () => {
		for (const none of ["", " \n"]) expect(await findInCatalogue(none)).toBeUndefined();
		expect(catalogue.asked).toEqual([]);
	});

	it.each([
		["ft:gpt-4o:acme::id", "gpt-4o"],
		[" openai/FT:gpt-4o", "gpt-4o"],
		["gift:gpt-4o", "gift:gpt-4o"],
	])("looks up the model that %s was made from", async (model, name) => {
		await contextWindowOfModel(model);
		expect(catalogue.asked[0]).toEqual([name]);
	});

	it.each([0, -1, 0.5, undefined])("knows no window of %s", async (window) => {
		catalogue.find = () => found("b", window);
		expect(await findInCatalogue("c")).toMatchObject({ provider: "b", contextWindow: undefined });
	});
});

describe("familyOfModel", () => {
	it.each([
		["anthropic", "claude-4.7"],
		["google", "gemini"],
		["mistral", "mistral"],
		["deepseek", "deepseek"],
		["cohere", "command"],
		["x-ai", "unmeasured"],
		["moonshotai", "unmeasured"],
		["openai", "unmeasured"],
		["nobody", "unknown"],
	])("goes by the provider %s if the name says nothing", async (provider, family) => {
		catalogue.find = () => found(provider);
		expect(await familyOfModel("nameless")).toBe(family);
		expect(await familyOfModel("qwen-1")).toBe("qwen");
	});

	it.each([
		["learnlm-2", "gemini"],
		["palm-2", "gemini"],
		["text-bison", "gemini"],
		["llama-3", "llama-3"],
		["llama-2", "unmeasured"],
		["ministral-3b", "mistral"],
		["mistral", "mistral"],
		["codestral", "mistral"],
		["magistral", "mistral"],
		["pixtral", "mistral"],
		["voxtral", "mistral"],
		["qwq-32b", "qwen"],
		["r1-1776", "deepseek"],
		["cohere-1", "command"],
		["aya-expanse", "command"],
		["moonshot-v1", "unmeasured"],
		["minimax-m2", "unmeasured"],
		["o9", "unmeasured"],
		["x/o9-mini", "unmeasured"],
		["codex-mini", "unmeasured"],
		["foo9", "unknown"],
		["o-nine", "unknown"],
		["claude-4.6", "claude"],
		["claude-4.7", "claude-4.7"],
		["not-claude-instant-9", "claude"],
		["qwen-distill", "unknown"],
		[" QWEN ", "qwen"],
	])("%s is of %s", async (model, family) => {
		expect(await familyOfModel(model)).toBe(family);
	});
});

describe("modelNames", () => {
	it("lists each maker's models that begin as typed, each once and sorted", async () => {
		const makers = ["anthropic", "openai", "google", "x-ai", "mistral", "deepseek", "moonshotai"];
		for (const [index, maker] of makers.entries()) list(maker, `Model-${9 - index}`, "shared");
		list("aws", "model-of-aws");
		expect(await modelNames(" mODEL ")).toEqual([
			"Model-3",
			"Model-4",
			"Model-5",
			"Model-6",
			"Model-7",
			"Model-8",
			"Model-9",
		]);
		expect(await modelNames("shared")).toEqual(["shared"]);
		expect(await modelNames("")).toHaveLength(8);
		expect(await modelNames("odel")).toEqual([]);
	});
});
