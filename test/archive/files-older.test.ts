import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { openArchive } from "../../src/archive/open.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const text = "line 1\nline 2 é 结果";
const hash = "ca324be4d2dd77e65de5ba5a06f6dcb5375026aef12c0b118b660dfbcac1762a";

/** As the build of 21 November 2026 wrote them, which knew long references only. */
const files: Readonly<Record<string, string>> = {
	[`ca/${hash}`]: text,
	[`ca/${hash}.035180f26898b985.json`]:
		'{"kind":"result","tool_call_id":"call_1","tool_name":"ls","chars":18,"bytes":23,"archived_at":1795391426322,"redactions":0}',
	[`calls/03/035180f26898b985.${hash}`]: "",
};

it("reads the files of an older version, by its references and by the call", async () => {
	const folder = await scratchFolder();
	for (const [name, content] of Object.entries(files)) {
		const file = join(folder, "default", name);
		await mkdir(dirname(file), { recursive: true });
		await writeFile(file, content);
	}
	const archive = await openArchive({ where: folder });
	expect(await archive?.get("so759mu006wi022zu922")).toMatchObject({ text, kind: "result", toolName: "ls" });
	expect(await archive?.find("call_1")).toMatchObject([{ longRef: "so759mu006wi022zu922", toolCallId: "call_1" }]);
	expect(await archive?.put([{ text, kind: "result", toolCallId: "call_1" }])).toEqual([archive?.refOf(text)]);
});
