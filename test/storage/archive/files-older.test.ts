import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import type { Archive } from "../../../src/storage/archive/archive.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { alike } from "./references-suite.ts";

const text = "line 1\nline 2 é 结果";
const hash = "ca324be4d2dd77e65de5ba5a06f6dcb5375026aef12c0b118b660dfbcac1762a";
const [one, other] = [
	"e26e00880d65e5690d432f6481eaf1d9f5bb05e0957d33af6aedeafe0c6ab391",
	"e26e008843a47d6e4f042253e0262fa38ac43dbc5ce9b4eb5a0494e2ffced627",
];

/** As the build of 21 November 2026 wrote them, which knew references of 20 characters only. */
const ofNovember21 = {
	[`ca/${hash}`]: text,
	[`ca/${hash}.035180f26898b985.json`]:
		'{"kind":"result","tool_call_id":"call_1","tool_name":"ls","chars":18,"bytes":23,"archived_at":1795391426322,"redactions":0}',
	[`calls/03/035180f26898b985.${hash}`]: "",
};

/** As the build of 27 November 2026 wrote them, which gave references of 8 characters, and 20 to the second of two alike. */
const ofNovember27 = {
	[`ca/${hash}`]: text,
	[`ca/${hash}.035180f26898b985.json`]:
		'{"kind":"result","tool_call_id":"call_1","tool_name":"ls","chars":18,"bytes":23,"archived_at":1795737600000,"redactions":0,"check":"ad460824"}',
	[`calls/03/035180f26898b985.${hash}`]: "",
	[`e2/${one}`]: alike[0],
	[`e2/${one}.868501f9d53bfd5b.json`]:
		'{"kind":"result","tool_call_id":"call_2","tool_name":"ls","chars":13,"bytes":13,"archived_at":1795737600000,"redactions":0,"check":"7cdbe812"}',
	[`calls/86/868501f9d53bfd5b.${one}`]: "",
	[`e2/${other}`]: alike[1],
	[`e2/${other}.fafb2e2952deef92.json`]:
		'{"kind":"result","tool_call_id":"call_3","tool_name":"ls","chars":14,"bytes":14,"archived_at":1795737600000,"redactions":0,"check":"1b6e114f"}',
	[`e2/${other}.long`]: "",
	[`calls/fa/fafb2e2952deef92.${other}`]: "",
};

async function openOlder(files: Readonly<Record<string, string>>): Promise<Archive> {
	const folder = await scratchFolder();
	for (const [name, content] of Object.entries(files)) {
		const file = join(folder, "default", name);
		await mkdir(dirname(file), { recursive: true });
		await writeFile(file, content);
	}
	return (await openArchive({ where: folder })) as Archive;
}

it.each([
	["20 characters", ofNovember21],
	["8 characters", ofNovember27],
])("an archive of a version that gave references of %s is read by all that name it", async (_, files) => {
	const archive = await openOlder(files);
	for (const ref of ["so759mu006wi022zu922", "mct653tj"]) {
		expect(await archive.get(ref)).toMatchObject({ text, kind: "result", toolName: "ls" });
	}
	const [ref = ""] = await archive.put([{ text, kind: "result", toolCallId: "call_1" }]);
	expect(ref).toBe(archive.refOf(text));
	expect(await archive.find("call_1")).toMatchObject([{ ref, toolCallId: "call_1" }]);
	expect((await archive.get(ref)).text).toBe(text);
});

it("of two texts, a reference of 8 characters still names the one that had it, and 20 name the other", async () => {
	const archive = await openOlder(ofNovember27);
	expect((await archive.get("nnf209pg")).text).toBe(alike[0]);
	expect((await archive.get("ve401di566je906ho202")).text).toBe(alike[1]);
	await archive.put(alike.map((given) => ({ text: given, kind: "result" })));
	expect((await archive.get("nnf209pg")).text).toBe(alike[0]);
});

it("a sweep removes the mark of an older version with its text", async () => {
	const archive = await openOlder(ofNovember27);
	expect((await archive.stats()).originals).toBe(3);
	const later = await openArchive({ where: archive.location, now: () => Date.now() + 90 * 24 * 3_600_000 });
	expect((await later?.sweep())?.removed).toBe(3);
	await later?.sweep();
	await expect(archive.get("nnf209pg")).rejects.toMatchObject({ code: "original_not_found" });
});
