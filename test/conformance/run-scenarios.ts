import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { check } from "./check.ts";
import { conformanceFolder } from "./folders.ts";
import { runTool } from "./run-tool.ts";

/** The scenarios that say something about this server. */
const mustPass = [
	"server-initialize",
	"ping",
	"logging-set-level",
	"tools-list",
	"resources-list",
	"resources-subscribe",
	"resources-unsubscribe",
	"prompts-list",
	"server-sse-multiple-streams",
	"dns-rebinding-protection",
];
/** What this server answers where somebody asks for a fixture that it has not. */
const noFixture = /No such tool here|Prompt test_\w+ not found|Resource test:\/\/\S+ not found|Tool '\w+' not found/;

interface Check {
	readonly status: string;
	readonly errorMessage?: string;
}

/** Runs the suite of `@modelcontextprotocol/conformance` on a server, and judges what failed. */
export async function runScenarios(url: string): Promise<void> {
	const results = mkdtempSync(join(tmpdir(), "palimpsest-conformance-"));
	try {
		const baseline = join(conformanceFolder, "expected-failures.yml");
		const suite = ["server", "--url", `${url}/mcp`, "--suite", "all", "--expected-failures", baseline, "-o", results];
		const { code, output } = await runTool("@modelcontextprotocol/conformance/dist/index.js", suite);
		const summary = output.slice(output.indexOf("=== SUMMARY ==="));
		check("conformance: what fails is what expected-failures.yml lists, and all of that fails", code === 0, summary);

		const expected = [...readFileSync(baseline, "utf8").matchAll(/^ {2}- (\S+) # \S+/gm)].map(([, name]) => name);
		const scenarios = new Map(
			readdirSync(results).map((folder) => {
				const [, name = ""] = /^server-(.+)-\d{4}-\d\d-\d\dT/.exec(folder) ?? [];
				const checks: readonly Check[] = JSON.parse(readFileSync(join(results, folder, "checks.json"), "utf8"));
				return [name, checks];
			}),
		);
		for (const name of mustPass) {
			const checks = scenarios.get(name) ?? [];
			const passes = checks.some(({ status }) => status === "SUCCESS") && checks.every(({ status }) => isGood(status));
			check(`conformance: ${name}`, passes, JSON.stringify(checks, null, 1));
		}
		const judged = [...scenarios].filter(([name]) => !mustPass.includes(name));
		for (const [name, checks] of judged) {
			const failed = checks.filter(({ status }) => status === "FAILURE").map(({ errorMessage = "" }) => errorMessage);
			const callsFixture = name === "server-sse-polling" || failed.every((message) => noFixture.test(message));
			check(`conformance: ${name} calls a fixture`, expected.includes(name) && callsFixture, failed.join("\n"));
		}
	} finally {
		rmSync(results, { recursive: true, force: true });
	}
}

function isGood(status: string): boolean {
	return status === "SUCCESS" || status === "INFO";
}
