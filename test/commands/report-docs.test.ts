import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { workingConversation } from "../operations/working-conversation.ts";
import { packageFolder } from "../support/built-cli.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

/** Seven times the same work on files of other names: 56 tool turns. */
function session() {
	const [system, task, ...work] = workingConversation().messages;
	const rounds = ["red", "blue", "green", "amber", "grey", "pink", "teal"].flatMap((colour) =>
		JSON.parse(
			JSON.stringify(work)
				.replaceAll(/\b(alpha|beta|gamma)/g, `${colour}_$1`)
				.replaceAll('"call_', `"call_${colour}_`),
		),
	);
	return { messages: [system, task, ...rounds] };
}

it("the page on reports shows the output of the command next to it", async () => {
	const page = await readFile(join(packageFolder, "docs", "measure.md"), "utf8");
	const [, command = "", printed = ""] = /```console\n\$ palimpsest (.*)\n([\s\S]*?)```/.exec(page) ?? [];
	expect(command).toMatch(/^report session\.json /);
	const folder = await scratchFolder();
	await writeFile(join(folder, "session.json"), JSON.stringify(session()));
	const { text, code } = await runHere(command.split(" "), { folder, environment: { PALIMPSEST_ARCHIVE: "memory" } });
	expect(code).toBe(0);
	expect(text).toBe(printed);
});
