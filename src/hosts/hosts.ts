import { claudeAgentAcp, claudeAgentSdk, codexSdk } from "./agent-sdks.ts";
import { aider } from "./aider.ts";
import { claudeCode } from "./claude-code.ts";
import { cline } from "./cline.ts";
import { codex } from "./codex.ts";
import { commandCode } from "./command-code.ts";
import { continueCli } from "./continue.ts";
import { copilotCli } from "./copilot-cli.ts";
import { crush } from "./crush.ts";
import { droid } from "./droid.ts";
import { claudeDesktop, cursor, jetbrains, vscode, windsurf, zed } from "./entry-only.ts";
import { geminiCli } from "./gemini-cli.ts";
import { goose } from "./goose.ts";
import { grokCli } from "./grok-cli.ts";
import type { CommandHookHost, HookHost, Host, LaunchedProgram, OwnPlugin, PluginHost, ServerHost } from "./host.ts";
import { kilo } from "./kilo.ts";
import { kimiCode } from "./kimi-code.ts";
import { letta } from "./letta.ts";
import { mastracode } from "./mastracode.ts";
import { nanocoder } from "./nanocoder.ts";
import { ohMyPi } from "./oh-my-pi.ts";
import { openclaw } from "./openclaw.ts";
import { opencode } from "./opencode.ts";
import { pi } from "./pi.ts";
import { qwenCode } from "./qwen-code.ts";
import { namingBrokenSettings } from "./settings-file.ts";
import { amp, auggie } from "./without-address.ts";

/** Every host, in the order in which lists name them. */
export const hosts: readonly Host[] = [
	claudeDesktop,
	claudeCode,
	vscode,
	cursor,
	zed,
	jetbrains,
	windsurf,
	cline,
	geminiCli,
	codex,
	opencode,
	copilotCli,
	goose,
	pi,
	aider,
	qwenCode,
	kimiCode,
	continueCli,
	kilo,
	crush,
	droid,
	claudeAgentAcp,
	claudeAgentSdk,
	codexSdk,
	grokCli,
	commandCode,
	nanocoder,
	ohMyPi,
	openclaw,
	mastracode,
	letta,
	auggie,
	amp,
];

/** The hosts into whose settings the server can be entered. */
export const serverHosts: readonly ServerHost[] = hosts.flatMap(({ name, title, server }) =>
	server ? [{ name, title, ...server }] : [],
);

/** The hosts into whose settings a hook or plugin can be entered. */
export const hookHosts: readonly HookHost[] = hosts.flatMap(({ name, title, hook }) =>
	hook ? [{ name, title, ...hook }] : [],
);

export const commandHookHosts: readonly CommandHookHost[] = hookHosts.flatMap((host) =>
	host.kind === "command" ? [host] : [],
);

export const pluginHosts: readonly PluginHost[] = hookHosts.flatMap((host) => (host.kind === "plugin" ? [host] : []));

/** The hosts that can install our plugin themselves. */
export const ownPluginHosts: readonly (Pick<Host, "name" | "title"> & OwnPlugin)[] = hosts.flatMap(
	({ name, title, ownPlugin }) => (ownPlugin ? [{ name, title, ...ownPlugin }] : []),
);

/** The programs that `palimpsest launch` can start, by the names of their commands. */
export const launchedPrograms: readonly LaunchedProgram[] = hosts.flatMap(({ title, launch }) =>
	launch ? [namingBrokenSettings({ name: launch.command, title, ...launch })] : [],
);
