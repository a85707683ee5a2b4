import { expect, it } from "vitest";
import { count } from "../../src/library.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { stdioSession } from "../support/stdio-session.ts";

const forModels = ["truncate_output", "recall_original"];
const profiles = [
	[forModels, "observation-masking", 450],
	[forModels, "balanced", 450],
	[["recall_original"], "balanced", 300],
	[["mask_conversation", "guard_context"], "balanced", 1_300],
] as const;

it.each(profiles)(
	"serve --tools %j with %s costs at most %i tokens with its instructions",
	async (names, preset, most) => {
		const given = ["--archive", "memory", "--set", `preset=${preset}`, "--tools", [...names].reverse().join(",")];
		const { client } = await stdioSession({ parameters: given });
		const { tools } = await client.listTools();
		expect(tools.map(({ name }) => name)).toEqual(names);
		const instructions = client.getInstructions() ?? "";
		const all = `${JSON.stringify(tools)}${instructions}`;
		expect((await count(all, { encoding: "o200k_base" })).tokens).toBeLessThanOrEqual(most);
		// Neither the instructions nor the descriptions name a tool that is not offered.
		const named = new Set(
			all.match(/\b(?:mask_conversation|guard_context|truncate_output|compact_conversation|recall_original)\b/g),
		);
		expect([...named].sort()).toEqual([...names].sort());
		expect(instructions).not.toMatch(/between turns/i);
	},
);

it("a placeholder hints at recall_original only where that is offered", async () => {
	const parameters = ["--archive", "memory", "--set", "locale=en", "--tools"];
	const messages = agentConversation(10);
	const masked = async (names: string) => {
		const { call } = await stdioSession({ parameters: [...parameters, names] });
		return JSON.stringify((await call("mask_conversation", { messages })).structuredContent);
	};
	expect(await masked("mask_conversation,recall_original")).toMatch(/ref=\w+\)\] Intact.*recall_original/);
	const without = await masked("mask_conversation");
	expect(without).toMatch(/ref=\w+\)\]/);
	expect(without).not.toContain("recall_original");
});

it("tools/list matches the reviewed snapshot and costs a host under 1 900 tokens", async () => {
	const { client } = await stdioSession({ parameters: ["--archive", "memory"] });
	const { tools } = await client.listTools();
	expect(tools).toHaveLength(5);
	expect((await count(JSON.stringify(tools))).tokens).toBeLessThan(1_900);
	for (const { description = "" } of tools) expect(Buffer.byteLength(description)).toBeLessThan(2_048);
	expect(Buffer.byteLength(client.getInstructions() ?? "")).toBeLessThan(2_048);
	await expect(`${JSON.stringify(tools, null, "\t")}\n`).toMatchFileSnapshot("tools-list.snapshot");
});

it("for models alone, truncate_output answers with its text and no JSON around it", async () => {
	const { call } = await stdioSession({ parameters: ["--archive", "memory", "--tools", forModels.join(",")] });
	const text = Array.from({ length: 900 }, (_, line) => `line ${line} says "hello"\n`).join("");
	const { content, structuredContent, _meta } = await call("truncate_output", { text, max_chars: 3_000 });
	expect(structuredContent).toBeUndefined();
	expect(_meta?.["palimpsest/facts"]).toMatchObject({ truncated: true, ref: expect.any(String) });
	const [block] = content;
	expect(block?.type === "text" && block.text).toMatch(/^line 0 says "hello"\nline 1 says/);
	const refused = await call("truncate_output", { text, policy: {} });
	expect(refused.isError).toBe(true);
});

it.each([
	["mask_conversation,recal_original", 'got "recal_original". Did you mean recall_original?'],
	["nothing", "Expected tools from mask_conversation, guard_context"],
])("serve refuses --tools %s", async (names, expected) => {
	const folder = await scratchFolder();
	for (const how of [
		{ parameters: ["serve", "--tools", names], environment: {} },
		{ parameters: ["serve"], environment: { PALIMPSEST_TOOLS: names } },
	]) {
		const { code, lines } = await runHere(how.parameters, { folder, environment: how.environment });
		expect([code, lines.join()]).toEqual([1, expect.stringContaining(expected)]);
	}
});
