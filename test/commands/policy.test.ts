import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { beforeEach, describe, expect, it } from "vitest";
import { policyJsonSchema } from "../../src/engine/policy/check.ts";
import { presetNames } from "../../src/engine/policy/names.ts";
import { policyReference } from "../../src/engine/policy/reference.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { builtCli } from "../support/built-cli.ts";
import { policyOf } from "../support/policy-of.ts";
import { runHere } from "../support/run-here.ts";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
});

const run = (parameters: string[], environment: Record<string, string> = {}, input = "") =>
	runHere(parameters, { folder, environment, input });

async function shown(parameters: string[] = [], environment: Record<string, string> = {}) {
	const { code, text, lines } = await run(["policy", "show", ...parameters], environment);
	expect([code, lines]).toEqual([0, []]);
	return JSON.parse(text);
}

const put = (name: string, text: string) => writeFile(join(folder, name), text);

/** The block of docs/strategies.md#configuration, with another window. */
const documentedBlock = `[observation_masking.schema1]
enabled = true
window_turns = 4
keep_errors = true
keep_last_k_per_tool = 0
placeholder_template = "[Observation masquée: résultat d'outil ancien (tool_call_id={tool_call_id}, outil={tool_name}, chars={original_chars})]"
`;

describe("policy", () => {
	it("shows the defaults without configuration", async () => {
		expect(await shown()).toEqual({ policy: policyOf(), file: null, found: null });
	});

	it("lists the presets and prints one", async () => {
		const { text } = await run(["policy", "presets"]);
		const names = text
			.trimEnd()
			.split("\n")
			.map((line) => line.split(" ", 1)[0]);
		expect(names).toEqual([...presetNames]);
		const one = await run(["policy", "presets", "context-guard"]);
		expect(JSON.parse(one.text)).toMatchObject({
			name: "context-guard",
			policy: policyOf({ preset: "context-guard" }),
		});
	});

	it("prints the JSON Schema and the reference page", async () => {
		expect(JSON.parse((await run(["policy", "schema"])).text)).toEqual(policyJsonSchema());
		expect((await run(["policy", "reference"])).text).toBe(policyReference());
	});

	it("checks a file, and the complete configuration", async () => {
		await put("documented.toml", documentedBlock);
		const file = await run(["policy", "check", "documented.toml"]);
		expect(file).toMatchObject({ code: 0, text: "", lines: ["palimpsest: documented.toml is valid"] });
		expect(await run(["policy", "check"])).toMatchObject({
			code: 0,
			lines: ["palimpsest: the configuration is valid"],
		});
		await put("palimpsest.toml", 'figures = "none"\n[archive]\nmax_bytes = 1\n[mask]\nwindow_turns = 3\n');
		expect((await run(["policy", "check"])).lines).toEqual([
			expect.stringMatching(/ignored archive\.max_bytes of \S+: the archive also keeps originals of other projects$/),
			expect.stringMatching(/ignored figures of \S+palimpsest\.toml: it belongs to the person/),
			expect.stringMatching(/--policy FILE or PALIMPSEST_POLICY makes all of it count/),
			"palimpsest: the configuration is valid",
		]);
		expect((await run(["policy", "check", "palimpsest.toml"])).lines).toEqual(["palimpsest: palimpsest.toml is valid"]);
		await put("palimpsest.toml", "nothing = 1\n");
		expect(await run(["policy", "check"])).toMatchObject({ code: 1, lines: [expect.stringContaining("unknown key")] });
	});
});

describe("the source of the policy", () => {
	it("accepts the documented block unchanged", async () => {
		await put("documented.toml", documentedBlock);
		const { policy, file } = await shown(["--policy", "documented.toml"]);
		expect(file).toBe(join(folder, "documented.toml"));
		expect(policy.mask).toMatchObject({ enabled: true, window_turns: 4, keep_last_k_per_tool: 0 });
		const { lines } = await run(
			["mask", "-", "--policy", "documented.toml"],
			{},
			JSON.stringify(agentConversation(10)),
		);
		expect(lines).toEqual([expect.stringContaining("masked 6 of 10")]);
		await put("off.toml", documentedBlock.replace("enabled = true", "enabled = false"));
		const off = await run(["mask", "-", "--policy", "off.toml"], {}, JSON.stringify(agentConversation(10)));
		expect(off.lines).toEqual([expect.stringContaining("masked 0 of 10")]);
	});

	it("palimpsest.toml in the working directory is laid over the user's own", async () => {
		await mkdir(join(folder, ".config", "palimpsest"), { recursive: true });
		await put(".config/palimpsest/palimpsest.toml", "[mask]\nwindow_turns = 2\nstride_turns = 4\n");
		expect((await shown()).policy.mask.window_turns).toBe(2);
		await put("palimpsest.toml", "[mask]\nwindow_turns = 3\n");
		expect(await shown()).toMatchObject({
			file: join(folder, ".config/palimpsest/palimpsest.toml"),
			found: join(folder, "palimpsest.toml"),
			policy: { mask: { window_turns: 3, stride_turns: 4 } },
		});
	});

	it("--set overrides the environment, which overrides the file, which overrides the preset; the last --set wins", async () => {
		await put(
			"palimpsest.toml",
			'preset = "context-trim"\nlocale = "en"\n[guard]\nreserve_tokens = 1\n[mask]\nwindow_turns = 1\n',
		);
		const environment = { PALIMPSEST_MASK_WINDOW_TURNS: "2", PALIMPSEST_MASK_KEEP_LAST_K_PER_TOOL: "2" };
		const settings = ["--set", "mask.keep_last_k_per_tool=3", "--set", "mask.keep_last_k_per_tool=4"];
		const { policy } = await shown(settings, environment);
		expect(policy).toMatchObject({ preset: "context-trim", locale: "en" });
		expect(policy.guard).toMatchObject({ budget_ratio: 0.8, reserve_tokens: 1 });
		expect(policy.mask).toMatchObject({ window_turns: 2, keep_last_k_per_tool: 4 });
	});

	it("--policy overrides PALIMPSEST_POLICY, which overrides the working directory", async () => {
		for (const [name, turns] of [
			["palimpsest", 1],
			["named", 2],
			["flag", 3],
		]) {
			await put(`${name}.toml`, `[mask]\nwindow_turns = ${turns}\n`);
		}
		const environment = { PALIMPSEST_POLICY: "named.toml" };
		expect((await shown()).policy.mask.window_turns).toBe(1);
		expect((await shown([], environment)).policy.mask.window_turns).toBe(2);
		expect((await shown(["--policy", "flag.toml"], environment)).policy.mask.window_turns).toBe(3);
	});
});

it.each([
	["palimpsest --set …", ["--set", "mask.window_turns=3"]],
	["palimpsest serve --set …", ["serve", "--set", "mask.window_turns=3"]],
])("%s serves with that setting", async (_what, parameters) => {
	const client = new Client({ name: "test", version: "1.0.0" });
	const env = cleanEnvironment(folder);
	const transport = new StdioClientTransport({
		command: process.execPath,
		args: [builtCli, ...parameters],
		cwd: folder,
		env,
	});
	await client.connect(transport);
	const answer = await client.callTool({ name: "mask_conversation", arguments: { messages: agentConversation(10) } });
	await client.close();
	expect(answer.structuredContent).toMatchObject({ report: { masked_tool_results: 7 } });
});
