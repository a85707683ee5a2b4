import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { parse as parseToml } from "smol-toml";
import { beforeEach, describe, expect, it } from "vitest";
import { origin, pointIn, refusal } from "../support/point-program.ts";

let here: Awaited<ReturnType<typeof pointIn>>;
beforeEach(async () => {
	here = await pointIn();
});
const settings = (name: string, value: unknown) => here.settings(name, value);
const point: typeof here.point = (...given) => here.point(...given);
const fileIn = ({ files }: Awaited<ReturnType<typeof point>>) => Object.entries(files)[0] ?? ["", ""];

describe("Command Code", () => {
	const providers = {
		"stand-in": { api: "anthropic-messages", baseURL: "https://mine.example/", models: { sonnet: {} } },
		other: {
			options: { baseURL: "https://other.example/v1" },
			models: { gpt: {}, own: { baseURL: "https://own.example" } },
		},
		off: { disabled: true, baseURL: "https://off.example" },
	};

	/** The requests of `fetch` after the mod that it gets. */
	async function asked(url: string, text: string) {
		const seen: unknown[] = [];
		const own = globalThis.fetch;
		globalThis.fetch = async (input) => {
			seen.push(input);
			return new Response("");
		};
		try {
			// Each address is loaded once.
			const mod = await import(`data:text/javascript,${encodeURIComponent(`${text}// ${url}`)}`);
			expect(typeof mod.default).toBe("function");
			await globalThis.fetch(url);
		} finally {
			globalThis.fetch = own;
		}
		return seen;
	}

	it("gets a mod that sends the requests of its user's providers to the proxy, and no others", async () => {
		await settings(".commandcode/providers.json", { provider: providers });
		const pointed = await point("command-code", {}, ["-p", "hi"]);
		expect(pointed.upstreams).toEqual({ anthropic: "https://mine.example", openai: "https://other.example/v1" });
		const [name, text] = fileIn(pointed);
		expect(pointed.parameters).toEqual(["--mod", join(here.folder, name)]);
		expect(await asked("https://mine.example/v1/messages", text)).toEqual([`${origin}/v1/messages`]);
		expect(await asked("https://other.example/v1/chat/completions", text)).toEqual([`${origin}/v1/chat/completions`]);
		for (const url of ["https://own.example/v1/chat/completions", "https://mine.example.org/v1/messages"])
			expect(await asked(url, text)).toEqual([url]);
		const chosen = await point("command-code", {}, ["-m", "other/own"]);
		expect(chosen.upstreams.openai).toBe("https://other.example/v1");
	});

	it("is refused with its maker's models alone", async () => {
		await expect(point("command-code")).rejects.toEqual(refusal(/only models with a key of your own/));
	});
});

describe("Nanocoder", () => {
	const provider = (name: string, baseUrl: string, sdkProvider?: string) => ({
		name,
		baseUrl,
		apiKey: "k",
		sdkProvider,
	});
	const own = ".config/nanocoder/agents.config.json";

	it("gets its providers with other addresses in a file, those of the environment over those of its settings", async () => {
		const user = [provider("mine", "https://mine.example/v1"), provider("other", "https://other.example/v1")];
		await settings(own, {
			nanocoder: { providers: [...user, provider("claude", "https://claude.example", "anthropic")] },
		});
		const pointed = await point("nanocoder");
		expect(pointed.upstreams).toEqual({ openai: "https://mine.example/v1", anthropic: "https://claude.example" });
		const [name, text] = fileIn(pointed);
		expect(pointed.environment).toEqual({ NANOCODER_PROVIDERS: "", NANOCODER_PROVIDERS_FILE: join(here.folder, name) });
		expect(JSON.parse(text).nanocoder.providers.map(({ baseUrl }: { baseUrl: string }) => baseUrl)).toEqual([
			`${origin}/v1`,
			"https://other.example/v1",
			origin,
		]);
		const given = { NANOCODER_PROVIDERS: JSON.stringify([provider("mine", "https://shell.example/v1")]) };
		expect((await point("nanocoder", given)).upstreams.openai).toBe("https://shell.example/v1");
		expect((await point("nanocoder", {}, ["--provider", "other"])).upstreams.openai).toBe("https://other.example/v1");
	});

	it("is refused without a provider that takes an address, and where a folder names providers", async () => {
		await settings(own, { nanocoder: { providers: [provider("x", "https://x.example", "github-copilot")] } });
		await expect(point("nanocoder")).rejects.toEqual(refusal(/no provider in .* has a baseUrl/));
		await settings("project/agents.config.json", {
			nanocoder: { providers: [provider("x", "https://foreign.example")] },
		});
		await expect(point("nanocoder")).rejects.toEqual(refusal(/of this folder names providers/));
	});
});

describe("Oh My Pi", () => {
	it("gets its settings with other addresses in a folder of links", async () => {
		const mine = "  mine: { baseUrl: https://mine.example, api: anthropic-messages, apiKey: KEY }\n";
		await settings(".omp/agent/models.yml", `providers:\n${mine}`);
		const pointed = await point("omp", {}, ["--model", "mine/sonnet"]);
		expect(pointed.upstreams).toMatchObject({ anthropic: "https://mine.example", openai: "https://api.openai.com/v1" });
		expect(pointed.environment).toEqual({ PI_CODING_AGENT_DIR: here.folder });
		expect(pointed.linkedFolder).toBe(join(here.home, ".omp/agent"));
		expect(JSON.parse(fileIn(pointed)[1]).providers).toMatchObject({
			mine: { baseUrl: origin, api: "anthropic-messages", apiKey: "KEY" },
			// The key of Anthropic goes there, and not to the upstream.
			anthropic: { baseUrl: "https://api.anthropic.com" },
			openai: { baseUrl: `${origin}/v1` },
		});
		expect((await point("omp")).upstreams.anthropic).toBe("https://api.anthropic.com");
	});

	it("has the settings of a profile and of another folder", async () => {
		const file = "providers:\n  openai: { baseUrl: https://work.example/v1 }\n";
		await settings(".omp/profiles/work/agent/models.yml", file);
		expect((await point("omp", { OMP_PROFILE: "work" })).upstreams.openai).toBe("https://work.example/v1");
		await settings("elsewhere/models.yml", file.replace("work", "else"));
		const elsewhere = { PI_CODING_AGENT_DIR: join(here.home, "elsewhere") };
		expect((await point("omp", elsewhere)).upstreams.openai).toBe("https://else.example/v1");
	});
});

describe("OpenClaw", () => {
	it("gets a file that includes its own, with the addresses over it", async () => {
		const models = { providers: { litellm: { baseUrl: "https://mine.example/v1", models: [{ id: "gpt" }] } } };
		const agents = { defaults: { model: { primary: "litellm/gpt" } } };
		await settings(".openclaw/openclaw.json", { models, agents });
		const pointed = await point("openclaw", { OPENCLAW_INCLUDE_ROOTS: "/shared" });
		expect(pointed.upstreams).toMatchObject({
			openai: "https://mine.example/v1",
			anthropic: "https://api.anthropic.com",
		});
		const state = join(here.home, ".openclaw");
		expect(pointed.environment).toEqual({
			OPENCLAW_CONFIG_PATH: join(here.folder, "openclaw.json"),
			OPENCLAW_INCLUDE_ROOTS: `${state}:/shared`,
			OPENCLAW_STATE_DIR: state,
		});
		const written = JSON.parse(fileIn(pointed)[1]);
		expect(written).toMatchObject({
			$include: join(state, "openclaw.json"),
			models: { providers: { litellm: { baseUrl: `${origin}/v1` }, anthropic: { baseUrl: origin, models: [] } } },
		});
		expect(Object.keys(written.models.providers.litellm)).toEqual(["baseUrl"]);
		// Of two providers with an API the key of the second one goes to its own address.
		expect(written.models.providers.openai).toBeUndefined();
	});

	it("has the state of a profile, and no file to include where there is none", async () => {
		const pointed = await point("openclaw", {}, ["--profile", "work", "agent"]);
		expect(pointed.environment.OPENCLAW_STATE_DIR).toBe(join(here.home, ".openclaw-work"));
		expect(JSON.parse(fileIn(pointed)[1]).$include).toBeUndefined();
	});

	it("is refused where its settings cannot be read here", async () => {
		await settings(".openclaw/openclaw.json", "{ models: 'single quotes' }");
		await expect(point("openclaw")).rejects.toEqual(refusal(/is not valid JSON \(line 1, column 3\)/));
	});
});

describe("Mastra Code", () => {
	it("gets the addresses from the environment", async () => {
		const { upstreams, environment, linkedFolder } = await point("mastracode", {
			OPENAI_BASE_URL: "https://gate.example",
		});
		expect(upstreams).toEqual({ anthropic: "https://api.anthropic.com/v1", openai: "https://gate.example" });
		expect(environment).toEqual({ ANTHROPIC_BASE_URL: `${origin}/v1`, OPENAI_BASE_URL: origin });
		expect(linkedFolder).toBeUndefined();
	});

	it("gets providers of its user's with other addresses in a folder of links, or in a copy of --settings", async () => {
		const added = [{ name: "My Gateway", url: "https://mine.example/v1", models: ["gpt"] }];
		const own = { customProviders: added, models: { modeDefaults: { build: "my-gateway/gpt" } } };
		await settings(".local/share/mastracode/settings.json", own);
		const pointed = await point("mastracode");
		expect(pointed.upstreams.openai).toBe("https://mine.example/v1");
		expect(pointed.environment).toMatchObject({
			MASTRA_APP_DATA_DIR: here.folder,
			OPENAI_BASE_URL: "https://api.openai.com/v1",
		});
		expect(pointed.linkedFolder).toBe(join(here.home, ".local/share/mastracode"));
		expect(JSON.parse(fileIn(pointed)[1])).toEqual({ ...own, customProviders: [{ ...added[0], url: `${origin}/v1` }] });
		await settings("ci.json", own);
		const flags = ["--settings", join(here.home, "ci.json"), "--prompt", "hi", "--model", "openai/gpt-5"];
		const byFlag = await point("mastracode", {}, flags);
		expect(byFlag.upstreams.openai).toBe("https://api.openai.com/v1");
		expect(byFlag.parameters).toEqual(["--settings", join(here.folder, "settings.json")]);
		expect(byFlag.ownParameters).toEqual(["--prompt", "hi", "--model", "openai/gpt-5"]);
		expect(byFlag.linkedFolder).toBeUndefined();
	});
});

describe("Letta Code", () => {
	const local = ["--backend", "local"];
	const auth = ".letta/lc-local-backend/providers/auth.json";
	const entered = (...names: string[]) => ({
		providers: Object.fromEntries(names.map((name) => [name, { base_url: `https://${name}.example/v1/` }])),
	});
	const agentFile = (id: string) => `.letta/lc-local-backend/agents/${Buffer.from(id).toString("base64url")}.json`;

	it("has the addresses that its user has entered, those of the model first", async () => {
		expect((await point("letta", {}, local)).upstreams).toEqual({
			anthropic: "https://api.anthropic.com",
			openai: "https://api.openai.com/v1",
			gemini: "https://generativelanguage.googleapis.com/v1beta",
		});
		await settings(auth, entered("lc-openrouter", "openai-compatible", "lc-gemini"));
		const environment = {
			GOOGLE_GENERATIVE_AI_BASE_URL: "https://shell.example",
			MINIMAX_BASE_URL: "https://mini.example",
		};
		const pointed = await point("letta", environment, [...local, "-m", "openrouter/kimi"]);
		expect(pointed.upstreams).toMatchObject({
			openai: "https://lc-openrouter.example/v1/",
			gemini: "https://lc-gemini.example/v1/",
		});
		const others = await point("letta", environment, [...local, "--model=minimax/m2"]);
		expect(others.upstreams).toMatchObject({
			openai: "https://openai-compatible.example/v1/",
			anthropic: "https://mini.example",
		});
	});

	it("has the address of the agent's model: that of the arguments, of the folder, or of the last session", async () => {
		const key = `local:${join(here.home, ".letta/lc-local-backend")}`;
		const session = (agentId: string) => ({ sessionsByServer: { [key]: { agentId } } });
		for (const name of ["openrouter", "deepseek", "xai"])
			await settings(agentFile(`agent-local-${name}`), { model: `${name}/model` });
		await settings(auth, entered("openrouter", "deepseek", "xai"));
		await settings(".letta/settings.json", { preferredBackendMode: "local", ...session("agent-local-xai") });
		expect((await point("letta")).upstreams.openai).toBe("https://xai.example/v1/");
		await settings("project/.letta/settings.local.json", session("agent-local-deepseek"));
		expect((await point("letta")).upstreams.openai).toBe("https://deepseek.example/v1/");
		const given = await point("letta", {}, ["--agent", "agent-local-openrouter"]);
		expect(given.upstreams.openai).toBe("https://openrouter.example/v1/");
	});

	it("is refused where Letta's service calls the model", async () => {
		const service = refusal(/Letta's service.*--backend local/);
		await expect(point("letta")).rejects.toEqual(service);
		await settings(".letta/settings.json", {
			preferredBackendMode: "local",
			env: { LETTA_BASE_URL: "https://own.example" },
		});
		await expect(point("letta")).rejects.toEqual(service);
		await settings(".letta/settings.json", { preferredBackendMode: "local" });
		await point("letta");
		await expect(point("letta", { LETTA_LOCAL_BACKEND_EXPERIMENTAL: "0" })).rejects.toEqual(service);
		for (const given of [
			["--backend", "cloud"],
			["-a", "agent-1"],
		])
			await expect(point("letta", { LETTA_LOCAL_BACKEND_EXPERIMENTAL: "1" }, given)).rejects.toEqual(service);
	});

	it("sends its own requests and those of subagents to the proxy, and gives other programs the variable of its user", async () => {
		await settings(auth, entered("anthropic"));
		const own = `--import=data:text/javascript,${encodeURIComponent(recorder)}`;
		const { NODE_OPTIONS = "" } = (await point("letta", { NODE_OPTIONS: own }, local)).environment;
		await settings("letta.js", standInProgram);
		const given = [join(here.home, "letta.js")];
		const { stdout } = await promisify(execFile)(process.execPath, given, { env: { NODE_OPTIONS } });
		expect(JSON.parse(stdout)).toEqual({
			asked: [`${origin}/v1/messages`, "https://anthropic.example.org/v1/messages"],
			own,
			subagents: [NODE_OPTIONS, NODE_OPTIONS],
			other: own,
		});
	});
});

/** It answers with what it was asked for. */
const recorder = `import processes from "node:child_process";
globalThis.fetch = (url) => url;
processes.spawn = (command, given, { env }) => env.NODE_OPTIONS;
`;

/** It prints what it asks for, and the variable as it, its subagents and another program see it. */
const standInProgram = `const { env } = process;
import("node:child_process").then(({ spawn }) => console.log(JSON.stringify({
	asked: ["https://anthropic.example/v1/messages", "https://anthropic.example.org/v1/messages"].map(fetch),
	own: env.NODE_OPTIONS,
	subagents: [spawn("letta", ["-p"], { env }), spawn(process.execPath, [process.argv[1], "-p"], { env })],
	other: spawn("/bin/sh", ["-c", "node letta.js.test"], { env }),
})));
`;

describe("the SDKs", () => {
	it("of Claude Code take its environment", async () => {
		const pointed = await point("claude-agent-sdk", { ANTHROPIC_BASE_URL: "https://gateway.example" }, ["agent.js"]);
		expect(pointed).toMatchObject({
			upstreams: { anthropic: "https://gateway.example" },
			environment: { ANTHROPIC_BASE_URL: origin },
		});
		await settings(".claude/settings.json", { env: { ANTHROPIC_BASE_URL: "https://settings.example" } });
		await expect(point("claude-agent-sdk")).rejects.toEqual(
			refusal(/Agent SDK .* settings of Claude Code set its address/),
		);
	});

	it.each([
		["", { openai_base_url: `${origin}/v1` }, "https://api.openai.com/v1"],
		[
			'model = "gpt-5"\nopenai_base_url = "https://mine.example"',
			{ model: "gpt-5", openai_base_url: origin },
			"https://mine.example",
		],
		[
			'model_provider = "mine"\n[model_providers.mine]\nname = "Mine"\nbase_url = "https://mine.example/v1"',
			{ model_provider: "mine", model_providers: { mine: { name: "Mine", base_url: `${origin}/v1` } } },
			"https://mine.example/v1",
		],
	])("of Codex get its settings with another address in a folder of links: %j", async (config, written, upstream) => {
		await settings(".codex/config.toml", config);
		const pointed = await point("codex-sdk", {}, ["agent.js", "-c", "openai_base_url=x"]);
		expect(pointed.upstreams).toEqual({ openai: upstream });
		expect(pointed.environment).toEqual({ CODEX_HOME: here.folder });
		expect(pointed.linkedFolder).toBe(join(here.home, ".codex"));
		expect(parseToml(fileIn(pointed)[1])).toEqual(written);
	});
});
