import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeEach, describe, expect, it } from "vitest";
import { origin, pointIn, refusal } from "../support/point-program.ts";

let here: Awaited<ReturnType<typeof pointIn>>;
let home: string;
let folder: string;
beforeEach(async () => {
	here = await pointIn();
	({ home, folder } = here);
});

const settings = (name: string, value: unknown) => here.settings(name, value);
const point: typeof here.point = (...given) => here.point(...given);

describe("Claude Code", () => {
	const assumed = "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL";

	/** What it notes where its user has accepted the folder of the project. */
	const trusted = () => ({ projects: { [join(home, "project")]: { hasTrustDialogAccepted: true } } });

	it("gets the address, its deferred tools and that it talks to Anthropic from the environment", async () => {
		const { upstreams, environment, parameters, refusesThreads } = await point("claude");
		expect(upstreams).toEqual({ anthropic: "https://api.anthropic.com" });
		expect(environment).toEqual({ ANTHROPIC_BASE_URL: origin, ENABLE_TOOL_SEARCH: "true", [assumed]: "1" });
		expect(parameters).toEqual([]);
		expect(refusesThreads).toBe(true);
	});

	it.each([
		["https://gateway.example", {}, true],
		["http://api.anthropic.com", {}, true],
		["https://api.anthropic.com.example", {}, true],
		["https://api.anthropic.com:8443", {}, true],
		["https://user@api.anthropic.com@gateway.example", {}, true],
		["https://api.anthropic.com", { [assumed]: "0" }, true],
		["https://api.anthropic.com", { [assumed]: "" }, true],
		["https://api.anthropic.com", {}, false],
	])("is not started as first party at %s with %j and firstParty %s", async (address, environment, firstParty) => {
		const given = { ...environment, ANTHROPIC_BASE_URL: address };
		const pointed = await point("claude", given, { firstParty });
		expect(pointed.environment).not.toHaveProperty(assumed);
		expect(pointed.refusesThreads).toBe(false);
	});

	it("keeps a gateway as the upstream, and the user's choices", async () => {
		const gateway = "https://gateway.example/anthropic";
		const given = { ANTHROPIC_BASE_URL: gateway, ENABLE_TOOL_SEARCH: "false", [assumed]: "1" };
		const pointed = await point("claude", given);
		expect(pointed.upstreams).toEqual({ anthropic: gateway });
		expect(pointed.environment).toEqual({ ANTHROPIC_BASE_URL: origin });
		expect(pointed.refusesThreads).toBe(true);
	});

	it("gets a flag where its settings name an address, which would win over the environment", async () => {
		await settings(".claude.json", { env: { ANTHROPIC_BASE_URL: "https://global.example" }, ...trusted() });
		expect((await point("claude")).upstreams).toEqual({ anthropic: "https://global.example" });
		await settings(".claude/settings.json", { env: { ANTHROPIC_BASE_URL: "https://user.example" } });
		expect((await point("claude")).upstreams).toEqual({ anthropic: "https://user.example" });
		await settings("project/.claude/settings.local.json", { env: { ANTHROPIC_BASE_URL: "https://project.example" } });
		const { upstreams, parameters } = await point("claude", { ANTHROPIC_BASE_URL: "https://shell.example" });
		expect(upstreams).toEqual({ anthropic: "https://project.example" });
		expect(parameters[0]).toBe("--settings");
		expect(JSON.parse(parameters[1] ?? "").env.ANTHROPIC_BASE_URL).toBe(origin);
		const userOnly = { parameters: ["--setting-sources", "user", "-p", "x"] };
		expect((await point("claude", {}, userOnly)).upstreams).toEqual({ anthropic: "https://user.example" });
	});

	it.each([
		["an address", { ANTHROPIC_BASE_URL: "https://project.example" }],
		["a proxy", { HTTPS_PROXY: "http://project.example:1" }],
		["a cloud", { CLAUDE_CODE_USE_FOUNDRY: "1", ANTHROPIC_FOUNDRY_RESOURCE: "project" }],
	])("is refused where a folder that it does not trust sets %s", async (_, env) => {
		await settings("project/.claude/settings.json", { env });
		const refused = refusal(/does not trust the folder yet\. Run claude here once/);
		await expect(point("claude")).rejects.toEqual(refused);
		for (const parameters of [
			["--", "-p"],
			["--model", "-stop"],
		])
			await expect(point("claude", {}, { parameters })).rejects.toEqual(refused);
		for (const parameters of [["-p", "x"], ["--print"], ["-cp", "x"], ["--setting-sources", "user"]])
			await point("claude", {}, { parameters });
		await settings(".claude.json", { projects: { [home]: { hasTrustDialogAccepted: true } } });
		await point("claude");
		await settings("project/.git/config", "");
		await expect(point("claude")).rejects.toEqual(refused);
	});

	it("takes what its user's own settings lack from a folder that it trusts", async () => {
		await settings(".claude.json", { env: { CLAUDE_CODE_USE_FOUNDRY: "1" }, ...trusted() });
		await settings("project/.claude/settings.json", { env: { ANTHROPIC_FOUNDRY_RESOURCE: "ours" } });
		expect(Object.values((await point("claude")).upstreams)).toEqual([expect.stringContaining("//ours.")]);
	});

	it("needs no trust for settings of a folder that leave its address alone", async () => {
		await settings("project/.claude/settings.json", { env: { MY_SETTING: "1", ENABLE_TOOL_SEARCH: "false" } });
		expect((await point("claude")).upstreams).toEqual({ anthropic: "https://api.anthropic.com" });
	});

	it("gets the flag of its user with ours laid over it, in a file", async () => {
		await settings(".claude/settings.json", { env: { ANTHROPIC_BASE_URL: "https://user.example" } });
		const own = { model: "opus", env: { ANTHROPIC_BASE_URL: "https://flag.example", MY_KEY: "secret" } };
		await settings("project/own.json", own);
		await settings("project/empty.json", {});
		const empty = await point("claude", {}, { parameters: ["--settings", "empty.json"] });
		expect(JSON.parse(empty.files["claude-settings.json"] ?? "").env.ANTHROPIC_BASE_URL).toBe(origin);
		const file = join(folder, "claude-settings.json");
		for (const [given, expected] of [
			[
				["--settings", JSON.stringify(own), "-p", "x"],
				["--settings", file, "-p", "x"],
			],
			[
				["-p", "x", "--settings=own.json"],
				["-p", "x", `--settings=${file}`],
			],
			[
				["--settings", "{}", "--settings", "own.json"],
				["--settings", "{}", "--settings", file],
			],
		] as const) {
			const { upstreams, parameters, ownParameters, files } = await point("claude", {}, { parameters: given });
			expect(upstreams).toEqual({ anthropic: "https://flag.example" });
			expect([parameters, ownParameters]).toEqual([[], expected]);
			const merged = JSON.parse(files["claude-settings.json"] ?? "");
			expect(merged).toMatchObject({ model: "opus", env: { MY_KEY: "secret", ANTHROPIC_BASE_URL: origin } });
		}
	});

	it("keeps the flag of its user where no settings name an address, and one that it cannot read", async () => {
		const parameters = ["--settings", '{"env":{"A":"1"}}'];
		expect(await point("claude", {}, { parameters })).toMatchObject({ parameters: [], files: {} });
		await settings(".claude/settings.json", { env: { ANTHROPIC_BASE_URL: "https://user.example" } });
		for (const value of ["{broken", "absent.json"]) {
			const pointed = await point("claude", {}, { parameters: ["--settings", value] });
			expect([pointed.parameters, pointed.ownParameters]).toEqual([[], undefined]);
		}
		const behindEnd = ["--", "--settings", "own.json"];
		expect((await point("claude", {}, { parameters: behindEnd })).parameters[0]).toBe("--settings");
	});

	it("is refused where managed settings fix the address", async () => {
		await settings("Programs/ClaudeCode/managed-settings.d/10.json", {
			env: { ANTHROPIC_BASE_URL: "https://it.example" },
		});
		const environment = { ProgramFiles: join(home, "Programs") };
		await expect(point("claude", environment, { platform: "win32" })).rejects.toEqual(
			refusal(/managed settings of this machine set ANTHROPIC_BASE_URL/),
		);
	});

	const bedrock = { CLAUDE_CODE_USE_BEDROCK: "1", AWS_BEARER_TOKEN_BEDROCK: "t" };
	const vertex = { CLAUDE_CODE_USE_VERTEX: "true" };

	it.each([
		["Bedrock", bedrock, { bedrock: "https://bedrock-runtime.us-east-1.amazonaws.com" }, "ANTHROPIC_BEDROCK_BASE_URL"],
		[
			"Bedrock in a region",
			{ ...bedrock, AWS_REGION: "eu-west-1" },
			{ bedrock: "https://bedrock-runtime.eu-west-1.amazonaws.com" },
			"ANTHROPIC_BEDROCK_BASE_URL",
		],
		[
			"Bedrock's Messages",
			{ CLAUDE_CODE_USE_MANTLE: "1", AWS_BEARER_TOKEN_BEDROCK: "t" },
			{ anthropic: "https://bedrock-mantle.us-east-1.api.aws/anthropic" },
			"ANTHROPIC_BEDROCK_MANTLE_BASE_URL",
		],
		[
			"a gateway to Bedrock that signs",
			{ CLAUDE_CODE_USE_BEDROCK: "yes", ANTHROPIC_BEDROCK_BASE_URL: "https://gateway.example/bedrock" },
			{ bedrock: "https://gateway.example/bedrock" },
			"ANTHROPIC_BEDROCK_BASE_URL",
		],
		[
			"Foundry by its resource",
			{ CLAUDE_CODE_USE_FOUNDRY: "1", ANTHROPIC_FOUNDRY_RESOURCE: "ours" },
			{ anthropic: "https://ours.services.ai.azure.com/anthropic" },
			"ANTHROPIC_FOUNDRY_BASE_URL",
		],
		["Vertex", vertex, { vertex: "https://us-east5-aiplatform.googleapis.com/v1" }, "ANTHROPIC_VERTEX_BASE_URL"],
		[
			"Vertex everywhere",
			{ ...vertex, CLOUD_ML_REGION: "global" },
			{ vertex: "https://aiplatform.googleapis.com/v1" },
			"ANTHROPIC_VERTEX_BASE_URL",
		],
		[
			"Vertex in the EU",
			{ ...vertex, CLOUD_ML_REGION: "eu" },
			{ vertex: "https://aiplatform.eu.rep.googleapis.com/v1" },
			"ANTHROPIC_VERTEX_BASE_URL",
		],
		[
			"Bedrock, which wins over Vertex",
			{ ...vertex, ...bedrock },
			{ bedrock: "https://bedrock-runtime.us-east-1.amazonaws.com" },
			"ANTHROPIC_BEDROCK_BASE_URL",
		],
	])("has its cloud as the upstream: %s", async (_, variables, upstreams, name) => {
		const fromEnvironment = await point("claude", variables);
		expect(fromEnvironment.upstreams).toEqual(upstreams);
		expect(fromEnvironment.environment[name]).toMatch(/^http:\/\/127\.0\.0\.1:41234(?:\/v1)?$/);
		expect(fromEnvironment.environment).not.toHaveProperty(assumed);
		await settings(".claude.json", trusted());
		await settings("project/.claude/settings.json", { env: variables });
		expect((await point("claude", { ANTHROPIC_BASE_URL: "https://shell.example" })).upstreams).toEqual(upstreams);
	});

	it("has both of Bedrock's addresses, and one of Foundry's, since it refuses two", async () => {
		const both = await point("claude", { ...bedrock, CLAUDE_CODE_USE_MANTLE: "1" });
		expect(Object.keys(both.upstreams)).toEqual(["anthropic", "bedrock"]);
		const variables = { CLAUDE_CODE_USE_FOUNDRY: "1", ANTHROPIC_FOUNDRY_RESOURCE: "ours" };
		expect((await point("claude", variables)).environment).toMatchObject({ ANTHROPIC_FOUNDRY_RESOURCE: "" });
		await settings(".claude/settings.json", { env: variables });
		const [, flag = ""] = (await point("claude")).parameters;
		expect(JSON.parse(flag).env).toEqual({ ANTHROPIC_FOUNDRY_BASE_URL: origin, ANTHROPIC_FOUNDRY_RESOURCE: "" });
	});

	it.each([
		["that signs its requests to AWS", { CLAUDE_CODE_USE_BEDROCK: "1" }, /AWS_BEARER_TOKEN_BEDROCK/],
		["that signs its requests to Bedrock's Messages", { CLAUDE_CODE_USE_MANTLE: "1" }, /AWS_BEARER_TOKEN_BEDROCK/],
		[
			"with models in two regions",
			{ ...vertex, VERTEX_REGION_CLAUDE_HAIKU_4_5: "global" },
			/VERTEX_REGION_CLAUDE_HAIKU_4_5/,
		],
		["with a Foundry of no name", { CLAUDE_CODE_USE_FOUNDRY: "1" }, /ANTHROPIC_FOUNDRY_RESOURCE/],
		["with a socket", { ANTHROPIC_UNIX_SOCKET: "/run/socket" }, /ANTHROPIC_UNIX_SOCKET/],
		["with another service", { CLAUDE_CODE_USE_ANTHROPIC_AWS: "1" }, /CLAUDE_CODE_USE_ANTHROPIC_AWS/],
	])("is refused %s", async (_, variables, reason) => {
		await expect(point("claude", variables)).rejects.toEqual(refusal(reason));
		await settings(".claude/settings.json", { env: variables });
		await expect(point("claude")).rejects.toEqual(refusal(reason));
		const off = Object.fromEntries(Object.keys(variables).map((name) => [name, name.includes("_USE_") ? "0" : ""]));
		await expect(
			point("claude", {}, { parameters: ["--settings", JSON.stringify({ env: off })] }),
		).resolves.toBeDefined();
	});
});

describe("opencode", () => {
	const baseUrlOf = (content: string | undefined, provider: string) =>
		JSON.parse(content ?? "").provider[provider].options.baseURL;

	it("gets a configuration that overrides its files, which name the upstreams", async () => {
		const jsonc = `{ // mine
			"provider": { "anthropic": { "options": { "baseURL": "https://gateway.example/anthropic/v1" } } }, }`;
		await settings(".config/opencode/opencode.jsonc", jsonc);
		const inline = { model: "anthropic/x", provider: { anthropic: { options: { apiKey: "k" } } } };
		const { upstreams, environment } = await point("opencode", { OPENCODE_CONFIG_CONTENT: JSON.stringify(inline) });
		expect(upstreams).toEqual({
			anthropic: "https://gateway.example/anthropic/v1",
			openai: "https://api.openai.com/v1",
			gemini: "https://generativelanguage.googleapis.com/v1beta",
		});
		const content = environment.OPENCODE_CONFIG_CONTENT;
		expect(JSON.parse(content ?? "")).toMatchObject({
			model: "anthropic/x",
			provider: { anthropic: { options: { apiKey: "k" } } },
		});
		expect(["anthropic", "openai", "google"].map((name) => baseUrlOf(content, name))).toEqual([
			`${origin}/v1`,
			`${origin}/v1`,
			`${origin}/v1beta`,
		]);
	});

	it("has its project's settings over the user's, and the inline ones over both", async () => {
		const provider = (url: string) => ({ provider: { openai: { options: { baseURL: url } } } });
		await settings(".config/opencode/opencode.json", provider("https://user.example/v1"));
		await settings("project/opencode.json", provider("https://project.example/v1"));
		expect((await point("opencode")).upstreams.openai).toBe("https://project.example/v1");
		const inline = JSON.stringify(provider("https://inline.example/v1"));
		expect((await point("opencode", { OPENCODE_CONFIG_CONTENT: inline })).upstreams.openai).toBe(
			"https://inline.example/v1",
		);
	});
});

describe("Gemini CLI and aider", () => {
	it("get the address from the environment, and name their upstreams there", async () => {
		const gemini = await point("gemini", { GOOGLE_GEMINI_BASE_URL: "https://gateway.example" });
		expect(gemini.upstreams).toEqual({ gemini: "https://gateway.example" });
		expect(gemini.environment).toMatchObject({ GOOGLE_GEMINI_BASE_URL: origin });
		const aider = await point("aider", { OPENAI_API_BASE: "https://gateway.example/v1" });
		expect(aider.upstreams).toEqual({ openai: "https://gateway.example/v1", anthropic: "https://api.anthropic.com" });
		expect(aider.environment).toMatchObject({ OPENAI_API_BASE: `${origin}/v1`, ANTHROPIC_API_BASE: origin });
	});
});

describe("Gemini CLI", () => {
	const signIn = (selectedType: string) => settings(".gemini/settings.json", { security: { auth: { selectedType } } });

	it("is refused with a sign-in that takes no address", async () => {
		await signIn("vertex-ai");
		await expect(point("gemini")).rejects.toEqual(refusal(/its sign-in is vertex-ai.*Gemini API key/));
		await signIn("gemini-api-key");
		await expect(point("gemini")).resolves.toBeDefined();
		await settings(".gemini/settings.json", {});
		await expect(point("gemini")).rejects.toEqual(refusal(/only where a sign-in is chosen/));
		await settings("project/.gemini/settings.json", { security: { auth: { selectedType: "gemini-api-key" } } });
		await expect(point("gemini")).resolves.toBeDefined();
		await settings("project/.gemini/settings.json", {});
		await expect(point("gemini", { GOOGLE_GENAI_USE_VERTEXAI: "true" })).rejects.toEqual(refusal(/vertex-ai/));
	});

	it("has the address of the user's own file of variables, and none of a folder's", async () => {
		await settings("mine/.gemini/settings.json", { security: { auth: { selectedType: "gemini-api-key" } } });
		await settings("mine/.gemini/.env", "GOOGLE_GEMINI_BASE_URL=https://file.example\n");
		const given = { GEMINI_CLI_HOME: join(home, "mine") };
		expect((await point("gemini", given)).upstreams).toEqual({ gemini: "https://file.example" });
		await settings("project/.env", "GOOGLE_GEMINI_BASE_URL=https://foreign.example\n");
		await expect(point("gemini", given)).rejects.toEqual(refusal(/\.env names GOOGLE_GEMINI_BASE_URL.*trusts/));
		const named = { ...given, GOOGLE_GEMINI_BASE_URL: "https://shell.example" };
		expect((await point("gemini", named)).upstreams).toEqual({ gemini: "https://shell.example" });
	});

	it("gets the address of Google's own backend with a Google sign-in", async () => {
		await signIn("oauth-personal");
		const google = await point("gemini");
		expect(google.upstreams).toEqual({ gemini: "https://cloudcode-pa.googleapis.com" });
		expect(google.environment).toEqual({ CODE_ASSIST_ENDPOINT: origin });
		const own = await point("gemini", { CODE_ASSIST_ENDPOINT: "https://gateway.example" });
		expect(own.upstreams).toEqual({ gemini: "https://gateway.example" });
	});
});

describe("pi", () => {
	it("gets an extension that changes the addresses of its providers and nothing else", async () => {
		await settings(".pi/agent/models.json", { providers: { anthropic: { baseUrl: "https://gateway.example" } } });
		const { upstreams, parameters, files, environment } = await point("pi");
		expect(upstreams.anthropic).toBe("https://gateway.example");
		expect(environment).toEqual({});
		const [[name = "", text = ""] = []] = Object.entries(files);
		expect(parameters).toEqual(["--extension", join(folder, name)]);
		await writeFile(join(folder, "extension.mjs"), text);
		const { default: extend } = await import(pathToFileURL(join(folder, "extension.mjs")).href);
		const registered: unknown[] = [];
		extend({ registerProvider: (...given: unknown[]) => registered.push(given) });
		expect(registered).toEqual([
			["anthropic", { baseUrl: origin }],
			["openai", { baseUrl: `${origin}/v1` }],
			["google", { baseUrl: `${origin}/v1beta` }],
		]);
	});
});

describe("Copilot CLI", () => {
	it("is taken with a provider of its own, and refused without", async () => {
		await expect(point("copilot")).rejects.toEqual(refusal(/COPILOT_PROVIDER_BASE_URL/));
		const openai = await point("copilot", { COPILOT_PROVIDER_BASE_URL: "https://api.openai.com/v1" });
		expect([openai.upstreams, openai.environment]).toEqual([
			{ openai: "https://api.openai.com/v1" },
			{ COPILOT_PROVIDER_BASE_URL: `${origin}/v1`, COPILOT_PROVIDER_TRANSPORT: "http" },
		]);
		const environment = { COPILOT_PROVIDER_BASE_URL: "https://api.anthropic.com", COPILOT_PROVIDER_TYPE: "anthropic" };
		const anthropic = await point("copilot", environment);
		expect(anthropic.upstreams).toEqual({ anthropic: "https://api.anthropic.com" });
	});
});

describe("Cline CLI", () => {
	const file = ".cline/data/settings/providers.json";
	const stored = {
		version: 1,
		lastUsedProvider: "openai-compatible",
		providers: {
			"openai-compatible": {
				settings: { apiKey: "k", model: "m", baseUrl: "https://gateway.example/v1" },
				updatedAt: "now",
			},
			anthropic: { settings: { apiKey: "a" } },
		},
	};

	it("gets a copy of its provider settings with another address, and keeps its own file", async () => {
		await settings(file, stored);
		const { upstreams, environment, files } = await point("cline");
		expect(upstreams).toEqual({ openai: "https://gateway.example/v1" });
		expect(environment.CLINE_PROVIDER_SETTINGS_PATH).toBe(join(folder, "providers.json"));
		const copy = JSON.parse(files["providers.json"] ?? "");
		expect(copy.providers["openai-compatible"]).toEqual({
			settings: { apiKey: "k", model: "m", baseUrl: `${origin}/v1` },
			updatedAt: "now",
		});
		expect(copy.providers.anthropic).toEqual(stored.providers.anthropic);
		expect(JSON.parse(await readFile(join(home, file), "utf8"))).toEqual(stored);
	});

	it("has the provider's own address for Anthropic, and is refused with an account of Cline's", async () => {
		await settings(file, { ...stored, lastUsedProvider: "anthropic" });
		const { upstreams, files } = await point("cline");
		// Cline puts no version into the paths of its requests.
		expect(upstreams).toEqual({ anthropic: "https://api.anthropic.com/v1" });
		expect(JSON.parse(files["providers.json"] ?? "").providers.anthropic.settings.baseUrl).toBe(`${origin}/v1`);
		await settings(file, { ...stored, lastUsedProvider: "cline" });
		for (const flags of [
			["-P", "anthropic"],
			["--provider=anthropic", "--data-dir", join(home, file, "../..")],
		])
			expect((await point("cline", {}, flags)).upstreams).toEqual({ anthropic: "https://api.anthropic.com/v1" });
		await expect(point("cline")).rejects.toEqual(refusal(/the address of its provider \(cline\) cannot be set/));
	});
});

describe("settings that cannot be read", () => {
	it("count as none, as the program itself will complain of them", async () => {
		await settings(".claude/settings.json", "{ broken");
		await settings(".codex/config.toml", "also = = broken");
		expect((await point("claude")).upstreams).toEqual({ anthropic: "https://api.anthropic.com" });
		expect((await point("codex")).upstreams).toEqual({ openai: "https://api.openai.com/v1" });
	});

	it.each([
		["gemini", ".gemini/settings.json", '{\n  "security": {,}\n}', "it is not valid JSON (line 2, column 16)"],
		["droid", ".factory/settings.json", '{ "customModels": [', "it is not valid JSON (line 1, column 20)"],
		["command-code", ".commandcode/providers.json", '{ "provider" {} }', "it is not valid JSON (line 1, column 14)"],
		["goose", ".config/goose/config.yaml", "GOOSE_PROVIDER: [a\nb: c", "it is not valid YAML (line 2, column 1)"],
		["kimi", ".kimi-code/config.toml", "[a]\nb = = 1\n", "it is not valid TOML (line 2, column 5)"],
	])("are named where %s cannot be pointed without them", async (program, file, text, problem) => {
		await settings(file, text);
		const refused = await point(program).catch((error: Error) => error.message);
		expect(refused).toContain(`cannot be started behind a proxy: ${join(here.home, file)} cannot be read: ${problem}.`);
	});
});
