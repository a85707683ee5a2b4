import { check } from "./check.ts";
import { builtCli } from "./folders.ts";
import { runTool } from "./run-tool.ts";

/** Where the Inspector finds the server, as it is told. */
export interface Way {
	readonly name: string;
	readonly target: readonly string[];
	/** Whether one call is enough: the same is asked in full by another way. */
	readonly isBrief?: boolean;
}

/** The ways to the built server, over standard streams by a Node that is named, and over HTTP. */
export function waysTo(url: string, nodes: Readonly<Record<string, string>>): Way[] {
	const stdio = Object.entries(nodes).map(([name, node], index) => {
		return { name: `stdio, ${name}`, target: [node, builtCli], isBrief: index > 0 };
	});
	const [node = process.execPath] = Object.values(nodes);
	return [
		...stdio,
		{ name: "the gateway, /mcp", target: [node, builtCli, "gateway", `${url}/mcp`] },
		{ name: "/mcp", target: [`${url}/mcp`, "--transport", "http"] },
		{ name: "/sse", target: [`${url}/sse`, "--transport", "sse"] },
	];
}

const text = "a line of words ".repeat(500);

/** Asks a server by the Inspector's command for what it has, and judges the answers. Needs Node 22.19 or later. */
export async function runInspector({ name, target, isBrief = false }: Way, node: string): Promise<void> {
	const ask = (...parameters: readonly string[]) =>
		runTool(
			"@modelcontextprotocol/inspector/clients/launcher/build/index.js",
			["--cli", ...target, ...parameters],
			node,
		);
	const cut = await ask(
		...["--method", "tools/call", "--tool-name", "truncate_output"],
		...["--tool-args-json", JSON.stringify({ text, max_chars: 1_000 })],
	);
	const { structuredContent } = parsed(cut.stdout);
	check(`inspector, ${name}: calls a tool`, cut.code === 0 && structuredContent?.truncated === true, cut.output);
	if (isBrief) return;

	const listed = await ask("--method", "tools/list", "--strict");
	const errors = /^(\d+) errors?,/m.exec(listed.output)?.[1] ?? "0";
	check(`inspector, ${name}: tools/list --strict has no error`, listed.code === 0 && errors === "0", listed.output);
	const tools: readonly { name: string }[] = parsed(listed.stdout).tools ?? [];
	check(`inspector, ${name}: lists the tools`, tools.length >= 5, listed.output);

	const wrong = await ask("--method", "tools/call", "--tool-name", "truncate_output", "--tool-args-json", "{}");
	check(`inspector, ${name}: is told a tool's error`, wrong.code === 5, wrong.output);

	const policy = await ask("--method", "resources/read", "--uri", "policy://current");
	check(`inspector, ${name}: reads a resource`, policy.code === 0 && /log_level/.test(policy.stdout), policy.output);

	const prompts = await ask("--method", "prompts/list");
	check(`inspector, ${name}: lists the prompts`, (parsed(prompts.stdout).prompts ?? []).length > 0, prompts.output);
}

interface Answer {
	readonly tools?: readonly { readonly name: string }[];
	readonly prompts?: readonly unknown[];
	readonly structuredContent?: { readonly truncated?: boolean };
}

function parsed(stdout: string): Answer {
	try {
		return JSON.parse(stdout) as Answer;
	} catch {
		return {};
	}
}
