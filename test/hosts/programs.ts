import { join } from "node:path";
import { chatGptPath, chatGptSignIn, googleToken } from "../support/sign-ins.ts";
import { type CloudName, cloudKey } from "../support/stand-in-cloud.ts";
import { installedFolder } from "./install-programs.ts";

/** An agent program, how it is run without a terminal, and where its settings name the provider. */
export interface AgentProgram {
	readonly name: string;
	readonly title: string;
	/** Its package on npm. */
	readonly package: string;
	/** Packages in their versions, which npm installs with it. */
	readonly beside?: readonly string[];
	readonly skipsScripts?: true;
	/** The package for this platform has the program itself, which runs without Node, in this folder of it. */
	readonly nativeFolder?: string;
	readonly command: string;
	/** As `palimpsest launch` calls it, if not by its command. */
	readonly launchedAs?: string;
	/** It is started by an editor, which asks it by the Agent Client Protocol. */
	readonly hasEditor?: true;
	/** Our part inside the program, as `palimpsest hook install` calls it, with the flags of a run that uses it. */
	readonly inside?: {
		readonly kind: "plugin" | "hook";
		readonly host: string;
		readonly parameters?: readonly string[];
	};
	/** It loads our plugin with the mod. */
	readonly hasMod?: true;
	/** Another model than its usual one, where the program can be told. */
	readonly parameters: (prompt: string, model?: string) => readonly string[];
	/** Its own settings, with the provider at `origin`; telemetry and updates are off. Files are named from the home folder. */
	readonly configure: (where: {
		readonly origin: string;
		readonly home: string;
		/** It talks to the stand-in itself. */
		readonly isAlone: boolean;
	}) => {
		readonly environment: Readonly<Record<string, string>>;
		readonly files?: Readonly<Record<string, string>>;
	};
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
const key = cloudKey;

/** Claude Code asks for permission for these, and for none of a mod. */
export const serversTools = "mcp__palimpsest";

/** Where there is a plugin, opencode asks the registry for this package, and waits for that over a minute. */
const ownPackage = (() => {
	const [folder, name, version] = [".config/opencode", "@opencode-ai/plugin", "1.18.33"];
	const dependencies = { [name]: version };
	const packages = { "": { dependencies }, [`node_modules/${name}`]: { version } };
	return {
		[`${folder}/package.json`]: json({ dependencies }),
		[`${folder}/package-lock.json`]: json({ name: "opencode", lockfileVersion: 3, requires: true, packages }),
		[`${folder}/node_modules/${name}/package.json`]: json({ name, version }),
	};
})();

const geminiSettings = (selectedType: string) =>
	json({
		general: { disableAutoUpdate: true, disableUpdateNag: true, enableAutoUpdate: false },
		privacy: { usageStatisticsEnabled: false },
		security: { auth: { selectedType } },
		telemetry: { enabled: false },
	});
/** The arguments of Node.js for a program that gives a prompt to an SDK. */
function agentScript(prompt: string, module: string, call: (prompt: string) => string): readonly string[] {
	const [, packageName = "", file = ""] = /^((?:@[^/]+\/)?[^/]+)\/(.+)$/.exec(module) ?? [];
	const path = join(installedFolder(packageName), "node_modules", packageName, file);
	return [
		"--input-type=module",
		"-e",
		`const sdk = await import(${JSON.stringify(path)});\n${call(JSON.stringify(prompt))}`,
	];
}

/** Claude Code as a user of a cloud has it: the settings file names the cloud, and the user has settings in a flag besides. */
export function claudeOnCloud(cloud: CloudName): AgentProgram {
	const claude = programs.find(({ name }) => name === "claude") as AgentProgram;
	const { model, environment: ofCloud } = clouds[cloud];
	return {
		...claude,
		title: `${claude.title} on ${cloud}`,
		parameters: (prompt, named = model) => [
			...claude.parameters(prompt, named),
			"--settings",
			json({ env: { OWN_SETTING: "1" } }),
		],
		configure(where) {
			const { ANTHROPIC_BASE_URL, ...environment } = claude.configure(where).environment;
			const [address = "", ...others] = Object.keys(ofCloud);
			const env = { ...Object.fromEntries(others.map((name) => [name, ofCloud[name]])), [address]: where.origin };
			return { environment, files: { ".claude/settings.json": json({ env }) } };
		},
	};
}

/** Claude Code that takes the stand-in for Anthropic itself, as `palimpsest launch` tells it where that is so. */
export function claudeAtAnthropic(): AgentProgram {
	const claude = programs.find(({ name }) => name === "claude") as AgentProgram;
	return {
		...claude,
		title: `${claude.title} at Anthropic`,
		configure(where) {
			const { environment } = claude.configure(where);
			return { environment: { ...environment, _CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL: "1" } };
		},
	};
}

const awsKey = { AWS_BEARER_TOKEN_BEDROCK: key, AWS_REGION: "us-east-1" };

/** The variable of the address comes first. */
const clouds: Readonly<
	Record<CloudName, { readonly model: string; readonly environment: Readonly<Record<string, string>> }>
> = {
	bedrock: {
		model: "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
		environment: { ANTHROPIC_BEDROCK_BASE_URL: "", CLAUDE_CODE_USE_BEDROCK: "1", ...awsKey },
	},
	mantle: {
		model: "anthropic.claude-sonnet-4-5",
		environment: { ANTHROPIC_BEDROCK_MANTLE_BASE_URL: "", CLAUDE_CODE_USE_MANTLE: "1", ...awsKey },
	},
	vertex: {
		model: "claude-sonnet-4-5@20250929",
		environment: {
			ANTHROPIC_VERTEX_BASE_URL: "",
			CLAUDE_CODE_USE_VERTEX: "1",
			CLAUDE_CODE_SKIP_VERTEX_AUTH: "1",
			ANTHROPIC_CUSTOM_HEADERS: `Authorization: Bearer ${key}`,
			ANTHROPIC_VERTEX_PROJECT_ID: "project",
			CLOUD_ML_REGION: "us-east5",
		},
	},
	foundry: {
		model: "claude-sonnet-4-5",
		environment: {
			ANTHROPIC_FOUNDRY_BASE_URL: "",
			CLAUDE_CODE_USE_FOUNDRY: "1",
			ANTHROPIC_FOUNDRY_API_KEY: key,
		},
	},
};

/** Not in the list of models that comes with opencode 1.18.33. */
const newerModels = {
	"claude-fable-5-2": { name: "Fable 5.2", reasoning: true, tool_call: true, limit: { context: 1e6, output: 64_000 } },
};

export const programs: readonly AgentProgram[] = [
	{
		name: "claude",
		title: "Claude Code",
		package: "@anthropic-ai/claude-code",
		nativeFolder: "",
		command: "claude",
		inside: { kind: "hook", host: "claude-code" },
		hasMod: true,
		parameters: (prompt, model = "claude-sonnet-4-5") => [
			"-p",
			prompt,
			"--allowedTools",
			"Bash",
			serversTools,
			"--model",
			model,
		],
		configure: ({ origin }) => ({
			environment: {
				ANTHROPIC_BASE_URL: origin,
				ANTHROPIC_API_KEY: key,
				CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
				DISABLE_AUTOUPDATER: "1",
				DISABLE_TELEMETRY: "1",
				DISABLE_ERROR_REPORTING: "1",
				ENABLE_TOOL_SEARCH: "true",
			},
		}),
	},
	{
		name: "codex",
		title: "Codex",
		package: "@openai/codex",
		command: "codex",
		// It runs no hook that its user has not trusted.
		inside: { kind: "hook", host: "codex", parameters: ["--dangerously-bypass-hook-trust"] },
		parameters: (prompt) => ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt],
		configure: ({ origin }) => ({
			environment: { OPENAI_API_KEY: key, CODEX_API_KEY: key },
			files: {
				".codex/config.toml": [
					'model = "gpt-5"',
					`openai_base_url = "${origin}/v1"`,
					"check_for_update_on_startup = false",
					"[analytics]",
					"enabled = false",
					"",
				].join("\n"),
			},
		}),
	},
	{
		name: "codex-chatgpt",
		title: "Codex (ChatGPT sign-in)",
		package: "@openai/codex",
		command: "codex",
		parameters: (prompt) => ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt],
		configure: ({ origin, isAlone }) => {
			// Alone it takes the path of the backend for a reason to ask the backend itself for an address.
			const address = isAlone ? origin : `${origin}${chatGptPath}`;
			return {
				environment: {},
				files: {
					".codex/auth.json": json(chatGptSignIn(new Date())),
					".codex/config.toml": [
						'model = "gpt-5"',
						"check_for_update_on_startup = false",
						`openai_base_url = "${address}"`,
						"[analytics]",
						"enabled = false",
						// The stand-in decodes no body.
						...(isAlone ? ["[features]", "enable_request_compression = false"] : []),
						"",
					].join("\n"),
				},
			};
		},
	},
	{
		name: "pi",
		title: "pi",
		package: "@earendil-works/pi-coding-agent",
		command: "pi",
		inside: { kind: "plugin", host: "pi" },
		parameters: (prompt, model = "claude-sonnet-4-5") => [
			...["--offline", "--provider", "anthropic", "--model", model],
			...["-p", prompt],
		],
		configure: ({ origin }) => ({
			environment: { ANTHROPIC_API_KEY: key, PI_OFFLINE: "1", PI_SKIP_VERSION_CHECK: "1", PI_TELEMETRY: "0" },
			files: { ".pi/agent/models.json": json({ providers: { anthropic: { baseUrl: origin } } }) },
		}),
	},
	{
		name: "opencode",
		title: "opencode",
		package: "opencode-ai",
		command: "opencode",
		inside: { kind: "plugin", host: "opencode" },
		parameters: (prompt, model = "claude-sonnet-4-5") => ["run", "--model", `anthropic/${model}`, prompt],
		configure: ({ origin }) => ({
			environment: {
				ANTHROPIC_API_KEY: key,
				OPENCODE_DISABLE_AUTOUPDATE: "1",
				OPENCODE_DISABLE_MODELS_FETCH: "1",
				OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
			},
			files: {
				".config/opencode/opencode.json": json({
					autoupdate: false,
					share: "disabled",
					provider: { anthropic: { options: { baseURL: `${origin}/v1` }, models: newerModels } },
				}),
				...ownPackage,
			},
		}),
	},
	{
		name: "gemini",
		title: "Gemini CLI",
		package: "@google/gemini-cli",
		command: "gemini",
		inside: { kind: "hook", host: "gemini-cli" },
		parameters: (prompt) => ["--yolo", "--model", "gemini-2.5-pro", "--prompt", prompt],
		configure: ({ origin }) => ({
			environment: { GOOGLE_GEMINI_BASE_URL: origin, GEMINI_API_KEY: key, GEMINI_CLI_TRUST_WORKSPACE: "true" },
			files: {
				".gemini/settings.json": geminiSettings("gemini-api-key"),
			},
		}),
	},
	{
		name: "gemini-google",
		title: "Gemini CLI (Google sign-in)",
		package: "@google/gemini-cli",
		command: "gemini",
		parameters: (prompt) => ["--yolo", "--model", "gemini-2.5-pro", "--prompt", prompt],
		configure: ({ origin }) => ({
			environment: {
				CODE_ASSIST_ENDPOINT: origin,
				GOOGLE_GENAI_USE_GCA: "true",
				GOOGLE_CLOUD_ACCESS_TOKEN: googleToken,
				GEMINI_CLI_TRUST_WORKSPACE: "true",
			},
			files: { ".gemini/settings.json": geminiSettings("oauth-personal") },
		}),
	},
	{
		name: "copilot",
		title: "Copilot CLI",
		package: "@github/copilot",
		command: "copilot",
		// The notice of the hook names a program outside the project.
		inside: { kind: "hook", host: "copilot-cli", parameters: ["--allow-all-paths"] },
		parameters: (prompt) => ["--allow-all-tools", "--no-auto-update", "-p", prompt],
		configure: ({ origin, home }) => ({
			environment: {
				COPILOT_PROVIDER_BASE_URL: `${origin}/v1`,
				COPILOT_PROVIDER_TYPE: "openai",
				COPILOT_PROVIDER_API_KEY: key,
				COPILOT_MODEL: "gpt-5",
				COPILOT_PROVIDER_MAX_PROMPT_TOKENS: "272000",
				COPILOT_OFFLINE: "true",
				COPILOT_HOME: join(home, ".copilot"),
			},
		}),
	},
	{
		name: "cline",
		title: "Cline CLI",
		package: "cline",
		command: "cline",
		parameters: (prompt) => ["--auto-approve", "true", prompt],
		configure: ({ origin }) => ({
			environment: { CLINE_SESSION_BACKEND_MODE: "local" },
			files: {
				".cline/data/settings/global-settings.json": json({ telemetryOptOut: true, autoUpdateEnabled: false }),
				".cline/data/settings/providers.json": json({
					version: 1,
					lastUsedProvider: "openai-compatible",
					modes: {},
					providers: {
						"openai-compatible": {
							settings: { provider: "openai-compatible", apiKey: key, model: "gpt-5", baseUrl: `${origin}/v1` },
							updatedAt: "2026-11-01T00:00:00.000Z",
							tokenSource: "manual",
						},
					},
				}),
			},
		}),
	},
	{
		name: "qwen",
		title: "Qwen Code",
		package: "@qwen-code/qwen-code",
		command: "qwen",
		parameters: (prompt) => ["--yolo", "--prompt", prompt],
		configure: ({ origin }) => ({
			environment: { STAND_IN_KEY: key, QWEN_TELEMETRY_ENABLED: "0" },
			files: {
				".qwen/settings.json": json({
					$version: 3,
					general: { disableAutoUpdate: true, enableAutoUpdate: false },
					privacy: { usageStatisticsEnabled: false },
					telemetry: { enabled: false },
					security: { auth: { selectedType: "openai" } },
					model: { name: "gpt-5" },
					modelProviders: { openai: [{ id: "gpt-5", baseUrl: `${origin}/v1`, envKey: "STAND_IN_KEY" }] },
				}),
			},
		}),
	},
	{
		name: "kimi",
		title: "Kimi Code",
		package: "@moonshot-ai/kimi-code",
		command: "kimi",
		parameters: (prompt) => ["--prompt", prompt],
		configure: ({ origin }) => ({
			environment: { KIMI_CODE_NO_AUTO_UPDATE: "1" },
			files: {
				".kimi-code/config.toml": [
					'default_model = "sonnet"',
					"telemetry = false",
					"[providers.stand-in]",
					'type = "anthropic"',
					`base_url = "${origin}"`,
					`api_key = "${key}"`,
					"[models.sonnet]",
					'provider = "stand-in"',
					'model = "claude-sonnet-4-5"',
					"max_context_size = 200000",
					"",
				].join("\n"),
			},
		}),
	},
	{
		name: "cn",
		title: "Continue CLI",
		package: "@continuedev/cli",
		command: "cn",
		parameters: (prompt) => ["--auto", "-p", prompt],
		configure: ({ origin }) => ({
			environment: { CONTINUE_TELEMETRY_ENABLED: "0" },
			files: {
				".continue/config.yaml": [
					"name: Stand-in",
					"version: 1.0.0",
					"schema: v1",
					"models:",
					"  - name: Sonnet",
					"    provider: anthropic",
					"    model: claude-sonnet-4-5",
					`    apiKey: ${key}`,
					`    apiBase: ${origin}/v1`,
					"    roles: [chat]",
					"",
				].join("\n"),
			},
		}),
	},
	{
		name: "kilo",
		title: "Kilo CLI",
		package: "@kilocode/cli",
		nativeFolder: "bin",
		command: "kilo",
		parameters: (prompt) => ["run", "--auto", "--model", "anthropic/claude-sonnet-4-5", prompt],
		configure: ({ origin }) => ({
			environment: {
				ANTHROPIC_API_KEY: key,
				KILO_DISABLE_AUTOUPDATE: "1",
				KILO_DISABLE_MODELS_FETCH: "1",
				KILO_DISABLE_LSP_DOWNLOAD: "1",
				KILO_DISABLE_SESSION_INGEST: "1",
			},
			files: {
				".config/kilo/kilo.json": json({
					autoupdate: false,
					share: "disabled",
					provider: { anthropic: { options: { baseURL: `${origin}/v1` } } },
				}),
			},
		}),
	},
	{
		name: "grok",
		title: "Grok CLI",
		package: "@vibe-kit/grok-cli",
		command: "grok",
		parameters: (prompt) => ["--prompt", prompt],
		configure: ({ origin }) => ({
			environment: { GROK_API_KEY: key, GROK_BASE_URL: `${origin}/v1`, GROK_MODEL: "grok-4-latest" },
		}),
	},
	{
		name: "droid",
		title: "Factory Droid",
		package: "droid",
		command: "droid",
		parameters: (prompt) => ["exec", "--skip-permissions-unsafe", "--model", "custom:sonnet-0", prompt],
		configure: ({ origin }) => ({
			// Without a sign-in at Factory, which is not here.
			environment: { FACTORY_AIRGAP_ENABLED: "true", FACTORY_DROID_AUTO_UPDATE_ENABLED: "false" },
			files: {
				".factory/settings.json": json({
					customModels: [
						{
							model: "claude-sonnet-4-5",
							displayName: "sonnet",
							baseUrl: origin,
							apiKey: key,
							provider: "anthropic",
							maxOutputTokens: 8_192,
						},
					],
				}),
			},
		}),
	},
	{
		name: "command-code",
		title: "Command Code",
		package: "command-code",
		// Newer ones have another form, with which it does not start.
		beside: ["@opentelemetry/semantic-conventions@1.40.0"],
		command: "command-code",
		parameters: (prompt) => [
			"--local-only",
			"--yolo",
			"--skip-onboarding",
			"--no-auto-update",
			"-m",
			"stand-in/claude-sonnet-4-5",
			"-p",
			prompt,
		],
		configure: ({ origin }) => ({
			environment: { STAND_IN_KEY: key, CMD_LOCAL_ONLY: "1", COMMANDCODE_SKIP_UPDATES: "1" },
			files: {
				// Without a key of its maker's it runs nothing, also with a key of another provider.
				".commandcode/auth.json": json({ apiKey: key }),
				".commandcode/providers.json": json({
					provider: {
						"stand-in": {
							api: "anthropic-messages",
							baseURL: origin,
							apiKey: "$STAND_IN_KEY",
							models: { "claude-sonnet-4-5": { contextWindow: 1_000_000 } },
						},
					},
				}),
			},
		}),
	},
	{
		name: "nanocoder",
		title: "Nanocoder",
		package: "@nanocollective/nanocoder",
		command: "nanocoder",
		parameters: (prompt) => ["--mode", "yolo", "--trust-directory", "--context-max", "1000k", "--plain", "run", prompt],
		configure: ({ origin }) => ({
			environment: {},
			files: {
				".config/nanocoder/agents.config.json": json({
					nanocoder: {
						providers: [{ name: "stand-in", baseUrl: `${origin}/v1`, apiKey: key, models: ["gpt-5"] }],
						autoCompact: { enabled: false },
					},
				}),
			},
		}),
	},
	{
		name: "omp",
		title: "Oh My Pi",
		package: "@oh-my-pi/pi-coding-agent",
		// It runs on Bun.
		beside: ["bun@1.4.5"],
		command: "omp",
		parameters: (prompt) => ["--model", "stand-in/claude-sonnet-4-5", "--auto-approve", "--no-title", "-p", prompt],
		configure: ({ origin }) => ({
			environment: { STAND_IN_KEY: key, PI_SKIP_VERSION_CHECK: "1" },
			files: {
				".omp/agent/models.yml": [
					"providers:",
					"  stand-in:",
					`    baseUrl: ${origin}`,
					"    api: anthropic-messages",
					"    apiKey: STAND_IN_KEY",
					"    models:",
					"      - id: claude-sonnet-4-5",
					"        contextWindow: 1000000",
					"        maxTokens: 8192",
					"",
				].join("\n"),
			},
		}),
	},
	{
		name: "openclaw",
		title: "OpenClaw",
		package: "openclaw",
		command: "openclaw",
		parameters: (prompt) => ["agent", "exec", "--model", "anthropic/claude-sonnet-4-6", prompt],
		configure: ({ origin }) => ({
			environment: { ANTHROPIC_API_KEY: key },
			files: {
				".openclaw/openclaw.json": json({
					models: { providers: { anthropic: { baseUrl: origin, models: [] } } },
					tools: { exec: { host: "gateway" } },
				}),
			},
		}),
	},
	{
		name: "mastracode",
		title: "Mastra Code",
		package: "mastracode",
		// An install script of one of its packages needs a host that is no registry of npm.
		skipsScripts: true,
		command: "mastracode",
		parameters: (prompt) => ["--prompt", prompt],
		configure: ({ origin }) => ({
			environment: { MASTRACODE_DISABLE_UPDATE_CHECK: "1" },
			files: {
				".local/share/mastracode/settings.json": json({
					models: {
						modeDefaults: { build: "stand-in/gpt-5", plan: "stand-in/gpt-5", fast: "stand-in/gpt-5" },
						omModelOverride: "stand-in/gpt-5",
						observerModelOverride: "stand-in/gpt-5",
						reflectorModelOverride: "stand-in/gpt-5",
						// Its memory would take the place of the history, and the stand-in knows nothing to observe.
						omObservationThreshold: 5_000_000,
						omReflectionThreshold: 5_000_000,
					},
					customProviders: [{ name: "stand-in", url: `${origin}/v1`, apiKey: key, models: ["gpt-5"] }],
				}),
			},
		}),
	},
	{
		name: "letta",
		title: "Letta Code",
		package: "@letta-ai/letta-code",
		command: "letta",
		parameters: (prompt) => [
			...["--backend", "local", "--model", "anthropic/claude-sonnet-4-5", "--yolo"],
			...["-p", prompt],
		],
		configure: ({ origin }) => ({
			environment: { LETTA_CODE_TELEM: "0", DISABLE_AUTOUPDATER: "1" },
			files: {
				".letta/lc-local-backend/providers/auth.json": json({
					version: 1,
					providers: {
						"lc-anthropic": {
							id: "local-provider-lc-anthropic",
							name: "lc-anthropic",
							provider_type: "anthropic",
							provider_category: "byok",
							auth: { type: "api", key },
							base_url: origin,
							created_at: "2026-11-01T00:00:00.000Z",
							updated_at: "2026-11-01T00:00:00.000Z",
						},
					},
				}),
			},
		}),
	},
	{
		name: "claude-agent-sdk",
		title: "Claude Agent SDK",
		package: "@anthropic-ai/claude-agent-sdk",
		command: "node",
		launchedAs: "claude-agent-sdk",
		parameters: (prompt) =>
			agentScript(prompt, "@anthropic-ai/claude-agent-sdk/sdk.mjs", (text) => {
				const options = { model: "claude-sonnet-4-5", allowedTools: ["Bash"], maxTurns: 100 };
				return `for await (const message of sdk.query({ prompt: ${text}, options: ${JSON.stringify(options)} }))
					if (message.type === "result") console.log(message.result);`;
			}),
		configure: ({ origin }) => ({
			environment: {
				ANTHROPIC_BASE_URL: origin,
				ANTHROPIC_API_KEY: key,
				CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
				DISABLE_TELEMETRY: "1",
			},
		}),
	},
	{
		name: "claude-agent-acp",
		title: "Claude Agent for editors",
		package: "@agentclientprotocol/claude-agent-acp",
		command: "claude-agent-acp",
		hasEditor: true,
		parameters: () => [],
		configure: ({ origin }) => ({
			environment: {
				ANTHROPIC_BASE_URL: origin,
				ANTHROPIC_API_KEY: key,
				ANTHROPIC_MODEL: "claude-sonnet-4-5",
				CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
				DISABLE_TELEMETRY: "1",
			},
		}),
	},
	{
		name: "codex-sdk",
		title: "Codex SDK",
		package: "@openai/codex-sdk",
		command: "node",
		launchedAs: "codex-sdk",
		parameters: (prompt) =>
			agentScript(prompt, "@openai/codex-sdk/dist/index.js", (text) => {
				const options = { skipGitRepoCheck: true, sandboxMode: "danger-full-access", approvalPolicy: "never" };
				return `const thread = new sdk.Codex().startThread(${JSON.stringify(options)});
					console.log((await thread.run(${text})).finalResponse);`;
			}),
		configure: ({ origin }) => ({
			environment: { CODEX_API_KEY: key },
			files: {
				".codex/config.toml": `model = "gpt-5"\nopenai_base_url = "${origin}/v1"\n[analytics]\nenabled = false\n`,
			},
		}),
	},
];
