import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hookTarget } from "../../src/hosts/hooks.ts";
import { shortenResult } from "../../src/mcp/tools.ts";
import { packageFolder } from "../support/built-cli.ts";
import { compactedEvent, geminiCliEvent, logOf } from "../support/hook-events.ts";
import { hookHost } from "../support/hook-host.ts";
import { runCli } from "../support/run-cli.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { stdioSession } from "../support/stdio-session.ts";

const text = (name: string) => readFileSync(join(packageFolder, name), "utf8");
const read = (name: string) => JSON.parse(text(name));
const { version, license } = read("package.json");

const hooked = [
	{ host: "claude-code", manifest: ".claude-plugin/plugin.json", servers: ".mcp.json" },
	{ host: "codex", manifest: ".codex-plugin/plugin.json", servers: ".mcp.json" },
	{ host: "gemini-cli", manifest: "gemini-extension.json", servers: "gemini-extension.json" },
] as const;

/** Without a hook, the model has to shorten what it reads itself. */
const cursor = { host: "cursor", manifest: ".cursor-plugin/plugin.json", servers: "mcp.json" } as const;

interface Hook {
	readonly type: string;
	readonly command?: string;
	readonly server?: string;
	readonly tool?: string;
	readonly input?: Record<string, string>;
}

function hookOf(host: string) {
	return hooksOf(host)[0] as ReturnType<typeof hooksOf>[number];
}

function hooksOf(host: string) {
	const { hooks } = read(`plugins/${host}/hooks/hooks.json`);
	const events = Object.entries(hooks) as [string, [{ matcher: string; hooks: [Hook] }]][];
	return events.map(([event, [group]]) => ({ event, matcher: group.matcher, hook: group.hooks[0] }));
}

describe.each([...hooked, cursor])("the plugin for $host", ({ host, manifest, servers }) => {
	it("has the version and licence of the package", () => {
		const { name, version: own, license: ownLicense = license } = read(`plugins/${host}/${manifest}`);
		expect([name, own, ownLicense]).toEqual(["palimpsest", version, license]);
	});

	it("starts the server, also in a linked checkout, with the tools for the hook and the model", async () => {
		const { command, args, env } = read(`plugins/${host}/${servers}`).mcpServers.palimpsest;
		const [yes, packageName, ...parameters] = args as string[];
		expect([command, yes, packageName]).toEqual(["npx", "-y", "palimpsest-mcp"]);
		expect(env).toEqual({ PALIMPSEST_PRESET: "balanced" });
		const { client } = await stdioSession({ parameters: [...parameters, "--archive", "memory"] });
		const tools = host === "cursor" ? ["truncate_output", "recall_original"] : ["recall_original"];
		expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(tools);
		if (host !== "cursor" && parameters.includes("--hooks")) {
			const { input = {} } = hookOf(host).hook;
			const filled = { ...input, tool_name: "Bash", tool_input: "{}", tool_response: "small" };
			expect(await client.callTool({ name: "shorten_result", arguments: filled })).toMatchObject({
				content: [{ type: "text", text: "{}" }],
			});
		}
	});

	it.skipIf(host === "cursor")("has the hooks that `hook install` enters, for the same tools", async () => {
		if (host === "cursor") return;
		const target = hookTarget(hookHost(host), { isForProject: false, mostChars: 16_000, locale: undefined });
		const entries = hooksOf(host).map(({ event, matcher }) => expect.objectContaining({ event, matcher }));
		expect(target).toMatchObject({ kind: "entries", entries });
		const { hook } = hookOf(host);
		if (hook.type === "mcp_tool") {
			expect(hook.tool).toBe(shortenResult.name);
			expect(Object.keys(shortenResult.inputSchema.shape)).toEqual(
				expect.arrayContaining(Object.keys(hook.input ?? {})),
			);
			expect(hook.input?.host).toBe(host);
			return;
		}
		const [npx, yes, packageName, ...parameters] = hook.command?.split(" ") ?? [];
		expect([npx, yes, packageName]).toEqual(["npx", "-y", "palimpsest-mcp"]);
		const folder = await scratchFolder();
		const long = logOf(4_000);
		const input = geminiCliEvent("run_shell_command", {}, { llmContent: long });
		const answered = await runCli(parameters, {
			folder,
			input,
			environment: { PALIMPSEST_ARCHIVE: join(folder, "a") },
		});
		expect(JSON.parse(answered.text).reason).toContain("Output shortened");
	});
});

it("Claude Code's plugin gives back people's words after a compaction", async () => {
	const [, { hook } = { hook: undefined }] = hooksOf("claude-code");
	// Where the mod has masked the conversation, the words are in it.
	const [unlessMasked, command] = hook?.command?.split(" || ") ?? [];
	expect(unlessMasked).toBe('[ "$PALIMPSEST_MOD" = masked ]');
	const [npx, yes, packageName, ...parameters] = command?.split(" ") ?? [];
	expect([npx, yes, packageName]).toEqual(["npx", "-y", "palimpsest-mcp"]);
	const folder = await scratchFolder();
	const transcript = join(folder, "session.jsonl");
	await writeFile(
		transcript,
		`${JSON.stringify({ type: "user", message: { role: "user", content: "Never push." } })}\n`,
	);
	const environment = { PALIMPSEST_ARCHIVE: join(folder, "a") };
	const answered = await runCli(parameters, { folder, input: compactedEvent(transcript), environment });
	expect(JSON.parse(answered.text).hookSpecificOutput.additionalContext).toBe(
		"What the user wrote, word for word, oldest first:\n---\nNever push.\n---",
	);
});

it("the marketplaces name the plugins where they are", () => {
	const [claude] = read(".claude-plugin/marketplace.json").plugins;
	expect([claude.name, claude.version]).toEqual(["palimpsest", version]);
	const [codex] = read(".agents/plugins/marketplace.json").plugins;
	const [inCursor] = read(".cursor-plugin/marketplace.json").plugins;
	for (const file of [
		join(inCursor.source, ".cursor-plugin/plugin.json"),
		join(claude.source, ".claude-plugin/plugin.json"),
		join(codex.source.path, ".codex-plugin/plugin.json"),
	]) {
		expect(existsSync(join(packageFolder, file)), file).toBe(true);
	}
});

it("the skill is one, and names arguments that recall_original takes", async () => {
	const skill = text("plugins/claude-code/skills/recall/SKILL.md");
	for (const host of ["codex", "cursor"]) expect(text(`plugins/${host}/skills/recall/SKILL.md`)).toBe(skill);
	expect(skill).toMatch(/^---\nname: recall\ndescription: .{20,1000}\n---\n/);
	const { recallOriginal } = await import("../../src/mcp/tools.ts");
	const calls = Array.from(skill.matchAll(/`(\{.*?\})`/g), ([, call = ""]) => JSON.parse(call));
	expect(calls.length).toBeGreaterThan(3);
	for (const call of calls) expect(recallOriginal.inputSchema.strict().safeParse(call).success).toBe(true);
});
