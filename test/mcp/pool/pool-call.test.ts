import { valueSymbol } from "piscina";
import { expect, it } from "vitest";
import { type ArchiveSource, openArchive } from "../../../src/archive/open.ts";
import { runJob } from "../../../src/mcp/pool/job.ts";
import {
	type CallPool,
	callInPool,
	createJobPhase,
	type ThreadJob,
	type ThreadOutcome,
} from "../../../src/mcp/pool/pool.ts";
import type { ToolContext } from "../../../src/mcp/tool.ts";
import { collidingTexts } from "../../support/colliding-texts.ts";
import { openaiMessages, toolTurn, user } from "../../support/script.ts";

it("a thread plans again where another text in the server's memory has a short reference that it gave", async () => {
	const [first, second] = collidingTexts("the same words ".repeat(20));
	const archive = await openArchive({ where: "memory" });
	if (!archive) throw new Error("no archive");
	const [short] = await archive.put([{ kind: "result", text: first }]);
	const answers: string[] = [];
	const run = async (job: ThreadJob) => {
		const moved = (await runJob({ ...job, phase: createJobPhase() })) as unknown as {
			readonly [valueSymbol]: ThreadOutcome;
		};
		const outcome = moved[valueSymbol];
		if (outcome.kind === "answer") answers.push(new TextDecoder().decode(outcome.message));
		return outcome;
	};
	const messages = openaiMessages(user("Go."), toolTurn("a", second), toolTurn("b", "done"));
	const { code } = await callInPool({ run } as Partial<CallPool> as CallPool, {
		id: 1,
		tool: "mask_conversation",
		offered: ["mask_conversation"],
		arguments: { messages, policy: { locale: "en", mask: { window_turns: 1 } } },
		context: { layers: [], log: () => {}, signal: new AbortController().signal } as Partial<ToolContext> as never,
		location: { where: "memory", namespace: "default" },
		archive: { use: (work) => work(archive) } as Partial<ArchiveSource> as ArchiveSource,
		allowedPaths: [],
		policyFile: null,
		principal: "me",
	});
	expect(code).toBeUndefined();
	// Only the last answer is given to anybody.
	expect(answers.map((answer) => /ref=([a-z0-9]+)/.exec(answer)?.[1]?.length)).toEqual([8, 20]);
	const [, ref = ""] = /ref=([a-z0-9]+)/.exec(answers[1] ?? "") ?? [];
	expect(answers[1]).not.toContain(`ref=${short})`);
	expect((await archive.get(ref)).text).toBe(second);
});
