import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { presetNames } from "../../src/engine/policy/names.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { patience } from "../support/patience.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { type StdioSession, stdioSession } from "../support/stdio-session.ts";

async function readJson({ client }: StdioSession, uri: string) {
	const { contents } = await client.readResource({ uri });
	const [content] = contents;
	expect(contents).toEqual([{ uri, mimeType: "application/json", text: expect.any(String) }]);
	return JSON.parse((content as { text: string }).text);
}

async function maskedBy(session: StdioSession): Promise<unknown> {
	const parameters = { messages: agentConversation(10), respond_with: "report" };
	const result = await session.call("mask_conversation", parameters);
	return (result.structuredContent as { report: Record<string, unknown> }).report.masked_tool_results;
}

/** As editors do it: a new file takes the old one's place, which is never found half written. */
async function replace(file: string, text: string): Promise<void> {
	await writeFile(`${file}.new`, text);
	await rename(`${file}.new`, file);
}

describe("resources", () => {
	it("lists the policy, its schema, a page and each preset, and the template of presets", async () => {
		const { client } = await stdioSession();
		const { resources } = await client.listResources();
		const ofPresets = presetNames.map((name) => `policy://presets/${name}`);
		const uris = ["policy://current", "policy://schema", "ui://palimpsest/context-report", ...ofPresets];
		expect(resources.map((resource) => resource.uri)).toEqual(uris);
		for (const resource of resources) {
			expect(resource).toMatchObject({ title: expect.any(String), description: expect.any(String) });
		}
		const { resourceTemplates } = await client.listResourceTemplates();
		expect(resourceTemplates).toMatchObject([{ uriTemplate: "policy://presets/{name}", title: expect.any(String) }]);
	});

	it("completes the name of a preset", async () => {
		const { client } = await stdioSession();
		const complete = async (value: string) => {
			const ref = { type: "ref/resource", uri: "policy://presets/{name}" } as const;
			return (await client.complete({ ref, argument: { name: "name", value } })).completion.values;
		};
		expect(await complete("context-")).toEqual(["context-guard", "context-trim"]);
		expect(await complete("")).toEqual([...presetNames]);
		expect(await complete("nothing")).toEqual([]);
	});

	it("reads the policy in force and the path of its file", async () => {
		const folder = await scratchFolder();
		const withoutFile = await readJson(await stdioSession({ folder }), "policy://current");
		expect(withoutFile).toMatchObject({
			file: null,
			found: null,
			policy: { preset: "observation-masking", locale: "fr" },
		});
		const file = join(folder, "palimpsest.toml");
		await writeFile(file, 'preset = "context-trim"\n');
		const session = await stdioSession({ folder, parameters: ["--set", "mask.window_turns=4"] });
		const { policy, found } = await readJson(session, "policy://current");
		expect(found).toBe(file);
		expect(policy).toMatchObject({ preset: "context-trim", guard: { budget_ratio: 0.8 }, mask: { window_turns: 4 } });
	});

	it("reads each preset with its source, and refuses an unknown one", async () => {
		const session = await stdioSession();
		for (const name of presetNames) {
			const preset = await readJson(session, `policy://presets/${name}`);
			expect(preset).toMatchObject({ name, source: expect.stringMatching(/\w/), policy: { preset: name } });
		}
		const guard = await readJson(session, "policy://presets/context-guard");
		expect(guard.policy.guard).toMatchObject({ ladder: ["truncate", "drop"], reserve_tokens: 8_192, pin_task: false });
		const absent = session.client.readResource({ uri: "policy://presets/none" });
		await expect(absent).rejects.toThrow(/No such preset\. Known: observation-masking, tool-result-hiding/);
		await expect(session.client.readResource({ uri: "policy://nothing" })).rejects.toMatchObject({ code: -32_602 });
	});

	it("reads a schema in which every field has a description", async () => {
		const schema = await readJson(await stdioSession(), "policy://schema");
		const undescribed = (fields: Record<string, { description?: string; properties?: object }>, at: string): string[] =>
			Object.entries(fields).flatMap(([name, field]) => [
				...(field.description ? [] : [at + name]),
				...undescribed((field.properties ?? {}) as typeof fields, `${at}${name}.`),
			]);
		expect(Object.keys(schema.properties)).toContain("mask");
		expect(undescribed(schema.properties, "")).toEqual([]);
	});
});

describe("a policy file that changes", () => {
	it("takes effect at once, and subscribers are notified", async () => {
		const folder = await scratchFolder();
		const file = join(folder, "policy.toml");
		await writeFile(file, "[mask]\nwindow_turns = 8\n");
		const session = await stdioSession({ folder, parameters: ["--policy", file] });
		await session.client.subscribeResource({ uri: "policy://current" });
		expect(await maskedBy(session)).toBe(2);

		await replace(file, "[mask]\nwindow_turns = 1\n");
		await vi.waitFor(() => expect(session.updated).toEqual(["policy://current"]), patience);
		expect((await readJson(session, "policy://current")).policy.mask.window_turns).toBe(1);
		expect(await maskedBy(session)).toBe(9);
	});

	it("keeps the old policy in force while it is invalid, and reports why", async () => {
		const folder = await scratchFolder();
		const file = join(folder, "palimpsest.toml");
		await writeFile(file, "[mask]\nwindow_turns = 3\n");
		const session = await stdioSession({ folder });
		await session.client.subscribeResource({ uri: "policy://current" });
		await replace(file, "[mask]\nwindw_turns = 1\n");
		await vi.waitFor(() => expect(session.stderr()).toContain("Did you mean mask.window_turns?"), patience);
		expect(session.stderr()).toContain("the previous policy stays in force");
		expect(session.stderr().trim().split("\n")).toHaveLength(1);
		expect(await maskedBy(session)).toBe(7);

		await replace(file, "[mask]\nwindow_turns = 2\n");
		await vi.waitFor(() => expect(session.updated).toEqual(["policy://current"]), patience);
		expect(await maskedBy(session)).toBe(8);
	});

	it("sends nothing to a client that has unsubscribed", async () => {
		const folder = await scratchFolder();
		const session = await stdioSession({ folder });
		await session.client.subscribeResource({ uri: "policy://current" });
		await session.client.unsubscribeResource({ uri: "policy://current" });
		await replace(join(folder, "palimpsest.toml"), "[mask]\nwindow_turns = 5\n");
		await vi.waitFor(async () => expect(await maskedBy(session)).toBe(5), patience);
		expect(session.updated).toEqual([]);
	});
});
