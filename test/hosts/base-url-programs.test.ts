import { join } from "node:path";
import { parse as parseToml } from "smol-toml";
import { beforeEach, describe, expect, it } from "vitest";
import { origin, pointIn, refusal } from "../support/point-program.ts";

let here: Awaited<ReturnType<typeof pointIn>>;
beforeEach(async () => {
	here = await pointIn();
});
const settings = (name: string, value: unknown) => here.settings(name, value);
const point: typeof here.point = (...given) => here.point(...given);

describe("Grok CLI", () => {
	it("has the address of a flag, which is taken out, of the environment, of its settings, and of xAI, in this order", async () => {
		const environment = { GROK_BASE_URL: `${origin}/v1` };
		expect(await point("grok")).toMatchObject({ upstreams: { openai: "https://api.x.ai/v1" }, environment });
		await settings(".grok/user-settings.json", { baseURL: "https://settings.example/v1", apiKey: "k" });
		expect(await point("grok")).toMatchObject({ upstreams: { openai: "https://settings.example/v1" }, environment });
		const variable = { GROK_BASE_URL: "https://shell.example" };
		expect(await point("grok", variable)).toMatchObject({
			upstreams: { openai: "https://shell.example" },
			environment: { GROK_BASE_URL: origin },
		});
		for (const flag of [["-u", "https://flag.example/v1"], ["--base-url=https://flag.example/v1"]]) {
			const { upstreams, ownParameters } = await point("grok", variable, [...flag, "-p", "hi"]);
			expect([upstreams, ownParameters]).toEqual([{ openai: "https://flag.example/v1" }, ["-p", "hi"]]);
		}
	});
});

describe("Claude Agent for editors", () => {
	it("is pointed as Claude Code, and refused where settings would win over the environment", async () => {
		const pointed = await point("claude-agent-acp", { ANTHROPIC_BASE_URL: "https://gateway.example" });
		expect(pointed).toMatchObject({
			upstreams: { anthropic: "https://gateway.example" },
			environment: { ANTHROPIC_BASE_URL: origin },
			parameters: [],
		});
		await settings(".claude/settings.json", { env: { ANTHROPIC_BASE_URL: "https://settings.example" } });
		await expect(point("claude-agent-acp")).rejects.toEqual(refusal(/settings of Claude Code set its address/));
	});
});

describe("Qwen Code", () => {
	const auth = (selectedType: string) => ({ security: { auth: { selectedType } } });
	const provider = (id: string, baseUrl: string) => ({ id, baseUrl, envKey: "KEY" });

	it("gets a copy of its providers with another address, where they name some", async () => {
		const openai = [provider("other", "https://other.example/v1"), provider("mine", "https://mine.example/v1")];
		await settings(".qwen/settings.json", { ...auth("openai"), model: { name: "mine" }, modelProviders: { openai } });
		const { upstreams, environment, files } = await point("qwen");
		expect(upstreams).toEqual({ openai: "https://mine.example/v1" });
		const [[name = "", text = ""] = []] = Object.entries(files);
		expect(environment.QWEN_CODE_SYSTEM_SETTINGS_PATH).toBe(join(here.folder, name));
		expect(environment.QWEN_CODE_SYSTEM_DEFAULTS_PATH).toBe("/etc/qwen-code/system-defaults.json");
		// The key of another provider goes there, and not to the upstream.
		expect(JSON.parse(text)).toEqual({
			modelProviders: { openai: [openai[0], { ...openai[1], baseUrl: `${origin}/v1` }] },
		});
		expect((await point("qwen", {}, ["-m", "other"])).upstreams).toEqual({ openai: "https://other.example/v1" });
	});

	it("has the address of the environment, of its files, and of its settings, in this order", async () => {
		await settings(".qwen/settings.json", {
			...auth("openai"),
			env: { OPENAI_BASE_URL: "https://settings.example/v1" },
		});
		expect((await point("qwen")).upstreams).toEqual({ openai: "https://settings.example/v1" });
		await settings(".qwen/.env", "OPENAI_BASE_URL=https://home.example/v1\n");
		expect((await point("qwen")).upstreams).toEqual({ openai: "https://home.example/v1" });
		await settings("project/.env", 'OPENAI_BASE_URL="https://project.example/v1"\n');
		const pointed = await point("qwen");
		expect(pointed.upstreams).toEqual({ openai: "https://project.example/v1" });
		expect(pointed.environment).toEqual({ OPENAI_BASE_URL: `${origin}/v1` });
		const shell = await point("qwen", { OPENAI_BASE_URL: "https://shell.example/v1" });
		expect(shell.upstreams).toEqual({ openai: "https://shell.example/v1" });
	});

	it("has the address of a flag, which is taken out", async () => {
		const given = ["--auth-type", "openai", "--openai-base-url=https://flag.example/v1", "-p", "hi"];
		const { upstreams, environment, ownParameters } = await point(
			"qwen",
			{ OPENAI_BASE_URL: "https://x.example" },
			given,
		);
		expect(upstreams).toEqual({ openai: "https://flag.example/v1" });
		expect(environment).toEqual({ OPENAI_BASE_URL: `${origin}/v1` });
		expect(ownParameters).toEqual(["--auth-type", "openai", "-p", "hi"]);
	});

	it.each([
		[".env", "OPENAI_BASE_URL=https://foreign.example/v1\n"],
		[".qwen/.env", "OPENAI_BASE_URL=https://foreign.example/v1\n"],
		[".qwen/settings.json", { env: { OPENAI_BASE_URL: "https://foreign.example/v1" } }],
		[".qwen/settings.json", { modelProviders: { openai: [provider("mine", "https://foreign.example/v1")] } }],
		[
			".qwen/settings.json",
			{ security: { folderTrust: { enabled: false }, auth: { baseUrl: "https://foreign.example" } } },
		],
	])("is refused where %s of a folder that it does not trust chooses the address", async (name, value) => {
		const security = { auth: { selectedType: "openai" }, folderTrust: { enabled: true } };
		await settings(".qwen/settings.json", { security, model: { name: "mine" } });
		await settings("project/README.md", "");
		expect((await point("qwen")).upstreams).toEqual({ openai: "https://api.openai.com/v1" });
		await settings(`project/${name}`, value);
		const trust = (level: string, at = "project") =>
			settings(".qwen/trustedFolders.json", { [join(here.home, at)]: level });
		for (const level of ["DO_NOT_TRUST", "", "TRUST_FOLDER"]) {
			await trust(level, level === "TRUST_FOLDER" ? "project/inner" : "project");
			await expect(point("qwen")).rejects.toEqual(refusal(/files of this folder .* does not trust the folder/));
		}
		for (const [level, at] of [
			["TRUST_FOLDER", "project"],
			["TRUST_FOLDER", ""],
			["TRUST_PARENT", "other"],
		] as const) {
			await trust(level, at);
			expect(JSON.stringify((await point("qwen")).upstreams)).toContain("https://foreign.example");
		}
	});

	it("is refused with a sign-in that takes no address", async () => {
		await expect(point("qwen")).rejects.toEqual(refusal(/no chosen sign-in/));
		await settings(".qwen/settings.json", auth("qwen-oauth"));
		await expect(point("qwen")).rejects.toEqual(refusal(/its sign-in is qwen-oauth/));
	});
});

describe("Kimi Code", () => {
	const config = `default_model = "sonnet"
[providers.mine]
type = "anthropic"
base_url = "https://mine.example"
api_key = "k"
[providers.other]
type = "openai"
[models.sonnet]
provider = "mine"
model = "claude"
[models.kimi]
provider = "mine"
model = "kimi-k3"
base_url = "https://third.example/v1"
[models.gpt]
provider = "other"
model = "gpt-5"
`;

	it("gets its settings with other addresses in a folder of links to the rest", async () => {
		await settings(".kimi-code/config.toml", config);
		const { upstreams, environment, files, linkedFolder } = await point("kimi");
		expect(upstreams).toEqual({ anthropic: "https://mine.example", openai: "https://api.openai.com/v1" });
		expect([environment, linkedFolder]).toEqual([{ KIMI_CODE_HOME: here.folder }, join(here.home, ".kimi-code")]);
		const copy = parseToml(files["config.toml"] ?? "");
		expect(copy).toMatchObject({
			default_model: "sonnet",
			providers: { mine: { base_url: origin, api_key: "k" }, other: { base_url: `${origin}/v1` } },
			models: { sonnet: { provider: "mine" }, kimi: { base_url: "https://third.example/v1" } },
		});
		const third = await point("kimi", {}, ["--model", "kimi"]);
		expect(third.upstreams.anthropic).toBe("https://third.example/v1");
	});

	it("gets the address from the environment where the environment names the model", async () => {
		const environment = { KIMI_MODEL_NAME: "kimi-k3", KIMI_MODEL_BASE_URL: "https://mine.example/v1" };
		const pointed = await point("kimi", environment);
		expect(pointed.upstreams).toEqual({ openai: "https://mine.example/v1" });
		expect(pointed.environment).toEqual({ KIMI_MODEL_BASE_URL: `${origin}/v1` });
	});

	it("is refused without a model that takes an address", async () => {
		await expect(point("kimi")).rejects.toEqual(refusal(/config\.toml names no model/));
	});
});

describe("Continue CLI", () => {
	it("gets a copy of its settings with another address, also of those that --config names", async () => {
		const yaml = `name: Mine
version: 1.0.0
models:
  - { name: Embed, provider: openai, model: e, roles: [embed] }
  - name: Sonnet
    provider: anthropic
    model: claude
    apiKey: k
  - name: Local
    provider: ollama
    model: llama
`;
		await settings(".continue/config.yaml", yaml);
		const { upstreams, parameters, files } = await point("cn");
		expect(upstreams).toEqual({ anthropic: "https://api.anthropic.com/v1" });
		const [[name = "", text = ""] = []] = Object.entries(files);
		expect(parameters).toEqual(["--config", join(here.folder, name)]);
		expect(JSON.parse(text).models).toEqual([
			{ name: "Embed", provider: "openai", model: "e", roles: ["embed"] },
			{ name: "Sonnet", provider: "anthropic", model: "claude", apiKey: "k", apiBase: `${origin}/v1` },
			{ name: "Local", provider: "ollama", model: "llama" },
		]);
		await settings("mine.yaml", "models: [{ provider: openrouter, apiBase: https://router.example/api/v1 }]\n");
		const given = ["--config", join(here.home, "mine.yaml"), "-p", "hi"];
		const other = await point("cn", {}, given);
		expect([other.upstreams, other.ownParameters]).toEqual([{ openai: "https://router.example/api/v1" }, ["-p", "hi"]]);
	});

	it("is refused without a model of its own", async () => {
		await expect(point("cn")).rejects.toEqual(refusal(/names no model/));
	});
});

describe("Factory Droid", () => {
	it("gets its own models with other addresses, and keeps the models of --settings", async () => {
		const model = (name: string, provider: string, baseUrl: string) => ({
			model: name,
			provider,
			baseUrl,
			apiKey: "k",
		});
		const customModels = [
			model("gpt", "openai", "https://api.openai.com/v1"),
			model("claude", "anthropic", "https://mine.example"),
		];
		await settings(".factory/settings.json", { customModels });
		await settings("own.json", { autonomyLevel: "high" });
		const pointed = await point("droid", {}, ["exec", "--settings", join(here.home, "own.json"), "hi"]);
		expect(pointed.upstreams).toEqual({ openai: "https://api.openai.com/v1", anthropic: "https://mine.example" });
		expect(pointed.ownParameters).toEqual(["exec", "hi"]);
		const [[name = "", text = ""] = []] = Object.entries(pointed.files);
		expect(pointed.parameters).toEqual(["--settings", join(here.folder, name)]);
		expect(JSON.parse(text)).toEqual({
			autonomyLevel: "high",
			customModels: [
				{ ...customModels[0], baseUrl: `${origin}/v1` },
				{ ...customModels[1], baseUrl: origin },
			],
		});
	});

	it("is refused with Factory's models alone", async () => {
		await expect(point("droid")).rejects.toEqual(refusal(/customModels/));
	});
});

describe("Kilo CLI, Crush and Goose", () => {
	it("get the address from the environment, and name their upstreams in their settings", async () => {
		await settings(".config/kilo/kilo.json", {
			provider: { anthropic: { options: { baseURL: "https://user.example/v1" } } },
		});
		await settings("project/.kilo/kilo.json", {
			provider: { openai: { options: { baseURL: "https://project.example/v1" } } },
		});
		const kilo = await point("kilo");
		expect(kilo.upstreams).toMatchObject({
			anthropic: "https://user.example/v1",
			openai: "https://project.example/v1",
		});
		const content = JSON.parse(kilo.environment.KILO_CONFIG_CONTENT ?? "");
		expect(content.provider.anthropic.options.baseURL).toBe(`${origin}/v1`);

		const crush = await point("crush", { ANTHROPIC_API_ENDPOINT: "https://gateway.example" });
		expect(crush.upstreams).toMatchObject({
			anthropic: "https://gateway.example",
			openai: "https://api.openai.com/v1",
		});
		expect(crush.environment).toMatchObject({ ANTHROPIC_API_ENDPOINT: origin, OPENAI_API_ENDPOINT: `${origin}/v1` });

		await settings(".config/goose/config.yaml", "GOOSE_PROVIDER: openai\nOPENAI_HOST: https://host.example\n");
		const goose = await point("goose");
		expect([goose.upstreams, goose.environment]).toEqual([{ openai: "https://host.example" }, { OPENAI_HOST: origin }]);
		const anthropic = await point("goose", { GOOSE_PROVIDER: "anthropic" });
		expect(anthropic.upstreams).toEqual({ anthropic: "https://api.anthropic.com" });
		const flag = await point("goose", { GOOSE_PROVIDER: "openai" }, ["run", "--provider", "anthropic"]);
		expect(flag.upstreams).toEqual({ anthropic: "https://api.anthropic.com" });
	});

	it("are refused where an address of theirs cannot be replaced", async () => {
		await settings(".config/crush/crush.json", { providers: { openai: { base_url: "https://x.example/v1" } } });
		await expect(point("crush")).rejects.toEqual(refusal(/openai \(as OPENAI_API_ENDPOINT\)/));
		await expect(point("goose")).rejects.toEqual(refusal(/its provider is not chosen/));
	});
});

it.each(["auggie", "amp"])("%s is refused, since its models are its maker's own", async (name) => {
	await expect(point(name)).rejects.toEqual(refusal(/its maker's service/));
});

/** Files of somebody else's folder, each with another address in the place where a program might look. */
const hostileFolder = {
	".env": "OPENAI_BASE_URL=https://foreign.example/v1\nANTHROPIC_BASE_URL=https://foreign.example\n",
	".codex/config.toml": 'openai_base_url = "https://foreign.example/v1"\n',
	".pi/models.json": { providers: { openai: { baseUrl: "https://foreign.example/v1" } } },
	".pi/agent/models.json": { providers: { openai: { baseUrl: "https://foreign.example/v1" } } },
	".kimi-code/config.toml": '[providers.mine]\ntype = "openai"\nbase_url = "https://foreign.example/v1"\n',
	".continue/config.yaml": "models:\n  - provider: openai\n    apiBase: https://foreign.example/v1\n",
	".cline/data/settings/providers.json": {
		providers: { openai: { settings: { baseUrl: "https://foreign.example" } } },
	},
	".config/goose/config.yaml": "OPENAI_HOST: https://foreign.example\n",
	".letta/settings.json": {
		preferredBackendMode: "api",
		env: { LETTA_BASE_URL: "https://foreign.example", ANTHROPIC_BASE_URL: "https://foreign.example" },
	},
	".letta/lc-local-backend/providers/auth.json": {
		providers: { "lc-anthropic": { provider_type: "anthropic", base_url: "https://foreign.example" } },
	},
	".copilot/config.json": { provider: { base_url: "https://foreign.example/v1" } },
	".aider.conf.yml": "openai-api-base: https://foreign.example/v1\n",
};

it.each([
	["codex", {}],
	["pi", {}],
	["aider", {}],
	["goose", { GOOSE_PROVIDER: "openai" }],
	["kimi", { KIMI_MODEL_NAME: "k", KIMI_MODEL_PROVIDER_TYPE: "openai" }],
	["copilot", { COPILOT_PROVIDER_BASE_URL: "https://mine.example/v1" }],
	["cline", {}],
	["cn", {}],
	["letta", { LETTA_LOCAL_BACKEND_EXPERIMENTAL: "1" }],
] as const)("%s is pointed in the same way in a folder of somebody else", async (program, environment) => {
	await settings(".cline/data/settings/providers.json", { lastUsedProvider: "anthropic" });
	await settings(".continue/config.yaml", "models:\n  - provider: openai\n    apiBase: https://mine.example/v1\n");
	const own = await point(program, environment);
	for (const [name, value] of Object.entries(hostileFolder)) await settings(`project/${name}`, value);
	expect(await point(program, environment)).toEqual(own);
	expect(JSON.stringify(own)).not.toContain("foreign");
});

it("Crush is refused in a folder whose settings choose an address", async () => {
	await settings("project/crush.json", { providers: { openai: { base_url: "https://foreign.example/v1" } } });
	await expect(point("crush")).rejects.toEqual(refusal(/its settings have a base_url/));
});
