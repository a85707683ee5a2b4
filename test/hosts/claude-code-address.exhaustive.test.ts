import { describe, expect, it } from "vitest";
import type { CloudName } from "../support/stand-in-cloud.ts";
import { installProgram } from "./install-programs.ts";
import { type AgentProgram, claudeAtAnthropic, claudeOnCloud, programs } from "./programs.ts";
import { type ProgramRun, runProgram } from "./run-program.ts";

const script = { toolTurns: 34, fileChars: 12_000 };

const claude = programs.find(({ name }) => name === "claude") as AgentProgram;

/** Its project's settings name the address, and its user gives others in a flag. */
const withProjectSettings: AgentProgram = {
	...claude,
	parameters: (...given) => [...claude.parameters(...given), "--settings", '{"env":{"OWN_SETTING":"1"}}'],
	configure(where) {
		const { ANTHROPIC_BASE_URL, ...environment } = claude.configure(where).environment;
		const settings = JSON.stringify({ env: { ANTHROPIC_BASE_URL } });
		return { environment, files: { "project/.claude/settings.local.json": settings } };
	},
};

const onClouds = (["bedrock", "mantle", "vertex", "foundry"] as const).map((cloud) => {
	return { to: cloud, program: claudeOnCloud(cloud), cloud };
});
const cases: readonly { readonly to: string; readonly program: AgentProgram; readonly cloud?: CloudName }[] = [
	...onClouds,
	{ to: "an address in its project's settings", program: withProjectSettings },
	{ to: "Anthropic itself", program: claudeAtAnthropic() },
];

describe("the real Claude Code, launched", () => {
	it.each(cases)(
		"sends all of its requests through the proxy to $to, none is refused, and fewer tokens are billed",
		async ({ program, cloud }) => {
			const installed = installProgram(program);
			if (installed.kind === "absent") throw new Error(installed.reason);
			const play = (way: "alone" | "proxy"): Promise<ProgramRun> =>
				runProgram({ program, binFolder: installed.binFolder, script, way, cloud, limitSeconds: 240 });
			const alone = await play("alone");
			const behind = await play("proxy");
			expect([alone.isRight, behind.isRight]).toEqual([true, true]);
			expect([alone.refusals, behind.refusals]).toEqual([[], []]);
			const passed = /palimpsest: .* in ([\d,]+) requests.*?, ([\d,]+) tokens sent/.exec(behind.output)?.slice(1);
			const { requests, sent, billed } = behind.totals;
			expect(passed?.map((one) => Number(one.replaceAll(",", "")))).toEqual([requests, sent]);
			expect(sent / alone.totals.sent).toBeLessThan(0.7);
			expect(billed / alone.totals.billed).toBeLessThan(0.9);
		},
		600_000,
	);
});
