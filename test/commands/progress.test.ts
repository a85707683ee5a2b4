import { expect, it } from "vitest";
import { withProgress } from "../../src/commands/progress.ts";

async function shownOf(isTTY: boolean, fails = false) {
	const shown: string[] = [];
	let time = 0;
	const terminal = { isTTY, write: (text: string) => shown.push(text) };
	const work = async (step: (done: number, total: number) => void) => {
		for (const [at, done] of [
			[100, 1],
			[900, 2],
			[4_200, 3],
		] as const) {
			time = at;
			step(done, 3);
		}
		if (fails) throw new Error("broken");
		return "done";
	};
	const result = await withProgress("replaying", work, { terminal, now: () => time }).catch(String);
	return { shown: shown.map((text) => text.replaceAll("\r\u001b[K", "<")), result };
}

it("shows on a terminal how much is done, not more often than eyes can follow, and removes the line", async () => {
	const shown = ["<replaying …", "<replaying, 2 of 3 … 1 s", "<replaying, 3 of 3 … 4 s", "<"];
	expect(await shownOf(true)).toEqual({ shown, result: "done" });
	expect(await shownOf(true, true)).toEqual({ shown, result: "Error: broken" });
});

it("writes nothing where no terminal is", async () => {
	expect(await shownOf(false)).toEqual({ shown: [], result: "done" });
});
