import { describe, expect, it } from "vitest";
import type { CloudName } from "../support/stand-in-cloud.ts";
import { installProgram } from "./install-programs.ts";
import { claudeOnCloud } from "./programs.ts";
import { runProgram } from "./run-program.ts";

const script = { toolTurns: 34, fileChars: 12_000 };

describe("the real Claude Code, launched with a cloud in its settings file and a flag of its user's", () => {
	it.each<CloudName>(["bedrock", "mantle", "vertex", "foundry"])(
		"sends all of its requests to %s through the proxy, none is refused, and fewer tokens are billed",
		async (cloud) => {
			const program = claudeOnCloud(cloud);
			const installed = installProgram(program);
			if (installed.kind === "absent") throw new Error(installed.reason);
			const play = (way: "alone" | "proxy") =>
				runProgram({ program, binFolder: installed.binFolder, script, way, cloud, limitSeconds: 120 });
			const alone = await play("alone");
			const behind = await play("proxy");
			expect([alone.isRight, behind.isRight]).toEqual([true, true]);
			expect([alone.refusals, behind.refusals]).toEqual([[], []]);
			const passed = /palimpsest: ([\d,]+) requests, ([\d,]+) tokens sent/.exec(behind.output)?.slice(1);
			const { requests, sent, billed } = behind.totals;
			expect(passed?.map((one) => Number(one.replaceAll(",", "")))).toEqual([requests, sent]);
			expect(sent / alone.totals.sent).toBeLessThan(0.65);
			expect(billed / alone.totals.billed).toBeLessThan(0.85);
		},
		300_000,
	);
});
