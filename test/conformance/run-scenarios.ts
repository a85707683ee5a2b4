import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { check } from "./check.ts";
import { conformanceFolder } from "./folders.ts";
import { runTool } from "./run-tool.ts";

/** A revision of the protocol, and the suite that asks for it. */
export interface Era {
	readonly name: string;
	readonly script: string;
	readonly parameters: readonly string[];
	readonly baseline: string;
	/** The scenarios that say something about this server. */
	readonly mustPass: readonly string[];
}

/** What this server answers, or what the suite says, where somebody asks for a fixture that it has not. */
const noFixture =
	/Unknown tool\. Known|Prompt test_\w+ not found|Resource (?:test:\/\/\S+ not found|not found: test:\/\/)|Tool '\w+' not found|^Not testable: server (?:does not list|exposes no tool)|^Prerequisite failed|^Expected InputRequiredResult/;

const inBothEras = [
	"tools-list",
	"resources-list",
	"prompts-list",
	"server-sse-multiple-streams",
	"dns-rebinding-protection",
];

export const eras: readonly Era[] = [
	{
		name: "2025-11-25",
		script: "@modelcontextprotocol/conformance/dist/index.js",
		parameters: [],
		baseline: "expected-failures.yml",
		mustPass: [
			...inBothEras,
			"server-initialize",
			"ping",
			"logging-set-level",
			"resources-subscribe",
			"resources-unsubscribe",
		],
	},
	{
		// The released suite ends at 2025-11-25.
		name: "2026-07-28",
		script: "conformance-2026/dist/index.js",
		parameters: ["--spec-version", "2026-07-28"],
		baseline: "expected-failures-2026.yml",
		mustPass: [
			...inBothEras,
			"caching",
			"http-header-validation",
			"sep-2164-resource-not-found",
			"input-required-result-unsupported-methods",
			"input-required-result-validate-input",
		],
	},
];

/** What the suite found out in a scenario. */
export interface Check {
	readonly id: string;
	readonly status: string;
	readonly errorMessage?: string;
}

/** Runs the suite of `@modelcontextprotocol/conformance` on a server, and judges what failed. It needs Node 22. */
export async function runScenarios(url: string, era: Era, node: string): Promise<void> {
	const { name: revision, mustPass } = era;
	const baseline = join(conformanceFolder, era.baseline);
	const { code, output, scenarios } = await askSuite({
		url: `${url}/mcp`,
		era,
		node,
		more: ["--expected-failures", baseline],
	});
	const summary = output.slice(output.indexOf("=== SUMMARY ==="));
	check(`conformance ${revision}: ${era.baseline} lists what fails, and all of that fails`, code === 0, summary);

	const expected = [...readFileSync(baseline, "utf8").matchAll(/^ {2}- (\S+) # \S+/gm)].map(([, name]) => name);
	for (const name of mustPass) {
		const checks = scenarios.get(name) ?? [];
		const passes = checks.some(({ status }) => status === "SUCCESS") && checks.every(({ status }) => isGood(status));
		check(`conformance ${revision}: ${name}`, passes, JSON.stringify(checks, null, 1));
	}
	const judged = [...scenarios].filter(([name]) => !mustPass.includes(name));
	for (const [name, checks] of judged) {
		const failed = checks.filter(({ status }) => status === "FAILURE").map(({ errorMessage = "" }) => errorMessage);
		const callsFixture = name === "server-sse-polling" || failed.every((message) => noFixture.test(message));
		const isExpected = expected.includes(name);
		check(`conformance ${revision}: ${name} calls a fixture`, isExpected && callsFixture, failed.join("\n"));
	}
}

/** All scenarios of the suite with their checks. */
export async function askSuite(how: {
	readonly url: string;
	readonly era: Era;
	readonly node: string;
	readonly more?: readonly string[];
}): Promise<{
	readonly code: number | null;
	readonly output: string;
	readonly scenarios: Map<string, readonly Check[]>;
}> {
	const { url, era, node, more = [] } = how;
	const results = mkdtempSync(join(tmpdir(), "palimpsest-conformance-"));
	try {
		const suite = ["server", "--url", url, "--suite", "all", "-o", results, ...more, ...era.parameters];
		const { code, output } = await runTool(era.script, suite, node);
		const scenarios = new Map(
			readdirSync(results).map((folder): [string, Check[]] => {
				const [, name = ""] = /^server-(.+)-\d{4}-\d\d-\d\dT/.exec(folder) ?? [];
				return [name, JSON.parse(readFileSync(join(results, folder, "checks.json"), "utf8"))];
			}),
		);
		return { code, output, scenarios };
	} finally {
		rmSync(results, { recursive: true, force: true });
	}
}

function isGood(status: string): boolean {
	return status === "SUCCESS" || status === "INFO";
}
