import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type Anthropic from "@anthropic-ai/sdk";
import { beforeAll, describe, expect, it } from "vitest";
import { resolvePolicy } from "../../src/engine/policy/layers.ts";
import { startProxy } from "../../src/proxy/server.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { finalText, writeProject } from "../support/scripted-session.ts";
import { type CloudName, cloudKey, startStandInCloud } from "../support/stand-in-cloud.ts";
import { startStandInProvider } from "../support/stand-in-provider.ts";

const script = { toolTurns: 30, fileChars: 9_000 };
const folder = join(import.meta.dirname, "clouds");

let project: string;
beforeAll(async () => {
	project = join(await scratchFolder(), "project");
	await writeProject(project, script);
	if (isInstalled()) return;
	const flags = ["--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"];
	const shell = process.platform === "win32";
	const { status, stderr } = spawnSync("npm", ["install", ...flags], { cwd: folder, encoding: "utf8", shell });
	if (status !== 0) throw new Error(`The SDKs cannot be installed: ${stderr}`);
}, 300_000);

function isInstalled(): boolean {
	const { dependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
	return Object.entries(dependencies).every(([name, version]) => {
		const file = join(folder, "node_modules", name, "package.json");
		return existsSync(file) && JSON.parse(readFileSync(file, "utf8")).version === version;
	});
}

type Client = Pick<Anthropic, "messages">;

const sdk = (name: string) => createRequire(join(folder, "package.json"))(name);

/** The client of each cloud, and the model as it calls it. */
const clients: Readonly<Record<CloudName, { readonly model: string; readonly open: (baseURL: string) => Client }>> = {
	bedrock: {
		model: "us.anthropic.claude-opus-4-8-20260402-v1:0",
		open: (baseURL) => new (sdk("@anthropic-ai/bedrock-sdk").AnthropicBedrock)({ baseURL, apiKey: cloudKey }),
	},
	mantle: {
		model: "anthropic.claude-opus-4-8",
		open: (baseURL) =>
			new (sdk("@anthropic-ai/bedrock-sdk").AnthropicBedrockMantle)({
				...{ baseURL, apiKey: cloudKey, awsRegion: "us-east-1" },
			}),
	},
	vertex: {
		model: "claude-opus-4-8@20260402",
		open(baseURL) {
			const authClient = new (sdk("google-auth-library").OAuth2Client)();
			authClient.setCredentials({ access_token: cloudKey, expiry_date: Date.now() + 3_600_000 });
			const where = { projectId: "project", region: "us-east5" };
			return new (sdk("@anthropic-ai/vertex-sdk").AnthropicVertex)({ baseURL, authClient, ...where });
		},
	},
	foundry: {
		model: "claude-opus-4-8",
		open: (baseURL) => new (sdk("@anthropic-ai/foundry-sdk").AnthropicFoundry)({ baseURL, apiKey: cloudKey }),
	},
};

async function play(name: CloudName, streams: boolean, proxied: boolean) {
	const provider = await startStandInProvider({ script, thinking: { account: "newer" } });
	const cloud = await startStandInCloud(name, provider);
	const upstream = name === "bedrock" || name === "vertex" ? name : "anthropic";
	const policy = resolvePolicy([{ preset: "balanced" }]);
	const proxy = proxied ? await startProxy({ port: 0, upstreams: { [upstream]: cloud.baseUrl }, policy }) : undefined;
	const { model, open } = clients[name];
	try {
		const client = open(proxy ? `http://127.0.0.1:${proxy.port}` : cloud.baseUrl);
		const text = await loop(client, model, streams);
		const models = new Set(provider.requests.map((request) => request.model));
		return { text, models, refusals: cloud.refusals, totals: provider.totals(), ofProxy: proxy?.totals() };
	} finally {
		await proxy?.close();
		await cloud.close();
		await provider.close();
	}
}

async function loop(client: Client, model: string, streams: boolean): Promise<string> {
	const messages: Anthropic.MessageParam[] = [{ role: "user", content: "Read every module, one after the other." }];
	const input_schema = { type: "object" as const, properties: { command: { type: "string" } }, required: ["command"] };
	for (;;) {
		const request = {
			...{ model, max_tokens: 1000, messages },
			tools: [{ name: "bash", description: "Runs a command.", input_schema }],
			cache_control: { type: "ephemeral" as const },
		};
		const answer = streams
			? await client.messages.stream(request).finalMessage()
			: await client.messages.create(request);
		const block = answer.content.find(({ type }) => type !== "thinking");
		if (block?.type !== "tool_use") return block?.type === "text" ? block.text : "";
		const { command } = block.input as { command: string };
		const content = await readFile(join(project, command.replace(/^cat /, "")), "utf8");
		messages.push({ role: "assistant", content: answer.content });
		messages.push({ role: "user", content: [{ type: "tool_result", tool_use_id: block.id, content }] });
	}
}

const ways = (Object.keys(clients) as CloudName[]).flatMap((name) => [[name, false] as const, [name, true] as const]);

describe("the SDK of a cloud with the proxy", () => {
	it.each(ways)("%s gets the same last answer, and the bill is the cloud's, streamed: %s", async (name, streams) => {
		const without = await play(name, streams, false);
		const behind = await play(name, streams, true);
		expect([without.text, behind.text]).toEqual([finalText(script), finalText(script)]);
		expect([...without.refusals, ...behind.refusals]).toEqual([]);
		expect(behind.models).toEqual(new Set([clients[name].model]));
		expect(behind.totals.requests).toBe(without.totals.requests);
		expect(behind.totals.sent / without.totals.sent).toBeLessThan(0.75);
		expect(behind.totals.billed / without.totals.billed).toBeLessThan(0.95);
		expect(behind.ofProxy?.requests).toBe(behind.totals.requests);
		expect(behind.ofProxy?.tokensSent).toBe(behind.totals.sent);
		expect(behind.ofProxy?.billed).toBeCloseTo(behind.totals.billed, -2);
	});
});
